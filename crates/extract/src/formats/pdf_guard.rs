//! What is known to overflow the stack or the memory of the PDF library, found before it is called.
//!
//! The library reads nested values by recursion, in the file as in what its streams unpack to, and unpacks content as
//! a whole. This scan needs no structure: it counts brackets, and it unpacks whatever looks packed. It would rather
//! miss an attack than refuse a document: what it misses ends the child, and no more than that.

use std::io::Read as _;

use flate2::read::ZlibDecoder;
use mail::ExtractFault;

/// Real files stay below 30.
const MAX_DEPTH: usize = 500;
const ROOM: Room = Room {
    stream: 16 * 1024 * 1024,
    all: 64 * 1024 * 1024,
};
/// A stream packed twice is packed often enough.
const MAX_LAYERS: usize = 3;
/// How far before a stream its dictionary is looked for.
const DICTIONARY: usize = 1_024;

/// What may be unpacked.
struct Room {
    /// One stream of content, fonts or objects. Pictures are not unpacked for their text.
    stream: usize,
    /// What is left for all of them.
    all: usize,
}

pub(super) fn check(bytes: &[u8]) -> Result<(), ExtractFault> {
    check_within(bytes, ROOM)
}

fn check_within(bytes: &[u8], mut room: Room) -> Result<(), ExtractFault> {
    let mut rest = bytes;
    while let Some(at) = memchr::memmem::find(rest, b"stream") {
        let (between, from) = rest.split_at(at);
        check_depth(between)?;
        let data = from.strip_prefix(b"stream").unwrap_or_default();
        let end = memchr::memmem::find(data, b"endstream").unwrap_or(data.len());
        let (data, after) = data.split_at(end);
        if !is_picture(between) {
            check_stream(data.trim_ascii_start(), &mut room)?;
        }
        rest = after.strip_prefix(b"endstream").unwrap_or(after);
    }
    check_depth(rest)
}

fn check_stream(data: &[u8], room: &mut Room) -> Result<(), ExtractFault> {
    check_depth(data)?;
    let mut layer = unpack(data, room)?;
    for _ in 0..MAX_LAYERS {
        check_depth(&layer)?;
        layer = unpack(&layer, room)?;
    }
    Ok(())
}

/// What comes out of it; a stream that breaks off gives what it has, as it does in the library.
fn unpack(data: &[u8], room: &mut Room) -> Result<Vec<u8>, ExtractFault> {
    let mut out = Vec::new();
    if !looks_packed(data) {
        return Ok(out);
    }
    let most = room.stream.min(room.all);
    let _ = ZlibDecoder::new(data)
        .take(most as u64 + 1)
        .read_to_end(&mut out);
    if out.len() > most {
        return Err(ExtractFault::Bomb);
    }
    room.all -= out.len();
    Ok(out)
}

/// The header of zlib: deflate, and a checksum over two octets.
fn looks_packed(data: &[u8]) -> bool {
    match data {
        [first, second, ..] => {
            first & 0x0F == 8 && (u16::from(*first) * 256 + u16::from(*second)).is_multiple_of(31)
        }
        _ => false,
    }
}

/// The dictionary right before a stream says so. One that lies meets the child's memory limit.
fn is_picture(before: &[u8]) -> bool {
    let start = before.len().saturating_sub(DICTIONARY);
    let near = before.get(start..).unwrap_or_default();
    let own = memchr::memmem::rfind(near, b" obj")
        .and_then(|at| near.get(at..))
        .unwrap_or(near);
    memchr::memmem::find(own, b"/Image").is_some()
}

/// Brackets in brackets, and objects begun in objects: `1 0 obj 2 0 obj` nests too. Strings are not told apart from
/// the rest: where they begin depends on where reading does. Octets that only pictures and fonts have start anew.
fn check_depth(bytes: &[u8]) -> Result<(), ExtractFault> {
    let mut depth = 0usize;
    let mut begun = 0usize;
    let mut rest = bytes;
    while let Some((octet, after)) = rest.split_first() {
        match octet {
            b'[' => depth += 1,
            b'<' if after.first() == Some(&b'<') => depth += 1,
            b']' => depth = depth.saturating_sub(1),
            b'>' if after.first() == Some(&b'>') => depth = depth.saturating_sub(1),
            0x01..=0x08 | 0x0B | 0x0E..=0x1F | 0x7F.. => depth = 0,
            _ => {}
        }
        match octet {
            b'o' if after.starts_with(b"bj") => begun += 1,
            b'b' | b'j' | b'0'..=b'9' => {}
            octet if octet.is_ascii_whitespace() => {}
            _ => begun = 0,
        }
        if depth > MAX_DEPTH || begun > MAX_DEPTH {
            return Err(ExtractFault::Malformed);
        }
        rest = after;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::super::built::{pdf, stream};
    use super::*;

    fn packed(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).expect("packed");
        encoder.finish().expect("packed")
    }

    #[test]
    fn nesting_is_found_wherever_it_is() {
        let deep = "[".repeat(MAX_DEPTH + 1).into_bytes();
        let twice = packed(&packed(&deep));
        for (what, file) in [
            ("arrays", pdf(std::slice::from_ref(&deep))),
            (
                "dictionaries",
                pdf(&["<</a ".repeat(MAX_DEPTH + 1).into_bytes()]),
            ),
            (
                "objects",
                pdf(&["1 0 obj ".repeat(MAX_DEPTH + 1).into_bytes()]),
            ),
            ("content", pdf(&[stream("", &deep)])),
            (
                "packed",
                pdf(&[stream("/Filter /FlateDecode", &packed(&deep))]),
            ),
            (
                "packed twice",
                pdf(&[stream("/Filter [/FlateDecode /FlateDecode]", &twice)]),
            ),
        ] {
            assert_eq!(check(&file), Err(ExtractFault::Malformed), "{what}");
        }
    }

    #[test]
    fn real_documents_pass() {
        let balanced = "[ << /a [ (x) ] >> ] ".repeat(5_000);
        let picture = stream("/Subtype /Image", &b"[".repeat(10_000));
        let font = stream("/Filter /FlateDecode", &packed(&b"\x02[".repeat(10_000)));
        let many = "1 0 obj null\n".repeat(2_000);
        for (what, file) in [
            ("balanced", pdf(&[balanced.into_bytes()])),
            ("a picture", pdf(&[picture])),
            ("a font", pdf(&[font])),
            ("objects without end", pdf(&[many.into_bytes()])),
            ("nothing", Vec::new()),
        ] {
            assert_eq!(check(&file), Ok(()), "{what}");
        }
    }

    #[test]
    fn what_unpacks_without_end_is_a_bomb() {
        let room = || Room {
            stream: 10_000,
            all: 40_000,
        };
        let spaces = |count: usize| stream("/Filter /FlateDecode", &packed(&vec![b' '; count]));
        for (streams, found) in [
            (vec![spaces(10_001)], Err(ExtractFault::Bomb)),
            (vec![spaces(10_000)], Ok(())),
            (vec![spaces(10_000); 4], Ok(())),
            (vec![spaces(10_000); 5], Err(ExtractFault::Bomb)),
        ] {
            assert_eq!(check_within(&pdf(&streams), room()), found);
        }
    }
}
