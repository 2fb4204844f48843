//! Requests that are not meant for here, or come from where nobody may come from: by name, by origin, by path.

use super::house::{ANNA, House, call, raw, request};

/// What one request gets, whole, on a connection of its own.
fn ask(server: &testkit::HttpServer, text: &str) -> testkit::http::Response {
    let mut wire = raw(server);
    wire.send(text).unwrap();
    wire.response().unwrap_or_else(|e| panic!("{e}: {text}"))
}

#[test]
fn names_and_origins_of_others_are_refused_before_anything_is_read() {
    let house = House::new();
    let words = [
        "--allowed-host",
        "mail.example.com",
        "--allowed-origin",
        "https://app.example.com",
    ];
    let server = house.serve(&words);
    let port = server.address().port();
    let here = format!("127.0.0.1:{port}");
    for (headers, status) in [
        (vec![("Host", here.as_str())], 200),
        (vec![("Host", "localhost")], 200),
        (vec![("Host", "MAIL.example.com:443")], 200),
        (
            vec![("Host", "localhost"), ("Origin", "https://app.example.com")],
            200,
        ),
        // DNS rebinding: a page's own name, that now leads here.
        (vec![("Host", "evil.example")], 403),
        (
            vec![
                ("Host", "evil.example:80"),
                ("Origin", "http://evil.example"),
            ],
            403,
        ),
        (vec![("Host", "localhost.evil.example")], 403),
        (
            vec![("Host", "localhost"), ("Origin", "http://evil.example")],
            403,
        ),
        (
            vec![("Host", "localhost"), ("Origin", "http://localhost")],
            200,
        ),
        (
            vec![("Host", "localhost"), ("Origin", "http://localhost:3000")],
            403,
        ),
        (vec![("Host", "localhost"), ("Origin", "null")], 403),
        (vec![("Host", "localhost"), ("Origin", "")], 403),
        (
            vec![
                ("Host", "localhost"),
                ("Origin", "https://app.example.com"),
                ("Origin", "null"),
            ],
            400,
        ),
        (vec![("Host", "localhost"), ("Host", "localhost")], 400),
        (vec![("Host", "localhost"), ("Host", "evil.example")], 400),
        (
            vec![("Host", "evil.example"), ("X-Forwarded-Host", "localhost")],
            403,
        ),
        (vec![("Host", "user@localhost")], 400),
        (vec![("Host", "")], 400),
        (vec![], 400),
    ] {
        let answer = ask(&server, &call(ANNA, &headers));
        assert_eq!(answer.status, status, "{headers:?}: {}", answer.text());
        if status != 200 {
            assert_eq!(answer.header("connection"), Some("close"), "{headers:?}");
            assert!(answer.body.len() < 64, "{}", answer.text());
            assert_eq!(answer.header("access-control-allow-origin"), None);
        }
    }
    let page = [("Host", "localhost"), ("Origin", "https://app.example.com")];
    let answer = ask(&server, &call(ANNA, &page));
    let allowed = answer.header("access-control-allow-origin");
    assert_eq!(allowed, Some("https://app.example.com"));
    // A page asks first, and brings no token for that.
    let answer = ask(&server, &request("OPTIONS /mcp HTTP/1.1", &page, ""));
    assert_eq!(answer.status, 204);
    assert!(
        answer
            .header("access-control-allow-headers")
            .unwrap()
            .contains("authorization")
    );
    // Nobody is told by a forwarded address who it is.
    let forged = [
        ("Host", "localhost"),
        ("X-Forwarded-For", "127.0.0.1"),
        ("Forwarded", "for=127.0.0.1;proto=https"),
        ("X-Forwarded-User", "anna"),
    ];
    assert_eq!(
        ask(&server, &call("wrong-token-wrong-token", &forged)).status,
        401
    );
}

#[test]
fn there_is_one_way_in_and_no_way_around_it() {
    let house = House::new();
    let server = house.serve(&[]);
    let bearer = format!("Bearer {ANNA}");
    let with = |line: &str, token: bool| {
        let mut headers = vec![("Host", "localhost"), ("Content-Length", "0")];
        if token {
            headers.push(("Authorization", bearer.as_str()));
        }
        let answer = ask(&server, &request(line, &headers, ""));
        (answer.status, answer.body.len())
    };
    for path in [
        "/",
        "//mcp",
        "/mcp//",
        "/MCP",
        "/Mcp",
        "/%6dcp",
        "/mcp%2f",
        "/mcp/..",
        "/mcp/../mcp",
        "/./mcp",
        "/x/../mcp",
        "/.well-known/../mcp",
        "/mcp;x",
        "/mcp.",
        "/mcp%00",
        "/mcp\u{7f}x",
        "/healthz/../mcp",
        "/.well-known/",
        "/.well-known/oauth-protected-resource/mcp/",
        "/metrics",
        "/sse",
        "/messages",
        "/favicon.ico",
        "/..%2fmcp",
        "/mcp%23",
        "/mcp%3f",
    ] {
        for method in ["GET", "POST", "DELETE", "PUT", "HEAD", "OPTIONS"] {
            for token in [true, false] {
                let (status, length) = with(&format!("{method} {path} HTTP/1.1"), token);
                // What is no path at all, hyper refuses by itself.
                assert!([404, 400].contains(&status), "{method} {path}: {status}");
                assert_eq!(length, 0, "{method} {path}");
            }
        }
    }
    for (line, wanted) in [
        ("POST /mcp?token=x HTTP/1.1", 401),
        ("GET /mcp HTTP/1.1", 401),
        ("DELETE /mcp HTTP/1.1", 401),
        ("PUT /mcp HTTP/1.1", 405),
        ("PATCH /mcp HTTP/1.1", 405),
        ("HEAD /mcp HTTP/1.1", 405),
        ("TRACE /mcp HTTP/1.1", 405),
        ("OPTIONS /mcp HTTP/1.1", 405),
        ("POST http://localhost/mcp HTTP/1.1", 401),
        ("POST http://evil.example/mcp HTTP/1.1", 403),
        ("POST https://evil.example/mcp HTTP/1.1", 403),
        ("CONNECT evil.example:443 HTTP/1.1", 403),
        ("CONNECT localhost HTTP/1.1", 404),
        ("OPTIONS * HTTP/1.1", 404),
        ("POST * HTTP/1.1", 404),
        ("POST mcp HTTP/1.1", 403),
        ("POST  /mcp HTTP/1.1", 400),
        ("POST /mcp HTTP/2.0", 400),
        ("POST /mcp HTTP/0.9", 400),
        ("PRI * HTTP/2.0", 400),
        ("POST /mcp", 400),
    ] {
        let (status, _) = with(line, false);
        assert_eq!(status, wanted, "{line}");
    }
    // A token in an address, in a cookie or of another kind is none.
    for (name, value) in [
        ("Cookie", format!("token={ANNA}")),
        ("Authorization", format!("Basic {ANNA}")),
        ("Authorization", ANNA.to_owned()),
        ("Authorization", format!("Bearer {ANNA}, Bearer {ANNA}")),
        ("X-Authorization", bearer.clone()),
        ("Proxy-Authorization", bearer.clone()),
    ] {
        let headers = [
            ("Host", "localhost"),
            ("Content-Length", "0"),
            (name, value.as_str()),
        ];
        let answer = ask(&server, &request("POST /mcp HTTP/1.1", &headers, ""));
        assert_eq!(answer.status, 401, "{name}");
        assert!(!answer.text().contains(ANNA));
    }
    let twice = [
        ("Host", "localhost"),
        ("Authorization", bearer.as_str()),
        ("Authorization", bearer.as_str()),
    ];
    assert_eq!(
        ask(&server, &request("POST /mcp HTTP/1.1", &twice, "")).status,
        401
    );
}

#[test]
fn beyond_this_machine_it_is_not_served_in_the_clear() {
    let house = House::new();
    let stderr = house.try_serve(&["--host", "0.0.0.0"]).unwrap_err();
    for way in ["127.0.0.1", "--tls-cert", "--behind-proxy"] {
        assert!(stderr.contains(way), "{stderr}");
    }
    let server = house.serve(&["--host", "0.0.0.0", "--behind-proxy"]);
    super::house::is(&mut server.client(ANNA), "anna");
}
