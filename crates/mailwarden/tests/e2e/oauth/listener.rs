//! Whoever gets at the login's listener, at the address on its way to the browser, or at a code: nothing is logged in that
//! nobody logged in to, nothing that was there is lost, and the person is told.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::net::TcpStream;
use std::path::PathBuf;

use testkit::http::{parameter, with_parameter};
use testkit::oidc::{Endpoint, Pkce};

use super::House;
use super::house::assert_works;
use super::person::{Login, ear, get, say, status};

type Kept = BTreeMap<PathBuf, Vec<u8>>;

/// It ended badly, in these words, and what was kept before is still what is kept.
fn assert_failed(house: &House, kept: &Kept, login: Login, said: &str) {
    let printed = login.end();
    assert_eq!(printed.code, 1, "{}", printed.stdout);
    assert!(printed.stderr.contains(said), "{said}: {}", printed.stderr);
    assert!(!printed.stdout.contains("is logged in"));
    for secret in house.oidc.secrets() {
        assert!(!printed.stderr.contains(&secret), "{}", printed.stderr);
    }
    assert_eq!(&house.kept(), kept);
}

/// The path and query of an address.
fn target(url: &str) -> String {
    let (_, rest) = url.split_once("://").unwrap();
    let (_, target) = rest.split_once('/').unwrap();
    format!("/{target}")
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
fn who_keeps_guessing_is_counted_and_keeps_nobody_out() {
    let house = House::new();
    for query in [
        "code=guessed&state=guessed",
        "code=guessed",
        "error=access_denied",
    ] {
        let mut login = house.begin(&[]);
        let address = login.address();
        for _ in 0..30 {
            get(&ear(&address), &format!("/callback?{query}"));
        }
        house.oidc.browse(&address);
        let printed = login.end();
        assert_eq!(printed.code, 0, "{}", printed.stderr);
        let said = "30 answer(s) came from somebody else";
        assert!(printed.stdout.contains(said), "{}", printed.stdout);
    }
    assert_works(&mut house.client());
}

#[test]
fn answers_that_end_a_login() {
    let house = House::new();
    house.log_in();
    let kept = house.kept();
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
        &kept,
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
            &kept,
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
        &kept,
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
    let kept = house.kept();
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
    assert_failed(&house, &kept, login, "invalid_grant");
    assert_works(&mut house.client());
}

#[test]
fn a_code_of_somebody_elses_login_is_worth_nothing() {
    let house = House::new();
    house.log_in();
    let kept = house.kept();
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
    assert_failed(&house, &kept, login, "invalid_grant");
    assert_eq!(house.oidc.living_refresh_tokens("bob"), [""; 0]);
    assert_works(&mut house.client());
}

#[test]
fn an_address_that_was_changed_on_its_way_leads_nowhere() {
    let house = House::new();
    house.log_in();
    let kept = house.kept();
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
        assert_failed(&house, &kept, login, said);
    }
    // PKCE taken out or weakened: the provider refuses, and says so by the browser.
    for (name, value) in [("code_challenge", ""), ("code_challenge_method", "plain")] {
        let mut login = house.begin(&[]);
        let address = login.address();
        let page = house.oidc.browse(&with_parameter(&address, name, value));
        assert!(page.body.contains("Not logged in"), "{}", page.body);
        assert_failed(&house, &kept, login, "invalid_request");
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

/// Whatever a program is started with, everybody on the machine can read.
#[test]
fn a_browser_is_opened_by_an_address_that_says_nothing_and_works_once() {
    let house = House::new();
    let bin = house.dir.path().join("bin");
    std::fs::create_dir(&bin).unwrap();
    let opened = house.dir.path().join("opened");
    // Whole when it is there.
    let script =
        "#!/bin/sh\nprintf '%s' \"$*\" > \"$OPENED.part\" && mv \"$OPENED.part\" \"$OPENED\"\n";
    let mut write = std::process::Command::new("sh");
    write.args([
        "-c",
        "printf '%s' \"$1\" > \"$2\" && chmod 700 \"$2\"",
        "sh",
    ]);
    let written = write.arg(script).arg(bin.join("xdg-open")).status();
    assert!(written.unwrap().success());
    let mut command = house.program();
    command
        .env("PATH", format!("{}:/usr/bin:/bin", bin.display()))
        .env("DISPLAY", ":0")
        .env("OPENED", &opened)
        .args(["login", "--account", "work"]);
    let mut login = Login::start(command, house.dir.path());
    let address = login.address();
    let door = loop {
        match std::fs::read_to_string(&opened) {
            Ok(words) => break words,
            Err(_) => std::thread::yield_now(),
        }
    };
    let ear = ear(&address);
    let path = door.strip_prefix(&format!("http://{ear}")).unwrap();
    for name in ["state", "code_challenge"] {
        assert!(
            !door.contains(&parameter(&address, name).unwrap()),
            "{door}"
        );
    }
    let page = get(&ear, path);
    assert_eq!(status(&page), "302", "{page}");
    assert!(page.contains(&format!("Location: {address}\r\n")), "{page}");
    let page = get(&ear, path);
    assert_eq!(status(&page), "410", "{page}");
    assert!(!page.contains("state="), "{page}");
    house.oidc.browse(&address);
    let printed = login.end();
    assert_eq!(printed.code, 0, "{}", printed.stderr);
    let said = "was asked for 1 more time(s); if that was not you";
    assert!(printed.stdout.contains(said), "{}", printed.stdout);
}
