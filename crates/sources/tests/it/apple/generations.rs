//! Ids of a database that Mail has begun anew since: its numbers are those of other messages.

use std::fs;

use mail::{Anchor, FaultKind, MailSource as _, MessageRef, Snippets, UidValidity};
use testkit::apple::{ACCOUNT, AppleStore, Letter};

use super::{Reader, listing};

fn store(first: &str, second: &str) -> AppleStore {
    let mut store = AppleStore::new();
    let inbox = store.folder("INBOX");
    for (row, id) in [(1, first), (2, second)] {
        let letter = Letter::new(format!("Message-ID: <{id}>\nSubject: {id}\n\n{id}\n"));
        store.message(inbox, letter.row(row));
    }
    store
}

async fn conflicts(reader: &Reader, at: &MessageRef) {
    let (source, cx) = (&reader.source, &reader.cx);
    let uids = [at.uid].into_iter().collect();
    let (folder, old) = (&at.folder, at.uidvalidity);
    let mut next = listing("INBOX", 1);
    next.below = Some(Anchor {
        uidvalidity: old,
        order: i64::MAX,
        uid: at.uid,
    });
    let one = source.messages(cx, std::slice::from_ref(at), &|_| Vec::new());
    let one = one.await.unwrap().remove(0);
    for (name, fault) in [
        ("raw", source.raw(cx, at, 1).await.err()),
        (
            "message",
            source.message(cx, at, &|_| Vec::new()).await.err(),
        ),
        ("messages", one.err()),
        ("file", source.file(cx, at).await.err()),
        ("look", source.look(cx, at, 1).await.err()),
        ("octets", source.octets(cx, at, 0, 1).await.err()),
        ("search", source.search(cx, &next).await.err()),
        (
            "summaries",
            source
                .summaries(cx, folder, old, &uids, Snippets::Without)
                .await
                .err(),
        ),
    ] {
        assert_eq!(fault.unwrap().kind, FaultKind::Conflict, "{name}");
    }
}

#[tokio::test]
async fn an_id_of_a_database_that_is_no_more_names_nothing() {
    let mut store = store("one@x", "two@x");
    let reader = Reader::new(store.root(), Some(ACCOUNT));
    let at = reader.at("INBOX", 1).await;
    assert_ne!(at.uidvalidity.0, 0);
    let found = reader.locate(&["one@x"]).await;
    assert_eq!(found.members[0].at, at);
    // As people repair it: Mail quits, the Envelope Index is thrown away, and Mail numbers its messages anew.
    let mut rebuilt = self::store("two@x", "one@x");
    rebuilt.quit();
    store.quit();
    let database = store.database();
    fs::remove_file(&database).unwrap();
    fs::copy(rebuilt.database(), &database).unwrap();
    conflicts(&reader, &at).await;
    let found = reader.locate(&["one@x"]).await;
    assert_eq!(found.members[0].at.uid.0, 2);
    assert_ne!(found.members[0].at.uidvalidity, at.uidvalidity);
}

async fn generation(reader: &Reader) -> u32 {
    let (source, cx, search) = (&reader.source, &reader.cx, listing("INBOX", 1));
    let found = source.search(cx, &search).await.unwrap();
    let sifted = source.sift(cx, &search.folder, &[]).await.unwrap();
    assert_eq!(sifted.uidvalidity, UidValidity(found.uidvalidity));
    assert_eq!(found.next.unwrap().uidvalidity, sifted.uidvalidity);
    found.uidvalidity
}

#[tokio::test]
async fn an_id_means_the_same_while_mail_runs_and_when_it_has_quit() {
    let mut store = store("one@x", "two@x");
    let reader = Reader::new(store.root(), Some(ACCOUNT));
    let running = generation(&reader).await;
    let at = reader.at("INBOX", 1).await;
    store.checkpoint();
    assert_eq!(generation(&reader).await, running);
    // Then it is read from a copy, which is another file.
    store.quit();
    assert_eq!(generation(&reader).await, running);
    assert!(reader.source.raw(&reader.cx, &at, u64::MAX).await.is_ok());
    store.start();
    store.sql("VACUUM");
    assert_eq!(generation(&reader).await, running);
    assert_eq!(
        generation(&Reader::new(store.root(), Some(ACCOUNT))).await,
        running
    );
}
