//! Large folders are listed again only when something came or went.

use mail::{Condition, Cx, MailSource, Uid, UidSet};
use sources::imap::ImapSource;
use testkit::{Delivery, Dovecot, FaultProxy};

use crate::{inbox, runtime, settings};

const MESSAGES: u32 = 5_000;

fn letter(n: u32) -> Delivery {
    Delivery::new(format!("From: a@x.example\r\nSubject: {n}\r\n\r\nx\r\n"))
}

#[test]
fn a_large_folder_is_listed_again_only_when_it_changed() {
    let server = Dovecot::start();
    server.deliver_many("alice", "INBOX", (0..MESSAGES).map(letter));
    let proxy = FaultProxy::to(server.port());
    let source = ImapSource::new(crate::account(), settings(proxy.port()));
    let runtime = runtime();
    let all = || {
        let cx = Cx::new();
        let tests = [Condition::EVERYTHING];
        let before = listings(&proxy);
        let sifted = runtime
            .block_on(source.sift(&cx, &inbox(), &tests))
            .unwrap();
        let listed = listings(&proxy) - before;
        (sifted.sets.into_iter().next().unwrap(), listed)
    };
    let first = UidSet::range(Uid(1), Uid(MESSAGES));
    assert_eq!(all(), (first.clone(), 1));
    assert_eq!(all(), (first.clone(), 0));
    // On another connection too.
    proxy.cut_all(testkit::Cut::Reset);
    assert_eq!(all(), (first.clone(), 0));
    // As many as before, and not the same.
    let mut other = server.login("alice", "secret");
    other.command("SELECT INBOX");
    other.command("UID STORE 7 +FLAGS (\\Deleted)");
    other.command("UID EXPUNGE 7");
    server.deliver_many("alice", "INBOX", [letter(MESSAGES)]);
    other.command("NOOP");
    let changed = first
        .union(&UidSet::range(Uid(MESSAGES + 1), Uid(MESSAGES + 1)))
        .difference(&UidSet::range(Uid(7), Uid(7)));
    assert_eq!(all().0, changed);
    assert_eq!(all().0, changed);
    proxy.cut_all(testkit::Cut::Reset);
    assert_eq!(all().0, changed);
    assert_eq!(all(), (changed, 0));
}

/// How often all messages were asked for.
fn listings(proxy: &FaultProxy) -> usize {
    let lines = proxy.transcript();
    lines
        .lines()
        .filter(|line| line.contains("SEARCH") && line.trim_end().ends_with(" ALL"))
        .count()
}
