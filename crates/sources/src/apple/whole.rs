//! A message as its sender sent it: attachments that Mail keeps beside a file are put back, and lines end by CRLF.
//!
//! What was encoded and is kept decoded is encoded again, with lines of the length that gives the size Mail noted. Nothing
//! is made up for what is not here; it is named as missing.

use std::io::{self, Read as _};
use std::ops::Range;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use mail::{Disposition, Leaf, Section};

use super::emlx;
use super::files::{Extent, Filed};
use crate::local::beneath::{Beneath, Kind};
use crate::local::wire::with_crlf;

/// A message may have so many octets, attachments and all.
const MOST: u64 = 128 << 20;
/// Messages in messages are followed so deep.
const MOST_DEPTH: usize = 3;
/// The field by which Mail notes the size of what it took out.
const NOTE: &[u8] = b"x-apple-content-length";

pub(super) struct Whole {
    pub(super) bytes: Bytes,
    /// Parts whose content is at the server only, with their encoded sizes.
    pub(super) missing: Vec<(Section, u64)>,
}

impl Whole {
    pub(super) fn read(beneath: &Beneath, mut filed: Filed, row: u32) -> io::Result<Self> {
        if filed.size > MOST {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let mut file = Vec::with_capacity(usize::try_from(filed.size).unwrap_or_default());
        (&mut filed.file).take(MOST).read_to_end(&mut file)?;
        let range = emlx::message(&file).ok_or(io::ErrorKind::InvalidData)?;
        let raw = with_crlf(file.get(range).unwrap_or_default(), None);
        drop(file);
        if filed.extent == Extent::Whole {
            return Ok(Self {
                bytes: raw.into(),
                missing: Vec::new(),
            });
        }
        let mut sidecars = Sidecars {
            beneath,
            shelf: filed.shelf(),
            row,
            left: MOST.saturating_sub(filed.size),
        };
        let mut missing = Vec::new();
        let bytes = filled(&raw, &[], MOST_DEPTH, &mut sidecars, &mut missing)?;
        Ok(Self {
            bytes: bytes.into(),
            missing,
        })
    }
}

/// What lies beside a message.
struct Sidecars<'a> {
    beneath: &'a Beneath,
    shelf: &'a Path,
    row: u32,
    left: u64,
}

/// The message with its parts back in their places. `above` is the section of the message it is part of.
fn filled(
    raw: &[u8],
    above: &[u32],
    depth: usize,
    sidecars: &mut Sidecars<'_>,
    missing: &mut Vec<(Section, u64)>,
) -> io::Result<Vec<u8>> {
    let outline = content::outline(raw);
    let mut out = Vec::with_capacity(raw.len());
    let mut copied = 0;
    for leaf in &outline.structure.leaves {
        let Some((head, body)) = outline.place(&leaf.section) else {
            continue;
        };
        let part = |range: &Range<usize>| raw.get(range.clone()).unwrap_or_default();
        let Some(section) = Section::new([above, leaf.section.path()].concat()) else {
            continue;
        };
        let note = noted(part(&head));
        let is_empty = part(&body).trim_ascii().is_empty();
        let is_file = leaf.filename.is_some() || leaf.disposition == Some(Disposition::Attachment);
        let new = match note {
            Some(length) if is_empty => {
                let found = sidecars.part(leaf, &section, length)?;
                if found.is_none() && length > 0 {
                    missing.push((section, length));
                }
                found.unwrap_or_default()
            }
            // QUIRK: some versions take the content out and note no size.
            None if is_empty && is_file => {
                let found = sidecars.part(leaf, &section, 0)?;
                if found.is_none() {
                    missing.push((section, 0));
                }
                found.unwrap_or_default()
            }
            _ if leaf.mime_type == "message/rfc822" && depth > 0 => {
                filled(part(&body), section.path(), depth - 1, sidecars, missing)?
            }
            Some(_) => part(&body).to_vec(),
            None => continue,
        };
        out.extend_from_slice(part(&(copied..head.start)));
        out.extend_from_slice(&without_note(part(&head)));
        out.extend_from_slice(&new);
        copied = body.end;
    }
    out.extend_from_slice(raw.get(copied..).unwrap_or_default());
    Ok(out)
}

impl Sidecars<'_> {
    /// A part's octets as they travelled. None where they are not here.
    fn part(&mut self, leaf: &Leaf, section: &Section, length: u64) -> io::Result<Option<Vec<u8>>> {
        let beside = self
            .shelf
            .join(format!("Attachments/{}/{section}", self.row));
        if let Some(name) = self.only(&beside, leaf)? {
            let decoded = self.read(&beside.join(name))?;
            return Ok(Some(encoded(&decoded, &leaf.encoding, length)));
        }
        // Before there were such directories, parts lay beside the file as they travelled.
        let part = format!("Messages/{}.{section}.emlxpart", self.row);
        match self.read(&self.shelf.join(part)) {
            Ok(octets) => Ok(Some(with_crlf(&octets, None))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The one file there, whatever it is called: extensions are added, unnamed parts named, slashes replaced.
    fn only(&self, beside: &Path, leaf: &Leaf) -> io::Result<Option<std::ffi::OsString>> {
        let inside = match self.beneath.list(beside) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            other => other?,
        };
        let files = inside.into_iter().filter(|one| one.kind == Kind::File);
        let mut names: Vec<_> = files
            .map(|one| one.name)
            .filter(|name| name != ".DS_Store")
            .collect();
        if names.len() > 1 {
            let said = leaf.filename.as_ref().map(|name| name.bytes().to_vec());
            names.retain(|name| Some(name.as_encoded_bytes()) == said.as_deref());
        }
        let first = names.pop();
        Ok(first.filter(|_| names.is_empty()))
    }

    fn read(&mut self, path: &Path) -> io::Result<Vec<u8>> {
        let (file, data) = self.beneath.file(path)?;
        // Encoded it takes a third more, and QP up to three times as much.
        let cost = data.len().saturating_mul(2);
        self.left = self
            .left
            .checked_sub(cost)
            .ok_or(io::ErrorKind::FileTooLarge)?;
        let mut octets = Vec::new();
        file.take(data.len()).read_to_end(&mut octets)?;
        Ok(octets)
    }
}

/// The size that Mail noted.
fn noted(head: &[u8]) -> Option<u64> {
    let mut lines = head.split(|byte| *byte == b'\n').filter_map(note);
    let value = std::str::from_utf8(lines.next()?.trim_ascii()).ok()?;
    value.parse().ok().filter(|length| *length <= 1 << 40)
}

/// The value of the note, if this line is one.
fn note(line: &[u8]) -> Option<&[u8]> {
    let (name, value) = line.split_at_checked(NOTE.len())?;
    let value = value.strip_prefix(b":")?;
    name.eq_ignore_ascii_case(NOTE).then_some(value)
}

fn without_note(head: &[u8]) -> Vec<u8> {
    let lines = head.split_inclusive(|byte| *byte == b'\n');
    lines
        .filter(|line| note(line).is_none())
        .flatten()
        .copied()
        .collect()
}

fn encoded(octets: &[u8], encoding: &str, length: u64) -> Vec<u8> {
    match encoding {
        "base64" => in_base64(octets, length),
        "quoted-printable" => quoted(octets),
        "binary" => octets.to_vec(),
        _ => with_crlf(octets, None),
    }
}

/// Lines as long as those whose sum is the size that was noted; 76 where none is.
fn in_base64(octets: &[u8], length: u64) -> Vec<u8> {
    let text = STANDARD.encode(octets).into_bytes();
    let sum = |width: usize, end: usize, last: usize| {
        let breaks = text.len().div_ceil(width).saturating_sub(1) + last;
        u64::try_from(text.len() + breaks * end).unwrap_or(u64::MAX)
    };
    let fitting = [76, 72, 64, 60, 73, 70, 68, 80]
        .into_iter()
        .find_map(|width| {
            let lasts = [0, 1].into_iter();
            let mut lasts =
                lasts.filter(|last| [1, 2].iter().any(|end| sum(width, *end, *last) == length));
            lasts.next().map(|last| (width, last))
        });
    let (width, last) = fitting.unwrap_or((76, 0));
    let mut out = text.chunks(width).collect::<Vec<_>>().join(&b"\r\n"[..]);
    if last == 1 {
        out.extend_from_slice(b"\r\n");
    }
    out
}

/// RFC 2045 section 6.7.
fn quoted(octets: &[u8]) -> Vec<u8> {
    const LONGEST: usize = 75;
    let mut out = Vec::with_capacity(octets.len() + octets.len() / 4);
    let mut column = 0;
    let mut rest = octets.iter().copied().peekable();
    while let Some(octet) = rest.next() {
        if octet == b'\r' && rest.peek() == Some(&b'\n') {
            continue;
        }
        if octet == b'\n' {
            out.extend_from_slice(b"\r\n");
            column = 0;
            continue;
        }
        let blank = matches!(octet, b' ' | b'\t');
        let at_end = matches!(rest.peek(), None | Some(b'\n' | b'\r'));
        let plain = (octet.is_ascii_graphic() && octet != b'=') || (blank && !at_end);
        let width = if plain { 1 } else { 3 };
        if column + width > LONGEST {
            out.extend_from_slice(b"=\r\n");
            column = 0;
        }
        column += width;
        match plain {
            true => out.push(octet),
            false => out.extend_from_slice(format!("={octet:02X}").as_bytes()),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_has_lines_of_the_length_that_fits() {
        let octets = [7; 120];
        for (length, first, end) in [
            (160 + 4, 76, false),
            (160 + 2 * 3, 76, true),
            (160 + 3, 76, true),
            (160 + 2, 76, false),
            (1, 76, false),
        ] {
            let text = in_base64(&octets, length);
            let at = text.iter().position(|byte| *byte == b'\r').unwrap();
            assert_eq!((at, text.ends_with(b"\n")), (first, end), "{length}");
        }
        let long = [7; 1_200];
        let text = in_base64(&long, 1_600 + 2 * 26);
        assert_eq!(text.iter().position(|byte| *byte == b'\r'), Some(60));
    }

    #[test]
    fn quoted_text_reads_as_before() {
        for (octets, want) in [
            (&b"a=b\n"[..], &b"a=3Db\r\n"[..]),
            (b"a \r\nb\t", b"a=20\r\nb=09"),
            ("\u{fc}".as_bytes(), b"=C3=BC"),
            (b"", b""),
        ] {
            assert_eq!(quoted(octets), want);
        }
        let long = quoted(&[b'x'; 200]);
        assert!(
            long.split(|byte| *byte == b'\n')
                .all(|line| line.len() <= 77)
        );
    }

    #[test]
    fn the_note_is_taken_out() {
        let head = b"A: b\r\nX-Apple-Content-Length: 12\r\nC: d\r\n\r\n";
        assert_eq!(noted(head), Some(12));
        assert_eq!(without_note(head), b"A: b\r\nC: d\r\n\r\n");
        assert_eq!(noted(b"X-Apple-Content-Length: many\r\n"), None);
        assert_eq!(noted(b"X-Apple-Content-Lengthy: 1\r\n"), None);
    }
}
