//! What lies in folders that are not searched, or was deleted, changes no answer: stores that differ in nothing else answer
//! alike, whoever asked before.

use std::path::Path;
use std::time::Duration;

use mail::{Cx, HeaderId, Kindred, MailSource as _, UidValidity, Within};
use rusqlite::Connection;
use testkit::apple::{ACCOUNT, AppleStore, GMAIL, Generation, Letter, Mailbox, Stored};

use super::{Reader, folder, places, sought};

/// What may not be seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Hidden {
    There,
    Absent,
}

/// Rows of the store that tests ask for by name.
const AWAY: i64 = 102;
const ORPHAN: i64 = 109;

const VISIBLE: [&str; 3] = ["INBOX", "Sent", "Work"];

/// Ids of visible messages, of hidden ones, of deleted ones, of both, and of nobody.
const IDS: [&str; 16] = [
    "question@x",
    "answer@x",
    "away@x",
    "nameless@x",
    "child@x",
    "unnamed@x",
    "labelled@x",
    "conversed.1@x",
    "twin@x",
    "orphan@x",
    "secret@x",
    "gone@x",
    "whisper@x",
    "only@x",
    "deleted@x",
    "nobody@x",
];

fn letter(row: i64, id: &str, names: &[&str]) -> Letter {
    let names: Vec<String> = names.iter().map(|name| format!("<{name}>")).collect();
    let names = match names.is_empty() {
        true => String::new(),
        false => format!("References: {}\n", names.join(" ")),
    };
    Letter::new(format!(
        "Message-ID: <{id}>\nSubject: {id}\n{names}\nText.\n"
    ))
    .row(row)
}

fn away(row: i64, id: &str, names: &[&str]) -> Letter {
    letter(row, id, names).stored(Stored::Nothing)
}

/// INBOX, Sent and Work are visible, which is a label; Archive, Secret and another account's INBOX are not.
fn store(generation: Generation, hidden: Hidden) -> AppleStore {
    let mut store = AppleStore::of(generation);
    let boxes = ["INBOX", "Sent", "Archive", "Secret"].map(|name| store.folder(name));
    let [inbox, sent, archive, secret] = boxes;
    let work = store.label(&format!("imap://{ACCOUNT}/Work"), archive);
    let other = store.mailbox(&format!("imap://{GMAIL}/INBOX"));
    let visible: [(Mailbox, Letter); 10] = [
        (inbox, letter(100, "question@x", &[])),
        (sent, letter(101, "answer@x", &["question@x"])),
        (
            inbox,
            away(
                AWAY,
                "away@x",
                &["gone@x", "deleted@x", "labelled@x", "question@x"],
            ),
        ),
        (inbox, away(103, "nameless@x", &["secret@x"]).unnamed()),
        (inbox, letter(104, "child@x", &["secret@x"])),
        (inbox, letter(105, "unnamed@x", &[]).unnamed()),
        (
            archive,
            letter(106, "labelled@x", &["secret@x", "gone@x"]).labels(&[work]),
        ),
        (inbox, letter(107, "conversed.1@x", &[]).conversation(77)),
        (inbox, away(108, "twin@x", &[]).unnamed()),
        (inbox, letter(ORPHAN, "orphan@x", &["deleted@x"])),
    ];
    for (mailbox, letter) in visible {
        store.message(mailbox, letter);
    }
    if hidden == Hidden::Absent {
        return store;
    }
    let secrets: [(Mailbox, Letter); 13] = [
        (secret, letter(50, "first@x", &["question@x"]).unnamed()),
        (secret, letter(200, "secret@x", &["question@x"])),
        (secret, letter(201, "question@x", &[])),
        (secret, letter(202, "whisper@x", &["question@x"])),
        (secret, away(203, "gone@x", &["whisper@x"])),
        (secret, letter(204, "twin@x", &["answer@x"])),
        (secret, letter(205, "conversed.2@x", &[]).conversation(77)),
        (archive, letter(206, "only@x", &["answer@x", "unnamed@x"])),
        (archive, away(207, "unnamed@x", &[]).unnamed()),
        (other, letter(208, "secret@x", &["child@x"])),
        (
            inbox,
            letter(209, "deleted@x", &["answer@x"]).marked(1 << 1),
        ),
        (
            inbox,
            letter(210, "nobody.else@x", &["nobody@x"]).marked(1 << 1),
        ),
        (secret, away(211, "nameless@x", &["nobody@x"]).unnamed()),
    ];
    for (mailbox, letter) in secrets {
        store.message(mailbox, letter);
    }
    store
}

fn open(store: &AppleStore) -> Reader {
    Reader::new(store.root(), Some(ACCOUNT))
}

async fn both(reader: &Reader, id: &str, within: &[&str]) -> [Kindred; 2] {
    let mut sought = sought(&[id]);
    sought.within = Within::Only(within.iter().map(|name| folder(name)).collect());
    let (source, cx) = (&reader.source, &reader.cx);
    let mut both = [
        source.locate(cx, &sought).await.unwrap(),
        source.kindred(cx, &sought).await.unwrap(),
    ];
    // Every database has its own, whatever is in it.
    for member in both.iter_mut().flat_map(|found| &mut found.members) {
        member.at.uidvalidity = UidValidity(1);
    }
    both
}

#[tokio::test]
async fn an_id_that_only_hidden_messages_have_is_an_id_that_nobody_has() {
    for generation in Generation::ALL {
        let [there, absent] =
            [Hidden::There, Hidden::Absent].map(|hidden| store(generation, hidden));
        for within in [&VISIBLE[..], &VISIBLE[..1], &VISIBLE[1..]] {
            for id in IDS {
                let said = both(&open(&there), id, within).await;
                let want = both(&open(&absent), id, within).await;
                assert_eq!(said, want, "{generation:?} {within:?} {id}");
            }
        }
    }
}

#[tokio::test]
async fn what_others_asked_before_tells_nothing_of_hidden_messages() {
    for generation in Generation::ALL {
        let stores = [Hidden::There, Hidden::Absent].map(|hidden| store(generation, hidden));
        for asked in IDS {
            let [there, absent] = stores.each_ref().map(open);
            for reader in [&there, &absent] {
                reader.locate(&[asked]).await;
            }
            for id in [asked, "secret@x", "unnamed@x", "nameless@x", "nobody@x"] {
                let said = both(&there, id, &VISIBLE).await;
                let want = both(&absent, id, &VISIBLE).await;
                assert_eq!(said, want, "{generation:?} {asked} {id}");
            }
        }
    }
}

#[tokio::test]
async fn what_is_complete_does_not_hang_on_what_was_asked_before() {
    for generation in Generation::ALL {
        let store = store(generation, Hidden::There);
        let reader = open(&store);
        for id in IDS.into_iter().chain(IDS) {
            let fresh = both(&open(&store), id, &VISIBLE).await;
            let again = both(&reader, id, &VISIBLE).await;
            assert_eq!(again, fresh, "{generation:?} {id}");
        }
    }
}

/// A message that is not here names others by hashes; what these are called is known of messages alone that are searched.
#[tokio::test]
async fn references_are_called_by_the_names_that_visible_messages_have() {
    let store = store(Generation::Modern, Hidden::There);
    let reader = open(&store);
    let owner = reader.locate(&["away@x"]).await;
    let [visible, _] = both(&reader, "away@x", &VISIBLE).await;
    let [inbox, _] = both(&reader, "away@x", &VISIBLE[..1]).await;
    for (found, want) in [
        (owner, &["gone@x", "labelled@x", "question@x"][..]),
        (visible, &["labelled@x", "question@x"]),
        (inbox, &["question@x"]),
    ] {
        let [member] = found.members.as_slice() else {
            panic!("{}", found.members.len());
        };
        let names: Vec<&[u8]> = member
            .links
            .references
            .iter()
            .map(HeaderId::bytes)
            .collect();
        let want: Vec<&[u8]> = want.iter().map(|name| name.as_bytes()).collect();
        assert_eq!(names, want);
    }
}

#[tokio::test]
async fn whoever_names_a_deleted_message_is_found() {
    for generation in Generation::ALL {
        let store = store(generation, Hidden::There);
        let found = open(&store).kindred(&["deleted@x"]).await;
        let orphan = format!("INBOX:{ORPHAN}");
        assert!(places(&found).contains(&orphan), "{generation:?}");
    }
}

fn index(state: &Path) -> Connection {
    let mut files = std::fs::read_dir(state).unwrap();
    Connection::open(files.next().unwrap().unwrap().path()).unwrap()
}

#[tokio::test]
async fn how_much_there_is_to_read_is_told_to_the_owner_alone() {
    let mut store = store(Generation::Modern, Hidden::There);
    let state = tempfile::tempdir().unwrap();
    let open = || {
        let state = Some(state.path().to_owned());
        Reader::keeping(store.root(), Some(ACCOUNT), state)
    };
    let [owner, caller] = [open(), open()];
    owner.locate(&["question@x"]).await;
    caller.locate(&["question@x"]).await;
    let inbox = store.folder("INBOX");
    store.message(inbox, letter(300, "new@x", &[]));
    // The index stays at its beginning as long as somebody else writes to it.
    let writer = index(state.path());
    writer.execute_batch("BEGIN IMMEDIATE").unwrap();
    let (mut all, cx) = (sought(&["new@x"]), [Cx::new(), Cx::new()]);
    let mut only = all.clone();
    only.within = Within::Only(vec![folder("INBOX")]);
    all.within = Within::All;
    let looking = async {
        while cx[1].counted().is_none() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        assert_eq!(cx[0].counted(), None);
        writer.execute_batch("ROLLBACK").unwrap();
    };
    let (only, all, ()) = tokio::join!(
        caller.source.locate(&cx[0], &only),
        owner.source.locate(&cx[1], &all),
        looking
    );
    assert_eq!(places(&only.unwrap()), ["INBOX:300"]);
    assert_eq!(places(&all.unwrap()), ["INBOX:300"]);
    assert_eq!(cx[0].counted(), None);
}
