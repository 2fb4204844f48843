//! Refresh tokens that are replaced: two processes, stores that fail, and a crash between any two steps.

use std::path::Path;
use std::sync::Arc;

use super::provider::{Provider, Rotates};
use super::store::{Imagined, Mood};
use super::{contents, grant, reference};
use crate::oauth::tokens::{NoToken, Tokens};
use crate::oauth::vault::Vault;
use crate::{NeedsLogin, Standing};

struct Bench {
    provider: Provider,
    store: Arc<Imagined>,
    dir: tempfile::TempDir,
}

impl Bench {
    async fn new() -> Self {
        let provider = Provider::start(Some("refresh-secret-1")).await;
        provider.set(|it| it.rotates = Rotates::Always);
        Self {
            provider,
            store: Imagined::holding(Some("refresh-secret-1")),
            dir: tempfile::tempdir().unwrap(),
        }
    }

    /// As a process that starts now.
    fn process(&self) -> Arc<Tokens> {
        super::tokens(grant(&self.provider.issuer), &self.store, self.dir.path())
    }

    async fn works(&self) {
        let process = self.process();
        process.access().await.unwrap();
        assert_eq!(process.standing(), Standing::Good);
    }
}

#[tokio::test]
async fn a_new_refresh_token_is_in_the_store_before_the_access_token_is_used() {
    let bench = Bench::new().await;
    for _ in 0..3 {
        bench.works().await;
        assert_eq!(bench.store.held(), bench.provider.current());
        assert!(!contents(bench.dir.path()).contains("secret"));
    }
    assert_eq!(bench.provider.refreshes(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn processes_that_refresh_at_once_never_use_a_token_twice() {
    let bench = Bench::new().await;
    let mut running = Vec::new();
    for _ in 0..8 {
        let process = bench.process();
        running.push(tokio::spawn(
            async move { process.access().await.map(drop) },
        ));
    }
    for process in running {
        process.await.unwrap().unwrap();
    }
    assert_eq!(bench.provider.refreshes(), 8);
    assert_eq!(bench.store.held(), bench.provider.current());
}

#[tokio::test]
async fn a_store_that_cannot_be_written_has_its_tokens_successor_beside_it() {
    for mood in [Mood::ReadOnly, Mood::Full] {
        let bench = Bench::new().await;
        bench.store.be(mood);
        for _ in 0..3 {
            bench.works().await;
            assert_eq!(bench.store.held().as_deref(), Some("refresh-secret-1"));
            assert!(!contents(bench.dir.path()).contains("secret"));
        }
        // It goes into the store as soon as that can be written.
        bench.store.be(Mood::Fine);
        bench.works().await;
        assert_eq!(bench.store.held(), bench.provider.current());
        bench.works().await;
    }
}

#[tokio::test]
async fn a_token_that_somebody_put_into_the_store_counts_more_than_what_lies_beside_it() {
    let bench = Bench::new().await;
    bench.store.be(Mood::ReadOnly);
    bench.works().await;
    bench.store.put("refresh-secret-by-hand");
    bench
        .provider
        .set(|it| it.current = Some("refresh-secret-by-hand".to_owned()));
    bench.works().await;
}

/// A state directory that cannot be written: a file stands in its way once the lock is there.
fn block(dir: &Path) {
    let lock = std::fs::read_dir(dir).unwrap().flatten().next().unwrap();
    let name = lock.file_name().into_string().unwrap();
    let new = dir.join(name.replace(".lock", ".json.new"));
    std::fs::create_dir(new).unwrap();
}

fn unblock(dir: &Path) {
    for entry in std::fs::read_dir(dir).unwrap().flatten() {
        if entry.file_type().unwrap().is_dir() {
            std::fs::remove_dir(entry.path()).unwrap();
        }
    }
}

#[tokio::test]
async fn a_token_that_can_be_kept_nowhere_is_said_and_tried_again() {
    let bench = Bench::new().await;
    let tokens = bench.process();
    // The lock exists from the first refresh on.
    bench.provider.set(|it| it.rotates = Rotates::Never);
    tokens.access().await.unwrap();
    bench.provider.set(|it| it.rotates = Rotates::Always);
    block(bench.dir.path());
    bench.store.be(Mood::Full);
    tokens.core().memory().access = None;
    for _ in 0..3 {
        let why = tokens.access().await.unwrap_err();
        let words = why.to_string();
        assert!(matches!(why, NoToken::Misconfigured { .. }), "{words}");
        assert!(
            words.contains("the disk is full") && !words.contains("secret-"),
            "{words}"
        );
        tokens.core().memory().failure = None;
    }
    // It was asked for once, and is not lost.
    assert_eq!(bench.provider.refreshes(), 2);
    unblock(bench.dir.path());
    tokens.access().await.unwrap();
    assert_eq!(bench.provider.refreshes(), 2);
    bench.store.be(Mood::Fine);
    bench.works().await;
    assert_eq!(bench.store.held(), bench.provider.current());
}

#[tokio::test]
async fn without_a_state_directory_the_store_alone_has_to_do() {
    let bench = Bench::new().await;
    let vault = Vault::imagined(&bench.store, reference());
    let tokens = Tokens::with(grant(&bench.provider.issuer), vault, None);
    tokens.access().await.unwrap();
    assert_eq!(bench.store.held(), bench.provider.current());
    bench.store.be(Mood::ReadOnly);
    tokens.core().memory().access = None;
    let why = tokens.access().await.unwrap_err();
    assert!(matches!(why, NoToken::Misconfigured { .. }));
}

#[tokio::test]
async fn a_crash_at_any_step_ends_in_a_working_login_or_in_words() {
    // Before the provider answered: nothing has happened.
    let bench = Bench::new().await;
    drop(bench.process());
    bench.works().await;

    // The provider has replaced it, and nobody heard: what is left is refused, and that is said.
    let bench = Bench::new().await;
    bench.provider.set(|it| {
        it.former.push("refresh-secret-1".to_owned());
        it.current = Some("refresh-secret-lost".to_owned());
    });
    let process = bench.process();
    let why = process.access().await.unwrap_err();
    assert!(matches!(why, NoToken::NeedsLogin(NeedsLogin::Refused)));
    let refused = Standing::NeedsLogin(NeedsLogin::Refused);
    assert_eq!(bench.process().standing(), refused);

    // Sealed beside the store, not yet in it: a store that fails leaves the same behind.
    let bench = Bench::new().await;
    bench.store.be(Mood::Full);
    bench.works().await;
    bench.store.be(Mood::Fine);
    bench.works().await;
    assert_eq!(bench.store.held(), bench.provider.current());

    // In the store, and still beside it: as if the last write had not happened.
    let bench = Bench::new().await;
    bench.store.be(Mood::Full);
    bench.works().await;
    let stale = saved(bench.dir.path());
    bench.store.put(&bench.provider.current().unwrap());
    bench.store.be(Mood::Fine);
    bench.works().await;
    assert_ne!(saved(bench.dir.path()), stale);
    bench.works().await;
}

#[tokio::test]
async fn what_was_kept_nowhere_is_not_forgotten_because_another_process_was_refused() {
    let bench = Bench::new().await;
    let tokens = bench.process();
    bench.provider.set(|it| it.rotates = Rotates::Never);
    tokens.access().await.unwrap();
    bench.provider.set(|it| it.rotates = Rotates::Always);
    block(bench.dir.path());
    bench.store.be(Mood::Full);
    tokens.core().memory().access = None;
    tokens.access().await.unwrap_err();
    unblock(bench.dir.path());
    bench.store.be(Mood::Fine);
    // This provider does not end the login of who shows an old one.
    bench.provider.set(|it| it.former.clear());
    assert!(bench.process().access().await.is_err());
    tokens.core().memory().failure = None;
    tokens.access().await.unwrap();
    assert_eq!(bench.store.held(), bench.provider.current());
    bench.works().await;
}

#[tokio::test]
async fn who_waited_for_another_process_uses_what_that_one_got() {
    let bench = Bench::new().await;
    let process = || {
        let mut grant = grant(&bench.provider.issuer);
        grant.cache = crate::TokenCache::PersistAll;
        super::tokens(grant, &bench.store, bench.dir.path())
    };
    let (one, other) = (process(), process());
    let (one, other) = tokio::join!(one.access(), other.access());
    assert!(one.unwrap().is(&other.unwrap()));
    assert_eq!(bench.provider.refreshes(), 1);
}

fn saved(dir: &Path) -> String {
    contents(dir)
}

#[tokio::test]
async fn a_successor_that_is_refused_leaves_the_stores_own_token_to_be_tried() {
    let bench = Bench::new().await;
    bench.store.be(Mood::ReadOnly);
    bench.works().await;
    // The provider went back to an older copy of its own data.
    bench.provider.set(|it| {
        it.current = Some("refresh-secret-1".to_owned());
        it.former.clear();
    });
    bench.works().await;
}

#[tokio::test]
async fn somebody_who_logs_in_while_a_refresh_is_refused_is_not_overlooked() {
    let bench = Bench::new().await;
    bench
        .provider
        .set(|it| it.current = Some("refresh-secret-new".to_owned()));
    let gate = Arc::new(tokio::sync::Notify::new());
    bench.provider.set(|it| it.gate = Some(Arc::clone(&gate)));
    let process = bench.process();
    let refreshing = {
        let process = Arc::clone(&process);
        tokio::spawn(async move { process.access().await.map(drop) })
    };
    while bench.provider.refreshes() == 0 {
        tokio::task::yield_now().await;
    }
    bench.store.put("refresh-secret-new");
    bench.provider.set(|it| it.gate = None);
    gate.notify_one();
    refreshing.await.unwrap().unwrap();
    assert_eq!(process.standing(), Standing::Good);
}
