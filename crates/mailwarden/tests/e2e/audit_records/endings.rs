//! How calls and processes end, as the log tells it: cancelled, abandoned, stopped, refused at the start.

use std::process::Stdio;
use std::time::Duration;

use serde_json::json;
use testkit::{McpClient, closed_port};

use crate::support::{Account, configure, inbox, thinker};

use crate::installation::Installation;

/// Hangs up, and waits until the program is gone.
pub(crate) fn leave(client: &mut McpClient) {
    client.close_stdin();
    let ended = client.wait_exit(Duration::from_secs(10));
    assert!(ended.is_some_and(|status| status.success()), "{ended:?}");
}

#[test]
fn a_cancelled_call_is_recorded_as_one() {
    let fake = thinker();
    let home = Installation::new();
    let mut client = home.client(fake.port());
    let call = client.send_call(
        "imap_search_messages",
        inbox(json!({ "query": "zanzibar" })),
    );
    fake.await_command("SEARCH");
    client.cancel(call);
    // Each answer comes from a program that has gone on: one of them finds the call ended.
    let found = (0..2_000).any(|_| {
        client.call("imap_list_accounts", json!({}));
        home.records()
            .iter()
            .any(|record| record.json["result"] == "cancelled")
    });
    assert!(found, "{:#?}", home.records());
    let record = home.only("call", |record| {
        record.text("tool") == "imap_search_messages"
    });
    assert_eq!(record.text("result"), "cancelled");
    assert_eq!(record.text("decision"), "ALLOW");
    assert_eq!(record.json["arguments"]["folder"], "INBOX");
    assert_eq!(record.number("shown"), 0);
    leave(&mut client);
    let stop = home.only("stop", |_| true);
    assert_eq!(stop.text("why"), "the client hung up");
    assert_eq!(home.records().last(), Some(&stop));
}

#[test]
fn calls_that_are_cancelled_at_once_are_recorded_too() {
    let home = Installation::new();
    let closed = closed_port();
    let mut client = home.client(closed.number());
    for _ in 0..100 {
        let call = client.send_call("imap_list_accounts", json!({}));
        client.cancel(call);
    }
    client.call("imap_list_accounts", json!({}));
    leave(&mut client);
    let calls = home.records().into_iter();
    let calls = calls.filter(|record| record.event == "call");
    assert_eq!(calls.count(), 101);
}

#[test]
fn a_client_that_hangs_up_leaves_its_calls_in_the_log() {
    let fake = thinker();
    let home = Installation::new();
    let mut client = home.client(fake.port());
    client.send_call(
        "imap_search_messages",
        inbox(json!({ "query": "zanzibar" })),
    );
    fake.await_command("SEARCH");
    client.close_stdin();
    assert!(client.wait_exit(Duration::from_secs(2)).is_some());
    let record = home.only("call", |_| true);
    assert!(
        ["abandoned", "cancelled"].contains(&record.text("result")),
        "{}",
        record.json
    );
    assert_eq!(record.text("tool"), "imap_search_messages");
    let stop = home.only("stop", |_| true);
    assert_eq!(stop.text("why"), "the client hung up");
    assert_eq!(stop.number("pid"), u64::from(client.pid()));
    assert_eq!(
        (record.seq + 1, Some(&stop)),
        (stop.seq, home.records().last())
    );
}

#[test]
fn a_process_that_is_told_to_end_says_so_and_what_it_left_undone() {
    let fake = thinker();
    let home = Installation::new();
    let mut client = home.client(fake.port());
    client.send_call(
        "imap_search_messages",
        inbox(json!({ "query": "zanzibar" })),
    );
    fake.await_command("SEARCH");
    let told = std::process::Command::new("kill")
        .args(["-TERM", &client.pid().to_string()])
        .status()
        .unwrap();
    assert!(told.success());
    assert!(client.wait_exit(Duration::from_secs(2)).is_some());
    // Which of the two depends on who comes first: the transport that is dropped, or the log that is closed.
    let record = home.only("call", |_| true);
    let result = record.text("result");
    assert!(["abandoned", "cancelled"].contains(&result), "{result}");
    assert_eq!(home.only("stop", |_| true).text("why"), "told to end");
}

#[test]
fn a_log_that_somebody_else_holds_keeps_nobody_from_leaving() {
    let closed = closed_port();
    let home = Installation::new();
    let mut client = home.client(closed.number());
    client.call("imap_list_accounts", json!({}));
    let lock = std::fs::File::open(home.audit().join("lock")).unwrap();
    lock.lock().unwrap();
    client.close_stdin();
    assert!(client.wait_exit(Duration::from_secs(2)).is_some());
    lock.unlock().unwrap();
    // Its last word is lost, and nothing else.
    let mut next = home.client(closed.number());
    leave(&mut next);
    let stop = home.only("stop", |_| true);
    assert_eq!(stop.number("pid"), u64::from(next.pid()));
    home.only("call", |_| true);
}

#[test]
fn a_process_says_how_it_began_what_it_was_given_and_that_it_ended() {
    let closed = closed_port();
    let home = Installation::new();
    let mut command = home.program();
    for name in ["DEFAULT", "WORK"] {
        let account = Account {
            port: closed.number(),
            user: "zanzibar",
            pass: "madagascar",
            ..Account::default()
        };
        configure(&mut command, name, &account);
    }
    let mut client = crate::support::start(command);
    leave(&mut client);
    let records = home.said();
    let events: Vec<&str> = records.iter().map(|record| record.event.as_str()).collect();
    assert_eq!(events, ["start", "config_loaded", "stop"]);
    let pid = u64::from(client.pid());
    let start = &records[0];
    assert_eq!(start.text("version"), env!("CARGO_PKG_VERSION"));
    assert_eq!((start.number("pid"), start.text("verb")), (pid, "stdio"));
    assert_eq!(records[1].json["accounts"], json!(["default", "work"]));
    let stop = &records[2];
    assert_eq!(
        (stop.number("pid"), stop.text("why")),
        (pid, "the client hung up")
    );
    for (path, bytes) in home.files() {
        let text = String::from_utf8_lossy(&bytes);
        for word in ["zanzibar", "madagascar", "127.0.0.1"] {
            assert!(!text.contains(word), "{word} in {}", path.display());
        }
    }
}

#[test]
fn a_refused_configuration_is_recorded_by_the_names_of_its_variables() {
    for verb in ["stdio", "check"] {
        let home = Installation::new();
        let mut command = home.program();
        command
            .arg(verb)
            .stdin(Stdio::null())
            .env("MAIL_IMAP_DEFAULT_HOST", "zanzibar.example")
            .env("MAIL_IMAP_DEFAULT_PORT", "zanzibar")
            .env("MAIL_IMAP_DEFAULT_PASS", "zanzibar")
            .env("MAIL_MAILDIR_MILL_PATH", "zanzibar/not/whole")
            .env("MAILWARDEN_AUDIT_HOT_DAYS", "zanzibar")
            .env("MAIL_IMAP_ERRORS", "zanzibar");
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        let records = home.said();
        let events: Vec<&str> = records.iter().map(|record| record.event.as_str()).collect();
        assert_eq!(events, ["start", "config_refused", "stop"], "{verb}");
        assert_eq!(records[0].text("verb"), verb);
        let settings = records[1].json["settings"].as_array().unwrap();
        for name in [
            "MAIL_IMAP_DEFAULT_PORT",
            "MAIL_IMAP_DEFAULT_USER",
            "MAIL_MAILDIR_MILL_PATH",
            "MAILWARDEN_AUDIT_HOT_DAYS",
            "MAIL_IMAP_ERRORS",
        ] {
            let times = settings.iter().filter(|setting| **setting == name).count();
            assert_eq!(times, 1, "{name} in {settings:?}");
        }
        assert_eq!(settings.len(), 5, "{settings:?}");
        assert_eq!(records[2].text("why"), "the configuration is refused");
        for record in records {
            assert!(
                !record.json.to_string().contains("zanzibar"),
                "{}",
                record.json
            );
        }
    }
}
