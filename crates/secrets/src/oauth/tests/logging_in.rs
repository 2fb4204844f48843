//! Logins from the question to what is kept: browser, device and paste, and everybody who interferes.

use std::collections::VecDeque;
use std::sync::Arc;

use secrecy::SecretString;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::provider::{Provider, answer};
use super::store::{Imagined, Mood};
use super::{contents, grant, tokens};
use crate::login::{Face, LoginFault, Pasting, TypeIn, Visit, Way, run};
use crate::oauth::grant::Provider as Named;
use crate::oauth::tokens::Tokens;
use crate::{NeedsLogin, Standing};

/// A person with a browser: visits, agrees, and comes back as told.
struct Person<'a> {
    provider: &'a Provider,
    /// What the browser asks the listener for, in this order; `{code}`, `{state}`, `{host}` are filled in.
    requests: Vec<String>,
    pages: Option<tokio::sync::oneshot::Sender<Vec<String>>>,
    lines: VecDeque<String>,
    visited: Option<reqwest::Url>,
    asked: Option<TypeIn>,
    told: Vec<String>,
}

impl<'a> Person<'a> {
    fn new(provider: &'a Provider) -> Self {
        Self {
            provider,
            requests: vec![GENUINE.to_owned()],
            pages: None,
            lines: VecDeque::new(),
            visited: None,
            asked: None,
            told: Vec::new(),
        }
    }

    fn field(&self, name: &str) -> String {
        let mut pairs = self.visited.as_ref().unwrap().query_pairs();
        let found = pairs.find(|(it, _)| it == name);
        found
            .map(|(_, value)| value.into_owned())
            .unwrap_or_default()
    }
}

const GENUINE: &str = "GET /callback?code={code}&state={state} HTTP/1.1\r\nHost: {host}\r\n\r\n";

impl Face for Person<'_> {
    fn visit(&mut self, visit: &Visit<'_>) {
        self.visited = Some(reqwest::Url::parse(visit.address).unwrap());
        let state = self.field("state");
        // Whatever is shown to everybody.
        let hidden = |door: &str| !door.contains(&state) && !door.contains("code_challenge");
        assert!(visit.door.is_none_or(hidden));
        let redirect = self.field("redirect_uri");
        let given = (
            "code-secret-1".to_owned(),
            self.field("code_challenge"),
            redirect.clone(),
        );
        self.provider.set(|it| it.code = Some(given));
        let url = reqwest::Url::parse(&redirect).unwrap();
        let host = format!("{}:{}", url.host_str().unwrap(), url.port().unwrap_or(443));
        let fill = |text: &String| {
            let text = text
                .replace("{code}", "code-secret-1")
                .replace("{state}", &state);
            text.replace("{host}", &host)
                .replace("{redirect}", &redirect)
        };
        self.lines = self.lines.iter().map(fill).collect();
        let requests: Vec<String> = self.requests.iter().map(fill).collect();
        let pages = self.pages.take();
        if redirect.starts_with("http:") && self.lines.is_empty() {
            tokio::spawn(async move {
                let mut seen = Vec::new();
                for request in requests {
                    seen.push(browse(&host, &request).await);
                }
                if let Some(pages) = pages {
                    let _ = pages.send(seen);
                }
            });
        }
    }

    fn type_in(&mut self, asked: &TypeIn) {
        self.asked = Some(asked.clone());
    }

    fn pasted(&mut self) -> Pasting<'_> {
        let line = self.lines.pop_front().unwrap_or_default();
        Box::pin(async move { Ok(SecretString::from(line)) })
    }

    fn wrong(&mut self, said: &str) {
        assert!(!said.contains("secret"), "{said}");
        self.told.push(said.to_owned());
    }
}

async fn browse(host: &str, request: &str) -> String {
    let Ok(mut stream) = TcpStream::connect(host).await else {
        return "closed".to_owned();
    };
    let _ = stream.write_all(request.as_bytes()).await;
    let mut page = String::new();
    let _ = stream.read_to_string(&mut page).await;
    page
}

struct Bench {
    provider: Provider,
    store: Arc<Imagined>,
    dir: tempfile::TempDir,
    tokens: Arc<Tokens>,
}

impl Bench {
    async fn new() -> Self {
        let provider = Provider::start(None).await;
        let store = Imagined::holding(None);
        let dir = tempfile::tempdir().unwrap();
        let tokens = tokens(grant(&provider.issuer), &store, dir.path());
        Self {
            provider,
            store,
            dir,
            tokens,
        }
    }
}

#[tokio::test]
async fn a_login_by_browser_is_kept_and_noticed_by_who_runs_already() {
    let bench = Bench::new().await;
    let running = tokens(
        grant(&bench.provider.issuer),
        &bench.store,
        bench.dir.path(),
    );
    assert_eq!(running.standing(), Standing::NeedsLogin(NeedsLogin::Never));
    let mut person = Person::new(&bench.provider);
    let done = run(&bench.tokens, Way::Browser, &mut person).await.unwrap();
    assert_eq!(
        (done.requested.as_str(), done.company.strangers),
        ("mail", 0)
    );
    assert_eq!(done.standing, Standing::Good);
    assert_eq!(person.field("code_challenge_method"), "S256");
    assert_eq!(person.field("login_hint"), "anna@example.org");
    assert_eq!(bench.store.held(), bench.provider.current());
    assert!(!contents(bench.dir.path()).contains("secret"));
    assert!(!format!("{done:?}").contains("secret"));
    // Who runs already sees it at once, and needs no restart.
    assert_eq!(running.standing(), Standing::Good);
    running.access().await.unwrap();

    // Another scope is another login.
    let mut other = grant(&bench.provider.issuer);
    other.scope = Some("mail calendar".to_owned());
    let other = tokens(other, &bench.store, bench.dir.path());
    let changed = Standing::NeedsLogin(NeedsLogin::ScopeChanged);
    assert_eq!(other.standing(), changed);
    assert!(other.access().await.is_err());
    // Another provider never sees this one's token.
    let elsewhere = Provider::start(None).await;
    let elsewhere_tokens = tokens(grant(&elsewhere.issuer), &bench.store, bench.dir.path());
    assert!(elsewhere_tokens.access().await.is_err());
    assert!(elsewhere.state.lock().unwrap().requests.is_empty());
}

#[tokio::test]
async fn a_new_login_leaves_nothing_of_the_one_before() {
    let bench = Bench::new().await;
    let mut person = Person::new(&bench.provider);
    run(&bench.tokens, Way::Browser, &mut person).await.unwrap();
    let issuer = &bench.provider.issuer;
    let running = tokens(grant(issuer), &bench.store, bench.dir.path());
    let first = running.access().await.unwrap();
    // A mail server refuses it: somebody else has logged in.
    let second = running.instead_of(&first).await.unwrap();
    assert!(running.instead_of(&second).await.is_err());
    let mut person = Person::new(&bench.provider);
    run(&bench.tokens, Way::Browser, &mut person).await.unwrap();
    let third = running.access().await.unwrap();
    assert!(!third.is(&first) && !third.is(&second));
    let refreshes = bench.provider.refreshes();
    // What another process replaces is of the same login: what is here stays good.
    let other = tokens(grant(issuer), &bench.store, bench.dir.path());
    other.access().await.unwrap();
    assert!(running.access().await.unwrap().is(&third));
    assert_eq!(bench.provider.refreshes(), refreshes + 1);
}

#[tokio::test]
async fn strangers_are_sent_away_and_the_genuine_answer_still_counts() {
    let bench = Bench::new().await;
    let mut person = Person::new(&bench.provider);
    let get = |rest: &str| format!("GET {rest} HTTP/1.1\r\nHost: {{host}}\r\n\r\n");
    person.requests = vec![
        get("/callback?code=evil&state=wrong"),
        get("/callback?code=evil"),
        "GET /callback?code={code}&state={state} HTTP/1.1\r\nHost: evil.example\r\n\r\n".to_owned(),
        get("/favicon.ico"),
        "POST /callback?code={code}&state={state} HTTP/1.1\r\nHost: {host}\r\n\r\n".to_owned(),
        "\u{16}\u{3}\u{1}\u{2}\r\n\r\n".to_owned(),
        GENUINE.to_owned(),
        GENUINE.to_owned(),
    ];
    let (sender, pages) = tokio::sync::oneshot::channel();
    person.pages = Some(sender);
    let done = run(&bench.tokens, Way::Browser, &mut person).await.unwrap();
    assert_eq!(done.company.strangers, 3);
    let pages = pages.await.unwrap();
    let status = |page: &String| page.split(' ').nth(1).unwrap_or("closed").to_owned();
    let statuses: Vec<_> = pages.iter().take(7).map(status).collect();
    assert_eq!(statuses, ["400", "400", "400", "404", "405", "400", "200"]);
    assert!(
        pages
            .iter()
            .all(|page| !page.contains("evil") && !page.contains("secret"))
    );
    // One code, and nobody listens any more.
    assert_eq!(status(&pages[7]), "closed");
}

#[tokio::test]
async fn who_keeps_guessing_is_counted_and_ends_no_login() {
    let bench = Bench::new().await;
    let mut person = Person::new(&bench.provider);
    let evil = "GET /callback?code=evil&state=wrong HTTP/1.1\r\nHost: {host}\r\n\r\n";
    person.requests = vec![evil.to_owned(); 50];
    person.requests.push(GENUINE.to_owned());
    let done = run(&bench.tokens, Way::Browser, &mut person).await.unwrap();
    assert_eq!(done.company.strangers, 50);
    assert_eq!(bench.store.held(), bench.provider.current());
}

#[tokio::test]
async fn who_floods_the_listener_ends_the_login_and_changes_nothing() {
    let bench = Bench::new().await;
    let mut person = Person::new(&bench.provider);
    let evil = "GET /favicon.ico HTTP/1.1\r\nHost: {host}\r\n\r\n";
    person.requests = vec![evil.to_owned(); 1001];
    let fault = run(&bench.tokens, Way::Browser, &mut person)
        .await
        .unwrap_err();
    assert_eq!(fault, LoginFault::Attacked);
    assert_eq!(bench.store.held(), None);
}

#[tokio::test]
async fn answers_that_end_a_login() {
    let cases = [
        ("error=access_denied&state={state}", LoginFault::Denied),
        (
            "code={code}&state={state}&iss=https%3A%2F%2Fevil.example",
            LoginFault::OtherIssuer,
        ),
    ];
    for (query, expected) in cases {
        let bench = Bench::new().await;
        let mut person = Person::new(&bench.provider);
        person.requests = vec![format!(
            "GET /callback?{query} HTTP/1.1\r\nHost: {{host}}\r\n\r\n"
        )];
        let fault = run(&bench.tokens, Way::Browser, &mut person)
            .await
            .unwrap_err();
        assert_eq!(fault, expected);
        assert_eq!(bench.store.held(), None);
        let asked = bench.provider.state.lock().unwrap().requests.join("\n");
        assert!(!asked.contains("authorization_code"), "{asked}");
    }
}

#[tokio::test]
async fn an_issuer_that_promises_its_name_is_held_to_it() {
    let bench = Bench::new().await;
    let issuer = bench.provider.issuer.clone();
    bench.provider.set(|it| {
        it.metadata = Some(json!({
            "issuer": issuer,
            "authorization_endpoint": format!("{issuer}/authorize"),
            "token_endpoint": format!("{issuer}/token"),
            "authorization_response_iss_parameter_supported": true,
        }));
    });
    let mut person = Person::new(&bench.provider);
    let fault = run(&bench.tokens, Way::Browser, &mut person)
        .await
        .unwrap_err();
    assert_eq!(fault, LoginFault::OtherIssuer);
    // And has no device flow, which it did not promise.
    let fault = run(&bench.tokens, Way::Device, &mut person)
        .await
        .unwrap_err();
    assert!(matches!(fault, LoginFault::NotOffered { .. }));
}

#[tokio::test]
async fn what_is_missing_is_said_before_anybody_is_asked() {
    let bench = Bench::new().await;
    let mut person = Person::new(&bench.provider);
    bench.store.be(Mood::ReadOnly);
    let fault = run(&bench.tokens, Way::Browser, &mut person)
        .await
        .unwrap_err();
    assert!(matches!(fault, LoginFault::Store(_)), "{fault}");
    bench.store.be(Mood::Fine);
    let mut clientless = grant(&bench.provider.issuer);
    clientless.client_id = None;
    let mut google = grant(&bench.provider.issuer);
    google.provider = Named::Google;
    let cases = [
        (clientless, Way::Browser, "oauth_client_id"),
        (google, Way::Device, "does not give access to mail"),
    ];
    for (grant, way, word) in cases {
        let tokens = tokens(grant, &bench.store, bench.dir.path());
        let fault = run(&tokens, way, &mut person).await.unwrap_err();
        assert!(fault.to_string().contains(word), "{fault}");
    }
    assert!(person.visited.is_none());
    assert!(bench.provider.state.lock().unwrap().requests.is_empty());
}

#[tokio::test]
async fn a_login_that_comes_to_nothing_says_why() {
    let bench = Bench::new().await;
    bench.provider.set(|it| it.without_refresh_token = true);
    let mut person = Person::new(&bench.provider);
    let fault = run(&bench.tokens, Way::Browser, &mut person)
        .await
        .unwrap_err();
    assert!(fault.to_string().contains("no refresh token"), "{fault}");
    bench.provider.set(|it| it.without_refresh_token = false);

    // A code is good once.
    let mut person = Person::new(&bench.provider);
    let replayed = answer(400, "", r#"{"error":"invalid_grant"}"#);
    bench.provider.set(|it| it.script.push_back(replayed));
    let fault = run(&bench.tokens, Way::Browser, &mut person)
        .await
        .unwrap_err();
    assert!(fault.to_string().contains("invalid_grant"), "{fault}");

    // The store fails at the last moment, or keeps it elsewhere: nothing is told that is not so.
    for (mood, said) in [
        (Mood::Full, "the disk is full"),
        (Mood::Elsewhere, "does not give it back"),
    ] {
        bench.store.be(mood);
        let mut person = Person::new(&bench.provider);
        let fault = run(&bench.tokens, Way::Browser, &mut person)
            .await
            .unwrap_err();
        assert!(fault.to_string().contains(said), "{fault}");
        let never = Standing::NeedsLogin(NeedsLogin::Never);
        assert_eq!(bench.tokens.look().await, never);
    }
}

#[tokio::test]
async fn a_login_by_paste_takes_the_whole_address_alone() {
    let bench = Bench::new().await;
    let mut person = Person::new(&bench.provider);
    person.lines = [
        "{code}",
        "{redirect}?code={code}&state=other",
        "{redirect}?code={code}&state={state}",
    ]
    .map(str::to_owned)
    .into();
    let done = run(&bench.tokens, Way::Paste, &mut person).await.unwrap();
    assert_eq!(done.standing, Standing::Good);
    // Why the first two were none was said at once.
    let [bare, other] = &person.told[..] else {
        panic!("{:?}", person.told);
    };
    assert!(bare.contains("is not the address") && other.contains("another login"));
    assert_eq!(bench.store.held(), bench.provider.current());

    let mut person = Person::new(&bench.provider);
    person.lines = ["{code}", "{code}", "{code}"].map(str::to_owned).into();
    let fault = run(&bench.tokens, Way::Paste, &mut person)
        .await
        .unwrap_err();
    assert!(fault.to_string().contains("whole address"), "{fault}");
    assert!(!fault.to_string().contains("secret"), "{fault}");
}

#[tokio::test]
async fn a_login_by_device_waits_until_somebody_has_agreed() {
    let bench = Bench::new().await;
    let say = |error: &str| answer(400, "", &json!({ "error": error }).to_string());
    bench.provider.set(|it| {
        it.script.push_back(say("authorization_pending"));
        it.script.push_back(answer(503, "", ""));
    });
    let mut person = Person::new(&bench.provider);
    let done = crate::oauth::login::run_with_second(
        &bench.tokens,
        Way::Device,
        &mut person,
        std::time::Duration::from_millis(1),
    );
    assert_eq!(done.await.unwrap().standing, Standing::Good);
    assert_eq!(person.asked.as_ref().unwrap().code, "ABCD-EFGH");
    assert_eq!(bench.store.held().as_deref(), Some("refresh-secret-device"));

    for (error, expected) in [
        ("access_denied", LoginFault::Denied),
        ("expired_token", LoginFault::TimedOut),
    ] {
        bench.provider.set(|it| it.script.push_back(say(error)));
        let again = crate::oauth::login::run_with_second(
            &bench.tokens,
            Way::Device,
            &mut person,
            std::time::Duration::from_millis(1),
        );
        assert_eq!(again.await.unwrap_err(), expected);
    }
}
