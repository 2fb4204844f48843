//! The ids by which a server itself says which messages are of one conversation.

use crate::Value;

/// Means nothing beyond one account.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum ThreadId {
    /// `X-GM-THRID`, where `X-GM-EXT-1` is offered.
    Gmail(u64),
    /// `THREADID` (RFC 8474), where `OBJECTID` is offered: what [`object`](Self::object) lets pass.
    Object(String),
}

impl ThreadId {
    /// RFC 8474 section 7: an objectid. Nothing else can be asked for again without being mistaken for syntax.
    pub fn object(text: &[u8]) -> Option<Self> {
        let fits = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        let good = (1..=255).contains(&text.len()) && text.iter().all(fits);
        let text = std::str::from_utf8(text).ok().filter(|_| good)?;
        Some(Self::Object(text.to_owned()))
    }

    /// What stands behind an item of that name, in capitals. `NIL` is no conversation.
    pub(crate) fn read(name: &str, value: &Value<'_>) -> Option<Self> {
        match name {
            "X-GM-THRID" => value.number().map(Self::Gmail),
            // QUIRK: the parentheses may be missing.
            "THREADID" => {
                let inside = value.list().and_then(<[_]>::first).unwrap_or(value);
                Self::object(inside.string()?)
            }
            _ => None,
        }
    }

    /// As a search key.
    pub(crate) fn wire(&self) -> String {
        match self {
            Self::Gmail(number) => format!("X-GM-THRID {number}"),
            Self::Object(id) => format!("THREADID {id}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_that_could_be_syntax_is_none() {
        for good in ["T64b478a75b7ea9", "a", "_-"] {
            let id = ThreadId::object(good.as_bytes());
            assert_eq!(id, Some(ThreadId::Object(good.to_owned())));
        }
        let long = "a".repeat(256);
        for bad in ["", "a b", "a)", "\"a\"", "a\r\nb", "*", "ü", "{3}", &long] {
            assert_eq!(ThreadId::object(bad.as_bytes()), None, "{bad:?}");
        }
    }
}
