//! Quick start, the two transports, the variables, and reading the configuration again.

use std::time::Duration;

use serde_json::json;
use testkit::McpHttp;

use super::{
    FOLDER, Ground, INVOICE_POLICY, Row, TOKEN, allowed, check_all, data, denied, invoice, listed,
};

const ROWS: &[Row<Ground>] = &[
    Row(
        "IMAP_MCP_CONFIG_DIR=/etc/imap-mcp IMAP_MCP_CALLER_ID=my-agent imap-mcp --transport stdio",
        |ground| {
            let mut client = ground.stdio("overview-bot", &[]);
            let me = client.call("get_caller_identity", json!({}));
            assert_eq!(data(&me, "/caller_id"), "overview-bot");
        },
    ),
    Row(
        "IMAP_MCP_CONFIG_DIR | yes | Path to the configuration directory",
        |ground| {
            let mut command = ground.command("imap-mcp");
            command
                .args(["--transport", "stdio"])
                .env_remove("IMAP_MCP_CONFIG_DIR");
            command.env("IMAP_MCP_CALLER_ID", "overview-bot");
            let output = command.output().unwrap();
            assert_eq!(output.status.code(), Some(2));
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(said.contains("IMAP_MCP_CONFIG_DIR"), "{said}");
        },
    ),
    Row(
        "Caller ID set via IMAP_MCP_CALLER_ID env var by the orchestrator",
        |ground| {
            let mut command = ground.command("imap-mcp");
            command
                .args(["--transport", "stdio"])
                .env("IMAP_MCP_CALLER_ID", "stranger");
            let output = command.output().unwrap();
            assert_eq!(output.status.code(), Some(2));
        },
    ),
    Row(
        "shared_token | stdio + HTTP | Bearer token verified",
        |ground| {
            let mut client = ground.invoice_agent();
            let me = client.call("get_caller_identity", json!({}));
            assert_eq!(data(&me, "/caller_id"), "invoice-agent");
            drop(client);
            for token in [None, Some("another-token-another-token")] {
                let mut command = ground.command("imap-mcp");
                command
                    .args(["--transport", "stdio"])
                    .env("IMAP_MCP_CALLER_ID", "invoice-agent");
                command.envs(token.map(|token| ("IMAP_MCP_CALLER_TOKEN", token)));
                assert_eq!(
                    command.output().unwrap().status.code(),
                    Some(2),
                    "{token:?}"
                );
            }
        },
    ),
    Row(
        "Caller identity is immutable for the session duration. No impersonation primitive exists.",
        |ground| {
            let mut client = ground.stdio("overview-bot", &[]);
            for argument in ["caller_id", "impersonate"] {
                let call = json!({ "name": "describe_policy", "arguments": { argument: "invoice-agent" } });
                let refused = client.request("tools/call", call).unwrap_err();
                assert_eq!(refused.code, -32602, "{refused:?}");
            }
            let tools = listed(&mut client);
            assert!(
                !tools.iter().any(|tool| tool.contains("impersonate")),
                "{tools:?}"
            );
        },
    ),
    Row(
        "IMAP_MCP_APPEND_TIMEOUT | no | Timeout in seconds for IMAP APPEND",
        |ground| {
            let mut client = ground.stdio("overview-bot", &[("IMAP_MCP_APPEND_TIMEOUT", "30")]);
            let draft = json!({ "account_id": "company-mail", "folder": "Drafts", "body": "x" });
            allowed(&client.call("create_draft", draft));
            let mut command = ground.command("imap-mcp");
            command
                .args(["--transport", "stdio"])
                .env("IMAP_MCP_CALLER_ID", "overview-bot");
            command.env("IMAP_MCP_APPEND_TIMEOUT", "soon");
            assert_eq!(command.output().unwrap().status.code(), Some(2));
        },
    ),
    Row(
        "Send SIGHUP to the running server process: the server re-parses the entire config directory and swaps the in-memory state",
        |ground| {
            let mut client = ground.invoice_agent();
            allowed(&client.call("fetch_envelope", invoice(1)));
            let narrower = INVOICE_POLICY.replacen("grant: FULL", "grant: METADATA", 1);
            ground.dir.write("policies/invoice-agent.yaml", &narrower);
            hang_up(client.pid());
            client.await_stderr("was read again and is in force");
            let refused = client.call("fetch_envelope", invoice(1));
            assert_eq!(denied(&refused), "visibility_below_ENVELOPE");
        },
    ),
    Row(
        "Parse or validation errors preserve the previous policy and write an audit record with the error",
        |ground| {
            let mut client = ground.invoice_agent();
            ground.dir.write(
                "policies/invoice-agent.yaml",
                "name: invoice-policy\nnonsense: 1\n",
            );
            hang_up(client.pid());
            client.await_stderr("was read again and is refused");
            assert_eq!(
                denied(&client.call("fetch_envelope", invoice(1))),
                "visibility_below_ENVELOPE"
            );
            let records = ground.records();
            let refused = records.iter().find(|one| one["event"] == "config_refused");
            assert!(refused.is_some(), "{records:?}");
            ground
                .dir
                .write("policies/invoice-agent.yaml", INVOICE_POLICY);
        },
    ),
    Row(
        "stdio_trusted: Forbidden on HTTP transport (startup error).",
        |ground| {
            let said = ground.http(&["--host", "127.0.0.1"], &[]).err().unwrap();
            assert!(
                said.contains("overview-bot") && said.contains("stdio_trusted"),
                "{said}"
            );
            ground.without_trusted_callers();
        },
    ),
    // The port of the example is another program's on many machines: a free one is taken instead.
    Row(
        "imap-mcp --transport http --host 127.0.0.1 --port 8080",
        |ground| {
            let server = ground
                .http(&["--host", "127.0.0.1", "--port", "0"], &[])
                .unwrap();
            assert!(server.address().ip().is_loopback());
            let mut client = server.client(TOKEN);
            allowed(&client.call("fetch_envelope", invoice(1)));
        },
    ),
    Row(
        "IMAP_MCP_HTTP_HOST | no | Bind address for HTTP (default: 127.0.0.1)",
        |ground| {
            let server = ground.http(&[], &[]).unwrap();
            assert_eq!(server.address().ip().to_string(), "127.0.0.1");
            let server = ground.http(&[], &[("IMAP_MCP_HTTP_HOST", "::1")]);
            let ip = server.map(|server| server.address().ip().to_string());
            // Machines without IPv6 say that they have none, and do not fall back.
            assert!(
                ip.as_deref()
                    .map_or_else(|said| said.contains("::1"), |ip| ip == "::1"),
                "{ip:?}"
            );
        },
    ),
    Row(
        "IMAP_MCP_HTTP_PORT | no | Port for HTTP (default: 0 = ephemeral)",
        |ground| {
            let first = ground.http(&[], &[]).unwrap();
            let second = ground.http(&[], &[]).unwrap();
            assert_ne!(first.address().port(), second.address().port());
            let port = second.address().port();
            drop(second);
            let chosen = ground
                .http(&[], &[("IMAP_MCP_HTTP_PORT", &port.to_string())])
                .unwrap();
            assert_eq!(chosen.address().port(), port);
        },
    ),
    Row("On HTTP: Authorization: Bearer <token> header.", |ground| {
        let server = ground.http(&[], &[]).unwrap();
        for (token, status) in [
            (None, 401),
            (Some("another-token-another-token"), 401),
            (Some(TOKEN), 200),
        ] {
            let mut client = McpHttp::new(server.address(), token).modern();
            let reply = client.try_call("get_caller_identity", json!({})).unwrap();
            assert_eq!(reply.status, status, "{token:?}");
        }
    }),
    Row(
        "The server is runnable on stdio and HTTP/SSE transports (clients of it send /mcp/ too)",
        |ground| {
            let server = ground.http(&[], &[]).unwrap();
            for (path, status) in [
                ("/mcp", 200),
                ("/mcp/", 200),
                ("/mcp//", 404),
                ("/admin", 404),
            ] {
                assert_eq!(post(&server, path), status, "{path}");
            }
        },
    ),
];

fn hang_up(pid: u32) {
    let status = std::process::Command::new("kill")
        .args(["-HUP", &pid.to_string()])
        .status();
    assert!(status.unwrap().success());
}

fn post(server: &testkit::HttpServer, path: &str) -> u16 {
    let body = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": "get_caller_identity", "arguments": {} },
    });
    let body = body.to_string();
    let request = format!(
        "POST {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {TOKEN}\r\n\
         Accept: application/json, text/event-stream\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{body}",
        server.address(),
        body.len()
    );
    let mut wire = testkit::Wire::connect(server.address()).unwrap();
    wire.send(request.as_bytes()).unwrap();
    wire.response().unwrap().status
}

#[test]
fn commands_and_variables_hold_to_the_word() {
    let mut ground = Ground::new();
    assert!(FOLDER.starts_with("INBOX"));
    check_all(ROWS, &mut ground);
}

/// `kill -HUP $(pidof imap-mcp)` reaches the process by the name it was started under.
#[cfg(target_os = "linux")]
#[test]
fn the_process_is_called_imap_mcp() {
    let ground = Ground::new();
    let mut client = ground.stdio("overview-bot", &[]);
    let name = std::fs::read_to_string(format!("/proc/{}/comm", client.pid())).unwrap();
    assert_eq!(name.trim(), "imap-mcp");
    client.close_stdin();
    assert!(client.wait_exit(Duration::from_secs(20)).is_some());
}
