//! Secrets in variables of the environment, `IMAP_MCP_SECRET__…`. They are read when the store is made, and never written.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;

use secrecy::{ExposeSecret as _, SecretString};

use super::{NoSecret, text};
use crate::SecretRef;

/// The variables that references could lead to, and no others.
pub struct Variables {
    /// `None` is one that is not UTF-8.
    set: BTreeMap<String, Option<SecretString>>,
}

impl Variables {
    /// `all` is usually `std::env::vars_os()`.
    pub fn new(all: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        let meant = all.into_iter().filter_map(|(name, value)| {
            let name = name.into_string().ok()?;
            let value = || value.to_str().map(SecretString::from);
            SecretRef::is_variable(&name).then(|| (name, value()))
        });
        Self {
            set: meant.collect(),
        }
    }

    pub(super) fn read(&self, wanted: &SecretRef) -> Result<SecretString, NoSecret> {
        let name = wanted.variable();
        let Some(value) = self.set.get(&name) else {
            return Err(NoSecret::absent(
                format!("the variable {name} is not set, and this refers to it"),
                "set it for this program",
            ));
        };
        let Some(value) = value else {
            return Err(NoSecret::new(
                format!("the variable {name} is not valid UTF-8"),
                "set it anew",
            ));
        };
        text::whole(value.expose_secret().as_bytes(), &name)
    }

    pub(super) fn is_same(&self, other: &Self) -> bool {
        fn shown(value: &Option<SecretString>) -> Option<&str> {
            value.as_ref().map(|value| value.expose_secret())
        }
        let pairs = || self.set.iter().zip(&other.set);
        self.set.len() == other.set.len()
            && pairs().all(|(one, other)| one.0 == other.0 && shown(one.1) == shown(other.1))
    }
}

/// Names alone, as values are secrets.
impl fmt::Debug for Variables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.set.keys()).finish()
    }
}

pub(super) fn read_only() -> NoSecret {
    NoSecret::new(
        "an env_var secret store cannot keep anything: no program changes the environment that it is started with",
        "use file_dir, gpg_file, keyring or a command with a store_command",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pairs: &[(&str, &str)]) -> Variables {
        Variables::new(
            pairs
                .iter()
                .map(|(name, value)| (name.into(), value.into())),
        )
    }

    #[test]
    fn only_what_is_meant_is_held_and_nothing_is_shown() {
        let variables = of(&[
            (concat!("IMAP_MCP", "_SECRET__A__B"), "canary-4711"),
            ("HOME", "/home/canary-4711"),
        ]);
        assert!(!format!("{variables:?}").contains("canary"));
        assert!(!format!("{variables:?}").contains("HOME"));
        let wanted = |text: &str| SecretRef::parse(text, "").unwrap();
        let read = variables.read(&wanted("secret://a/b")).unwrap();
        assert_eq!(read.expose_secret(), "canary-4711");
        let none = variables.read(&wanted("secret://a/c")).unwrap_err();
        assert!(none.what.contains("SECRET__A__C is not set"), "{none}");
    }

    #[test]
    fn other_variables_make_another_store() {
        let one = [(concat!("IMAP_MCP", "_SECRET__A"), "x")];
        let other = [(concat!("IMAP_MCP", "_SECRET__A"), "y")];
        assert!(of(&one).is_same(&of(&one)));
        assert!(of(&one).is_same(&of(&[one[0], ("HOME", "/")])));
        assert!(!of(&one).is_same(&of(&other)));
        assert!(!of(&one).is_same(&of(&[])));
    }

    #[cfg(unix)]
    #[test]
    fn what_is_no_text_is_no_secret() {
        use std::os::unix::ffi::OsStringExt as _;
        let name = concat!("IMAP_MCP", "_SECRET__A");
        let value = OsString::from_vec(b"canary\xff".to_vec());
        let variables = Variables::new([(name.into(), value)]);
        let none = variables.read(&SecretRef::parse("secret://a", "").unwrap());
        let none = none.unwrap_err();
        assert!(none.what.contains("not valid UTF-8") && !none.what.contains("canary"));
    }
}
