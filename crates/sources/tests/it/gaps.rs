//! Folders that do not answer, or not at once: the others are searched, and what is missing is said.

use std::collections::BTreeSet;

use mail::{Cx, Kindred, MailSource as _};
use sources::imap::ImapSource;
use testkit::Fake;
use testkit::fake::{Received, Session};

use crate::mail_room::{name, set, shown, skipped, sought};
use crate::{runtime, settings};

const PLAIN: &str = "IMAP4rev1 LITERAL+";
const EXTENDED: &str = "IMAP4rev1 ESEARCH LITERAL+";
const KEEPING: &str = "IMAP4rev1 ESEARCH SEARCHRES LITERAL+";
const THREADING: &str = "IMAP4rev1 ESEARCH SEARCHRES LITERAL+ THREAD=REFS";

/// Folder, UID, id, and what it names.
const MAIL: [(&str, u32, &str, &str); 3] = [
    ("INBOX", 2, "first@x.example", ""),
    ("Sent", 3, "answer@x.example", "first@x.example"),
    ("INBOX", 4, "thanks@x.example", "answer@x.example"),
];

/// Says the truth of three letters in two folders, of which one is open.
fn honest(session: &mut Session, command: &Received, open: &str) {
    let text = command.text();
    let here = MAIL.into_iter().filter(|(folder, ..)| *folder == open);
    let unseen = |uid: u32| {
        let seen = text.split_once("NOT UID ").map(|(_, rest)| rest);
        let seen = seen.and_then(|rest| rest.split(' ').next()).unwrap_or("");
        !set_holds(seen, uid)
    };
    let sought = |own: &str, named: &str| {
        text.contains(own) || (!named.is_empty() && text.contains(&format!("\"<{named}>\"")))
    };
    let found = here
        .clone()
        .filter(|(_, uid, own, named)| sought(own, named) && unseen(*uid));
    let found: Vec<String> = found.map(|(_, uid, ..)| uid.to_string()).collect();
    if command.mentions("LIST") {
        session.untagged("LIST () \"/\" \"INBOX\"");
        session.untagged("LIST (\\Sent) \"/\" \"Sent\"");
    } else if command.mentions("EXAMINE") {
        return session.examined(5);
    } else if command.mentions("SEARCH RETURN") {
        let list = match found.as_slice() {
            [] => String::new(),
            found => format!(" ALL {}", found.join(",")),
        };
        let (tag, count) = (&command.tag, found.len());
        session.untagged(&format!("ESEARCH (TAG \"{tag}\") UID COUNT {count}{list}"));
    } else if command.mentions("SEARCH") {
        session.untagged(format!("SEARCH {}", found.join(" ")).trim_end());
    } else if command.mentions("FETCH") {
        let asked = text.split(' ').nth(3).unwrap();
        for (_, uid, own, named) in here {
            if asked == "$" || set_holds(asked, uid) {
                let header = format!("Message-ID: <{own}>\r\nReferences: <{named}>\r\n\r\n");
                session.untagged(&format!(
                    "{uid} FETCH (UID {uid} FLAGS () RFC822.SIZE 50 BODY[HEADER.FIELDS (MESSAGE-ID IN-REPLY-TO REFERENCES)] {{{}}}\r\n{header})",
                    header.len()
                ));
            }
        }
    }
    session.ok();
}

fn set_holds(set: &str, uid: u32) -> bool {
    let set = imap::SequenceSet::parse(set.as_bytes());
    let ranges = set.map(|set| set.ranges().to_vec()).unwrap_or_default();
    ranges
        .iter()
        .any(|(first, last)| (*first..=*last).contains(&uid))
}

/// Whether the lie was told in the folder that is open; else the truth is.
type Lie = fn(&mut Session, &Received, &str) -> bool;

fn ask(capabilities: &'static str, lie: Lie) -> (Vec<Kindred>, Vec<String>) {
    let server = Fake::script(move |session| {
        session.log_in(capabilities);
        let mut open = "";
        loop {
            let command = session.command();
            if command.mentions("EXAMINE") {
                open = ["INBOX", "Sent"][usize::from(command.mentions("Sent"))];
            }
            if !lie(session, &command, open) {
                honest(session, &command, open);
            }
        }
    });
    let source = ImapSource::new(crate::account(), settings(server.port()));
    let runtime = runtime();
    let found = ["thanks@x.example", "first@x.example"].map(|anchor| {
        let asked = sought(&[anchor]);
        runtime
            .block_on(source.kindred(&Cx::new(), &asked))
            .unwrap()
    });
    (found.into(), server.commands())
}

fn all_three() -> BTreeSet<String> {
    let each = MAIL.into_iter();
    each.map(|(folder, _, own, _)| format!("{folder}:{own}"))
        .collect()
}

fn refuses(session: &mut Session, when: bool) -> bool {
    if when {
        session.no("not now");
    }
    when
}

fn misunderstands(session: &mut Session, when: bool) -> bool {
    if when {
        session.bad("what?");
    }
    when
}

#[test]
fn a_folder_that_does_not_answer_is_named() {
    let lies: [Lie; 7] = [
        |session, command, open| refuses(session, open == "Sent" && command.mentions("SEARCH")),
        |session, command, open| {
            misunderstands(session, open == "Sent" && command.mentions("SEARCH"))
        },
        |session, command, open| refuses(session, open == "Sent" && command.mentions("FETCH")),
        |session, command, open| refuses(session, open == "Sent" && command.mentions("EXAMINE")),
        // One of two searches in a flight is not an answer.
        |session, command, open| {
            let part = command.mentions("\"first@") || command.mentions("\"thanks@");
            refuses(session, open == "Sent" && part)
        },
        // More than there are.
        |session, command, open| {
            let lied = open == "Sent" && command.mentions("SEARCH");
            if lied {
                let tag = &command.tag;
                session.untagged(&match command.mentions("RETURN") {
                    true => format!("ESEARCH (TAG \"{tag}\") UID COUNT 9 ALL 1:9"),
                    false => "SEARCH 1 2 3 4 5 6 7 8 9".to_owned(),
                });
                session.ok();
            }
            lied
        },
        // Without a generation.
        |session, command, open| {
            let lied = open == "Sent" && command.mentions("EXAMINE");
            if lied {
                session.untagged("5 EXISTS");
                session.ok();
            }
            lied
        },
    ];
    for capabilities in [PLAIN, EXTENDED, KEEPING, THREADING] {
        for (place, lie) in lies.into_iter().enumerate() {
            let (found, commands) = ask(capabilities, lie);
            for kindred in found {
                let what = format!("{capabilities} {place}: {commands:#?}");
                assert!(shown(&kindred).is_subset(&all_three()), "{what}");
                assert!(!shown(&kindred).is_empty(), "{what}");
                assert_eq!(skipped(&kindred.coverage), set(&["Sent:failed"]), "{what}");
                assert_eq!(kindred.coverage.searched, [name("INBOX")], "{what}");
                assert!(!kindred.coverage.exhausted, "{what}");
            }
        }
    }
}

#[test]
fn a_server_that_refuses_threads_is_searched_without() {
    let lies: [(Lie, usize); 4] = [
        // It knows them, and cannot now: it is asked again another time.
        (
            |session, command, _| refuses(session, command.mentions("INTHREAD")),
            2,
        ),
        (
            |session, command, _| misunderstands(session, command.mentions("INTHREAD")),
            1,
        ),
        // It did a moment ago.
        (
            |session, command, _| {
                let later = command.mentions("INTHREAD") && command.mentions("NOT UID");
                misunderstands(session, later)
            },
            usize::MAX,
        ),
        (
            |session, command, open| {
                let there = command.mentions("INTHREAD") && open == "Sent";
                refuses(session, there)
            },
            usize::MAX,
        ),
    ];
    for (place, (lie, most)) in lies.into_iter().enumerate() {
        let (found, commands) = ask(THREADING, lie);
        for kindred in found {
            assert_eq!(shown(&kindred), all_three(), "{place}: {commands:#?}");
            assert!(kindred.coverage.is_complete(), "{place}");
        }
        let tried = commands.iter().filter(|line| line.contains("INTHREAD"));
        assert!(tried.count() <= most, "{place}: {commands:#?}");
    }
}

#[test]
fn a_message_that_is_there_and_not_described_is_missing() {
    for capabilities in [PLAIN, EXTENDED, KEEPING, THREADING] {
        let (found, _) = ask(capabilities, |session, command, open| {
            let lied = open == "Sent" && command.mentions("FETCH");
            if lied {
                session.untagged("3 FETCH (UID 3 FLAGS (\\Seen))");
                session.ok();
            }
            lied
        });
        for kindred in found {
            assert!(!shown(&kindred).contains("Sent:answer@x.example"));
            assert!(!kindred.coverage.exhausted, "{capabilities}");
            assert!(skipped(&kindred.coverage).is_empty(), "it was searched");
        }
    }
}
