//! Servers that offer `ESEARCH` or `LIST-EXTENDED` and answer wrongly.

use mail::{Condition, Cx, HeaderId, MailSource as _, Sought, Uid, UidSet};
use sources::imap::ImapSource;
use testkit::Fake;

use super::{about, find, run, serve, source};
use crate::inbox;

const OFFERED: &str = "IMAP4rev1 ESEARCH SEARCHRES IMAP4rev2";

/// Three messages, of which `answer` is told to whoever asks with return options; others hear the truth.
fn liar(answer: &'static str) -> Fake {
    Fake::script(move |session| {
        session.log_in(OFFERED);
        loop {
            let command = session.command();
            if command.mentions("EXAMINE") {
                session.examined(3);
            } else if command.mentions("RETURN") && command.mentions("SEARCH") {
                session.reply(answer);
            } else {
                serve(session, &command);
            }
        }
    })
}

const LIES: [&str; 5] = [
    // STRATO's own.
    "* ESEARCH (TAG \"{tag}\") UID\r\n{tag} OK SEARCH completed (0.000 s)\r\n",
    "* ESEARCH (TAG \"{tag}\") UID COUNT 0\r\n{tag} OK\r\n",
    "{tag} OK nothing\r\n",
    "* SEARCH\r\n{tag} OK\r\n",
    "* ESEARCH (TAG \"w999\") UID COUNT 0\r\n{tag} OK\r\n",
];

/// Searches that came with return options.
fn extended(fake: &Fake) -> usize {
    let commands = fake.commands();
    let asked = commands.iter().filter(|one| one.contains("SEARCH RETURN"));
    asked.count()
}

fn remarks(source: &ImapSource) -> Vec<&'static str> {
    let verified = run(source.verify(&Cx::new()));
    verified.unwrap().remarks
}

#[test]
fn a_search_finds_what_is_there_and_the_liar_is_known_from_then_on() {
    for lie in LIES {
        let fake = liar(lie);
        let source = source(&fake);
        assert_eq!(find(&source, &about("hello")).unwrap().matches, 1, "{lie}");
        let asked = extended(&fake);
        assert!(asked <= 2, "{lie}");
        assert_eq!(find(&source, &about("again")).unwrap().matches, 1, "{lie}");
        assert_eq!(remarks(&source).len(), 1);
        assert_eq!(extended(&fake), asked, "not asked so again: {lie}");
    }
}

#[test]
fn sifting_finds_what_is_there() {
    for lie in LIES {
        let fake = liar(lie);
        let source = source(&fake);
        let tests = ["anna", "bob"].map(|word| Condition::From(word.to_owned()));
        let sifted = run(source.sift(&Cx::new(), &inbox(), &tests));
        let all = UidSet::range(Uid(1), Uid(1));
        assert_eq!(sifted.unwrap().sets, [all.clone(), all], "{lie}");
    }
}

#[test]
fn a_hunt_finds_what_is_there() {
    for lie in LIES {
        let fake = liar(lie);
        let source = source(&fake);
        let sought = Sought {
            ids: vec![HeaderId::new(b"one@example.org").unwrap()],
            within: mail::Within::All,
            effort: mail::Effort {
                folders: 10,
                rounds: 5,
                messages: 100,
            },
        };
        let found = run(source.locate(&Cx::new(), &sought));
        let commands = fake.commands();
        let plain = commands
            .iter()
            .any(|one| one.contains("UID SEARCH") && !one.contains("RETURN"));
        assert!(plain && found.is_ok(), "{lie}: {commands:?}");
    }
}

#[test]
fn a_verification_finds_it_out_by_itself() {
    for lie in LIES {
        let fake = liar(lie);
        let said = remarks(&source(&fake));
        assert!(said[0].contains("ESEARCH"), "{lie}");
    }
}

#[test]
fn who_tells_the_truth_is_checked_once_and_believed() {
    let fake = Fake::script(|session| {
        session.log_in(OFFERED);
        loop {
            let command = session.command();
            if command.mentions("EXAMINE") {
                session.examined(3);
            } else if command.mentions("RETURN (COUNT) ALL") {
                session.reply("* ESEARCH (TAG \"{tag}\") UID COUNT 3\r\n{tag} OK\r\n");
            } else if command.mentions("RETURN") {
                session.reply("* ESEARCH (TAG \"{tag}\") UID COUNT 0\r\n{tag} OK\r\n");
            } else {
                serve(session, &command);
            }
        }
    });
    let source = source(&fake);
    for _ in 0..3 {
        assert_eq!(find(&source, &about("nothing")).unwrap().matches, 0);
    }
    assert!(remarks(&source).is_empty());
    assert_eq!(extended(&fake), 4);
}

#[test]
fn an_empty_folder_proves_nothing_and_costs_nothing() {
    let fake = Fake::script(|session| {
        session.log_in(OFFERED);
        loop {
            let command = session.command();
            if command.mentions("EXAMINE") {
                session.examined(0);
            } else if command.mentions("RETURN") {
                session.reply("* ESEARCH (TAG \"{tag}\") UID COUNT 0\r\n{tag} OK\r\n");
            } else {
                session.ok();
            }
        }
    });
    let source = source(&fake);
    assert_eq!(find(&source, &about("nothing")).unwrap().matches, 0);
    assert_eq!(extended(&fake), 1);
    assert!(remarks(&source).is_empty());
}

#[test]
fn folders_are_listed_by_those_who_do_not_keep_list_extended() {
    for answer in ["{tag} OK LIST completed\r\n", "{tag} BAD what\r\n"] {
        let fake = Fake::script(move |session| {
            session.log_in("IMAP4rev1 LIST-EXTENDED LIST-STATUS SPECIAL-USE");
            loop {
                let command = session.command();
                match command.mentions("RETURN") {
                    true => session.reply(answer),
                    false => serve(session, &command),
                }
            }
        });
        let source = source(&fake);
        let folders = run(source.folders(&Cx::new())).unwrap();
        assert_eq!(folders.folders.len(), 1, "{answer}");
        assert!(remarks(&source)[0].contains("LIST-EXTENDED"));
    }
}
