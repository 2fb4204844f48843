//! What a server says it can do.

use crate::Value;

/// Capabilities in the order in which the server named them, in capitals.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Capabilities(Vec<String>);

/// The longest lists have about a hundred names.
const MAX_NAMES: usize = 1_000;
const MAX_NAME_BYTES: usize = 256;

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

    /// INVARIANT: a session keeps them, so a server that names thousands is not listened to any
    /// longer.
    pub(crate) fn from_values(values: &[Value<'_>]) -> Self {
        let names = values.iter().filter_map(Value::string);
        let names = names.filter(|name| name.len() <= MAX_NAME_BYTES);
        Self(
            names
                .take(MAX_NAMES)
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
