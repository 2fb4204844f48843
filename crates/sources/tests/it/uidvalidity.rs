//! A folder that becomes another one in an open session: whatever is read or changed then is a
//! conflict, and nothing happens to a message that only has the number of the one that was meant.

use mail::{
    Broken, Changed, Cx, Effect, FaultKind, MailSource as _, MessageRef, Snippets, SourceKind,
    Step, Subject, Uid, UidSet, UidValidity,
};
use sources::imap::ImapSource;
use testkit::Fake;
use testkit::fake::Session;

use crate::effects::steps;
use crate::{inbox, runtime, settings};

const ANOTHER: &str = "OK [UIDVALIDITY 8] rebuilt";
const KEEPING: &str = "IMAP4rev1 ESEARCH SEARCHRES UIDPLUS MOVE";
const PLAIN: &str = "IMAP4rev1 UIDPLUS MOVE";

/// Commands that change something.
const CHANGES: [&str; 4] = ["UID STORE", "UID COPY", "UID MOVE", "UID EXPUNGE"];

/// When the server says that the folder is another one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum When {
    Never,
    /// With the check that goes before the change.
    WithCheck,
    /// After the answer to the check, when nothing is asked.
    Between,
    /// With the `NOOP` of the flight that holds the change.
    WithChange,
    /// The same, and the change is refused.
    WithRefusal,
}

fn subject() -> Subject {
    Subject {
        at: MessageRef {
            source: SourceKind::Imap,
            account: crate::account(),
            folder: inbox(),
            uidvalidity: UidValidity(7),
            uid: Uid(2),
        },
        size: Some(9),
    }
}

fn serve(capabilities: &'static str, when: When) -> Fake {
    Fake::script(move |session| {
        session.log_in(capabilities);
        loop {
            let command = session.command();
            answer(session, &command.text().to_uppercase(), when);
        }
    })
}

fn answer(session: &mut Session, command: &str, when: When) {
    let is_change = CHANGES.iter().any(|change| command.contains(change));
    if command.contains("SELECT") || command.contains("EXAMINE") {
        session.examined(5);
    } else if command.contains("SEARCH") {
        let count = if command.contains("NOT ALL") {
            "0"
        } else {
            "1"
        };
        session.reply(&format!(
            "* ESEARCH (TAG \"{{tag}}\") UID COUNT {count}\r\n{{tag}} OK done\r\n"
        ));
    } else if command.contains("UID FETCH") {
        session.untagged("2 FETCH (UID 2 FLAGS (\\Flagged) RFC822.SIZE 9 INTERNALDATE \"01-Nov-2026 10:00:00 +0000\")");
        if when == When::WithCheck {
            session.untagged(ANOTHER);
        }
        if when == When::Between {
            // In one piece, so that it is there before anything else is asked.
            session.reply(&format!("{{tag}} OK done\r\n* {ANOTHER}\r\n"));
        } else {
            session.ok();
        }
    } else if command.contains("NOOP") {
        if matches!(when, When::WithChange | When::WithRefusal) {
            session.untagged(ANOTHER);
        }
        session.ok();
    } else if is_change && when == When::WithRefusal {
        session.no("not now");
    } else if command.contains("UID MOVE") || command.contains("UID EXPUNGE") {
        session.untagged("OK [COPYUID 3 2 9] moved");
        session.untagged("2 EXPUNGE");
        session.ok();
    } else if command.contains("UID COPY") {
        session.reply("{tag} OK [COPYUID 3 2 9] copied\r\n");
    } else {
        session.ok();
    }
}

#[expect(clippy::result_large_err, reason = "the error of the source itself")]
fn apply(server: &Fake, step: &Step) -> Result<Changed, Broken> {
    let source = ImapSource::new(crate::account(), settings(server.port()));
    runtime().block_on(source.apply(&Cx::new(), step))
}

fn changes(server: &Fake) -> usize {
    let commands = server.commands();
    let is_change = |one: &&String| CHANGES.iter().any(|change| one.contains(change));
    commands.iter().filter(is_change).count()
}

#[test]
fn change_in_a_folder_that_became_another_is_a_conflict() {
    for capabilities in [PLAIN, KEEPING] {
        for (step, name) in steps(&subject()) {
            let what = |when| format!("{name} {when:?} {capabilities}");
            let done = apply(&serve(capabilities, When::Never), &step);
            assert!(done.is_ok(), "{}: {done:?}", what(When::Never));
            // The flags that are asked for behind a refused change are told all the same.
            let refused = match step {
                Step::Mark { .. } => Effect::Unknown,
                _ => Effect::Nothing,
            };
            for (when, effect) in [
                (When::WithCheck, Effect::Nothing),
                (When::Between, Effect::Nothing),
                (When::WithRefusal, refused),
                (When::WithChange, Effect::Unknown),
            ] {
                let server = serve(capabilities, when);
                let broken = apply(&server, &step).unwrap_err();
                let got = (broken.fault.kind, broken.effect);
                assert_eq!(got, (FaultKind::Conflict, effect), "{}", what(when));
                if matches!(when, When::WithCheck | When::Between) {
                    assert_eq!(changes(&server), 0, "{}", what(when));
                }
                assert_eq!(server.connections(), 1, "{}", what(when));
            }
        }
    }
}

#[test]
fn read_in_a_folder_that_became_another_is_a_conflict() {
    // In the flight that opens it, and in one that finds it open.
    for first in [true, false] {
        let server = Fake::script(move |session| {
            session.log_in(PLAIN);
            let mut fetched = 0;
            loop {
                let command = session.command();
                if command.mentions("EXAMINE") {
                    session.examined(5);
                } else if command.mentions("UID FETCH") {
                    session.untagged("2 FETCH (UID 2 RFC822.SIZE 9)");
                    fetched += 1;
                    if first || fetched == 2 {
                        session.untagged(ANOTHER);
                    }
                    session.ok();
                } else {
                    session.ok();
                }
            }
        });
        let source = ImapSource::new(crate::account(), settings(server.port()));
        let (cx, folder, runtime) = (Cx::new(), inbox(), runtime());
        let uids = UidSet::range(Uid(2), Uid(2));
        let read = || {
            let found = source.summaries(&cx, &folder, UidValidity(7), &uids, Snippets::Without);
            runtime.block_on(found)
        };
        if !first {
            assert_eq!(read().unwrap().len(), 1);
        }
        assert_eq!(read().unwrap_err().kind, FaultKind::Conflict);
        // What follows begins anew, in a folder that is opened anew.
        let _ = read();
        let opened = server.commands();
        let opened = opened.iter().filter(|one| one.contains("EXAMINE"));
        assert_eq!(opened.count(), 2);
    }
}
