//! Tokens that the mail server does not take: one more is got and shown, and then it is told; nobody asks in a loop.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;
use testkit::http::with_parameter;
use testkit::oidc::{Endpoint, Fault, Point, Times};
use testkit::proxy::Cut;

use super::House;
use super::house::{assert_works, search, standing};

#[test]
fn a_token_that_is_stale_before_its_time_is_replaced_once() {
    let house = House::new();
    house.log_in();
    let mut client = house.client();
    // The first token is dead when it is given; the second is not.
    house.oidc.give_stale_tokens();
    let answer = house.oidc.hold(Endpoint::Refresh, Point::Answer);
    let call = client.send_call("search", super::house::inbox(&json!({})));
    answer.await_arrivals(1);
    house.oidc.give_fresh_tokens();
    answer.release();
    let found = client.wait_call(call);
    assert!(!found.is_error, "{}", found.text);
    assert_eq!(house.refreshes(), 2);
    let rejected = house.server.rejections(1);
    assert_eq!(rejected.len(), 1, "{rejected:?}");
    assert!(rejected[0].reason.contains("expired"), "{rejected:?}");
    house.assert_stored();
    house.hang_up();
    assert_works(&mut client);
    assert_eq!(house.refreshes(), 2);
}

#[test]
fn a_server_that_hangs_up_on_a_stale_token_is_shown_the_next_one_on_another_connection() {
    let house = House::new();
    house.log_in();
    let mut client = house.client();
    house.oidc.give_stale_tokens();
    let answer = house.oidc.hold(Endpoint::Refresh, Point::Answer);
    let shown = AtomicUsize::new(0);
    house.road.cut_before(Cut::Close, move |line| {
        line.contains("AUTHENTICATE") && shown.fetch_add(1, Ordering::SeqCst) == 1
    });
    let call = client.send_call("search", super::house::inbox(&json!({})));
    answer.await_arrivals(1);
    house.oidc.give_fresh_tokens();
    answer.release();
    let found = client.wait_call(call);
    assert!(!found.is_error, "{}", found.text);
    assert_eq!(house.refreshes(), 2);
    assert_eq!(house.server.rejections(1).len(), 1);
}

#[test]
fn a_token_whose_key_is_gone_is_replaced_once() {
    let mut house = House::new();
    house.log_in();
    let mut client = house.client();
    assert_works(&mut client);
    assert_eq!(house.refreshes(), 1);
    house.oidc.replace_key();
    house.server.forget_keys();
    house.hang_up();
    assert_works(&mut client);
    assert_eq!(house.refreshes(), 2);
    house.assert_stored();
}

#[test]
fn a_token_for_somebody_else_is_told_of_and_not_asked_for_in_a_loop() {
    let house = House::new();
    house.log_in();
    house.oidc.set_audience("smtp.test");
    let mut client = house.client();
    let refused = search(&mut client);
    assert!(refused.is_error);
    assert!(refused.text.contains("access token"), "{}", refused.text);
    // One was needed and one more was tried.
    assert_eq!(house.refreshes(), 2);
    let rejected = house.server.rejections(2);
    for rejection in &rejected {
        assert!(rejection.reason.contains("not valid"), "{rejected:?}");
    }
    for _ in 0..5 {
        assert!(search(&mut client).is_error);
    }
    assert_eq!(house.refreshes(), 2);
    // That is no reason to log in again: the login is as good as before.
    assert_eq!(standing(&mut client)["status"], "ok");
    house.assert_stored();

    let check = house.check();
    assert_ne!(check.code, 0);
    // What there is to mend is for whoever runs it.
    for said in ["token_refused", "access token", "oauth_scope", "user"] {
        assert!(check.stdout.contains(said), "{said}: {}", check.stdout);
    }
    for secret in house.oidc.secrets() {
        assert!(!check.stdout.contains(&secret) && !refused.text.contains(&secret));
    }
}

#[test]
fn a_provider_that_is_ill_is_told_of_and_asked_again_later() {
    let html = "<!doctype html><title>Sign in</title>".to_owned();
    let faults = [
        Fault::Status(500),
        Fault::RetryAfter(503, 7),
        Fault::Text("{".to_owned()),
        Fault::Text(html),
        Fault::Text("{\"access_token\": \"a\\u0000b\"}".to_owned()),
        Fault::Huge(1 << 20),
        Fault::Cut(Point::Arrival),
        Fault::Error("invalid_client".to_owned()),
    ];
    let house = House::new();
    house.log_in();
    let kept = house.kept();
    for fault in faults {
        house.oidc.fail(Endpoint::Refresh, &fault, Times::Always);
        let before = house.refreshes();
        let mut client = house.client();
        for _ in 0..3 {
            let refused = search(&mut client);
            assert!(refused.is_error, "{fault:?}: {}", refused.text);
            let code = &refused.structured["data"]["issues"][0]["code"];
            let expected = match &fault {
                Fault::Error(_) => "token_misconfigured",
                _ => "token_unavailable",
            };
            assert_eq!(code, expected, "{fault:?}: {}", refused.structured);
        }
        // Who asks at once again is answered from memory.
        assert_eq!(house.refreshes(), before + 1, "{fault:?}");
        assert_eq!(standing(&mut client)["status"], "ok", "{fault:?}");
        assert_eq!(house.kept(), kept, "{fault:?}");
        house.oidc.mend();
    }
    assert_works(&mut house.client());
}

#[test]
fn a_login_that_was_taken_away_together_with_its_tokens_is_told_as_such() {
    let mut house = House::new();
    house.log_in();
    let mut client = house.client();
    assert_works(&mut client);
    house.oidc.revoke("alice");
    house.oidc.replace_key();
    house.server.forget_keys();
    house.hang_up();
    super::house::assert_needs_login(&mut client);
    house.log_in();
    assert_works(&mut client);
}

#[test]
fn whoever_logs_in_as_somebody_else_reads_nobodys_mail() {
    let house = House::new();
    let mut login = house.begin(&[]);
    let address = with_parameter(&login.address(), "login_hint", "bob");
    house.oidc.browse(&address);
    assert_eq!(login.end().code, 0);
    let mut client = house.client();
    let refused = search(&mut client);
    assert!(refused.is_error, "{}", refused.text);
    assert!(refused.text.contains("token_refused"), "{}", refused.text);
    let said = "check that the user is the one who logged in";
    let check = house.check();
    assert!(check.stdout.contains(said), "{}", check.stdout);
    let rejected = house.server.rejections(1);
    assert!(rejected[0].reason.contains("did not match"), "{rejected:?}");
    // As Alice it works, also for who runs already.
    house.log_in();
    assert_works(&mut client);
}
