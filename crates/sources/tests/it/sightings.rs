//! Looking for a Message-ID: where it was last seen, where mail usually lies, and everywhere.

use mail::{MailSource as _, Snippets, Sought, Step, Subject, Uid, Within};

use crate::mail_room::{EFFORT, Letter, MailRoom, id, name, set, shown, skipped, sought};

fn room() -> MailRoom {
    let room = MailRoom::new();
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

#[test]
fn copies_are_found_in_the_first_places_that_have_one() {
    let room = room();
    for (ids, found, left, trips) in [
        (
            &["inbox@x.example"][..],
            &["INBOX:inbox@x.example"][..],
            &[
                "Drafts:budget",
                "Projects:budget",
                "Junk:trash_or_junk",
                "Trash:trash_or_junk",
            ][..],
            2,
        ),
        (
            &["project@x.example"],
            &["Projects:project@x.example"],
            &["Junk:trash_or_junk", "Trash:trash_or_junk"],
            2,
        ),
        (&["trash@x.example"], &["Trash:trash@x.example"], &[], 3),
        (&["nobody@x.example"], &[], &[], 3),
        (&["named@x.example"], &[], &[], 3),
    ] {
        let (kindred, took) = room.locate(&sought(ids));
        assert_eq!(shown(&kindred), set(found));
        assert_eq!(skipped(&kindred.coverage), set(left), "{ids:?}");
        assert!(kindred.coverage.exhausted);
        assert_eq!(took, trips, "{ids:?}");
    }
    let (kindred, _) = room.locate(&sought(&[
        "both@x.example",
        "project@x.example",
        "nobody@x.example",
    ]));
    // It was seen in Projects, and so it is looked for there.
    assert_eq!(
        shown(&kindred),
        set(&[
            "INBOX:both@x.example",
            "Sent:both@x.example",
            "Projects:project@x.example"
        ])
    );
}

#[test]
fn what_was_seen_is_found_in_one_round_trip_and_never_believed() {
    let room = room();
    let asked = sought(&["inbox@x.example", "both@x.example"]);
    let (first, _) = room.locate(&asked);
    let (again, trips) = room.locate(&asked);
    assert_eq!((shown(&again), trips), (shown(&first), 1));
    assert!(!again.coverage.exhausted, "nothing was searched");
    // It goes elsewhere, behind our back.
    let mut eyes = room.server.login("alice", "secret");
    eyes.command("SELECT INBOX");
    eyes.command("UID MOVE 1 Projects");
    let (moved, trips) = room.locate(&sought(&["inbox@x.example"]));
    assert_eq!(shown(&moved), set(&["Projects:inbox@x.example"]));
    assert_eq!(trips, 3, "a look, and two tiers");
    let (moved, trips) = room.locate(&sought(&["inbox@x.example"]));
    assert_eq!(
        (shown(&moved), trips),
        (set(&["Projects:inbox@x.example"]), 1)
    );
    // The folder is made anew, and another message has its number.
    eyes.command("UNSELECT");
    eyes.command("DELETE Projects");
    eyes.command("CREATE Projects");
    let other = testkit::Delivery::new(
        Letter {
            id: b"other@x.example",
            ..Letter::default()
        }
        .raw(),
    );
    for _ in 0..3 {
        eyes.append("Projects", &other);
    }
    let (gone, _) = room.locate(&sought(&["inbox@x.example"]));
    assert!(gone.members.is_empty());
    assert!(gone.coverage.is_complete());
}

#[test]
fn every_answer_feeds_the_memory() {
    let room = room();
    let cx = mail::Cx::new();
    let inbox = name("INBOX");
    let page = mail::Search {
        folder: inbox.clone(),
        query: mail::Query::default(),
        below: None,
        limit: 1,
        snippets: Snippets::Without,
        most_matches: 100,
    };
    room.runtime
        .block_on(room.source.search(&cx, &page))
        .unwrap();
    let (found, trips) = room.locate(&sought(&["both@x.example"]));
    assert_eq!((shown(&found), trips), (set(&["INBOX:both@x.example"]), 1));
    let generation = found.members[0].at.uidvalidity;
    let uids = mail::UidSet::range(Uid(1), Uid(1));
    let told = room
        .source
        .summaries(&cx, &inbox, generation, &uids, Snippets::Without);
    room.runtime.block_on(told).unwrap();
    let (found, trips) = room.locate(&sought(&["inbox@x.example"]));
    assert_eq!((shown(&found), trips), (set(&["INBOX:inbox@x.example"]), 1));
    // Not where one may not look.
    let within = Within::Only(vec![name("Sent")]);
    let (found, _) = room.locate(&Sought {
        within,
        ..sought(&["both@x.example"])
    });
    assert_eq!(shown(&found), set(&["Sent:both@x.example"]));
    let step = Step::Remove {
        subject: Subject {
            at: found.members[0].at.clone(),
            size: None,
        },
    };
    room.runtime
        .block_on(room.source.apply(&cx, &step))
        .map_err(|broken| broken.fault)
        .unwrap();
    let within = Within::Only(vec![name("Sent")]);
    let (found, _) = room.locate(&Sought {
        within,
        ..sought(&["both@x.example"])
    });
    assert!(found.members.is_empty());
}

#[test]
fn bounds_are_kept() {
    let room = room();
    for (folders, rounds, found) in [(1, 3, 1), (0, 3, 0), (50, 0, 0), (50, 1, 2)] {
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
