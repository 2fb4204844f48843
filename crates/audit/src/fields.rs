//! The fields of a record, and how they are spelled: JSON without spaces, in the order in which they were said.

use crate::Digester;

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Value {
    Text(String),
    Number(u64),
    Switch(bool),
    /// Words that must not be kept: only their digest is written.
    Digest(Unkept),
    List(Vec<String>),
    Numbers(Vec<u32>),
    Group(Fields),
}

/// Words on their way to a digest. They are in no output, not even in that of `Debug`.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Unkept(pub String);

impl std::fmt::Debug for Unkept {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("(not kept)")
    }
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Fields(Vec<(&'static str, Value)>);

impl Fields {
    pub(crate) fn with(mut self, name: &'static str, value: Value) -> Self {
        self.0.push((name, value));
        self
    }

    pub(crate) fn text(self, name: &'static str, text: impl Into<String>) -> Self {
        self.with(name, Value::Text(text.into()))
    }

    pub(crate) fn number(self, name: &'static str, number: u64) -> Self {
        self.with(name, Value::Number(number))
    }

    pub(crate) fn text_if(self, name: &'static str, text: Option<&str>) -> Self {
        match text {
            Some(text) => self.text(name, text),
            None => self,
        }
    }

    pub(crate) fn number_if(self, name: &'static str, number: Option<u64>) -> Self {
        match number {
            Some(number) => self.number(name, number),
            None => self,
        }
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(field, _)| *field == name)
    }

    #[cfg(test)]
    pub(crate) fn text_of(&self, name: &str) -> Option<&str> {
        self.0.iter().find_map(|(field, value)| match value {
            Value::Text(text) if *field == name => Some(text.as_str()),
            _ => None,
        })
    }

    pub(crate) fn and(mut self, more: Self) -> Self {
        self.0.extend(more.0);
        self
    }

    /// Each behind a comma, as they follow the event's name.
    pub(crate) fn write(&self, out: &mut Vec<u8>, digester: &Digester) {
        for (name, value) in &self.0 {
            out.push(b',');
            string(out, name);
            out.push(b':');
            value.write(out, digester);
        }
    }

    fn write_group(&self, out: &mut Vec<u8>, digester: &Digester) {
        let mut inner = Vec::new();
        self.write(&mut inner, digester);
        out.push(b'{');
        out.extend_from_slice(inner.strip_prefix(b",").unwrap_or_default());
        out.push(b'}');
    }
}

impl Value {
    fn write(&self, out: &mut Vec<u8>, digester: &Digester) {
        match self {
            Self::Text(text) => string(out, text),
            Self::Number(number) => out.extend_from_slice(number.to_string().as_bytes()),
            Self::Switch(switch) => out.extend_from_slice(switch.to_string().as_bytes()),
            Self::Digest(words) => string(out, &digester.digest(&words.0)),
            Self::List(items) => {
                out.push(b'[');
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        out.push(b',');
                    }
                    string(out, item);
                }
                out.push(b']');
            }
            Self::Numbers(numbers) => {
                // Writing to memory does not fail.
                let _ = serde_json::to_writer(out, numbers);
            }
            Self::Group(fields) => fields.write_group(out, digester),
        }
    }
}

fn string(out: &mut Vec<u8>, text: &str) {
    // Writing to memory does not fail.
    let _ = serde_json::to_writer(out, text);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_json_in_their_order() {
        let dir = tempfile::tempdir().unwrap();
        let keys = crate::keys::Keys::of(dir.path(), None).unwrap();
        let digester = keys.digester();
        let fields = Fields::default()
            .text("b", "line\nbreak \"quoted\" ümlaut")
            .number("a", u64::MAX)
            .with("list", Value::List(vec!["x".to_owned(), "y".to_owned()]))
            .with("none", Value::Group(Fields::default()))
            .with(
                "group",
                Value::Group(
                    Fields::default()
                        .with("on", Value::Switch(true))
                        .with("words", Value::Digest(Unkept("salary".to_owned()))),
                ),
            )
            .text_if("absent", None);
        let mut out = Vec::new();
        fields.write(&mut out, digester);
        let expected = format!(
            r#","b":"line\nbreak \"quoted\" ümlaut","a":18446744073709551615,"list":["x","y"],"none":{{}},"group":{{"on":true,"words":"{}"}}"#,
            digester.digest("salary")
        );
        assert_eq!(String::from_utf8(out).unwrap(), expected);
        assert!(!format!("{fields:?}").contains("salary"));
    }
}
