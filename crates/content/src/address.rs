//! Addresses: read from a header value as IMAP's ENVELOPE gives them, and written for a reader.

use mail::{Address, Raw};

use crate::changes::Changes;
use crate::header;
use crate::shield::{self, Shape};
use crate::words;

/// Read from one header field.
pub(crate) const MOST_READ: usize = 1_000;
/// Shown in one list.
const MOST_SHOWN: usize = 100;
const MOST_CHARS: usize = 4_000;

/// `Name <a@b>, …`, decoded and shielded; what does not fit is counted at the end. `None` when there is none.
pub fn addresses(list: &[Address], changes: &mut Changes) -> Option<String> {
    let mut out = String::new();
    let mut chars = 0;
    let mut left = list.len();
    let mut fresh = true;
    for (shown, address) in list.iter().enumerate() {
        let one = match piece(address, changes) {
            Piece::Mailbox(text) => text,
            Piece::GroupStart(name) => format!("{name}:"),
            Piece::GroupEnd => ";".to_owned(),
            Piece::Nothing => {
                left -= 1;
                continue;
            }
        };
        let gap = match one.as_str() {
            ";" => "",
            _ if fresh => "",
            _ if out.ends_with(':') => " ",
            _ => ", ",
        };
        chars += gap.len() + one.chars().count();
        if shown >= MOST_SHOWN || chars > MOST_CHARS {
            break;
        }
        left -= 1;
        fresh = false;
        out.push_str(gap);
        out.push_str(&one);
    }
    if left > 0 {
        let gap = if out.is_empty() { "" } else { " " };
        // Beyond what is read, nobody has counted.
        let least = if list.len() >= MOST_READ {
            "at least "
        } else {
            ""
        };
        out.push_str(&format!("{gap}… (+{least}{left} more)"));
    }
    // INVARIANT: brackets and colons were put around what was shielded, and may have made a marker of it.
    let shielded = shield::shield(&out, Shape::Line);
    *changes += shielded.changes;
    (!shielded.text.is_empty()).then_some(shielded.text)
}

/// The addresses of a header value, names undecoded (RFC 5322 section 3.4, RFC 3501 section 7.4.2).
pub(crate) fn parse(value: &[u8]) -> Vec<Address> {
    let value = header::unfolded(value);
    let mut list = Vec::new();
    let mut grouped = false;
    let mut piece = Draft::default();
    let mut scan = value.iter().copied();
    while let Some(byte) = scan.next() {
        if list.len() >= MOST_READ {
            return list;
        }
        match (piece.within, byte) {
            (Within::Quote, b'\\') => piece.push(scan.next()),
            (Within::Quote, b'"') => piece.within = Within::Plain,
            (Within::Comment(_), b'\\') => piece.comment.extend(scan.next()),
            (Within::Comment(depth), b'(') => piece.within = Within::Comment(depth + 1),
            (Within::Comment(0), b')') => piece.within = Within::Plain,
            (Within::Comment(depth), b')') => piece.within = Within::Comment(depth - 1),
            (Within::Comment(_), _) => piece.comment.push(byte),
            (Within::Angle, b'>') => piece.within = Within::Plain,
            (Within::Quote | Within::Angle, _) => piece.push(Some(byte)),
            (Within::Plain, b'\\') => piece.push(scan.next()),
            (Within::Plain, b'"') => piece.within = Within::Quote,
            (Within::Plain, b'(') => piece.within = Within::Comment(0),
            (Within::Plain, b'<') => {
                piece.angle = Some(Vec::new());
                piece.within = Within::Angle;
            }
            (Within::Plain, b',') => list.extend(std::mem::take(&mut piece).finish()),
            (Within::Plain, b':') if !grouped && piece.angle.is_none() => {
                let name = std::mem::take(&mut piece).text;
                list.push(Address {
                    mailbox: raw(&name),
                    ..Address::default()
                });
                grouped = true;
            }
            (Within::Plain, b';') => {
                list.extend(std::mem::take(&mut piece).finish());
                if grouped {
                    list.push(Address::default());
                }
                grouped = false;
            }
            (Within::Plain, _) => piece.push(Some(byte)),
        }
    }
    list.extend(piece.finish());
    list
}

#[derive(Clone, Copy, Default)]
enum Within {
    #[default]
    Plain,
    Quote,
    Angle,
    /// With how many comments around it.
    Comment(usize),
}

/// One address being read.
#[derive(Default)]
struct Draft {
    text: Vec<u8>,
    angle: Option<Vec<u8>>,
    comment: Vec<u8>,
    within: Within,
}

impl Draft {
    fn push(&mut self, byte: Option<u8>) {
        match (self.within, &mut self.angle) {
            (Within::Angle, Some(angle)) => angle.extend(byte),
            _ => self.text.extend(byte),
        }
    }

    fn finish(self) -> Option<Address> {
        let (name, spec) = match &self.angle {
            Some(spec) => (&self.text, spec),
            None => (&self.comment, &self.text),
        };
        let spec = spec.trim_ascii();
        // A source route (`@a,@b:user@host`) is obsolete and says nothing.
        let spec = match spec.first() {
            Some(b'@') => spec.rsplit(|b| *b == b':').next().unwrap_or(spec),
            _ => spec,
        };
        let (mailbox, host) = match memchr::memrchr(b'@', spec) {
            Some(at) => (spec.get(..at)?, spec.get(at + 1..)?),
            None => (spec, &b""[..]),
        };
        let address = Address {
            name: raw(name),
            mailbox: raw(mailbox),
            // INVARIANT: only the name of a group has no host.
            host: raw(host).or_else(|| raw(mailbox).map(|_| Raw::default())),
        };
        (address != Address::default()).then_some(address)
    }
}

fn raw(bytes: &[u8]) -> Option<Raw> {
    let bytes = bytes.trim_ascii();
    (!bytes.is_empty()).then(|| Raw::copied(bytes))
}

enum Piece {
    Mailbox(String),
    GroupStart(String),
    GroupEnd,
    Nothing,
}

fn piece(address: &Address, changes: &mut Changes) -> Piece {
    let mut shown = |raw: &Raw| {
        let text = words::shown(raw.bytes(), changes).text;
        shield::bounded(text.trim(), Shape::Line, 320, changes)
    };
    let name = address.name.as_ref().map(&mut shown).unwrap_or_default();
    let mailbox = address.mailbox.as_ref().map(&mut shown);
    let mailbox = mailbox.unwrap_or_default();
    let mailbox = match is_no_mailbox(&mailbox) {
        true => String::new(),
        false => mailbox,
    };
    let Some(host) = &address.host else {
        return match (mailbox.is_empty(), name.is_empty()) {
            (true, true) => Piece::GroupEnd,
            (true, false) => Piece::Mailbox(quoted(&name)),
            (false, _) => Piece::GroupStart(quoted(&mailbox)),
        };
    };
    let host = shown(host);
    let spec = if is_no_host(&host) {
        mailbox
    } else {
        format!("{mailbox}@{host}")
    };
    match (spec.is_empty(), name.is_empty() || name == spec) {
        (true, true) => Piece::Nothing,
        (true, false) => Piece::Mailbox(quoted(&name)),
        (false, true) => Piece::Mailbox(spec),
        (false, false) => Piece::Mailbox(format!("{} <{spec}>", quoted(&name))),
    }
}

/// QUIRK: what Dovecot puts where there is no mailbox.
pub(crate) fn is_no_mailbox(text: &str) -> bool {
    matches!(text, "" | "MISSING_MAILBOX")
}

/// QUIRK: what Dovecot, Cyrus and UW put where there is no host.
pub(crate) fn is_no_host(text: &str) -> bool {
    const MISSING: [&str; 4] = [
        "",
        "MISSING_DOMAIN",
        "unspecified-domain",
        ".MISSING-HOST-NAME.",
    ];
    MISSING.contains(&text)
}

/// A name that holds address syntax is quoted, so that it cannot pass for an address of its own.
fn quoted(name: &str) -> String {
    if name.contains(['<', '>', '@', ',', ';', ':', '"']) {
        format!("\"{}\"", name.replace('"', "'"))
    } else {
        name.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(value: &[u8]) -> Option<String> {
        addresses(&parse(value), &mut Changes::default())
    }

    #[test]
    fn addresses_read_and_print() {
        for (value, want) in [
            (&b"a@b.c"[..], "a@b.c"),
            (b"<a@b.c>", "a@b.c"),
            (b"Ann B <a@b.c>, d@e.f", "Ann B <a@b.c>, d@e.f"),
            (b"\"Doe, John\" <j@d.e>", "\"Doe, John\" <j@d.e>"),
            (b"=?utf-8?Q?J=C3=BCrgen?= <j@d.e>", "Jürgen <j@d.e>"),
            (b"a@b.c (Ann (the) B)", "Ann the B <a@b.c>"),
            (b"a@b.c (Ann \\( B)", "Ann ( B <a@b.c>"),
            (
                b"Team: a@b.c, Bo <b@b.c>;, d@e.f",
                "Team: a@b.c, Bo <b@b.c>;, d@e.f",
            ),
            (b"undisclosed-recipients:;", "undisclosed-recipients:;"),
            (b"<@x,@y:a@b.c>", "a@b.c"),
            (b"root", "root"),
            (
                b"\"bank@good.com\" <x@evil.com>",
                "\"bank@good.com\" <x@evil.com>",
            ),
            (b"\"a\\\"b\" <x@y>", "\"a'b\" <x@y>"),
            (b"a@b.c,\r\n d@e.f", "a@b.c, d@e.f"),
            (b"Broken <a@b.c", "Broken <a@b.c>"),
            (b"J\xfcrgen <j@d.e>", "Jürgen <j@d.e>"),
            (b"Doe\\, J <j@d.e>", "\"Doe, J\" <j@d.e>"),
            (b"a\xe2\x80\xaeb <x@y>", "ab <x@y>"),
            (b"Ann <|im_start|>", "Ann < |im_start|>"),
            (b"Ann <https://x.y/z>", "Ann <https://x.y/z>"),
            (b"[a]: b@c.d;", "[a]: b@c.d;"),
        ] {
            assert_eq!(read(value).as_deref(), Some(want));
        }
        for value in [&b""[..], b",", b"<>", b"()"] {
            assert_eq!(read(value), None, "{value:?}");
        }
    }

    #[test]
    fn fields_are_those_of_an_envelope() {
        let found = parse(b"=?utf-8?Q?A?= <a@b.c>, Team: x@y;");
        let raw = |text: &str| Some(Raw::copied(text.as_bytes()));
        assert_eq!(found.len(), 4);
        assert_eq!(found[0].name, raw("=?utf-8?Q?A?="));
        assert_eq!(
            (&found[0].mailbox, &found[0].host),
            (&raw("a"), &raw("b.c"))
        );
        assert_eq!((&found[1].mailbox, &found[1].host), (&raw("Team"), &None));
        assert_eq!(found[3], Address::default());
    }

    #[test]
    fn what_servers_put_for_nothing_is_not_shown() {
        let raw = |text: &str| Some(Raw::copied(text.as_bytes()));
        for (mailbox, host, want) in [
            ("root", "MISSING_DOMAIN", "Name <root>"),
            ("MISSING_MAILBOX", "MISSING_DOMAIN", "Name"),
        ] {
            let one = Address {
                name: raw("Name"),
                mailbox: raw(mailbox),
                host: raw(host),
            };
            let found = addresses(&[one], &mut Changes::default());
            assert_eq!(found.as_deref(), Some(want));
        }
    }

    #[test]
    fn many_addresses_are_counted() {
        let list = vec!["someone@example.com"; 150].join(", ");
        let shown = read(list.as_bytes()).unwrap();
        assert!(shown.ends_with("… (+50 more)"), "{shown}");
        let wide = vec![format!("{} <a@b.c>", "x".repeat(300)); 50].join(", ");
        let shown = read(wide.as_bytes()).unwrap();
        assert!(shown.chars().count() < MOST_CHARS + 40);
        assert!(shown.ends_with("more)"));
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_fall(bytes: Vec<u8>) {
            read(&bytes);
        }

        #[test]
        fn no_near_addresses_make_it_fall(text in "[a@<>\"(),;: \\\\]{0,40}") {
            read(text.as_bytes());
        }
    }
}
