//! Many who want a token at once, in one process and in two: each refresh token is used once.

use serde_json::{Value, json};
use testkit::McpClient;
use testkit::mcp::RequestId;
use testkit::oidc::{Endpoint, Point, Times};

use super::House;
use super::house::{assert_works, inbox};

/// Half of them look, half of them read.
fn ask(client: &mut McpClient, number: usize) -> RequestId {
    match number % 2 {
        0 => client.send_call("search", inbox(&json!({}))),
        _ => client.send_call("fetch_body", inbox(&json!({ "uid": 1 }))),
    }
}

fn assert_answered(client: &mut McpClient, id: RequestId) {
    let outcome = client.wait_call(id);
    assert!(!outcome.is_error, "{}\n{}", outcome.text, client.stderr());
    assert_eq!(outcome.structured["success"], Value::Bool(true));
}

#[test]
fn two_hundred_calls_on_an_expired_token_refresh_it_once() {
    let house = House::new();
    house.log_in();
    house.expire(Times::Once);
    let mut client = house.client().patience(std::time::Duration::from_secs(120));
    assert_works(&mut client);
    house.hang_up();
    let before = house.refreshes();
    // The refresh is stopped until all of them have been sent.
    let arrival = house.oidc.hold(Endpoint::Refresh, Point::Arrival);
    let calls: Vec<RequestId> = (0..200).map(|number| ask(&mut client, number)).collect();
    arrival.await_arrivals(1);
    arrival.release();
    for call in calls {
        assert_answered(&mut client, call);
    }
    assert_eq!(house.refreshes(), before + 1);
    house.assert_stored();
}

#[test]
fn two_hundred_calls_on_a_login_that_is_over_ask_once_and_are_all_told() {
    let house = House::new();
    house.log_in();
    house.expire(Times::Once);
    let mut client = house.client().patience(std::time::Duration::from_secs(120));
    assert_works(&mut client);
    house.oidc.revoke("alice");
    house.hang_up();
    let before = house.refreshes();
    let arrival = house.oidc.hold(Endpoint::Refresh, Point::Arrival);
    let calls: Vec<RequestId> = (0..200).map(|number| ask(&mut client, number)).collect();
    arrival.await_arrivals(1);
    arrival.release();
    for call in calls {
        let outcome = client.wait_call(call);
        assert_eq!(super::reason(&outcome), "needs_rebootstrap");
    }
    assert_eq!(house.refreshes(), before + 1);
}

#[test]
fn two_processes_never_use_a_refresh_token_twice() {
    let house = House::new();
    house.log_in();
    // Every token is over as soon as it is here: each new connection needs another.
    house.expire(Times::Always);
    let mut clients = [house.client(), house.client()];
    for _ in 0..20 {
        let calls: Vec<RequestId> = clients.iter_mut().map(|one| ask(one, 0)).collect();
        for (client, call) in clients.iter_mut().zip(calls) {
            assert_answered(client, call);
        }
        house.hang_up();
    }
    let refreshes = house.refreshes();
    assert!(refreshes >= 20, "{refreshes}");
    assert_eq!(house.oidc.count_of(Endpoint::Refresh, "ok"), refreshes);
    house.assert_stored();
}

#[test]
fn two_processes_share_a_token_that_is_kept() {
    let house = House::new();
    house.configure(&json!({ "token_cache": "persist_all" }));
    house.log_in();
    let mut clients = [house.client(), house.client()];
    for client in &mut clients {
        assert_works(client);
    }
    assert_eq!(house.refreshes(), 0);
    // Refused at once by both: one of them gets another, and it is the other's too.
    let mut house = house;
    house.oidc.replace_key();
    house.server.forget_keys();
    house.hang_up();
    let calls: Vec<RequestId> = clients.iter_mut().map(|one| ask(one, 0)).collect();
    for (client, call) in clients.iter_mut().zip(calls) {
        assert_answered(client, call);
    }
    assert_eq!(house.refreshes(), 1);
    house.assert_stored();
}

#[test]
fn who_leaves_while_a_token_is_got_leaves_it_to_others() {
    let house = House::new();
    house.log_in();
    let mut client = house.client();
    let answer = house.oidc.hold(Endpoint::Refresh, Point::Answer);
    let call = ask(&mut client, 0);
    answer.await_arrivals(1);
    client.cancel(call);
    // Whoever asks now waits for the same one.
    let next = ask(&mut client, 0);
    answer.release();
    assert_answered(&mut client, next);
    assert_eq!(house.refreshes(), 1);
    house.assert_stored();
}

#[test]
fn a_login_during_a_refresh_is_what_counts_in_the_end() {
    let house = House::new();
    house.log_in();
    let mut client = house.client();
    let answer = house.oidc.hold(Endpoint::Refresh, Point::Answer);
    let call = ask(&mut client, 0);
    answer.await_arrivals(1);
    let mut login = house.begin(&[]);
    house.oidc.browse(&login.address());
    house.oidc.await_answered(Endpoint::Exchange, 2);
    answer.release();
    assert_answered(&mut client, call);
    assert_eq!(login.end().code, 0);
    // The refresh did not write over it.
    let living = house.oidc.living_refresh_tokens("alice");
    assert_eq!(living.last(), Some(&house.stored()), "{living:?}");
    house.hang_up();
    assert_works(&mut client);
    assert_works(&mut house.client());
    let refreshes = house.refreshes();
    assert_eq!(house.oidc.count_of(Endpoint::Refresh, "ok"), refreshes);
}

/// What ends a program in the ordinary way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Exit {
    Told,
    HungUp,
}

#[test]
fn an_ordinary_exit_does_not_tear_a_refresh_in_half() {
    for exit in [Exit::Told, Exit::HungUp] {
        let house = House::new();
        house.log_in();
        let mut client = house.client();
        // The provider has replaced the token, and nobody has heard of it yet.
        let answer = house.oidc.hold(Endpoint::Refresh, Point::Answer);
        ask(&mut client, 0);
        answer.await_arrivals(1);
        match exit {
            Exit::Told => {
                let pid = client.pid().to_string();
                let told = std::process::Command::new("kill").arg(&pid).status();
                assert!(told.unwrap().success());
            }
            Exit::HungUp => client.close_stdin(),
        }
        // Long enough for who would not wait; who waits, waits longer.
        let gone = client.wait_exit(std::time::Duration::from_secs(2));
        assert_eq!(gone, None, "{exit:?}: {}", client.stderr());
        answer.release();
        let gone = client.wait_exit(std::time::Duration::from_secs(30));
        assert!(gone.is_some_and(|it| it.success()), "{exit:?}");
        house.assert_stored();
        let record = house.dir.home.only("token_refreshed", |_| true);
        assert_eq!(record.text("result"), "refreshed");
        assert_works(&mut house.client());
    }
}
