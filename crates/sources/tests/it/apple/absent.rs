//! Messages that were never downloaded, or that Mail has let go of: what is known of them is told, and that something is not.

use std::fs;

use mail::{Kindred, Links};
use testkit::apple::{AppleStore, Generation, Letter, Stored};

use super::{Reader, id, places};

/// In these the database does not say what a message calls itself.
const UNSAID: [Generation; 2] = [Generation::Modern, Generation::Older];

fn letter(own: &str, names: &[&str]) -> Letter {
    let names: Vec<String> = names.iter().map(|name| format!("<{name}>")).collect();
    let names = match names.is_empty() {
        true => String::new(),
        false => format!("References: {}\n", names.join(" ")),
    };
    Letter::new(format!(
        "Message-ID: <{own}>\nSubject: {own}\n{names}\nText.\n"
    ))
    .unnamed()
}

fn away(own: &str, names: &[&str]) -> Letter {
    letter(own, names).stored(Stored::Nothing)
}

fn links(found: &Kindred, row: u32) -> &Links {
    let mut members = found.members.iter();
    &members.find(|one| one.at.uid.0 == row).unwrap().links
}

#[tokio::test]
async fn what_is_not_here_is_tied_by_the_names_that_others_have_in_their_headers() {
    for generation in UNSAID {
        let mut store = AppleStore::of(generation);
        let (inbox, archive) = (store.folder("INBOX"), store.folder("Archive"));
        store.message(inbox, letter("question@x", &[]).row(1));
        store.message(inbox, away("answer@x", &["question@x"]).row(2));
        let reader = Reader::new(store.root(), None);
        let found = reader.kindred(&["question@x"]).await;
        assert_eq!(found.members.len(), 2, "{generation:?}");
        assert_eq!(links(&found, 2).references, [id("question@x")]);
        assert_eq!(links(&found, 2).id, None);
        // Who answers it cannot be told.
        assert!(!found.coverage.exhausted, "{generation:?}");
        // A copy says what it is called.
        store.message(archive, letter("answer@x", &["question@x"]).row(3));
        for asked in ["question@x", "answer@x"] {
            let found = reader.kindred(&[asked]).await;
            assert_eq!(found.members.len(), 3, "{generation:?} {asked}");
            assert_eq!(links(&found, 2).id, Some(id("answer@x")));
            assert!(found.coverage.exhausted, "{generation:?} {asked}");
        }
        assert_eq!(reader.locate(&["answer@x"]).await.members.len(), 2);
    }
}

#[tokio::test]
async fn whom_it_names_may_be_known_in_part_and_that_is_said() {
    for generation in UNSAID {
        let mut store = AppleStore::of(generation);
        let inbox = store.folder("INBOX");
        store.message(inbox, letter("question@x", &[]).row(1));
        store.message(inbox, letter("answer@x", &["question@x"]).row(2));
        let copy = away("answer@x", &["lost@x", "question@x"]);
        store.message(inbox, copy.row(3));
        let reader = Reader::new(store.root(), None);
        let found = reader.kindred(&["question@x"]).await;
        assert_eq!(found.members.len(), 3, "{generation:?}");
        assert_eq!(links(&found, 3).references, [id("question@x")]);
        assert!(!found.coverage.exhausted, "{generation:?}");
        // Whoever looks for copies alone lacks nothing.
        let found = reader.locate(&["answer@x"]).await;
        assert_eq!(found.members.len(), 2, "{generation:?}");
        assert!(found.coverage.exhausted, "{generation:?}");
    }
}

#[tokio::test]
async fn where_nothing_says_whom_it_names_nothing_is_whole() {
    let mut store = AppleStore::of(Generation::Ancient);
    let inbox = store.folder("INBOX");
    store.message(inbox, letter("question@x", &[]).row(1).conversation(7));
    let reader = Reader::new(store.root(), None);
    let found = reader.kindred(&["question@x"]).await;
    assert!(found.coverage.exhausted);
    store.message(inbox, away("answer@x", &[]).row(2).conversation(7));
    let found = reader.kindred(&["question@x"]).await;
    assert_eq!(found.members.len(), 2);
    assert!(!found.coverage.exhausted);
}

#[tokio::test]
async fn what_mail_has_let_go_of_since_it_was_read_may_still_be_what_is_looked_for() {
    for generation in Generation::ALL {
        let mut store = AppleStore::of(generation);
        let inbox = store.folder("INBOX");
        store.message(inbox, letter("child@x", &["lost@x"]).row(1));
        let reader = Reader::new(store.root(), None);
        for asked in ["child@x", "lost@x"] {
            let found = reader.kindred(&[asked]).await;
            assert_eq!(places(&found).len(), 1, "{generation:?} {asked}");
            assert!(found.coverage.exhausted, "{generation:?} {asked}");
        }
        fs::remove_file(store.directory(inbox).join("Data/Messages/1.emlx")).unwrap();
        for asked in ["child@x", "lost@x"] {
            let found = reader.kindred(&[asked]).await;
            assert!(!found.coverage.exhausted, "{generation:?} {asked}");
        }
        let found = reader.locate(&["child@x"]).await;
        assert!(!found.coverage.exhausted, "{generation:?}");
        // That it is not this one was read.
        let found = reader.locate(&["nobody@x"]).await;
        assert!(found.coverage.exhausted, "{generation:?}");
    }
}
