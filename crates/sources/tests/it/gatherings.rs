//! A conversation that is asked for again: not searched for while nothing has come, and never other than a search would find.

use mail::{Cx, Kindred, MailSource as _, Sought, Within};
use testkit::proxy::Refusal;
use testkit::{Cut, Delivery};

use crate::mail_room::{EFFORT, Letter, MailRoom, name, same, set, shown, skipped, sought};

/// Letters of one conversation, and one that is not of it.
const LETTERS: [(&str, &str, &str); 5] = [
    ("INBOX", "one@x.example", ""),
    ("Sent", "two@x.example", "one@x.example"),
    ("INBOX", "three@x.example", "two@x.example"),
    ("INBOX", "stranger@x.example", ""),
    // Tied by another folder alone.
    ("Sent", "four@x.example", "three@x.example"),
];

const CONVERSATION: [&str; 4] = [
    "INBOX:one@x.example",
    "Sent:two@x.example",
    "INBOX:three@x.example",
    "Sent:four@x.example",
];

fn room_without(lacking: &str) -> MailRoom {
    let room = MailRoom::without(lacking);
    for (folder, own, parent) in LETTERS {
        post(&room, folder, own, parent);
    }
    room.warm_up();
    room
}

fn room() -> MailRoom {
    room_without("")
}

fn post(room: &MailRoom, folder: &str, own: &str, parent: &str) {
    let letter = Letter {
        id: own.as_bytes(),
        replies_to: parent.as_bytes(),
        ..Letter::default()
    };
    room.post(folder, &letter);
}

fn one() -> Sought {
    sought(&["one@x.example"])
}

/// The answer, whether it took a look at whole folders, and how many round trips.
fn ask(room: &MailRoom, asked: &Sought) -> (Kindred, bool, u32) {
    let before = room.proxy.commands().len();
    let (found, trips) = room.kindred(asked);
    let searched = has_search(&room.proxy.commands()[before..]);
    (found, searched, trips)
}

/// A search, or a list of who names whom that goes on to the end of the folder.
fn has_search(commands: &[String]) -> bool {
    let mut words = ["SEARCH", ":4294967295 ("].iter();
    words.any(|word| commands.iter().any(|line| line.contains(word)))
}

#[test]
fn what_was_gathered_is_told_again_in_one_flight_whichever_of_it_is_asked_for() {
    for lacking in ["", "SEARCHRES", "SEARCHRES ESEARCH THREAD=REFS LITERAL+"] {
        let room = room_without(lacking);
        let (first, searched, _) = ask(&room, &one());
        assert!(searched);
        assert_eq!(shown(&first), set(&CONVERSATION));
        assert!(first.coverage.exhausted);
        for own in ["one", "two", "three", "four", "one"] {
            let asked = sought(&[&format!("{own}@x.example")]);
            let (again, searched, trips) = ask(&room, &asked);
            assert_eq!(again, first, "{lacking} {own}");
            assert_eq!((searched, trips), (false, 1), "{lacking} {own}");
            same(again, room.fresh(&asked));
        }
        let (other, searched, _) = ask(&room, &sought(&["stranger@x.example"]));
        assert!(searched);
        assert_eq!(shown(&other), set(&["INBOX:stranger@x.example"]));
        room.was_only_read();
    }
}

#[test]
fn an_answer_is_found_wherever_it_comes() {
    for folder in ["INBOX", "Sent", "Archive", "Drafts"] {
        let room = room();
        ask(&room, &one());
        assert!(!ask(&room, &one()).1);
        post(&room, folder, "late@x.example", "four@x.example");
        let (found, searched, _) = ask(&room, &one());
        let mut want = set(&CONVERSATION);
        want.insert(format!("{folder}:late@x.example"));
        assert!(searched, "{folder}");
        assert_eq!(shown(&found), want);
        let (again, searched, trips) = ask(&room, &sought(&["late@x.example"]));
        assert_eq!((searched, trips), (false, 1));
        same(again, found);
        // Of another conversation, which nobody can tell without a search.
        post(&room, folder, "other@x.example", "");
        let (found, searched, _) = ask(&room, &one());
        assert!(searched);
        assert_eq!(shown(&found), want);
        assert!(!ask(&room, &one()).1);
    }
}

#[test]
fn what_is_gone_or_elsewhere_is_so_at_once() {
    for (command, want) in [
        ("UID EXPUNGE 1", &CONVERSATION[1..]),
        ("UID MOVE 1 Trash", &CONVERSATION[1..]),
        (
            "UID MOVE 1 Archive",
            &[
                "Archive:one@x.example",
                CONVERSATION[1],
                CONVERSATION[2],
                CONVERSATION[3],
            ],
        ),
    ] {
        for own in ["one", "three"] {
            let asked = sought(&[&format!("{own}@x.example")]);
            let room = room();
            ask(&room, &asked);
            let mut eyes = room.server.login("alice", "secret");
            eyes.command("SELECT INBOX");
            eyes.command("UID STORE 1 +FLAGS (\\Deleted)");
            assert!(!ask(&room, &asked).1);
            eyes.command(command);
            let (found, searched, _) = ask(&room, &asked);
            assert!(searched, "{command}");
            same(found.clone(), room.fresh(&asked));
            if own == "three" || command.ends_with("Archive") {
                assert_eq!(shown(&found), set(want), "{command}");
            }
            let (again, _, _) = ask(&room, &asked);
            same(again, found);
        }
    }
}

#[test]
fn a_stranger_that_goes_changes_nothing() {
    let room = room();
    let (first, _, _) = ask(&room, &one());
    let mut eyes = room.server.login("alice", "secret");
    eyes.command("SELECT INBOX");
    eyes.command("UID STORE 3 +FLAGS (\\Deleted)");
    eyes.command("UID EXPUNGE 3");
    assert_eq!(ask(&room, &one()), (first, false, 1));
}

#[test]
fn flags_are_as_they_are() {
    let room = room();
    let (first, _, _) = ask(&room, &one());
    let mut eyes = room.server.login("alice", "secret");
    eyes.command("SELECT INBOX");
    for change in [
        "+FLAGS (\\Seen $Todo)",
        "-FLAGS (\\Seen)",
        "+FLAGS (\\Flagged)",
    ] {
        eyes.command(&format!("UID STORE 1 {change}"));
        let (found, searched, trips) = ask(&room, &one());
        assert_eq!((searched, trips), (false, 1), "{change}");
        assert_ne!(found.members, first.members);
        same(found, room.fresh(&one()));
    }
}

#[test]
fn who_may_search_elsewhere_is_told_what_lies_there() {
    let room = room();
    ask(&room, &one());
    let only = |folders: &[&str]| Sought {
        within: Within::Only(folders.iter().map(|folder| name(folder)).collect()),
        ..one()
    };
    for (asked, want) in [
        (only(&["INBOX"]), &CONVERSATION[..1]),
        (only(&["INBOX", "Sent"]), &CONVERSATION[..]),
        // What All means, and yet another question.
        (
            only(&["INBOX", "Sent", "Archive", "Drafts"]),
            &CONVERSATION[..],
        ),
        (only(&["Sent", "Archive"]), &CONVERSATION[1..2]),
    ] {
        let before = room.proxy.commands().len();
        for searches in [true, false] {
            let (found, searched, _) = ask(&room, &asked);
            let has_anchor = want.contains(&"INBOX:one@x.example");
            assert_eq!(searched, searches || !has_anchor, "{asked:?}");
            assert_eq!(shown(&found), set(want));
            same(found, room.fresh(&asked));
        }
        let Within::Only(folders) = &asked.within else {
            continue;
        };
        for line in room.proxy.commands().split_off(before) {
            let mut names = folders.iter();
            let opens = line.contains("EXAMINE");
            assert!(!opens || names.any(|name| line.contains(name.as_str())));
        }
    }
    // Each was remembered apart; also what was found by a letter that is not there.
    assert!(!ask(&room, &one()).1);
    let asked = Sought {
        ids: sought(&["two@x.example"]).ids,
        ..only(&["Sent", "Archive"])
    };
    let (found, searched, _) = ask(&room, &asked);
    assert!(!searched);
    same(found, room.fresh(&asked));
    let few = mail::Effort {
        messages: 3,
        ..EFFORT
    };
    for _ in 0..2 {
        let asked = Sought {
            effort: few,
            ..one()
        };
        let (found, searched, _) = ask(&room, &asked);
        assert!(searched, "a bound was met");
        assert!(found.members.len() == 3 && !found.coverage.exhausted);
    }
}

#[test]
fn a_folder_that_was_made_anew_is_another() {
    for (folder, left) in [("Sent", &["INBOX:one@x.example"][..]), ("Archive", &[])] {
        let room = room();
        ask(&room, &one());
        let mut eyes = room.server.login("alice", "secret");
        eyes.command(&format!("DELETE {folder}"));
        eyes.command(&format!("CREATE {folder}"));
        // As many as there were, and with the same numbers.
        if folder == "Sent" {
            for other in ["x@x.example", "y@x.example"] {
                let letter = Letter {
                    id: other.as_bytes(),
                    ..Letter::default()
                };
                eyes.append(folder, &Delivery::new(letter.raw()));
            }
        }
        let (found, searched, _) = ask(&room, &one());
        assert!(searched, "{folder}");
        same(found.clone(), room.fresh(&one()));
        if !left.is_empty() {
            assert_eq!(shown(&found), set(left));
        }
    }
}

#[test]
fn a_new_folder_is_searched_as_soon_as_it_is_known() {
    let room = room();
    ask(&room, &one());
    let mut eyes = room.server.login("alice", "secret");
    eyes.command("CREATE New");
    post(&room, "New", "late@x.example", "one@x.example");
    let cx = Cx::new();
    let folders = room.source.folders(&cx);
    room.runtime.block_on(folders).unwrap();
    let (found, searched, _) = ask(&room, &one());
    assert!(searched);
    assert!(shown(&found).contains("New:late@x.example"));
    // And what can no longer be opened is said.
    eyes.command("DELETE New");
    let (found, searched, _) = ask(&room, &one());
    assert!(searched);
    assert!(skipped(&found.coverage).contains("New:failed"));
    assert_eq!(shown(&found), set(&CONVERSATION));
}

#[test]
fn what_was_thrown_away_is_searched_for_every_time() {
    let room = room();
    post(&room, "Trash", "thrown@x.example", "");
    for ids in ["thrown@x.example", "nobody@x.example"] {
        for _ in 0..2 {
            let (found, searched, _) = ask(&room, &sought(&[ids]));
            assert!(searched, "{ids}");
            same(found, room.fresh(&sought(&[ids])));
        }
    }
}

/// Whether `line` tells where a folder ends.
fn tells_the_end(line: &str) -> bool {
    line.contains("[UIDNEXT ")
}

#[test]
fn a_server_that_does_not_say_where_folders_end_is_searched_every_time() {
    let room = room();
    room.proxy
        .rewrite_replies(|line| tells_the_end(line).then(|| "* OK hello".to_owned()));
    for _ in 0..3 {
        let (found, searched, _) = ask(&room, &one());
        assert!(searched);
        assert_eq!(shown(&found), set(&CONVERSATION));
    }
}

#[test]
fn a_server_whose_next_number_does_not_move_is_found_out_by_the_number_of_messages() {
    for folder in ["INBOX", "Archive"] {
        let room = room();
        room.proxy.rewrite_replies(|line| {
            tells_the_end(line).then(|| "* OK [UIDNEXT 1000] next".to_owned())
        });
        ask(&room, &one());
        assert!(!ask(&room, &one()).1);
        post(&room, folder, "late@x.example", "four@x.example");
        let (found, searched, _) = ask(&room, &one());
        assert!(searched, "{folder}");
        assert!(shown(&found).contains(&format!("{folder}:late@x.example")));
    }
}

#[test]
fn what_goes_wrong_on_the_way_is_made_good_by_a_search() {
    for kind in [Refusal::No, Refusal::Bad] {
        for word in ["EXAMINE \"Sent\"", "EXAMINE \"Archive\"", "UID FETCH 1"] {
            let room = room();
            let (first, _, _) = ask(&room, &one());
            room.proxy
                .refuse_command(kind, move |line| line.contains(word));
            let (found, _, _) = ask(&room, &one());
            same(found, first.clone());
            let (found, _, _) = ask(&room, &one());
            same(found, first);
        }
    }
    for cut in [Cut::Reset, Cut::Close] {
        let room = room();
        let (first, _, _) = ask(&room, &one());
        room.proxy.cut_reply(cut, |line| line.contains("FETCH"));
        let cx = Cx::new();
        let asked = one();
        let outcome = room.runtime.block_on(room.source.kindred(&cx, &asked));
        if let Ok(found) = outcome {
            same(found, first.clone());
        }
        let found = room.runtime.block_on(room.source.kindred(&cx, &asked));
        same(found.unwrap(), first);
    }
}

#[test]
fn a_connection_that_died_meanwhile_is_no_reason_to_search() {
    for cut in [Cut::Reset, Cut::Close] {
        let room = room();
        let (first, _, _) = ask(&room, &one());
        room.proxy.cut_all(cut);
        let before = room.proxy.commands().len();
        let (cx, asked) = (Cx::new(), one());
        let found = room.runtime.block_on(room.source.kindred(&cx, &asked));
        assert_eq!(found.unwrap(), first);
        assert!(!has_search(&room.proxy.commands()[before..]));
    }
}

#[test]
fn whatever_happens_it_is_told_what_a_search_would_find() {
    const FOLDERS: [&str; 3] = ["INBOX", "Sent", "Archive"];
    const LETTERS: usize = 14;
    for seed in 1..=3_u64 {
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
        let mut quick = 0;
        for _ in 0..80 {
            let folder = FOLDERS[chance(3)];
            match chance(8) {
                0 | 1 => {
                    let own = format!("{}@x.example", chance(LETTERS));
                    let parent = format!("{}@x.example", chance(LETTERS));
                    post(&room, folder, &own, &parent);
                }
                what @ 2..=4 => {
                    eyes.command(&format!("SELECT {folder}"));
                    let uid = 1 + chance(12);
                    let other = FOLDERS[chance(3)];
                    match what {
                        2 => {
                            eyes.command(&format!("UID STORE {uid} +FLAGS (\\Deleted)"));
                            eyes.command(&format!("UID EXPUNGE {uid}"));
                        }
                        3 if other != folder => {
                            eyes.command(&format!("UID MOVE {uid} {other}"));
                        }
                        _ => {
                            eyes.command(&format!("UID STORE {uid} +FLAGS (k{uid})"));
                        }
                    }
                    eyes.command("UNSELECT");
                }
                _ => {}
            }
            // Few enough that they are asked for again.
            let within = match chance(2) {
                0 => Within::All,
                _ => Within::Only(FOLDERS[..2].iter().map(|folder| name(folder)).collect()),
            };
            let asked = Sought {
                within,
                ..sought(&[&format!("{}@x.example", chance(3))])
            };
            let (found, searched, _) = ask(&room, &asked);
            quick += usize::from(!searched);
            same(found, room.fresh(&asked));
        }
        assert!(quick > 0, "{seed}: it was always searched for");
    }
}
