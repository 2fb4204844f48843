//! Changes that were not reported as done: what is said of them is what became of them, or that it is not known.

use std::time::Duration;

use mail::{
    AccountId, Broken, Changed, Cx, Effect, FaultKind, FolderName, MailSource as _, MessageRef,
    SourceKind, Step, Subject, Uid, UidValidity,
};
use sources::imap::ImapSource;
use testkit::fake::Session;
use testkit::{Cut, Fake};

use crate::ground::{Ground, flags};
use crate::{inbox, runtime, settings};

pub(crate) fn steps(subject: &Subject) -> [(Step, &'static str); 4] {
    let subject = || subject.clone();
    let to = || FolderName::new("Target").unwrap();
    [
        (
            Step::Mark {
                subject: subject(),
                add: flags(&["\\Seen"]),
                remove: flags(&["\\Flagged"]),
            },
            "UID STORE",
        ),
        (
            Step::Copy {
                subject: subject(),
                to: to(),
            },
            "UID COPY",
        ),
        (
            Step::Move {
                subject: subject(),
                to: to(),
            },
            "UID MOVE",
        ),
        (
            Step::Remove {
                subject: subject(),
                what: mail::Removed::Message,
            },
            "UID STORE",
        ),
    ]
}

#[test]
fn a_lost_answer_is_unknown_whatever_became_of_it() {
    for cut in [Cut::Reset, Cut::Close] {
        for index in 0..4 {
            // Before the change reaches the server, and after.
            for reached in [false, true] {
                let ground = Ground::new();
                ground.warm_up();
                let before = ground.lying("INBOX");
                let (step, command) = steps(&ground.subject(2))[index].clone();
                match reached {
                    true => ground
                        .proxy
                        .cut_reply(cut, move |line| line.contains(command)),
                    false => ground
                        .proxy
                        .cut_before(cut, move |line| line.contains(command)),
                }
                let broken = ground.apply(&step).0.unwrap_err();
                assert_eq!(broken.effect, Effect::Unknown, "{command} {reached}");
                if !reached {
                    assert_eq!(ground.lying("INBOX"), before);
                    assert!(ground.lying("Target").is_empty());
                }
                // The next one goes on another connection, and does not repeat this one.
                ground.proxy.disarm();
                ground.warm_up();
                assert!(ground.lying("Target").len() <= 1);
            }
        }
    }
}

#[test]
fn a_connection_that_ended_while_it_was_idle_costs_nothing() {
    for index in 0..4 {
        let ground = Ground::new();
        ground.warm_up();
        ground.proxy.cut_all(Cut::Close);
        ground
            .proxy
            .await_stats("the connection to be gone", |stats| stats.live == 0);
        let (step, command) = steps(&ground.subject(2))[index].clone();
        ground
            .apply(&step)
            .0
            .unwrap_or_else(|broken| panic!("{command}: {broken:?}"));
    }
}

#[test]
fn before_the_change_is_sent_nothing_was_done() {
    for index in 0..4 {
        let ground = Ground::new();
        ground.proxy.cut_before(Cut::Reset, |line| {
            line.contains("SELECT") || line.contains("EXAMINE")
        });
        let (step, _) = steps(&ground.subject(2))[index].clone();
        let broken = ground.apply(&step).0.unwrap_err();
        assert_eq!(
            (broken.fault.kind, broken.effect),
            (FaultKind::Lost, Effect::Nothing)
        );
    }
}

#[test]
fn a_dropped_change_tears_its_connection() {
    let ground = Ground::new();
    ground.warm_up();
    ground.proxy.stall();
    let (step, _) = steps(&ground.subject(2))[2].clone();
    let cx = Cx::new();
    let waited = ground.runtime.block_on(async {
        let change = ground.source.apply(&cx, &step);
        tokio::time::timeout(Duration::from_millis(50), change).await
    });
    assert!(waited.is_err());
    ground.proxy.resume();
    ground
        .proxy
        .await_stats("the connection to be torn", |stats| stats.live == 0);
}

pub(crate) const OFFERED: &str = "IMAP4rev1 LITERAL+ ESEARCH SEARCHRES UIDPLUS MOVE";
pub(crate) const WITNESS: &str = "* 2 FETCH (UID 2 FLAGS (\\Flagged) RFC822.SIZE 42 INTERNALDATE \"17-Jul-1996 02:44:25 +0000\")";

/// A server of one folder with message 2 in it, of 42 octets. `answer` may answer a command in its own way.
pub(crate) fn server(
    capabilities: &'static str,
    select: &'static str,
    answer: impl Fn(&mut Session, &str) -> bool + Send + Sync + 'static,
) -> Fake {
    Fake::script(move |session| {
        session.log_in(capabilities);
        loop {
            let command = session.command();
            let text = command.text();
            let tag = command.tag.clone();
            if answer(session, &text) {
                continue;
            }
            if text.contains(" SELECT") || text.contains("EXAMINE") {
                session.untagged("OK [PERMANENTFLAGS (\\Seen \\Flagged \\Deleted \\*)] ok");
                session.untagged("3 EXISTS");
                session.untagged("OK [UIDVALIDITY 7] ok");
                session.reply(&format!("{{tag}} OK {select} done\r\n"));
                continue;
            }
            if text.contains("(SAVE") {
                let count = u8::from(!text.contains("NOT ALL"));
                session.untagged(&format!("ESEARCH (TAG \"{tag}\") UID COUNT {count}"));
            } else if text.contains("RFC822.SIZE") {
                session.send(format!("{WITNESS}\r\n").as_bytes());
            } else if text.contains("UID EXPUNGE") {
                session.untagged("2 EXPUNGE");
            }
            session.ok();
        }
    })
}

pub(crate) fn subject() -> Subject {
    let at = MessageRef {
        source: SourceKind::Imap,
        account: AccountId::new("a").unwrap(),
        folder: inbox(),
        uidvalidity: UidValidity(7),
        uid: Uid(2),
    };
    Subject { at, size: Some(42) }
}

pub(crate) fn apply(fake: &Fake, step: &Step) -> Result<Changed, Box<Broken>> {
    let mut settings = settings(fake.port());
    settings.timeouts.socket = Duration::from_millis(300);
    let source = ImapSource::new(crate::account(), settings);
    let outcome = runtime().block_on(source.apply(&Cx::new(), step));
    outcome.map_err(Box::new)
}

/// The commands that change anything, as the server got them.
pub(crate) fn changes(fake: &Fake) -> Vec<String> {
    let all = fake.commands();
    let some = all.iter().filter_map(|line| {
        let (_, command) = line.split_once(' ')?;
        ["UID STORE", "UID COPY", "UID MOVE", "UID EXPUNGE"]
            .iter()
            .any(|name| command.starts_with(name))
            .then(|| command.to_owned())
    });
    some.collect()
}

#[test]
fn refusals_change_nothing_and_say_why() {
    use FaultKind::{
        Busy, Denied, NoSuchMessage, NoSuchTarget, OverQuota, ReadOnly, Rejected, TooLarge,
    };
    for (index, reply, want) in [
        (0, "NO no", Denied),
        (0, "NO [NOPERM] no", ReadOnly),
        (0, "BAD what", Rejected),
        (1, "NO [TRYCREATE] no", NoSuchTarget),
        (1, "NO [NONEXISTENT] no", NoSuchTarget),
        (1, "NO Mailbox does not exist", NoSuchTarget),
        (1, "NO message does not exist", Denied),
        (1, "NO [OVERQUOTA] full", OverQuota),
        (1, "NO [LIMIT] no", TooLarge),
        (2, "NO [OVERQUOTA] full", OverQuota),
        (2, "NO [EXPUNGEISSUED] gone", NoSuchMessage),
        (2, "NO [INUSE] later", Busy),
        (2, "BAD what", Rejected),
        (3, "NO no", Denied),
    ] {
        let fake = server(OFFERED, "[READ-WRITE]", move |session, text| {
            let changes = ["UID STORE", "UID COPY", "UID MOVE"];
            let refused = changes.iter().any(|name| text.contains(name));
            if refused {
                session.reply(&format!("{{tag}} {reply}\r\n"));
            } else if text.contains("UID EXPUNGE") {
                session.ok();
                return true;
            }
            refused
        });
        let broken = apply(&fake, &steps(&subject())[index].0).unwrap_err();
        let got = (broken.fault.kind, broken.effect);
        assert_eq!(got, (want, Effect::Nothing), "{index} {reply}");
        assert_eq!(broken.before.unwrap().size, Some(42));
    }
}

#[test]
fn what_ends_a_connection_leaves_the_outcome_open() {
    for index in 0..4 {
        for ending in [
            "* BYE tired\r\n",
            "w99 OK stray\r\n",
            "* 1 FETCH (BODY[] {99999999999}\r\n",
            "",
        ] {
            let fake = server(OFFERED, "", move |session, text| {
                let changes = ["UID STORE", "UID COPY", "UID MOVE"];
                if changes.iter().any(|name| text.contains(name)) {
                    session.send(ending.as_bytes());
                    session.stall();
                }
                false
            });
            let broken = apply(&fake, &steps(&subject())[index].0).unwrap_err();
            assert_eq!(broken.effect, Effect::Unknown, "{index} {ending:?}");
            assert_eq!(
                broken.before.unwrap().size,
                Some(42),
                "what was told is kept"
            );
            assert_eq!(fake.connections(), 1, "nothing is tried again");
        }
    }
}

#[test]
fn half_a_mark_is_taken_back() {
    for (refused, back, again, effect) in [
        (
            "-FLAGS",
            "UID STORE 2 -FLAGS (\\Seen)",
            "OK",
            Effect::Nothing,
        ),
        (
            "+FLAGS",
            "UID STORE 2 +FLAGS (\\Flagged)",
            "OK",
            Effect::Nothing,
        ),
        (
            "-FLAGS",
            "UID STORE 2 -FLAGS (\\Seen)",
            "NO",
            Effect::Unknown,
        ),
    ] {
        let fake = server(OFFERED, "", move |session, text| {
            if text.contains("STORE $") && text.contains(refused) {
                session.no("no");
                return true;
            }
            if text.contains("STORE 2") {
                session.reply(&format!("{{tag}} {again} x\r\n"));
                return true;
            }
            false
        });
        let broken = apply(&fake, &steps(&subject())[0].0).unwrap_err();
        assert_eq!(
            (broken.fault.kind, broken.effect),
            (FaultKind::Denied, effect)
        );
        assert_eq!(changes(&fake).last().unwrap(), back);
    }
}

#[test]
fn a_message_that_cannot_be_expunged_is_not_left_flagged() {
    for (before, again, effect, want) in [
        (
            "\\Flagged",
            "OK",
            Effect::Nothing,
            Some("UID STORE 2 -FLAGS (\\Deleted)"),
        ),
        (
            "\\Flagged",
            "NO",
            Effect::Unknown,
            Some("UID STORE 2 -FLAGS (\\Deleted)"),
        ),
        ("\\deleted", "OK", Effect::Nothing, None),
    ] {
        let fake = server(OFFERED, "", move |session, text| {
            if text.contains("RFC822.SIZE") {
                let witness = WITNESS.replace("\\Flagged", before);
                session.send(format!("{witness}\r\n").as_bytes());
                session.ok();
            } else if text.contains("UID EXPUNGE") {
                session.no("no");
            } else if text.contains("-FLAGS") {
                session.reply(&format!("{{tag}} {again} x\r\n"));
            } else {
                return false;
            }
            true
        });
        let broken = apply(&fake, &steps(&subject())[3].0).unwrap_err();
        assert_eq!(
            (broken.fault.kind, broken.effect),
            (FaultKind::Denied, effect)
        );
        let last = changes(&fake).pop();
        let back = last.filter(|command| command.contains("-FLAGS"));
        assert_eq!(back.as_deref(), want);
    }
}

#[test]
fn a_server_that_does_not_keep_its_searches_is_asked_first() {
    for lie in [
        |session: &mut Session, _: &str| session.bad("no such option"),
        |session: &mut Session, tag: &str| {
            session.untagged(&format!("ESEARCH (TAG \"{tag}\") UID COUNT 0"));
            session.ok();
        },
    ] {
        let fake = server(OFFERED, "", move |session, text| {
            if text.contains("(SAVE") {
                let tag = text.split(' ').next().unwrap().to_owned();
                lie(session, &tag);
                return true;
            }
            if text.contains("UID COPY 2") {
                session.reply("{tag} OK [COPYUID 9 2 5] done\r\n");
                return true;
            }
            false
        });
        let changed = apply(&fake, &steps(&subject())[1].0).unwrap();
        assert_eq!(changed.landed.unwrap().uid, Uid(5));
        let sent = changes(&fake);
        assert_eq!(sent, ["UID COPY $ \"Target\"", "UID COPY 2 \"Target\""]);
    }
}

#[test]
fn words_that_do_not_fit_are_doubted() {
    for (index, lines, want) in [
        (1, "ONE OK [COPYUID 9 2 5] done", Some(Some(5))),
        (1, "ONE OK done", None),
        (1, "* 2 EXPUNGE|ONE OK done", None),
        (1, "ONE OK [COPYUID 9 3 5] done", None),
        (1, "ONE OK [COPYUID 9 2:3 5:6] done", None),
        (
            2,
            "* OK [COPYUID 9 2 5] moved|* 2 EXPUNGE|ONE OK done",
            Some(Some(5)),
        ),
        (2, "* 2 EXPUNGE|ONE OK [COPYUID 9 2 5] done", Some(Some(5))),
        (2, "* 2 EXPUNGE|ONE OK done", None),
        (2, "ONE OK done", None),
        (3, "ONE OK done", None),
        (3, "* 2 EXPUNGE|ONE OK done", Some(None)),
        (3, "* VANISHED 2|ONE OK done", Some(None)),
        (3, "* 1 EXPUNGE|* 1 EXPUNGE|ONE OK done", Some(None)),
        // Others went, of whom somebody else knows why.
        (3, "* 1 EXPUNGE|ONE OK done", None),
        (3, "* 3 EXPUNGE|ONE OK done", None),
        (3, "* 1 EXPUNGE|* 2 EXPUNGE|ONE OK done", None),
        (3, "* VANISHED 1,3|ONE OK done", None),
        (3, "* 2 EXPUNGE|ONE NO no", None),
    ] {
        let fake = server(OFFERED, "", move |session, text| {
            let changes = ["UID COPY", "UID MOVE", "UID EXPUNGE"];
            let told = changes.iter().any(|name| text.contains(name));
            if told {
                let tag = text.split(' ').next().unwrap();
                let lines = lines.replace("ONE", tag).replace('|', "\r\n");
                session.send(format!("{lines}\r\n").as_bytes());
            }
            told
        });
        let outcome = apply(&fake, &steps(&subject())[index].0);
        let got = match &outcome {
            Ok(changed) => Some(changed.landed.map(|at| at.uid.0)),
            Err(broken) => {
                assert_eq!(broken.effect, Effect::Unknown, "{lines}");
                None
            }
        };
        assert_eq!(got, want, "{lines}");
    }
}

#[test]
fn what_was_said_before_the_connection_ended_counts() {
    for (reply, want) in [
        ("OK [COPYUID 9 2 5] done", Ok(Some(5))),
        ("NO [OVERQUOTA] full", Err(Effect::Nothing)),
    ] {
        let fake = server(OFFERED, "", move |session, text| {
            if text.contains("UID COPY") {
                session.reply(&format!("{{tag}} {reply}\r\n"));
                session.close();
            }
            false
        });
        let outcome = apply(&fake, &steps(&subject())[1].0);
        let landed = outcome.map(|changed| changed.landed.map(|at| at.uid.0));
        assert_eq!(landed.map_err(|broken| broken.effect), want, "{reply}");
    }
}

#[test]
fn a_search_without_an_answer_is_no_check() {
    for (size, want) in [(42, Ok(())), (41, Err(Effect::Unknown))] {
        let fake = server(OFFERED, "", move |session, text| {
            if text.contains("(SAVE") {
                session.ok();
                return true;
            }
            if text.contains("UID COPY") {
                session.reply("{tag} OK [COPYUID 9 2 5] done\r\n");
                return true;
            }
            if text.contains("RFC822.SIZE") && text.contains("FLAGS") {
                let witness = WITNESS.replace("42", &size.to_string());
                // It was the right one when the folder was opened.
                let selected = session.number() == 0 && !text.contains("BODY");
                let witness = if selected {
                    WITNESS.to_owned()
                } else {
                    witness
                };
                session.send(format!("{witness}\r\n").as_bytes());
                session.ok();
                return true;
            }
            false
        });
        let outcome = apply(&fake, &steps(&subject())[1].0);
        assert_eq!(outcome.map(drop).map_err(|broken| broken.effect), want);
    }
}

#[test]
fn a_read_only_answer_is_believed() {
    let fake = server(OFFERED, "[READ-ONLY]", |_, _| false);
    for index in [0, 2, 3] {
        let broken = apply(&fake, &steps(&subject())[index].0).unwrap_err();
        assert_eq!(
            (broken.fault.kind, broken.effect),
            (FaultKind::ReadOnly, Effect::Nothing)
        );
    }
    assert!(changes(&fake).is_empty());
}
