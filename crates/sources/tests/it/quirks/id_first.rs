//! Servers that open nothing before they know who asks.

use mail::{Cx, FaultKind, MailSource as _, Query};
use testkit::Fake;
use testkit::fake::Session;

use super::{find, run, search, serve, source};

/// How such a server treats a client.
#[derive(Clone, Copy)]
struct Manner {
    greeting: &'static str,
    capabilities: &'static str,
}

const COREMAIL: Manner = Manner {
    greeting: "Coremail System IMap Server Ready(163com[x])",
    capabilities: "IMAP4rev1 XLIST SPECIAL-USE ID LITERAL+ UIDPLUS",
};

/// Greets, and answers until somebody is logged in.
fn log_in(session: &mut Session, manner: Manner) {
    session.greet(&format!("* OK {}\r\n", manner.greeting));
    loop {
        let command = session.command();
        if command.mentions("CAPABILITY") {
            session.untagged(&format!("CAPABILITY {}", manner.capabilities));
            session.ok();
        } else {
            session.ok();
            return;
        }
    }
}

/// Refuses to open anything until it was sent `ID`, and hears nothing that comes in one piece with that.
fn wary(manner: Manner) -> Fake {
    Fake::script(move |session| {
        log_in(session, manner);
        let mut known = false;
        loop {
            let command = session.command();
            let name = command
                .text()
                .split(' ')
                .nth(1)
                .unwrap_or_default()
                .to_owned();
            match name.as_str() {
                "ID" => {
                    assert!(command.mentions("(\"name\" \"mailwarden\" \"version\" \""));
                    session.drop_unread();
                    known = true;
                    session.untagged("ID (\"name\" \"Coremail Imap\" \"vendor\" \"Mailtech\")");
                    session.ok();
                }
                "EXAMINE" | "SELECT" if !known => {
                    session.no(&format!(
                        "{name} Unsafe Login. Please contact kefu@188.com for help"
                    ));
                }
                "STATUS" | "LIST" if !known => session.no("Unsafe Login"),
                _ => serve(session, &command),
            }
        }
    })
}

#[test]
fn who_wants_to_know_us_first_is_told_alone() {
    let fake = wary(COREMAIL);
    let source = source(&fake);
    assert_eq!(find(&source, &search(Query::default())).unwrap().matches, 1);
    run(source.folders(&Cx::new())).unwrap();
    // On an idle session again, and on one that a verification made.
    run(source.verify(&Cx::new())).unwrap();
    assert_eq!(find(&source, &search(Query::default())).unwrap().matches, 1);
    let commands = fake.commands();
    let logins = commands.iter().filter(|one| one.contains("LOGIN")).count();
    let ids = commands.iter().filter(|one| one.contains(" ID (")).count();
    assert_eq!((logins, ids), (2, 2), "once for each session: {commands:?}");
}

#[test]
fn who_refuses_for_want_of_it_is_told_on_a_new_session() {
    let fake = wary(Manner {
        greeting: "ready",
        capabilities: "IMAP4rev1",
    });
    let source = source(&fake);
    assert_eq!(find(&source, &search(Query::default())).unwrap().matches, 1);
    let logins = fake.commands();
    let logins = logins.iter().filter(|one| one.contains("LOGIN")).count();
    assert_eq!(logins, 2);
}

#[test]
fn who_is_not_content_with_it_is_not_asked_for_ever() {
    let fake = Fake::script(|session| {
        log_in(session, COREMAIL);
        loop {
            let command = session.command();
            match command.mentions("EXAMINE") {
                true => session.no("EXAMINE Unsafe Login. Please contact kefu@188.com for help"),
                false => session.ok(),
            }
        }
    });
    let fault = find(&source(&fake), &search(Query::default())).unwrap_err();
    assert_eq!(fault.kind, FaultKind::NoMailbox);
    let said = fault.said.unwrap();
    assert!(said.bytes().starts_with(b"EXAMINE Unsafe Login"));
    let opened = fake.commands();
    let opened = opened.iter().filter(|one| one.contains("EXAMINE")).count();
    assert_eq!(opened, 2, "once, and once more on a new session");
}

#[test]
fn elsewhere_it_costs_nothing() {
    let fake = Fake::script(|session| {
        session.log_in("IMAP4rev1 ID");
        loop {
            let command = session.command();
            serve(session, &command);
        }
    });
    let source = source(&fake);
    let cx = Cx::new();
    let search = search(Query::default());
    run(source.search(&cx, &search)).unwrap();
    // Connection, greeting, login, folder with ID, messages.
    assert_eq!(cx.round_trips(), 5);
    let commands = fake.commands();
    let place = |word: &str| commands.iter().position(|one| one.contains(word));
    assert_eq!(place(" ID ("), Some(1));
    assert_eq!(place("EXAMINE"), Some(2));
}
