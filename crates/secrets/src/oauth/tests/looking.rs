//! When the secret store is looked at: not to be configured, once at a time, and by nobody after one who waits in vain.

use std::sync::{Arc, Barrier};

use super::store::{Imagined, Mood};
use super::{grant, reference};
use crate::oauth::tokens::{NoToken, Tokens, first_look};
use crate::oauth::vault::Vault;
use crate::{Found, NeedsLogin, Remedy, Standing};

/// Nobody has looked for it yet.
fn unlooked(account: &str, store: &Arc<Imagined>, state: &std::path::Path) -> Arc<Tokens> {
    let mut grant = grant("http://127.0.0.1:1");
    grant.account = account.to_owned();
    let vault = Vault::imagined(store, reference());
    Tokens::with(grant, vault, Some(state.to_owned()))
}

#[test]
fn nobody_is_asked_before_somebody_looks_and_nobody_after_one_who_hangs() {
    let store = Imagined::holding(None);
    store.be(Mood::Hanging);
    let dir = tempfile::tempdir().unwrap();
    let all = ["one", "two", "three"].map(|account| unlooked(account, &store, dir.path()));
    assert_eq!(store.reads(), 0);
    first_look(&all);
    assert_eq!(store.reads(), 1);
    for tokens in &all {
        let why = tokens.unreadable().unwrap();
        assert!(why.to_string().contains("took too long"), "{why}");
    }
    // Who has been looked for is not looked for again.
    first_look(&all);
    assert_eq!(store.reads(), 1);
}

#[tokio::test]
async fn however_often_a_slow_store_is_asked_about_one_program_runs() {
    let gate = Arc::new(Barrier::new(2));
    let store = Imagined::holding(None);
    let dir = tempfile::tempdir().unwrap();
    let tokens = unlooked("work", &store, dir.path());
    tokens.look().await;
    assert_eq!(store.reads(), 1);
    // The next one is not worth it yet.
    store.run_programs(Some(Arc::clone(&gate)));
    for _ in 0..100 {
        assert_eq!(tokens.standing(), Standing::NeedsLogin(NeedsLogin::Never));
    }
    assert_eq!(store.reads(), 1);
    let fresh = unlooked("other", &store, dir.path());
    for _ in 0..100 {
        fresh.standing();
    }
    // The one that was begun is still under way.
    let opened = Arc::clone(&gate);
    tokio::task::spawn_blocking(move || opened.wait())
        .await
        .unwrap();
    assert_eq!(store.reads(), 2);
}

#[tokio::test]
async fn what_cannot_be_read_is_no_login_that_is_missing() {
    let store = Imagined::holding(Some("refresh-secret-1"));
    store.be(Mood::Unreadable);
    let dir = tempfile::tempdir().unwrap();
    let tokens = unlooked("work", &store, dir.path());
    assert!(matches!(tokens.find(), Found::Unreadable(_)));
    assert!(tokens.unreadable().is_some());
    let why = tokens.access().await.unwrap_err();
    assert!(matches!(&why, NoToken::Misconfigured { said } if said.contains("cannot be read")));
    store.be(Mood::Fine);
    assert_eq!(tokens.find(), Found::Token);
    assert_eq!(tokens.unreadable(), None);
    let empty = Imagined::holding(None);
    let tokens = unlooked("work", &empty, dir.path());
    assert!(matches!(tokens.find(), Found::Nothing(_)));
    assert_eq!(tokens.unreadable(), None);
    assert_eq!(tokens.remedy(), Remedy::LogIn);
    empty.be(Mood::ReadOnly);
    assert_eq!(tokens.remedy(), Remedy::Replace(reference()));
}
