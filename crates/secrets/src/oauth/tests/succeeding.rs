//! Another configuration of the same login: what is in memory alone is handed on.

use std::sync::Arc;

use tokio::sync::Notify;

use super::grant;
use super::provider::Rotates;
use super::store::{Imagined, Mood};
use super::tearing::Bench;
use crate::oauth::grant::{Grant, TokenCache};
use crate::oauth::tokens::Tokens;
use crate::oauth::vault::Vault;

impl Bench {
    fn changed(&self, change: impl FnOnce(&mut Grant)) -> Arc<Tokens> {
        let mut grant = grant(&self.provider.issuer);
        change(&mut grant);
        super::tokens(grant, &self.store, self.dir.path())
    }

    /// A process whose refresh token is nowhere but in its memory.
    async fn in_trouble(&self) -> Arc<Tokens> {
        let vault = Vault::imagined(&self.store, super::reference());
        let tokens = Tokens::with(grant(&self.provider.issuer), vault, None);
        self.store.be(Mood::Full);
        tokens.access().await.unwrap_err();
        assert_ne!(self.store.held(), self.provider.current());
        tokens
    }
}

#[tokio::test]
async fn a_token_and_its_marks_outlive_a_change_of_other_settings() {
    let bench = Bench::new().await;
    let before = bench.process();
    let token = before.access().await.unwrap();
    let after = bench.changed(|it| it.cache = TokenCache::PersistAll);
    let after = after.succeeding(&before);
    assert!(after.access().await.unwrap().is(&token));
    assert_eq!(after.grant().cache, TokenCache::PersistAll);
    assert_eq!(bench.provider.refreshes(), 1);
    assert_eq!(after.given().len(), 1);
}

#[tokio::test]
async fn a_refresh_that_is_under_way_is_waited_for_by_who_comes_after() {
    let bench = Bench::new().await;
    let gate = Arc::new(Notify::new());
    bench.provider.set(|it| it.gate = Some(Arc::clone(&gate)));
    let before = bench.process();
    let asking = Arc::clone(&before);
    let asking = tokio::spawn(async move { asking.access().await.map(drop) });
    while bench.provider.refreshes() == 0 {
        tokio::task::yield_now().await;
    }
    let after = bench.changed(|it| it.client_secret = Some("x".into()));
    let after = after.succeeding(&before);
    drop(before);
    let (token, ()) = tokio::join!(after.access(), async { gate.notify_one() });
    token.unwrap();
    asking.await.unwrap().unwrap();
    assert_eq!(bench.provider.refreshes(), 1);
}

#[tokio::test]
async fn a_refresh_token_that_could_be_kept_nowhere_is_kept_by_who_comes_after() {
    let bench = Bench::new().await;
    let before = bench.in_trouble().await;
    // Now there is a state directory, or the store is another one that holds the same.
    let elsewhere = Imagined::holding(bench.store.held().as_deref());
    let moved = super::tokens(grant(&bench.provider.issuer), &elsewhere, bench.dir.path());
    let moved = moved.succeeding(&before);
    moved.access().await.unwrap();
    assert_eq!(elsewhere.held(), bench.provider.current());
    assert_eq!(bench.provider.refreshes(), 1);
}

#[tokio::test]
async fn nothing_is_handed_on_to_another_login() {
    type Change = fn(&mut Grant);
    let changes: [Change; 4] = [
        |it| it.client_id = Some("other".to_owned()),
        |it| it.account = "other".to_owned(),
        |it| it.user = "other".to_owned(),
        |it| it.provider = crate::Provider::Yahoo,
    ];
    for change in changes {
        let bench = Bench::new().await;
        bench.provider.set(|it| it.rotates = Rotates::Never);
        let before = bench.process();
        before.access().await.unwrap();
        let after = bench.changed(change).succeeding(&before);
        assert!(after.core().memory().access.is_none());
        assert!(after.given().is_empty());
    }
    // Nor is a token put into a store that never held the one before it.
    let bench = Bench::new().await;
    let before = bench.in_trouble().await;
    let empty = Imagined::holding(None);
    let other = super::tokens(grant(&bench.provider.issuer), &empty, bench.dir.path());
    assert!(other.succeeding(&before).access().await.is_err());
    assert_eq!(empty.held(), None);
}
