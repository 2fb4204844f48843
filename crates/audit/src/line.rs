//! One record as one line: the canonical form, which is what the hash covers.
//!
//! `{"seq":0,"ts":"…","prev_hash":"…","event":"…",…,"hash":"…"}`, then a line feed. The first four keys and the last one
//! always stand where they stand here, so a reader that only checks needs no JSON. `hash` is taken over every byte before
//! `,"hash":`, after one zero byte; `prev_hash` is the `hash` of the record before. `docs/audit.md` says the same to people.

use jiff::Timestamp;

use crate::Hash;

const BEFORE_HASH: &[u8] = br#","hash":""#;
const AFTER_HASH: &[u8] = br#""}"#;
/// `,"hash":"…"}`
const TAIL: usize = BEFORE_HASH.len() + 64 + AFTER_HASH.len();

/// Where a record stands: what its line begins with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// Counted from 0, without a gap; it is also the record's number in the tree.
    pub seq: u64,
    pub ts: Timestamp,
    pub prev: Hash,
}

/// A record as it was read. It is well formed; whether its hash is right is for [`Line::is_whole`] to say.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Line<'a> {
    pub seq: u64,
    pub ts: &'a str,
    pub prev: Hash,
    pub event: &'a str,
    /// The hash that it states.
    pub hash: Hash,
    /// What the hash is taken over.
    text: &'a [u8],
}

/// Why a line is no record.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Malformed {
    #[error("it does not end as a record does")]
    End,
    #[error("it does not begin as a record does")]
    Begin,
}

/// Writes one line; `fields` is what stands behind the event's name, with its leading comma, or nothing.
pub(crate) fn write(out: &mut Vec<u8>, place: &Place, event: &str, fields: &[u8]) -> Hash {
    let begin = out.len();
    let head = format!(
        r#"{{"seq":{},"ts":"{}","prev_hash":"{}","event":"{event}""#,
        place.seq,
        stamp(place.ts),
        place.prev,
    );
    out.extend_from_slice(head.as_bytes());
    out.extend_from_slice(fields);
    let hash = Hash::of_record(out.get(begin..).unwrap_or_default());
    out.extend_from_slice(BEFORE_HASH);
    out.extend_from_slice(hash.to_string().as_bytes());
    out.extend_from_slice(AFTER_HASH);
    out.push(b'\n');
    hash
}

/// UTC, always as long: text that sorts as time does.
pub(crate) fn stamp(ts: Timestamp) -> String {
    ts.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
}

impl<'a> Line<'a> {
    /// Reads a line without its line feed.
    pub fn parse(line: &'a [u8]) -> Result<Self, Malformed> {
        let cut = line.len().checked_sub(TAIL).ok_or(Malformed::End)?;
        let (text, tail) = line.split_at_checked(cut).ok_or(Malformed::End)?;
        let hash = tail
            .strip_prefix(BEFORE_HASH)
            .and_then(|tail| tail.strip_suffix(AFTER_HASH))
            .and_then(Hash::parse)
            .ok_or(Malformed::End)?;
        Self::begin(text, hash).ok_or(Malformed::Begin)
    }

    fn begin(text: &'a [u8], hash: Hash) -> Option<Self> {
        let (seq, rest) = quoted(text, br#"{"seq":"#, b',')?;
        let (ts, rest) = quoted(rest, br#""ts":""#, b'"')?;
        let (prev, rest) = quoted(rest, br#","prev_hash":""#, b'"')?;
        let (event, _) = quoted(rest, br#","event":""#, b'"')?;
        let digits = std::str::from_utf8(seq).ok()?;
        let seq: u64 = digits.parse().ok()?;
        // One number has one spelling.
        if seq.to_string() != digits {
            return None;
        }
        Some(Self {
            seq,
            ts: std::str::from_utf8(ts).ok()?,
            prev: Hash::parse(prev)?,
            event: std::str::from_utf8(event).ok()?,
            hash,
            text,
        })
    }

    /// Whether the hash that it states is that of its text.
    pub fn is_whole(&self) -> bool {
        Hash::of_record(self.text) == self.hash
    }
}

/// What stands between `before` and the next `end`, and what follows.
fn quoted<'a>(text: &'a [u8], before: &[u8], end: u8) -> Option<(&'a [u8], &'a [u8])> {
    let rest = text.strip_prefix(before)?;
    let at = memchr::memchr(end, rest)?;
    Some((rest.get(..at)?, rest.get(at + 1..)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place() -> Place {
        Place {
            seq: 7,
            ts: "2026-11-15T16:40:01.000123Z".parse().unwrap(),
            prev: Hash::of_record(b"before"),
        }
    }

    #[test]
    fn a_line_is_read_as_it_was_written() {
        let mut out = Vec::new();
        let hash = write(&mut out, &place(), "call", br#","tool":"a\"b","hash":"no""#);
        let line = out.strip_suffix(b"\n").unwrap();
        let read = Line::parse(line).unwrap();
        assert_eq!((read.seq, read.event), (7, "call"));
        assert_eq!(read.ts, "2026-11-15T16:40:01.000123Z");
        assert_eq!((read.prev, read.hash), (place().prev, hash));
        assert!(read.is_whole());
        assert!(serde_json::from_slice::<serde_json::Value>(line).is_ok());
    }

    #[test]
    fn every_changed_byte_is_seen() {
        let mut out = Vec::new();
        write(&mut out, &place(), "start", br#","pid":12"#);
        let line = out.strip_suffix(b"\n").unwrap();
        for at in 0..line.len() {
            for bit in 0..8 {
                let mut changed = line.to_vec();
                changed[at] ^= 1 << bit;
                let whole = Line::parse(&changed).is_ok_and(|line| line.is_whole());
                assert!(!whole, "byte {at}, bit {bit}");
            }
        }
    }

    #[test]
    fn what_is_no_record_is_refused() {
        for wrong in ["", "{}", r#"{"seq":0,"hash":"00"}"#] {
            assert!(Line::parse(wrong.as_bytes()).is_err(), "{wrong}");
        }
        let mut out = Vec::new();
        write(&mut out, &place(), "start", b"");
        let text = String::from_utf8(out).unwrap();
        let spelled = text.trim_end().replacen(r#""seq":7"#, r#""seq":07"#, 1);
        assert_eq!(Line::parse(spelled.as_bytes()), Err(Malformed::Begin));
    }
}
