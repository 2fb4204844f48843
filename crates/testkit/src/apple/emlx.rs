//! The files of a store: where they lie, and what stands in them around a message.

use std::fs;
use std::path::{Path, PathBuf};

use super::letter::{Letter, Stored};

/// How the number in the first line is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Count {
    Padded,
    Bare,
    /// More than there is.
    TooBig,
}

/// What follows the message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Trailer {
    There,
    Missing,
}

const PLIST: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \
    \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">\n<plist version=\"1.0\">\n<dict>\n\t<key>date-received</key>\n\t\
    <integer>1767225600</integer>\n\t<key>flags</key>\n\t<integer>8590195841</integer>\n</dict>\n</plist>\n";

/// A message as Mail files it.
pub fn emlx(raw: &[u8], count: Count, trailer: Trailer) -> Vec<u8> {
    let mut file = match count {
        Count::Padded => format!("{:<10}\n", raw.len()),
        Count::Bare => format!("{}\n", raw.len()),
        Count::TooBig => format!("{:<10}\n", raw.len() + 1_000_000),
    }
    .into_bytes();
    file.extend_from_slice(raw);
    if trailer == Trailer::There {
        file.extend_from_slice(PLIST.as_bytes());
    }
    file
}

/// The directory of a mailbox below that of the version, from its URL.
pub fn placed(url: &str) -> PathBuf {
    let (scheme, rest) = url.split_once("://").unwrap();
    let (authority, path) = rest.split_once('/').unwrap();
    let account = match authority {
        "" => "Mailboxes".to_owned(),
        old if old.contains('@') => format!("{}-{}", scheme.to_uppercase(), decoded(old)),
        uuid => uuid.to_owned(),
    };
    let parts = path
        .split('/')
        .map(|part| format!("{}.mbox", decoded(part)));
    parts.fold(PathBuf::from(account), |path, part| path.join(part))
}

/// The directory of a message below that of its mailbox: the digits of its thousands, the last one first.
pub(super) fn shelf(row: i64) -> PathBuf {
    let thousands = row / 1_000;
    let mut path = PathBuf::from("Data");
    if thousands > 0 {
        for digit in thousands.to_string().chars().rev() {
            path.push(digit.to_string());
        }
    }
    path
}

pub(super) fn store(directory: &Path, row: i64, letter: &Letter) {
    let shelf = directory.join(shelf(row));
    let with_lf = |raw: &[u8]| {
        let text: Vec<&[u8]> = raw.split(|byte| *byte == b'\n').collect();
        let lines = text
            .iter()
            .map(|line| line.strip_suffix(b"\r").unwrap_or(line));
        lines.collect::<Vec<_>>().join(&b'\n')
    };
    let padded = |raw: &[u8]| emlx(raw, Count::Padded, Trailer::There);
    let (name, octets) = match &letter.stored {
        Stored::Nothing => return,
        Stored::Whole(count, trailer) => ("emlx", emlx(&with_lf(&letter.raw), *count, *trailer)),
        Stored::AsItIs => ("emlx", padded(&letter.raw)),
        Stored::Partial => ("partial.emlx", padded(&with_lf(&letter.raw))),
        Stored::Octets(octets) => ("emlx", octets.clone()),
    };
    let messages = shelf.join("Messages");
    fs::create_dir_all(&messages).unwrap();
    fs::write(messages.join(format!("{row}.{name}")), octets).unwrap();
    for sidecar in &letter.sidecars {
        let beside = shelf.join(format!("Attachments/{row}/{}", sidecar.part));
        fs::create_dir_all(&beside).unwrap();
        fs::write(beside.join(".DS_Store"), b"Finder was here").unwrap();
        fs::write(beside.join(&sidecar.name), &sidecar.octets).unwrap();
    }
}

fn decoded(part: &str) -> String {
    let mut octets = Vec::new();
    let mut bytes = part.bytes();
    while let Some(byte) = bytes.next() {
        let mut digit = || char::from(bytes.next().unwrap()).to_digit(16).unwrap();
        octets.push(match byte {
            b'%' => u8::try_from(digit() * 16 + digit()).unwrap(),
            other => other,
        });
    }
    String::from_utf8(octets).unwrap()
}
