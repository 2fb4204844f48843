//! Conversations in small folders: found by who names whom, without a search, and never other than a search would find.

use std::time::Duration;

use mail::{Cx, Effort, Kindred, MailSource as _, Sought, Within};
use sources::imap::{ImapSource, Settings, Timeouts};
use testkit::proxy::Refusal;
use testkit::{Cut, Cyrus, Delivery, FaultProxy};

use crate::mail_room::{EFFORT, Letter, MailRoom, name, same, set, shown, sought};
use crate::{runtime, settings};

/// Letters of three conversations.
const LETTERS: [(&str, &str, &str); 8] = [
    ("INBOX", "a1@x.example", ""),
    ("Sent", "a2@x.example", "a1@x.example"),
    ("INBOX", "b1@x.example", ""),
    ("Sent", "b2@x.example", "b1@x.example"),
    // Tied by another folder alone.
    ("INBOX", "b3@x.example", "b2@x.example"),
    ("Archive", "b4@x.example", "b3@x.example"),
    ("Archive", "c1@x.example", "lost@x.example"),
    ("INBOX", "c2@x.example", "lost@x.example"),
];

const A: [&str; 2] = ["INBOX:a1@x.example", "Sent:a2@x.example"];
const B: [&str; 4] = [
    "INBOX:b1@x.example",
    "Sent:b2@x.example",
    "INBOX:b3@x.example",
    "Archive:b4@x.example",
];
const C: [&str; 2] = ["Archive:c1@x.example", "INBOX:c2@x.example"];

/// By this a command is known that reads who names whom.
const READING: &str = ":4294967295 (";

/// What somebody took to find an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Way {
    Searched,
    /// Who names whom was read first.
    Read,
    /// It was known where to look.
    Knew,
}

fn room_without(lacking: &str) -> MailRoom {
    let room = MailRoom::without(lacking);
    for (folder, own, parent) in LETTERS {
        post(&room, folder, own, &[parent]);
    }
    room.warm_up();
    room
}

/// A room in which somebody has asked for two conversations.
fn known_room() -> MailRoom {
    let room = room_without("");
    assert_eq!(ask(&room, &of("a1")).1, Way::Searched);
    assert_eq!(ask(&room, &of("b1")).1, Way::Read);
    room
}

fn post(room: &MailRoom, folder: &str, own: &str, named: &[&str]) {
    let named: Vec<&[u8]> = named.iter().map(|id| id.as_bytes()).collect();
    let letter = Letter {
        id: own.as_bytes(),
        references: &named,
        ..Letter::default()
    };
    room.post(folder, &letter);
}

fn of(own: &str) -> Sought {
    sought(&[&format!("{own}@x.example")])
}

/// The answer, which is what a search finds, and the way to it.
fn ask(room: &MailRoom, asked: &Sought) -> (Kindred, Way, u32) {
    let before = room.proxy.commands().len();
    let (found, trips) = room.kindred(asked);
    let way = way(&room.proxy.commands()[before..]);
    same(found.clone(), room.fresh(asked));
    (found, way, trips)
}

fn way(commands: &[String]) -> Way {
    let has = |word: &str| commands.iter().any(|line| line.contains(word));
    match (has("SEARCH") || has("THREAD"), has(READING)) {
        (true, _) => Way::Searched,
        (false, true) => Way::Read,
        (false, false) => Way::Knew,
    }
}

#[test]
fn whoever_asks_for_a_second_conversation_learns_where_all_of_them_are() {
    for lacking in ["", "SEARCHRES", "SEARCHRES ESEARCH THREAD=REFS LITERAL+"] {
        let room = room_without(lacking);
        let (found, way, _) = ask(&room, &of("a1"));
        assert_eq!(way, Way::Searched, "one alone is found faster by a search");
        assert_eq!(shown(&found), set(&A));
        let (found, way, trips) = ask(&room, &of("b1"));
        assert_eq!((way, trips), (Way::Read, 2), "{lacking}");
        assert_eq!(shown(&found), set(&B));
        for (own, want) in [
            ("c1", &C[..]),
            ("b4", &B),
            ("b2", &B),
            ("c2", &C),
            ("a2", &A),
        ] {
            let (found, way, trips) = ask(&room, &of(own));
            assert_eq!((way, trips), (Way::Knew, 1), "{lacking} {own}");
            assert_eq!(shown(&found), set(want), "{own}");
            assert!(found.coverage.exhausted);
        }
        room.was_only_read();
    }
}

#[test]
fn what_comes_is_read_and_nothing_else() {
    for folder in ["INBOX", "Sent", "Archive", "Drafts"] {
        let room = known_room();
        post(&room, folder, "late@x.example", &["b4@x.example"]);
        let before = room.proxy.commands().len();
        let (found, way, _) = ask(&room, &of("b1"));
        let mut want = set(&B);
        want.insert(format!("{folder}:late@x.example"));
        assert_eq!(way, Way::Read, "{folder}");
        assert_eq!(shown(&found), want);
        let lines = room.proxy.commands().split_off(before);
        let whole = lines.iter().filter(|line| line.contains(" 1:4294967295 ("));
        assert_eq!(whole.count(), 1, "but the one that was empty: {lines:?}");
        assert_eq!(shown(&ask(&room, &of("late")).0), want);
        // Of no conversation that was there, and then of both.
        post(&room, folder, "new@x.example", &[]);
        let (found, _, _) = ask(&room, &of("new"));
        assert_eq!(shown(&found), set(&[&format!("{folder}:new@x.example")]));
        post(
            &room,
            folder,
            "bridge@x.example",
            &["c1@x.example", "late@x.example"],
        );
        want.extend(set(&C));
        want.insert(format!("{folder}:bridge@x.example"));
        for (own, way) in [("b1", Way::Read), ("c2", Way::Knew), ("late", Way::Knew)] {
            let (found, took, _) = ask(&room, &of(own));
            assert_eq!(shown(&found), want, "{folder} {own}");
            assert_eq!(took, way, "{folder} {own}");
        }
        assert_eq!(shown(&ask(&room, &of("a1")).0), set(&A));
    }
}

#[test]
fn what_is_gone_or_elsewhere_is_so_at_once() {
    for command in [
        "UID EXPUNGE 2",
        "UID MOVE 2 Trash",
        "UID MOVE 2 Archive",
        "UID MOVE 2 Drafts",
    ] {
        for own in ["b1", "b3", "b4", "b2"] {
            let room = known_room();
            let mut eyes = room.server.login("alice", "secret");
            // The root, without which the others hang together still.
            eyes.command("SELECT INBOX");
            eyes.command("UID STORE 2 +FLAGS (\\Deleted)");
            assert_eq!(ask(&room, &of(own)).1, Way::Knew, "flags are no news");
            eyes.command(command);
            ask(&room, &of(own));
            ask(&room, &of(own));
            // What ties the others.
            eyes.command("SELECT Sent");
            eyes.command("UID STORE 2 +FLAGS (\\Deleted)");
            eyes.command(command);
            for own in [own, "b1", "c1", "a1"] {
                ask(&room, &of(own));
            }
        }
    }
}

#[test]
fn what_is_found_out_to_be_gone_costs_one_search() {
    let room = known_room();
    let mut eyes = room.server.login("alice", "secret");
    eyes.command("SELECT INBOX");
    eyes.command("UID STORE 3 +FLAGS (\\Deleted)");
    eyes.command("UID EXPUNGE 3");
    // A stranger that goes changes nothing.
    assert_eq!(ask(&room, &of("c1")).1, Way::Knew);
    assert_eq!(ask(&room, &of("b1")).1, Way::Searched);
    assert_eq!(ask(&room, &of("c1")).1, Way::Read);
    assert_eq!(ask(&room, &of("b4")).1, Way::Knew);
}

#[test]
fn a_question_that_only_a_search_answers_does_no_harm_to_others() {
    let few = Effort {
        messages: 3,
        ..EFFORT
    };
    let bounded = Sought {
        effort: few,
        ..of("b1")
    };
    for asked in [of("lost"), of("nobody"), bounded] {
        let room = known_room();
        let (_, way, _) = ask(&room, &asked);
        assert_eq!(way, Way::Searched, "{asked:?}");
        let (found, way, trips) = ask(&room, &of("c1"));
        assert_eq!((way, trips), (Way::Knew, 1), "{asked:?}");
        assert_eq!(shown(&found), set(&C));
    }
}

#[test]
fn a_folder_that_was_made_anew_is_another() {
    for folder in ["Sent", "Archive", "Drafts"] {
        let room = known_room();
        let mut eyes = room.server.login("alice", "secret");
        eyes.command(&format!("DELETE {folder}"));
        eyes.command(&format!("CREATE {folder}"));
        // As many as there were, with the same numbers, and of other conversations.
        for (own, parent) in [("x", "c1@x.example"), ("y", "a1@x.example")] {
            let letter = Letter {
                id: own.as_bytes(),
                replies_to: parent.as_bytes(),
                ..Letter::default()
            };
            eyes.append(folder, &Delivery::new(letter.raw()));
        }
        for own in ["b1", "a1", "c1", "b1"] {
            ask(&room, &of(own));
        }
        let (found, _, _) = ask(&room, &of("a1"));
        assert!(shown(&found).contains(&format!("{folder}:y")));
    }
}

#[test]
fn who_may_search_some_folders_is_told_what_lies_there() {
    let room = known_room();
    for (folders, own, want) in [
        (&["INBOX"][..], "b1", &B[..1]),
        (&["INBOX", "Sent"], "b1", &B[..3]),
        (&["Archive"], "b4", &B[3..]),
        (&["Archive", "INBOX"], "c1", &C),
        (&["INBOX", "Archive", "Sent"], "b2", &B),
    ] {
        let within = folders.iter().map(|folder| name(folder)).collect();
        let asked = Sought {
            within: Within::Only(within),
            ..of(own)
        };
        let before = room.proxy.commands().len();
        let (found, way, trips) = ask(&room, &asked);
        assert_eq!((way, trips), (Way::Knew, 1), "{folders:?}");
        assert_eq!(shown(&found), set(want));
        for line in room.proxy.commands().split_off(before) {
            let mut names = folders.iter();
            let opens = line.contains("EXAMINE");
            assert!(!opens || names.any(|name| line.contains(name)), "{line}");
        }
    }
}

#[test]
fn folders_that_are_large_together_are_searched() {
    let room = room_without("");
    let tiny =
        |number: usize| Delivery::new(format!("Message-ID: <{number}@y.example>\r\n\r\n\r\n"));
    let crowd = (0..3_000).map(tiny);
    room.server.deliver_many("alice", "Archive", crowd);
    for own in ["a1", "b1", "c1"] {
        assert_eq!(ask(&room, &of(own)).1, Way::Searched, "{own}");
    }
    let small = Sought {
        within: Within::Only(vec![name("INBOX"), name("Sent")]),
        ..of("b1")
    };
    let (found, way, _) = ask(&room, &small);
    assert_eq!(way, Way::Read);
    assert_eq!(shown(&found), set(&B[..3]));
}

#[test]
fn a_letter_that_names_more_than_is_looked_for_leaves_its_folder_to_searches() {
    let room = room_without("");
    let many: Vec<String> = (0..101)
        .map(|number| format!("{number}@y.example"))
        .collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    post(&room, "Archive", "crowd@x.example", &many);
    for own in ["a1", "b1", "c1"] {
        assert_eq!(ask(&room, &of(own)).1, Way::Searched, "{own}");
    }
    // It is not read again to find out the same, whatever else comes.
    let readings = || {
        let lines = room.proxy.commands().into_iter();
        lines.filter(|line| line.contains(READING)).count()
    };
    let before = readings();
    assert!(before > 0);
    for (late, own) in [("d1", "a1"), ("d2", "b1"), ("d3", "c1"), ("d4", "b1")] {
        post(&room, "Archive", &format!("{late}@x.example"), &[]);
        assert_eq!(ask(&room, &of(own)).1, Way::Searched, "{own}");
    }
    assert_eq!(readings(), before);
    let elsewhere = Sought {
        within: Within::Only(vec![name("INBOX"), name("Sent")]),
        ..of("b1")
    };
    assert_eq!(ask(&room, &elsewhere).1, Way::Knew);
}

#[test]
fn what_cannot_be_read_is_searched() {
    for kind in [Refusal::No, Refusal::Bad] {
        for word in ["EXAMINE \"Archive\"", READING] {
            let room = room_without("");
            ask(&room, &of("a1"));
            room.proxy
                .refuse_command(kind, move |line| line.contains(word));
            let (found, _) = room.kindred(&of("b1"));
            assert!(shown(&found).is_superset(&set(&B[..3])), "{kind:?} {word}");
            room.proxy.disarm();
            let (found, _, _) = ask(&room, &of("b1"));
            assert_eq!(shown(&found), set(&B));
        }
    }
    for cut in [Cut::Reset, Cut::Close, Cut::Stall] {
        let room = room_that_cuts_readings(cut);
        assert_eq!(ask(&room, &of("a1")).1, Way::Searched);
        // Every time that somebody tries.
        let (found, _, _) = ask(&room, &of("b1"));
        assert_eq!(shown(&found), set(&B), "{cut:?}");
        let before = room.proxy.commands().len();
        post(&room, "Archive", "late@x.example", &[]);
        let (found, _, _) = ask(&room, &of("c1"));
        assert_eq!(shown(&found), set(&C), "{cut:?}");
        let lines = room.proxy.commands().split_off(before);
        let tried = lines.iter().find(|line| line.contains(READING));
        assert_eq!(tried, None, "{cut:?}: nor does the next one");
    }
}

/// The connection of whoever reads who names whom is cut, and a search goes through.
fn room_that_cuts_readings(cut: Cut) -> MailRoom {
    let mut room = room_without("");
    room.proxy = FaultProxy::builder(room.server.port())
        .cut_reply(cut, |line| line.contains(READING))
        .start();
    // Longer than a busy machine takes for anything that is asked here.
    let timeouts = Timeouts {
        prompt: Duration::from_secs(3),
        ..Timeouts::default()
    };
    let settings = Settings {
        timeouts,
        ..settings(room.proxy.port())
    };
    room.source = ImapSource::new(crate::account(), settings);
    room
}

#[test]
fn a_server_that_tells_threads_itself_is_always_asked() {
    let server = Cyrus::start();
    for (own, subject) in [("a1@x.example", "Plan"), ("b1@x.example", "Other")] {
        let letter = Letter {
            id: own.as_bytes(),
            ..Letter::default()
        };
        let raw = String::from_utf8(letter.raw()).unwrap();
        let raw = raw.replace("Plan", subject);
        server.deliver_many("alice", "INBOX", [Delivery::new(raw)]);
    }
    let proxy = FaultProxy::to(server.port());
    let source = ImapSource::new(crate::account(), settings(proxy.port()));
    let runtime = runtime();
    for own in ["a1", "b1", "a1", "b1"] {
        let before = proxy.commands().len();
        let (cx, asked) = (Cx::new(), of(own));
        let found = runtime.block_on(source.kindred(&cx, &asked)).unwrap();
        assert_eq!(shown(&found), set(&[&format!("INBOX:{own}@x.example")]));
        assert_eq!(way(&proxy.commands()[before..]), Way::Searched, "{own}");
    }
}

#[test]
fn whatever_happens_it_is_told_what_a_search_would_find() {
    const FOLDERS: [&str; 3] = ["INBOX", "Sent", "Archive"];
    const LETTERS: usize = 24;
    for seed in 1..=4_u64 {
        let room = MailRoom::new();
        room.warm_up();
        let mut state = seed;
        let mut chance = |most: usize| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % most
        };
        let mut eyes = room.server.login("alice", "secret");
        let mut ways = Vec::new();
        for step in 0..40 {
            let folder = FOLDERS[chance(3)];
            match chance(6) {
                0..=2 => {
                    let own = format!("{}@x.example", chance(LETTERS));
                    let named: Vec<String> = (0..chance(3))
                        .map(|_| format!("{}@x.example", chance(LETTERS)))
                        .collect();
                    let named: Vec<&str> = named.iter().map(String::as_str).collect();
                    post(&room, folder, &own, &named);
                }
                what @ 3..=4 if step % 3 == 0 => {
                    eyes.command(&format!("SELECT {folder}"));
                    let uid = 1 + chance(12);
                    let other = FOLDERS[chance(3)];
                    match what {
                        3 if other != folder => {
                            eyes.command(&format!("UID MOVE {uid} {other}"));
                        }
                        _ => {
                            eyes.command(&format!("UID STORE {uid} +FLAGS (\\Deleted)"));
                            eyes.command(&format!("UID EXPUNGE {uid}"));
                        }
                    }
                    eyes.command("UNSELECT");
                }
                _ => {}
            }
            let within = match chance(3) {
                0 => Within::Only(FOLDERS[..2].iter().map(|folder| name(folder)).collect()),
                _ => Within::All,
            };
            let asked = Sought {
                within,
                ..sought(&[&format!("{}@x.example", chance(LETTERS))])
            };
            ways.push(ask(&room, &asked).1);
        }
        let took = |way: Way| ways.iter().filter(|one| **one == way).count();
        assert!(
            took(Way::Read) > 0 && took(Way::Knew) > 0,
            "{seed}: {ways:?}"
        );
    }
}
