//! Servers that give a UID to another message, within one UIDVALIDITY, against RFC 3501 section 2.3.1.1.
//!
//! Who: Proton Bridge (reports of wrong messages under right numbers in its tracker).
//!
//! Known by: a message of another size, or of another arrival, than the one that was seen under its UID. Done: both are asked for
//! whenever something that was seen before is used, and before anything is changed. Of servers that keep messages themselves and
//! call themselves by a name below it is not expected: of a list that was told before they are asked for the flags alone, which is
//! half of the work and half of the octets. Told: the message as it is now.

use imap::Data;

/// As they answer `ID` (RFC 2971), up to where versions and makers are added.
const KEEPERS: [&[u8]; 2] = [b"\"name\" \"Dovecot\"", b"\"name\" \"Cyrus IMAPD\""];

/// Whether a server says here that it is one that never moves a UID.
pub(in crate::imap) fn is_disclaimed(data: &[Data]) -> bool {
    let mut told = data.iter().filter_map(|one| match one {
        Data::Other(line) => line.strip_prefix(b"ID ("),
        _ => None,
    });
    told.any(|told| KEEPERS.iter().any(|name| told.starts_with(name)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;

    #[test]
    fn those_that_keep_their_uids_say_so_by_their_name_alone() {
        for (line, want) in [
            (&b"ID (\"name\" \"Dovecot\")"[..], true),
            (b"ID (\"name\" \"Dovecot\" \"version\" \"2.4\")", true),
            (b"ID (\"name\" \"Cyrus IMAPD\" \"version\" \"3.8\")", true),
            (b"ID (\"name\" \"gluon\" \"vendor\" \"Proton\")", false),
            (b"ID (\"vendor\" \"x\" \"name\" \"Dovecot\")", false),
            (b"ID (\"name\" \"Dovecotx\")", false),
            (b"ID NIL", false),
            (b"XLIST (\"name\" \"Dovecot\")", false),
        ] {
            let data = [Data::Exists(3), Data::Other(Bytes::from_static(line))];
            assert_eq!(is_disclaimed(&data), want, "{}", line.escape_ascii());
        }
    }
}
