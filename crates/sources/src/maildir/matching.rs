//! Whether a message meets conditions, asked in the order of cost: name, header, text.

use std::io;

use jiff::Timestamp;
use mail::Flag;

use super::message::Loaded;
use super::open::Shelf;
use super::scan::{Entry, Sharing};
use crate::local::matching::{Opening, Subject};
pub(super) use crate::local::matching::{Test, Verdict};

/// What each test makes of a message, which is opened only if it must be, and once. Fails only when nobody waits.
pub(super) fn judge(
    tests: &[Test],
    entry: &Entry,
    shelf: &mut Shelf<'_>,
) -> io::Result<Vec<Verdict>> {
    let size = match tests.iter().any(Test::asks_for_size) {
        true => Size::Counted,
        false => Size::Unasked,
    };
    crate::local::matching::judge(tests, &mut Letter { entry, shelf, size })
}

struct Letter<'a, 's> {
    entry: &'a Entry,
    shelf: &'a mut Shelf<'s>,
    size: Size,
}

/// It takes the whole file to tell a size.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Size {
    Counted,
    Unasked,
}

impl Letter<'_, '_> {
    /// INVARIANT: a uid that several files share opens none of them.
    fn check(&self) -> io::Result<()> {
        match self.entry.sharing {
            Sharing::Alone => Ok(()),
            Sharing::Shared => Err(io::ErrorKind::InvalidInput.into()),
        }
    }
}

impl Subject for Letter<'_, '_> {
    fn flags(&self) -> Vec<Flag> {
        self.entry.flags()
    }

    fn arrived(&self) -> Option<Timestamp> {
        self.entry.arrived()
    }

    fn open(&mut self) -> io::Result<Option<Opening>> {
        self.check()?;
        let wanted = self.size;
        let read = self.shelf.read(self.entry, |opened| {
            let header = opened.beginning(0)?.header;
            let size = match wanted {
                Size::Counted => Some(opened.wire_size()?),
                Size::Unasked => None,
            };
            Ok((header, size))
        })?;
        Ok(read.map(|(header, size)| Opening {
            size,
            envelope: content::envelope(&header),
            header: Some(header),
        }))
    }

    fn read(&mut self) -> io::Result<Option<Loaded>> {
        self.check()?;
        self.shelf.read(self.entry, Loaded::read)
    }
}

#[cfg(test)]
mod tests {
    use super::super::folders::Place;
    use super::super::work::Stop;
    use super::*;
    use jiff::civil::date;
    use mail::{Condition, Flag};

    const HEADER: &[u8] = b"From: =?iso-8859-1?Q?J=FCrgen_Wei=DF?= <juergen@kettenwerk.example>\r\n\
        To: a@b.example, Anna =?utf-8?B?w5ZrYWZvcg==?= <anna@kettenwerk.example>\r\n\
        Subject: =?utf-8?Q?=C3=9Cberblick?=\r\n =?utf-8?Q?_Stand?=\r\nX-Odd: Folded\r\n\tValue\r\n\r\n";

    fn folder(message: &[u8]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for place in ["cur", "new"] {
            std::fs::create_dir(root.path().join(place)).unwrap();
        }
        // 2001-09-09.
        std::fs::write(root.path().join("cur/1000000000.a:2,FS"), message).unwrap();
        root
    }

    fn verdict(root: &tempfile::TempDir, condition: &Condition) -> Verdict {
        let stop = Stop::default();
        let place = Place::inbox(root.path());
        let scan = place.read(&stop).unwrap();
        let mut shelf = Shelf::new(place, &stop);
        let tests = [Test::new(condition).unwrap()];
        judge(&tests, &scan.entries[0], &mut shelf).unwrap()[0]
    }

    #[test]
    fn decoded_headers_match_in_any_case() {
        let root = folder(HEADER);
        let x_odd = |name: &str, word: &str| Condition::Header {
            name: name.to_owned(),
            holds: word.to_owned(),
        };
        type Make = fn(String) -> Condition;
        for (make, word, want) in [
            (Condition::From as Make, "JÜRGEN", Verdict::Match),
            (Condition::From, "weiß", Verdict::Match),
            (Condition::From, "kettenwerk.EXAMPLE", Verdict::Match),
            (Condition::From, "anna", Verdict::No),
            (Condition::From, "=?iso", Verdict::No),
            (Condition::To, "ökafor", Verdict::Match),
            (Condition::To, "a@b", Verdict::Match),
            (Condition::To, "jürgen", Verdict::No),
            (Condition::Cc, "ökafor", Verdict::No),
            (Condition::Subject, "überblick stand", Verdict::Match),
            (Condition::Subject, "folded", Verdict::No),
            (Condition::Text, "x-odd: FOLDED", Verdict::Match),
        ] {
            assert_eq!(verdict(&root, &make(word.to_owned())), want, "{word}");
        }
        for (name, word, want) in [
            ("x-ODD", "folded VALUE", Verdict::Match),
            ("X-Odd", "", Verdict::Match),
            ("X-Odd", "jürgen", Verdict::No),
            ("X-None", "", Verdict::No),
            ("from", "jürgen", Verdict::Match),
        ] {
            assert_eq!(verdict(&root, &x_odd(name, word)), want, "{name} {word}");
        }
    }

    #[test]
    fn conditions_join() {
        use Condition::{All, Any};
        let root = folder(HEADER);
        let size = HEADER.len() as u64;
        let not = |one| Condition::Not(Box::new(one));
        let flag = |name| Condition::Flagged(Flag::new(name));
        let hit = || Condition::Text("überblick".to_owned());
        let miss = || Condition::Subject("zebra".to_owned());
        for (condition, want) in [
            (All(vec![]), true),
            (Any(vec![]), false),
            (Any(vec![miss(), hit()]), true),
            (Any(vec![miss(), miss()]), false),
            (All(vec![hit(), miss()]), false),
            (All(vec![hit(), not(miss())]), true),
            (not(Any(vec![miss(), hit()])), false),
            (flag("\\seen"), true),
            (flag("\\Flagged"), true),
            (flag("\\Answered"), false),
            (flag("$Junk"), false),
            (Condition::Larger(size - 1), true),
            (Condition::Larger(size), false),
            (Condition::Smaller(size), false),
            (Condition::Smaller(size + 1), true),
            (Condition::Since(date(2001, 9, 9)), true),
            (Condition::Since(date(2001, 9, 10)), false),
            (Condition::Before(date(2001, 9, 9)), false),
            (Condition::Before(date(2001, 9, 10)), true),
        ] {
            assert_eq!(verdict(&root, &condition), want.into(), "{condition:?}");
        }
        let deep = (0..1_000).fold(All(vec![]), |one, _| not(one));
        assert!(Test::new(&deep).is_err());
    }

    #[test]
    fn what_cannot_be_read_meets_no_test_for_text() {
        let root = folder(HEADER);
        let stop = Stop::default();
        let place = Place::inbox(root.path());
        let mut scan = place.read(&stop).unwrap();
        scan.entries[0].sharing = Sharing::Shared;
        let tests = [
            Condition::EVERYTHING,
            Condition::Flagged(Flag::new("\\Draft")),
            Condition::From("j".to_owned()),
            Condition::Not(Box::new(Condition::Text("zebra".to_owned()))),
        ];
        let tests = tests.map(|one| Test::new(&one).unwrap());
        let mut shelf = Shelf::new(place, &stop);
        let got = judge(&tests, &scan.entries[0], &mut shelf).unwrap();
        let unknown = Verdict::Unknown;
        assert_eq!(got, [Verdict::Match, Verdict::No, unknown, unknown]);
    }
}
