//! What a secret is: one line of text, of at most 64 kB. Whatever it passes through on the way is wiped.

use std::io::{self, Read};

use secrecy::zeroize::Zeroizing;
use secrecy::{ExposeSecret as _, SecretString};

use super::NoSecret;

/// So many bytes a secret has at most, wherever it comes from.
pub(super) const MOST: usize = 64 * 1024;

/// Bytes that are wiped when they are no longer needed.
pub(super) type Wiped = Zeroizing<Vec<u8>>;

/// `None` if there is more than a secret may have.
pub(super) fn all_of(mut from: impl Read) -> io::Result<Option<Wiped>> {
    // One piece from the beginning: what grows leaves copies behind.
    let mut bytes: Wiped = Zeroizing::new(vec![0; MOST + 1]);
    let mut filled = 0;
    loop {
        let room = bytes.get_mut(filled..).unwrap_or_default();
        if room.is_empty() {
            return Ok(None);
        }
        match from.read(room) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    bytes.truncate(filled);
    Ok(Some(bytes))
}

/// All of it is the secret. `from` says where it was found.
pub(super) fn whole(bytes: &[u8], from: &str) -> Result<SecretString, NoSecret> {
    let text = std::str::from_utf8(bytes).map_err(|_| not_text(from))?;
    usable(text)
}

/// Its first line is the secret; what a program has to say besides comes after it.
pub(super) fn first_line(bytes: &[u8], from: &str) -> Result<SecretString, NoSecret> {
    let line = bytes.split(|byte| *byte == b'\n').next();
    whole(line.unwrap_or_default(), from)
}

/// The line that is kept, with its end. What could not be read again is refused.
pub(super) fn line_of(secret: &SecretString) -> Result<Wiped, NoSecret> {
    let text = secret.expose_secret();
    let fits = !text.is_empty() && text.len() < MOST && !text.chars().any(char::is_control);
    if !fits {
        return Err(NoSecret::new(
            "this cannot be kept as a secret: it is empty, larger than 64 kB, or holds line breaks or control characters",
            "get another one",
        ));
    }
    let mut line: Wiped = Zeroizing::new(Vec::with_capacity(text.len() + 1));
    line.extend_from_slice(text.as_bytes());
    line.push(b'\n');
    Ok(line)
}

pub(super) fn too_large(from: &str) -> NoSecret {
    NoSecret::new(
        format!("{from} is larger than 64 kB"),
        "a secret is one line; nothing else belongs into the file",
    )
}

fn not_text(from: &str) -> NoSecret {
    NoSecret::new(format!("{from} is not UTF-8"), "save it as UTF-8")
}

/// Without the line end that editors leave; one line, and not empty.
fn usable(text: &str) -> Result<SecretString, NoSecret> {
    let text = text.strip_suffix('\n').unwrap_or(text);
    let text = text.strip_suffix('\r').unwrap_or(text);
    if text.is_empty() {
        return Err(NoSecret::new(
            "the secret that this refers to is empty",
            "write it, in one line",
        ));
    }
    if text.chars().any(char::is_control) {
        return Err(NoSecret::new(
            "the secret that this refers to holds line breaks or control characters",
            "keep it in one line, and nothing else with it",
        ));
    }
    Ok(SecretString::from(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_one_line() {
        for (bytes, all, first) in [
            (&b"pa ss"[..], Ok("pa ss"), Ok("pa ss")),
            (b"pass\n", Ok("pass"), Ok("pass")),
            (b"pass\r\n", Ok("pass"), Ok("pass")),
            (b"pass\nurl: x\n", Err("line breaks"), Ok("pass")),
            (b"pass\n\n", Err("line breaks"), Ok("pass")),
            (b"", Err("is empty"), Err("is empty")),
            (b"\n", Err("is empty"), Err("is empty")),
            (b"\r\n", Err("is empty"), Err("is empty")),
            (b"\npass", Err("line breaks"), Err("is empty")),
            (
                b"pa\0ss",
                Err("control characters"),
                Err("control characters"),
            ),
            (
                b"pa\x1b[1mss",
                Err("control characters"),
                Err("control characters"),
            ),
            (b"pass\xff", Err("not UTF-8"), Err("not UTF-8")),
            (b"pass\n\xff", Err("not UTF-8"), Ok("pass")),
        ] {
            for (got, want) in [(whole(bytes, "it"), all), (first_line(bytes, "it"), first)] {
                match (got, want) {
                    (Ok(got), Ok(want)) => assert_eq!(got.expose_secret(), want),
                    (Err(none), Err(says)) => {
                        let said = none.to_string();
                        assert!(said.contains(says) && !said.contains("pass"), "{said}");
                    }
                    (got, want) => panic!("{bytes:?}: {:?} is not {want:?}", got.is_ok()),
                }
            }
        }
    }

    #[test]
    fn what_is_kept_can_be_read_again() {
        for (text, fits) in [
            ("pa ss", true),
            ("ümläut", true),
            ("", false),
            ("two\nlines", false),
            ("bell\u{7}", false),
        ] {
            let secret = SecretString::from(text);
            let line = line_of(&secret);
            assert_eq!(line.is_ok(), fits, "{text:?}");
            if let Ok(line) = line {
                assert_eq!(whole(&line, "it").unwrap().expose_secret(), text);
            }
        }
        for (length, fits) in [(MOST - 1, true), (MOST, false)] {
            let secret = SecretString::from("x".repeat(length));
            let line = line_of(&secret);
            assert_eq!(line.is_ok(), fits, "{length}");
            if let Ok(line) = line {
                assert!(all_of(line.as_slice()).unwrap().is_some());
            }
        }
    }

    #[test]
    fn no_more_is_read_than_a_secret_may_have() {
        let of = |length: usize| all_of(io::repeat(b'x').take(length as u64)).unwrap();
        assert_eq!(of(MOST).map(|bytes| bytes.len()), Some(MOST));
        assert!(of(MOST + 1).is_none());
        assert!(all_of(io::repeat(b'x')).unwrap().is_none());
    }
}
