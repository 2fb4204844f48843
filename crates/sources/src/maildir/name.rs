//! File names of a Maildir: the unique part, the flags after it, and when the message was delivered.
//!
//! A name is read, never believed: whatever it holds ends as a number or as a known flag.

use mail::{Flag, Uid};

/// A file name taken apart: `1762164750.M12P34.host,S=4321:2,RS`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Name<'a> {
    /// What stays the same when flags change: everything before the first `:` or `,`.
    pub(super) unique: &'a [u8],
    marks: &'a [u8],
}

/// Where a file lies. A message in `new/` has no flags yet, whatever its name says.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Place {
    New,
    Cur,
}

impl Place {
    pub(super) fn directory(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Cur => "cur",
        }
    }
}

/// The flags of <https://cr.yp.to/proto/maildir.html> and what IMAP calls them.
const MARKS: [(u8, &str); 6] = [
    (b'D', "\\Draft"),
    (b'F', "\\Flagged"),
    (b'P', "$Forwarded"),
    (b'R', "\\Answered"),
    (b'S', "\\Seen"),
    (b'T', "\\Deleted"),
];

impl<'a> Name<'a> {
    /// `None` for a name that no delivery agent makes: control characters, or nothing that is unique.
    pub(super) fn parse(file: &'a [u8]) -> Option<Self> {
        if file.iter().any(u8::is_ascii_control) {
            return None;
        }
        let end = file.iter().position(|b| matches!(b, b':' | b','));
        let unique = file.get(..end.unwrap_or(file.len()))?;
        if unique.is_empty() {
            return None;
        }
        let marks = file
            .iter()
            .rposition(|b| *b == b':')
            .and_then(|colon| file.get(colon..))
            .and_then(|info| info.strip_prefix(b":2,"))
            .unwrap_or_default();
        Some(Self { unique, marks })
    }

    pub(super) fn flags(self, place: Place) -> Vec<Flag> {
        MARKS
            .iter()
            .filter(|(mark, _)| self.has(place, *mark))
            .map(|(_, flag)| Flag::new(*flag))
            .collect()
    }

    pub(super) fn seen(self, place: Place) -> bool {
        self.has(place, b'S')
    }

    fn has(self, place: Place, mark: u8) -> bool {
        place == Place::Cur && self.marks.contains(&mark)
    }

    /// A number for the unique part, the same on every run and machine, never zero.
    ///
    /// FNV-1a in 64 bits, folded to 32: names differ in few places, and the fold mixes them well. Two names may have the same
    /// by chance; names are given by whoever delivers mail, not by senders. The module says what happens then.
    pub(super) fn uid(self) -> Uid {
        let hash = self.unique.iter().fold(0xcbf2_9ce4_8422_2325, |hash, b| {
            (hash ^ u64::from(*b)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        let [a, b, c, d, e, f, g, h] = hash.to_be_bytes();
        let folded = u32::from_be_bytes([a ^ e, b ^ f, c ^ g, d ^ h]);
        Uid(folded.max(1))
    }

    /// Microseconds within that second (`M269481`), for messages delivered in the same one.
    pub(super) fn micros(self) -> i64 {
        let mut pieces = self.unique.split(|b| *b == b'.');
        let digits = pieces.nth(1).and_then(|piece| {
            let after = piece.split(|b| *b == b'M').nth(1)?;
            let end = after
                .iter()
                .position(|b| !b.is_ascii_digit())
                .unwrap_or(after.len());
            std::str::from_utf8(after.get(..end)?).ok()
        });
        let micros: Option<i64> = digits.and_then(|digits| digits.parse().ok());
        micros.filter(|micros| *micros < 1_000_000).unwrap_or(0)
    }

    /// Seconds since 1970 at the beginning of the name, as delivery agents write them.
    pub(super) fn delivered(self) -> Option<i64> {
        let end = self.unique.iter().position(|b| !b.is_ascii_digit())?;
        // `20261103-letter.eml` begins with a number too, but not with a time.
        let ends_well = matches!(self.unique.get(end), Some(b'.' | b'_'));
        if !ends_well || !(9..=11).contains(&end) {
            return None;
        }
        std::str::from_utf8(self.unique.get(..end)?)
            .ok()?
            .parse()
            .ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn microseconds_are_read_where_they_stand() {
        for (file, want) in [
            ("1762164750.M269481P7.host:2,S", 269_481),
            ("1762164750.V7I9M12.host", 12),
            ("1762164750.host", 0),
            ("1762164750.M99999999P1.host", 0),
            ("1762164750.M.host", 0),
        ] {
            assert_eq!(
                Name::parse(file.as_bytes()).unwrap().micros(),
                want,
                "{file}"
            );
        }
    }

    #[test]
    fn names_come_apart() {
        for (file, unique, flags) in [
            ("1762164750.M1P2.host:2,", "1762164750.M1P2.host", ""),
            ("1762164750.M1P2.host:2,S", "1762164750.M1P2.host", "\\Seen"),
            (
                "1762164750.M1P2.host,S=43,W=44:2,FRS",
                "1762164750.M1P2.host",
                "\\Flagged \\Answered \\Seen",
            ),
            ("a:2,DPT", "a", "\\Draft $Forwarded \\Deleted"),
            ("a:2,xyzab", "a", ""),
            ("a:1,S", "a", ""),
            ("a", "a", ""),
            ("letter.eml", "letter.eml", ""),
        ] {
            let name = Name::parse(file.as_bytes()).unwrap();
            assert_eq!(name.unique, unique.as_bytes(), "{file}");
            let shown: Vec<String> = name
                .flags(Place::Cur)
                .iter()
                .map(|flag| flag.as_str().to_owned())
                .collect();
            assert_eq!(shown.join(" "), flags, "{file}");
            assert_eq!(name.flags(Place::New), []);
        }
    }

    #[test]
    fn names_that_are_none() {
        for file in [
            "",
            ":2,S",
            ",S=1",
            "a\nb",
            "a\r",
            "\u{1b}[2J",
            "a\0",
            "a\x7f",
        ] {
            assert_eq!(Name::parse(file.as_bytes()), None, "{file:?}");
        }
    }

    #[test]
    fn a_uid_stays_when_flags_change() {
        let uid = |file: &str| Name::parse(file.as_bytes()).unwrap().uid();
        assert_eq!(
            uid("1762164750.M1P2.host"),
            uid("1762164750.M1P2.host:2,RS")
        );
        assert_eq!(
            uid("1762164750.M1P2.host"),
            uid("1762164750.M1P2.host,S=9:2,")
        );
        assert_ne!(uid("1762164750.M1P2.host"), uid("1762164750.M2P2.host"));
        // Ids are handed out and come back after an upgrade: this number is a promise.
        assert_eq!(uid("1762164750.M1P2.host"), Uid(2_407_273_538));
    }

    #[test]
    fn delivery_time_leads_the_name() {
        for (file, want) in [
            ("1762164750.M1P2.host", Some(1_762_164_750)),
            ("1762164750_0.77.host:2,S", Some(1_762_164_750)),
            ("999999999.x", Some(999_999_999)),
            ("1762164750", None),
            ("1762164750-x", None),
            ("20261103.x", None),
            ("letter.eml", None),
            ("99999999999999999999.x", None),
        ] {
            let name = Name::parse(file.as_bytes()).unwrap();
            assert_eq!(name.delivered(), want, "{file}");
        }
    }
}
