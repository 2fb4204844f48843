//! Addresses of a message: read from a header field or taken from an IMAP ENVELOPE, and printed.
//!
//! `parse.rs` reads a field for people and repairs what is malformed, `strict.rs` reads it for
//! policies and repairs nothing. `print.rs` writes the one form that is shown. Both lists of mail
//! and single messages use them.

mod parse;
mod print;
pub(crate) mod strict;

use std::borrow::Cow;

use mail::{Address, Raw};

use crate::changes::Changes;
use crate::header::{Field, fields};
use crate::shield::{self, Shape};

pub(crate) use print::{is_overlong, readable, readable_domain};

/// The header fields that hold addresses (RFC 5322 sections 3.6.2 and 3.6.3).
const ADDRESS_FIELDS: [&str; 6] = ["From", "Sender", "Reply-To", "To", "Cc", "Bcc"];

/// Read from one header field.
pub(crate) const MOST_READ: usize = 1_000;
/// Shown in one list.
const MAX_SHOWN: usize = 100;
const MAX_SHOWN_CHARS: usize = 4_000;

/// One mailbox of an address field.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mailbox {
    /// The display name, else a comment that stands for it. RFC 2047 words are not decoded.
    pub display_name: Option<Raw>,
    /// Unquoted. Where no domain could be read, all that was written; empty beside a name alone.
    pub local_part: Raw,
    /// A dot-atom without a dot at its end, or an address literal.
    pub domain: Option<Raw>,
    pub form: Form,
}

/// Whether other programs read the same address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// RFC 5322 allows no other reading.
    WellFormed,
    /// RFC 5322 does not allow what was written.
    Repaired,
}

/// One element of an address field.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Entry {
    /// The name of a group; its mailboxes follow.
    GroupStart(Raw),
    Mailbox(Mailbox),
    GroupEnd,
}

/// The addresses of a header field.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct AddressList {
    pub entries: Vec<Entry>,
    /// There may be more than what was read.
    pub cut: bool,
}

impl AddressList {
    /// Reads the value of a header field (RFC 5322 section 3.4).
    pub fn parse(value: &[u8]) -> Self {
        let (entries, whole) = parse::entries(value, MOST_READ);
        Self {
            entries,
            cut: !whole,
        }
    }

    /// What a source described as IMAP's ENVELOPE does (RFC 3501 section 7.4.2).
    pub fn of_envelope(list: &[Address]) -> Self {
        Self {
            entries: list.iter().filter_map(described).collect(),
            cut: list.len() >= MOST_READ,
        }
    }

    pub fn mailboxes(&self) -> impl Iterator<Item = &Mailbox> {
        self.entries.iter().filter_map(|entry| match entry {
            Entry::Mailbox(mailbox) => Some(mailbox),
            Entry::GroupStart(_) | Entry::GroupEnd => None,
        })
    }

    pub(crate) fn into_envelope(self) -> impl Iterator<Item = Address> {
        self.entries.into_iter().map(Address::from)
    }

    /// `Name <a@b>, …`, shielded; what does not fit is counted at the end. `None` when there is
    /// nothing to show.
    /// Raw 8-bit names are in `charset`.
    pub(crate) fn print(&self, charset: Option<&str>, changes: &mut Changes) -> Option<String> {
        let mut out = String::new();
        let mut chars = 0;
        let mut left = self.entries.len();
        let mut first = true;
        for (shown, one) in self.entries.iter().enumerate() {
            let text = print::entry(one, charset, changes);
            let gap = match one {
                Entry::GroupEnd => "",
                _ if first => "",
                _ if out.ends_with(':') => " ",
                _ => ", ",
            };
            chars += gap.len() + text.chars().count();
            if shown >= MAX_SHOWN || chars > MAX_SHOWN_CHARS {
                break;
            }
            left -= 1;
            first = false;
            out.push_str(gap);
            out.push_str(&text);
        }
        if left > 0 {
            let gap = if out.is_empty() { "" } else { " " };
            let least = if self.cut { "at least " } else { "" };
            out.push_str(&format!("{gap}… (+{least}{left} more)"));
        }
        // INVARIANT: brackets and colons were put around what was shielded, and may have made a
        // marker of it.
        let shielded = shield::shield(&out, Shape::Line);
        *changes += shielded.changes;
        (!shielded.text.is_empty()).then_some(shielded.text)
    }
}

/// The address fields of a header, each read once.
pub(crate) struct AddressFields<'h> {
    fields: Vec<(Field<'h>, AddressList)>,
}

impl<'h> AddressFields<'h> {
    pub(crate) fn read(header: &'h [u8]) -> Self {
        let named = fields(header).filter(is_address_field);
        Self {
            fields: named
                .map(|field| (field, AddressList::parse(field.value)))
                .collect(),
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &(Field<'h>, AddressList)> {
        self.fields.iter()
    }

    /// What stands in a field of the same header.
    pub(crate) fn list(&self, field: &Field<'_>) -> Option<&AddressList> {
        let found = self
            .iter()
            .find(|(known, _)| std::ptr::eq(known.value, field.value))?;
        Some(&found.1)
    }
}

pub(crate) fn is_address_field(field: &Field<'_>) -> bool {
    ADDRESS_FIELDS.iter().any(|name| field.is(name))
}

impl Mailbox {
    /// The address alone, as it is printed.
    pub(crate) fn spec(&self) -> String {
        print::spec(self)
    }
}

/// As [`AddressList::print`], of what a source described.
pub fn addresses(list: &[Address], changes: &mut Changes) -> Option<String> {
    AddressList::of_envelope(list).print(None, changes)
}

/// INVARIANT: a mailbox has a host, be it an empty one; the name of a group has none.
impl From<Entry> for Address {
    fn from(entry: Entry) -> Self {
        match entry {
            Entry::GroupStart(name) => Self {
                mailbox: Some(name),
                ..Self::default()
            },
            Entry::GroupEnd => Self::default(),
            Entry::Mailbox(mailbox) => {
                let local = mailbox.local_part;
                // What reads as quoted would be unquoted once more.
                let local = match unquoted(local.bytes()) {
                    Cow::Borrowed(_) => local,
                    Cow::Owned(_) => Raw::new(requoted(local.bytes())),
                };
                let local = Some(local).filter(|local| !local.is_empty());
                Self {
                    name: mailbox.display_name,
                    host: mailbox.domain.or(local.as_ref().map(|_| Raw::default())),
                    mailbox: local,
                }
            }
        }
    }
}

fn described(one: &Address) -> Option<Entry> {
    let bytes = |raw: &Option<Raw>| raw.as_ref().map(Raw::bytes).unwrap_or_default().to_vec();
    let (name, local, host) = (&one.name, bytes(&one.mailbox), bytes(&one.host));
    if one.host.is_none() {
        match (name, local.is_empty()) {
            (None, true) => return Some(Entry::GroupEnd),
            (_, false) => return Some(Entry::GroupStart(Raw::new(local))),
            (Some(_), true) => {}
        }
    }
    let local = if is_no_mailbox(&local) {
        Vec::new()
    } else {
        local
    };
    let host = host.strip_suffix(b".").unwrap_or(&host);
    let (local, domain) = match () {
        () if is_no_host(host) => (unquoted(&local).into_owned(), None),
        () if is_domain(host) && !local.is_empty() => {
            (unquoted(&local).into_owned(), Some(Raw::copied(host)))
        }
        () => ([&local, &b"@"[..], host].concat(), None),
    };
    let form = if is_ordinary(&local) && (domain.is_some() || !local.contains(&b'@')) {
        Form::WellFormed
    } else {
        Form::Repaired
    };
    let name = name
        .clone()
        .filter(|name| !name.bytes().trim_ascii().is_empty());
    (name.is_some() || !local.is_empty()).then(|| {
        Entry::Mailbox(Mailbox {
            display_name: name,
            local_part: Raw::new(local),
            domain,
            form,
        })
    })
}

/// `"john.doe"@example.com` is `john.doe@example.com` (RFC 5321 section 4.1.2); servers omit the
/// quotes.
pub(crate) fn unquoted(local: &[u8]) -> Cow<'_, [u8]> {
    let inner = local
        .strip_prefix(b"\"")
        .and_then(|local| local.strip_suffix(b"\""));
    let Some(inner) = inner else {
        return Cow::Borrowed(local);
    };
    let mut bytes = inner.iter().copied();
    let mut out = Vec::with_capacity(inner.len());
    while let Some(byte) = bytes.next() {
        if byte == b'\\' {
            out.extend(bytes.next());
        } else {
            out.push(byte);
        }
    }
    Cow::Owned(out)
}

fn requoted(local: &[u8]) -> Vec<u8> {
    let mut out = vec![b'"'];
    for byte in local {
        if matches!(byte, b'"' | b'\\') {
            out.push(b'\\');
        }
        out.push(*byte);
    }
    out.push(b'"');
    out
}

/// No control, no character that is not seen, valid UTF-8.
fn is_ordinary(text: &[u8]) -> bool {
    if text.iter().all(u8::is_ascii_graphic) {
        return true;
    }
    let hidden = |text: &str| text.chars().any(shield::is_banned);
    std::str::from_utf8(text).is_ok_and(|text| !hidden(text))
}

/// A dot-atom, or an address literal (RFC 5322 section 3.4.1). Encoded words are in no domain.
fn is_domain(host: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(host) else {
        return false;
    };
    if !is_ordinary(host) || text.contains("=?") {
        return false;
    }
    if let Some(literal) = text.strip_prefix('[') {
        let inner = literal.strip_suffix(']');
        let is_address = |c: char| c.is_ascii_alphanumeric() || ".:-".contains(c);
        return inner.is_some_and(|inner| !inner.is_empty() && inner.chars().all(is_address));
    }
    let fits = |c: char| {
        !c.is_whitespace()
            && !matches!(
                c,
                '(' | ')' | '<' | '>' | '[' | ']' | ':' | ';' | '@' | '\\' | ',' | '.' | '"'
            )
    };
    text.split('.')
        .all(|label| !label.is_empty() && label.chars().all(fits))
}

/// QUIRK: what Dovecot puts where there is no mailbox.
pub(crate) fn is_no_mailbox(text: &[u8]) -> bool {
    matches!(text, b"" | b"MISSING_MAILBOX")
}

/// QUIRK: what Dovecot, Cyrus and UW put where there is no host, or one that they cannot read.
pub(crate) fn is_no_host(text: &[u8]) -> bool {
    const MISSING: [&[u8]; 5] = [
        b"",
        b"MISSING_DOMAIN",
        b"SYNTAX_ERROR",
        b"unspecified-domain",
        b".MISSING-HOST-NAME.",
    ];
    MISSING.contains(&text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn print(value: &[u8]) -> Option<String> {
        AddressList::parse(value).print(None, &mut Changes::default())
    }

    /// Local part, domain and form of each mailbox.
    fn mailboxes(value: &[u8]) -> Vec<String> {
        let text = |raw: &Raw| String::from_utf8_lossy(raw.bytes()).into_owned();
        let list = AddressList::parse(value);
        let shown = list.mailboxes().map(|one| {
            let domain = one.domain.as_ref().map_or("-".to_owned(), text);
            let mark = match one.form {
                Form::WellFormed => "",
                Form::Repaired => "!",
            };
            format!("{} {domain}{mark}", text(&one.local_part))
        });
        shown.collect()
    }

    #[test]
    fn well_formed_fields_round_trip() {
        for (value, want) in [
            (&b"a@b.c"[..], "a@b.c"),
            (b"<a@b.c>", "a@b.c"),
            (b"Ann B <a@b.c>, d@e.f", "Ann B <a@b.c>, d@e.f"),
            (b"\"Doe, John\" <j@d.e>", "\"Doe, John\" <j@d.e>"),
            (b"\"J. Doe\" <j@d.e>", "\"J. Doe\" <j@d.e>"),
            (b"=?utf-8?Q?J=C3=BCrgen?= <j@d.e>", "J\u{fc}rgen <j@d.e>"),
            (
                b"\"=?utf-8?Q?J=C3=BCrgen?=\" <j@d.e>",
                "J\u{fc}rgen <j@d.e>",
            ),
            (
                b"=?utf-8?Q?boss=40good.com=3E=2C?= <x@evil.com>",
                "\"boss@good.com>,\" <x@evil.com>",
            ),
            (
                b"=?utf-8?q?=3D=3Futf-8=3Fq=3Fa=3F=3D?= <x@y.z>",
                "\"=\\?utf-8?q?a?=\" <x@y.z>",
            ),
            (b"a@b.c (Ann (the) B)", "Ann the B <a@b.c>"),
            (b"a@b.c (Ann \\( B)", "\"Ann ( B\" <a@b.c>"),
            (
                b"Team: a@b.c, Bo <b@b.c>;, d@e.f",
                "Team: a@b.c, Bo <b@b.c>;, d@e.f",
            ),
            (b"undisclosed-recipients:;", "undisclosed-recipients:;"),
            (b"a@b.c; d@e.f", "a@b.c, d@e.f"),
            (b"root", "root"),
            (
                b"\"bank@good.com\" <x@evil.com>",
                "\"bank@good.com\" <x@evil.com>",
            ),
            (b"\"a\\\"b\\\\\" <x@y>", "\"a\\\"b\\\\\" <x@y>"),
            (b"a@b.c,\r\n d@e.f", "a@b.c, d@e.f"),
            (b"J\xfcrgen <j@d.e>", "J\u{fc}rgen <j@d.e>"),
            (b"a\xe2\x80\xaeb <x@y>", "ab <x@y>"),
            (b"\"a b\"@c.d", "\"a b\"@c.d"),
            (b"<\"a b\"@c.d>", "\"a b\"@c.d"),
            (b"\"a  \r\n b\"@c.d", "\"a   b\"@c.d"),
            (b"\"john\"@c.d", "john@c.d"),
            (b"\"a\".b@c.d", "a.b@c.d"),
            (b"a . b @ c . d", "a.b@c.d"),
            (b"x(c)@(d)evil.com(e)", "c d e <x@evil.com>"),
            (b"<x@evil.com (c)>", "c <x@evil.com>"),
            (b"x@[192.0.2.1]", "x@[192.0.2.1]"),
            (b"x@[IPv6:2001:db8::1]", "x@[IPv6:2001:db8::1]"),
            (
                "j\u{f6}rg@m\u{fc}ller.de".as_bytes(),
                "j\u{f6}rg@m\u{fc}ller.de",
            ),
            (
                b"\"Boss <boss@corp.com>, x\"@evil.com",
                "\"Boss <boss@corp.com>, x\"@evil.com",
            ),
            (
                b"<\"boss@corp.com> (via\"@evil.com>",
                "\"boss@corp.com> (via\"@evil.com",
            ),
        ] {
            assert_eq!(print(value).as_deref(), Some(want));
            let repaired = mailboxes(value).iter().any(|one| one.ends_with('!'));
            assert!(!repaired, "{want}");
        }
        for value in [&b""[..], b",", b"<>", b"()"] {
            assert_eq!(print(value), None, "{value:?}");
        }
    }

    #[test]
    fn malformed_fields_are_recovered_and_marked() {
        for (value, want) in [
            (&b"boss@corp.com <m@evil.com>"[..], &["m evil.com!"][..]),
            (
                b"<boss@corp.com> <m@evil.com>",
                &["boss corp.com!", "m evil.com!"],
            ),
            (
                b"\"a\" <m@evil.com> <boss@corp.com>",
                &["m evil.com!", "boss corp.com!"],
            ),
            (
                b"<m@evil.com> boss@corp.com",
                &["m evil.com!", "boss corp.com!"],
            ),
            (b"boss@corp.com@evil.com", &["boss@corp.com evil.com!"]),
            (b"<boss@corp.com@evil.com>", &["boss@corp.com evil.com!"]),
            (b"boss@corp.com: m@evil.com;", &["m evil.com"]),
            (
                b"boss@corp.com m@evil.com",
                &["boss corp.com!", "m evil.com!"],
            ),
            (b"Ann a@b.c", &["a b.c!"]),
            (b"Broken <a@b.c", &["a b.c!"]),
            (b"Broken <a@b.c, d@e.f", &["a b.c!", "d e.f"]),
            (b"<a@b.c, d@e.f>", &["a b.c!", "d e.f!"]),
            (b"<<a@b.c>>", &["a b.c!"]),
            (b"<a@b<c@d>", &["a b!", "c d!"]),
            (b"\"Broken <a@b.c>, d@e.f", &["a b.c", "d e.f"]),
            (b"a@b.c (open, d@e.f", &["a b.c!", "d e.f"]),
            (b"[Boss <m@evil.com>]", &["m evil.com!"]),
            (b"<@x,@y:a@b.c>", &["a b.c!"]),
            (b"<@evil.com>", &["@evil.com -!"]),
            (b"<a b@d.e>", &["a b d.e!"]),
            (b"\"Boss\"m@evil.com", &["\"Boss\"m evil.com!"]),
            (b"info@bank.de.", &["info bank.de!"]),
            (b"info@bank..de", &["info@bank..de -!"]),
            (b"info@", &["info@ -!"]),
            (b"<x@a b>", &["x@a b -!"]),
            (b"<x@\"evil\".com>", &["x@\"evil\".com -!"]),
            (b"=?utf-8?q?a?=@b.c", &["=?utf-8?q?a?= b.c!"]),
            (b"<x@=?utf-8?q?b.c?=>", &["x@=?utf-8?q?b.c?= -!"]),
            ("bo\u{200b}ss@b.c".as_bytes(), &["bo\u{200b}ss b.c!"]),
            (b"x@b\0.c", &["x@b\0.c -!"]),
            (b"x\xfc@b.c", &["x\u{fffd} b.c!"]),
        ] {
            assert_eq!(mailboxes(value), want, "{}", value.escape_ascii());
        }
    }

    #[test]
    fn printed_malformed_addresses_are_unambiguous() {
        for (value, want) in [
            (&b"boss@corp.com@evil.com"[..], "\"boss@corp.com\"@evil.com"),
            (
                b"boss@corp.com: m@evil.com;",
                "\"boss@corp.com\": m@evil.com;",
            ),
            (
                b"=?utf-8?b?cG90dXNAd2hpdGVob3VzZS5nb3Y=?==?utf-8?Q?=00?=@mailsploit.com",
                "\"=\\?utf-8?b?cG90dXNAd2hpdGVob3VzZS5nb3Y=\\?==\\?utf-8?Q?=00?=\"@mailsploit.com",
            ),
            ("bo\u{200b}ss@b.c".as_bytes(), "\"bo\u{fffd}ss\"@b.c"),
            (b"Ann <https://x.y/z>", "Ann <\"https://x.y/z\">"),
            (b"info@bank..de", "\"info@bank..de\""),
            (b"<@x,@y:a@b.c>", "a@b.c"),
            (b"Doe\\, J <j@d.e>", "\"Doe, J\" <j@d.e>"),
            (b"<a@b.c> Ann", "Ann <a@b.c>"),
            (b"Ann a@b.c B", "Ann B <a@b.c>"),
        ] {
            assert_eq!(print(value).as_deref(), Some(want));
        }
    }

    #[test]
    fn parsed_fields_equal_imap_envelope() {
        let found: Vec<Address> = AddressList::parse(b"=?utf-8?Q?A?= <a@b.c>, Team: x@y;")
            .into_envelope()
            .collect();
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
    fn placeholder_addresses_are_dropped() {
        let raw = |text: &str| Some(Raw::copied(text.as_bytes()));
        for (mailbox, host, want) in [
            ("root", "MISSING_DOMAIN", "Name <root>"),
            ("x", "SYNTAX_ERROR", "Name <x>"),
            ("MISSING_MAILBOX", "MISSING_DOMAIN", "Name"),
            ("a b", "c.d", "Name <\"a b\"@c.d>"),
            ("\"a b\"", "c.d", "Name <\"a b\"@c.d>"),
            ("a", "b@c.d", "Name <\"a@b@c.d\">"),
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
    fn addresses_over_the_limit_are_counted() {
        let list = vec!["someone@example.com"; 150].join(", ");
        let shown = print(list.as_bytes()).unwrap();
        assert!(shown.ends_with("… (+50 more)"), "{shown}");
        let wide = vec![format!("{} <a@b.c>", "x".repeat(300)); 50].join(", ");
        let shown = print(wide.as_bytes()).unwrap();
        assert!(shown.chars().count() < MAX_SHOWN_CHARS + 40);
        assert!(shown.ends_with("more)"));
    }

    #[test]
    fn long_hostile_fields_are_read_in_linear_time() {
        for unit in [
            "(", "\"", "<", "[", "@", "\\(", "(\"", "@[", "(()", "a@b ", ":;", "<@a,",
        ] {
            let value = unit.repeat(200_000 / unit.len());
            assert!(AddressList::parse(value.as_bytes()).entries.len() <= MOST_READ);
        }
        for (start, unit) in [("<", "@"), ("<", "(a)"), ("<@a", ","), ("(a)", ":")] {
            let value = start.repeat(50_000 / start.len()) + &unit.repeat(150_000 / unit.len());
            assert!(AddressList::parse(value.as_bytes()).entries.len() <= MOST_READ);
        }
        let value = format!("<{}", "@".repeat(200_000));
        assert!(AddressList::parse(value.as_bytes()).entries.len() <= MOST_READ);
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(bytes: Vec<u8>) {
            print(&bytes);
        }

        /// What is printed reads as the same addresses, and so does what an envelope holds. Without
        /// letters nothing looks like a tag, which the shield would break up.
        #[test]
        fn random_printed_fields_round_trip(value in "[12@<>\"(),;:. \\\\=?]{0,40}") {
            let first = AddressList::parse(value.as_bytes());
            let spec = |list: &AddressList| -> Vec<String> {
                let full = list.mailboxes().filter(|one| one.domain.is_some());
                full.map(Mailbox::spec).collect()
            };
            let printed = first.print(None, &mut Changes::default()).unwrap_or_default();
            let second = AddressList::parse(printed.as_bytes());
            prop_assert_eq!(spec(&second), spec(&first), "{}", printed);
            prop_assert_eq!(second.mailboxes().count(), first.mailboxes().count());
            let envelope: Vec<Address> = first.clone().into_envelope().collect();
            prop_assert_eq!(spec(&AddressList::of_envelope(&envelope)), spec(&first));
        }
    }
}
