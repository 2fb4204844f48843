//! What an operator sees of those who are not served: each counted by its reason, and a line that says what to do.

use testkit::HttpServer;

use super::house::{ANNA, CALLERS, House, call, is, raw, request};
use crate::operations::Scrape;

const OLD: &str = "dora-token-dora-token-dora";

fn ask(server: &HttpServer, text: &str) -> u16 {
    let mut wire = raw(server);
    // It may have hung up before it has heard everything.
    let _ = wire.send(text);
    wire.response().unwrap().status
}

#[test]
fn whoever_is_not_served_is_counted_by_the_reason_and_told_in_a_line() {
    let house = House::new();
    let expired = "  - id: dora\n    policy: some\n    auth: { type: shared_token, tokens: [{ token_secret_ref: secret://dora, expires: 2020-01-01T00:00:00Z }] }\n";
    let callers = format!("{CALLERS}{expired}");
    house.directory.write("callers.yaml", &callers);
    house.directory.secret("secrets/dora", OLD);
    let server = house.serve(&["--metrics-addr", "0"]);
    server.await_stderr("metrics on http://");
    let here = [("Host", "localhost")];
    let long = "x".repeat(40 << 10);
    let bearer = format!("Bearer {ANNA}");
    let proven = ("Authorization", bearer.as_str());
    let mut wanted = std::collections::BTreeMap::new();
    for (reason, text, status) in [
        ("host", call(ANNA, &[("Host", "mail.example.org")]), 403),
        ("unclear_host", call(ANNA, &[]), 400),
        (
            "origin",
            call(ANNA, &[here[0], ("Origin", "https://evil.example")]),
            403,
        ),
        ("path", request("GET /sse HTTP/1.1", &here, ""), 404),
        ("method", request("PUT /mcp HTTP/1.1", &here, ""), 405),
        ("no_token", request("POST /mcp HTTP/1.1", &here, ""), 401),
        ("unknown_token", call("wrong-token-wrong-token", &here), 401),
        ("expired_token", call(OLD, &here), 401),
        ("bad_head", call(ANNA, &[here[0], ("X-Long", &long)]), 431),
        ("bad_head", call(ANNA, &[here[0], ("X A", "b")]), 400),
        (
            "too_large",
            request(
                "POST /mcp HTTP/1.1",
                &[here[0], proven, ("Content-Length", "4194305")],
                "",
            ),
            413,
        ),
        (
            "bad_body",
            request(
                "POST /mcp HTTP/1.1",
                &[here[0], proven, ("Transfer-Encoding", "chunked")],
                "zz\r\n{}\r\n0\r\n\r\n",
            ),
            400,
        ),
    ] {
        for _ in 0..3 {
            assert_eq!(ask(&server, &text), status, "{reason}");
            *wanted.entry(reason).or_insert(0.0) += 1.0;
        }
    }
    is(&mut server.client(ANNA), "anna");
    let seen = Scrape::told(&server.stderr());
    let counted = |labels: &[(&str, &str)]| seen.sum("mailwarden_http_refused_total", labels);
    for (reason, times) in &wanted {
        assert_eq!(counted(&[("reason", reason)]), *times, "{reason}");
    }
    assert_eq!(counted(&[]), wanted.values().sum::<f64>(), "{}", seen.text);
    // A line for the first of them, with the name that was asked for; what is told elsewhere, or nothing is to be done about, has none.
    let stderr = server.stderr();
    let lines = |of: &str| stderr.matches(of).count();
    assert_eq!(lines("not served: a request for a name"), 1, "{stderr}");
    assert_eq!(lines("named=\"mail.example.org\""), 1, "{stderr}");
    assert_eq!(lines("named=\"https://evil.example\""), 1, "{stderr}");
    assert_eq!(lines("not served"), 4, "{stderr}");
    assert!(!stderr.contains(ANNA) && !stderr.contains(OLD));
}

/// Those that nobody has room for are counted where they are turned away, and how many there are is told when the process ends.
#[test]
fn connections_that_have_to_go_are_counted() {
    let house = House::new();
    let mut server = house.serve(&["--metrics-addr", "0"]);
    server.await_stderr("metrics on http://");
    let held: Vec<_> = (0..520).map(|_| raw(&server)).collect();
    server.await_stderr("not served: there are too many connections");
    let gone = || {
        let seen = Scrape::told(&server.stderr());
        let reason = ("reason", "too_many_connections");
        seen.sum("mailwarden_http_refused_total", &[reason])
    };
    // Some may have been closed for being silent by then, but those that made room were told before that.
    while gone() < 8.0 {
        std::thread::yield_now();
    }
    drop(held);
    server.terminate();
    assert!(
        server
            .wait_exit(std::time::Duration::from_secs(20))
            .is_some()
    );
    let stderr = server.stderr();
    let again = stderr
        .lines()
        .find(|line| line.contains("not served again: there are too many connections"));
    let again = again.unwrap_or_else(|| panic!("{stderr}"));
    assert!(again.contains("times="), "{again}");
}
