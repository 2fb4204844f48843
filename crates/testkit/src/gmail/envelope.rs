//! `ENVELOPE` (RFC 3501 section 7.4.2) and the strings that FETCH answers are made of. Decodes no header words.

use super::mime;

/// Of a header's octets.
pub(super) fn envelope(header: &[u8]) -> Vec<u8> {
    let mut out = vec![b'('];
    nstring(&mut out, mime::field(header, "date").as_deref());
    out.extend(b" ");
    nstring(&mut out, mime::field(header, "subject").as_deref());
    let from = mime::all_fields(header, "from").join(", ");
    for name in ["from", "sender", "reply-to", "to", "cc", "bcc"] {
        let found = mime::all_fields(header, name).join(", ");
        // Without a sender or an address for replies, the author stands in.
        let stands_in = found.is_empty() && matches!(name, "sender" | "reply-to");
        out.extend(b" ");
        write_addresses(&mut out, if stands_in { &from } else { &found });
    }
    for name in ["in-reply-to", "message-id"] {
        out.extend(b" ");
        nstring(&mut out, mime::field(header, name).as_deref());
    }
    out.extend(b")");
    out
}

/// A quoted string where that can be, else a literal.
pub(super) fn string(out: &mut Vec<u8>, bytes: &[u8]) {
    if !bytes.iter().all(|byte| (b' '..=b'~').contains(byte)) {
        out.extend(format!("{{{}}}\r\n", bytes.len()).as_bytes());
        return out.extend(bytes);
    }
    out.push(b'"');
    for byte in bytes {
        if matches!(byte, b'"' | b'\\') {
            out.push(b'\\');
        }
        out.push(*byte);
    }
    out.push(b'"');
}

pub(super) fn nstring(out: &mut Vec<u8>, text: Option<&str>) {
    match text {
        Some(text) => string(out, text.as_bytes()),
        None => out.extend(b"NIL"),
    }
}

/// Splits where `by` stands outside quotes and brackets.
pub(super) fn split(text: &str, by: char) -> Vec<String> {
    let mut pieces = vec![String::new()];
    let (mut quoted, mut depth, mut escaped) = (false, 0_usize, false);
    for c in text.chars() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            '<' | '(' if !quoted => depth += 1,
            '>' | ')' if !quoted => depth = depth.saturating_sub(1),
            _ => {}
        }
        match pieces.last_mut() {
            Some(piece) if c != by || quoted || depth > 0 => piece.push(c),
            _ => pieces.push(String::new()),
        }
    }
    pieces
}

fn write_addresses(out: &mut Vec<u8>, text: &str) {
    let pieces = split(text, ',').into_iter();
    let mut some = pieces.filter(|piece| !piece.trim().is_empty()).peekable();
    if some.peek().is_none() {
        return out.extend(b"NIL");
    }
    out.extend(b"(");
    for piece in some {
        write_address(out, piece.trim());
    }
    out.extend(b")");
}

fn write_address(out: &mut Vec<u8>, text: &str) {
    let (name, address) = match text.rsplit_once('<') {
        Some((name, rest)) => (name.trim(), rest.trim_end_matches('>')),
        None => ("", text),
    };
    let name = name
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'))
        .unwrap_or(name);
    let name = name.replace("\\\"", "\"").replace("\\\\", "\\");
    let (mailbox, host) = match address.rsplit_once('@') {
        Some((mailbox, host)) => (mailbox, Some(host)),
        None => (address, None),
    };
    out.extend(b"(");
    nstring(out, (!name.is_empty()).then_some(&name));
    out.extend(b" NIL ");
    string(out, mailbox.as_bytes());
    out.extend(b" ");
    nstring(out, host);
    out.extend(b")");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn envelopes_tell_who_wrote_to_whom() {
        let header = "Date: Thu, 1 Jan 2026 00:00:00 +0000\r\nSubject: =?utf-8?q?=C3=BC?= \"x\"\r\n\
            From: \"Doe, \\\"J\\\"\" <j@example.com>\r\nTo: a@b.c,\r\n <d@e.f>\r\nMessage-ID: <1@x>\r\n\r\n";
        assert_eq!(
            String::from_utf8(envelope(header.as_bytes())).unwrap(),
            "(\"Thu, 1 Jan 2026 00:00:00 +0000\" \"=?utf-8?q?=C3=BC?= \\\"x\\\"\" \
             ((\"Doe, \\\"J\\\"\" NIL \"j\" \"example.com\")) ((\"Doe, \\\"J\\\"\" NIL \"j\" \"example.com\")) \
             ((\"Doe, \\\"J\\\"\" NIL \"j\" \"example.com\")) ((NIL NIL \"a\" \"b.c\")(NIL NIL \"d\" \"e.f\")) \
             NIL NIL NIL \"<1@x>\")"
        );
        let raw = "Subject: \u{fc}\r\n\r\n";
        let told = String::from_utf8(envelope(raw.as_bytes())).unwrap();
        assert!(told.starts_with("(NIL {2}\r\n\u{fc} NIL NIL"), "{told}");
    }
}
