//! The whole way of a token on real parts: from a browser's login to a mail server that believes it, and what may go wrong.

use serde_json::json;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::mpsc;
use std::time::Duration;
use testkit::client::Mechanism;
use testkit::http::{parameter, with_parameter};
use testkit::oidc::{
    CLIENT_SECRET, Device, Endpoint, Fault, Granted, Pkce, Point, Rotation, SECRET_CLIENT, Times,
};
use testkit::{Dovecot, Leaf, Oidc, RawImap};

const BOTH: [Mechanism; 2] = [Mechanism::Xoauth2, Mechanism::Oauthbearer];

fn log_in(dovecot: &Dovecot, mechanism: Mechanism, token: &str) -> Result<(), String> {
    let mut imap = RawImap::connect(dovecot.port());
    imap.authenticate(mechanism, "alice", token)
        .map_err(|refused| refused.challenge)
}

fn error_of(answer: &testkit::http::Response) -> String {
    answer.json()["error"].as_str().unwrap_or("none").to_owned()
}

#[test]
fn a_token_opens_the_mailbox_by_both_mechanisms_and_so_does_the_password() {
    let oidc = Oidc::start();
    let dovecot = Dovecot::builder().oauth(&oidc).start();
    let granted = oidc.grant("alice");
    for mechanism in BOTH {
        assert_eq!(log_in(&dovecot, mechanism, &granted.access_token), Ok(()));
    }
    dovecot.login("alice", "secret").command("SELECT INBOX");
    let methods: Vec<_> = dovecot
        .logins(3)
        .into_iter()
        .map(|login| login.method)
        .collect();
    assert_eq!(methods, ["XOAUTH2", "OAUTHBEARER", "PLAIN"]);
    assert_eq!(dovecot.rejections(0), []);
}

#[test]
fn tokens_that_are_not_good_are_refused() {
    let oidc = Oidc::start();
    let other = Oidc::start();
    let mut dovecot = Dovecot::builder().oauth(&oidc).start();
    let good = oidc.grant("alice").access_token;
    let of_another_user = oidc.grant("bob").access_token;
    oidc.set_audience("smtp.test");
    let for_another_audience = oidc.grant("alice").access_token;
    oidc.set_audience(oidc.audience());
    oidc.give_stale_tokens();
    let expired = oidc.grant("alice").access_token;
    oidc.give_fresh_tokens();
    let of_another_issuer = other.grant("alice").access_token;
    for mechanism in BOTH {
        for (what, token) in [
            ("did not match 'bob'", &of_another_user),
            ("Provided token is not valid", &for_another_audience),
            ("Token has expired", &expired),
            ("is not allowed", &of_another_issuer),
        ] {
            let before = dovecot.rejections(0).len();
            let refused = log_in(&dovecot, mechanism, token).expect_err(what);
            let rejection = dovecot.rejections(before + 1).pop().unwrap();
            assert!(rejection.reason.contains(what), "{what}: {rejection:?}");
            let status = match mechanism {
                Mechanism::Xoauth2 => "\"401\"",
                Mechanism::Oauthbearer => "\"invalid_token\"",
            };
            assert!(refused.contains(status), "{what}: {refused}");
        }
        assert_eq!(log_in(&dovecot, mechanism, &good), Ok(()));
    }

    oidc.replace_key();
    dovecot.forget_keys();
    assert!(log_in(&dovecot, Mechanism::Xoauth2, &good).is_err());
    let renewed = oidc.grant("alice").access_token;
    assert_eq!(log_in(&dovecot, Mechanism::Xoauth2, &renewed), Ok(()));
}

#[test]
fn refresh_tokens_rotate_and_using_one_twice_ends_the_grant() {
    let oidc = Oidc::start();
    let first = oidc.grant("alice");
    let second = Granted::from(oidc.refresh(&first.refresh_token));
    assert_ne!(first.refresh_token, second.refresh_token);
    assert_eq!(
        oidc.living_refresh_tokens("alice"),
        [second.refresh_token.as_str()]
    );
    for token in [&first, &second] {
        let answer = oidc.refresh(&token.refresh_token);
        assert_eq!(
            (answer.status, error_of(&answer).as_str()),
            (400, "invalid_grant")
        );
    }
    assert_eq!(oidc.living_refresh_tokens("alice"), [""; 0]);
    assert_eq!(oidc.count(Endpoint::Refresh), 3);
    assert_eq!(oidc.count_of(Endpoint::Refresh, "ok"), 1);
    assert_eq!(oidc.count_of(Endpoint::Refresh, "invalid_grant"), 2);
}

#[test]
fn rotation_may_be_lenient_or_absent() {
    let oidc = Oidc::builder().rotation(Rotation::Lenient).start();
    let first = oidc.grant("alice");
    let second = Granted::from(oidc.refresh(&first.refresh_token));
    assert_ne!(first.refresh_token, second.refresh_token);
    assert_eq!(oidc.refresh(&first.refresh_token).status, 200);
    assert_eq!(oidc.living_refresh_tokens("alice").len(), 3);

    oidc.set_rotation(Rotation::Never);
    let third = Granted::from(oidc.refresh(&second.refresh_token));
    assert_eq!(third.refresh_token, second.refresh_token);
}

#[test]
fn what_a_user_revokes_is_over() {
    let oidc = Oidc::start();
    let (alice, bob) = (oidc.grant("alice"), oidc.grant("bob"));
    assert_eq!(oidc.revoke("alice"), 1);
    assert_eq!(
        error_of(&oidc.refresh(&alice.refresh_token)),
        "invalid_grant"
    );
    assert_eq!(oidc.refresh(&bob.refresh_token).status, 200);
}

#[test]
fn a_code_is_good_once_and_only_with_its_verifier() {
    let oidc = Oidc::start();
    let pkce = Pkce::new();
    let code = || {
        let redirect = oidc.authorize(&oidc.authorization_url("alice", &pkce));
        parameter(&redirect.unwrap(), "code").unwrap()
    };
    assert_eq!(oidc.exchange(&code(), &Pkce::new().verifier).status, 400);
    let code = code();
    let granted = Granted::from(oidc.exchange(&code, &pkce.verifier));
    assert_eq!(
        error_of(&oidc.exchange(&code, &pkce.verifier)),
        "invalid_grant"
    );
    // A code that comes twice was stolen: what it gave is taken back.
    assert_eq!(oidc.refresh(&granted.refresh_token).status, 400);
    for secret in [
        &code,
        &pkce.verifier,
        &granted.access_token,
        &granted.refresh_token,
    ] {
        assert!(oidc.secrets().contains(secret));
    }
}

#[test]
fn the_server_wants_s256_and_a_redirect_to_this_machine() {
    let oidc = Oidc::start();
    let url = oidc.authorization_url("alice", &Pkce::new());
    let plain = with_parameter(&url, "code_challenge_method", "plain");
    let redirect = oidc.authorize(&plain).unwrap();
    assert_eq!(
        parameter(&redirect, "error").as_deref(),
        Some("invalid_request")
    );
    let elsewhere = with_parameter(&url, "redirect_uri", "http://other.test/callback");
    assert_eq!(oidc.authorize(&elsewhere).unwrap_err().status, 400);
}

#[test]
fn a_server_may_say_back_what_it_was_told() {
    let oidc = Oidc::start();
    let token = oidc.grant("alice").refresh_token;
    oidc.fail(Endpoint::Refresh, &Fault::Echo(403), Times::Once);
    let answer = oidc.refresh(&token);
    assert_eq!(answer.status, 403);
    let said = answer.json();
    for place in [&said["error"], &said["error_description"]] {
        assert!(place.as_str().unwrap().contains(&token), "{said}");
    }
    let header = answer.header("www-authenticate").unwrap();
    assert!(header.contains(&token), "{header}");
    // It did nothing else.
    assert_eq!(oidc.refresh(&token).status, 200);
}

#[test]
fn the_browser_reaches_the_listener_and_a_user_may_refuse() {
    let oidc = Oidc::start();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let redirect = format!("http://{}/any/path", listener.local_addr().unwrap());
    let (sent, asked) = mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut request = [0; 4096];
            let read = stream.read(&mut request).unwrap();
            let line = String::from_utf8_lossy(&request[..read]);
            sent.send(line.lines().next().unwrap().to_owned()).unwrap();
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ndone");
        }
    });
    let url = oidc.authorization_url("alice", &Pkce::new());
    let url = with_parameter(&url, "redirect_uri", &redirect);
    let page = oidc.browse(&url);
    assert_eq!((page.status, page.body.as_str()), (200, "done"));
    let request = asked.recv().unwrap();
    assert!(request.starts_with("GET /any/path?code="), "{request}");
    assert_eq!(
        parameter(&page.url, "state").as_deref(),
        Some("of the test")
    );
    assert_eq!(parameter(&page.url, "iss"), Some(oidc.issuer()));

    let page = oidc.browse(&with_parameter(&url, "login_hint", "deny"));
    assert_eq!(
        parameter(&page.url, "error").as_deref(),
        Some("access_denied")
    );
}

#[test]
fn a_device_waits_for_its_person() {
    let oidc = Oidc::start();
    let dovecot = Dovecot::builder().oauth(&oidc).start();
    let begin = || {
        let begun = oidc.begin_device();
        assert_eq!(begun["interval"], 1);
        let device = oidc.devices(1).pop().unwrap();
        assert_eq!(begun["user_code"], device.user_code);
        (begun["device_code"].as_str().unwrap().to_owned(), device)
    };
    let poll = |code: &str| error_of(&oidc.poll_device(code));

    let (code, device) = begin();
    assert_eq!(poll(&code), "authorization_pending");
    oidc.fail(
        Endpoint::Poll,
        &Fault::Error("slow_down".to_owned()),
        Times::Once,
    );
    assert_eq!(poll(&code), "slow_down");
    assert_eq!(oidc.approve(&device, "alice").status, 200);
    let granted = Granted::from(oidc.poll_device(&code));
    assert_eq!(
        log_in(&dovecot, Mechanism::Xoauth2, &granted.access_token),
        Ok(())
    );

    let (code, device) = begin();
    oidc.approve(&device, "deny");
    assert_eq!(poll(&code), "access_denied");

    let (code, _) = begin();
    oidc.expire_devices();
    assert_eq!(poll(&code), "expired_token");

    let unknown = Device {
        user_code: "ZZZZ-ZZZZ".to_owned(),
        ..device
    };
    assert_eq!(oidc.approve(&unknown, "alice").status, 200);
    assert_eq!(oidc.count_of(Endpoint::Device, "ok"), 3);
}

#[test]
fn a_refresh_can_be_stopped_before_it_begins_and_before_it_is_answered() {
    let oidc = Oidc::start();
    let granted = oidc.grant("alice");
    std::thread::scope(|scope| {
        let arrival = oidc.hold(Endpoint::Refresh, Point::Arrival);
        let answer = oidc.hold(Endpoint::Refresh, Point::Answer);
        let refresh = scope.spawn(|| oidc.refresh(&granted.refresh_token));
        arrival.await_arrivals(1);
        assert_eq!(
            oidc.living_refresh_tokens("alice"),
            [granted.refresh_token.as_str()]
        );
        assert_eq!(oidc.served().last().unwrap().outcome, None);
        arrival.release();
        answer.await_arrivals(1);
        let living = oidc.living_refresh_tokens("alice");
        assert_eq!(oidc.served().last().unwrap().outcome.as_deref(), Some("ok"));
        assert_eq!(oidc.served().last().unwrap().status, None);
        answer.release();
        let renewed = Granted::from(refresh.join().unwrap());
        assert_eq!(living, [renewed.refresh_token]);
    });
    oidc.await_answered(Endpoint::Refresh, 1);
}

#[test]
fn every_fault_is_as_it_is_called() {
    let oidc = Oidc::start();
    let granted = oidc.grant("alice");
    let url = format!("{}/token", oidc.issuer());
    let refresh = |fault: &Fault| {
        oidc.fail(Endpoint::Refresh, fault, Times::Once);
        let living = oidc.living_refresh_tokens("alice");
        let fields = [
            ("client_id", testkit::oidc::CLIENT),
            ("grant_type", "refresh_token"),
            ("refresh_token", living[0].as_str()),
        ];
        oidc.http().post_form(&url, &fields)
    };
    let answer = refresh(&Fault::invalid_grant()).unwrap();
    assert_eq!(
        (answer.status, error_of(&answer).as_str()),
        (400, "invalid_grant")
    );
    assert_eq!(refresh(&Fault::Status(500)).unwrap().status, 500);
    let answer = refresh(&Fault::RetryAfter(503, 7)).unwrap();
    assert_eq!(
        (answer.status, answer.header("retry-after")),
        (503, Some("7"))
    );
    let answer = refresh(&Fault::Redirect("http://other.test/token".to_owned())).unwrap();
    assert_eq!(
        (answer.status, answer.header("location")),
        (307, Some("http://other.test/token"))
    );
    assert_eq!(refresh(&Fault::Text("{".to_owned())).unwrap().text(), "{");
    let answer = refresh(&Fault::Huge(1 << 20)).unwrap();
    assert!(answer.body.len() > 1 << 20 && answer.header("content-length").is_none());
    assert_eq!(
        oidc.living_refresh_tokens("alice"),
        [granted.refresh_token.as_str()]
    );
    assert!(refresh(&Fault::Cut(Point::Arrival)).is_err());
    assert_eq!(
        oidc.living_refresh_tokens("alice"),
        [granted.refresh_token.as_str()]
    );

    assert!(refresh(&Fault::Cut(Point::Answer)).is_err());
    assert_ne!(oidc.living_refresh_tokens("alice"), [granted.refresh_token]);
    assert_eq!(oidc.served().last().unwrap().status, Some(0));
    let answer = refresh(&Fault::without_refresh_token()).unwrap().json();
    assert!(answer["access_token"].is_string() && answer.get("refresh_token").is_none());
    assert_eq!(
        refresh(&Fault::Slow(Duration::from_millis(1)))
            .unwrap()
            .status,
        200
    );

    oidc.fail(Endpoint::Refresh, &Fault::Status(502), Times::Always);
    assert_eq!(oidc.refresh("x").status, 502);
    oidc.mend();
    assert_eq!(oidc.refresh("x").status, 400);
}

#[test]
fn discovery_can_lie() {
    let oidc = Oidc::start();
    let url = format!("{}/.well-known/openid-configuration", oidc.issuer());
    let discovered = || oidc.http().get(&url).unwrap().json();
    let honest = discovered();
    assert_eq!(honest["issuer"], oidc.issuer());
    assert_eq!(honest["code_challenge_methods_supported"], json!(["S256"]));
    oidc.fail(Endpoint::Discovery, &Fault::wrong_issuer(), Times::Once);
    assert_eq!(discovered()["issuer"], "https://other.test");
    oidc.fail(
        Endpoint::Discovery,
        &Fault::without_s256(),
        Times::Exactly(2),
    );
    for _ in 0..2 {
        assert_eq!(
            discovered()["code_challenge_methods_supported"],
            json!(["plain"])
        );
    }
    oidc.fail(Endpoint::Discovery, &Fault::without_pkce(), Times::Once);
    assert_eq!(discovered().get("code_challenge_methods_supported"), None);
    assert_eq!(discovered(), honest);
}

#[test]
fn tls_lifetimes_and_clients_with_a_secret() {
    let oidc = Oidc::builder()
        .tls(Leaf::Good)
        .access_lifetime(Duration::from_secs(90))
        .scope("https://mail.test/")
        .start();
    assert!(oidc.issuer().starts_with("https://"));
    assert!(oidc.ca_path().unwrap().is_file());
    let granted = oidc.grant("alice");
    assert_eq!(granted.answer["expires_in"], 90);
    assert!(
        granted.answer["scope"]
            .as_str()
            .unwrap()
            .contains("https://mail.test/")
    );
    oidc.set_access_lifetime(Duration::from_secs(5));
    let renewed = Granted::from(oidc.refresh(&granted.refresh_token));
    assert_eq!(renewed.answer["expires_in"], 5);

    let url = format!("{}/device/auth", oidc.issuer());
    let begin = |secret: &str| {
        let fields = [
            ("client_id", SECRET_CLIENT),
            ("client_secret", secret),
            ("scope", "mail"),
        ];
        oidc.http().post_form(&url, &fields).unwrap().status
    };
    assert_eq!((begin(CLIENT_SECRET), begin("another")), (200, 401));
}
