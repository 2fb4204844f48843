//! What a server's words leave open is not called done, and not called nothing either.

use mail::{Effect, FaultKind, Removal};

use crate::effects::{OFFERED, WITNESS, apply, changes, server, steps, subject};

/// No word of where a message went is ever said there.
const SILENT: &str = "IMAP4rev1 LITERAL+ ESEARCH SEARCHRES MOVE";

#[test]
fn without_landings_a_move_is_believed_when_this_message_went() {
    for (index, lines, want) in [
        (1, "ONE OK done", true),
        (1, "* 1 EXPUNGE|* 2 EXPUNGE|ONE OK done", true),
        (1, "* 2 EXPUNGE|ONE OK done", false),
        (2, "* 2 EXPUNGE|ONE OK done", true),
        (2, "* 3 EXPUNGE|* 1 EXPUNGE|* 1 EXPUNGE|ONE OK done", true),
        (2, "* VANISHED 2|ONE OK done", true),
        (2, "* 1 EXPUNGE|ONE OK done", false),
        (2, "* 1 EXPUNGE|* 2 EXPUNGE|ONE OK done", false),
        (2, "* VANISHED 1|ONE OK done", false),
        (2, "ONE OK done", false),
    ] {
        let fake = server(SILENT, "", move |session, text| {
            let told = text.contains("UID COPY") || text.contains("UID MOVE");
            if told {
                let tag = text.split(' ').next().unwrap();
                let lines = lines.replace("ONE", tag).replace('|', "\r\n");
                session.send(format!("{lines}\r\n").as_bytes());
            }
            told
        });
        let outcome = apply(&fake, &steps(&subject())[index].0);
        let got = outcome.map(drop).map_err(|broken| broken.effect);
        let want = want.then_some(()).ok_or(Effect::Unknown);
        assert_eq!(got, want, "{index} {lines}");
    }
}

#[test]
fn a_refusal_after_the_deed_is_not_nothing() {
    for index in [1, 2] {
        for (said, reply, want) in [
            ("", "NO [OVERQUOTA] full", Effect::Nothing),
            ("* 1 EXPUNGE\r\n", "NO [OVERQUOTA] full", Effect::Nothing),
            (
                "* OK [COPYUID 9 2 5] copied\r\n",
                "NO [OVERQUOTA] full",
                Effect::Unknown,
            ),
            ("* OK [COPYUID 9 2 5] copied\r\n", "BAD", Effect::Unknown),
            ("* OK [COPYUID what] copied\r\n", "NO no", Effect::Unknown),
            ("", "NO [COPYUID 9 2 5] no", Effect::Unknown),
            ("* 2 EXPUNGE\r\n", "NO no", Effect::Unknown),
        ] {
            let fake = server(OFFERED, "", move |session, text| {
                let told = text.contains("UID COPY") || text.contains("UID MOVE");
                if told {
                    session.send(said.as_bytes());
                    session.reply(&format!("{{tag}} {reply}\r\n"));
                }
                told
            });
            let broken = apply(&fake, &steps(&subject())[index].0).unwrap_err();
            assert_eq!(broken.effect, want, "{index} {said} {reply}");
            assert_eq!(changes(&fake).len(), 1, "nothing is tried again");
        }
    }
}

#[test]
fn a_server_that_finds_nothing_and_takes_something_is_not_asked_again() {
    let fake = server(OFFERED, "", |session, text| {
        if text.contains("(SAVE") {
            let tag = text.split(' ').next().unwrap().to_owned();
            session.untagged(&format!("ESEARCH (TAG \"{tag}\") UID COUNT 0"));
            session.ok();
        } else if text.contains("UID COPY") {
            session.reply("{tag} OK [COPYUID 9 2 5] done\r\n");
        } else {
            return false;
        }
        true
    });
    let broken = apply(&fake, &steps(&subject())[1].0).unwrap_err();
    assert_eq!(broken.effect, Effect::Unknown);
    assert_eq!(changes(&fake).len(), 1);
}

/// The check found it, or nobody said that it did not: that it could not be described does not make it missing.
#[test]
fn a_message_that_cannot_be_described_is_not_missing() {
    const PLAIN: &str = "IMAP4rev1 LITERAL+ UIDPLUS MOVE";
    const FLAGGED: &str = "IMAP4rev1 LITERAL+ ESEARCH SEARCHRES";
    for capabilities in [OFFERED, SILENT, PLAIN, FLAGGED] {
        for index in 0..4 {
            for answer in [
                "{tag} NO no\r\n",
                "{tag} BAD what\r\n",
                "* 2 FETCH (UID 2 FLAGS (\\Flagged\r\n{tag} OK done\r\n",
                "{tag} OK done\r\n",
            ] {
                let fake = server(capabilities, "", move |session, text| {
                    // Not the look that is taken when the folder is opened.
                    let described = text.contains("BODY.PEEK") || text.contains("(UID FLAGS)");
                    if described {
                        session.reply(answer);
                    } else if text.contains("UID EXPUNGE") {
                        session.ok();
                        return true;
                    }
                    described
                });
                let broken = apply(&fake, &steps(&subject())[index].0).unwrap_err();
                if broken.fault.kind == FaultKind::NotOffered {
                    continue;
                }
                let got = (broken.fault.kind, broken.effect);
                let want = (FaultKind::Protocol, Effect::Unknown);
                assert_eq!(got, want, "{capabilities} {index} {answer}");
            }
        }
    }
}

#[test]
fn one_that_was_flagged_before_may_go_though_it_is_not_flagged_again() {
    for (flag, want) in [
        ("\\Flagged", Effect::Nothing),
        ("\\Deleted", Effect::Unknown),
    ] {
        let fake = server(OFFERED, "", move |session, text| {
            if text.contains("RFC822.SIZE") {
                let witness = WITNESS.replace("\\Flagged", flag);
                session.send(format!("{witness}\r\n").as_bytes());
                session.ok();
            } else if text.contains("UID STORE") {
                session.no("no");
            } else if text.contains("UID EXPUNGE") {
                session.ok();
            } else {
                return false;
            }
            true
        });
        let broken = apply(&fake, &steps(&subject())[3].0).unwrap_err();
        assert_eq!(broken.effect, want, "{flag}");
    }
}

/// As Dovecot does while others work in the folder: the flag is set, and others go.
#[test]
fn a_removal_among_others_is_that_of_this_message() {
    for (lines, want) in [
        ("* 2 FETCH (UID 2 FLAGS (\\Deleted))|* 1 EXPUNGE", None),
        (
            "* 2 FETCH (UID 2 FLAGS (\\Deleted))|* 1 EXPUNGE|* 1 EXPUNGE",
            Some(Removal::Gone),
        ),
        ("* 2 EXPUNGE|* 1 FETCH (UID 2 FLAGS (\\Deleted))", None),
    ] {
        let fake = server(OFFERED, "", move |session, text| {
            let expunge = text.contains("UID EXPUNGE");
            if expunge {
                let lines = lines.replace('|', "\r\n");
                session.send(format!("{lines}\r\n").as_bytes());
                session.ok();
            }
            expunge
        });
        let outcome = apply(&fake, &steps(&subject())[3].0);
        match outcome {
            Ok(changed) => assert_eq!(changed.removal, want, "{lines}"),
            Err(broken) => {
                assert_eq!((broken.effect, want), (Effect::Unknown, None), "{lines}");
                assert_eq!(changes(&fake).len(), 2);
            }
        }
    }
}
