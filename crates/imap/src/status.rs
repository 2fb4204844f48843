//! Status responses: `OK`, `NO`, `BAD`, `BYE`, `PREAUTH`, with their response code and human text.

use bytes::Bytes;

use crate::value::{self, share};
use crate::{Capabilities, Limits};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StatusKind {
    Ok,
    No,
    Bad,
    Bye,
    Preauth,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Status {
    pub kind: StatusKind,
    pub code: Option<Code>,
    /// For people; whatever a server likes to write.
    pub text: Bytes,
}

/// A response code such as `[UIDVALIDITY 3857529045]` (RFC 3501 section 7.1, RFC 5530 and others).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Code {
    /// In capitals.
    pub name: String,
    pub arguments: Bytes,
}

impl Code {
    pub fn is(&self, name: &str) -> bool {
        self.name == name
    }

    /// The first argument, if it is a number.
    pub fn number(&self) -> Option<u64> {
        value::number(self.arguments.split(|b| *b == b' ').next()?)
    }

    pub fn capabilities(&self) -> Option<Capabilities> {
        if !self.is("CAPABILITY") {
            return None;
        }
        let values = value::values(&self.arguments, &Limits::default()).ok()?;
        Some(Capabilities::from_values(&values))
    }
}

impl Status {
    pub fn is_ok(&self) -> bool {
        matches!(self.kind, StatusKind::Ok | StatusKind::Preauth)
    }

    pub fn has_code(&self, name: &str) -> bool {
        self.code.as_ref().is_some_and(|code| code.is(name))
    }

    /// `word` is the status word, `rest` what follows it; `None` when the word is no status.
    pub(crate) fn parse(frame: &Bytes, word: &[u8], rest: &[u8]) -> Option<Self> {
        let kind = match word.to_ascii_uppercase().as_slice() {
            b"OK" => StatusKind::Ok,
            b"NO" => StatusKind::No,
            b"BAD" => StatusKind::Bad,
            b"BYE" => StatusKind::Bye,
            b"PREAUTH" => StatusKind::Preauth,
            _ => return None,
        };
        let (code, text) = split_code(rest);
        Some(Self {
            kind,
            code: code.map(|inside| parse_code(frame, inside)),
            text: share(frame, text),
        })
    }
}

/// `[CODE …] text`
fn split_code(rest: &[u8]) -> (Option<&[u8]>, &[u8]) {
    let Some(inside) = rest.strip_prefix(b"[") else {
        return (None, rest);
    };
    let Some((code, after)) = code_end(inside).and_then(|end| inside.split_at_checked(end)) else {
        return (None, rest);
    };
    let text = after.strip_prefix(b"]").unwrap_or(after);
    (Some(code), text.trim_ascii_start())
}

/// Brackets inside quoted strings and lists do not count: a flag may be called `[work]`.
/// Where strings or lists never end, the first bracket does.
fn code_end(inside: &[u8]) -> Option<usize> {
    let (mut quoted, mut escaped, mut depth) = (false, false, 0usize);
    for (index, byte) in inside.iter().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            _ if quoted => {}
            b'(' => depth += 1,
            b')' => depth = depth.saturating_sub(1),
            b']' if depth == 0 => return Some(index),
            _ => {}
        }
    }
    memchr::memchr(b']', inside)
}

fn parse_code(frame: &Bytes, inside: &[u8]) -> Code {
    let mut parts = inside.splitn(2, |b| *b == b' ');
    let name = parts.next().unwrap_or_default();
    let arguments = parts.next().unwrap_or_default();
    Code {
        name: String::from_utf8_lossy(name).to_ascii_uppercase(),
        arguments: share(frame, arguments.trim_ascii()),
    }
}
