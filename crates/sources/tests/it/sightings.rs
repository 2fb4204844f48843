//! Looking for a Message-ID: everywhere, and then where it was found.

use std::os::unix::fs::PermissionsExt as _;

use mail::{MailSource as _, Snippets, Sought, Step, Subject, Within};
use testkit::Delivery;

use crate::mail_room::{EFFORT, Letter, MailRoom, id, name, set, shown, skipped, sought, text_of};

/// 2026-03-05 08:00 UTC.
const DAY: u64 = 1_772_697_600;

fn room() -> MailRoom {
    room_without("")
}

fn room_without(lacking: &str) -> MailRoom {
    let room = MailRoom::without(lacking);
    room.server.create_folder("alice", "Projects");
    for (folder, own) in [
        ("INBOX", "inbox@x.example"),
        ("INBOX", "both@x.example"),
        ("Sent", "both@x.example"),
        ("Projects", "both@x.example"),
        ("Projects", "project@x.example"),
        ("Trash", "trash@x.example"),
    ] {
        room.post(
            folder,
            &Letter {
                id: own.as_bytes(),
                references: &[b"named@x.example"],
                ..Letter::default()
            },
        );
    }
    room.warm_up();
    room
}

/// As a client that shows a folder does.
fn list(room: &MailRoom, folder: &str) {
    let page = mail::Search {
        folder: name(folder),
        query: mail::Query::default(),
        below: None,
        limit: 50,
        snippets: Snippets::Without,
        most_matches: 100,
    };
    let cx = mail::Cx::new();
    let found = room.source.search(&cx, &page);
    room.runtime.block_on(found).unwrap();
}

#[test]
fn all_copies_are_found_in_one_flight_and_the_trash_is_for_what_is_nowhere_else() {
    let room = room();
    let thrown = &["Junk:trash_or_junk", "Trash:trash_or_junk"][..];
    for (ids, found, left, trips) in [
        (
            &["inbox@x.example"][..],
            &["INBOX:inbox@x.example"][..],
            thrown,
            2,
        ),
        (
            &["both@x.example"],
            &[
                "INBOX:both@x.example",
                "Sent:both@x.example",
                "Projects:both@x.example",
            ],
            thrown,
            1,
        ),
        (&["trash@x.example"], &["Trash:trash@x.example"], &[], 2),
        (&["nobody@x.example"], &[], &[], 2),
        (&["named@x.example"], &[], &[], 2),
        (
            &["project@x.example", "inbox@x.example", "nobody@x.example"],
            &["INBOX:inbox@x.example", "Projects:project@x.example"],
            &[],
            2,
        ),
    ] {
        let (kindred, took) = room.locate(&sought(ids));
        assert_eq!(shown(&kindred), set(found));
        assert_eq!(skipped(&kindred.coverage), set(left), "{ids:?}");
        assert!(kindred.coverage.exhausted && kindred.coverage.as_of.is_none());
        assert_eq!(took, trips, "{ids:?}");
    }
}

#[test]
fn what_was_found_is_found_in_one_round_trip_and_never_believed() {
    for lacking in ["", "SEARCHRES", "SEARCHRES ESEARCH"] {
        let room = room_without(lacking);
        let asked = sought(&["inbox@x.example", "both@x.example"]);
        let (first, _) = room.locate(&asked);
        assert_eq!(first.members.len(), 4);
        let (again, trips) = room.locate(&asked);
        assert_eq!((&again.members, trips), (&first.members, 1));
        let coverage = mail::Coverage {
            as_of: None,
            ..again.coverage.clone()
        };
        assert_eq!(coverage, first.coverage);
        assert!(again.coverage.as_of.is_some(), "it was searched before");
        // It goes elsewhere, behind our back.
        let mut eyes = room.server.login("alice", "secret");
        eyes.command("SELECT INBOX");
        eyes.command("UID MOVE 1 Projects");
        for most in [4, 1] {
            let (moved, trips) = room.locate(&sought(&["inbox@x.example"]));
            assert_eq!(shown(&moved), set(&["Projects:inbox@x.example"]));
            assert!(trips <= most, "a look, a search, and what it found");
        }
        // The folder is made anew, and another message has its number.
        eyes.command("UNSELECT");
        eyes.command("DELETE Projects");
        eyes.command("CREATE Projects");
        let other = Letter {
            id: b"other@x.example",
            ..Letter::default()
        };
        let other = Delivery::new(other.raw());
        for _ in 0..3 {
            eyes.append("Projects", &other);
        }
        let (gone, _) = room.locate(&sought(&["inbox@x.example"]));
        assert!(gone.members.is_empty());
        assert!(gone.coverage.is_complete());
    }
}

/// The user's own letter in a folder, and so many others that say they are it, which came later.
fn forged(lacking: &str, folder: &str, copies: u64) -> MailRoom {
    let room = MailRoom::without(lacking);
    room.server.create_folder("alice", "Bank");
    let letter = |says| Letter {
        id: b"own@x.example",
        says,
        ..Letter::default()
    };
    let own = Delivery::new(letter("I will pay one thousand.").raw()).at(DAY);
    room.server.deliver_many("alice", folder, [own]);
    let copies = (1..=copies).map(|number| {
        let raw = letter("I will pay nine hundred.").raw();
        Delivery::new(raw).at(DAY + number)
    });
    room.server.deliver_many("alice", "INBOX", copies);
    room.warm_up();
    room
}

#[test]
fn copies_that_came_later_never_hide_the_first_whatever_was_seen_before() {
    for lacking in ["", "SEARCHRES ESEARCH"] {
        for (folder, copies) in [("Bank", 1), ("Sent", 1), ("Sent", 4), ("Bank", 40)] {
            for listed in [&[][..], &["INBOX"], &[folder, "INBOX"]] {
                let room = forged(lacking, folder, copies);
                for folder in listed {
                    list(&room, folder);
                }
                let told = format!("{lacking} {folder} {copies} {listed:?}");
                let all = usize::try_from(copies).unwrap() + 1;
                let asked = sought(&["own@x.example"]);
                let (found, _) = room.locate(&asked);
                assert_eq!(found.members.len(), all, "{told}");
                assert_eq!(found.members[0].at.folder, name(folder), "{told}");
                assert!(found.coverage.exhausted, "{told}");
                let (again, trips) = room.locate(&asked);
                assert_eq!(again.members[0], found.members[0], "{told}");
                assert_eq!(trips, 1, "{told}");
                let whole = again.members.len() == all;
                assert_eq!(again.coverage.exhausted, whole, "{told}");
                let (read, trips) = room.messages(&[again.members[0].at.clone()]);
                let text = text_of(read[0].as_ref().unwrap());
                assert!(text.starts_with(b"I will pay one thousand."), "{told}");
                assert_eq!(trips, 1, "{told}");
            }
        }
    }
}

#[test]
fn a_flood_of_copies_does_not_hide_the_first() {
    for lacking in ["", "SEARCHRES"] {
        for folder in ["Bank", "Sent", "INBOX"] {
            let room = forged(lacking, folder, 700);
            let effort = mail::Effort {
                messages: 10,
                ..EFFORT
            };
            let asked = Sought {
                effort,
                ..sought(&["own@x.example"])
            };
            for _ in 0..2 {
                let (found, _) = room.locate(&asked);
                assert_eq!(found.members.len(), 10, "{lacking} {folder}");
                let first = &found.members[0];
                assert_eq!(first.at.folder, name(folder), "{lacking} {folder}");
                let arrived = first.summary.arrived.unwrap().as_second();
                assert_eq!(arrived, DAY as i64, "{lacking} {folder}");
                assert!(!found.coverage.exhausted, "{lacking} {folder}");
            }
        }
    }
}

#[test]
fn a_copy_that_is_seen_later_is_news_and_the_first_is_followed() {
    let room = forged("", "Bank", 1);
    let asked = sought(&["own@x.example"]);
    let folders = |found: &mail::Kindred| -> Vec<String> {
        let each = found.members.iter();
        each.map(|one| one.at.folder.to_string()).collect()
    };
    assert_eq!(folders(&room.locate(&asked).0), ["Bank", "INBOX"]);
    let late = Letter {
        id: b"own@x.example",
        ..Letter::default()
    };
    let late = Delivery::new(late.raw()).at(DAY + 9);
    room.server.deliver_many("alice", "Archive", [late]);
    assert_eq!(folders(&room.locate(&asked).0), ["Bank", "INBOX"]);
    list(&room, "Archive");
    let all = ["Bank", "INBOX", "Archive"];
    assert_eq!(folders(&room.locate(&asked).0), all);
    assert_eq!(folders(&room.locate(&asked).0), all);
    let mut eyes = room.server.login("alice", "secret");
    eyes.command("SELECT Bank");
    eyes.command("UID MOVE 1 Sent");
    let all = ["Sent", "INBOX", "Archive"];
    assert_eq!(folders(&room.locate(&asked).0), all);
}

#[test]
fn what_we_take_out_of_the_trash_is_found_at_once() {
    let room = forged("", "Trash", 1);
    let asked = sought(&["own@x.example"]);
    let (found, _) = room.locate(&asked);
    assert_eq!(shown(&found), set(&["INBOX:own@x.example"]));
    let only = Sought {
        within: Within::Only(vec![name("Trash")]),
        ..asked.clone()
    };
    let (thrown, _) = room.locate(&only);
    let subject = Subject {
        at: thrown.members[0].at.clone(),
        size: None,
    };
    let to = name("Archive");
    let step = Step::Move { subject, to };
    let cx = mail::Cx::new();
    let moved = room.runtime.block_on(room.source.apply(&cx, &step));
    moved.map_err(|broken| broken.fault).unwrap();
    let (found, _) = room.locate(&asked);
    assert_eq!(found.members.len(), 2);
    assert_eq!(found.members[0].at.folder, name("Archive"));
}

#[test]
fn a_folder_is_searched_as_soon_as_it_is_known() {
    let room = forged("", "Bank", 1);
    let asked = sought(&["own@x.example"]);
    room.locate(&sought(&["nobody@x.example"]));
    let mut eyes = room.server.login("alice", "secret");
    eyes.command("CREATE New");
    eyes.command("SELECT Bank");
    eyes.command("UID MOVE 1 New");
    // The list of folders is a moment old, so that this may not know of it.
    room.locate(&asked);
    let cx = mail::Cx::new();
    room.runtime.block_on(room.source.folders(&cx)).unwrap();
    let (found, _) = room.locate(&asked);
    assert_eq!(found.members.len(), 2);
    assert_eq!(found.members[0].at.folder, name("New"));
}

#[test]
fn the_members_of_a_conversation_are_found_in_one_round_trip() {
    for lacking in ["", "SEARCHRES"] {
        let room = room_without(lacking);
        let (kindred, _) = room.kindred(&sought(&["inbox@x.example"]));
        assert!(kindred.coverage.exhausted);
        for own in ["inbox@x.example", "both@x.example", "project@x.example"] {
            let (found, trips) = room.locate(&sought(&[own]));
            assert_eq!(trips, 1, "{own}");
            let has = |one: &&mail::Member| one.links.id == Some(id(own));
            assert_eq!(
                found.members.len(),
                kindred.members.iter().filter(has).count()
            );
        }
        // Where it was thrown away, not all of what was thrown away was searched.
        let (kindred, _) = room.kindred(&sought(&["trash@x.example"]));
        assert!(shown(&kindred).contains("Trash:trash@x.example"));
        let (found, _) = room.locate(&sought(&["trash@x.example"]));
        assert!(found.coverage.is_complete() && found.coverage.as_of.is_none());
    }
}

#[test]
fn what_was_not_searched_is_said_and_nothing_stands_for_it() {
    let room = room();
    let path = room.server.dir().join("mail/alice/Maildir/.Projects");
    let permit = |mode| {
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(&path, mode).unwrap();
    };
    permit(0o000);
    let asked = sought(&["both@x.example"]);
    for _ in 0..2 {
        let (found, _) = room.locate(&asked);
        assert_eq!(
            shown(&found),
            set(&["INBOX:both@x.example", "Sent:both@x.example"])
        );
        assert!(skipped(&found.coverage).contains("Projects:failed"));
        assert!(!found.coverage.exhausted);
    }
    permit(0o700);
    let effort = mail::Effort {
        folders: 2,
        ..EFFORT
    };
    let few = Sought {
        effort,
        ..asked.clone()
    };
    for _ in 0..2 {
        let (found, _) = room.locate(&few);
        assert_eq!(found.members.len(), 2);
        assert_eq!(found.coverage.searched, ["INBOX", "Sent"].map(name));
        let left = skipped(&found.coverage);
        assert!(left.contains("Projects:budget") && left.contains("Archive:budget"));
        assert!(!found.coverage.exhausted);
    }
    let (found, _) = room.locate(&asked);
    assert_eq!(found.members.len(), 3);
    // For what is nowhere else the trash would have been searched.
    let nobody = Sought {
        ids: vec![id("nobody@x.example")],
        ..few
    };
    let (found, _) = room.locate(&nobody);
    assert!(skipped(&found.coverage).contains("Trash:budget"));
}

#[test]
fn what_was_seen_says_where_to_look_first() {
    let room = room();
    let effort = mail::Effort {
        folders: 1,
        ..EFFORT
    };
    let asked = Sought {
        effort,
        ..sought(&["project@x.example"])
    };
    assert!(room.locate(&asked).0.members.is_empty());
    list(&room, "Projects");
    let (found, _) = room.locate(&asked);
    assert_eq!(shown(&found), set(&["Projects:project@x.example"]));
    assert!(!found.coverage.exhausted);
    // Not where one may not look.
    let only = Sought {
        within: Within::Only(vec![name("Sent")]),
        ..sought(&["both@x.example"])
    };
    list(&room, "INBOX");
    let (found, _) = room.locate(&only);
    assert_eq!(shown(&found), set(&["Sent:both@x.example"]));
    let subject = Subject {
        at: found.members[0].at.clone(),
        size: None,
    };
    let removed = room.runtime.block_on(room.source.apply(
        &mail::Cx::new(),
        &Step::Remove {
            subject,
            what: mail::Removed::Message,
        },
    ));
    removed.map_err(|broken| broken.fault).unwrap();
    assert!(room.locate(&only).0.members.is_empty());
}

#[test]
fn bounds_are_kept() {
    let room = room();
    for (folders, rounds, found) in [(1, 3, 1), (0, 3, 0), (50, 0, 0), (50, 1, 4)] {
        let effort = mail::Effort {
            folders,
            rounds,
            messages: 50,
        };
        let fresh =
            sources::imap::ImapSource::new(crate::account(), crate::settings(room.proxy.port()));
        let cx = mail::Cx::new();
        let asked = Sought {
            ids: vec![id("both@x.example"), id("project@x.example")],
            within: Within::All,
            effort,
        };
        let kindred = room.runtime.block_on(fresh.locate(&cx, &asked)).unwrap();
        assert_eq!(kindred.members.len(), found, "{folders} {rounds}");
        assert!(kindred.coverage.searched.len() <= folders);
    }
    let effort = mail::Effort {
        messages: 1,
        ..EFFORT
    };
    let (kindred, _) = room.locate(&Sought {
        effort,
        ..sought(&["both@x.example"])
    });
    assert_eq!(kindred.members.len(), 1);
    assert!(!kindred.coverage.exhausted);
}
