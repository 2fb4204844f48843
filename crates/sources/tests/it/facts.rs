//! The facts of a message are the same wherever it lies: what a policy allows here, it allows there.

use std::collections::BTreeMap;

use mail::{Condition, Cx, FactsBuf, Known, MailAddress, MailSource, Snippets};
use sources::imap::ImapSource;
use sources::maildir::Maildir;
use testkit::{Cyrus, Delivery, Dovecot};

use crate::{inbox, runtime, settings};

/// Headers as an enemy, or a careless program, writes them.
const HEADERS: &[&str] = &[
    "From: Alice <Alice@Example.COM>\r\nTo: a@b.example, c@d.example\r\nCc: e@f.example\r\n",
    "From: \"boss@good.com\" <x@evil.example>\r\nTo: a@b.example\r\n",
    "From: =?utf-8?Q?boss=40good.com?= <x@evil.example>\r\nTo: a@b.example\r\n",
    "From: (boss@good.com) x@evil.example\r\nTo: a@b.example (c@d.example)\r\n",
    "From: a@b.example, c@d.example\r\nTo: Team: a@b.example, c@d.example;, e@f.example\r\n",
    "From: a@b.example\r\nFrom: c@d.example\r\nTo: a@b.example\r\nTo: c@d.example\r\n",
    "From: Team: c@d.example;\r\nTo: undisclosed-recipients:;\r\n",
    "From: \"alice\"@example.com\r\nTo: <\"bob\"@example.com>\r\n",
    "From: <@good.com,@b.example:x@evil.example>\r\nTo: a@b.example,\r\n c@d.example\r\n",
    "From: j@xn--mller-kva.example\r\nTo: j@m\u{fc}ller.example\r\n",
    "To: a@b.example\r\n",
    "From: x@evil.example\r\n",
    "From:\r\nTo:\r\n",
    "From: x@[192.0.2.1]\r\nTo: o'neil+tag@example.com\r\n",
];

fn facts(source: &dyn MailSource) -> BTreeMap<String, FactsBuf> {
    let (runtime, cx, folder) = (runtime(), Cx::new(), inbox());
    let all = [Condition::EVERYTHING];
    let sifted = runtime.block_on(source.sift(&cx, &folder, &all)).unwrap();
    let uids = &sifted.sets[0];
    let found = source.summaries(&cx, &folder, sifted.uidvalidity, uids, Snippets::Without);
    let found = runtime.block_on(found).unwrap();
    let each = found.iter().map(|summary| {
        let facts = content::facts(summary);
        (facts.subject.clone().unwrap().as_str().to_owned(), facts)
    });
    each.collect()
}

fn mail() -> Vec<Delivery> {
    let each = HEADERS.iter().enumerate();
    each.map(|(number, header)| {
        Delivery::new(format!(
            "{header}Subject: message {number:02}\r\n\r\ntext\r\n"
        ))
    })
    .collect()
}

fn shown(facts: &FactsBuf) -> (Option<&str>, Vec<&str>, Known) {
    (
        facts.from.as_ref().map(MailAddress::as_str),
        facts.recipients.iter().map(MailAddress::as_str).collect(),
        facts.recipients_known,
    )
}

#[test]
fn the_same_message_has_the_same_facts_everywhere() {
    let dovecot = Dovecot::start();
    dovecot.deliver_many("alice", "INBOX", mail());
    let cyrus = Cyrus::start();
    cyrus.deliver_many("alice", "INBOX", mail());
    let local = Maildir::open(
        mail::AccountId::new("local").unwrap(),
        dovecot.dir().join("mail/alice/Maildir"),
    );
    let here = facts(&local);
    assert_eq!(here.len(), HEADERS.len());
    // QUIRK: of repeated fields Cyrus tells the last one only, and an X for each octet that is not ASCII.
    let quirks = ["message 05", "message 09"];
    for (port, quirks) in [(dovecot.port(), &[][..]), (cyrus.port(), &quirks)] {
        let there = facts(&ImapSource::new(crate::account(), settings(port)));
        for (subject, ours) in &here {
            let theirs = &there[subject];
            if !quirks.contains(&subject.as_str()) {
                assert_eq!(shown(ours), shown(theirs), "{subject}");
            }
            assert_eq!(ours.has_attachment, theirs.has_attachment);
            assert_eq!(ours.size, theirs.size);
        }
    }
}

/// It is there, its recipients are not all known, and it stands before no other message.
#[test]
fn a_message_to_everybody_is_one_message() {
    let server = Dovecot::start();
    let everybody = vec!["someone@example.com"; 60_000].join(",\r\n ");
    server.deliver_many(
        "alice",
        "INBOX",
        [
            "To: a@b.example\r\nSubject: before\r\n\r\ntext\r\n".to_owned(),
            format!("From: x@y.example\r\nTo: {everybody}\r\nSubject: all\r\n\r\ntext\r\n"),
            "To: a@b.example\r\nSubject: after\r\n\r\ntext\r\n".to_owned(),
        ]
        .map(Delivery::new),
    );
    let root = server.dir().join("mail/alice/Maildir");
    let local = Maildir::open(mail::AccountId::new("local").unwrap(), root);
    let remote = ImapSource::new(crate::account(), settings(server.port()));
    for source in [&remote as &dyn MailSource, &local] {
        let (runtime, cx, folder) = (runtime(), Cx::new(), inbox());
        let all = [Condition::EVERYTHING];
        let sifted = runtime.block_on(source.sift(&cx, &folder, &all)).unwrap();
        let uids = &sifted.sets[0];
        let found = source.summaries(&cx, &folder, sifted.uidvalidity, uids, Snippets::Without);
        let mut found = runtime.block_on(found).unwrap();
        found.sort_by_key(|summary| summary.size);
        let known: Vec<Known> = found
            .iter()
            .map(|summary| content::facts(summary).recipients_known)
            .collect();
        assert_eq!(known, [Known::Whole, Known::Whole, Known::NotWhole]);
    }
}
