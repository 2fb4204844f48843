//! The printed form of addresses: any reader of RFC 5322 takes it apart into the same addresses.
//!
//! A name or local part that is more than plain words is quoted, a `=?` within quotes is broken by
//! a backslash so that it is no encoded word, and invisible characters become U+FFFD within an
//! address.

use std::borrow::Cow;

use mail::Raw;

use super::{Entry, Mailbox};
use crate::changes::Changes;
use crate::shield::{self, Shape};
use crate::words;

/// Of one name or local part.
const MAX_CHARS: usize = 320;
/// Of one domain (RFC 5321 section 4.5.3.1.2 has 255 octets, RFC 1035 these without the root).
const MAX_DOMAIN_BYTES: usize = 253;

/// One element of a list as text, without its separator.
pub(super) fn entry(entry: &Entry, charset: Option<&str>, changes: &mut Changes) -> String {
    match entry {
        Entry::GroupStart(name) => format!("{}:", phrase(&decoded(name.bytes(), charset, changes))),
        Entry::GroupEnd => ";".to_owned(),
        Entry::Mailbox(mailbox) => full(mailbox, charset, changes),
    }
}

fn full(mailbox: &Mailbox, charset: Option<&str>, changes: &mut Changes) -> String {
    let name = mailbox.display_name.as_ref();
    let name = name.map(|raw| decoded(raw.bytes(), charset, changes));
    let spec = spec(mailbox);
    changes.invisible += hidden(&mailbox.local_part);
    match name.filter(|name| !name.is_empty() && *name != spec) {
        None => spec,
        Some(name) if spec.is_empty() => phrase(&name).into_owned(),
        Some(name) => format!("{} <{spec}>", phrase(&name)),
    }
}

/// Characters that [`readable`] replaces. A domain holds none.
fn hidden(local: &Raw) -> usize {
    if local.bytes().iter().all(u8::is_ascii_graphic) {
        return 0;
    }
    let text = String::from_utf8_lossy(local.bytes());
    text.chars().filter(|char| shield::is_banned(*char)).count()
}

/// The address alone.
pub(super) fn spec(mailbox: &Mailbox) -> String {
    let local = readable(mailbox.local_part.bytes());
    let local = if is_dot_atom(&local) && !local.contains("=?") {
        Cow::Borrowed(local.as_str())
    } else if local.is_empty() {
        return String::new();
    } else {
        Cow::Owned(quoted(&local))
    };
    match &mailbox.domain {
        Some(domain) => format!("{local}@{}", readable_domain(domain.bytes())),
        None => local.into_owned(),
    }
}

/// The end of a domain says whose it is.
pub(crate) fn readable_domain(bytes: &[u8]) -> String {
    let start = bytes.len().saturating_sub(MAX_DOMAIN_BYTES);
    match bytes.get(start..).filter(|_| start > 0) {
        Some(end) => format!("…{}", readable(end)),
        None => readable(bytes),
    }
}

/// No mail program reads or shows the whole of such an address.
pub(crate) fn is_overlong(mailbox: &Mailbox) -> bool {
    let domain = mailbox
        .domain
        .as_ref()
        .map_or(0, |domain| domain.bytes().len());
    mailbox.local_part.bytes().len() > MAX_CHARS || domain > MAX_DOMAIN_BYTES
}

/// Undecoded: an encoded word in an address is none (RFC 2047 section 5).
pub(crate) fn readable(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    if text.len() <= MAX_CHARS && text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return text.into_owned();
    }
    let visible = |char| {
        if shield::is_banned(char) {
            '\u{FFFD}'
        } else {
            char
        }
    };
    let mut out: String = text.chars().map(visible).take(MAX_CHARS).collect();
    if text.chars().nth(MAX_CHARS).is_some() {
        out.push('…');
    }
    out
}

fn decoded(raw: &[u8], charset: Option<&str>, changes: &mut Changes) -> String {
    let text = words::shown_in(raw, charset, changes).text;
    shield::bounded(text.trim(), Shape::Line, MAX_CHARS, changes)
}

/// A display name or the name of a group (RFC 5322 section 3.2.5).
fn phrase(name: &str) -> Cow<'_, str> {
    let is_plain = |word: &str| !word.is_empty() && word.chars().all(is_atom);
    if name.split(' ').all(is_plain) && !name.contains("=?") {
        Cow::Borrowed(name)
    } else {
        Cow::Owned(quoted(name))
    }
}

fn quoted(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{}\"", escaped.replace("=?", "=\\?"))
}

fn is_dot_atom(text: &str) -> bool {
    text.split('.')
        .all(|word| !word.is_empty() && word.chars().all(is_atom))
}

/// RFC 5322 section 3.2.3 and RFC 6532 section 3.2.
fn is_atom(char: char) -> bool {
    match char {
        'a'..='z' | 'A'..='Z' | '0'..='9' => true,
        _ if char.is_ascii() => "!#$%&'*+-/=?^_`{|}~".contains(char),
        '\u{FFFD}' => false,
        _ => !char.is_whitespace() && !shield::is_banned(char),
    }
}
