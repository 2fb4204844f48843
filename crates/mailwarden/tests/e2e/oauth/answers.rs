//! Providers that lie, are ill or send elsewhere while somebody logs in: refused in words, and what was there stays.

use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;
use testkit::oidc::{Endpoint, Fault, Point, Times};
use testkit::{Leaf, Oidc};

use super::House;
use super::house::assert_works;

/// Somebody else's server, which only counts who comes.
struct Trap {
    url: String,
    visits: Arc<AtomicUsize>,
}

impl Trap {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/token", listener.local_addr().unwrap());
        let visits = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&visits);
        std::thread::spawn(move || {
            for _ in listener.incoming() {
                counted.fetch_add(1, Ordering::SeqCst);
            }
        });
        Self { url, visits }
    }

    fn assert_unvisited(&self) {
        // A visit of our own comes after all others.
        let host = self.url.trim_start_matches("http://");
        let host = host.trim_end_matches("/token");
        super::person::say(host, b"x");
        assert_eq!(self.visits.load(Ordering::SeqCst), 1);
    }
}

#[test]
fn a_provider_that_cannot_be_trusted_is_never_visited() {
    let house = House::new();
    house.log_in();
    let kept = house.kept();
    let token_at = |url: &str| Fault::Patch(json!({ "token_endpoint": url }));
    let cases = [
        (Fault::without_s256(), "does not offer PKCE with S256"),
        (Fault::wrong_issuer(), "calls itself by another name"),
        (
            token_at("http://evil.example/token"),
            "token_endpoint is not an https address",
        ),
        (
            token_at("file:///etc/passwd"),
            "token_endpoint is not an https address",
        ),
        (
            Fault::Patch(json!({ "authorization_endpoint": "javascript:alert(1)" })),
            "authorization_endpoint is not an https address",
        ),
        (
            Fault::Patch(json!({ "token_endpoint": null })),
            "is not readable",
        ),
        (Fault::Text("<!doctype html>".to_owned()), "is not readable"),
        (Fault::Text("[".repeat(60_000)), "is not readable"),
        (Fault::Huge(1 << 20), "more than any such answer has"),
        (Fault::Status(404), "check oauth_issuer"),
        (Fault::Status(500), "has trouble of its own"),
        (
            Fault::Redirect("http://127.0.0.1:1/".to_owned()),
            "check oauth_issuer",
        ),
        (Fault::Cut(Point::Arrival), "broke"),
    ];
    for (fault, said) in cases {
        house.oidc.fail(Endpoint::Discovery, &fault, Times::Always);
        let printed = house.begin(&[]).end();
        house.oidc.mend();
        assert_eq!(printed.code, 1, "{fault:?}");
        assert!(
            printed.stderr.contains(said),
            "{fault:?}: {}",
            printed.stderr
        );
        // No browser is opened, and no address shown.
        assert_eq!(printed.stdout, "", "{fault:?}");
        assert_eq!(house.kept(), kept, "{fault:?}");
    }
    assert_works(&mut house.client());
}

#[test]
fn a_provider_that_says_nothing_of_pkce_is_still_held_to_it() {
    let house = House::new();
    house
        .oidc
        .fail(Endpoint::Discovery, &Fault::without_pkce(), Times::Once);
    let mut login = house.begin(&[]);
    let address = login.address();
    assert!(address.contains("code_challenge_method=S256"), "{address}");
    house.oidc.browse(&address);
    assert_eq!(login.end().code, 0);
}

#[test]
fn nothing_is_sent_where_the_token_endpoint_points() {
    let house = House::new();
    house.log_in();
    let kept = house.kept();
    let trap = Trap::start();
    let elsewhere = Fault::Redirect(trap.url.clone());
    for at in [Endpoint::Exchange, Endpoint::Refresh] {
        house.oidc.fail(at, &elsewhere, Times::Always);
    }
    let mut login = house.begin(&[]);
    house.oidc.browse(&login.address());
    let printed = login.end();
    assert_eq!(printed.code, 1, "{}", printed.stdout);
    assert!(printed.stderr.contains("status 307"), "{}", printed.stderr);
    assert_eq!(house.kept(), kept);
    let refused = super::house::search(&mut house.client());
    assert!(refused.is_error, "{}", refused.text);
    trap.assert_unvisited();
    house.oidc.mend();
    assert_works(&mut house.client());
}

#[test]
fn tokens_that_are_none() {
    let house = House::new();
    house.log_in();
    let kept = house.kept();
    let cases = [
        (Fault::Status(500), "cannot give tokens now (status 500)"),
        (
            Fault::Text("{".to_owned()),
            "did not answer as the standards have it",
        ),
        (
            Fault::Text("<!doctype html>".to_owned()),
            "did not answer as the standards have it",
        ),
        (
            Fault::Text("[".repeat(60_000)),
            "did not answer as the standards have it",
        ),
        (Fault::Huge(1 << 20), "more than any such answer has"),
        (Fault::Cut(Point::Arrival), "broke"),
        (Fault::Cut(Point::Answer), "broke"),
        (
            Fault::Error("invalid_client".to_owned()),
            "invalid_client; check oauth_client_id",
        ),
        (
            Fault::Error("\u{1b}[2J evil".to_owned()),
            "an error that is not known here",
        ),
        (
            Fault::Patch(json!({ "token_type": "DPoP" })),
            "did not answer as the standards have it",
        ),
        (
            Fault::Patch(json!({ "access_token": null })),
            "did not answer as the standards have it",
        ),
        (
            Fault::Patch(json!({ "access_token": "a\u{1}auth=Bearer b" })),
            "did not answer as the standards have it",
        ),
        (
            Fault::Patch(json!({ "refresh_token": "a\nb" })),
            "did not answer as the standards have it",
        ),
        (Fault::without_refresh_token(), "gave no refresh token"),
    ];
    for (fault, said) in cases {
        house.oidc.fail(Endpoint::Exchange, &fault, Times::Always);
        let mut login = house.begin(&[]);
        house.oidc.browse(&login.address());
        let printed = login.end();
        house.oidc.mend();
        assert_eq!(printed.code, 1, "{fault:?}");
        assert!(
            printed.stderr.contains(said),
            "{fault:?}: {}",
            printed.stderr
        );
        assert!(!printed.stderr.contains('\u{1b}'), "{}", printed.stderr);
        for secret in house.oidc.secrets() {
            assert!(!printed.stderr.contains(&secret), "{fault:?}");
        }
        assert_eq!(house.kept(), kept, "{fault:?}");
    }
    assert_works(&mut house.client());
}

#[test]
fn a_provider_is_believed_by_its_certificate_alone() {
    let oidc = Oidc::builder().tls(Leaf::Good).start();
    let house = House::at(oidc);
    let printed = house.begin(&[]).end();
    assert_eq!(printed.code, 1, "{}", printed.stdout);
    assert!(
        printed.stderr.contains("could not be reached"),
        "{}",
        printed.stderr
    );
    assert_eq!(printed.stdout, "");
    house.trust(&house.oidc.ca_path().unwrap());
    house.log_in();
    assert_works(&mut house.client());
}
