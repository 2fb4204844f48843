//! Limits over HTTP, with the status that clients and balancers know, and a reload that is refused, as it is counted.

use std::sync::mpsc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::FaultProxy;

use super::house::{ANNA, BERT, CALLERS, House, first, is};
use crate::directory::mailbox;
use crate::operations::Scrape;

/// How long whoever asks again too soon waits to be refused, at least.
const HELD_BACK: Duration = Duration::from_secs(1);

#[test]
fn lying_method_header_does_not_pass_the_early_429() {
    let house = House::new();
    let limits = "    limits: { calls_per_minute: 1, burst: 3 }\n";
    house
        .directory
        .write("callers.yaml", &format!("{CALLERS}{limits}"));
    let server = house.serve(&[]);
    let mut bert = server.client(BERT).with_header("Mcp-Method", "ping");
    let mut call = |_| {
        bert.try_call("get_caller_identity", json!({}))
            .unwrap()
            .status
    };
    assert!((0..10).map(&mut call).any(|status| status == 429));
}

#[test]
fn who_has_used_up_its_limits_hears_429_and_when_to_come_back() {
    let house = House::new();
    // They are those of the last one in the list.
    let limits = "    limits: { calls_per_minute: 1, burst: 3 }\n";
    house
        .directory
        .write("callers.yaml", &format!("{CALLERS}{limits}"));
    let server = house.serve(&[]);
    for modern in [false, true] {
        let mut bert = server.client(BERT);
        if modern {
            bert = bert.modern();
        } else {
            let first = bert.call("get_caller_identity", json!({})).structured;
            let stands = &first["meta"]["rate_limit"];
            assert_eq!(
                (&stands["limit"], &stands["remaining"]),
                (&json!(3), &json!(2))
            );
            assert_eq!(stands["retry_after_seconds"], Value::Null);
        }
        let call = |_| bert.try_call("get_caller_identity", json!({})).unwrap();
        let refused = (0..10).map(call).find(|reply| reply.status == 429).unwrap();
        let after: u64 = refused
            .response
            .header("retry-after")
            .unwrap()
            .parse()
            .unwrap();
        assert!((1..=60).contains(&after), "{after}");
        let error = refused.result().unwrap_err();
        assert_eq!(error.data["code"], "rate_limited");
        assert_eq!(error.data["details"]["retry_after_seconds"], after);
        assert_eq!(error.data["details"]["limit"], "calls_per_minute");
        assert_eq!(error.data["meta"]["rate_limit"]["remaining"], 0);
        // What is no call is answered, and so is everybody else.
        assert!(bert.request("tools/list", json!({})).is_ok());
        is(&mut server.client(ANNA), "anna");
    }
    house.directory.home.verify();
}

#[test]
fn a_reload_that_does_not_fit_is_counted_as_one_that_changed_nothing() {
    let house = House::new();
    let server = house.serve(&["--metrics-addr", "127.0.0.1:0"]);
    server.await_stderr("metrics on http://");
    let counted = || {
        let seen = Scrape::told(&server.stderr());
        ["in_force", "kept"]
            .map(|outcome| seen.sum("mailwarden_reloads_total", &[("outcome", outcome)]))
    };
    assert_eq!(counted(), [0.0, 0.0]);
    house.reload(&server);
    assert_eq!(counted(), [1.0, 0.0]);
    // It is good for itself, and not for this process.
    let trusted = CALLERS.replace(
        "auth: { type: shared_token, token_secret_ref: secret://bert }",
        "auth: { type: stdio_trusted }",
    );
    house.directory.write("callers.yaml", &trusted);
    let printed = house.directory.run(&["config", "reload"]);
    assert!(
        printed.stdout.contains("kept version"),
        "{}",
        printed.stdout
    );
    assert_eq!(counted(), [1.0, 1.0]);
}

/// More than it may have under way and waiting: the first refusal comes at once, and whoever asks on waits for theirs.
#[test]
fn who_asks_again_before_it_may_is_held_back_and_nobody_else_is() {
    const CALLS: usize = 64;
    let mail = mailbox();
    let proxy = FaultProxy::to(mail.port());
    let house = House::with(mail, proxy.port());
    let server = house.serve(&[]);
    server.client(ANNA).modern().call("fetch_body", first());
    proxy.stall();
    let (send, refused) = mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..CALLS {
            let (mut anna, send) = (server.client(ANNA).modern(), send.clone());
            scope.spawn(move || {
                let begun = Instant::now();
                let reply = anna.try_call("fetch_body", first()).unwrap();
                if reply.status == 503 {
                    assert!(reply.response.header("retry-after").is_some());
                    send.send(begun.elapsed()).unwrap();
                }
            });
        }
        let refused: Vec<Duration> = refused.iter().take(10).collect();
        let held = refused.iter().filter(|took| **took >= HELD_BACK);
        assert!(held.count() >= 5, "{refused:?}");
        // Another caller is not held back, and neither is what is no call.
        is(&mut server.client(BERT).modern(), "bert");
        assert!(
            server
                .client(ANNA)
                .modern()
                .request("tools/list", json!({}))
                .is_ok()
        );
        proxy.resume();
    });
    // One record for the first, and one that counts the others when its minute is over: not one for each.
    let records = house.directory.home.records();
    let calls = records.iter().filter(|one| one.event == "call");
    let recorded = calls.filter(|one| one.json["reason"] == "overloaded");
    let recorded = recorded.count();
    assert!((1..CALLS / 4).contains(&recorded), "{recorded}");
}
