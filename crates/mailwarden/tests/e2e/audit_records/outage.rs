//! A state directory that cannot be used: said by `check`, felt by every call, over as soon as it can be used again.

use std::fs;
use std::process::{Output, Stdio};

use serde_json::{Value, json};
use testkit::{Dovecot, Fake, closed_port};

use crate::support::{Account, configure, inbox, note, usual_tools};

use super::endings::leave;
use crate::installation::Installation;

fn check(home: &Installation, port: u16) -> (Output, String) {
    let mut command = home.program();
    let account = Account {
        port,
        ..Account::default()
    };
    configure(&mut command, "DEFAULT", &account);
    let output = command.arg("check").stdin(Stdio::null()).output().unwrap();
    let shown = String::from_utf8(output.stdout.clone()).unwrap();
    (output, shown)
}

#[test]
fn check_is_recorded_and_tells_how_the_log_is() {
    let server = Dovecot::start();
    let home = Installation::new();
    for round in 1..=2 {
        let (output, shown) = check(&home, server.port());
        assert!(output.status.success(), "{shown}");
        let records = home.said();
        let events: Vec<&str> = records.iter().map(|record| record.event.as_str()).collect();
        let once = ["start", "config_loaded", "call", "call", "call", "stop"];
        assert_eq!(events, once.repeat(round));
        let here = &records[(round - 1) * once.len()..];
        assert_eq!(here[0].text("verb"), "check");
        let tools: Vec<&str> = here[2..5].iter().map(|call| call.text("tool")).collect();
        let all = [
            "imap_list_accounts",
            "imap_verify_account",
            "imap_list_mailboxes",
        ];
        assert_eq!(tools, all);
        for call in &here[2..5] {
            let address = format!("check:{}", here[0].number("pid"));
            assert_eq!(call.text("caller_addr"), address);
            assert_eq!(
                (call.text("caller_id"), call.text("result")),
                ("owner", "ok")
            );
        }
        assert_eq!(here[5].text("why"), "done");
        let log = audit::verifier(&home.audit()).unwrap().log_id();
        // What it says, it has counted with its first call.
        let held = here[2].seq + 1;
        let line = format!("audit log: ok, log {log} holds {held} records");
        assert!(shown.contains(&line), "{line} in {shown}");
    }
}

#[test]
fn check_says_that_nothing_can_be_recorded_and_tries_nothing_else() {
    let server = Fake::script(|s| s.stall());
    let home = Installation::new();
    fs::write(home.state(), "no directory").unwrap();
    let (output, shown) = check(&home, server.port());
    assert_eq!(output.status.code(), Some(1), "{shown}");
    assert!(
        shown.contains("audit log: failed, it cannot be written"),
        "{shown}"
    );
    assert!(shown.contains(home.audit().to_str().unwrap()), "{shown}");
    assert!(!shown.contains("account default"), "{shown}");
    assert_eq!(server.connections(), 0);
    assert_eq!(fs::read(home.state()).unwrap(), b"no directory");
}

#[test]
fn without_a_log_every_call_is_refused_until_there_is_one_again() {
    let server = Dovecot::start();
    server.deliver("alice", "INBOX", &note("zanzibar", "zanzibar"));
    let home = Installation::new();
    fs::write(home.state(), "no directory").unwrap();
    let mut client = home.client(server.port());
    let tools = client.request("tools/list", json!({})).unwrap();
    assert_eq!(
        tools["tools"].as_array().unwrap().len(),
        usual_tools().count()
    );
    let calls = [
        ("imap_list_accounts", json!({})),
        ("imap_verify_account", json!({})),
        ("imap_list_mailboxes", json!({})),
        (
            "imap_search_messages",
            inbox(json!({ "include_snippet": true })),
        ),
        (
            "imap_get_message",
            json!({ "message_id": "imap:default:INBOX:1:1" }),
        ),
        (
            "imap_get_message_raw",
            json!({ "message_id": "imap:default:INBOX:1:1" }),
        ),
        (
            "read_thread",
            json!({ "message_id": "zanzibar@example.com" }),
        ),
        (
            "get_email_path",
            json!({ "message_id": "zanzibar@example.com" }),
        ),
        // A refusal that cannot be recorded is withheld like an answer.
        ("imap_search_messages", inbox(json!({ "limit": 99 }))),
        ("no_such_tool", json!({})),
    ];
    for (tool, arguments) in &calls {
        let params = json!({ "name": tool, "arguments": arguments });
        let error = client.request("tools/call", params).unwrap_err();
        assert_eq!(error.code, -32603, "{error:?}");
        assert_eq!(error.data["code"], "audit_unavailable", "{error:?}");
        assert_eq!(error.data["meta"]["receipt"], Value::Null);
        assert!(error.message.contains("mailwarden check"), "{error:?}");
        let told = format!("{error:?}");
        for hidden in [
            "zanzibar",
            home.state().to_str().unwrap(),
            "whole number",
            "no_such_tool",
        ] {
            assert!(!told.contains(hidden), "{hidden} in {told}");
        }
    }
    for uri in [
        "imap://default/mailbox/INBOX/message/1/1",
        "file:///etc/passwd",
    ] {
        let error = client
            .request("resources/read", json!({ "uri": uri }))
            .unwrap_err();
        assert_eq!(
            (error.code, &error.data["code"]),
            (-32603, &json!("audit_unavailable"))
        );
    }
    fs::remove_file(home.state()).unwrap();
    let found = client.call("imap_search_messages", inbox(json!({})));
    assert_eq!(found.structured["data"]["total"], 1);
    let record = home.receipted(&found.structured["meta"]);
    let gap = home.only("interrupted", |_| true);
    assert!(gap.seq < record.seq);
    assert!(
        gap.text("why").to_lowercase().contains("directory"),
        "{}",
        gap.json
    );
    assert!(!gap.text("since").is_empty());
    let (withheld, turned_away) = (gap.number("withheld"), gap.number("turned_away"));
    let refused = u64::try_from(calls.len()).unwrap() + 2;
    assert_eq!(withheld + turned_away, refused, "{}", gap.json);
    let records = home.records();
    let marked = records
        .iter()
        .filter(|record| record.json["withheld"] == true);
    assert_eq!(u64::try_from(marked.count()).unwrap(), withheld);
    // What the process had to say at its start was not lost.
    assert_eq!(
        home.only("start", |_| true).number("pid"),
        u64::from(client.pid())
    );
    home.only("config_loaded", |_| true);
    leave(&mut client);
    home.only("stop", |_| true);
}

#[test]
fn nothing_is_asked_of_a_server_while_the_log_is_known_to_be_out_of_order() {
    let fake = Fake::script(|s| {
        s.log_in("IMAP4rev1");
        loop {
            s.command();
            s.ok();
        }
    });
    let home = Installation::new();
    fs::write(home.state(), "no directory").unwrap();
    let mut client = home.client(fake.port());
    let refuse = |client: &mut testkit::McpClient| {
        let params = json!({ "name": "imap_list_mailboxes", "arguments": {} });
        let error = client.request("tools/call", params).unwrap_err();
        assert_eq!(error.data["code"], "audit_unavailable");
    };
    refuse(&mut client);
    let asked = fake.commands().len();
    for _ in 0..3 {
        refuse(&mut client);
    }
    assert_eq!(fake.commands().len(), asked);
}

#[test]
fn a_log_that_was_moved_away_and_comes_back_goes_on_as_one_chain() {
    let closed = closed_port();
    let home = Installation::new();
    let mut client = home.client(closed.number());
    let first = client.call("imap_list_accounts", json!({}));
    let before = home.receipted(&first.structured["meta"]);
    fs::rename(home.state(), home.state().with_extension("away")).unwrap();
    fs::write(home.state(), "no directory").unwrap();
    let params = json!({ "name": "imap_list_accounts", "arguments": {} });
    let error = client.request("tools/call", params).unwrap_err();
    assert_eq!(error.data["code"], "audit_unavailable");
    fs::remove_file(home.state()).unwrap();
    fs::rename(home.state().with_extension("away"), home.state()).unwrap();
    let again = client.call("imap_list_accounts", json!({}));
    let after = home.receipted(&again.structured["meta"]);
    assert_eq!(
        first.structured["meta"]["receipt"]["log_id"],
        again.structured["meta"]["receipt"]["log_id"]
    );
    assert!(before.seq < after.seq);
    home.only("interrupted", |_| true);
    leave(&mut client);
}

#[test]
fn a_refused_configuration_ages_no_day() {
    let home = Installation::new();
    std::fs::create_dir_all(home.audit()).unwrap();
    // Days long past what is kept when nothing is said.
    let begin = "2020-01-01T00:00:00Z".parse().unwrap();
    let mut sample = audit::read::sample::Sample::begin(&home.audit(), begin).unwrap();
    sample.next_day().unwrap();
    sample.finish().unwrap();
    let mut command = home.program();
    let output = command
        .arg("stdio")
        .env("MAIL_IMAP_NONSENSE", "1")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    for day in ["2020-01-01.jsonl", "2020-01-02.jsonl"] {
        assert!(home.audit().join(day).exists(), "{day}");
    }
    home.only("config_refused", |_| true);
}

#[test]
fn check_tells_of_a_record_that_was_changed() {
    let server = Dovecot::start();
    let home = Installation::new();
    let look = || {
        let (output, said) = check(&home, server.port());
        (output.status.code(), said)
    };
    assert_eq!(look().0, Some(0));
    let day = audit::days(&home.audit()).unwrap().remove(0);
    let text = std::fs::read_to_string(&day.path).unwrap();
    std::fs::write(&day.path, text.replacen("\"check\"", "\"chess\"", 1)).unwrap();
    let (code, said) = look();
    assert_eq!(code, Some(1), "{said}");
    assert!(
        said.contains("record 1 (") && said.contains("audit verify"),
        "{said}"
    );
    // And so does the next one: nothing mends it.
    assert_eq!(look().0, Some(1));
}
