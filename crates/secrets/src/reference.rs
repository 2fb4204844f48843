//! `secret://…`: the name of a secret. What it leads to is the store's business.

use crate::NoSecret;

const SCHEME: &str = "secret://";
const VARIABLE: &str = "IMAP_MCP_SECRET__";

/// A reference that is well formed: the names between its slashes.
///
/// INVARIANT: one to eight names of ASCII letters, digits, `_`, `-` and `.`, none of which begins with a dot. So it is a path that
/// leads down, and a word that no program takes for more than that.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SecretRef(Vec<String>);

impl SecretRef {
    /// `such_as` is an example for whoever wrote it wrong.
    pub fn parse(text: &str, such_as: &str) -> Result<Self, NoSecret> {
        let shape = format!("write a reference such as {such_as}");
        let Some(rest) = text.strip_prefix(SCHEME) else {
            return Err(NoSecret::new(
                "this is not a secret:// reference, and a secret itself must not stand here",
                shape,
            ));
        };
        let fits = |name: &str| {
            let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
            !name.is_empty() && name.bytes().all(plain) && !name.starts_with('.')
        };
        let names: Vec<&str> = rest.split('/').take(9).collect();
        if !names.iter().all(|name| fits(name)) || names.len() > 8 || rest.len() > 256 {
            return Err(NoSecret::new(
                "this reference cannot be followed: after secret:// come one to eight names of letters, digits, '_', '-' or '.', none of which begins with a dot",
                shape,
            ));
        }
        Ok(Self(names.into_iter().map(str::to_owned).collect()))
    }

    /// Without the scheme: `accounts/work/password`.
    pub fn path(&self) -> String {
        self.0.join("/")
    }

    /// `secret://callers/invoice-agent/token` is `IMAP_MCP_SECRET__CALLERS__INVOICE_AGENT__TOKEN`.
    pub fn variable(&self) -> String {
        let upper = |name: &String| name.to_ascii_uppercase().replace(['-', '.'], "_");
        let names: Vec<String> = self.0.iter().map(upper).collect();
        format!("{VARIABLE}{}", names.join("__"))
    }

    pub(crate) fn names(&self) -> &[String] {
        &self.0
    }

    /// Whether a variable of the environment could be meant by a reference.
    pub(crate) fn is_variable(name: &str) -> bool {
        name.starts_with(VARIABLE)
    }
}

#[cfg(test)]
mod tests {
    use std::path::{Component, Path};

    use proptest::prelude::*;

    use super::*;

    const SUCH_AS: &str = "secret://accounts/company-mail/password";

    fn parse(text: &str) -> Result<SecretRef, NoSecret> {
        SecretRef::parse(text, SUCH_AS)
    }

    #[test]
    fn a_reference_is_a_path_and_a_variable() {
        for (text, path, variable) in [
            ("secret://a", "a", "A"),
            (
                "secret://callers/invoice-agent/token",
                "callers/invoice-agent/token",
                "CALLERS__INVOICE_AGENT__TOKEN",
            ),
            ("secret://a.b/c_d", "a.b/c_d", "A_B__C_D"),
            (
                "secret://1/2/3/4/5/6/7/8",
                "1/2/3/4/5/6/7/8",
                "1__2__3__4__5__6__7__8",
            ),
        ] {
            let reference = parse(text).unwrap();
            assert_eq!(reference.path(), path);
            assert_eq!(reference.variable(), format!("{VARIABLE}{variable}"));
        }
    }

    #[test]
    fn what_could_lead_elsewhere_is_no_reference() {
        for text in [
            "secret://",
            "secret:///a",
            "secret://a/",
            "secret://a//b",
            "secret://..",
            "secret://a/../b",
            "secret://.hidden",
            "secret://a b",
            "secret://a\\b",
            "secret://a\0",
            "secret://a\nb",
            "secret://ä",
            "secret://$HOME",
            "secret://{ref}",
            "secret://1/2/3/4/5/6/7/8/9",
            "SECRET://a",
            "hunter2",
            "",
        ] {
            let none = parse(text).unwrap_err();
            assert!(!none.to_string().contains("hunter2"));
            assert!(none.hint.contains(SUCH_AS), "{text}: {none}");
        }
        assert!(parse(&format!("secret://{}", "a".repeat(257))).is_err());
    }

    proptest! {
        /// Whatever is taken leads down, one name at a time, and says itself again.
        #[test]
        fn whatever_is_taken_leads_down(text in "(secret://)?[a-zA-Z0-9_./\\\\ ~$\\-\u{0}-\u{ff}]{0,40}") {
            let Ok(reference) = parse(&text) else { return Ok(()) };
            let path = reference.path();
            prop_assert_eq!(format!("{SCHEME}{path}"), text);
            let parts: Vec<_> = Path::new(&path).components().collect();
            prop_assert!(parts.iter().all(|part| matches!(part, Component::Normal(_))));
            prop_assert_eq!(parts.len(), reference.names().len());
            prop_assert!(!path.starts_with('.') && !path.contains("/."));
            let plain = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
            prop_assert!(reference.variable().chars().all(plain));
        }
    }
}
