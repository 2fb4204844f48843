//! Limits over HTTP, with the status that clients and balancers know, and a reload that is refused, as it is counted.

use serde_json::{Value, json};

use super::house::{ANNA, BERT, CALLERS, House, is};
use crate::operations::Scrape;

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
