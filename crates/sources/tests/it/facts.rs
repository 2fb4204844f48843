//! The facts of a message are the same wherever it lies: what a policy allows here, it allows there.

use std::collections::BTreeMap;

use content::{BodyWish, HtmlWish};
use mail::{
    AccountId, Condition, Cx, FactsBuf, FolderName, Known, MailAddress, MailSource, MessageRef,
    Snippets, SourceKind, Summary, Uid, UidSet, UidValidity,
};
use sources::apple::Apple;
use sources::imap::ImapSource;
use sources::maildir::Maildir;
use testkit::{AddressHeader, AppleStore, Cyrus, Delivery, Dovecot};
use tokio::runtime::Runtime;

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
    // QUIRK: Cyrus stores an X for each octet that is not ASCII.
    let quirks = ["message 09"];
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

/// Header fields that are read, unless `MAILWARDEN_HEADER_FIELDS` is another number.
const FIELDS: u64 = 10_000;

/// A source with every message of its INBOX, by the number in its Message-ID.
struct Listed<'s> {
    source: &'s dyn MailSource,
    kind: SourceKind,
    account: AccountId,
    folder: FolderName,
    uidvalidity: UidValidity,
    messages: BTreeMap<u64, Summary>,
}

impl<'s> Listed<'s> {
    fn read(
        runtime: &Runtime,
        source: &'s dyn MailSource,
        kind: SourceKind,
        account: &str,
    ) -> Self {
        let cx = Cx::new();
        let folders = runtime.block_on(source.folders(&cx)).unwrap().folders;
        let names = folders.into_iter().map(|folder| folder.name);
        let folder = names.min_by_key(|name| !name.as_str().ends_with("INBOX"));
        let folder = folder.unwrap();
        let all = [Condition::EVERYTHING];
        let sifted = runtime.block_on(source.sift(&cx, &folder, &all)).unwrap();
        let uids: Vec<Uid> = sifted.sets[0].iter().collect();
        let mut messages = BTreeMap::new();
        for some in uids.chunks(1_000) {
            let some: UidSet = some.iter().copied().collect();
            let without = Snippets::Without;
            let found = source.summaries(&cx, &folder, sifted.uidvalidity, &some, without);
            for summary in runtime.block_on(found).unwrap() {
                let id = content::summary_envelope(&summary).unwrap().message_id;
                let id = String::from_utf8_lossy(id.unwrap().bytes()).into_owned();
                let number = id.trim_start_matches('<').split('@').next().unwrap();
                messages.insert(number.parse().unwrap(), summary);
            }
        }
        Self {
            source,
            kind,
            account: AccountId::new(account).unwrap(),
            folder,
            uidvalidity: sifted.uidvalidity,
            messages,
        }
    }

    /// What a policy asks the source for before it judges senders at a domain.
    fn candidates(&self, runtime: &Runtime, domain: &str) -> UidSet {
        let test = Condition::Header {
            name: "FROM".to_owned(),
            holds: domain.to_owned(),
        };
        let (cx, tests) = (Cx::new(), [test]);
        let sifted = self.source.sift(&cx, &self.folder, &tests);
        runtime.block_on(sifted).unwrap().sets.remove(0)
    }

    /// From and To, as reading the message shows them.
    fn read_addresses(&self, runtime: &Runtime, uid: Uid) -> [Option<String>; 2] {
        let at = MessageRef {
            source: self.kind,
            account: self.account.clone(),
            folder: self.folder.clone(),
            uidvalidity: self.uidvalidity,
            uid,
        };
        let cx = Cx::new();
        let choose = |_: &mail::Structure| Vec::new();
        let fetched = runtime.block_on(self.source.message(&cx, &at, &choose));
        let view = content::view(&fetched.unwrap(), &WISH, &content::Known::default());
        [view.from, view.to]
    }
}

const WISH: BodyWish = BodyWish {
    offset: 0,
    max_chars: 100,
    html: HtmlWish::Skip,
    attachment_text: None,
    only: None,
};

fn listed_addresses(summary: &Summary) -> [Option<String>; 2] {
    let envelope = content::summary_envelope(summary).unwrap();
    let changes = &mut content::Changes::default();
    [envelope.from, envelope.to].map(|list| content::addresses(&list, changes))
}

fn wanted_fields() -> u64 {
    std::env::var("MAILWARDEN_HEADER_FIELDS").map_or(FIELDS, |count| count.parse().unwrap())
}

#[test]
fn hostile_headers_give_the_same_facts_from_every_source() {
    let (mut fields, mut blocks) = (0, Vec::new());
    while fields < wanted_fields() {
        let header = AddressHeader::random(25, blocks.len() as u64);
        fields += header.fields;
        blocks.push(header.block);
    }
    let letters = || {
        blocks.iter().enumerate().map(|(number, block)| {
            let id = format!("Message-ID: <{number}@x.example>\r\n");
            Delivery::new([id.as_bytes(), block, b"\r\ntext\r\n"].concat())
        })
    };
    let dovecot = Dovecot::start();
    dovecot.deliver_many("alice", "INBOX", letters());
    let mut store = AppleStore::new();
    let mailbox = store.folder("INBOX");
    for letter in letters() {
        store.deliver(mailbox, &letter);
    }
    let account = |name| AccountId::new(name).unwrap();
    let imap = ImapSource::new(crate::account(), settings(dovecot.port()));
    let maildir = Maildir::open(account("local"), dovecot.dir().join("mail/alice/Maildir"));
    let apple = Apple::open(account("mac"), store.root(), None, None);
    let runtime = runtime();
    let all = [
        Listed::read(&runtime, &imap, SourceKind::Imap, "a"),
        Listed::read(&runtime, &maildir, SourceKind::Maildir, "local"),
        Listed::read(&runtime, &apple, SourceKind::Apple, "mac"),
    ];
    let mut differences = Vec::new();
    for (number, block) in blocks.iter().enumerate() {
        let of = |one: &Listed<'_>| {
            let summary = &one.messages[&(number as u64)];
            let facts = content::facts(summary);
            let subject = facts.subject.as_ref().map(|text| text.as_str().to_owned());
            let (from, recipients, known) = shown(&facts);
            let shown = format!("{from:?} {recipients:?} {known:?} {subject:?}");
            (shown, listed_addresses(summary))
        };
        let found: Vec<_> = all.iter().map(of).collect();
        if found.iter().any(|one| *one != found[0]) {
            differences.push(format!("{}\n{found:#?}", block.escape_ascii()));
        }
    }
    let first: Vec<&str> = differences.iter().take(10).map(String::as_str).collect();
    assert!(
        differences.is_empty(),
        "{}: {}",
        differences.len(),
        first.join("\n")
    );
    for one in &all {
        for domain in [
            "corp.example",
            "bank.example",
            "evil.example",
            "ller.example",
        ] {
            let candidates = one.candidates(&runtime, domain);
            for summary in one.messages.values() {
                let from = content::facts(summary).from;
                let is_there = from.is_some_and(|from| from.domain() == domain);
                let kind = one.kind;
                assert!(
                    !is_there || candidates.contains(summary.uid),
                    "{kind:?} {domain}"
                );
            }
        }
        for summary in one.messages.values().take(300) {
            let read = one.read_addresses(&runtime, summary.uid);
            assert_eq!(listed_addresses(summary), read);
        }
    }
}
