//! Servers that answer what was not asked, or not as they promised: an error or a true answer, never an empty one.

use mail::{
    Condition, Cx, Fault, FaultKind, MailSource as _, Sifted, Snippets, Summary, Uid, UidSet,
    UidValidity,
};
use sources::imap::ImapSource;
use testkit::Fake;
use testkit::fake::Session;

use crate::{inbox, runtime, settings};

const EXTENDED: &str = "IMAP4rev1 ESEARCH LITERAL+";
const PLAIN: &str = "IMAP4rev1 LITERAL+";

/// A folder of five messages; two tests are asked, and `answer` is told their tags. With the number of searches it took.
fn sift(
    capabilities: &'static str,
    answer: impl Fn(&mut Session, [&str; 2]) + Send + Sync + 'static,
) -> (Result<Sifted, Fault>, usize) {
    let server = Fake::script(move |session| {
        session.log_in(capabilities);
        session.expect("EXAMINE");
        session.examined(5);
        let (one, two) = (session.command(), session.command());
        answer(session, [&one.tag, &two.tag]);
        // Whoever is asked again, one by one, tells the truth.
        loop {
            let command = session.command();
            match command.mentions("RETURN") {
                true => session.bad("no"),
                false if command.mentions("anna") => session.untagged("SEARCH 2 4"),
                false => session.untagged("SEARCH 1"),
            }
            session.ok();
        }
    });
    let source = ImapSource::new(crate::account(), settings(server.port()));
    let tests = ["anna", "bob"].map(|word| Condition::From(word.to_owned()));
    let found = runtime().block_on(source.sift(&Cx::new(), &inbox(), &tests));
    let searches = server
        .commands()
        .iter()
        .filter(|one| one.contains("SEARCH"))
        .count();
    (found, searches)
}

fn told(session: &mut Session, lines: &str, [one, two]: [&str; 2]) {
    let lines = lines.replace("ONE", one).replace("TWO", two);
    let lines: Vec<&str> = lines.split('|').collect();
    session.send(format!("{}\r\n", lines.join("\r\n")).as_bytes());
}

#[test]
fn answers_find_their_tests_or_are_asked_for_again() {
    let truth = [
        UidSet::from_ranges([(2, 2), (4, 4)]),
        UidSet::range(Uid(1), Uid(1)),
    ];
    for (capabilities, lines, want) in [
        // In any order by their tags; by their places in one.
        (
            EXTENDED,
            "* ESEARCH (TAG \"TWO\") UID COUNT 1 ALL 1|TWO OK|* ESEARCH (TAG \"ONE\") UID COUNT 2 ALL 2,4|ONE OK",
            2,
        ),
        (
            EXTENDED,
            "* ESEARCH (TAG \"ONE\") UID COUNT 2 ALL 2,4|* ESEARCH (TAG \"TWO\") UID COUNT 1 ALL 1|ONE OK|TWO OK",
            2,
        ),
        (PLAIN, "* SEARCH 2 4|ONE OK|* SEARCH 1|TWO OK", 2),
        (
            PLAIN,
            "* SEARCH 4 2|* 5 EXISTS|ONE OK|* 1 FETCH (FLAGS ())|* SEARCH 1|TWO OK",
            2,
        ),
        // A wrong tag, no tag, no word of UIDs, one answer twice, none at all, nothing in it, and in the old form.
        (
            EXTENDED,
            "* ESEARCH (TAG \"w99\") UID COUNT 1 ALL 5|ONE OK|* ESEARCH (TAG \"TWO\") UID COUNT 1 ALL 1|TWO OK",
            4,
        ),
        (
            EXTENDED,
            "* ESEARCH UID COUNT 1 ALL 5|ONE OK|* ESEARCH (TAG \"TWO\") UID COUNT 1 ALL 1|TWO OK",
            4,
        ),
        (
            EXTENDED,
            "* ESEARCH (TAG \"ONE\") COUNT 2 ALL 2,3|ONE OK|* ESEARCH (TAG \"TWO\") UID COUNT 1 ALL 1|TWO OK",
            4,
        ),
        (
            EXTENDED,
            "* ESEARCH (TAG \"ONE\") UID COUNT 0|* ESEARCH (TAG \"ONE\") UID COUNT 1 ALL 5|ONE OK|* ESEARCH (TAG \"TWO\") UID COUNT 0|TWO OK",
            4,
        ),
        (
            EXTENDED,
            "ONE OK|* ESEARCH (TAG \"TWO\") UID COUNT 1 ALL 1|TWO OK",
            4,
        ),
        (
            EXTENDED,
            "* ESEARCH (TAG \"ONE\") UID|ONE OK|* ESEARCH (TAG \"TWO\") UID COUNT 1 ALL 1|TWO OK",
            4,
        ),
        (EXTENDED, "* SEARCH 2 4|ONE OK|* SEARCH 1|TWO OK", 4),
        // Two lines for one command, none for one, all of them first, and the second command over first.
        (PLAIN, "* SEARCH 2|* SEARCH 4|ONE OK|* SEARCH 1|TWO OK", 4),
        (PLAIN, "ONE OK|* SEARCH 1|TWO OK", 4),
        (PLAIN, "* SEARCH 2 4|ONE OK|TWO OK", 4),
        (PLAIN, "* SEARCH 1|* SEARCH 2 4|ONE OK|TWO OK", 4),
        (PLAIN, "* SEARCH 1|TWO OK|* SEARCH 2 4|ONE OK", 4),
        (PLAIN, "ONE OK|TWO OK", 4),
    ] {
        let (found, searches) = sift(capabilities, |session, tags| told(session, lines, tags));
        let found = found.unwrap();
        assert_eq!(searches, want, "{lines}");
        assert_eq!(found.uidvalidity, UidValidity(7));
        assert_eq!(found.sets, truth, "{lines}");
    }
}

#[test]
fn what_is_no_answer_is_a_fault() {
    use FaultKind::{Bye, Denied, Protocol, Rejected};
    for (capabilities, lines, want) in [
        (
            EXTENDED,
            "* ESEARCH (TAG \"ONE\") UID COUNT 1 ALL 2|ONE OK|TWO NO [BADCHARSET (US-ASCII)] no",
            Denied,
        ),
        (
            EXTENDED,
            "ONE BAD what|* ESEARCH (TAG \"TWO\") UID COUNT 1 ALL 1|TWO OK",
            Rejected,
        ),
        (
            EXTENDED,
            "* ESEARCH (TAG \"ONE\") UID COUNT 6 ALL 1:6|ONE OK|* ESEARCH (TAG \"TWO\") UID COUNT 0|TWO OK",
            Protocol,
        ),
        (
            EXTENDED,
            "* ESEARCH (TAG \"ONE\") UID COUNT 4294967295 ALL 1:4294967295|ONE OK|* ESEARCH (TAG \"TWO\") UID COUNT 0|TWO OK",
            Protocol,
        ),
        (
            EXTENDED,
            "* ESEARCH (TAG \"ONE\") UID COUNT 3 ALL 1:2|ONE OK|* ESEARCH (TAG \"TWO\") UID COUNT 0|TWO OK",
            Protocol,
        ),
        (
            EXTENDED,
            "* ESEARCH (TAG \"ONE\") UID COUNT 3|ONE OK|* ESEARCH (TAG \"TWO\") UID COUNT 0|TWO OK",
            Protocol,
        ),
        (
            EXTENDED,
            "* ESEARCH (TAG \"ONE\") UID COUNT 3 ALL 1:*|ONE OK|* ESEARCH (TAG \"TWO\") UID COUNT 0|TWO OK",
            Protocol,
        ),
        (EXTENDED, "ONE OK|* BYE tired", Bye),
        (PLAIN, "* SEARCH 1|ONE OK|TWO NO no", Denied),
        (
            PLAIN,
            "* SEARCH 1 2 3 4 5 6|ONE OK|* SEARCH|TWO OK",
            Protocol,
        ),
        (
            PLAIN,
            "* SEARCH 1|ONE OK|* SEARCH 1|w99 OK|TWO OK",
            Protocol,
        ),
    ] {
        let (found, _) = sift(capabilities, |session, tags| told(session, lines, tags));
        assert_eq!(found.unwrap_err().kind, want, "{lines}");
    }
}

#[test]
fn a_message_that_went_meanwhile_does_not_make_a_liar() {
    let lines = "* ESEARCH (TAG \"ONE\") UID COUNT 5 ALL 1:5|ONE OK|* 5 EXPUNGE|* ESEARCH (TAG \"TWO\") UID COUNT 0|TWO OK";
    let (found, _) = sift(EXTENDED, move |session, tags| told(session, lines, tags));
    assert_eq!(found.unwrap().sets[0].len(), 5);
}

/// Messages 2 and 4 of five are asked for, and what cannot be read once more.
fn describe(lines: &'static str, again: &'static str) -> Result<Vec<Summary>, Fault> {
    let server = Fake::script(move |session| {
        session.log_in(PLAIN);
        session.expect("EXAMINE");
        session.examined(5);
        let fetch = session.expect("UID FETCH 2,4 (");
        told(session, lines, [&fetch.tag, ""]);
        let fetch = session.expect("(UID FLAGS INTERNALDATE RFC822.SIZE)");
        told(session, again, [&fetch.tag, ""]);
        session.stall();
    });
    let source = ImapSource::new(crate::account(), settings(server.port()));
    let (cx, folder) = (Cx::new(), inbox());
    let uids = UidSet::from_ranges([(2, 2), (4, 4)]);
    let found = source.summaries(&cx, &folder, UidValidity(7), &uids, Snippets::Without);
    runtime().block_on(found)
}

#[test]
fn only_what_was_asked_for_is_described() {
    for (lines, want) in [
        (
            "* 2 FETCH (UID 2 RFC822.SIZE 9)|* 4 FETCH (UID 4 RFC822.SIZE 9)|ONE OK",
            &[2, 4][..],
        ),
        (
            "* 3 FETCH (UID 3 RFC822.SIZE 9)|* 4 FETCH (UID 4 RFC822.SIZE 9)|ONE OK",
            &[4],
        ),
        ("* 2 FETCH (FLAGS (\\Seen))|ONE OK", &[]),
        (
            "* 2 FETCH (UID 2 RFC822.SIZE 9)|* 2 FETCH (UID 2 FLAGS (\\Seen))|ONE OK",
            &[2],
        ),
        (
            "* 2 FETCH (UID 2)|* 9 FETCH (UID|* 4 FETCH (UID 4)|ONE OK",
            &[2, 4],
        ),
        ("ONE OK", &[]),
    ] {
        let mut found = describe(lines, "ONE OK").unwrap();
        found.sort_by_key(|summary| summary.uid);
        let uids: Vec<u32> = found.iter().map(|summary| summary.uid.0).collect();
        assert_eq!(uids, want, "{lines}");
        for summary in &found {
            assert_eq!((&summary.header, &summary.structure), (&None, &None));
            let facts = content::facts(summary);
            assert_eq!(
                (facts.from, facts.subject, facts.has_attachment),
                (None, None, None)
            );
        }
    }
}

#[test]
fn a_description_that_cannot_be_read_is_asked_for_once_more_or_a_fault() {
    use FaultKind::{Bye, Denied, Protocol};
    let torn = "* 2 FETCH (UID 2)|* 4 FETCH (UID|ONE OK";
    for (lines, again, want) in [
        (torn, "* 4 FETCH (UID|ONE OK", Protocol),
        (torn, "ONE NO gone", Denied),
        ("* 2 FETCH (UID 2)|ONE NO some are gone", "ONE OK", Denied),
        ("* 2 FETCH (UID 2)|* BYE", "ONE OK", Bye),
    ] {
        let fault = describe(lines, again).unwrap_err();
        assert_eq!(fault.kind, want, "{lines} {again}");
    }
    let found = describe(torn, "* 4 FETCH (UID 4 FLAGS ())|ONE OK").unwrap();
    assert_eq!(found.len(), 2);
    assert!(found.iter().all(|summary| summary.header.is_none()));
}

#[test]
fn replies_without_end_are_a_fault() {
    let server = Fake::script(|session| {
        session.log_in(PLAIN);
        session.expect("EXAMINE");
        session.examined(5);
        session.expect("UID FETCH");
        session.send("* 2 FETCH (UID 2)\r\n".repeat(300_001).as_bytes());
        session.stall();
    });
    let source = ImapSource::new(crate::account(), settings(server.port()));
    let (cx, folder) = (Cx::new(), inbox());
    let uids = UidSet::from_ranges([(2, 2)]);
    let found = source.summaries(&cx, &folder, UidValidity(7), &uids, Snippets::Without);
    let fault = runtime().block_on(found).unwrap_err();
    assert_eq!(fault.kind, FaultKind::Protocol);
}
