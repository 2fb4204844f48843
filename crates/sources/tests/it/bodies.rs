//! A message has the same body over IMAP as in the Maildir that the server reads it from.

use std::collections::{BTreeMap, BTreeSet};

use content::{BodyWish, HtmlWish, Known};
use mail::{
    AccountId, Condition, Cx, Fetched, MailSource, MessageRef, Snippets, SourceKind, UidSet,
};
use sources::imap::ImapSource;
use sources::maildir::Maildir;
use testkit::corpora::Corpus;
use testkit::{Delivery, Dovecot, MimeTree};
use tokio::runtime::Runtime;

use crate::{inbox, runtime, settings};

const WISH: BodyWish = BodyWish {
    offset: 0,
    max_chars: 20_000,
    html: HtmlWish::Skip,
    attachment_text: None,
    only: None,
};

/// Random trees that are read through a real server, unless `MAILWARDEN_TREES` is another number.
const TREES: u64 = 1_000;

/// What is shown of each message, by the number in its header.
type Bodies = BTreeMap<usize, (Option<String>, BTreeSet<String>)>;

struct Store<'a> {
    source: &'a dyn MailSource,
    kind: SourceKind,
    runtime: &'a Runtime,
}

impl Store<'_> {
    fn wanted(&self) -> Vec<MessageRef> {
        let (cx, folder) = (Cx::new(), inbox());
        let every = [Condition::All(Vec::new())];
        let sifted = self
            .runtime
            .block_on(self.source.sift(&cx, &folder, &every));
        let sifted = sifted.unwrap();
        let uids: Vec<mail::Uid> = sifted.sets.iter().flat_map(UidSet::iter).collect();
        let uids: BTreeSet<mail::Uid> = uids.into_iter().collect();
        let refs = uids.into_iter().map(|uid| MessageRef {
            source: self.kind,
            account: AccountId::new("a").unwrap(),
            folder: folder.clone(),
            uidvalidity: sifted.uidvalidity,
            uid,
        });
        refs.collect()
    }

    /// All messages at once, as a conversation is read.
    fn together(&self) -> Bodies {
        let choose = |structure: &mail::Structure| content::choose(structure, &WISH);
        let mut bodies = Bodies::new();
        for some in self.wanted().chunks(200) {
            let cx = Cx::new();
            let read = self.source.messages(&cx, some, &choose);
            for fetched in self.runtime.block_on(read).unwrap() {
                bodies.extend([shown(&fetched.unwrap())]);
            }
        }
        bodies
    }

    /// Each message by itself.
    fn one_by_one(&self) -> Bodies {
        let choose = |structure: &mail::Structure| content::choose(structure, &WISH);
        let read = |at: &MessageRef| {
            let cx = Cx::new();
            let fetched = self.runtime.block_on(self.source.message(&cx, at, &choose));
            shown(&fetched.unwrap())
        };
        self.wanted().iter().map(read).collect()
    }

    fn snippets(&self) -> BTreeMap<String, Option<String>> {
        let wanted = self.wanted();
        let uids: UidSet = wanted.iter().map(|at| at.uid).collect();
        let (cx, folder) = (Cx::new(), inbox());
        let snippets = Snippets::Bytes(2_048);
        let uidvalidity = wanted[0].uidvalidity;
        let found = self
            .source
            .summaries(&cx, &folder, uidvalidity, &uids, snippets);
        let found = self.runtime.block_on(found).unwrap();
        let each = found.into_iter().map(|summary| {
            let envelope = content::summary_envelope(&summary).unwrap();
            let subject = envelope.message_id.unwrap();
            let snippet = content::snippet(&summary.text.unwrap(), 200);
            (
                String::from_utf8_lossy(subject.bytes()).into_owned(),
                snippet.map(|snippet| snippet.text),
            )
        });
        each.collect()
    }
}

fn shown(fetched: &Fetched) -> (usize, (Option<String>, BTreeSet<String>)) {
    let view = content::view(fetched, &WISH, &Known::default());
    let number = content::links(&fetched.header).id.unwrap();
    let number = String::from_utf8_lossy(number.bytes()).into_owned();
    let number = number.split('@').next().unwrap().parse().unwrap();
    let attachments = view.attachments.iter();
    let attachments = attachments.map(|one| format!("{} {}", one.part_id, one.content_type));
    (number, (view.body_text, attachments.collect()))
}

/// Delivers messages and compares how both sources read them.
fn compare(messages: &[Vec<u8>]) {
    let server = Dovecot::start();
    let numbered = messages.iter().enumerate().map(|(number, raw)| {
        let id = format!("Message-ID: <{number}@tree.example>\r\n");
        Delivery::new([id.as_bytes(), raw].concat())
    });
    server.deliver_many("alice", "INBOX", numbered);
    let runtime = runtime();
    let imap = || ImapSource::new(crate::account(), settings(server.port()));
    let (at_once, by_itself) = (imap(), imap());
    let store = |source, kind| Store {
        source,
        kind,
        runtime: &runtime,
    };
    let at_once = store(&at_once, SourceKind::Imap);
    let by_itself = store(&by_itself, SourceKind::Imap);
    let server_dir = server.dir().join("mail/alice/Maildir");
    let bodies = [at_once.together(), by_itself.one_by_one()];
    let snippets = at_once.snippets();
    // The structures that the listing left behind are used now.
    let again = [at_once.one_by_one(), at_once.together()];
    let local = Maildir::open(crate::account(), server_dir);
    let local = store(&local, SourceKind::Maildir);
    let want = local.together();
    assert_eq!(want.len(), messages.len());
    let mut report = Vec::new();
    for (round, found) in bodies.iter().chain(&again).enumerate() {
        for (number, want) in &want {
            let raw = String::from_utf8_lossy(&messages[*number]);
            if found.get(number) != Some(want) {
                let found = found.get(number);
                report.push(format!(
                    "round {round}\n{raw:.400}\nIMAP {found:.400?}\nlocal {want:.400?}\n"
                ));
            }
        }
    }
    assert!(report.is_empty(), "{}", report.join("\n"));
    // A snippet may be missing where the server's beginning does not reach the body.
    let want = local.snippets();
    // Some samples have a Message-ID of their own.
    let ours = |id: &str| id.ends_with("@tree.example>");
    let found = snippets
        .iter()
        .filter(|(id, snippet)| snippet.is_some() && ours(id));
    for (id, snippet) in found {
        assert_eq!(want.get(id), Some(snippet), "{id}");
    }
}

#[test]
fn random_trees_have_the_same_body() {
    let count = std::env::var("MAILWARDEN_TREES").map_or(TREES, |count| count.parse().unwrap());
    let trees = (0..count).map(|number| MimeTree::random(29, number).message().into_bytes());
    compare(&trees.collect::<Vec<_>>());
}

#[test]
fn damaged_structures_have_the_same_body() {
    let long = "long line of text\r\n".repeat(2_000);
    let parts = "--b\r\nContent-Type: text/plain\r\n\r\nplain words\r\n--b\r\nContent-Type: text/html\r\n\r\n<p>html words\r\n--b--\r\n";
    let mut messages = Vec::new();
    for header in [
        "Content-Type: multipart/mixed",
        "Content-Type: multipart/mixed; boundary=\"\"",
        "Content-Type: multipart/mixed; boundary=other",
        "Content-Type: multipart/alternative; boundary=other",
        "Content-Type: multipart/alternative; boundary=b",
        "Content-Type: multipart/alternative; boundary=b\r\nContent-Type: text/plain",
        "Content-Type: text/plain\r\nContent-Type: multipart/alternative; boundary=b",
        "Content-Type: multipart; boundary=b",
        "Content-Type: multipart/; boundary=b",
        "Content-Type: multipart/alternative (a comment); boundary=b",
        "Content-Type: \"multipart/alternative\"; boundary=b",
        "Content-Type: text",
        "Content-Type: text/",
        "Content-Type: text/plain/more",
        "Content-Type: plain",
        "Content-Type: ;",
        "Content-Type: html",
        "Content-Type: multipart/alternative; boundary=b; boundary=c",
        "Content-Type: multipart/alternative; boundary*0=\"b\"",
        "X-No: type",
    ] {
        for body in [
            parts.to_owned(),
            format!("{parts}{long}"),
            format!("{long}{parts}"),
        ] {
            messages.push(format!("{header}\r\n\r\n{body}").into_bytes());
        }
        let inner = format!("{header}\r\n\r\n{parts}{long}");
        messages.push(
            format!("Content-Type: multipart/mixed; boundary=o\r\n\r\n--o\r\n{inner}\r\n--o\r\n\r\nlast\r\n--o--\r\n")
                .into_bytes(),
        );
    }
    for raw in [
        // No end, no parts, parts without end.
        "Content-Type: multipart/mixed; boundary=b\r\n\r\n--b--\r\n".to_owned(),
        "Content-Type: multipart/mixed; boundary=b\r\n\r\n".to_owned(),
        "Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n".to_owned(),
        format!("Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\n{long}"),
        "Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: multipart/mixed\r\n\r\ninner\r\n--b\r\n\r\nouter\r\n--b--\r\n".to_owned(),
        // Deeper than servers and we go.
        (0..120).map(|n| format!("Content-Type: multipart/mixed; boundary=d{n}x\r\n\r\n--d{n}x\r\n")).collect::<String>()
            + "\r\ntext",
    ] {
        messages.push(raw.into_bytes());
    }
    compare(&messages);
}

#[test]
fn sample_messages_have_the_same_body() {
    let samples = Corpus::ALL.into_iter().flat_map(Corpus::samples);
    // A file lies in a Maildir without the header that makes it one of a mailbox.
    let samples = samples
        .map(|sample| sample.raw)
        .filter(|raw| !raw.starts_with(b"From "));
    let samples: Vec<Vec<u8>> = samples.collect();
    if !samples.is_empty() {
        compare(&samples);
    }
}
