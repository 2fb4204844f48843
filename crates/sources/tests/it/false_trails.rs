//! Servers that mislead whoever looks for a conversation: what they say is checked, and what is not known is said.

use mail::{Cx, Fault, FaultKind, Kindred, MailSource as _};
use sources::imap::ImapSource;
use testkit::Fake;
use testkit::fake::{Received, Session};

use crate::mail_room::{name, shown, skipped, sought};
use crate::{runtime, settings};

const KEEPING: &str = "IMAP4rev1 ESEARCH SEARCHRES LITERAL+";
const EXTENDED: &str = "IMAP4rev1 ESEARCH LITERAL+";
const PLAIN: &str = "IMAP4rev1 LITERAL+";

const HEADER: &str = "Message-ID: <a@x.example>\r\n\r\n";

/// Says the truth: one folder of five messages, of which the second has the id.
fn honest(session: &mut Session, command: &Received) {
    if command.mentions("LIST") {
        session.untagged("LIST () \"/\" \"INBOX\"");
    } else if command.mentions("EXAMINE") {
        return session.examined(5);
    } else if command.mentions("SEARCH RETURN") {
        let tag = &command.tag;
        match command.mentions("NOT UID 2") {
            true => session.untagged(&format!("ESEARCH (TAG \"{tag}\") UID COUNT 0")),
            false => session.untagged(&format!("ESEARCH (TAG \"{tag}\") UID COUNT 1 ALL 2")),
        }
    } else if command.mentions("SEARCH") {
        session.untagged(if command.mentions("NOT UID 2") {
            "SEARCH"
        } else {
            "SEARCH 2"
        });
    } else if command.mentions("FETCH") {
        described(session, 2);
    }
    session.ok();
}

fn described(session: &mut Session, uid: u32) {
    let octets = HEADER.len();
    session.untagged(&format!(
        "2 FETCH (UID {uid} FLAGS () RFC822.SIZE 50 BODY[HEADER.FIELDS (MESSAGE-ID IN-REPLY-TO REFERENCES)] {{{octets}}}\r\n{HEADER})"
    ));
}

/// Whether the lie was told; else the truth is.
type Lie = fn(&mut Session, &Received) -> bool;

fn ask(capabilities: &'static str, lie: Lie) -> (Result<Kindred, Fault>, Vec<String>) {
    let server = Fake::script(move |session| {
        session.log_in(capabilities);
        loop {
            let command = session.command();
            if !lie(session, &command) {
                honest(session, &command);
            }
        }
    });
    let source = ImapSource::new(crate::account(), settings(server.port()));
    let cx = Cx::new();
    let asked = sought(&["a@x.example"]);
    let found = runtime().block_on(source.kindred(&cx, &asked));
    (found, server.commands())
}

#[test]
fn the_truth_is_found_in_every_form() {
    for capabilities in [KEEPING, EXTENDED, PLAIN] {
        let (found, _) = ask(capabilities, |_, _| false);
        let found = found.unwrap();
        assert_eq!(shown(&found), ["INBOX:a@x.example".to_owned()].into());
        assert!(found.coverage.is_complete());
    }
}

#[test]
fn a_server_that_does_not_keep_its_word_is_asked_in_plain_words() {
    let lies: [(&str, Lie); 5] = [
        (KEEPING, |session, command| {
            let lied = command.mentions("SAVE");
            if lied {
                session.bad("what?");
            }
            lied
        }),
        (KEEPING, |session, command| {
            let lied = command.mentions("FETCH $");
            if lied {
                session.bad("what?");
            }
            lied
        }),
        (KEEPING, |session, command| {
            let lied = command.mentions("RETURN");
            if lied {
                session.untagged("SEARCH 2");
                session.ok();
            }
            lied
        }),
        (EXTENDED, |session, command| {
            let lied = command.mentions("RETURN");
            if lied {
                session.untagged("ESEARCH (TAG \"w99\") UID COUNT 1 ALL 3");
                session.ok();
            }
            lied
        }),
        // What cannot be read is asked for again, with fewer words.
        (EXTENDED, |session, command| {
            let lied = command.mentions("BODYSTRUCTURE");
            if lied {
                session.untagged("2 FETCH (UID 2 BODYSTRUCTURE (((");
                session.ok();
            }
            lied
        }),
    ];
    for (place, (capabilities, lie)) in lies.into_iter().enumerate() {
        let (found, commands) = ask(capabilities, lie);
        let found = found.unwrap();
        assert_eq!(
            shown(&found),
            ["INBOX:a@x.example".to_owned()].into(),
            "{place}: {commands:#?}"
        );
        assert!(found.coverage.is_complete(), "{place}");
    }
}

#[test]
fn what_cannot_be_believed_is_no_answer() {
    let lies: [(&str, Lie); 8] = [
        (PLAIN, |session, command| {
            let lied = command.mentions("SEARCH");
            if lied {
                session.no("not now");
            }
            lied
        }),
        // More messages than there are.
        (KEEPING, |session, command| {
            let lied = command.mentions("SEARCH");
            if lied {
                let tag = command.tag.clone();
                session.untagged(&format!(
                    "ESEARCH (TAG \"{tag}\") UID COUNT 4294967295 ALL 1:4294967295"
                ));
                session.ok();
            }
            lied
        }),
        (EXTENDED, |session, command| {
            let lied = command.mentions("SEARCH");
            if lied {
                let tag = command.tag.clone();
                session.untagged(&format!("ESEARCH (TAG \"{tag}\") UID COUNT 3 ALL 2"));
                session.ok();
            }
            lied
        }),
        // A folder without a generation, and one of another.
        (PLAIN, |session, command| {
            let lied = command.mentions("EXAMINE");
            if lied {
                session.untagged("5 EXISTS");
                session.ok();
            }
            lied
        }),
        (PLAIN, |session, command| {
            let lied = command.mentions("FETCH");
            if lied {
                session.no("not now");
            }
            lied
        }),
        (KEEPING, |session, command| {
            let lied = command.mentions("FETCH");
            if lied {
                session.no("not now");
            }
            lied
        }),
        (PLAIN, |session, command| {
            let lied = command.mentions("EXAMINE");
            if lied {
                session.no("not you");
            }
            lied
        }),
        (PLAIN, |session, command| {
            let lied = command.mentions("FETCH");
            if lied {
                session.untagged("2 FETCH (UID 2 BODYSTRUCTURE (((");
                session.ok();
            }
            lied
        }),
    ];
    let last = lies.len() - 1;
    for (place, (capabilities, lie)) in lies.into_iter().enumerate() {
        let (found, _) = ask(capabilities, lie);
        let found = found.unwrap();
        assert!(found.members.is_empty(), "{place}");
        assert!(!found.coverage.exhausted, "{place}");
        let failed = skipped(&found.coverage) == ["INBOX:failed".to_owned()].into();
        assert_eq!(failed, place != last, "{place}: {:?}", found.coverage);
        assert_eq!(
            found.coverage.searched.contains(&name("INBOX")),
            place == last
        );
    }
}

#[test]
fn a_message_that_was_not_asked_for_is_none_of_it() {
    let (found, _) = ask(KEEPING, |session, command| {
        let lied = command.mentions("FETCH");
        if lied {
            described(session, 4);
            session.ok();
        }
        lied
    });
    assert!(found.unwrap().members.is_empty());
}

#[test]
fn what_is_too_much_for_one_flight_is_asked_for_in_two() {
    let (found, commands) = ask(KEEPING, |session, command| {
        let lied = command.mentions("FETCH $");
        if lied {
            session.send(b"w98 OK what nobody asked\r\n");
        }
        lied
    });
    assert_eq!(found.unwrap().members.len(), 1);
    let kept = commands.iter().filter(|line| line.contains("FETCH $"));
    assert_eq!(kept.count(), 1);
    let (found, _) = ask(PLAIN, |session, command| {
        let lied = command.mentions("SEARCH");
        if lied {
            session.send(b"w98 OK what nobody asked\r\n");
        }
        lied
    });
    assert_eq!(found.unwrap_err().kind, FaultKind::Protocol);
}
