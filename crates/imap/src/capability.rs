//! What a server says it can do.

use crate::Value;

/// Capabilities in the order in which the server named them, in capitals.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Capabilities(Vec<String>);

impl Capabilities {
    pub fn has(&self, name: &str) -> bool {
        self.0.iter().any(|known| known == name)
    }

    pub fn names(&self) -> &[String] {
        &self.0
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn from_values(values: &[Value<'_>]) -> Self {
        let names = values.iter().filter_map(Value::string);
        Self(
            names
                .map(|name| String::from_utf8_lossy(name).to_ascii_uppercase())
                .collect(),
        )
    }
}

impl<'a> FromIterator<&'a str> for Capabilities {
    fn from_iter<I: IntoIterator<Item = &'a str>>(names: I) -> Self {
        Self(names.into_iter().map(str::to_ascii_uppercase).collect())
    }
}
