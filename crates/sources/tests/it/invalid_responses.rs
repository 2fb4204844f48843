//! Servers that claim what cannot be: more messages than a folder holds, numbers that no message
//! has, answers without end. Each is a fault, and none is taken for an empty folder or an empty
//! search.

use mail::{
    Condition, Cx, Fault, FaultKind, Found, MailSource as _, Query, Search, Snippets, UidSet,
    UidValidity,
};
use sources::imap::ImapSource;
use testkit::Fake;

use crate::{inbox, runtime, settings};

const EXTENDED: &str = "IMAP4rev1 ESEARCH";
const PARTIAL: &str = "IMAP4rev1 ESEARCH PARTIAL";
const PLAIN: &str = "IMAP4rev1";

/// What is said when the folder is opened.
const OF_FIVE: &str = "5 EXISTS|OK [UIDNEXT 6] x|OK [UIDVALIDITY 7] x";

/// A server that says these lines when a folder is opened and when it is searched; `TAG` is the
/// search's.
fn server(capabilities: &'static str, opened: &'static str, found: &'static str) -> Fake {
    Fake::script(move |session| {
        session.log_in(capabilities);
        loop {
            let command = session.command();
            let lines = if command.mentions("EXAMINE") {
                opened
            } else if command.mentions("SEARCH") {
                found
            } else {
                ""
            };
            for line in lines.split('|').filter(|line| !line.is_empty()) {
                let tag = format!("\"{}\"", command.tag);
                session.untagged(&line.replace("\"TAG\"", &tag));
            }
            session.ok();
        }
    })
}

fn search(server: &Fake, query: Query) -> Result<Found, Fault> {
    let source = ImapSource::new(crate::account(), settings(server.port()));
    let search = Search {
        folder: inbox(),
        query,
        below: None,
        limit: 3,
        snippets: Snippets::Without,
        most_matches: 20_000,
    };
    runtime().block_on(source.search(&Cx::new(), &search))
}

fn words() -> Query {
    Query {
        text: Some("x".to_owned()),
        ..Query::default()
    }
}

#[test]
fn search_that_finds_the_impossible_is_a_fault() {
    for (capabilities, found) in [
        (EXTENDED, "ESEARCH (TAG \"TAG\") UID ALL 1:4294967295"),
        (
            EXTENDED,
            "ESEARCH (TAG \"TAG\") UID COUNT 5 ALL 1:4294967295",
        ),
        (EXTENDED, "ESEARCH (TAG \"TAG\") UID COUNT 6 ALL 1:5"),
        (EXTENDED, "ESEARCH (TAG \"TAG\") UID COUNT 2 ALL 1:5"),
        (EXTENDED, "ESEARCH (TAG \"TAG\") UID COUNT 1 ALL 6"),
        (EXTENDED, "ESEARCH (TAG \"TAG\") UID COUNT 1 ALL 0"),
        (EXTENDED, "ESEARCH (TAG \"TAG\") UID COUNT many ALL 1"),
        (
            PARTIAL,
            "ESEARCH (TAG \"TAG\") UID COUNT 5 PARTIAL (-1:-3 1:5)",
        ),
        (
            PARTIAL,
            "ESEARCH (TAG \"TAG\") UID COUNT 5 PARTIAL (-1:-3 4294967295)",
        ),
        (PLAIN, "SEARCH 0 -1 99999999999"),
        (PLAIN, "SEARCH 1 2 3 4 5 1 2 3 4 5 6"),
        (PLAIN, "SEARCH 4294967295"),
        (PLAIN, "SEARCH 1|SEARCH two"),
    ] {
        let server = server(capabilities, OF_FIVE, found);
        let fault = search(&server, words()).unwrap_err();
        assert_eq!(fault.kind, FaultKind::Protocol, "{found}");
    }
}

#[test]
fn repeated_matches_count_once() {
    let server = server(PLAIN, OF_FIVE, "SEARCH 3 1 3|SEARCH 1 1 3");
    assert_eq!(search(&server, words()).unwrap().matches, 2);
}

#[test]
fn folder_whose_size_cannot_be_read_is_not_empty() {
    for opened in [
        "99999999999 EXISTS|OK [UIDVALIDITY 7] x",
        "-1 EXISTS|OK [UIDVALIDITY 7] x",
        "OK [UIDVALIDITY 7] x",
        "5 EXISTS|OK [UIDVALIDITY 0] x",
        "5 EXISTS|OK [UIDVALIDITY 99999999999] x",
    ] {
        for query in [Query::default(), words()] {
            let server = server(PLAIN, opened, "SEARCH");
            let fault = search(&server, query).unwrap_err();
            assert_eq!(fault.kind, FaultKind::Protocol, "{opened}");
        }
    }
}

#[test]
fn sift_of_billions_is_counted_from_its_ranges() {
    let everything = "ESEARCH (TAG \"TAG\") UID COUNT 4294967294 ALL 1:4294967294";
    let opened = "4294967295 EXISTS|OK [UIDNEXT 4294967295] x|OK [UIDVALIDITY 7] x";
    let server = server(EXTENDED, opened, everything);
    let source = ImapSource::new(crate::account(), settings(server.port()));
    let tests = [Condition::EVERYTHING];
    let sifted = runtime().block_on(source.sift(&Cx::new(), &inbox(), &tests));
    let sets = sifted.unwrap().sets;
    assert_eq!(sets[0].ranges(), [(1, 4_294_967_294)]);
    assert_eq!(sets[0].len(), 4_294_967_294);
}

#[test]
fn sift_answered_in_another_form_is_a_fault() {
    for found in [
        "ESEARCH UID ALL 1:2",
        "ESEARCH (TAG \"w999\") UID COUNT 2 ALL 1:2",
    ] {
        let server = server(EXTENDED, OF_FIVE, found);
        let source = ImapSource::new(crate::account(), settings(server.port()));
        let tests = [Condition::From("anna".to_owned())];
        let sifted = runtime().block_on(source.sift(&Cx::new(), &inbox(), &tests));
        assert_eq!(sifted.unwrap_err().kind, FaultKind::Protocol, "{found}");
    }
}

/// What comes of describing message 2 of five, and how many octets were read until then at least.
fn describe(line: &'static str, times: usize) -> Result<usize, Fault> {
    let server = Fake::script(move |session| {
        session.log_in(PLAIN);
        session.expect("EXAMINE");
        session.examined(5);
        session.expect("UID FETCH");
        let piece = format!("* {line}\r\n").repeat(1_000);
        for _ in 0..times.div_ceil(1_000) {
            session.send(piece.as_bytes());
        }
        session.untagged("2 FETCH (UID 2 RFC822.SIZE 9)");
        session.ok();
        session.stall();
    });
    let source = ImapSource::new(crate::account(), settings(server.port()));
    let (cx, folder) = (Cx::new(), inbox());
    let uids = UidSet::from_ranges([(2, 2)]);
    let found = source.summaries(&cx, &folder, UidValidity(7), &uids, Snippets::Without);
    runtime().block_on(found).map(|found| found.len())
}

#[test]
fn flood_is_a_fault_where_another_client_could_not_cause_it() {
    for (line, times, want) in [
        // Someone else marks 300,000 messages as read, or deletes 100,000.
        ("9 FETCH (FLAGS (\\Seen \\Recent))", 300_000, Ok(1)),
        ("OK still here", 300_000, Ok(1)),
        ("9 FETCH (FLAGS (\\Seen \\Recent))", 410_000, Err(())),
        ("2 FETCH (UID 2 FLAGS ())", 300_000, Err(())),
        ("1 EXPUNGE", 300_000, Err(())),
        ("OK [X-CODE] x", 300_000, Err(())),
        ("CAPABILITY A B C", 410_000, Err(())),
        ("LIST () \"/\" x", 410_000, Err(())),
    ] {
        let found = describe(line, times);
        match (&found, want) {
            (Ok(1), Ok(1)) => {}
            (Err(fault), Err(())) if fault.kind == FaultKind::Protocol => {}
            _ => panic!("{line}: {found:?}"),
        }
    }
}

#[test]
fn vanished_messages_beyond_the_folder_are_a_fault() {
    let fault = describe("VANISHED 1:4294967295", 1).map(|_| ());
    // It came in the flight that opened the folder, and may be of the one before it.
    assert!(fault.is_ok());
    let server = Fake::script(|session| {
        session.log_in(PLAIN);
        session.expect("EXAMINE");
        session.examined(5);
        session.expect("FETCH");
        session.untagged("VANISHED 1:4294967295");
        session.ok();
        session.stall();
    });
    let fault = search(&server, Query::default()).unwrap_err();
    assert_eq!(fault.kind, FaultKind::Protocol);
}

#[test]
fn unreadable_folder_line_is_counted_as_unusable() {
    let server = Fake::script(|session| {
        session.log_in(PLAIN);
        session.expect("LIST");
        session.untagged("LIST (\\HasNoChildren) \"/\" INBOX");
        session.untagged("LIST (\\HasNoChildren \"/\" torn");
        session.ok();
        session.stall();
    });
    let source = ImapSource::new(crate::account(), settings(server.port()));
    let found = runtime().block_on(source.folders(&Cx::new())).unwrap();
    assert_eq!((found.folders.len(), found.unusable), (1, 1));
}
