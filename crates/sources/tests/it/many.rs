//! Many messages at once: each with its own outcome, in as few round trips as there are things to learn.

use mail::{FaultKind, MessageRef, Uid, UidValidity};
use testkit::proxy::Refusal;

use crate::ground::NAMES;
use crate::mail_room::{Letter, MOST_TEXT, MailRoom, sought, text_of};

/// Letters in folders with names that a careless program does not get across, three in each.
fn room() -> (MailRoom, Vec<MessageRef>) {
    let room = MailRoom::new();
    for folder in NAMES {
        let mut path = String::new();
        for level in folder.split('/') {
            path = [path.as_str(), level].join(if path.is_empty() { "" } else { "/" });
            room.server.create_folder("alice", &path);
        }
        for number in 0..3 {
            let says = format!("{folder} {number} {}", "x".repeat(number * 3_000));
            room.post(
                folder,
                &Letter {
                    id: b"all@x.example",
                    says: &says,
                    ..Letter::default()
                },
            );
        }
    }
    let (found, _) = room.kindred(&sought(&["all@x.example"]));
    assert_eq!(found.members.len(), 3 * NAMES.len());
    let at = found.members.into_iter().map(|one| one.at).collect();
    (room, at)
}

/// Another source at the same server, which knows nothing.
fn forgetful(room: MailRoom) -> MailRoom {
    let source =
        sources::imap::ImapSource::new(crate::account(), crate::settings(room.proxy.port()));
    let room = MailRoom { source, ..room };
    room.warm_up();
    room
}

#[test]
fn each_is_read_in_the_order_asked_for() {
    let (room, mut wanted) = room();
    let room = forgetful(room);
    wanted.reverse();
    wanted.push(wanted[0].clone());
    for (pass, trips) in [("unknown", 2), ("kept", 1)] {
        let (read, took) = room.messages(&wanted);
        assert_eq!(took, trips, "{pass}");
        assert_eq!(read.len(), wanted.len());
        for (at, fetched) in wanted.iter().zip(read) {
            let fetched = fetched.unwrap();
            let number = at.uid.0 as usize - 1;
            let says = format!("{} {number} {}\r\n", at.folder, "x".repeat(number * 3_000));
            let shown = says.len().min(MOST_TEXT as usize);
            assert_eq!(text_of(&fetched), &says.as_bytes()[..shown]);
            assert_eq!(fetched.parts[0].truncated, shown < says.len());
        }
    }
    // As one alone is read.
    for at in &wanted {
        let cx = mail::Cx::new();
        let choose: mail::Choose<'_> = &crate::mail_room::first_text;
        let one = mail::MailSource::message(&room.source, &cx, at, choose);
        let one = room.runtime.block_on(one).unwrap();
        let (many, _) = room.messages(&[at.clone(), at.clone()]);
        for same in many {
            let same = same.unwrap();
            assert_eq!(text_of(&same), text_of(&one));
            assert_eq!(
                (same.header, same.flags, same.size),
                (one.header.clone(), one.flags.clone(), one.size)
            );
            assert_eq!(same.structure, one.structure);
        }
    }
}

#[test]
fn what_is_wrong_with_one_is_its_own_affair() {
    let (room, wanted) = room();
    let room = forgetful(room);
    let gone = MessageRef {
        uid: Uid(77),
        ..wanted[0].clone()
    };
    let none = MessageRef {
        uid: Uid(0),
        ..wanted[0].clone()
    };
    let old = MessageRef {
        uidvalidity: UidValidity(1),
        ..wanted[4].clone()
    };
    let nowhere = MessageRef {
        folder: crate::mail_room::name("Nowhere"),
        ..wanted[0].clone()
    };
    let foreign = MessageRef {
        source: mail::SourceKind::Maildir,
        ..wanted[0].clone()
    };
    let asked = [
        wanted[0].clone(),
        gone,
        none,
        nowhere,
        old,
        foreign,
        wanted[4].clone(),
    ];
    let (read, _) = room.messages(&asked);
    let kinds: Vec<Option<FaultKind>> = read
        .iter()
        .map(|one| one.as_ref().err().map(|fault| fault.kind))
        .collect();
    assert_eq!(
        kinds,
        [
            None,
            Some(FaultKind::NoSuchMessage),
            Some(FaultKind::NoSuchMessage),
            Some(FaultKind::NoSuchFolder),
            Some(FaultKind::Conflict),
            Some(FaultKind::NoSuchMessage),
            None,
        ]
    );
    let (none, trips) = room.messages(&[]);
    assert!(none.is_empty() && trips == 0);
}

#[test]
fn a_refusal_is_of_those_whom_it_meets() {
    let (room, wanted) = room();
    let room = forgetful(room);
    room.proxy
        .refuse_command(Refusal::No, |line| line.contains("UID FETCH 1:3"));
    let (read, trips) = room.messages(&wanted);
    assert!(
        read.iter().all(Result::is_ok),
        "asked for one by one, each is there"
    );
    assert_eq!(trips, 3);
    let room = forgetful(room);
    room.proxy
        .refuse_command(Refusal::No, |line| line.contains("UID FETCH 1:3"));
    room.proxy
        .refuse_command(Refusal::No, |line| line.contains("UID FETCH 2 "));
    let (read, _) = room.messages(&wanted);
    let failed = read.iter().filter_map(|one| one.as_ref().err());
    let failed: Vec<FaultKind> = failed.map(|fault| fault.kind).collect();
    assert_eq!(failed, [FaultKind::Denied]);
    let room = forgetful(room);
    room.proxy
        .cut_reply(testkit::Cut::Reset, |line| line.contains("UID FETCH"));
    let cx = mail::Cx::new();
    let choose: mail::Choose<'_> = &crate::mail_room::first_text;
    let read = mail::MailSource::messages(&room.source, &cx, &wanted, choose);
    let read = room.runtime.block_on(read);
    assert!(
        read.is_err() || read.unwrap().iter().all(Result::is_ok),
        "nothing is half read"
    );
}
