//! Traces, with the built program and a little collector that takes what comes. Built with the feature `otel` alone.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests stop at the first surprise"
)]

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};
use testkit::{Dovecot, McpClient};

/// Answers 200 to everything, and hands on what was posted to `/v1/traces`.
struct Collector {
    url: String,
    posted: Receiver<Value>,
}

impl Collector {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (found, posted) = channel();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (stream, found) = (stream.unwrap(), found.clone());
                std::thread::spawn(move || {
                    while let Some(body) = take(&stream) {
                        let _ = found.send(body);
                    }
                });
            }
        });
        Self { url, posted }
    }

    /// All spans of the next post.
    fn spans(&self) -> Vec<Value> {
        let body = self.posted.recv_timeout(Duration::from_secs(60)).unwrap();
        let mut spans = Vec::new();
        for resource in body["resourceSpans"].as_array().unwrap() {
            for scope in resource["scopeSpans"].as_array().unwrap() {
                spans.extend(scope["spans"].as_array().unwrap().iter().cloned());
            }
        }
        spans
    }
}

fn take(stream: &TcpStream) -> Option<Value> {
    let mut reader = BufReader::new(stream);
    let (mut length, mut first) = (0, String::new());
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if first.is_empty() {
            first.clone_from(&line);
        }
        let lower = line.to_lowercase();
        if let Some(told) = lower.strip_prefix("content-length:") {
            length = told.trim().parse().unwrap();
        }
        if line == "\r\n" {
            break;
        }
    }
    assert!(first.starts_with("POST /v1/traces "), "{first}");
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let mut stream = stream;
    let answer = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}";
    stream.write_all(answer.as_bytes()).ok()?;
    Some(serde_json::from_slice(&body).unwrap())
}

fn attributes(span: &Value) -> BTreeMap<String, String> {
    let all = span["attributes"].as_array().unwrap().iter();
    all.map(|one| {
        let value = one["value"].as_object().unwrap().values().next().unwrap();
        let value = value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned);
        (one["key"].as_str().unwrap().to_owned(), value)
    })
    .collect()
}

#[test]
fn every_call_is_a_span_under_the_clients_own() {
    let collector = Collector::start();
    let server = Dovecot::start();
    let state = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_mailwarden"));
    command
        .arg("stdio")
        .env("MAILWARDEN_STATE_DIR", state.path())
        .env("MAIL_IMAP_DEFAULT_HOST", "127.0.0.1")
        .env("MAIL_IMAP_DEFAULT_PORT", server.port().to_string())
        .env("MAIL_IMAP_DEFAULT_SECURE", "false")
        .env("MAIL_IMAP_DEFAULT_USER", "alice")
        .env("MAIL_IMAP_DEFAULT_PASS", "secret")
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url)
        .env("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json")
        .env("OTEL_BSP_SCHEDULE_DELAY", "100")
        .stdin(Stdio::piped());
    let mut client = McpClient::spawn(command);
    client.initialize();
    let (trace, span) = ("0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331");
    let params = json!({
        "name": "imap_search_messages",
        "arguments": { "mailbox": "INBOX", "query": "canary-query" },
        "_meta": { "traceparent": format!("00-{trace}-{span}-01") },
    });
    client.request("tools/call", params).unwrap();
    let wrong = json!({ "name": "canary-tool", "arguments": {}, "_meta": { "traceparent": "canary-parent" } });
    client.request("tools/call", wrong).unwrap_err();
    client.close_stdin();
    client.wait_exit(Duration::from_secs(20)).unwrap();
    let mut spans = Vec::new();
    while spans.len() < 2 {
        spans.extend(collector.spans());
    }
    let text = Value::from(spans.clone()).to_string();
    assert!(
        !text.contains("canary") && !text.contains("alice"),
        "{text}"
    );
    let search = spans
        .iter()
        .find(|one| one["name"] == "tools/call imap_search_messages")
        .unwrap();
    assert_eq!(
        (&search["traceId"], &search["parentSpanId"]),
        (&trace.into(), &span.into())
    );
    let told = attributes(search);
    assert_eq!(told["mcp.method.name"], "tools/call");
    assert_eq!(told["gen_ai.tool.name"], "imap_search_messages");
    assert_eq!(told["mailwarden.result"], "ok");
    assert!(!told.contains_key("error.type"));
    // What is no trace begins one of its own.
    let other = spans
        .iter()
        .find(|one| one["name"] == "tools/call other")
        .unwrap();
    assert_ne!(other["traceId"], trace);
    assert_eq!(attributes(other)["error.type"], "invalid_input");
}
