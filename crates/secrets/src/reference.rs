//! `secret://…`: the name of a secret. What it leads to is the store's business.

use crate::NoSecret;

const SCHEME: &str = "secret://";

/// A reference that is well formed: the names between its slashes.
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
        let names: Vec<&str> = rest.split('/').collect();
        if !names.iter().all(|name| fits(name)) || names.len() > 8 || rest.len() > 256 {
            return Err(NoSecret::new(
                "this reference cannot be followed: after secret:// come one to eight names of letters, digits, '_', '-' or '.', none of which begins with a dot",
                shape,
            ));
        }
        Ok(Self(names.into_iter().map(str::to_owned).collect()))
    }

    /// Between the slashes.
    pub fn names(&self) -> &[String] {
        &self.0
    }
}
