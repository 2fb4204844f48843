//! Limits, throttling, faults, idling, and what is counted.

use super::{converse, enter, letter, open};
use testkit::gmail::{Fault, PASSWORD, Place, Throttle, USER};
use testkit::{Gmail, RawImap};

#[test]
fn the_sixteenth_login_is_one_too_many() {
    let gmail = Gmail::start();
    let mut sessions: Vec<RawImap> = (0..15).map(|_| enter(&gmail)).collect();
    let mut late = RawImap::connect(gmail.port());
    let login = format!("LOGIN {USER} \"{PASSWORD}\"");
    assert_eq!(
        late.try_command(&login).text(),
        "NO [ALERT] Too many simultaneous connections. (Failure)"
    );
    assert_eq!((gmail.logged_in(), gmail.most_logged_in()), (15, 15));
    let mut leaving = sessions.pop().unwrap();
    leaving.command("LOGOUT");
    // The place is free when the server has ended the connection.
    assert!(leaving.attempt("NOOP").is_err());
    assert!(late.try_command(&login).is_ok());
}

#[test]
fn who_asks_for_too_much_is_told() {
    let gmail = Gmail::start();
    let mut imap = open(&gmail, &Place::Inbox);
    gmail.throttle(Throttle::Noted);
    assert_eq!(imap.command("NOOP").text(), "OK Success [THROTTLED]");
    gmail.throttle(Throttle::Refused);
    assert_eq!(
        imap.try_command("NOOP").text(),
        "NO [OVERQUOTA] Account exceeded command or bandwidth limits. (Failure)"
    );
    gmail.throttle(Throttle::Never);
    assert_eq!(imap.command("NOOP").text(), "OK Success");
}

#[test]
fn lines_and_literals_have_their_limits() {
    let gmail = Gmail::builder().longest_line(1_000).start();
    let mut imap = open(&gmail, &Place::Inbox);
    converse(
        &mut imap,
        &[("big", "x".repeat(4_097)), ("small", "x".repeat(4_096))],
        &[
            (
                "UID SEARCH SUBJECT {4096+}\r\n{small}",
                "* SEARCH\nOK SEARCH completed (Success)",
            ),
            (
                "UID SEARCH SUBJECT {4097+}\r\n{big}",
                "BAD Could not parse command",
            ),
        ],
    );
    let long = format!("UID SEARCH SUBJECT {}", "x".repeat(1_000));
    assert_eq!(imap.try_command(&long).text(), "BAD Command line too long");
    assert!(imap.attempt("NOOP").is_err(), "and the connection ends");
}

#[test]
fn a_connection_ends_where_the_test_wants_it() {
    for (fault, moved) in [
        (Fault::CloseBefore, false),
        (Fault::CloseAfter, true),
        (Fault::CutAnswer(5), true),
    ] {
        let gmail = Gmail::builder().labels(&["Work"]).start();
        let one = gmail.deliver(&[Place::Inbox], letter("one", "x"));
        gmail.deliver(&[Place::Inbox], letter("two", "x"));
        let mut imap = open(&gmail, &Place::Inbox);
        gmail.fail("UID MOVE", 2, fault.clone());
        imap.command("UID MOVE 2 Work");
        assert_eq!(gmail.armed(), 1);
        assert!(imap.attempt("UID MOVE 1 Work").is_err());
        assert_eq!(gmail.armed(), 0);
        assert_eq!(gmail.uid(&Place::Inbox, one).is_none(), moved, "{fault:?}");
        assert!(enter(&gmail).command("NOOP").is_ok(), "others are served");
    }
    let gmail = Gmail::builder().labels(&["Work"]).start();
    let one = gmail.deliver(&[Place::Inbox], letter("one", "x"));
    let mut imap = open(&gmail, &Place::Inbox);
    gmail.fail("UID MOVE", 1, Fault::Stall);
    imap.send(&["UID MOVE 1 Work"]);
    gmail.await_command("UID MOVE");
    gmail.hang_up();
    assert!(imap.attempt("NOOP").is_err(), "nothing was heard");
    while gmail.logged_in() > 0 {
        std::thread::yield_now();
    }
    assert_eq!(gmail.uid(&Place::Inbox, one), None, "but it was done");
    let mut imap = enter(&gmail);
    gmail.fail("NOOP", 1, Fault::Answer("NO [UNAVAILABLE] not now"));
    assert_eq!(imap.try_command("NOOP").text(), "NO [UNAVAILABLE] not now");
    assert_eq!(imap.try_command("NOOP").text(), "OK Success");
}

#[test]
fn what_was_answered_before_a_fault_is_heard() {
    let gmail = Gmail::start();
    let mut imap = open(&gmail, &Place::Inbox);
    gmail.fail("CHECK", 1, Fault::CloseAfter);
    imap.send_bytes(b"a NOOP\r\nb CHECK\r\nc NOOP\r\n");
    assert_eq!(imap.read_until("a").text(), "OK Success");
    assert!(imap.attempt("NOOP").is_err());
    let heard: Vec<String> = gmail.commands().into_iter().skip(2).collect();
    assert_eq!(heard, ["NOOP", "CHECK"], "what came behind is not done");
}

#[test]
fn flights_are_counted() {
    let gmail = Gmail::start();
    let mut imap = open(&gmail, &Place::Inbox);
    gmail.reset_record();
    imap.send_bytes(b"a NOOP\r\nb UID SEARCH ALL\r\nc NOOP\r\n");
    imap.read_until("c");
    imap.command("NOOP");
    let tally = gmail.tally();
    assert_eq!((tally.flights, tally.commands, tally.logins), (2, 4, 0));
    assert_eq!(gmail.heard()[1].connection, 0);
}

#[test]
fn who_idles_hears_of_news() {
    let gmail = Gmail::start();
    let mut imap = open(&gmail, &Place::Inbox);
    let tag = imap.send(&["IDLE"]);
    assert_eq!(imap.read_response(), b"+ idling");
    let one = gmail.deliver(&[Place::Inbox], letter("one", "x"));
    assert_eq!(imap.read_response(), b"* 1 EXISTS");
    gmail.destroy(one);
    assert_eq!(imap.read_response(), b"* 1 EXPUNGE");
    assert_eq!(imap.read_response(), b"* 0 EXISTS");
    imap.send_bytes(b"DONE\r\n");
    assert_eq!(imap.read_until(&tag).status, "OK IDLE terminated (Success)");
}

#[test]
fn all_connections_can_be_ended() {
    let gmail = Gmail::start();
    let mut imap = enter(&gmail);
    gmail.hang_up();
    assert!(imap.attempt("NOOP").is_err());
    enter(&gmail).command("NOOP");
    assert_eq!(gmail.await_command("NOOP").text, "NOOP");
}
