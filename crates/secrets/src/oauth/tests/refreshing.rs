//! Tokens that stay fresh: once for all, not in a loop, and remembered as configured.

use std::sync::{Arc, Mutex};

use secrecy::ExposeSecret as _;
use tokio::sync::{Barrier, Notify};

use super::provider::{Provider, Rotates, answer};
use super::store::{Imagined, Mood};
use super::{contents, grant, tokens};
use crate::oauth::flights::{Flights, Landed};
use crate::oauth::grant::{Grant, TokenCache};
use crate::oauth::memory::AccessToken;
use crate::oauth::refresh::{self, BEGUN_WITHIN, MOST_ATTEMPTS};
use crate::oauth::tokens::{NoToken, TOO_SOON, Tokens};
use crate::oauth::vault::Vault;
use crate::{NeedsLogin, RefreshOutcome, Rotation, Standing};

fn text(token: &AccessToken) -> &str {
    token.secret().expose_secret()
}

async fn said(tokens: &Tokens) -> String {
    match tokens.access().await {
        Ok(token) => text(&token).to_owned(),
        Err(why) => format!("{why:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_hundred_who_ask_at_once_cause_one_refresh() {
    let provider = Provider::start(Some("refresh-secret-1")).await;
    provider.set(|it| {
        it.rotates = Rotates::Always;
        it.expires_in = Some(0);
    });
    let store = Imagined::holding(Some("refresh-secret-1"));
    let dir = tempfile::tempdir().unwrap();
    let tokens = tokens(grant(&provider.issuer), &store, dir.path());
    assert_eq!(said(&tokens).await, "access-secret-1");
    // That one is over. The next is held back until everybody has begun to ask.
    let gate = Arc::new(Notify::new());
    provider.set(|it| {
        it.gate = Some(Arc::clone(&gate));
        it.expires_in = Some(3600);
    });
    let begin = Arc::new(Barrier::new(201));
    let callers: Vec<_> = (0..200)
        .map(|_| {
            let (tokens, begin) = (Arc::clone(&tokens), Arc::clone(&begin));
            tokio::spawn(async move {
                begin.wait().await;
                said(&tokens).await
            })
        })
        .collect();
    begin.wait().await;
    gate.notify_one();
    for caller in callers {
        assert_eq!(caller.await.unwrap(), "access-secret-2");
    }
    assert_eq!(provider.refreshes(), 2);
}

#[tokio::test]
async fn a_fresh_token_is_shown_again_and_an_old_one_is_replaced() {
    let provider = Provider::start(Some("refresh-secret-1")).await;
    let store = Imagined::holding(Some("refresh-secret-1"));
    let dir = tempfile::tempdir().unwrap();
    let tokens = tokens(grant(&provider.issuer), &store, dir.path());
    for _ in 0..3 {
        assert_eq!(said(&tokens).await, "access-secret-1");
    }
    assert_eq!(provider.refreshes(), 1);
    provider.set(|it| it.expires_in = Some(0));
    let first = tokens.access().await.unwrap();
    let second = tokens.instead_of(&first).await.unwrap();
    assert_eq!(text(&second), "access-secret-2");
    // That one is over at once.
    assert_eq!(said(&tokens).await, "access-secret-3");
}

#[tokio::test]
async fn a_caller_that_leaves_does_not_tear_a_refresh() {
    let provider = Provider::start(Some("refresh-secret-1")).await;
    let gate = Arc::new(Notify::new());
    provider.set(|it| {
        it.gate = Some(Arc::clone(&gate));
        it.rotates = Rotates::Always;
    });
    let store = Imagined::holding(Some("refresh-secret-1"));
    let dir = tempfile::tempdir().unwrap();
    let tokens = tokens(grant(&provider.issuer), &store, dir.path());
    let leaving = {
        let tokens = Arc::clone(&tokens);
        tokio::spawn(async move { said(&tokens).await })
    };
    while provider.refreshes() == 0 {
        tokio::task::yield_now().await;
    }
    leaving.abort();
    assert!(leaving.await.unwrap_err().is_cancelled());
    provider.set(|it| it.gate = None);
    gate.notify_one();
    assert_eq!(said(&tokens).await, "access-secret-1");
    assert_eq!(provider.refreshes(), 1);
    assert_eq!(store.held(), provider.current());
}

#[tokio::test]
async fn a_token_that_a_mail_server_refuses_is_replaced_once() {
    let provider = Provider::start(Some("refresh-secret-1")).await;
    let store = Imagined::holding(Some("refresh-secret-1"));
    let dir = tempfile::tempdir().unwrap();
    let tokens = tokens(grant(&provider.issuer), &store, dir.path());
    let first = tokens.access().await.unwrap();
    let second = tokens.instead_of(&first).await.unwrap();
    assert_eq!(text(&second), "access-secret-2");
    // Somebody else who had the first one gets what is there.
    let same = tokens.instead_of(&first).await.unwrap();
    assert_eq!(text(&same), "access-secret-2");
    assert_eq!(provider.refreshes(), 2);
    // The new one is refused as well: that is not its age.
    for _ in 0..3 {
        let why = tokens.instead_of(&second).await.unwrap_err();
        assert!(matches!(why, NoToken::Spurned { .. }), "{why}");
    }
    assert_eq!(provider.refreshes(), 2);
}

#[tokio::test]
async fn a_token_that_was_refused_although_it_was_new_is_shown_to_nobody_for_a_while() {
    let provider = Provider::start(Some("refresh-secret-1")).await;
    let store = Imagined::holding(Some("refresh-secret-1"));
    let dir = tempfile::tempdir().unwrap();
    let tokens = tokens(grant(&provider.issuer), &store, dir.path());
    let first = tokens.access().await.unwrap();
    let second = tokens.instead_of(&first).await.unwrap();
    // Of one that is not there any more, nobody needs to hear.
    tokens.spurn(&first);
    assert_eq!(said(&tokens).await, "access-secret-2");
    tokens.spurn(&second);
    for _ in 0..3 {
        let why = tokens.access().await.unwrap_err();
        assert!(matches!(why, NoToken::Spurned { .. }), "{why}");
        let why = tokens.instead_of(&first).await.unwrap_err();
        assert!(matches!(why, NoToken::Spurned { .. }), "{why}");
    }
    assert_eq!(provider.refreshes(), 2);
    // Somebody may have set it right meanwhile.
    if let Some(access) = &mut tokens.core().memory().access {
        access.spurned = std::time::Instant::now().checked_sub(TOO_SOON);
    }
    assert_eq!(said(&tokens).await, "access-secret-3");
    assert_eq!(provider.refreshes(), 3);
}

#[tokio::test]
async fn an_exit_waits_for_a_refresh_that_is_under_way_and_begins_no_other() {
    let provider = Provider::start(Some("refresh-secret-1")).await;
    let gate = Arc::new(Notify::new());
    provider.set(|it| {
        it.gate = Some(Arc::clone(&gate));
        it.rotates = Rotates::Always;
    });
    let store = Imagined::holding(Some("refresh-secret-1"));
    let dir = tempfile::tempdir().unwrap();
    let flights = Flights::new();
    let process = |account: &str| {
        let mut grant = grant(&provider.issuer);
        grant.account = account.to_owned();
        let vault = Vault::imagined(&store, super::reference());
        let state = Some(dir.path().to_owned());
        Tokens::among(flights.clone(), grant, vault, state)
    };
    let (tokens, other) = (process("work"), process("other"));
    let caller = tokio::spawn(async move { said(&tokens).await });
    while provider.refreshes() == 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(
        flights.land(std::time::Duration::ZERO).await,
        Landed::NotAll
    );
    assert!(said(&other).await.contains("the program is ending"));
    gate.notify_one();
    let landed = flights.land(std::time::Duration::from_secs(60)).await;
    assert_eq!(landed, Landed::All);
    assert_eq!(store.held(), provider.current());
    assert_eq!(store.held().as_deref(), Some("refresh-secret-2"));
    assert_eq!(caller.await.unwrap(), "access-secret-1");
    assert_eq!(provider.refreshes(), 1);
}

#[tokio::test]
async fn a_provider_that_gives_the_refused_token_again_is_not_asked_for_ever() {
    let provider = Provider::start(Some("refresh-secret-1")).await;
    let body = r#"{"access_token":"access-secret-same","expires_in":3600}"#;
    provider.set(|it| {
        it.script
            .extend([answer(200, "", body), answer(200, "", body)])
    });
    let store = Imagined::holding(Some("refresh-secret-1"));
    let dir = tempfile::tempdir().unwrap();
    let tokens = tokens(grant(&provider.issuer), &store, dir.path());
    let first = tokens.access().await.unwrap();
    for _ in 0..5 {
        let why = tokens.instead_of(&first).await.unwrap_err();
        assert!(matches!(why, NoToken::Spurned { .. }));
    }
    assert_eq!(provider.refreshes(), 2);
}

#[tokio::test]
async fn trouble_is_remembered_for_a_while_and_shared() {
    let cases = [
        (answer(503, "Retry-After: 120\r\n", "busy"), "status 503"),
        (answer(429, "", "{}"), "status 429"),
        (answer(200, "", "<html>"), "status 200"),
        (
            answer(302, "Location: http://127.0.0.1:1/token\r\n", ""),
            "status 302",
        ),
        (
            answer(400, "", r#"{"error":"invalid_client"}"#),
            "invalid_client",
        ),
        (
            answer(400, "", r#"{"error":"unauthorized_client"}"#),
            "unauthorized_client",
        ),
        (
            answer(400, "", r#"{"error":"whatever refresh-secret-1"}"#),
            "not known here",
        ),
        (answer(200, "", &"x".repeat(100_000)), "more than any"),
        (String::new(), "broke before"),
    ];
    for (reply, word) in cases {
        let provider = Provider::start(Some("refresh-secret-1")).await;
        provider.set(|it| it.script.push_back(reply));
        let store = Imagined::holding(Some("refresh-secret-1"));
        let dir = tempfile::tempdir().unwrap();
        let tokens = tokens(grant(&provider.issuer), &store, dir.path());
        for _ in 0..20 {
            let why = tokens.access().await.unwrap_err();
            assert!(why.to_string().contains(word), "{why}");
            assert!(!why.to_string().contains("refresh-secret"), "{why}");
        }
        assert_eq!(provider.refreshes(), 1, "{word}");
        // It is not the login's fault.
        assert_eq!(tokens.standing(), Standing::Good);
    }
}

#[tokio::test]
async fn a_refused_login_is_remembered_until_somebody_logs_in() {
    let provider = Provider::start(Some("refresh-secret-new")).await;
    let store = Imagined::holding(Some("refresh-secret-1"));
    let dir = tempfile::tempdir().unwrap();
    let tokens = tokens(grant(&provider.issuer), &store, dir.path());
    assert_eq!(tokens.standing(), Standing::Good);
    let refused = Standing::NeedsLogin(NeedsLogin::Refused);
    let why = tokens.access().await.unwrap_err();
    assert!(matches!(why, NoToken::NeedsLogin(NeedsLogin::Refused)));
    assert_eq!(tokens.standing(), refused);
    // Also by who starts now, without asking anybody.
    let later = super::tokens(grant(&provider.issuer), &store, dir.path());
    assert_eq!(later.standing(), refused);
    assert!(later.access().await.is_err());
    assert_eq!(provider.refreshes(), 1);
    // A new token in the store lifts it, also here.
    store.put("refresh-secret-new");
    assert_eq!(tokens.look().await, Standing::Good);
    assert_eq!(said(&tokens).await, "access-secret-1");
    assert!(!contents(dir.path()).contains("secret"));
}

#[tokio::test]
async fn what_is_needed_is_told_apart() {
    let provider = Provider::start(None).await;
    let dir = tempfile::tempdir().unwrap();
    let empty = Imagined::holding(None);
    let nobody = tokens(grant(&provider.issuer), &empty, dir.path());
    assert_eq!(nobody.standing(), Standing::NeedsLogin(NeedsLogin::Never));
    let why = nobody.access().await.unwrap_err();
    assert!(matches!(why, NoToken::NeedsLogin(NeedsLogin::Never)));

    let broken = Imagined::holding(None);
    broken.be(Mood::ReadOnly);
    let broken = tokens(grant(&provider.issuer), &broken, dir.path());
    let why = broken.access().await.unwrap_err();
    assert!(matches!(&why, NoToken::Misconfigured { said } if said.contains("no such secret")));

    let store = Imagined::holding(Some("refresh-secret-1"));
    let mut clientless = grant(&provider.issuer);
    clientless.client_id = None;
    let why = tokens(clientless, &store, dir.path())
        .access()
        .await
        .unwrap_err();
    assert!(
        why.to_string().contains("IMAP_MCP_OAUTH_CLIENT_ID"),
        "{why}"
    );

    let gone = grant("http://127.0.0.1:1");
    let why = tokens(gone, &store, dir.path()).access().await.unwrap_err();
    assert!(matches!(&why, NoToken::Unavailable { said } if said.contains("127.0.0.1:1")));
    let insecure = grant("http://id.example");
    let why = tokens(insecure, &store, dir.path())
        .access()
        .await
        .unwrap_err();
    assert!(matches!(&why, NoToken::Misconfigured { said } if said.contains("https")));
    assert_eq!(provider.refreshes(), 0);
}

#[tokio::test]
async fn access_tokens_are_on_disk_only_where_that_is_configured_and_sealed_even_then() {
    let provider = Provider::start(Some("refresh-secret-1")).await;
    let store = Imagined::holding(Some("refresh-secret-1"));
    let dir = tempfile::tempdir().unwrap();
    let state = dir.path();
    let only_memory = tokens(grant(&provider.issuer), &store, state);
    assert_eq!(said(&only_memory).await, "access-secret-1");
    assert!(!contents(state).contains("access"), "{}", contents(state));

    let persistent = || {
        let mut grant = grant(&provider.issuer);
        grant.cache = TokenCache::PersistAll;
        tokens(grant, &store, state)
    };
    assert_eq!(said(&persistent()).await, "access-secret-2");
    // Read back by the next run.
    assert_eq!(said(&persistent()).await, "access-secret-2");
    assert_eq!(provider.refreshes(), 2);
    assert!(!contents(state).contains("secret"));

    // Another token in the store opens nothing.
    store.put("refresh-secret-other");
    provider.set(|it| it.current = Some("refresh-secret-other".to_owned()));
    assert_eq!(said(&persistent()).await, "access-secret-3");

    // One that a mail server has refused is not taken from the disk again.
    let again = persistent();
    let refused = again.access().await.unwrap();
    assert_eq!(text(&refused), "access-secret-3");
    assert_eq!(
        text(&again.instead_of(&refused).await.unwrap()),
        "access-secret-4"
    );

    // Damage costs a refresh, and nothing else.
    for entry in std::fs::read_dir(state).unwrap().flatten() {
        std::fs::write(entry.path(), "damaged").unwrap();
    }
    assert_eq!(said(&persistent()).await, "access-secret-5");
    // Whoever keeps them in memory alone takes them off the disk.
    let fresh = tokens(grant(&provider.issuer), &store, state);
    assert_eq!(said(&fresh).await, "access-secret-6");
    assert!(
        contents(state).contains("\"access\": null"),
        "{}",
        contents(state)
    );
}

#[tokio::test]
async fn what_is_granted_may_be_less_than_what_was_asked_for() {
    let provider = Provider::start(Some("refresh-secret-1")).await;
    provider.set(|it| it.scope = Some("mail:read openid".to_owned()));
    let store = Imagined::holding(Some("refresh-secret-1"));
    let dir = tempfile::tempdir().unwrap();
    let tokens = tokens(grant(&provider.issuer), &store, dir.path());
    assert_eq!(tokens.standing(), Standing::Good);
    tokens.access().await.unwrap();
    assert_eq!(tokens.standing(), Standing::ReadOnly);
}

#[tokio::test]
async fn whoever_observes_hears_of_refreshes_and_of_nothing_secret() {
    let provider = Provider::start(Some("refresh-secret-1")).await;
    provider.set(|it| it.rotates = Rotates::Always);
    let store = Imagined::holding(Some("refresh-secret-1"));
    let dir = tempfile::tempdir().unwrap();
    let tokens = tokens(grant(&provider.issuer), &store, dir.path());
    let heard = Arc::new(Mutex::new(Vec::new()));
    let hearing = Arc::clone(&heard);
    tokens.observed_by(move |it| hearing.lock().unwrap().push(it.clone()));
    let first = tokens.access().await.unwrap();
    store.be(Mood::ReadOnly);
    tokens.instead_of(&first).await.unwrap();
    provider.set(|it| it.current = None);
    let second = tokens.access().await.unwrap();
    tokens.core().memory().access = None;
    assert!(tokens.access().await.is_err());
    drop(second);
    let heard = heard.lock().unwrap();
    let words: Vec<_> = heard.iter().map(|it| (it.outcome, it.rotation)).collect();
    assert_eq!(
        words,
        [
            (RefreshOutcome::Refreshed, Rotation::Stored),
            (RefreshOutcome::Refreshed, Rotation::Sealed),
            (RefreshOutcome::Refused, Rotation::None),
        ]
    );
    assert!(!format!("{heard:?}").contains("secret"));
}

#[tokio::test]
async fn failures_before_anybody_is_asked_are_heard_of_too() {
    let provider = Provider::start(Some("refresh-secret-1")).await;
    let store = Imagined::holding(Some("refresh-secret-1"));
    let dir = tempfile::tempdir().unwrap();
    let tokens = tokens(grant(&provider.issuer), &store, dir.path());
    let heard = Arc::new(Mutex::new(Vec::new()));
    let hearing = Arc::clone(&heard);
    tokens.observed_by(move |it| hearing.lock().unwrap().push((it.outcome, it.rotation)));
    store.be(Mood::Unreadable);
    tokens.access().await.unwrap_err();
    let failed = (RefreshOutcome::Misconfigured, Rotation::None);
    assert_eq!(*heard.lock().unwrap(), [failed]);
    assert_eq!(provider.refreshes(), 0);
}

#[tokio::test]
async fn a_store_that_should_take_new_tokens_and_does_not_is_a_concern() {
    for (mood, concerned) in [
        (Mood::Fine, false),
        (Mood::ReadOnly, false),
        (Mood::Full, true),
        (Mood::Losing, true),
        (Mood::Elsewhere, true),
    ] {
        let provider = Provider::start(Some("refresh-secret-1")).await;
        provider.set(|it| it.rotates = Rotates::Always);
        let store = Imagined::holding(Some("refresh-secret-1"));
        store.be(mood);
        let dir = tempfile::tempdir().unwrap();
        let tokens = tokens(grant(&provider.issuer), &store, dir.path());
        assert_eq!(tokens.concern().await, None);
        tokens.access().await.unwrap();
        assert_eq!(tokens.concern().await.is_some(), concerned, "{mood:?}");
    }
}

#[tokio::test]
async fn a_refresh_ends_in_time_whatever_the_store_and_the_provider_do() {
    let provider = Provider::start(None).await;
    let store = Imagined::holding(None);
    store.be(Mood::Restless);
    let dir = tempfile::tempdir().unwrap();
    let tokens = tokens(grant(&provider.issuer), &store, dir.path());
    assert!(said(&tokens).await.contains("Refused"));
    assert_eq!(provider.refreshes(), MOST_ATTEMPTS);
    // Whoever has taken too long to find out where to ask does not begin to.
    let late = std::time::Instant::now().checked_sub(BEGUN_WITHIN);
    let token = "refresh-secret-1".into();
    let came = refresh::ask(tokens.core(), late.unwrap(), &token).await;
    assert!(format!("{came:?}").contains("too long"), "{came:?}");
    assert_eq!(provider.refreshes(), MOST_ATTEMPTS);
}

#[tokio::test]
async fn an_issuer_is_found_behind_pages_that_are_no_answer() {
    let provider = Provider::start(Some("refresh-secret-1")).await;
    let page = answer(200, "", "<!doctype html><title>Sign in</title>");
    provider.set(|it| it.elsewhere = Some(page.clone()));
    let store = Imagined::holding(Some("refresh-secret-1"));
    let dir = tempfile::tempdir().unwrap();
    let found = tokens(grant(&provider.issuer), &store, dir.path());
    assert_eq!(said(&found).await, "access-secret-1");
    provider.set(|it| it.undiscovered = Some(page));
    let lost = tokens(grant(&provider.issuer), &store, dir.path());
    assert!(said(&lost).await.contains("not readable"));
}

#[tokio::test]
async fn where_an_issuer_was_asked_is_not_forgotten_while_it_does_not_say() {
    let provider = Provider::start(Some("refresh-secret-1")).await;
    provider.set(|it| it.expires_in = Some(0));
    let store = Imagined::holding(Some("refresh-secret-1"));
    let dir = tempfile::tempdir().unwrap();
    let tokens = tokens(grant(&provider.issuer), &store, dir.path());
    assert_eq!(said(&tokens).await, "access-secret-1");
    provider.set(|it| it.undiscovered = Some(answer(503, "", "")));
    tokens.core().web.age();
    assert_eq!(said(&tokens).await, "access-secret-2");
    // What it says otherwise now is believed.
    provider.set(|it| it.undiscovered = Some(answer(200, "", "{}")));
    assert!(said(&tokens).await.contains("not readable"));
}

#[test]
fn tokens_are_shared_between_threads_and_print_nothing() {
    fn shared<T: Send + Sync>(_: &T) {}
    let store = Imagined::holding(Some("refresh-secret-1"));
    let dir = tempfile::tempdir().unwrap();
    let mut grant = grant("http://127.0.0.1:1");
    grant.client_secret = Some("client-secret-1".into());
    let tokens = tokens(grant, &store, dir.path());
    shared(&tokens);
    assert!(tokens.is_same(&tokens));
    assert!(!format!("{tokens:?} {:?}", tokens.grant()).contains("-secret-"));
}

#[test]
fn another_configuration_is_not_the_same() {
    type Change = fn(&mut Grant);
    let store = Imagined::holding(None);
    let dir = tempfile::tempdir().unwrap();
    let one = tokens(grant("http://127.0.0.1:1"), &store, dir.path());
    assert!(one.is_same(&tokens(grant("http://127.0.0.1:1"), &store, dir.path())));
    let changes: [Change; 6] = [
        |it| it.client_id = Some("other".to_owned()),
        |it| it.client_secret = Some("other".into()),
        |it| it.scope = None,
        |it| it.user = "other".to_owned(),
        |it| it.cache = TokenCache::PersistAll,
        |it| it.provider = crate::Provider::Yahoo,
    ];
    for change in changes {
        let mut other = grant("http://127.0.0.1:1");
        change(&mut other);
        assert!(!one.is_same(&tokens(other, &store, dir.path())));
    }
    let elsewhere = Imagined::holding(None);
    let elsewhere = tokens(grant("http://127.0.0.1:1"), &elsewhere, dir.path());
    assert!(!one.is_same(&elsewhere));
}
