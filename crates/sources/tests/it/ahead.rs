//! Messages that are described together with a search: in one round trip, and never other than they are.

use std::time::Duration;

use mail::{
    Condition, Cx, Flag, FolderName, Likely, MailSource as _, Sifted, Snippets, Summary, Uid,
    UidSet, UidValidity,
};
use sources::imap::ImapSource;
use testkit::{Delivery, Dovecot, FaultProxy, RawImap};
use tokio::runtime::Runtime;

use crate::settings;

/// Servers that have not these capabilities, beside one that has all.
const LACKING: [&str; 3] = ["", "ESEARCH IMAP4REV2 PARTIAL", "ID"];

/// Where a folder changes while it is open, a search is made anew each time, and plain answers have nothing between them.
fn is_plain(lacking: &str) -> bool {
    lacking.contains("ESEARCH")
}

struct Place {
    server: Dovecot,
    proxy: FaultProxy,
    source: ImapSource,
    runtime: Runtime,
    folder: FolderName,
}

/// Every other one is of Anna.
fn letter(number: usize) -> Delivery {
    let from = ["anna", "bob"][number % 2];
    Delivery::new(format!(
        "From: {from}@b.example\r\nSubject: letter {number}\r\n\r\ntext\r\n"
    ))
}

fn tests() -> [Condition; 2] {
    [Condition::EVERYTHING, Condition::From("anna".to_owned())]
}

fn uids(uids: &[u32]) -> UidSet {
    uids.iter().copied().map(Uid).collect()
}

impl Place {
    /// With this many letters, on a server that has not these capabilities.
    fn with(count: usize, lacking: &str) -> Self {
        let server = Dovecot::builder().folder("Box").start();
        server.deliver_many("alice", "Box", (0..count).map(letter));
        // Longer than it takes to send a flight, so that the proxy counts round trips exactly.
        let proxy = FaultProxy::builder(server.port())
            .strip(lacking)
            .delay(Duration::from_millis(5))
            .start();
        let source = ImapSource::new(crate::account(), settings(proxy.port()));
        let place = Self {
            server,
            proxy,
            source,
            runtime: crate::runtime(),
            folder: FolderName::new("Box").unwrap(),
        };
        let cx = Cx::new();
        let verified = place.source.verify(&cx);
        place.runtime.block_on(verified).unwrap();
        place
    }

    fn another_client(&self) -> RawImap {
        let mut other = self.server.login("alice", "secret");
        other.command("SELECT Box");
        other
    }

    fn deliver(&self, number: usize) {
        self.server.deliver_many("alice", "Box", [letter(number)]);
    }

    /// As a source tells it that remembers nothing.
    fn fresh(&self, tests: &[Condition], likely: &UidSet) -> (Sifted, Vec<Summary>) {
        let source = ImapSource::new(crate::account(), settings(self.server.port()));
        self.one_by_one(&source, tests, likely)
    }

    /// A search, and then what is looked at of it.
    fn one_by_one(
        &self,
        source: &ImapSource,
        tests: &[Condition],
        likely: &UidSet,
    ) -> (Sifted, Vec<Summary>) {
        let cx = Cx::new();
        let sifted = source.sift(&cx, &self.folder, tests);
        let sifted = self.runtime.block_on(sifted).unwrap();
        let told = source.summaries(
            &cx,
            &self.folder,
            sifted.uidvalidity,
            likely,
            Snippets::Without,
        );
        let told = self.runtime.block_on(told).unwrap();
        (sifted, in_order(told))
    }

    /// Both at once. INVARIANT: whatever happened, what is told is so.
    fn ahead(&self, tests: &[Condition], likely: Likely<'_>) -> (Sifted, Vec<Summary>, u32) {
        let cx = Cx::new();
        let answer = self.source.sift_ahead(&cx, &self.folder, tests, likely);
        let (sifted, described) = self.runtime.block_on(answer).unwrap();
        let (want, all) = self.fresh(tests, likely.uids);
        assert_eq!(sifted, want);
        let described = in_order(described);
        if likely.uidvalidity == want.uidvalidity && !described.is_empty() {
            assert_eq!(described, all);
        }
        (sifted, described, cx.round_trips())
    }

    fn generation(&self) -> UidValidity {
        let nothing = UidSet::default();
        let (sifted, _) = self.one_by_one(&self.source, &tests(), &nothing);
        sifted.uidvalidity
    }
}

fn in_order(mut told: Vec<Summary>) -> Vec<Summary> {
    told.sort_unstable_by_key(|one| one.uid);
    told
}

fn numbers(told: &[Summary]) -> Vec<u32> {
    told.iter().map(|one| one.uid.0).collect()
}

fn has(one: &Summary, flag: &str) -> bool {
    one.flags.as_ref().unwrap().iter().any(|own| own.is(flag))
}

#[test]
fn a_search_that_is_repeated_takes_one_round_trip_with_all_that_is_shown_of_it() {
    for lacking in LACKING {
        let place = Place::with(6, lacking);
        let tests = tests();
        let (sifted, told) = place.one_by_one(&place.source, &tests, &uids(&[1, 3, 5]));
        assert_eq!(sifted.sets, [uids(&[1, 2, 3, 4, 5, 6]), uids(&[1, 3, 5])]);
        let likely = Likely {
            uidvalidity: sifted.uidvalidity,
            uids: &sifted.sets[1],
        };
        for _ in 0..3 {
            let before = place.proxy.commands().len();
            let flights = place.proxy.stats().flights;
            let (again, described, trips) = place.ahead(&tests, likely);
            assert_eq!((&again, &described), (&sifted, &told), "{lacking}");
            assert_eq!(trips, 1, "{lacking}");
            assert_eq!(place.proxy.stats().flights - flights, 1, "{lacking}");
            let asked = place.proxy.commands().split_off(before).join("\n");
            assert!(!asked.contains("BODYSTRUCTURE"), "{lacking} {asked}");
        }
        // Also what was not described before.
        let others = uids(&[2, 3, 4]);
        let likely = Likely {
            uids: &others,
            ..likely
        };
        let (_, described, trips) = place.ahead(&tests, likely);
        assert_eq!(
            (numbers(&described), trips),
            (vec![2, 3, 4], 1),
            "{lacking}"
        );
    }
}

#[test]
fn a_folder_that_was_never_searched_is_described_along_with_its_first_search() {
    for (lacking, want) in [("", &[1, 3][..]), (LACKING[1], &[])] {
        let place = Place::with(4, lacking);
        let uidvalidity = place.fresh(&[], &UidSet::default()).0.uidvalidity;
        let likely = uids(&[1, 3]);
        let likely = Likely {
            uidvalidity,
            uids: &likely,
        };
        let (_, described, _) = place.ahead(&tests(), likely);
        assert_eq!(numbers(&described), want, "{lacking}");
    }
}

#[test]
fn flags_are_those_of_now() {
    for lacking in LACKING {
        let place = Place::with(4, lacking);
        let uidvalidity = place.generation();
        let likely = uids(&[1, 2, 3]);
        let likely = Likely {
            uidvalidity,
            uids: &likely,
        };
        place.ahead(&tests(), likely);
        let mut other = place.another_client();
        for (change, flag, on) in [
            ("+FLAGS", "\\Seen", true),
            ("+FLAGS", "invoice", true),
            ("-FLAGS", "\\Seen", false),
        ] {
            other.command(&format!("UID STORE 2 {change} ({flag})"));
            let (_, described, trips) = place.ahead(&tests(), likely);
            assert_eq!(
                (numbers(&described), trips),
                (vec![1, 2, 3], 1),
                "{lacking}"
            );
            assert_eq!(has(&described[1], flag), on, "{lacking} {change} {flag}");
            assert!(!has(&described[0], flag) && !has(&described[2], flag));
        }
    }
}

#[test]
fn what_flags_decide_is_searched_by_itself() {
    for lacking in LACKING {
        let place = Place::with(4, lacking);
        let uidvalidity = place.generation();
        let tests = [
            Condition::EVERYTHING,
            Condition::Flagged(Flag::new("\\Seen")),
        ];
        let likely = uids(&[1, 2]);
        let likely = Likely {
            uidvalidity,
            uids: &likely,
        };
        let mut other = place.another_client();
        for (change, want) in [
            ("UID STORE 2 +FLAGS (\\Seen)", &[2][..]),
            ("UID STORE 1 +FLAGS (\\Seen)", &[1, 2]),
            ("UID STORE 2 -FLAGS (\\Seen)", &[1]),
        ] {
            other.command(change);
            let (sifted, described, _) = place.ahead(&tests, likely);
            assert_eq!(sifted.sets[1], uids(want), "{lacking} {change}");
            assert_eq!(described, [], "{lacking} {change}");
        }
    }
}

#[test]
fn what_is_gone_is_not_described() {
    for lacking in LACKING {
        let place = Place::with(4, lacking);
        let uidvalidity = place.generation();
        let likely = uids(&[1, 2, 3]);
        let likely = Likely {
            uidvalidity,
            uids: &likely,
        };
        place.ahead(&tests(), likely);
        let mut other = place.another_client();
        for (gone, left) in [(2, &[1, 3][..]), (3, &[1]), (4, &[1]), (1, &[])] {
            other.command(&format!("UID STORE {gone} +FLAGS (\\Deleted)"));
            other.command("EXPUNGE");
            for _ in 0..2 {
                let (_, described, _) = place.ahead(&tests(), likely);
                let described = numbers(&described);
                assert!(
                    described.is_empty() || described == left,
                    "{lacking} {described:?}"
                );
            }
            let (_, described, trips) = place.ahead(&tests(), likely);
            if !is_plain(lacking) {
                let want = (left.to_vec(), 1);
                assert_eq!((numbers(&described), trips), want, "{lacking}");
            }
        }
    }
}

#[test]
fn what_has_come_is_found_and_nothing_stale_is_told() {
    for lacking in LACKING {
        let place = Place::with(4, lacking);
        let uidvalidity = place.generation();
        let likely = uids(&[1, 3]);
        let likely = Likely {
            uidvalidity,
            uids: &likely,
        };
        place.ahead(&tests(), likely);
        for number in 4..8 {
            place.deliver(number);
            let (sifted, _, _) = place.ahead(&tests(), likely);
            assert_eq!(sifted.sets[0].len(), number as u64 + 1, "{lacking}");
            let (_, described, trips) = place.ahead(&tests(), likely);
            if !is_plain(lacking) {
                assert_eq!((numbers(&described), trips), (vec![1, 3], 1), "{lacking}");
            }
        }
    }
}

#[test]
fn only_messages_of_this_folder_are_described() {
    for lacking in LACKING {
        let place = Place::with(3, lacking);
        let uidvalidity = place.generation();
        for (generation, likely, want) in [
            (uidvalidity, &[1, 2][..], &[1, 2][..]),
            // Another folder of that name.
            (UidValidity(uidvalidity.0 + 1), &[1, 2], &[]),
            // Some that are not there, or all.
            (uidvalidity, &[2, 99], &[2]),
            (uidvalidity, &[98, 99], &[]),
            (uidvalidity, &[u32::MAX], &[]),
            (uidvalidity, &[], &[]),
        ] {
            let likely = uids(likely);
            let likely = Likely {
                uidvalidity: generation,
                uids: &likely,
            };
            let (sifted, described, trips) = place.ahead(&tests(), likely);
            assert_eq!(numbers(&described), want, "{lacking} {likely:?}");
            assert_eq!(sifted.sets, [uids(&[1, 2, 3]), uids(&[1, 3])]);
            assert_eq!(trips, 1, "{lacking} {likely:?}");
        }
    }
}

#[test]
fn more_than_a_page_is_not_described_along_with_a_search() {
    let place = Place::with(101, "");
    let uidvalidity = place.generation();
    for (last, want) in [(100, 100), (101, 0)] {
        let likely = UidSet::range(Uid(1), Uid(last));
        let likely = Likely {
            uidvalidity,
            uids: &likely,
        };
        let (sifted, described, _) = place.ahead(&tests(), likely);
        assert_eq!(described.len(), want);
        assert_eq!(sifted.sets[0].len(), 101);
    }
}

#[test]
fn whatever_happens_it_is_told_what_there_is() {
    for (seed, lacking) in (1_u64..).zip(LACKING) {
        let place = Place::with(8, lacking);
        let uidvalidity = place.generation();
        let mut state = seed;
        let mut chance = |most: u32| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            u32::try_from(state >> 33).unwrap() % most
        };
        let mut other = place.another_client();
        let mut described = 0;
        for step in 0..40 {
            let uid = 1 + chance(12);
            match chance(6) {
                0 => place.deliver(100 + step),
                1 => {
                    other.command(&format!("UID STORE {uid} +FLAGS (\\Deleted)"));
                    other.command(&format!("UID EXPUNGE {uid}"));
                }
                2 => drop(other.command(&format!("UID STORE {uid} +FLAGS (\\Seen k{step})"))),
                3 => drop(other.command(&format!("UID STORE {uid} -FLAGS (\\Seen)"))),
                _ => {}
            }
            let tests = match chance(4) {
                0 => vec![
                    Condition::EVERYTHING,
                    Condition::Flagged(Flag::new("\\Seen")),
                ],
                1 => vec![Condition::From("bob".to_owned())],
                _ => tests().to_vec(),
            };
            let likely: UidSet = (0..chance(6)).map(|_| Uid(1 + chance(14))).collect();
            let likely = Likely {
                uidvalidity,
                uids: &likely,
            };
            let (_, told, _) = place.ahead(&tests, likely);
            described += told.len();
        }
        assert!(
            described > 0 || is_plain(lacking),
            "{lacking}: nothing was ever described"
        );
    }
}
