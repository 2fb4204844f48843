//! Stores that lose what they held, keep it elsewhere or fail although they kept it; answers that are torn; files that
//! cannot be written.

use std::path::Path;
use std::sync::Arc;

use super::provider::{Provider, Rotates, answer};
use super::store::{Imagined, Mood};
use super::{contents, grant};
use crate::oauth::tokens::{NoToken, Tokens};
use crate::{NeedsLogin, Standing};

pub(super) struct Bench {
    pub provider: Provider,
    pub store: Arc<Imagined>,
    pub dir: tempfile::TempDir,
}

impl Bench {
    pub(super) async fn new() -> Self {
        let provider = Provider::start(Some("refresh-secret-1")).await;
        provider.set(|it| it.rotates = Rotates::Always);
        Self {
            provider,
            store: Imagined::holding(Some("refresh-secret-1")),
            dir: tempfile::tempdir().unwrap(),
        }
    }

    pub(super) fn process(&self) -> Arc<Tokens> {
        super::tokens(grant(&self.provider.issuer), &self.store, self.dir.path())
    }

    /// The store holds what the provider takes, and a new process works with it.
    async fn is_whole(&self) {
        assert_eq!(self.store.held(), self.provider.current());
        self.process().access().await.unwrap();
        assert!(!contents(self.dir.path()).contains("secret"));
    }
}

/// The time of an access token is over, and so is that of what failed.
fn age(tokens: &Tokens) {
    let mut memory = tokens.core().memory();
    memory.access = None;
    memory.failure = None;
}

#[tokio::test]
async fn a_store_that_loses_the_old_token_does_not_cost_the_new_one() {
    for mood in [Mood::Losing, Mood::Mangling] {
        let bench = Bench::new().await;
        let tokens = bench.process();
        bench.store.be(mood);
        // What was got can be used all the same.
        tokens.access().await.unwrap();
        assert_eq!(tokens.standing(), Standing::Good, "{mood:?}");
        assert_eq!(tokens.look().await, Standing::Good, "{mood:?}");
        // Nor where it is not even tried any more.
        for mood in [mood, Mood::ReadOnly, mood, Mood::ReadOnly] {
            bench.store.be(mood);
            age(&tokens);
            tokens.access().await.unwrap();
            assert_eq!(tokens.standing(), Standing::Good, "{mood:?}");
        }
        bench.store.be(Mood::Fine);
        age(&tokens);
        tokens.access().await.unwrap();
        bench.is_whole().await;
    }
}

#[tokio::test]
async fn a_token_that_somebody_puts_into_a_torn_store_counts_more() {
    let bench = Bench::new().await;
    let tokens = bench.process();
    bench.store.be(Mood::Losing);
    tokens.access().await.unwrap();
    bench.store.be(Mood::Fine);
    bench.store.put("refresh-secret-by-hand");
    bench
        .provider
        .set(|it| it.current = Some("refresh-secret-by-hand".to_owned()));
    age(&tokens);
    tokens.access().await.unwrap();
    bench.is_whole().await;
}

#[tokio::test]
async fn a_store_that_keeps_secrets_elsewhere_has_the_successor_beside_it() {
    let bench = Bench::new().await;
    bench.store.be(Mood::Elsewhere);
    for _ in 0..3 {
        bench.process().access().await.unwrap();
        assert_eq!(bench.store.held().as_deref(), Some("refresh-secret-1"));
    }
    bench.store.be(Mood::Fine);
    bench.process().access().await.unwrap();
    bench.is_whole().await;
}

#[tokio::test]
async fn a_store_that_fails_and_keeps_it_all_the_same_is_believed_by_what_it_holds() {
    let bench = Bench::new().await;
    bench.store.be(Mood::Grumbling);
    let tokens = bench.process();
    for _ in 0..2 {
        age(&tokens);
        tokens.access().await.unwrap();
        assert_eq!(bench.store.held(), bench.provider.current());
    }
    bench.is_whole().await;
}

#[tokio::test]
async fn a_new_refresh_token_in_an_answer_of_no_use_is_kept_before_it_is_complained() {
    for body in [
        r#"{"access_token":"a b","refresh_token":"refresh-secret-next"}"#,
        r#"{"access_token":7,"refresh_token":"refresh-secret-next"}"#,
        r#"{"access_token":"a","token_type":"mac","refresh_token":"refresh-secret-next"}"#,
    ] {
        let bench = Bench::new().await;
        bench.provider.set(|it| {
            it.script.push_back(answer(200, "", body));
            it.former.push("refresh-secret-1".to_owned());
            it.current = Some("refresh-secret-next".to_owned());
        });
        let tokens = bench.process();
        let why = tokens.access().await.unwrap_err();
        assert!(matches!(why, NoToken::Unavailable { .. }), "{why}");
        assert!(why.to_string().contains("kB"), "{why}");
        assert_eq!(bench.store.held().as_deref(), Some("refresh-secret-next"));
        age(&tokens);
        tokens.access().await.unwrap();
        bench.is_whole().await;
    }
}

/// A state directory that cannot be written: a directory stands in the way of the file that is to replace the old one.
fn block(dir: &Path) {
    let files = crate::oauth::kept::Files::beside(dir, "work", "");
    drop(files.try_lock().unwrap());
    let lock = std::fs::read_dir(dir).unwrap().flatten().next().unwrap();
    let name = lock.file_name().into_string().unwrap();
    std::fs::create_dir(dir.join(name.replace(".lock", ".json.new"))).unwrap();
}

#[tokio::test]
async fn a_refusal_that_cannot_be_written_down_is_not_asked_for_again() {
    let bench = Bench::new().await;
    block(bench.dir.path());
    bench.provider.set(|it| it.current = None);
    let tokens = bench.process();
    let refused = Standing::NeedsLogin(NeedsLogin::Refused);
    for _ in 0..3 {
        let why = tokens.access().await.unwrap_err();
        assert!(matches!(why, NoToken::NeedsLogin(NeedsLogin::Refused)));
        assert_eq!(tokens.standing(), refused);
        assert_eq!(tokens.look().await, refused);
        tokens.core().memory().failure = None;
    }
    assert_eq!(bench.provider.refreshes(), 1);
    // A new one in the store lifts it.
    bench.store.put("refresh-secret-new");
    bench
        .provider
        .set(|it| it.current = Some("refresh-secret-new".to_owned()));
    assert_eq!(tokens.look().await, Standing::Good);
    tokens.core().memory().failure = None;
    tokens.access().await.unwrap();
}

#[tokio::test]
async fn a_grant_for_reading_is_remembered_although_later_answers_do_not_mention_it() {
    for written in [true, false] {
        let bench = Bench::new().await;
        if !written {
            block(bench.dir.path());
        }
        bench
            .provider
            .set(|it| it.scope = Some("mail:read".to_owned()));
        let tokens = bench.process();
        tokens.access().await.unwrap();
        assert_eq!(tokens.standing(), Standing::ReadOnly);
        bench.provider.set(|it| it.scope = None);
        for _ in 0..2 {
            age(&tokens);
            tokens.access().await.unwrap();
            assert_eq!(tokens.standing(), Standing::ReadOnly);
            assert_eq!(tokens.look().await, Standing::ReadOnly);
        }
        // A restart knows it before it has asked anybody.
        if written {
            assert_eq!(bench.process().standing(), Standing::ReadOnly);
        }
        // Of another token nothing is known.
        bench.store.put("refresh-secret-by-hand");
        assert_eq!(bench.process().standing(), Standing::Good);
    }
}

#[tokio::test]
async fn a_token_that_another_client_was_refused_works_once_that_is_corrected() {
    let bench = Bench::new().await;
    let client = |id: &str| {
        let mut grant = grant(&bench.provider.issuer);
        grant.client_id = Some(id.to_owned());
        super::tokens(grant, &bench.store, bench.dir.path())
    };
    let refusal = answer(400, "", r#"{"error":"invalid_grant"}"#);
    bench.provider.set(|it| it.script.push_back(refusal));
    let refused = Standing::NeedsLogin(NeedsLogin::Refused);
    assert!(client("wrong").access().await.is_err());
    assert_eq!(client("wrong").standing(), refused);
    let corrected = client("client-1");
    assert_eq!(corrected.standing(), Standing::Good);
    corrected.access().await.unwrap();
    bench.is_whole().await;
}
