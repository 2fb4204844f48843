//! Signed and encrypted mail, recognized and said. Nothing is verified, nothing is decrypted.

use mail::{Fetched, Leaf};

use crate::header;
use crate::note::Note;
use crate::params::Params;
use crate::parts::Parts;
use crate::transfer;

const PGP: &str = "OpenPGP";
const SMIME: &str = "S/MIME";

/// What a CMS object is (RFC 5652, RFC 8551 section 3.2.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Wrapped {
    Signed,
    Encrypted,
    /// Compressed, or only certificates: nothing to say.
    Other,
}

/// INVARIANT: one note of a kind, however many parts would give it.
pub(crate) fn recognize(fetched: &Fetched, parts: &Parts<'_>, body: Option<&str>) -> Vec<Note> {
    let mut notes = Vec::new();
    for leaf in &fetched.structure.leaves {
        let note = match leaf.mime_type.as_str() {
            "application/pgp-signature" => Some(Note::Signed { with: PGP }),
            "application/pkcs7-signature" | "application/x-pkcs7-signature" => {
                Some(Note::Signed { with: SMIME })
            }
            "application/pgp-encrypted" => Some(Note::Encrypted { with: PGP }),
            "application/pkcs7-mime" | "application/x-pkcs7-mime" => {
                match wrapped(fetched, leaf, parts) {
                    Wrapped::Signed => Some(Note::Sealed {
                        part: leaf.section.clone(),
                    }),
                    Wrapped::Encrypted => Some(Note::Encrypted { with: SMIME }),
                    Wrapped::Other => None,
                }
            }
            "application/ms-tnef" | "application/vnd.ms-tnef" => Some(Note::Tnef {
                part: leaf.section.clone(),
            }),
            _ if is_winmail(leaf) => Some(Note::Tnef {
                part: leaf.section.clone(),
            }),
            _ => None,
        };
        notes.extend(note);
    }
    notes.extend(body.and_then(armour));
    let mut once: Vec<Note> = Vec::new();
    for note in notes {
        if !once.contains(&note) && once.len() < 10 {
            once.push(note);
        }
    }
    once
}

/// OpenPGP written into the text (RFC 9580 section 6.2), at the beginning of a line.
fn armour(body: &str) -> Option<Note> {
    let has = |marker: &str| body.lines().any(|line| line.trim_end() == marker);
    if has("-----BEGIN PGP MESSAGE-----") {
        Some(Note::Encrypted { with: PGP })
    } else if has("-----BEGIN PGP SIGNED MESSAGE-----") {
        Some(Note::Signed { with: PGP })
    } else {
        None
    }
}

fn is_winmail(leaf: &Leaf) -> bool {
    leaf.filename
        .as_ref()
        .is_some_and(|name| name.bytes().eq_ignore_ascii_case(b"winmail.dat"))
}

/// By its first bytes, else by what the message's own header says, else the usual thing.
fn wrapped(fetched: &Fetched, leaf: &Leaf, parts: &Parts<'_>) -> Wrapped {
    let decoded = parts
        .piece(leaf)
        .map(|piece| {
            transfer::decode(
                piece.bytes.get(..400).unwrap_or(piece.bytes),
                &leaf.encoding,
            )
        })
        .unwrap_or_default();
    if let Some(found) = by_object(&decoded) {
        return found;
    }
    let declared = header::first(&fetched.header, "content-type")
        .map(Params::parse)
        .filter(|kind| kind.value == leaf.mime_type)
        .and_then(|kind| kind.text("smime-type"));
    match declared.map(|kind| kind.to_ascii_lowercase()).as_deref() {
        Some("signed-data") => Wrapped::Signed,
        Some("certs-only" | "compressed-data") => Wrapped::Other,
        _ => Wrapped::Encrypted,
    }
}

/// The object identifier near the beginning of the DER.
fn by_object(der: &[u8]) -> Option<Wrapped> {
    const PKCS7: &[u8] = b"\x06\x09\x2A\x86\x48\x86\xF7\x0D\x01\x07";
    const SMIME_TYPES: &[u8] = b"\x06\x0B\x2A\x86\x48\x86\xF7\x0D\x01\x09\x10\x01";
    let head = der.get(..32).unwrap_or(der);
    let behind = |object: &[u8]| {
        let at = memchr::memmem::find(head, object)?;
        der.get(at + object.len()).copied()
    };
    match (behind(PKCS7), behind(SMIME_TYPES)) {
        (Some(2), _) => Some(Wrapped::Signed),
        (Some(3 | 6), _) | (_, Some(23)) => Some(Wrapped::Encrypted),
        (Some(_), _) | (_, Some(_)) => Some(Wrapped::Other),
        (None, None) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_tell_what_they_are() {
        let der = |last: u8| {
            [
                &b"\x30\x80\x06\x09\x2A\x86\x48\x86\xF7\x0D\x01\x07"[..],
                &[last],
            ]
            .concat()
        };
        for (last, want) in [
            (2, Wrapped::Signed),
            (3, Wrapped::Encrypted),
            (1, Wrapped::Other),
        ] {
            assert_eq!(by_object(&der(last)), Some(want));
        }
        assert_eq!(by_object(b"nothing"), None);
        assert_eq!(by_object(b""), None);
    }

    #[test]
    fn armour_stands_on_its_own_line() {
        assert_eq!(
            armour("Hi\n-----BEGIN PGP MESSAGE-----\nabc"),
            Some(Note::Encrypted { with: PGP })
        );
        assert_eq!(
            armour("-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA256"),
            Some(Note::Signed { with: PGP })
        );
        assert_eq!(armour("> -----BEGIN PGP MESSAGE-----"), None);
    }
}
