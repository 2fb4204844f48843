//! Those who send too much, too slowly or too often: they are cut off, and everybody else is served.

use std::time::{Duration, Instant};

use serde_json::json;
use testkit::{HttpServer, Wire};

use super::house::{ANNA, House, call, is, raw, request};

fn authorized(line: &str, more: &[(&str, &str)], body: &str) -> String {
    let bearer = format!("Bearer {ANNA}");
    let mut headers = vec![
        ("Host", "localhost"),
        ("Accept", "application/json, text/event-stream"),
        ("Content-Type", "application/json"),
        ("Authorization", bearer.as_str()),
    ];
    headers.extend_from_slice(more);
    request(line, &headers, body)
}

/// The status, and that the server hung up after it.
fn cut_off(wire: &mut Wire) -> u16 {
    let answer = wire.response().unwrap();
    assert!(answer.body.len() < 64, "{}", answer.text());
    assert_eq!(answer.header("connection"), Some("close"), "{answer:?}");
    assert!(wire.is_closed(), "{} and still there", answer.status);
    answer.status
}

#[test]
fn what_is_too_large_is_refused_and_not_read() {
    let house = House::new();
    let server = house.serve(&[]);
    let post = "POST /mcp HTTP/1.1";
    let long = "x".repeat(40 << 10);
    let many: Vec<(String, String)> = (0..80)
        .map(|n| (format!("X-{n}"), "y".to_owned()))
        .collect();
    let many: Vec<(&str, &str)> = many.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
    for (text, status) in [
        (authorized(post, &[("X-Long", &long)], ""), 431),
        (authorized(post, &many, ""), 431),
        (authorized(&format!("POST /{long} HTTP/1.1"), &[], ""), 431),
        // Nothing of the body comes, and nobody waits for it.
        (authorized(post, &[("Content-Length", "4194305")], ""), 413),
        (
            authorized(post, &[("Content-Length", "99999999999")], ""),
            413,
        ),
        (
            authorized(post, &[("Content-Length", "18446744073709551616")], ""),
            400,
        ),
        (authorized(post, &[("Content-Length", "-1")], ""), 400),
        (
            authorized(
                post,
                &[("Content-Length", "1"), ("Content-Length", "2")],
                "{}",
            ),
            400,
        ),
        (authorized(post, &[("Content-Length", "+1")], "{}"), 400),
        (
            authorized(post, &[("Transfer-Encoding", "gzip")], "{}"),
            400,
        ),
        (
            authorized(post, &[("Transfer-Encoding", "chunked, gzip")], "{}"),
            400,
        ),
        (
            authorized(
                post,
                &[("Transfer-Encoding", "chunked")],
                "zz\r\n{}\r\n0\r\n\r\n",
            ),
            400,
        ),
        (authorized(post, &[("X-A", "b\r\n folded")], ""), 400),
        (authorized(post, &[("X-A", "nul\0")], ""), 400),
        (authorized(post, &[("X A", "b")], ""), 400),
        (authorized(post, &[("X-A ", "b")], ""), 400),
    ] {
        let mut wire = raw(&server);
        // It may have hung up before it has heard everything.
        let _ = wire.send(&text);
        let shown: String = text.chars().take(60).collect();
        assert_eq!(cut_off(&mut wire), status, "{shown}");
    }
    // Without a length, as much as is allowed is read.
    let mut wire = raw(&server);
    wire.send(authorized(post, &[("Transfer-Encoding", "chunked")], ""))
        .unwrap();
    let chunk = format!("{:x}\r\n{}\r\n", 1 << 20, "x".repeat(1 << 20));
    for _ in 0..5 {
        let _ = wire.send(&chunk);
    }
    assert_eq!(wire.response().unwrap().status, 413);
    is(&mut server.client(ANNA), "anna");
}

#[test]
fn nobody_smuggles_a_request_in_another() {
    let house = House::new();
    let server = house.serve(&[]);
    let inner = call(ANNA, &[("Host", "localhost")]);
    // Chunked and measured at once: by the chunks the body is empty, by the length the second request is in it.
    let length = (inner.len() + 5).to_string();
    for headers in [
        [
            ("Transfer-Encoding", "chunked"),
            ("Content-Length", length.as_str()),
        ],
        [
            ("Content-Length", length.as_str()),
            ("Transfer-Encoding", "chunked"),
        ],
    ] {
        let mut wire = raw(&server);
        wire.send(authorized(
            "POST /mcp HTTP/1.1",
            &headers,
            &format!("0\r\n\r\n{inner}"),
        ))
        .unwrap();
        let answers = String::from_utf8_lossy(&wire.rest()).into_owned();
        assert_eq!(answers.matches("HTTP/1.1 ").count(), 1, "{answers}");
        assert!(!answers.contains("caller_id"), "{answers}");
    }
    // Requests that follow each other in order are all answered, in order.
    let mut wire = raw(&server);
    wire.send(inner.repeat(5)).unwrap();
    for _ in 0..5 {
        let answer = wire.response().unwrap();
        assert_eq!(answer.status, 200, "{}", answer.text());
        assert!(answer.text().contains("anna"));
    }
    // Behind one that is refused, nothing is answered.
    let mut wire = raw(&server);
    let wrong = call("wrong-token-wrong-token", &[("Host", "localhost")]);
    wire.send(format!("{wrong}{inner}")).unwrap();
    let answers = String::from_utf8_lossy(&wire.rest()).into_owned();
    assert_eq!(answers.matches("HTTP/1.1 ").count(), 1, "{answers}");
    assert!(answers.starts_with("HTTP/1.1 401"), "{answers}");
}

#[test]
fn whoever_is_slow_is_cut_off_while_others_are_served() {
    let house = House::new();
    let server = house.serve(&[]);
    // Nothing at all; the beginning of a head; a body that never comes.
    let mut silent = raw(&server);
    let mut slow_head = raw(&server);
    slow_head.send("POST /mcp HTTP/1.1\r\nHost: loc").unwrap();
    let mut slow_body = raw(&server);
    slow_body
        .send(authorized(
            "POST /mcp HTTP/1.1",
            &[("Content-Length", "100")],
            "{",
        ))
        .unwrap();
    let mut client = server.client(ANNA);
    for _ in 0..20 {
        is(&mut client, "anna");
    }
    assert!(silent.is_closed());
    assert!(slow_head.is_closed());
    assert_eq!(cut_off(&mut slow_body), 408);
    is(&mut client, "anna");
}

#[test]
fn a_client_that_does_not_read_holds_up_nobody() {
    let house = House::new();
    let server = house.serve(&[]);
    let mut deaf = raw(&server);
    let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" }).to_string();
    let length = list.len().to_string();
    let one = authorized(
        "POST /mcp HTTP/1.1",
        &[("Content-Length", length.as_str())],
        &list,
    );
    deaf.socket()
        .set_write_timeout(Some(Duration::from_secs(2)))
        .unwrap();
    // Until neither side's buffers take any more.
    while deaf.send(&one).is_ok() {}
    let mut client = server.client(ANNA);
    for _ in 0..20 {
        is(&mut client, "anna");
    }
}

#[test]
fn five_thousand_who_prove_nothing_leave_nothing_behind() {
    let house = House::new();
    let server = house.serve(&[]);
    let mut client = server.client(ANNA);
    is(&mut client, "anna");
    // As much as serving takes, once.
    flood(&server, 200);
    let (memory, files) = (server.rss(), server.descriptors());
    flood(&server, 5_000);
    // And as many that say nothing at all and stay.
    let held: Vec<Wire> = (0..1_500).map(|_| raw(&server)).collect();
    is(&mut client, "anna");
    // Whoever has to make room is told to go, and goes as soon as it gets to it.
    let patience = Instant::now() + Duration::from_secs(20);
    while server.descriptors() >= files + 600 {
        let open = server.descriptors();
        assert!(Instant::now() < patience, "{files} before, {open} now");
        std::thread::sleep(Duration::from_millis(5));
    }
    drop(held);
    is(&mut client, "anna");
    let grown = server.rss().saturating_sub(memory);
    assert!(grown < 24 << 20, "{grown} bytes more than {memory}");
    let refused = house.directory.home.records();
    let refused = refused
        .iter()
        .filter(|one| one.event == "caller_refused")
        .count();
    assert!(refused <= 4, "{refused} records");
}

/// So many handshakes of nobody, from a few at a time.
fn flood(server: &HttpServer, count: usize) {
    let hello = json!({
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": { "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "x", "version": "1" } },
    })
    .to_string();
    let length = hello.len().to_string();
    let headers = [
        ("Host", "localhost"),
        ("Accept", "application/json, text/event-stream"),
        ("Content-Type", "application/json"),
        ("Content-Length", length.as_str()),
    ];
    let text = request("POST /mcp HTTP/1.1", &headers, &hello);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..count / 4 {
                    let mut wire = raw(server);
                    wire.send(&text).unwrap();
                    assert_eq!(wire.response().unwrap().status, 401);
                }
            });
        }
    });
}
