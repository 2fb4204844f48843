//! Servers that say themselves which messages are of one conversation: Gmail, as far as a script can be it, and Cyrus.

use mail::{Cx, Effort, Kindred, MailSource as _, Sought, Within};
use sources::imap::ImapSource;
use testkit::fake::{Received, Session};
use testkit::{Cyrus, Delivery, Fake, FaultProxy};

use crate::mail_room::{EFFORT, Letter, name, set, shown, skipped, sought};
use crate::{runtime, settings};

/// UID, id, what it names, and the conversation.
const MAIL: [(u32, &str, &str, u64); 5] = [
    (3, "first@x.example", "", 1_278_455_344_230_334_865),
    (
        4,
        "answer@x.example",
        "first@x.example",
        1_278_455_344_230_334_865,
    ),
    // Tied by nothing but the server's word.
    (6, "again@x.example", "", 1_278_455_344_230_334_865),
    // Of another conversation, which Gmail makes of a new subject.
    (7, "renamed@x.example", "answer@x.example", 42),
    (9, "stranger@x.example", "", 7),
];

const LABELS: [&str; 4] = [
    "(\\All \\HasNoChildren) \"/\" \"[Gmail]/All Mail\"",
    "(\\HasNoChildren) \"/\" \"INBOX\"",
    "(\\Sent) \"/\" \"[Gmail]/Sent Mail\"",
    "(\\Trash) \"/\" \"[Gmail]/Trash\"",
];

/// Answers searches by what they say, as Gmail does: by ids in headers and by thread ids, `NOT UID` included.
fn gmail(session: &mut Session, labels: &[&str]) {
    session.log_in("IMAP4rev1 X-GM-EXT-1 ESEARCH LITERAL- SPECIAL-USE");
    loop {
        let command = session.command();
        if command.mentions("LIST") {
            for label in labels {
                session.untagged(&format!("LIST {label}"));
            }
            session.ok();
        } else if command.mentions("EXAMINE") {
            session.examined(5);
        } else if command.mentions("SEARCH") {
            let found = found(&command);
            let list = match found.is_empty() {
                true => String::new(),
                false => format!(" ALL {}", found.join(",")),
            };
            let tag = &command.tag;
            session.untagged(&format!(
                "ESEARCH (TAG \"{tag}\") UID COUNT {}{list}",
                found.len()
            ));
            session.ok();
        } else if command.mentions("FETCH") {
            assert!(command.mentions("X-GM-THRID") && command.mentions("BODY.PEEK"));
            for (uid, own, named, thread) in MAIL {
                let text = command.text();
                let set = text.split(' ').nth(3).unwrap();
                let asked = imap::SequenceSet::parse(set.as_bytes()).unwrap();
                if asked.ranges().iter().any(|(a, b)| (*a..=*b).contains(&uid)) {
                    let header = format!("Message-ID: <{own}>\r\nReferences: <{named}>\r\n\r\n");
                    session.untagged(&format!(
                        "1 FETCH (X-GM-THRID {thread} UID {uid} FLAGS () RFC822.SIZE 5 BODY[HEADER.FIELDS (MESSAGE-ID IN-REPLY-TO REFERENCES)] {{{}}}\r\n{header})",
                        header.len()
                    ));
                }
            }
            session.ok();
        } else {
            session.ok();
        }
    }
}

fn found(command: &Received) -> Vec<String> {
    let text = command.text();
    let seen = text
        .split_once("NOT UID ")
        .map_or("", |(_, rest)| rest.split(' ').next().unwrap());
    let seen = imap::SequenceSet::parse(seen.as_bytes()).unwrap();
    let each = MAIL.into_iter().filter(|(uid, own, named, thread)| {
        let words =
            text.contains(own) || (!named.is_empty() && text.contains(&format!("<{named}>")));
        let tied = text.contains(&format!("X-GM-THRID {thread} "))
            || text.ends_with(&format!("X-GM-THRID {thread}"));
        (words || tied) && !seen.ranges().iter().any(|(a, b)| (*a..=*b).contains(uid))
    });
    each.map(|(uid, ..)| uid.to_string()).collect()
}

fn kindred(source: &ImapSource, sought: &Sought) -> Kindred {
    runtime()
        .block_on(source.kindred(&Cx::new(), sought))
        .unwrap()
}

#[test]
fn gmail_is_believed_and_its_threads_are_joined() {
    let conversation = ["first", "answer", "again", "renamed"];
    for anchor in conversation {
        let server = Fake::script(|session| gmail(session, &LABELS));
        let source = ImapSource::new(crate::account(), settings(server.port()));
        let anchor = format!("{anchor}@x.example");
        let found = kindred(&source, &sought(&[&anchor]));
        let want = conversation.map(|one| format!("[Gmail]/All Mail:{one}@x.example"));
        assert_eq!(shown(&found), want.into_iter().collect(), "{anchor}");
        assert!(found.coverage.exhausted);
        assert_eq!(
            skipped(&found.coverage),
            set(&["[Gmail]/Trash:trash_or_junk"])
        );
        let opened = server
            .commands()
            .into_iter()
            .filter(|line| line.contains("EXAMINE"));
        assert!(
            opened.into_iter().all(|line| line.contains("All Mail")),
            "labels show what lies there"
        );
    }
}

#[test]
fn gmail_without_all_mail_is_searched_label_by_label() {
    let server = Fake::script(|session| gmail(session, &LABELS[1..]));
    let source = ImapSource::new(crate::account(), settings(server.port()));
    let found = kindred(&source, &sought(&["first@x.example"]));
    assert_eq!(found.members.len(), 8, "every label shows all four");
    assert_eq!(found.coverage.searched.len(), 2);
}

#[test]
fn gmail_is_asked_in_those_labels_alone_that_may_be_searched() {
    let server = Fake::script(|session| gmail(session, &LABELS));
    let source = ImapSource::new(crate::account(), settings(server.port()));
    let asked = sought(&["first@x.example"]);
    // What is remembered of other labels is no reason to open them.
    assert_eq!(kindred(&source, &asked).members.len(), 4);
    let opened_before = opened(&server).len();
    for within in [vec![name("INBOX")], vec![]] {
        let asked = Sought {
            within: Within::Only(within.clone()),
            // No more than there is to be seen.
            effort: Effort {
                folders: 1,
                messages: 4,
                ..EFFORT
            },
            ..asked.clone()
        };
        let found = kindred(&source, &asked);
        assert_eq!(found.members.len(), 4 * within.len());
        assert!(found.coverage.is_complete(), "{:?}", found.coverage);
        assert_eq!(found.coverage.searched, within);
    }
    let opened = opened(&server).split_off(opened_before);
    assert!(
        opened.iter().all(|line| line.contains("INBOX")),
        "{opened:?}"
    );
}

fn opened(server: &Fake) -> Vec<String> {
    let commands = server.commands().into_iter();
    commands.filter(|line| line.contains("EXAMINE")).collect()
}

#[test]
fn cyrus_says_which_messages_are_of_one_conversation() {
    let server = Cyrus::start();
    let letters: [(&str, &[u8], &[u8]); 4] = [
        ("INBOX", b"one@x.example", b""),
        ("Sent", b"two@x.example", b"one@x.example"),
        ("INBOX", b"three@x.example", b"two@x.example"),
        ("INBOX", b"stranger@x.example", b""),
    ];
    for (folder, id, parent) in letters {
        let letter = Letter {
            id,
            replies_to: parent,
            ..Letter::default()
        };
        let raw = String::from_utf8(letter.raw()).unwrap();
        let raw = match id == b"stranger@x.example" {
            true => raw.replace("Plan", "Nothing of that"),
            false => raw,
        };
        server.deliver_many("alice", folder, [Delivery::new(raw)]);
    }
    let proxy = FaultProxy::to(server.port());
    let source = ImapSource::new(crate::account(), settings(proxy.port()));
    let runtime = runtime();
    for anchor in ["one@x.example", "two@x.example", "three@x.example"] {
        let before = proxy.commands().len();
        let (cx, asked) = (Cx::new(), sought(&[anchor]));
        let found = runtime.block_on(source.kindred(&cx, &asked)).unwrap();
        let mut asked = proxy.commands().split_off(before).into_iter();
        assert!(
            asked.any(|line| line.contains("SEARCH")),
            "its word may change while nothing comes"
        );
        assert_eq!(
            shown(&found),
            set(&[
                "INBOX:one@x.example",
                "Sent:two@x.example",
                "INBOX:three@x.example"
            ]),
            "{anchor}"
        );
        assert!(found.coverage.exhausted);
    }
    let asked = proxy.commands();
    assert!(
        asked.iter().any(|line| line.contains("THREADID T")),
        "by its own word"
    );
    let threads = asked.iter().filter(|line| line.contains("INTHREAD"));
    assert_eq!(
        threads.count(),
        1,
        "which it does not know, though it threads by references"
    );
}
