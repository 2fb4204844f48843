//! Whole conversations from a real server: who belongs to them, what was searched, and in how many round trips.

use std::os::unix::fs::PermissionsExt;

use mail::{Effort, MailSource as _, Sought, Within};
use testkit::proxy::Refusal;

use crate::ground::NAMES;
use crate::mail_room::{EFFORT, Letter, MailRoom, id, name, set, shown, skipped, sought, text_of};

/// What servers may lack, and how many round trips it takes then to find who belongs together, at most: one for the
/// folders, and two rounds, each in one flight or in two.
const LACKING: [(&str, u32); 5] = [
    ("", 3),
    ("THREAD=REFS", 3),
    ("SEARCHRES", 5),
    ("SEARCHRES ESEARCH", 5),
    ("SEARCHRES ESEARCH THREAD=REFS LITERAL+", 5),
];

/// Twenty letters, theirs in INBOX and ours in Sent, each with the references that a program writes.
fn twenty(room: &MailRoom) -> Vec<String> {
    let ids: Vec<String> = (0..20)
        .map(|n| format!("{n:02}.long-as-ids-are.{n:032}@mail.test.example"))
        .collect();
    for (number, own) in ids.iter().enumerate() {
        let before: Vec<&[u8]> = ids[..number].iter().map(String::as_bytes).collect();
        let folder = if number % 2 == 0 { "INBOX" } else { "Sent" };
        let letter = Letter {
            id: own.as_bytes(),
            references: &before,
            replies_to: before.last().copied().unwrap_or_default(),
            says: &format!("letter {number}"),
        };
        room.post(folder, &letter);
    }
    for stranger in ["stranger@x", "02.long-as-ids-are@mail.test.example"] {
        room.post(
            "INBOX",
            &Letter {
                id: stranger.as_bytes(),
                ..Letter::default()
            },
        );
    }
    ids
}

#[test]
fn twenty_letters_are_read_in_six_round_trips() {
    for (lacking, trips) in LACKING {
        for anchor in [0, 7, 19] {
            let room = MailRoom::without(lacking);
            let ids = twenty(&room);
            room.warm_up();
            let (kindred, finding) = room.kindred(&sought(&[&ids[anchor]]));
            let want: Vec<String> = ids
                .iter()
                .enumerate()
                .map(|(n, id)| format!("{}:{id}", if n % 2 == 0 { "INBOX" } else { "Sent" }))
                .collect();
            assert_eq!(
                shown(&kindred),
                want.into_iter().collect(),
                "{lacking} {anchor}"
            );
            assert!(kindred.coverage.exhausted);
            let discarded = set(&["Junk:trash_or_junk", "Trash:trash_or_junk"]);
            assert_eq!(skipped(&kindred.coverage), discarded);
            let wanted: Vec<_> = kindred.members.iter().map(|one| one.at.clone()).collect();
            let (read, reading) = room.messages(&wanted);
            for (member, fetched) in kindred.members.iter().zip(&read) {
                let fetched = fetched.as_ref().unwrap();
                let own = member.links.id.as_ref().unwrap();
                let number = ids
                    .iter()
                    .position(|known| known.as_bytes() == own.bytes())
                    .unwrap();
                assert_eq!(text_of(fetched), format!("letter {number}\r\n").as_bytes());
                assert_eq!(content::links(&fetched.header), member.links);
                assert_eq!(Some(fetched.size), member.summary.size);
                assert_eq!(fetched.flags, member.summary.flags);
            }
            assert_eq!(reading, 1, "the structures are known: {lacking}");
            assert!(finding <= trips, "{lacking} {anchor}: {finding}");
            let (again, finding) = room.kindred(&sought(&[&ids[anchor]]));
            assert_eq!(shown(&again), shown(&kindred));
            assert!(finding < trips, "the folders are known: {finding}");
            let changed = room.proxy.commands().into_iter().any(|line| {
                ["SELECT", "STORE", "BODY["]
                    .iter()
                    .any(|word| line.contains(word))
            });
            assert!(!changed, "EXAMINE and PEEK only");
        }
    }
}

#[test]
fn a_member_is_what_a_summary_says() {
    let room = MailRoom::new();
    let ids = twenty(&room);
    let (kindred, _) = room.kindred(&sought(&[&ids[3]]));
    for member in &kindred.members {
        let uids = std::iter::once(member.at.uid).collect();
        let cx = mail::Cx::new();
        let summary = room.source.summaries(
            &cx,
            &member.at.folder,
            member.at.uidvalidity,
            &uids,
            mail::Snippets::Without,
        );
        let summary = room.runtime.block_on(summary).unwrap();
        assert_eq!(summary, std::slice::from_ref(&member.summary));
        assert_eq!(member.at.account, crate::account());
    }
}

#[test]
fn what_only_another_folder_ties_together_is_together() {
    for (lacking, _) in LACKING {
        let room = MailRoom::without(lacking);
        let letters: [(&str, &str, &str); 6] = [
            ("INBOX", "one@x.example", ""),
            ("Sent", "two@x.example", "one@x.example"),
            ("INBOX", "three@x.example", "two@x.example"),
            ("Archive", "four@x.example", "three@x.example"),
            ("Archive", "unrelated@x.example", "somebody@x.example"),
            ("INBOX", "five@x.example", "four@x.example"),
        ];
        for (folder, own, parent) in letters {
            room.post(
                folder,
                &Letter {
                    id: own.as_bytes(),
                    replies_to: parent.as_bytes(),
                    ..Letter::default()
                },
            );
        }
        let all = set(&[
            "INBOX:one@x.example",
            "Sent:two@x.example",
            "INBOX:three@x.example",
            "Archive:four@x.example",
            "INBOX:five@x.example",
        ]);
        for anchor in ["one@x.example", "three@x.example", "five@x.example"] {
            let (kindred, _) = room.kindred(&sought(&[anchor]));
            assert_eq!(shown(&kindred), all, "{lacking} from {anchor}");
            assert!(kindred.coverage.exhausted);
        }
        // A message that nobody has may be named all the same.
        let (kindred, _) = room.kindred(&sought(&["somebody@x.example"]));
        assert_eq!(shown(&kindred), set(&["Archive:unrelated@x.example"]));
        let (kindred, _) = room.kindred(&sought(&["nobody@x.example"]));
        assert!(kindred.members.is_empty() && kindred.coverage.exhausted);
        assert!(
            kindred.coverage.searched.contains(&name("Trash")),
            "it was looked for everywhere"
        );
    }
}

#[test]
fn long_chains_of_single_replies_come_at_once_where_the_server_threads() {
    for (lacking, whole) in [("", true), ("THREAD=REFS", false)] {
        let room = MailRoom::without(lacking);
        let ids: Vec<String> = (0..40).map(|n| format!("link-{n}@x.example")).collect();
        for (number, own) in ids.iter().enumerate() {
            let parent = number.checked_sub(1).map_or("", |parent| &ids[parent]);
            room.post(
                "INBOX",
                &Letter {
                    id: own.as_bytes(),
                    replies_to: parent.as_bytes(),
                    ..Letter::default()
                },
            );
        }
        let effort = Effort {
            rounds: 3,
            ..EFFORT
        };
        let asked = Sought {
            effort,
            ..sought(&["link-20@x.example"])
        };
        let (kindred, _) = room.kindred(&asked);
        assert_eq!(kindred.coverage.exhausted, whole);
        assert_eq!(
            kindred.members.len() == 40,
            whole,
            "{}",
            kindred.members.len()
        );
        let (kindred, _) = room.kindred(&Sought {
            effort: Effort {
                rounds: 40,
                ..EFFORT
            },
            ..asked
        });
        assert_eq!(kindred.members.len(), 40);
        assert!(kindred.coverage.exhausted);
    }
}

#[test]
fn a_server_that_does_not_know_threads_is_asked_once() {
    let room = MailRoom::new();
    let ids = twenty(&room);
    room.warm_up();
    room.proxy
        .refuse_command(Refusal::Bad, |line| line.contains("INTHREAD"));
    let (kindred, _) = room.kindred(&sought(&[&ids[7]]));
    assert_eq!(kindred.members.len(), 20);
    assert!(kindred.coverage.exhausted);
    room.kindred(&sought(&[&ids[9]]));
    let tried = room
        .proxy
        .commands()
        .into_iter()
        .filter(|line| line.contains("INTHREAD"));
    assert_eq!(tried.count(), 1);
}

#[test]
fn a_folder_that_cannot_be_opened_is_named_and_the_others_are_searched() {
    for (folder, left) in [("Sent", 10), ("Archive", 20)] {
        let room = MailRoom::new();
        let ids = twenty(&room);
        let mail = format!("mail/alice/Maildir/.{folder}");
        let permit = |mode| {
            let mode = PermissionsExt::from_mode(mode);
            std::fs::set_permissions(room.server.dir().join(&mail), mode).unwrap();
        };
        permit(0o000);
        let (kindred, _) = room.kindred(&sought(&[&ids[6]]));
        assert_eq!(kindred.members.len(), left, "{folder}");
        assert!(
            kindred
                .members
                .iter()
                .all(|one| one.at.folder != name(folder))
        );
        assert!(!kindred.coverage.exhausted);
        assert!(skipped(&kindred.coverage).contains(&format!("{folder}:failed")));
        assert!(!kindred.coverage.searched.contains(&name(folder)));
        permit(0o700);
        let (kindred, _) = room.kindred(&sought(&[&ids[6]]));
        assert_eq!(kindred.members.len(), 20);
        assert!(kindred.coverage.exhausted);
    }
}

#[test]
fn answers_out_of_their_order_are_asked_for_folder_by_folder() {
    let room = MailRoom::new();
    let ids = twenty(&room);
    room.warm_up();
    // The proxy answers at once, before the server has answered what was asked before.
    room.proxy
        .refuse_command(Refusal::No, |line| line.contains("EXAMINE \"Sent\""));
    let (kindred, trips) = room.kindred(&sought(&[&ids[7]]));
    assert_eq!(kindred.members.len(), 20);
    assert!(kindred.coverage.exhausted);
    assert!(trips > 8, "one flight for each folder");
}

#[test]
fn a_cut_connection_is_no_conversation() {
    for cut in [testkit::Cut::Reset, testkit::Cut::Close] {
        for word in ["SEARCH", "FETCH", "LIST"] {
            let room = MailRoom::new();
            let ids = twenty(&room);
            let source = sources::imap::ImapSource::new(
                crate::account(),
                crate::settings(room.proxy.port()),
            );
            room.proxy.cut_reply(cut, move |line| line.contains(word));
            let cx = mail::Cx::new();
            let asked = sought(&[&ids[0]]);
            let outcome = room.runtime.block_on(source.kindred(&cx, &asked));
            assert!(outcome.is_err(), "{word}");
            let healed = room.runtime.block_on(source.kindred(&cx, &asked)).unwrap();
            assert_eq!(healed.members.len(), 20);
        }
    }
}

#[test]
fn folders_of_any_name_are_searched_and_only_those_that_may_be() {
    let room = MailRoom::new();
    for folder in NAMES {
        let mut path = String::new();
        for level in folder.split('/') {
            path = [path.as_str(), level].join(if path.is_empty() { "" } else { "/" });
            room.server.create_folder("alice", &path);
        }
        room.post(
            folder,
            &Letter {
                id: b"same@x.example",
                ..Letter::default()
            },
        );
    }
    room.post(
        "Trash",
        &Letter {
            id: b"same@x.example",
            ..Letter::default()
        },
    );
    let (kindred, _) = room.kindred(&sought(&["same@x.example"]));
    let want: Vec<String> = NAMES
        .iter()
        .map(|folder| format!("{folder}:same@x.example"))
        .collect();
    assert_eq!(shown(&kindred), want.iter().cloned().collect());
    assert_eq!(
        skipped(&kindred.coverage),
        set(&["Junk:trash_or_junk", "Trash:trash_or_junk"])
    );
    room.proxy.reset_stats();
    for only in [vec![NAMES[2], NAMES[1]], vec!["Trash"], vec![]] {
        let within = Within::Only(only.iter().map(|folder| name(folder)).collect());
        let asked = Sought {
            within,
            ..sought(&["same@x.example"])
        };
        for (found, _) in [room.kindred(&asked), room.locate(&asked)] {
            let want: Vec<String> = only
                .iter()
                .map(|folder| format!("{folder}:same@x.example"))
                .collect();
            assert_eq!(shown(&found), want.into_iter().collect());
            assert!(
                skipped(&found.coverage).is_empty(),
                "what may not be searched is not spoken of"
            );
        }
    }
    let opened = room
        .proxy
        .commands()
        .into_iter()
        .filter(|line| line.contains("EXAMINE"));
    let opened: Vec<String> = opened.collect();
    assert!(
        opened
            .iter()
            .all(|line| !line.contains("INBOX") && !line.contains("Sent")),
        "{opened:?}"
    );
}

#[test]
fn what_was_thrown_away_is_left_out_unless_it_is_what_was_asked_for() {
    let room = MailRoom::new();
    room.post(
        "INBOX",
        &Letter {
            id: b"kept@x.example",
            replies_to: b"thrown@x.example",
            ..Letter::default()
        },
    );
    room.post(
        "Trash",
        &Letter {
            id: b"thrown@x.example",
            ..Letter::default()
        },
    );
    room.post(
        "Trash",
        &Letter {
            id: b"late@x.example",
            replies_to: b"kept@x.example",
            ..Letter::default()
        },
    );
    let (kindred, _) = room.kindred(&sought(&["kept@x.example"]));
    assert_eq!(shown(&kindred), set(&["INBOX:kept@x.example"]));
    assert!(kindred.coverage.exhausted && !kindred.coverage.is_complete());
    let (kindred, _) = room.kindred(&sought(&["thrown@x.example"]));
    let all = set(&[
        "INBOX:kept@x.example",
        "Trash:thrown@x.example",
        "Trash:late@x.example",
    ]);
    assert_eq!(shown(&kindred), all);
    assert!(kindred.coverage.exhausted);
    assert_eq!(skipped(&kindred.coverage), set(&["Junk:trash_or_junk"]));
    let (kindred, _) = room.kindred(&sought(&["nobody@x.example"]));
    assert!(kindred.members.is_empty() && kindred.coverage.is_complete());
}

#[test]
fn the_bounds_are_kept_and_told() {
    let room = MailRoom::new();
    let ids = twenty(&room);
    for (effort, most, why) in [
        (
            Effort {
                folders: 1,
                ..EFFORT
            },
            10,
            "Sent:budget",
        ),
        (
            Effort {
                folders: 0,
                ..EFFORT
            },
            0,
            "INBOX:budget",
        ),
        (
            Effort {
                messages: 5,
                ..EFFORT
            },
            5,
            "",
        ),
        (
            Effort {
                messages: 0,
                ..EFFORT
            },
            0,
            "",
        ),
        (
            Effort {
                rounds: 1,
                ..EFFORT
            },
            20,
            "",
        ),
        (
            Effort {
                rounds: 0,
                ..EFFORT
            },
            0,
            "",
        ),
    ] {
        room.warm_up();
        let (kindred, _) = room.kindred(&Sought {
            effort,
            ..sought(&[&ids[0]])
        });
        assert!(
            kindred.members.len() <= most,
            "{effort:?}: {}",
            kindred.members.len()
        );
        assert!(
            kindred.members.len() == most || effort.rounds < 2,
            "{effort:?}"
        );
        assert!(!kindred.coverage.exhausted, "{effort:?}");
        assert!(kindred.coverage.searched.len() <= effort.folders);
        assert!(why.is_empty() || skipped(&kindred.coverage).contains(why));
    }
}

#[test]
fn ids_are_what_they_are_and_not_what_they_look_like() {
    let odd: [&[u8]; 9] = [
        b"quo\"te@x.example",
        b"back\\slash@x.example",
        b"per%cent*star@x.example",
        "gr\u{fc}n.kohl@x.example".as_bytes(),
        b"latin.\xe9t\xe9@x.example",
        b"{5}@x.example",
        b"(paren)]@x.example",
        b"1@x",
        b"../../etc/passwd",
    ];
    for lacking in ["", "SEARCHRES", "SEARCHRES ESEARCH LITERAL+"] {
        let room = MailRoom::without(lacking);
        for own in odd {
            room.post(
                "INBOX",
                &Letter {
                    id: own,
                    ..Letter::default()
                },
            );
            room.post(
                "Sent",
                &Letter {
                    replies_to: own,
                    ..Letter::default()
                },
            );
        }
        // Those that hold another one, and one in another case.
        for near in [
            &b"11@x"[..],
            b"1@xx",
            b"1@X",
            b"a.quo\"te@x.example",
            b"QUO\"TE@x.example",
        ] {
            room.post(
                "INBOX",
                &Letter {
                    id: near,
                    ..Letter::default()
                },
            );
        }
        for own in odd {
            let asked = Sought {
                ids: vec![id(own)],
                ..sought(&[])
            };
            let (kindred, _) = room.kindred(&asked);
            assert_eq!(
                kindred.members.len(),
                2,
                "{:?} {lacking}",
                String::from_utf8_lossy(own)
            );
            assert!(kindred.coverage.exhausted);
            let (found, _) = room.locate(&asked);
            assert_eq!(
                found.members.len(),
                1,
                "{:?} {lacking}",
                String::from_utf8_lossy(own)
            );
            assert_eq!(found.members[0].links.id, Some(id(own)));
        }
        // Nothing of it can be searched for: it is said that it was not.
        let (found, _) = room.kindred(&sought(&["\u{fc}\u{fc}"]));
        assert!(found.members.is_empty() && !found.coverage.exhausted);
    }
}

#[test]
fn two_different_letters_may_have_one_id() {
    let room = MailRoom::new();
    for says in ["the one", "and the other"] {
        room.post(
            "INBOX",
            &Letter {
                id: b"twice@x.example",
                says,
                ..Letter::default()
            },
        );
    }
    room.post(
        "Archive",
        &Letter {
            id: b"twice@x.example",
            says: "the one",
            ..Letter::default()
        },
    );
    for (found, _) in [
        room.kindred(&sought(&["twice@x.example"])),
        room.locate(&sought(&["twice@x.example"])),
    ] {
        assert_eq!(found.members.len(), 3);
        assert_eq!(
            shown(&found),
            set(&["INBOX:twice@x.example", "Archive:twice@x.example"])
        );
    }
}
