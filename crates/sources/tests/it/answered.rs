//! A search that was made before is not made again while nothing has come or gone, and never answers otherwise than one that
//! is made.

use std::time::Duration;

use jiff::civil::date;
use mail::{
    Condition, Cx, Fault, FaultKind, Flag, Found, MailSource as _, Query, Search, Sifted, Snippets,
    Uid,
};
use sources::imap::ImapSource;
use testkit::proxy::Refusal;
use testkit::{Delivery, Dovecot, FaultProxy, RawImap};
use tokio::runtime::Runtime;

use crate::mail_room::name;
use crate::{runtime, settings};

struct Room {
    server: Dovecot,
    proxy: FaultProxy,
    source: ImapSource,
    runtime: Runtime,
    /// Another client, with INBOX open.
    other: RawImap,
}

/// What a call cost: round trips, and searches that the server made for it.
type Cost = (u32, usize);

/// Nothing was searched for.
const REMEMBERED: Cost = (1, 0);
/// In a folder that is open.
const SEARCHED: Cost = (2, 1);

impl Room {
    /// Messages 1 to 6 in INBOX, by anna and bob in turn, on a server that has not these capabilities.
    fn without(capabilities: &str) -> Self {
        let server = Dovecot::start();
        server.create_folder("alice", "Archive");
        server.deliver_many("alice", "INBOX", (1..=6).map(|n| letter(by(n), n)));
        // Longer than it takes to send a flight, so that the proxy counts round trips exactly.
        let proxy = FaultProxy::builder(server.port())
            .strip(capabilities)
            .delay(Duration::from_millis(5))
            .start();
        let source = ImapSource::new(crate::account(), settings(proxy.port()));
        let runtime = runtime();
        runtime.block_on(source.folders(&Cx::new())).unwrap();
        let mut other = server.login("alice", "secret");
        other.command("SELECT INBOX");
        Self {
            server,
            proxy,
            source,
            runtime,
            other,
        }
    }

    fn new() -> Self {
        let room = Self::without("");
        // The folder is open from now on.
        room.list("INBOX");
        room
    }

    fn list(&self, folder: &str) {
        self.try_search(&of(folder, Query::default())).0.unwrap();
    }

    fn try_search(&self, search: &Search) -> (Result<Found, Fault>, Cost) {
        self.counted(|cx| self.runtime.block_on(self.source.search(cx, search)))
    }

    /// The answer is that of a source which remembers nothing.
    fn search(&self, search: &Search) -> (Found, Cost) {
        let (found, cost) = self.try_search(search);
        let found = told(found.unwrap());
        let fresh = ImapSource::new(crate::account(), settings(self.server.port()));
        let want = self.runtime.block_on(fresh.search(&Cx::new(), search));
        assert_eq!(found, told(want.unwrap()), "{search:?}");
        (found, cost)
    }

    /// The same for several tests.
    fn sift(&self, folder: &str, tests: &[Condition]) -> (Sifted, Cost) {
        let folder = name(folder);
        let sift = |source: &ImapSource, cx: &Cx| {
            self.runtime
                .block_on(source.sift(cx, &folder, tests))
                .unwrap()
        };
        let (sifted, cost) = self.counted(|cx| sift(&self.source, cx));
        let fresh = ImapSource::new(crate::account(), settings(self.server.port()));
        assert_eq!(sifted, sift(&fresh, &Cx::new()), "{tests:?}");
        (sifted, cost)
    }

    fn counted<T>(&self, ask: impl FnOnce(&Cx) -> T) -> (T, Cost) {
        let cx = Cx::new();
        self.proxy.reset_stats();
        let answer = ask(&cx);
        let commands = self.proxy.commands();
        let searches = commands.iter().filter(|line| line.contains("UID SEARCH"));
        assert_eq!(u64::from(cx.round_trips()), self.proxy.stats().flights);
        (answer, (cx.round_trips(), searches.count()))
    }

    /// By another client, from the folder that it has open.
    fn remove(&mut self, uid: u32) {
        let flag = format!("UID STORE {uid} +FLAGS.SILENT (\\Deleted)");
        self.other.command(&flag);
        self.other.command(&format!("UID EXPUNGE {uid}"));
    }
}

fn by(number: u32) -> &'static str {
    ["bob", "anna"][number as usize % 2]
}

fn letter(from: &str, number: u32) -> Delivery {
    let raw = format!(
        "From: {from}@test.example\r\nTo: alice@test.example\r\nSubject: number {number}\r\n\r\ntext of {from} {number}\r\n"
    );
    Delivery::new(raw).at(1_767_225_600 + 86_400 * u64::from(number))
}

fn of(folder: &str, query: Query) -> Search {
    Search {
        folder: name(folder),
        query,
        below: None,
        limit: 10,
        snippets: Snippets::Without,
        most_matches: 1_000,
    }
}

fn from(sender: &str) -> Query {
    Query {
        from: Some(sender.to_owned()),
        ..Query::default()
    }
}

fn by_anna() -> Search {
    of("INBOX", from("anna"))
}

fn uids(found: &Found) -> Vec<u32> {
    found.summaries.iter().map(|one| one.uid.0).collect()
}

/// Which session is the first to hear of a message is no matter.
fn told(mut found: Found) -> Found {
    for summary in &mut found.summaries {
        let flags = summary.flags.as_mut().unwrap();
        flags.retain(|flag| *flag != Flag::new("\\Recent"));
    }
    found
}

#[test]
fn the_second_asking_takes_one_flight_and_no_search() {
    for lacking in ["", "ESEARCH IMAP4REV2", "ESEARCH IMAP4REV2 LITERAL+"] {
        let room = Room::without(lacking);
        room.list("INBOX");
        let nobody = of("INBOX", from("nobody"));
        let several = Query {
            text: Some("text of anna".to_owned()),
            to: Some("alice".to_owned()),
            subject: Some("number".to_owned()),
            since: Some(date(2026, 1, 3)),
            until: Some(date(2026, 1, 5)),
            ..from("anna")
        };
        for (search, want, cost) in [
            (by_anna(), &[5, 3, 1][..], SEARCHED),
            (nobody, &[], (1, 1)),
            (of("INBOX", several), &[3], SEARCHED),
        ] {
            let (first, first_cost) = room.search(&search);
            assert_eq!(
                (uids(&first), first_cost),
                (want.to_vec(), cost),
                "{lacking}"
            );
            for _ in 0..3 {
                let (again, cost) = room.search(&search);
                assert_eq!((again, cost), (first.clone(), REMEMBERED), "{lacking}");
            }
            // The beginning of the text is no part of what is searched for.
            let snippets = Snippets::Bytes(10);
            let more = Search { snippets, ..search };
            assert_eq!(room.search(&more).1, REMEMBERED, "{lacking}");
        }
    }
}

#[test]
fn what_came_and_went_is_seen_by_the_next_search() {
    let mut room = Room::new();
    assert_eq!(uids(&room.search(&by_anna()).0), [5, 3, 1]);
    // One comes.
    room.other.append("INBOX", &letter("anna", 7));
    assert_eq!(uids(&room.search(&by_anna()).0), [7, 5, 3, 1]);
    room.list("Archive");
    assert_eq!(uids(&room.search(&by_anna()).0), [7, 5, 3, 1]);
    assert_eq!(room.search(&by_anna()).1, REMEMBERED);
    // One goes.
    room.remove(3);
    assert_eq!(uids(&room.search(&by_anna()).0), [7, 5, 1]);
    room.list("Archive");
    assert_eq!(uids(&room.search(&by_anna()).0), [7, 5, 1]);
    assert_eq!(room.search(&by_anna()).1, REMEMBERED);
    // As many as before, and not the same.
    room.remove(1);
    room.other.append("INBOX", &letter("anna", 8));
    assert_eq!(uids(&room.search(&by_anna()).0), [8, 7, 5]);
    room.list("Archive");
    assert_eq!(uids(&room.search(&by_anna()).0), [8, 7, 5]);
    assert_eq!(room.search(&by_anna()).1, REMEMBERED);
    // One comes and goes again.
    room.other.append("INBOX", &letter("anna", 9));
    room.remove(9);
    assert_eq!(uids(&room.search(&by_anna()).0), [8, 7, 5]);
    // By the delivery agent, into the directory.
    let delivery = letter("anna", 10).raw;
    room.server.deliver("alice", "INBOX", &delivery);
    room.other.command("NOOP");
    assert_eq!(uids(&room.search(&by_anna()).0), [10, 8, 7, 5]);
}

#[test]
fn news_cost_no_more_flights_than_they_did() {
    let mut room = Room::new();
    room.search(&by_anna());
    room.other.append("INBOX", &letter("anna", 7));
    // The page in vain, the search, the page.
    assert_eq!(room.search(&by_anna()).1, (3, 1));
    let tests = [Condition::EVERYTHING, Condition::From("anna".to_owned())];
    room.list("Archive");
    room.sift("INBOX", &tests);
    assert_eq!(room.sift("INBOX", &tests).1, REMEMBERED);
    room.remove(7);
    // What tells of it, and the searches; also where some of it would have been asked anyway.
    assert_eq!(room.sift("INBOX", &tests).1, (2, 2));
    room.list("Archive");
    room.sift("INBOX", &tests[..1]);
    room.remove(5);
    assert_eq!(room.sift("INBOX", &tests).1.0, 2);
}

#[test]
fn flags_are_those_of_now_and_a_search_by_flags_is_made_each_time() {
    let mut room = Room::new();
    let unread = of(
        "INBOX",
        Query {
            unread_only: true,
            ..from("anna")
        },
    );
    let seen = |found: &Found| -> Vec<bool> {
        let flags = found.summaries.iter().map(|one| one.flags.clone());
        flags
            .map(|flags| flags.unwrap().contains(&Flag::new("\\Seen")))
            .collect()
    };
    let (found, _) = room.search(&by_anna());
    assert_eq!(seen(&found), [false, false, false]);
    assert_eq!(room.search(&unread).1, SEARCHED);
    assert_eq!(room.search(&unread).1, SEARCHED);
    room.other.command("UID STORE 3 +FLAGS (\\Seen)");
    let (found, cost) = room.search(&by_anna());
    assert_eq!((seen(&found), cost.1), (vec![false, true, false], 0));
    let (found, cost) = room.search(&unread);
    assert_eq!((uids(&found), cost), (vec![5, 1], SEARCHED));
    // Who does not ask for flags does not wait for those that changed.
    room.other.command("UID STORE 4 +FLAGS (\\Seen)");
    assert_eq!(room.search(&of("INBOX", from("bob"))).1, SEARCHED);
}

#[test]
fn questions_folders_and_pages_are_not_mixed_up() {
    let mut room = Room::new();
    room.other.append("Archive", &letter("bob", 1));
    room.other.append("Archive", &letter("anna", 2));
    room.search(&by_anna());
    let (found, cost) = room.search(&of("INBOX", from("bob")));
    assert_eq!((uids(&found), cost), (vec![6, 4, 2], SEARCHED));
    let (found, cost) = room.search(&of("Archive", from("anna")));
    assert_eq!((uids(&found), cost), (vec![2], SEARCHED));
    // Opened on the way, and searched on the way.
    assert_eq!(room.search(&by_anna()).1, SEARCHED);
    assert_eq!(room.search(&by_anna()).1, REMEMBERED);
    // A shorter page is part of a longer one; a longer one is not.
    let limited = |limit| Search { limit, ..by_anna() };
    let (first, cost) = room.search(&limited(2));
    assert_eq!(
        (uids(&first), first.matches, cost),
        (vec![5, 3], 3, REMEMBERED)
    );
    let bob = |limit| Search {
        limit,
        ..of("INBOX", from("bob"))
    };
    room.search(&bob(3));
    let (found, cost) = room.search(&bob(1));
    assert_eq!(
        (uids(&found), found.matches, cost),
        (vec![6], 3, REMEMBERED)
    );
    room.list("Archive");
    room.search(&of("INBOX", from("carol")));
    let few = of("INBOX", from("test.example"));
    assert_eq!(
        room.search(&Search {
            limit: 1,
            ..few.clone()
        })
        .1,
        SEARCHED
    );
    assert_eq!(
        room.search(&Search {
            limit: 4,
            ..few.clone()
        })
        .1,
        SEARCHED
    );
    assert_eq!(room.search(&Search { limit: 3, ..few }).1, REMEMBERED);
    // The next page is a question of its own.
    let next = Search {
        below: first.next,
        ..limited(2)
    };
    let (second, cost) = room.search(&next);
    assert_eq!(
        (uids(&second), second.next, cost),
        (vec![1], None, SEARCHED)
    );
    assert_eq!(room.search(&next), (second, REMEMBERED));
    // And one of another generation is a conflict, now as ever.
    let mut wrong = next;
    wrong.below.as_mut().unwrap().uidvalidity.0 += 1;
    for _ in 0..2 {
        let (outcome, _) = room.try_search(&wrong);
        assert_eq!(outcome.unwrap_err().kind, FaultKind::Conflict);
    }
    // What one caller may have, another may not.
    let narrow = Search {
        most_matches: 2,
        ..by_anna()
    };
    let (outcome, _) = room.try_search(&narrow);
    assert_eq!(outcome.unwrap_err().kind, FaultKind::TooMany { matches: 3 });
}

#[test]
fn a_folder_that_was_made_anew_is_another_one() {
    let mut room = Room::new();
    let anna = of("Archive", from("anna"));
    let bob = of("Archive", from("bob"));
    room.other.append("Archive", &letter("anna", 1));
    room.other.append("Archive", &letter("bob", 2));
    room.search(&anna);
    let (before, cost) = room.search(&anna);
    assert_eq!((uids(&before), cost), (vec![1], REMEMBERED));
    room.list("INBOX");
    room.other.command("DELETE Archive");
    room.other.command("CREATE Archive");
    room.other.append("Archive", &letter("bob", 1));
    room.other.append("Archive", &letter("anna", 2));
    room.search(&bob);
    // Open again, with as many messages and the same UIDNEXT.
    let (after, cost) = room.search(&anna);
    assert_eq!((uids(&after), cost), (vec![2], SEARCHED));
    assert_ne!(after.uidvalidity, before.uidvalidity);
}

#[test]
fn another_connection_uses_it_once_it_has_the_folder_open() {
    let room = Room::new();
    room.search(&by_anna());
    room.proxy.cut_all(testkit::Cut::Reset);
    room.runtime
        .block_on(
            room.source
                .search(&Cx::new(), &of("INBOX", Query::default())),
        )
        .unwrap();
    assert_eq!(room.search(&by_anna()).1, REMEMBERED);
}

#[test]
fn a_server_that_does_not_say_what_comes_next_is_asked_each_time() {
    let room = Room::without("");
    let mute = |line: &str| line.contains("[UIDNEXT").then(|| "* OK hello".to_owned());
    room.proxy.rewrite_replies(mute);
    room.list("INBOX");
    for _ in 0..3 {
        let (found, cost) = room.search(&by_anna());
        assert_eq!((uids(&found), cost), (vec![5, 3, 1], SEARCHED));
    }
}

#[test]
fn a_server_that_does_not_tell_what_came_and_went_is_asked_each_time() {
    let room = Room::new();
    for sender in ["anna", "nobody"] {
        room.search(&of("INBOX", from(sender)));
    }
    room.proxy
        .refuse_command(Refusal::No, |line| line.contains("NOOP"));
    let (found, cost) = room.search(&of("INBOX", from("nobody")));
    assert_eq!((uids(&found), cost), (vec![], (2, 1)));
    let (found, cost) = room.search(&by_anna());
    assert_eq!((uids(&found), cost), (vec![5, 3, 1], SEARCHED));
}

/// A page that a server leaves out, or refuses, is not made up.
#[test]
fn what_is_remembered_and_not_described_is_searched_for() {
    let room = Room::new();
    room.search(&by_anna());
    room.proxy.rewrite_replies(|line| {
        let third = line.contains("FETCH (UID 3 ");
        third.then(|| "* OK nothing".to_owned())
    });
    let (found, cost) = room.try_search(&by_anna());
    let found = found.unwrap();
    assert_eq!((found.missing, cost), (vec![Uid(3)], (3, 1)));
    room.proxy.disarm();
    assert_eq!(room.search(&by_anna()).1, REMEMBERED);
}

#[test]
fn policies_ask_again_only_for_what_may_have_changed() {
    for (lacking, first, by_flag) in [("", 1, 1), ("ESEARCH IMAP4REV2", 6, 1)] {
        let mut room = Room::without(lacking);
        room.list("INBOX");
        let lasting = [
            Condition::EVERYTHING,
            Condition::From("anna".to_owned()),
            Condition::Any(vec![]),
            Condition::Not(Box::new(Condition::Subject("number 3".to_owned()))),
            Condition::Before(date(2026, 1, 3)),
            Condition::Header {
                name: "X-None".to_owned(),
                holds: String::new(),
            },
        ];
        let (sifted, cost) = room.sift("INBOX", &lasting);
        assert_eq!(cost.0, first, "{lacking}");
        assert_eq!(room.sift("INBOX", &lasting), (sifted.clone(), REMEMBERED));
        // In another order, and with one that is new or moves.
        let mut more: Vec<Condition> = lasting.iter().rev().cloned().collect();
        more.insert(2, Condition::Flagged(Flag::new("\\Flagged")));
        assert_eq!(room.sift("INBOX", &more).1, (by_flag, 1), "{lacking}");
        room.other.command("UID STORE 2 +FLAGS (\\Flagged)");
        let (moved, cost) = room.sift("INBOX", &more);
        // Once more, as flags had changed.
        let again = (by_flag + 1, 2);
        assert_eq!((moved.sets[2].len(), cost), (1, again), "{lacking}");
        // What a policy's search found serves a plain one too.
        assert_eq!(room.search(&by_anna()).1, REMEMBERED, "{lacking}");
        room.remove(1);
        assert_ne!(room.sift("INBOX", &lasting).0, sifted);
    }
}

/// Numbers by chance, the same in every run.
struct Chance(u64);

impl Chance {
    fn below(&mut self, most: u32) -> u32 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as u32 % most
    }

    fn of<T: Copy>(&mut self, these: &[T]) -> T {
        these[self.below(these.len() as u32) as usize]
    }
}

#[test]
fn whatever_comes_goes_and_changes_every_answer_is_that_of_a_fresh_source() {
    let mut room = Room::without("");
    let mut chance = Chance(0x5eed);
    let folders = ["INBOX", "Archive"];
    let mut next = [7, 1];
    let mut remembered = 0;
    for step in 0..80 {
        let at = chance.below(2) as usize;
        room.other.command(&format!("SELECT {}", folders[at]));
        let doing = chance.below(8);
        if matches!(doing, 0 | 2) {
            let goes = 1 + chance.below(next[at]);
            room.remove(goes);
        }
        if matches!(doing, 1 | 2) {
            let sender = chance.of(&["anna", "bob"]);
            room.other.append(folders[at], &letter(sender, next[at]));
            next[at] += 1;
        }
        if doing == 3 {
            let flag = chance.of(&["\\Seen", "\\Flagged", "$Work"]);
            let how = chance.of(&["+", "-"]);
            let which = 1 + chance.below(next[at]);
            let store = format!("UID STORE {which} {how}FLAGS ({flag})");
            room.other.command(&store);
        }
        let folder = folders[usize::from(chance.below(4) == 0)];
        for _ in 0..3 {
            let sender = chance.of(&["anna", "bob"]);
            let cost = if chance.below(3) == 0 {
                let tests = [
                    Condition::EVERYTHING,
                    Condition::From(sender.to_owned()),
                    Condition::Not(Box::new(Condition::Flagged(Flag::new("\\Seen")))),
                ];
                room.sift(folder, &tests).1
            } else {
                let query = Query {
                    unread_only: chance.below(6) == 0,
                    until: (chance.below(4) == 0).then(|| date(2026, 1, 5)),
                    ..from(sender)
                };
                let limit = chance.of(&[2, 50]);
                let search = of(folder, query);
                room.search(&Search { limit, ..search }).1
            };
            remembered += usize::from(cost.1 == 0);
            assert!(cost.0 <= 4, "{step}: {cost:?}");
        }
    }
    assert!(remembered > 30, "{remembered}");
}
