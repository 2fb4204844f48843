//! What clients of both eras get: JSON where that is enough, events where something is said on the way.

use serde_json::{Value, json};
use testkit::mcp_http::Carried;
use testkit::{FaultProxy, HttpServer, McpHttp, Wire};

use super::house::{ANNA, BERT, House, first, is};
use crate::directory::mailbox;
use crate::support::Look;

/// What the page tells people to try is answered, as curl sends it with `--json`.
#[test]
fn the_example_for_curl_works_as_it_is_written() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/http.md");
    let page = std::fs::read_to_string(page).unwrap();
    let mut lines = page.lines();
    let line = lines.find(|line| line.starts_with("curl ")).unwrap();
    let (before, body) = line.split_once(" --json '").unwrap();
    let body = body.strip_suffix('\'').unwrap();
    let mut words = before.split(' ');
    let path = words.nth(1).unwrap().splitn(4, '/').nth(3).unwrap();
    let header = before.split('"').nth(1).unwrap();
    let (name, value) = header.split_once(": ").unwrap();
    let value = value.replace("$MAILWARDEN_TOKEN", ANNA);
    let house = House::new();
    let server = house.serve(&[]);
    let headers = [
        (name, value.as_str()),
        ("Content-Type", "application/json"),
        ("Accept", "application/json"),
    ];
    let url = format!("http://{}/{path}", server.address());
    let answer = testkit::http::Http::plain()
        .send("POST", &url, &headers, body.as_bytes())
        .unwrap();
    assert_eq!(answer.status, 200, "{}", answer.text());
    let tools = &answer.json()["result"]["tools"];
    assert!(tools.as_array().is_some_and(|tools| tools.len() > 5));
}

#[test]
fn both_eras_read_mail_over_one_connection_each() {
    let house = House::new();
    let server = house.serve(&[]);
    let mut older = server.client(ANNA);
    let hello = older.initialize();
    assert_eq!(hello["serverInfo"]["name"], "mailwarden");
    assert_eq!(older.session(), None);
    let mut newer = server.client(ANNA).modern();
    let found = newer.request("server/discover", json!({})).unwrap();
    assert_eq!(found["cacheScope"], "private");
    for client in [&mut older, &mut newer] {
        for _ in 0..3 {
            let reply = client.try_call("fetch_envelope", first()).unwrap();
            assert_eq!((reply.status, reply.carried()), (200, Carried::Json));
            assert_eq!(reply.outcome().text("/envelope/subject"), "Invoice 7");
            assert!(client.is_connected());
        }
        let tools = client.request("tools/list", json!({})).unwrap();
        assert!(tools["tools"].as_array().unwrap().len() > 5);
    }
    // Whoever brings another token is somebody else, over the same connection too.
    newer.set_token(Some(BERT));
    let denied = newer.call("fetch_envelope", first());
    assert_eq!(denied.data("/reason"), "folder_hidden");
    is(&mut newer, "bert");
    let record = house.directory.home.only("call", |one| {
        one.json["caller_id"] == "bert" && one.json["decision"] == "DENY"
    });
    assert!(record.text("caller_addr").starts_with("http:127.0.0.1:"));
}

#[test]
fn progress_comes_as_events_to_whoever_asked_and_json_to_all_others() {
    let mail = mailbox();
    let proxy = FaultProxy::to(mail.port());
    let house = House::with(mail, proxy.port());
    let server = house.serve(&[]);
    let modern = |server: &HttpServer| server.client(ANNA).modern();
    let older = |server: &HttpServer| {
        let mut client = server.client(ANNA);
        client.initialize();
        client
    };
    for client in [modern(&server), older(&server)] {
        slow(client, &proxy);
    }
}

fn slow(mut client: McpHttp, proxy: &FaultProxy) {
    let params = |meta: Value| json!({ "name": "fetch_body", "arguments": first(), "_meta": meta });
    proxy.stall();
    client
        .begin("tools/call", params(json!({ "progressToken": "t" })))
        .unwrap();
    let mut wire: Wire = client.take_wire();
    let head = wire.head().unwrap();
    assert_eq!(head.header("content-type"), Some("text/event-stream"));
    let said: Value = serde_json::from_str(&wire.event().unwrap().unwrap()).unwrap();
    assert_eq!(said["method"], "notifications/progress", "{said}");
    assert_eq!(said["params"]["progressToken"], "t");
    proxy.resume();
    let answer = loop {
        let said: Value = serde_json::from_str(&wire.event().unwrap().unwrap()).unwrap();
        if said.get("method").is_none() {
            break said;
        }
    };
    assert_eq!(answer["result"]["isError"], false, "{answer}");
    assert_eq!(wire.event().unwrap(), None, "the answer is the last");
    // Nobody asked: the answer comes as JSON, however long it takes.
    proxy.stall();
    client.begin("tools/call", params(json!({}))).unwrap();
    proxy.resume();
    let reply = client.finish().unwrap();
    assert_eq!(reply.carried(), Carried::Json);
    assert!(!reply.outcome().is_error);
}

#[test]
fn a_client_may_name_the_answers_it_likes_and_say_things_that_need_none() {
    let house = House::new();
    let server = house.serve(&[]);
    let body = json!({ "jsonrpc": "2.0", "id": 7, "method": "ping" }).to_string();
    for (accept, kind) in [
        ("text/event-stream, application/json", "text/event-stream"),
        ("text/event-stream", "text/event-stream"),
        ("application/json", "application/json"),
        ("*/*", "application/json"),
    ] {
        let mut wire = super::house::raw(&server);
        let length = body.len().to_string();
        let authorization = format!("Bearer {ANNA}");
        let headers = [
            ("Host", "localhost"),
            ("Accept", accept),
            ("Content-Type", "application/json"),
            ("Content-Length", length.as_str()),
            ("Authorization", authorization.as_str()),
        ];
        wire.send(super::house::request("POST /mcp HTTP/1.1", &headers, &body))
            .unwrap();
        let answer = wire.response().unwrap();
        assert_eq!(answer.status, 200, "{accept}: {}", answer.text());
        assert_eq!(answer.header("content-type"), Some(kind), "{accept}");
        assert!(answer.text().contains(r#""id":7"#), "{}", answer.text());
    }
    // There is no stream to wait on, and no session to end, where there are no sessions.
    for method in ["GET", "DELETE"] {
        assert_eq!(
            server.client(ANNA).bare(method).unwrap().status,
            405,
            "{method}"
        );
    }
}

#[test]
fn a_listener_hears_of_tools_and_no_more_when_it_is_no_caller_any_more() {
    let house = House::new();
    let server = house.serve(&[]);
    let mut client = server.client(ANNA).modern();
    let wanted = json!({ "notifications": { "toolsListChanged": true } });
    client.begin("subscriptions/listen", wanted).unwrap();
    let mut wire = client.take_wire();
    assert_eq!(wire.head().unwrap().status, 200);
    let mut heard =
        || -> Option<Value> { Some(serde_json::from_str(&wire.event().unwrap()?).unwrap()) };
    let said = heard().unwrap();
    assert_eq!(
        said["method"], "notifications/subscriptions/acknowledged",
        "{said}"
    );
    house.reload(&server);
    assert_eq!(
        heard().unwrap()["method"],
        "notifications/tools/list_changed"
    );
    let without = super::house::CALLERS
        .split("  - id: bert")
        .collect::<Vec<_>>();
    let bert = format!("callers:\n  - id: bert{}", without[1]);
    house.directory.write("callers.yaml", &bert);
    house.reload(&server);
    while heard().is_some() {}
}

/// Calls as most are take a short way past the protocol library. Nobody can tell by the answer.
#[test]
fn the_short_way_and_the_long_one_answer_alike() {
    let house = House::new();
    let server = house.serve(&[]);
    let mut client = server.client(ANNA).modern();
    let missing = json!({ "account_id": "work", "folder": "INBOX", "uid": 999 });
    let hidden = json!({ "account_id": "work", "folder": "Invoices", "uid": 1 });
    let nonsense = json!({ "account_id": "work", "folder": 7 });
    let inbox = json!({ "account_id": "work", "folder": "INBOX" });
    for (tool, arguments) in [
        ("get_caller_identity", json!({})),
        ("describe_policy", json!({})),
        ("list_folders", json!({ "account_id": "work" })),
        ("list_folders", json!({ "account_id": "nobody's" })),
        ("search", inbox),
        ("fetch_envelope", first()),
        ("fetch_envelope", missing),
        ("fetch_body", first()),
        ("fetch_headers", hidden),
        ("fetch_body", nonsense),
        ("imap_get_message", json!({ "message_id": "imap:x" })),
    ] {
        // What the short way does not know goes the long one.
        let [short, long] = [json!({}), json!({ "example.com/more": 1 })].map(|meta| {
            let params = json!({ "name": tool, "arguments": arguments, "_meta": meta });
            client.begin("tools/call", params).unwrap();
            let reply = client.finish().unwrap();
            (
                reply.status,
                reply.carried(),
                lasting(reply.response.json()),
            )
        });
        assert_eq!(short, long, "{tool} {arguments}");
    }
    // A call is posted, whatever its head says.
    let body = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": "get_caller_identity", "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        } },
    });
    let body = body.to_string();
    let length = body.len().to_string();
    let authorization = format!("Bearer {ANNA}");
    for (method, status) in [("POST", 200), ("GET", 405), ("DELETE", 405)] {
        let headers = [
            ("Host", "localhost"),
            ("Accept", "application/json"),
            ("Content-Type", "application/json"),
            ("MCP-Protocol-Version", "2026-07-28"),
            ("Mcp-Method", "tools/call"),
            ("Mcp-Name", "get_caller_identity"),
            ("Content-Length", length.as_str()),
            ("Authorization", authorization.as_str()),
        ];
        let mut wire = super::house::raw(&server);
        let line = format!("{method} /mcp HTTP/1.1");
        wire.send(super::house::request(&line, &headers, &body))
            .unwrap();
        assert_eq!(wire.response().unwrap().status, status, "{method}");
    }
    let records = house.directory.home.records();
    let calls = records.iter().filter(|one| one.event == "call");
    assert_eq!(calls.count(), 23, "each is recorded, by either way");
}

/// An answer without what is another each time.
fn lasting(mut message: Value) -> Value {
    message["id"].take();
    for meta in ["/result/structuredContent/meta", "/error/data/meta"] {
        if let Some(meta) = message.pointer_mut(meta) {
            for field in ["request_id", "now_utc", "duration_ms", "receipt"] {
                let said = meta.get_mut(field);
                assert!(said.is_some_and(|said| !said.take().is_null()), "{field}");
            }
        }
    }
    // The number around what strangers wrote.
    if let Some(Value::String(text)) = message.pointer_mut("/result/content/0/text") {
        let words = text.split(|mark: char| !mark.is_ascii_alphanumeric());
        let fences: Vec<String> = words
            .filter(|word| is_fence(word))
            .map(str::to_owned)
            .collect();
        for fence in fences {
            *text = text.replace(&fence, "#");
        }
    }
    message
}

fn is_fence(word: &str) -> bool {
    word.len() >= 12 && word.bytes().all(|byte| byte.is_ascii_hexdigit())
}
