//! A directory with callers that bring tokens, a mailbox, and the program in front of both.

use serde_json::{Value, json};
use testkit::{Dovecot, HttpServer, McpHttp, Wire};

use crate::directory::{Directory, accounts, mailbox};

pub(super) const ANNA: &str = "anna-token-anna-token-anna";
pub(super) const BERT: &str = "bert-token-bert-token-bert";

/// Anna sees the inbox, Bert what is in Invoices.
pub(super) const CALLERS: &str = "\
callers:
  - id: anna
    policy: some
    toolsets: [imap, gateway]
    auth: { type: shared_token, token_secret_ref: secret://anna }
  - id: bert
    policy: invoices
    toolsets: [imap, gateway]
    auth: { type: shared_token, token_secret_ref: secret://bert }
";
const INBOX: &str =
    "  work:\n    - { path: INBOX, mode: blacklist, default: FULL, mark_seen: true }\n";
const INVOICES: &str = "name: invoices\naccounts:\n  work:\n    - { path: Invoices, mode: blacklist, default: FULL }\n";

pub(super) struct House {
    _mail: Dovecot,
    pub(super) directory: Directory,
}

impl House {
    pub(super) fn new() -> Self {
        let server = mailbox();
        let port = server.port();
        Self::with(server, port)
    }

    /// Whose accounts are reached by this port.
    pub(super) fn with(server: Dovecot, port: u16) -> Self {
        let directory = Directory::new(port, port);
        let accounts = accounts(&[("work", port)]);
        directory.write(
            "accounts.yaml",
            &format!("{accounts}wal: {{ path: wal.db }}\n"),
        );
        directory.write("callers.yaml", CALLERS);
        directory.secret("secrets/anna", ANNA);
        directory.secret("secrets/bert", BERT);
        directory.policy(INBOX);
        directory.write("policies/invoices.yaml", INVOICES);
        Self {
            _mail: server,
            directory,
        }
    }

    pub(super) fn serve(&self, words: &[&str]) -> HttpServer {
        self.try_serve(words)
            .unwrap_or_else(|stderr| panic!("it does not serve: {stderr}"))
    }

    /// The error is what it says instead.
    pub(super) fn try_serve(&self, words: &[&str]) -> Result<HttpServer, String> {
        let mut command = self.directory.program();
        command
            .env("MAIL_IMAP_WRITE_ENABLED", "true")
            .args(["http", "--port", "0"])
            .args(words);
        HttpServer::try_spawn(command).map_err(|(status, stderr)| {
            assert_eq!(status.code(), Some(2), "{stderr}");
            stderr
        })
    }

    /// Has the program read its configuration again, and waits until it is in force.
    pub(super) fn reload(&self, server: &HttpServer) {
        let printed = self.directory.run(&["config", "reload"]);
        let line = format!("process {} (http): reloaded to version", server.pid());
        assert!(
            printed.stdout.contains(&line),
            "{}{}",
            printed.stdout,
            printed.stderr
        );
    }
}

/// The first message of the inbox.
pub(super) fn first() -> Value {
    json!({ "account_id": "work", "folder": "INBOX", "uid": 1 })
}

/// That the client is served, as the caller that it should be.
pub(super) fn is(client: &mut McpHttp, caller: &str) {
    let identity = client.call("get_caller_identity", json!({}));
    assert_eq!(identity.structured["data"]["caller_id"], caller);
}

/// The status that one call gets.
pub(super) fn status(client: &mut McpHttp) -> u16 {
    client
        .try_call("get_caller_identity", json!({}))
        .unwrap()
        .status
}

/// One connection, on which everything is written by hand.
pub(super) fn raw(server: &HttpServer) -> Wire {
    Wire::connect(server.address()).unwrap()
}

/// A whole request: the line, the headers and a body.
pub(super) fn request(line: &str, headers: &[(&str, &str)], body: &str) -> String {
    let mut text = format!("{line}\r\n");
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    format!("{text}\r\n{body}")
}

/// A good call in the older era, as bytes, with these headers besides those that it needs.
pub(super) fn call(token: &str, more: &[(&str, &str)]) -> String {
    let body = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": "get_caller_identity", "arguments": {} },
    });
    let body = body.to_string();
    let length = body.len().to_string();
    let authorization = format!("Bearer {token}");
    let mut headers = vec![
        ("Accept", "application/json, text/event-stream"),
        ("Content-Type", "application/json"),
        ("Content-Length", length.as_str()),
        ("Authorization", authorization.as_str()),
    ];
    headers.extend_from_slice(more);
    request("POST /mcp HTTP/1.1", &headers, &body)
}
