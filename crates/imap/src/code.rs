//! The typed views of response codes that tell what became of a change: where messages came to lie, what is kept.
//!
//! What does not add up has no typed view; nothing is guessed.

use crate::status::Code;
use crate::value::{self, number};
use crate::{Limits, Value};

/// More ranges than any command of ours can bring about.
const MOST_RANGES: usize = 10_000;

/// More flags than any mailbox keeps.
const MAX_PERMANENT_FLAGS: usize = 10_000;

/// `COPYUID` (RFC 4315): where copies came to lie.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CopyUid {
    /// The generation of the mailbox that they came to.
    pub uidvalidity: u32,
    /// In the order in which they were copied, as inclusive ranges; as many on both sides.
    from: Vec<(u32, u32)>,
    to: Vec<(u32, u32)>,
}

/// `APPENDUID` (RFC 4315): where a message came to lie.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AppendUid {
    pub uidvalidity: u32,
    pub uid: u32,
}

/// `PERMANENTFLAGS` (RFC 3501 section 7.1): what a mailbox keeps.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PermanentFlags(Vec<String>);

impl CopyUid {
    /// Where the copy of a message lies.
    pub fn landing(&self, uid: u32) -> Option<u32> {
        let at = position(&self.from, uid)?;
        nth(&self.to, at)
    }

    /// How many messages were copied.
    pub fn len(&self) -> u64 {
        length(&self.from)
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl PermanentFlags {
    pub fn keeps(&self, flag: &str) -> bool {
        let named = self.0.iter().any(|known| known.eq_ignore_ascii_case(flag));
        let new = !flag.starts_with('\\') && self.0.iter().any(|known| known == "\\*");
        named || new
    }
}

impl Code {
    /// `None` too where one side names more messages than the other.
    pub fn copy_uid(&self) -> Option<CopyUid> {
        let mut words = self.words("COPYUID")?;
        let uidvalidity = uid(words.next()?)?;
        let (from, to) = (ranges(words.next()?)?, ranges(words.next()?)?);
        (words.next().is_none() && length(&from) == length(&to)).then_some(CopyUid {
            uidvalidity,
            from,
            to,
        })
    }

    pub fn append_uid(&self) -> Option<AppendUid> {
        let mut words = self.words("APPENDUID")?;
        let (uidvalidity, uid) = (uid(words.next()?)?, uid(words.next()?)?);
        words
            .next()
            .is_none()
            .then_some(AppendUid { uidvalidity, uid })
    }

    pub fn permanent_flags(&self) -> Option<PermanentFlags> {
        if !self.is("PERMANENTFLAGS") {
            return None;
        }
        let values = value::values(&self.arguments, &Limits::default()).ok()?;
        let flags = values.first().and_then(Value::flags)?;
        (flags.len() <= MAX_PERMANENT_FLAGS).then_some(PermanentFlags(flags))
    }

    fn words(&self, name: &str) -> Option<impl Iterator<Item = &[u8]>> {
        let words = self.arguments.split(|octet| *octet == b' ');
        self.is(name).then(|| words.filter(|word| !word.is_empty()))
    }
}

/// Neither a generation nor a message has the number 0.
fn uid(digits: &[u8]) -> Option<u32> {
    u32::try_from(number(digits)?).ok().filter(|uid| *uid > 0)
}

/// `3,5:7` in this order; a range always ascends (RFC 4315 section 3).
fn ranges(text: &[u8]) -> Option<Vec<(u32, u32)>> {
    let items = text.split(|octet| *octet == b',').take(MOST_RANGES + 1);
    let ranges: Option<Vec<(u32, u32)>> = items
        .map(|item| {
            let mut ends = item.splitn(2, |octet| *octet == b':');
            let first = uid(ends.next()?)?;
            let last = ends.next().map_or(Some(first), uid)?;
            Some((first.min(last), first.max(last)))
        })
        .collect();
    ranges.filter(|ranges| ranges.len() <= MOST_RANGES)
}

fn length(ranges: &[(u32, u32)]) -> u64 {
    ranges.iter().map(|range| span(*range)).sum()
}

fn span((first, last): (u32, u32)) -> u64 {
    u64::from(last.saturating_sub(first)) + 1
}

fn position(ranges: &[(u32, u32)], uid: u32) -> Option<u64> {
    let mut before = 0;
    for (first, last) in ranges {
        if (*first..=*last).contains(&uid) {
            return Some(before + u64::from(uid - first));
        }
        before += span((*first, *last));
    }
    None
}

fn nth(ranges: &[(u32, u32)], mut at: u64) -> Option<u32> {
    for range in ranges {
        let span = span(*range);
        if at < span {
            return range.0.checked_add(u32::try_from(at).ok()?);
        }
        at -= span;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Data, Response};
    use bytes::Bytes;
    use proptest::prelude::*;

    fn code(text: &str) -> Code {
        let frame = Bytes::from(format!("* OK [{text}] x\r\n"));
        match Response::parse(&frame, &Limits::default()) {
            Response::Untagged(Data::Status(status)) => status.code.unwrap(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn copies_are_found_where_they_lie() {
        for (text, pairs) in [
            (
                "COPYUID 38 304 3956",
                &[(304, Some(3_956)), (305, None)][..],
            ),
            (
                "copyuid 38 304,319:320 3956:3958",
                &[(304, Some(3_956)), (320, Some(3_958)), (3_956, None)],
            ),
            (
                "COPYUID 38 9,7,1:2 20:22,5",
                &[(9, Some(20)), (7, Some(21)), (1, Some(22)), (2, Some(5))],
            ),
            ("COPYUID 38 4:3 8:7", &[(3, Some(7)), (4, Some(8))]),
            (
                "COPYUID 38 1:4294967295 1:4294967295",
                &[(4_294_967_295, Some(4_294_967_295))],
            ),
        ] {
            let copied = code(text).copy_uid().unwrap();
            assert_eq!(copied.uidvalidity, 38);
            for (from, to) in pairs {
                assert_eq!(copied.landing(*from), *to, "{text} {from}");
            }
        }
    }

    #[test]
    fn what_does_not_add_up_is_no_code() {
        for text in [
            "COPYUID",
            "COPYUID 38",
            "COPYUID 38 1",
            "COPYUID 38 1 2 3",
            "COPYUID 0 1 2",
            "COPYUID 38 1:2 3",
            "COPYUID 38 1 3:4",
            "COPYUID 38 0 1",
            "COPYUID 38 1 *",
            "COPYUID 38 1, 2,",
            "COPYUID x 1 2",
            "COPYUID 4294967296 1 2",
            "COPYUIDS 38 1 2",
        ] {
            assert_eq!(code(text).copy_uid(), None, "{text}");
        }
        let many = format!("COPYUID 38 {0} {0}", vec!["1"; MOST_RANGES + 1].join(","));
        assert_eq!(code(&many).copy_uid(), None);
        for text in [
            "APPENDUID",
            "APPENDUID 38",
            "APPENDUID 38 0",
            "APPENDUID 38 1:2",
            "APPENDUID 38 1 2",
            "APPENDUID 38 4294967296",
            "COPYUID 38 1",
        ] {
            assert_eq!(code(text).append_uid(), None, "{text}");
        }
        let want = AppendUid {
            uidvalidity: 38,
            uid: 3_955,
        };
        assert_eq!(code("APPENDUID 38 3955").append_uid(), Some(want));
    }

    #[test]
    fn a_mailbox_keeps_what_it_says() {
        let some = code("PERMANENTFLAGS (\\Seen \\Deleted work [x] NIL)");
        let some = some.permanent_flags().unwrap();
        let any = code("PERMANENTFLAGS (\\Seen \\*)")
            .permanent_flags()
            .unwrap();
        let none = code("PERMANENTFLAGS ()").permanent_flags().unwrap();
        for (flag, kept) in [
            ("\\seen", [true, true, false]),
            ("WORK", [true, true, false]),
            ("play", [false, true, false]),
            ("nil", [true, true, false]),
            ("\\Flagged", [false, false, false]),
            ("\\*", [false, true, false]),
        ] {
            assert_eq!(
                [&some, &any, &none].map(|set| set.keeps(flag)),
                kept,
                "{flag}"
            );
        }
        for text in [
            "PERMANENTFLAGS",
            "PERMANENTFLAGS x",
            "PERMANENTFLAGS (x",
            "FLAGS (x)",
        ] {
            assert_eq!(code(text).permanent_flags(), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_arguments_end(arguments in "[0-9,:() *\\\\a-z\"]{0,60}") {
            for name in ["COPYUID", "APPENDUID", "PERMANENTFLAGS"] {
                let code = Code {
                    name: name.to_owned(),
                    arguments: Bytes::from(arguments.clone()),
                };
                if let Some(copied) = code.copy_uid() {
                    prop_assert_eq!(length(&copied.from), length(&copied.to));
                }
                let _ = (code.append_uid(), code.permanent_flags());
            }
        }

        #[test]
        fn each_of_a_copy_lands_somewhere_else(first in 1u32..1_000, count in 1u32..50, to in 1u32..1_000) {
            let text = format!("COPYUID 1 {first}:{} {to}:{}", first + count - 1, to + count - 1);
            let copied = code(&text).copy_uid().unwrap();
            for at in 0..count {
                prop_assert_eq!(copied.landing(first + at), Some(to + at));
            }
            prop_assert_eq!(copied.len(), u64::from(count));
        }
    }
}
