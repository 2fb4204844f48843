//! A ZIP package as office documents are: parts by name, each unpacked under a bound.
//!
//! What a package declares about its sizes is not believed; what comes out is counted.

use std::io::{Cursor, Read as _};

use mail::ExtractFault;
use zip::ZipArchive;
use zip::result::ZipError;

/// Parts of a package; real ones have tens, rarely hundreds.
const MAX_PARTS: usize = 10_000;
/// Unpacked, all parts that are looked at together.
const MAX_UNPACKED: usize = 64 * 1024 * 1024;
/// Unpacked, one part.
const MAX_PART: usize = 48 * 1024 * 1024;

pub(super) struct Package<'a> {
    zip: ZipArchive<Cursor<&'a [u8]>>,
    /// Bytes that may still be unpacked.
    left: usize,
}

impl<'a> Package<'a> {
    pub(super) fn open(bytes: &'a [u8]) -> Result<Self, ExtractFault> {
        let zip = ZipArchive::new(Cursor::new(bytes)).map_err(fault)?;
        if zip.len() > MAX_PARTS {
            return Err(ExtractFault::Bomb);
        }
        Ok(Self {
            zip,
            left: MAX_UNPACKED,
        })
    }

    /// Names that begin and end so, in the order of the numbers in them: `header1.xml`, `header2.xml`, `header10.xml`.
    pub(super) fn names(&self, begin: &str, end: &str) -> Vec<String> {
        let mut names: Vec<String> = self
            .zip
            .file_names()
            .filter_map(Result::ok)
            .filter(|name| name.starts_with(begin) && name.ends_with(end))
            .map(std::borrow::Cow::into_owned)
            .collect();
        names.sort_by_cached_key(|name| (number_in(name), name.clone()));
        names
    }

    /// A part as text, if it is there.
    pub(super) fn text(&mut self, name: &str) -> Result<Option<String>, ExtractFault> {
        let Some(index) = self.zip.index_for_name(name) else {
            return Ok(None);
        };
        let file = self.zip.by_index(index).map_err(fault)?;
        let most = self.left.min(MAX_PART);
        let mut bytes = Vec::new();
        file.take(most as u64 + 1)
            .read_to_end(&mut bytes)
            .map_err(|_| ExtractFault::Malformed)?;
        if bytes.len() > most {
            return Err(ExtractFault::Bomb);
        }
        self.left -= bytes.len();
        Ok(Some(decode(bytes)))
    }

    /// A part as text; a document without it is none.
    pub(super) fn required(&mut self, name: &str) -> Result<String, ExtractFault> {
        self.text(name)?.ok_or(ExtractFault::Malformed)
    }

    /// Unpacks everything and keeps nothing: proof that a reader with no bounds of its own may have it.
    pub(super) fn prove_bounded(&mut self) -> Result<(), ExtractFault> {
        for index in 0..self.zip.len() {
            let file = self.zip.by_index(index).map_err(fault)?;
            let most = self.left as u64;
            let unpacked = std::io::copy(&mut file.take(most + 1), &mut std::io::sink())
                .map_err(|_| ExtractFault::Malformed)?;
            if unpacked > most {
                return Err(ExtractFault::Bomb);
            }
            self.left -= usize::try_from(unpacked).unwrap_or(self.left);
        }
        Ok(())
    }
}

pub(super) fn fault(error: ZipError) -> ExtractFault {
    match error {
        // The library asks for a password by name.
        ZipError::UnsupportedArchive(ZipError::PASSWORD_REQUIRED) | ZipError::InvalidPassword => {
            ExtractFault::Encrypted
        }
        _ => ExtractFault::Malformed,
    }
}

/// Office writes UTF-8; UTF-16 is allowed and says so by its mark.
fn decode(bytes: Vec<u8>) -> String {
    let wide = |pair: fn([u8; 2]) -> u16, rest: &[u8]| {
        let units = rest
            .as_chunks::<2>()
            .0
            .iter()
            .map(|octets| pair(*octets))
            .collect::<Vec<u16>>();
        String::from_utf16_lossy(&units)
    };
    match bytes.as_slice() {
        [0xFF, 0xFE, rest @ ..] => wide(u16::from_le_bytes, rest),
        [0xFE, 0xFF, rest @ ..] => wide(u16::from_be_bytes, rest),
        [0xEF, 0xBB, 0xBF, rest @ ..] => String::from_utf8_lossy(rest).into_owned(),
        _ => String::from_utf8(bytes)
            .unwrap_or_else(|bad| String::from_utf8_lossy(bad.as_bytes()).into_owned()),
    }
}

fn number_in(name: &str) -> u32 {
    let file = name.rsplit('/').next().unwrap_or(name);
    file.chars()
        .filter(char::is_ascii_digit)
        .take(9)
        .collect::<String>()
        .parse()
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::super::built::{self, package};
    use super::*;

    #[test]
    fn parts_are_found_in_order_and_decoded() {
        let utf16: Vec<u8> = "\u{FEFF}<ä/>"
            .encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect();
        let bytes = package(&[
            ("w/header10.xml", b"ten".as_slice()),
            ("w/header2.xml", b"\xEF\xBB\xBFtwo"),
            ("w/other.xml", &utf16),
            ("w/bad.xml", b"a\xFFb"),
        ]);
        let mut package = Package::open(&bytes).expect("a package");
        assert_eq!(
            package.names("w/header", ".xml"),
            ["w/header2.xml", "w/header10.xml"]
        );
        for (name, text) in [
            ("w/header2.xml", Some("two")),
            ("w/other.xml", Some("<ä/>")),
            ("w/bad.xml", Some("a\u{FFFD}b")),
            ("w/none.xml", None),
        ] {
            assert_eq!(package.text(name).expect("read").as_deref(), text, "{name}");
        }
    }

    #[test]
    fn what_unpacks_without_end_is_a_bomb() {
        let bytes = built::bomb("big.xml");
        assert!(bytes.len() < 1024 * 1024);
        let mut package = Package::open(&bytes).expect("a package");
        assert_eq!(package.text("big.xml"), Err(ExtractFault::Bomb));
        let mut package = Package::open(&bytes).expect("a package");
        assert_eq!(package.prove_bounded(), Err(ExtractFault::Bomb));
    }

    #[test]
    fn what_is_no_package_is_malformed() {
        for bytes in [&b""[..], b"PK", b"PK\x03\x04 and so on"] {
            assert_eq!(
                Package::open(bytes).err(),
                Some(ExtractFault::Malformed),
                "{bytes:?}"
            );
        }
    }
}
