//! Whoever gets at the login's listener, at the address on its way to the browser, or at a code: nothing is logged in that
//! nobody logged in to, nothing that was there is lost, and the person is told.

use std::io::Write as _;
use std::net::TcpStream;

use testkit::http::{parameter, with_parameter};
use testkit::oidc::{Endpoint, Pkce};

use super::House;
use super::house::assert_works;
use super::person::{Login, ear, get, say, status};
use crate::directory::Printed;

/// It ended badly, in these words, and nothing of what was kept is another.
fn assert_failed(house: &House, login: Login, said: &str) -> Printed {
    let kept = house.kept();
    let printed = login.end();
    assert_eq!(printed.code, 1, "{}", printed.stdout);
    assert!(printed.stderr.contains(said), "{said}: {}", printed.stderr);
    assert!(!printed.stdout.contains("is logged in"));
    for secret in house.oidc.secrets() {
        assert!(!printed.stderr.contains(&secret), "{}", printed.stderr);
    }
    assert_eq!(house.kept(), kept);
    printed
}

/// The path and query of an address.
fn target(url: &str) -> String {
    let rest = url.split_once("://").unwrap().1;
    let at = rest.find('/').unwrap();
    rest.split_at(at).1.to_owned()
}

#[test]
fn strangers_are_sent_away_and_the_genuine_answer_still_counts() {
    let house = House::new();
    let mut login = house.begin(&[]);
    let address = login.address();
    let ear = ear(&address);
    let genuine = house.oidc.authorize(&address).unwrap();
    let code = parameter(&genuine, "code").unwrap();
    let genuine = target(&genuine);
    let evil = |host: &str| format!("GET {genuine} HTTP/1.1\r\nHost: {host}\r\n\r\n");
    let endless = format!("GET {genuine} HTTP/1.1\r\nX: {}", "x".repeat(100_000));
    let rebound = [
        "evil.example".to_owned(),
        "localhost".to_owned(),
        ear.replace("127.0.0.1", "evil.example"),
        ear.replace("127.0.0.1", "localhost"),
    ];
    let mut answers = vec![
        (
            get(&ear, &format!("/callback?code={code}&state=wrong")),
            "400",
        ),
        (get(&ear, &format!("/callback?code={code}")), "400"),
        (
            get(&ear, "/callback?error=access_denied&state=wrong"),
            "400",
        ),
        (get(&ear, "/favicon.ico"), "404"),
        (get(&ear, &format!("{genuine}&state=another")), "400"),
        (get(&ear, "/"), "404"),
        (
            say(
                &ear,
                format!("POST {genuine} HTTP/1.1\r\nHost: {ear}\r\nContent-Length: 0\r\n\r\n")
                    .as_bytes(),
            ),
            "405",
        ),
        (say(&ear, b"\x16\x03\x01\x02\x00\r\n\r\n"), "400"),
        (say(&ear, endless.as_bytes()), "none"),
    ];
    answers.extend(rebound.map(|host| (say(&ear, evil(&host).as_bytes()), "400")));
    for (page, expected) in &answers {
        assert_eq!(status(page), *expected, "{page}");
        // A page says nothing of what was asked.
        assert!(!page.contains(&code), "{page}");
    }
    assert_eq!(house.oidc.count(Endpoint::Exchange), 0);

    let page = get(&ear, &genuine);
    assert_eq!(status(&page), "200", "{page}");
    let printed = login.end();
    assert_eq!(printed.code, 0, "{}", printed.stderr);
    assert!(
        printed
            .stdout
            .contains("8 answer(s) came from somebody else"),
        "{}",
        printed.stdout
    );
    assert_works(&mut house.client());
}

#[test]
fn who_says_nothing_holds_up_nobody() {
    let house = House::new();
    let mut login = house.begin(&[]);
    let address = login.address();
    let ear = ear(&address);
    let silent: Vec<TcpStream> = (0..24)
        .map(|number| {
            let mut stream = TcpStream::connect(&ear).unwrap();
            if number % 2 == 0 {
                stream.write_all(b"GET /callback?code=").unwrap();
            }
            stream
        })
        .collect();
    house.oidc.browse(&address);
    let printed = login.end();
    assert_eq!(printed.code, 0, "{}", printed.stderr);
    drop(silent);
    house.assert_stored();
}

#[test]
fn who_keeps_guessing_ends_the_login() {
    let house = House::new();
    house.log_in();
    for query in [
        "code=guessed&state=guessed",
        "code=guessed",
        "error=access_denied",
    ] {
        let mut login = house.begin(&[]);
        let ear = ear(&login.address());
        for _ in 0..20 {
            get(&ear, &format!("/callback?{query}"));
        }
        let said = "somebody else on this machine keeps answering in the provider's place";
        assert_failed(&house, login, said);
        assert_eq!(get(&ear, "/callback"), "", "nobody listens any more");
    }
    assert_works(&mut house.client());
}

#[test]
fn answers_that_end_a_login() {
    let house = House::new();
    house.log_in();
    let exchanges = house.oidc.count(Endpoint::Exchange);
    // A person who refuses.
    let mut login = house.begin(&[]);
    let address = login.address();
    let page = house
        .oidc
        .browse(&with_parameter(&address, "login_hint", "deny"));
    assert!(page.body.contains("Not logged in"), "{}", page.body);
    assert_failed(
        &house,
        login,
        "access was denied in the browser; nothing has changed",
    );
    // Another issuer's answer (RFC 9207), or one that hides whose it is.
    for iss in ["https://evil.example", ""] {
        let mut login = house.begin(&[]);
        let address = login.address();
        let genuine = house.oidc.authorize(&address).unwrap();
        get(
            &ear(&address),
            &target(&with_parameter(&genuine, "iss", iss)),
        );
        assert_failed(
            &house,
            login,
            "names another issuer than the one that was asked",
        );
    }
    let mut login = house.begin(&[]);
    let address = login.address();
    let genuine = house.oidc.authorize(&address).unwrap();
    let [code, state] = ["code", "state"].map(|name| parameter(&genuine, name).unwrap());
    get(
        &ear(&address),
        &format!("/callback?code={code}&state={state}"),
    );
    assert_failed(
        &house,
        login,
        "names another issuer than the one that was asked",
    );
    // Nothing of all that was shown to the provider.
    assert_eq!(house.oidc.count(Endpoint::Exchange), exchanges);
    assert_works(&mut house.client());
}

#[test]
fn a_code_is_good_once() {
    let house = House::new();
    let mut login = house.begin(&[]);
    let address = login.address();
    let genuine = house.oidc.authorize(&address).unwrap();
    get(&ear(&address), &target(&genuine));
    assert_eq!(login.end().code, 0);
    // The listener is gone, and to the provider the code is worth nothing without its secret.
    assert_eq!(get(&ear(&address), &target(&genuine)), "");

    // In another login's answer, whose state somebody has found out.
    let used = parameter(&genuine, "code").unwrap();
    let mut login = house.begin(&[]);
    let address = login.address();
    let genuine = house.oidc.authorize(&address).unwrap();
    get(
        &ear(&address),
        &target(&with_parameter(&genuine, "code", &used)),
    );
    assert_failed(&house, login, "invalid_grant");
}

#[test]
fn a_code_of_somebody_elses_login_is_worth_nothing() {
    let house = House::new();
    house.log_in();
    // Bob's code, put into the answer to Alice's question: her programs would read and write his mail.
    let redirect = house
        .oidc
        .authorize(&house.oidc.authorization_url("bob", &Pkce::new()))
        .unwrap();
    let stolen = parameter(&redirect, "code").unwrap();
    let mut login = house.begin(&[]);
    let address = login.address();
    let genuine = house.oidc.authorize(&address).unwrap();
    get(
        &ear(&address),
        &target(&with_parameter(&genuine, "code", &stolen)),
    );
    assert_failed(&house, login, "invalid_grant");
    assert_eq!(house.oidc.living_refresh_tokens("bob"), [""; 0]);
    assert_works(&mut house.client());
}

#[test]
fn an_address_that_was_changed_on_its_way_leads_nowhere() {
    let house = House::new();
    house.log_in();
    let pkce = Pkce::new();
    // Somebody else's challenge, so that somebody else could use the code: but then we cannot.
    // And a code that was sent to another listener of this machine first.
    for (name, value, said) in [
        ("code_challenge", pkce.challenge.as_str(), "invalid_grant"),
        (
            "redirect_uri",
            "http://127.0.0.1:1/callback",
            "invalid_grant",
        ),
    ] {
        let mut login = house.begin(&[]);
        let address = login.address();
        assert_eq!(
            parameter(&address, "code_challenge_method").as_deref(),
            Some("S256")
        );
        let changed = with_parameter(&address, name, value);
        let redirect = house.oidc.authorize(&changed).unwrap();
        get(&ear(&address), &target(&redirect));
        assert_failed(&house, login, said);
    }
    // PKCE taken out or weakened: the provider refuses, and says so by the browser.
    for (name, value) in [("code_challenge", ""), ("code_challenge_method", "plain")] {
        let mut login = house.begin(&[]);
        let address = login.address();
        let page = house.oidc.browse(&with_parameter(&address, name, value));
        assert!(page.body.contains("Not logged in"), "{}", page.body);
        assert_failed(&house, login, "invalid_request");
    }
    // A redirect off this machine is refused by the provider; nobody comes back.
    let mut login = house.begin(&[]);
    let address = login.address();
    let elsewhere = with_parameter(&address, "redirect_uri", "http://evil.example/callback");
    assert_eq!(house.oidc.authorize(&elsewhere).unwrap_err().status, 400);
    house.oidc.browse(&address);
    assert_eq!(login.end().code, 0);
    assert_works(&mut house.client());
}
