//! A message that its author wrote whole (RFC 5322), checked before it is stored as a draft.

use std::fmt;

use jiff::Timestamp;
use mail_builder::headers::date::Date;

/// Octets of a message, after its line ends have become CRLF.
pub const MAX_WHOLE_MESSAGE_BYTES: usize = 1_000_000;
const MAX_HEADER_BYTES: usize = 64 * 1024;
/// RFC 5322 section 2.1.1, without the line end.
const MAX_LINE_BYTES: usize = 998;

/// Fields that a message has once at most (RFC 5322 section 3.6).
const SINGLE_FIELDS: [&str; 11] = [
    "date",
    "from",
    "sender",
    "reply-to",
    "to",
    "cc",
    "bcc",
    "message-id",
    "in-reply-to",
    "references",
    "subject",
];

/// A message whose header has been checked. Its lines end with CRLF.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WholeMessage {
    text: String,
    has_date: bool,
    has_message_id: bool,
}

/// Why a text is no message. Line numbers begin at 1.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum WholeMessageError {
    Nul,
    TooLong,
    NoHeader,
    HeaderTooLong,
    NoField { line: usize },
    NotAscii { line: usize },
    Control { line: usize },
    LongLine { line: usize },
    Repeated { field: &'static str },
}

impl fmt::Display for WholeMessageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nul => write!(f, "must not contain NUL characters"),
            Self::TooLong => write!(f, "must be at most {MAX_WHOLE_MESSAGE_BYTES} octets long"),
            Self::NoHeader => write!(f, "must begin with header fields such as 'Subject: …'"),
            Self::HeaderTooLong => {
                write!(f, "must have a header of at most {MAX_HEADER_BYTES} octets")
            }
            Self::NoField { line } => write!(
                f,
                "must have header fields up to its first empty line, and line {line} is none"
            ),
            Self::NotAscii { line } => write!(
                f,
                "must have a header of ASCII characters; encode line {line} as RFC 2047 says"
            ),
            Self::Control { line } => write!(
                f,
                "must have no control characters in its header, and line {line} has one"
            ),
            Self::LongLine { line } => write!(
                f,
                "must have header lines of at most {MAX_LINE_BYTES} octets; fold line {line}"
            ),
            Self::Repeated { field } => write!(f, "must have the field {field} once at most"),
        }
    }
}

impl std::error::Error for WholeMessageError {}

impl WholeMessage {
    pub fn parse(text: &str) -> Result<Self, WholeMessageError> {
        if text.contains('\0') {
            return Err(WholeMessageError::Nul);
        }
        if text.len() > MAX_WHOLE_MESSAGE_BYTES {
            return Err(WholeMessageError::TooLong);
        }
        let mut text = crlf(text);
        if !text.ends_with("\r\n") {
            text.push_str("\r\n");
        }
        if text.len() > MAX_WHOLE_MESSAGE_BYTES {
            return Err(WholeMessageError::TooLong);
        }
        let (header, has_body) = match text.split_once("\r\n\r\n") {
            Some((header, _)) => (header, true),
            None => (text.trim_end_matches("\r\n"), false),
        };
        let names = check_header(header)?;
        let has = |wanted: &str| names.iter().any(|name| name == wanted);
        let (has_date, has_message_id) = (has("date"), has("message-id"));
        if !has_body {
            text.push_str("\r\n");
        }
        Ok(Self {
            text,
            has_date,
            has_message_id,
        })
    }

    /// The message with CRLF line ends, and nothing added.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The octets to store. A Date and a Message-ID are added where the author gave none; `id`
    /// has no brackets.
    pub fn octets(&self, id: &str, written: Timestamp) -> Vec<u8> {
        let mut octets = String::with_capacity(self.text.len() + 128);
        if !self.has_date {
            let date = Date::new(written.as_second()).to_rfc822();
            octets.push_str(&format!("Date: {date}\r\n"));
        }
        if !self.has_message_id {
            octets.push_str(&format!("Message-ID: <{id}>\r\n"));
        }
        octets.push_str(&self.text);
        octets.into_bytes()
    }
}

pub(crate) fn crlf(text: &str) -> String {
    text.replace("\r\n", "\n").replace(['\r', '\n'], "\r\n")
}

/// The names of the fields, in lower case.
fn check_header(header: &str) -> Result<Vec<String>, WholeMessageError> {
    if header.is_empty() || header.starts_with("\r\n") {
        return Err(WholeMessageError::NoHeader);
    }
    if header.len() > MAX_HEADER_BYTES {
        return Err(WholeMessageError::HeaderTooLong);
    }
    let mut names: Vec<String> = Vec::new();
    for (index, text) in header.split("\r\n").enumerate() {
        let line = index + 1;
        check_line(text, line)?;
        let is_folded = text.starts_with([' ', '\t']) && !text.trim().is_empty();
        if is_folded && !names.is_empty() {
            continue;
        }
        let name = field_name(text).ok_or(WholeMessageError::NoField { line })?;
        let repeated = names.contains(&name);
        let single = SINGLE_FIELDS.iter().find(|single| **single == name);
        if let Some(field) = single.filter(|_| repeated) {
            return Err(WholeMessageError::Repeated { field });
        }
        names.push(name);
    }
    Ok(names)
}

fn check_line(text: &str, line: usize) -> Result<(), WholeMessageError> {
    if text.len() > MAX_LINE_BYTES {
        return Err(WholeMessageError::LongLine { line });
    }
    if !text.is_ascii() {
        return Err(WholeMessageError::NotAscii { line });
    }
    match text
        .bytes()
        .any(|byte| byte.is_ascii_control() && byte != b'\t')
    {
        true => Err(WholeMessageError::Control { line }),
        false => Ok(()),
    }
}

/// RFC 5322 section 2.2: printable ASCII before the colon.
fn field_name(text: &str) -> Option<String> {
    let (name, _) = text.split_once(':')?;
    let good = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_graphic());
    good.then(|| name.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str = "Date: Tue, 3 Nov 2026 09:12:00 +0100\nMessage-ID: <a@b.example>\n\
                         From: a@b.example\nSubject: x\n\ty\n\nGr\u{fc}\u{df}e\rand\r\nmore";

    fn octets(text: &str) -> String {
        let authored = WholeMessage::parse(text).unwrap();
        String::from_utf8(authored.octets("id@x.invalid", Timestamp::UNIX_EPOCH)).unwrap()
    }

    #[test]
    fn a_whole_message_keeps_its_words_and_gets_crlf() {
        let want = WHOLE.replace("\r\n", "\n").replace(['\r', '\n'], "\r\n") + "\r\n";
        assert_eq!(octets(WHOLE), want);
    }

    #[test]
    fn a_missing_date_and_message_id_are_added() {
        assert_eq!(
            octets("Subject: x"),
            "Date: Thu, 1 Jan 1970 00:00:00 +0000\r\nMessage-ID: <id@x.invalid>\r\n\
             Subject: x\r\n\r\n"
        );
    }

    #[test]
    fn a_text_that_is_no_message_is_refused() {
        let long = format!("Subject: {}\n\nx", "x".repeat(990));
        let large = format!("Subject: x\n\n{}", "\n".repeat(600_000));
        let header = "X: y\n".repeat(20_000);
        for (text, why) in [
            ("", WholeMessageError::NoHeader),
            ("\n\nbody", WholeMessageError::NoHeader),
            ("just words\n\nbody", WholeMessageError::NoField { line: 1 }),
            (
                " folded: first\n\nbody",
                WholeMessageError::NoField { line: 1 },
            ),
            (
                "From a@b Tue Nov  3 09:12:00 2026\nSubject: x\n\n",
                WholeMessageError::NoField { line: 1 },
            ),
            (
                "Subject: x\nbody without an empty line\n",
                WholeMessageError::NoField { line: 2 },
            ),
            ("Subject : x\n\n", WholeMessageError::NoField { line: 1 }),
            (
                "Subject: Gr\u{fc}\u{df}e\n\n",
                WholeMessageError::NotAscii { line: 1 },
            ),
            (
                "Subject: x\u{7}\n\n",
                WholeMessageError::Control { line: 1 },
            ),
            ("Subject: x\n\n\0", WholeMessageError::Nul),
            (
                "From: a@b.example\nFROM: c@d.example\n\n",
                WholeMessageError::Repeated { field: "from" },
            ),
            (long.as_str(), WholeMessageError::LongLine { line: 1 }),
            (large.as_str(), WholeMessageError::TooLong),
            (header.as_str(), WholeMessageError::HeaderTooLong),
        ] {
            assert_eq!(WholeMessage::parse(text), Err(why), "{:.40}", text);
        }
    }
}
