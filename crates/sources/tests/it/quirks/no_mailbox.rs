//! Servers that take a login and open nothing behind it.

use mail::{Cx, FaultKind, MailSource as _, Query};
use testkit::Fake;

use super::{find, run, search, serve, source};

const REFUSAL: &str = "User is authenticated but not connected.";

/// Sessions up to this number are connected to nothing.
fn exchange(unconnected: usize) -> Fake {
    Fake::script(move |session| {
        session.log_in("IMAP4 IMAP4rev1 AUTH=PLAIN SASL-IR UIDPLUS MOVE ID UNSELECT CHILDREN IDLE NAMESPACE LITERAL+");
        loop {
            let command = session.command();
            let refused = session.number() < unconnected && !command.mentions(" ID ");
            match refused {
                true => session.bad(REFUSAL),
                false => serve(session, &command),
            }
        }
    })
}

#[test]
fn another_session_is_tried_once() {
    let fake = exchange(1);
    let source = source(&fake);
    assert_eq!(find(&source, &search(Query::default())).unwrap().matches, 1);
    // The one that was of no use is not lent again.
    run(source.folders(&Cx::new())).unwrap();
    let refused = fake.commands();
    let logins = refused.iter().filter(|one| one.contains("AUTHENTICATE"));
    assert_eq!(logins.count(), 2, "{refused:?}");
}

#[test]
fn then_it_is_told_by_its_name() {
    let fake = exchange(usize::MAX);
    let source = source(&fake);
    for _ in 0..2 {
        let fault = find(&source, &search(Query::default())).unwrap_err();
        assert_eq!(fault.kind, FaultKind::NoMailbox);
        assert!(fault.kind.retryable());
        assert_eq!(fault.said.unwrap().bytes(), REFUSAL.as_bytes());
    }
    let fault = run(source.folders(&Cx::new())).unwrap_err();
    assert_eq!(fault.kind, FaultKind::NoMailbox);
    let commands = fake.commands();
    let logins = commands.iter().filter(|one| one.contains("AUTHENTICATE"));
    assert_eq!(logins.count(), 6, "two for each question");
}

#[test]
fn a_crowd_is_no_wrong_command() {
    for said in [
        "NO Request is throttled. Suggested Backoff Time: 299961 milliseconds",
        "BAD Request is throttled. Suggested Backoff Time: 89117 milliseconds",
        "NO [OVERQUOTA] Account exceeded command or bandwidth limits. (Failure)",
        "NO [LIMIT] FETCH Rate limit hit.",
    ] {
        let fake = Fake::script(move |session| {
            session.log_in("IMAP4rev1");
            loop {
                let command = session.command();
                match command.mentions("FETCH") {
                    true => session.reply(&format!("{{tag}} {said}\r\n")),
                    false => serve(session, &command),
                }
            }
        });
        let fault = find(&source(&fake), &search(Query::default())).unwrap_err();
        assert_eq!(fault.kind, FaultKind::Busy, "{said}");
    }
}

#[test]
fn half_an_answer_is_none() {
    let fake = Fake::script(|session| {
        session.log_in("IMAP4rev1 MESSAGELIMIT=1000");
        loop {
            let command = session.command();
            match command.mentions("SEARCH") {
                true => session.reply("* SEARCH 1\r\n{tag} OK [MESSAGELIMIT 1000 23007] SEARCH completed with 1000 partial results\r\n"),
                false => serve(session, &command),
            }
        }
    });
    let fault = find(&source(&fake), &super::about("x")).unwrap_err();
    assert_eq!(fault.kind, FaultKind::Denied);
}
