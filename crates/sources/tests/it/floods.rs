//! Conversations among ids that stand everywhere and lists without end: what belongs to them is found all the same, for a
//! bounded price, and what was not looked at is said.

use mail::{Effort, Sought, Within};
use testkit::Delivery;

use crate::mail_room::{EFFORT, Letter, MailRoom, id, name, set, shown, skipped, sought};

/// A server that does all it can, and one that does the least.
const OFFERS: [&str; 2] = ["", "SEARCHRES ESEARCH THREAD=REFS"];

/// Each answers the one before it; the second comes with these references too.
fn conversation(room: &MailRoom, named_too: &[&[u8]]) {
    for (folder, own, parent) in [
        ("INBOX", "one@x.example", ""),
        ("INBOX", "evil@x.example", "one@x.example"),
        ("Sent", "two@x.example", "one@x.example"),
        ("Archive", "three@x.example", "two@x.example"),
        ("INBOX", "four@x.example", "three@x.example"),
    ] {
        let mut references = vec![parent.as_bytes()];
        if own.starts_with("evil") {
            references.splice(0..0, named_too.iter().copied());
        }
        let letter = Letter {
            id: own.as_bytes(),
            references: &references,
            ..Letter::default()
        };
        room.post(folder, &letter);
    }
}

fn all_five() -> std::collections::BTreeSet<String> {
    set(&[
        "INBOX:one@x.example",
        "INBOX:evil@x.example",
        "Sent:two@x.example",
        "Archive:three@x.example",
        "INBOX:four@x.example",
    ])
}

/// Later than all others, so that they are the newest.
fn flood(room: &MailRoom, folder: &str, letter: impl Fn(usize) -> Vec<u8>) {
    let many = (0..700).map(|number| Delivery::new(letter(number)));
    room.server.deliver_many("alice", folder, many);
}

fn longest_line(room: &MailRoom) -> usize {
    let commands = room.proxy.commands();
    commands.iter().map(String::len).max().unwrap()
}

/// So many messages were named to the server to be described.
fn described(room: &MailRoom) -> u64 {
    let commands = room.proxy.commands();
    let sets = commands.iter().filter_map(|line| {
        let set = line.split_once("UID FETCH ")?.1.split(' ').next()?;
        imap::SequenceSet::parse(set.as_bytes())
    });
    sets.map(|set| set.len()).sum()
}

#[test]
fn an_id_that_stands_in_many_others_hides_nobody() {
    for offered in OFFERS {
        let room = MailRoom::without(offered);
        conversation(&room, &[b"flood-word@x.example"]);
        flood(&room, "INBOX", |number| {
            let own = format!("{number}.flood-word@x.example");
            let id = own.as_bytes();
            Letter {
                id,
                ..Letter::default()
            }
            .raw()
        });
        let effort = Effort {
            messages: 10,
            ..EFFORT
        };
        for anchor in ["one@x.example", "four@x.example"] {
            room.warm_up();
            let asked = Sought {
                effort,
                ..sought(&[anchor])
            };
            let before = described(&room);
            let (kindred, _) = room.kindred(&asked);
            assert_eq!(shown(&kindred), all_five(), "{offered} {anchor}");
            assert!(!kindred.coverage.exhausted, "some were not looked at");
            assert!(described(&room) - before <= 520, "{offered} {anchor}");
        }
    }
}

#[test]
fn short_ids_find_those_alone_who_have_them() {
    let short: [&[u8]; 5] = [b"e", b"a@b", b"x.example", b"@x.example", b"1@x.example"];
    for offered in OFFERS {
        let room = MailRoom::without(offered);
        conversation(&room, &short);
        flood(&room, "INBOX", |number| {
            let own = format!("{number}@x.example");
            let id = own.as_bytes();
            Letter {
                id,
                ..Letter::default()
            }
            .raw()
        });
        room.warm_up();
        let (kindred, _) = room.kindred(&sought(&["one@x.example"]));
        let mut want = all_five();
        want.insert("INBOX:1@x.example".to_owned());
        assert_eq!(shown(&kindred), want, "{offered}");
        assert!(kindred.coverage.exhausted, "{offered}");
        assert!(described(&room) < 20, "{offered}");
    }
}

#[test]
fn a_letter_that_leaves_its_brackets_out_is_found() {
    for offered in OFFERS {
        let room = MailRoom::without(offered);
        let raw = "Message-ID: bare.as-it-is@x.example\r\nSubject: Plan\r\n\r\nPlan\r\n";
        room.server
            .deliver_many("alice", "Archive", [Delivery::new(raw)]);
        let answer = Letter {
            id: b"answer@x.example",
            references: &[b"bare.as-it-is@x.example"],
            ..Letter::default()
        };
        room.post("INBOX", &answer);
        let both = set(&["Archive:bare.as-it-is@x.example", "INBOX:answer@x.example"]);
        for anchor in ["bare.as-it-is@x.example", "answer@x.example"] {
            let (kindred, _) = room.kindred(&sought(&[anchor]));
            assert_eq!(shown(&kindred), both, "{offered} {anchor}");
            assert!(kindred.coverage.exhausted);
        }
        let (found, _) = room.locate(&sought(&["bare.as-it-is@x.example"]));
        assert_eq!(
            shown(&found),
            set(&["Archive:bare.as-it-is@x.example"]),
            "{offered}"
        );
    }
}

#[test]
fn a_list_without_end_is_asked_for_in_part() {
    let names: Vec<String> = (0..1_000).map(|n| format!("none-{n}@x.example")).collect();
    let names: Vec<&[u8]> = names.iter().map(String::as_bytes).collect();
    for offered in OFFERS {
        let room = MailRoom::without(offered);
        conversation(&room, &names);
        room.warm_up();
        let (kindred, _) = room.kindred(&sought(&["one@x.example"]));
        assert_eq!(shown(&kindred), all_five(), "{offered}");
        assert!(!kindred.coverage.exhausted, "{offered}");
        assert!(longest_line(&room) <= 8_192);
        let searches = room.proxy.commands();
        let searches = searches.iter().filter(|line| line.contains("SEARCH"));
        let ids: usize = searches
            .map(|line| line.matches("\"References\"").count())
            .sum();
        let folders = kindred.coverage.searched.len();
        assert!(ids <= 110 * folders, "{ids} in {folders} folders");
    }
}

#[test]
fn a_chain_of_two_hundred_is_whole() {
    let ids: Vec<String> = (0..200)
        .map(|n| format!("{n:03}.long-as-ids-are.{n:032}@mail.test.example"))
        .collect();
    let names: Vec<&[u8]> = ids.iter().map(String::as_bytes).collect();
    for offered in OFFERS {
        let room = MailRoom::without(offered);
        for (folder, which) in [("INBOX", 0), ("Sent", 1)] {
            let own = (0..200).filter(|number| number % 2 == which);
            let letters = own.map(|number| {
                let letter = Letter {
                    id: names[number],
                    references: &names[..number],
                    ..Letter::default()
                };
                Delivery::new(letter.raw())
            });
            room.server.deliver_many("alice", folder, letters);
        }
        for anchor in [0, 120, 199] {
            room.warm_up();
            let (kindred, _) = room.kindred(&sought(&[&ids[anchor]]));
            assert_eq!(kindred.members.len(), 200, "{offered} {anchor}");
            assert!(kindred.coverage.exhausted, "{offered} {anchor}");
            assert!(longest_line(&room) <= 8_192);
        }
    }
}

#[test]
fn what_may_not_be_searched_takes_no_room() {
    for offered in OFFERS {
        let room = MailRoom::without(offered);
        room.server.create_folder("alice", "Hidden");
        conversation(&room, &[]);
        flood(&room, "Hidden", |number| {
            let own = format!("{number}.of-many@x.example");
            Letter {
                id: own.as_bytes(),
                references: &[b"one@x.example", b"four@x.example"],
                ..Letter::default()
            }
            .raw()
        });
        for number in 0..3 {
            let again = Letter {
                id: b"four@x.example",
                says: &number.to_string(),
                ..Letter::default()
            };
            room.post("Hidden", &again);
        }
        // Now all of them are remembered.
        let effort = Effort {
            messages: 2_000,
            ..EFFORT
        };
        let everywhere = Sought {
            effort,
            ..sought(&["four@x.example"])
        };
        assert_eq!(room.kindred(&everywhere).0.members.len(), 708);
        room.proxy.reset_stats();
        let before = room.proxy.commands().len();
        let seen = ["INBOX", "Sent", "Archive"].map(name);
        let asked = Sought {
            ids: vec![id("four@x.example")],
            within: Within::Only(seen.to_vec()),
            effort: Effort {
                folders: 3,
                rounds: 20,
                messages: 5,
            },
        };
        let (kindred, _) = room.kindred(&asked);
        let (found, _) = room.locate(&asked);
        assert_eq!(shown(&kindred), all_five(), "{offered}");
        assert_eq!(shown(&found), set(&["INBOX:four@x.example"]), "{offered}");
        for coverage in [kindred.coverage, found.coverage] {
            assert!(coverage.is_complete(), "{offered} {coverage:?}");
            assert!(skipped(&coverage).is_empty());
        }
        let commands = room.proxy.commands();
        let mut later = commands.iter().skip(before);
        assert!(!later.any(|line| line.contains("Hidden")));
    }
}
