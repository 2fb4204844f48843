//! Messages described by their UIDs: thousands at once, those that are there, and of one generation alone.

use mail::{Cx, FaultKind, MailSource as _, Snippets, Uid, UidSet, UidValidity};
use sources::imap::ImapSource;
use sources::maildir::Maildir;
use testkit::{Delivery, Dovecot, FaultProxy};
use tokio::runtime::Runtime;

use crate::{inbox, runtime, settings};

fn numbered(count: usize) -> impl Iterator<Item = Delivery> {
    (1..=count).map(|number| {
        Delivery::new(format!(
            "From: a{number}@b.example\r\nTo: c@d.example\r\nSubject: number {number}\r\n\r\ntext {number}\r\n"
        ))
    })
}

fn generation(source: &ImapSource, runtime: &Runtime) -> UidValidity {
    let cx = Cx::new();
    let folder = inbox();
    let sifted = runtime.block_on(source.sift(&cx, &folder, &[]));
    sifted.unwrap().uidvalidity
}

#[test]
fn thousands_of_scattered_messages_are_one_flight() {
    let server = Dovecot::start();
    server.deliver_many("alice", "INBOX", numbered(6_000));
    let source = ImapSource::new(crate::account(), settings(server.port()));
    let runtime = runtime();
    let uidvalidity = generation(&source, &runtime);
    let uids: UidSet = (1..=3_000).map(|number| Uid(number * 2)).collect();
    let (cx, folder) = (Cx::new(), inbox());
    let found = source.summaries(&cx, &folder, uidvalidity, &uids, Snippets::Without);
    let found = runtime.block_on(found).unwrap();
    assert_eq!(cx.round_trips(), 1);
    assert_eq!(found.len(), 3_000);
    for summary in &found {
        let facts = content::facts(summary);
        assert!(uids.contains(summary.uid));
        let want = format!("number {}", summary.uid.0);
        assert_eq!(facts.subject.unwrap().as_str(), want);
        assert_eq!(
            facts.from.unwrap().as_str(),
            format!("a{}@b.example", summary.uid.0)
        );
        assert_eq!(facts.recipients_known, mail::Known::Whole);
        assert_eq!(
            (facts.has_attachment, facts.arrived),
            (Some(false), Some(1_767_225_600))
        );
        assert!(facts.size.is_some() && summary.text.is_none());
    }
}

#[test]
fn messages_that_are_gone_are_left_out() {
    let server = Dovecot::start();
    server.deliver_many("alice", "INBOX", numbered(5));
    let source = ImapSource::new(crate::account(), settings(server.port()));
    let runtime = runtime();
    let uidvalidity = generation(&source, &runtime);
    let mut other = server.login("alice", "secret");
    other.command("SELECT INBOX");
    other.command("UID STORE 2:3 +FLAGS (\\Deleted)");
    other.command("EXPUNGE");
    let uids = UidSet::from_ranges([(2, 4), (77, 4_000_000)]);
    let (cx, folder) = (Cx::new(), inbox());
    let ask = |snippets| {
        let found = source.summaries(&cx, &folder, uidvalidity, &uids, snippets);
        runtime.block_on(found).unwrap()
    };
    let found = ask(Snippets::Without);
    assert_eq!(
        found.iter().map(|one| one.uid).collect::<Vec<_>>(),
        [Uid(4)]
    );
    let told = ask(Snippets::Bytes(4));
    let text = told[0].text.as_ref().unwrap();
    assert_eq!((text.text.as_ref(), text.truncated), (&b"text"[..], true));
    let none = UidSet::default();
    let found = source.summaries(&cx, &folder, uidvalidity, &none, Snippets::Without);
    assert_eq!(runtime.block_on(found).unwrap(), []);
}

#[test]
fn messages_that_came_a_moment_ago_are_described() {
    let server = Dovecot::start();
    server.deliver_many("alice", "INBOX", numbered(2));
    let source = ImapSource::new(crate::account(), settings(server.port()));
    let runtime = runtime();
    let uidvalidity = generation(&source, &runtime);
    for last in 3..7 {
        server.deliver("alice", "INBOX", b"Subject: new\r\n\r\nnew\r\n");
        for (first, trips) in [(last, 2), (1, 1)] {
            let (cx, folder) = (Cx::new(), inbox());
            let uids = UidSet::range(Uid(first), Uid(last));
            let found = source.summaries(&cx, &folder, uidvalidity, &uids, Snippets::Without);
            let found = runtime.block_on(found).unwrap();
            assert_eq!(found.len() as u64, uids.len(), "{first}:{last}");
            assert!(found.iter().all(|summary| summary.header.is_some()));
            assert!(cx.round_trips() <= trips);
        }
    }
}

#[test]
fn another_generation_is_a_conflict() {
    let server = Dovecot::start();
    server.deliver_many("alice", "INBOX", numbered(3));
    let source = ImapSource::new(crate::account(), settings(server.port()));
    let root = server.dir().join("mail/alice/Maildir");
    let local = Maildir::open(mail::AccountId::new("local").unwrap(), root);
    let runtime = runtime();
    let UidValidity(now) = generation(&source, &runtime);
    let (cx, folder, uids) = (Cx::new(), inbox(), UidSet::range(Uid(1), Uid(3)));
    let wrong = UidValidity(now.wrapping_add(7));
    for source in [&source as &dyn mail::MailSource, &local] {
        let found = source.summaries(&cx, &folder, wrong, &uids, Snippets::Without);
        let fault = runtime.block_on(found).unwrap_err();
        assert_eq!(fault.kind, FaultKind::Conflict);
    }
}

/// Reading a message that was just described costs one flight: its structure is known.
#[test]
fn a_described_message_is_read_in_one_flight() {
    let server = Dovecot::start();
    server.deliver_many("alice", "INBOX", numbered(3));
    let proxy = FaultProxy::to(server.port());
    let source = ImapSource::new(crate::account(), settings(proxy.port()));
    let runtime = runtime();
    let uidvalidity = generation(&source, &runtime);
    let (folder, uids) = (inbox(), UidSet::range(Uid(2), Uid(2)));
    let cx = Cx::new();
    let found = source.summaries(&cx, &folder, uidvalidity, &uids, Snippets::Without);
    assert_eq!(runtime.block_on(found).unwrap().len(), 1);
    let at = mail::MessageRef {
        source: mail::SourceKind::Imap,
        account: mail::AccountId::new("alice").unwrap(),
        folder,
        uidvalidity,
        uid: Uid(2),
    };
    let wish = content::BodyWish {
        offset: 0,
        max_chars: 1_000,
        html: content::HtmlWish::Skip,
        attachment_text: None,
        only: None,
    };
    let choose = |structure: &mail::Structure| content::choose(structure, &wish);
    let cx = Cx::new();
    let fetched = runtime.block_on(source.message(&cx, &at, &choose)).unwrap();
    assert_eq!(fetched.parts[0].bytes.as_ref(), b"text 2\r\n");
    assert_eq!(cx.round_trips(), 1);
    assert!(proxy.transcript().contains("UID FETCH 2 (UID FLAGS"));
}
