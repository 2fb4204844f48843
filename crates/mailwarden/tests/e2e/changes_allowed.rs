//! Who may change mail at all: the gate, `--read-only`, and a ledger without which nothing is changed.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use testkit::{Dovecot, FaultProxy, McpClient};

use crate::directory::{Directory, accounts};
use crate::installation::Installation;
use crate::support::{Account, configure, start};

const CHANGING: [&str; 4] = [
    "imap_update_message_flags",
    "imap_copy_message",
    "imap_move_message",
    "imap_delete_message",
];

/// For one account that nobody connects to.
fn owner(home: &Installation, set: &[(&str, &str)], arguments: &[&str]) -> Command {
    let mut command = home.program();
    let account = Account {
        port: 1,
        ..Account::default()
    };
    configure(&mut command, "DEFAULT", &account);
    command.envs(set.iter().copied()).args(arguments);
    command
}

fn tools(client: &mut McpClient) -> Vec<String> {
    let listed = client.request("tools/list", json!({})).unwrap();
    let tools = listed["tools"].as_array().unwrap().iter();
    let mut names: Vec<String> = tools
        .map(|tool| tool["name"].as_str().unwrap().to_owned())
        .collect();
    names.sort_unstable();
    names
}

fn changing(tools: &[String]) -> usize {
    let changing = |name: &&str| tools.iter().any(|tool| tool == name);
    CHANGING.iter().filter(|name| changing(name)).count()
}

#[test]
fn tools_that_change_mail_are_there_when_somebody_said_so() {
    for (set, arguments, there) in [
        (vec![], vec![], false),
        (vec![("MAIL_IMAP_WRITE_ENABLED", "false")], vec![], false),
        (vec![("MAIL_IMAP_WRITE_ENABLED", "true")], vec![], true),
        (
            vec![("MAIL_IMAP_WRITE_ENABLED", "true")],
            vec!["--read-only"],
            false,
        ),
    ] {
        let home = Installation::new();
        let mut client = start(owner(&home, &set, &arguments));
        let tools = tools(&mut client);
        let want = if there { CHANGING.len() } else { 0 };
        assert_eq!(changing(&tools), want, "{set:?} {arguments:?}: {tools:?}");
        // Where nothing can be changed, there is nothing to write down either.
        assert_eq!(home.state().join("ledger.db").exists(), there, "{set:?}");
    }
}

#[test]
fn who_calls_what_is_not_there_is_told_why_or_nothing() {
    for (set, arguments, wanted) in [
        (vec![], vec![], "MAIL_IMAP_WRITE_ENABLED=true"),
        (
            vec![("MAIL_IMAP_WRITE_ENABLED", "true")],
            vec!["--read-only"],
            "imap_delete_message",
        ),
    ] {
        let home = Installation::new();
        let mut client = start(owner(&home, &set, &arguments));
        let message = json!({ "message_id": "imap:default:INBOX:1:1", "confirm": true });
        let call = json!({ "name": "imap_delete_message", "arguments": message });
        let said = match client.request("tools/call", call) {
            Ok(result) => result.to_string(),
            Err(error) => format!("{error:?}"),
        };
        assert!(said.contains(wanted), "{arguments:?}: {said}");
        let record = home.only("call", |record| {
            record.json["tool"] == "imap_delete_message"
        });
        assert_eq!(record.text("decision"), "DENY");
    }
}

const CAPABLE: &str = "  work:
    - { path: INBOX, mode: blacklist, default: FULL, mark_seen: true, mark_tagged: true, move_out: true, accept_incoming: true }
";

fn directory(wal: &str) -> (Dovecot, Directory) {
    let server = Dovecot::start();
    let directory = Directory::new(server.port(), server.port());
    let text = accounts(&[("work", server.port())]) + wal;
    directory.write("accounts.yaml", &text);
    directory.policy(CAPABLE);
    (server, directory)
}

#[test]
fn policies_decide_in_a_directory_unless_the_gate_is_closed() {
    let (_server, directory) = directory("wal: { path: state/wal.db }\n");
    let ledger = directory.path().join("state/wal.db");
    for (set, arguments, there) in [
        (Some("false"), vec![], false),
        (None, vec!["--read-only"], false),
        (None, vec![], true),
    ] {
        let mut command = directory.program();
        command.env("IMAP_MCP_CALLER_ID", "agent").args(&arguments);
        command.envs(set.map(|value| ("MAIL_IMAP_WRITE_ENABLED", value)));
        let mut client = start(command);
        let tools = tools(&mut client);
        let has = tools.iter().any(|tool| tool == "mark_seen");
        assert_eq!(has, there, "{set:?} {arguments:?}: {tools:?}");
        assert_eq!(ledger.exists(), there, "{set:?} {arguments:?}");
    }
}

#[test]
fn what_became_of_a_change_is_told_also_while_nothing_may_be_changed() {
    let (server, directory) = directory("wal: { path: state/wal.db }\n");
    server.deliver("alice", "INBOX", b"Subject: one\r\n\r\nbody\r\n");
    let closed = |gate: Option<&str>, arguments: &[&str]| {
        let mut command = directory.program();
        command.env("IMAP_MCP_CALLER_ID", "agent").args(arguments);
        command.envs(gate.map(|value| ("MAIL_IMAP_WRITE_ENABLED", value)));
        start(command)
    };
    const STATUS: &str = "get_transaction_status";
    let ask = |client: &mut McpClient, key: &str| {
        let call = json!({ "name": STATUS, "arguments": { "idempotency_key": key } });
        match client.request("tools/call", call) {
            Ok(result) => result["structuredContent"]["data"].clone(),
            Err(error) => json!(error.data["code"]),
        }
    };
    let ways = [(Some("false"), &[][..]), (None, &["--read-only"][..])];
    for (gate, arguments) in ways {
        let mut client = closed(gate, arguments);
        assert_eq!(
            ask(&mut client, "k"),
            "not_found",
            "nothing was ever changed"
        );
    }
    let uidvalidity = crate::support::uidvalidity(&server, "INBOX");
    let mark = json!({
        "account_id": "work", "folder": "INBOX", "uid": 1, "uidvalidity": uidvalidity, "seen": true,
        "idempotency_key": "k",
    });
    let made = directory.client("agent").call("mark_seen", mark);
    let id = &made.structured["data"]["transaction_id"];
    for (gate, arguments) in ways {
        let mut client = closed(gate, arguments);
        assert!(tools(&mut client).iter().any(|tool| tool == STATUS));
        let told = ask(&mut client, "k");
        assert_eq!(&told["transaction_id"], id, "{told}");
        assert_eq!(told["change"]["add_flags"], json!(["\\Seen"]), "{told}");
        let undo = told["undo"].as_str().unwrap();
        assert!(undo.contains("mailwarden tx undo tx_"), "{undo}");
        assert_eq!(ask(&mut client, "other"), "not_found");
    }
}

#[test]
fn without_a_ledger_nothing_is_changed() {
    let (server, directory) = directory("");
    server.deliver("alice", "INBOX", b"Subject: one\r\n\r\nbody\r\n");
    let mut client = directory.client("agent");
    let uidvalidity = crate::support::uidvalidity(&server, "INBOX");
    let arguments = json!({
        "account_id": "work", "folder": "INBOX", "uid": 1, "uidvalidity": uidvalidity, "seen": true,
    });
    let call = json!({ "name": "mark_seen", "arguments": arguments });
    let said = match client.request("tools/call", call) {
        Ok(result) => result.to_string(),
        Err(error) => format!("{error:?}"),
    };
    assert!(said.contains("transactions_not_configured"), "{said}");
}

fn checked(mut command: Command) -> (i32, String) {
    let output = command.stdin(Stdio::null()).output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    (
        output.status.code().unwrap(),
        String::from_utf8(said).unwrap(),
    )
}

#[test]
fn check_tells_whether_changes_can_be_written_down() {
    let server = Dovecot::start();
    let home = Installation::new();
    let ledger = home.state().join("ledger.db");
    let run = |set: &[(&str, &str)], arguments: &[&str]| {
        let mut command = home.program();
        let account = Account {
            port: server.port(),
            ..Account::default()
        };
        configure(&mut command, "DEFAULT", &account);
        command
            .envs(set.iter().copied())
            .arg("check")
            .args(arguments);
        checked(command)
    };
    let open = [("MAIL_IMAP_WRITE_ENABLED", "true")];
    for (set, arguments, wanted) in [
        (
            &[][..],
            &[][..],
            "changes to mail: off; MAIL_IMAP_WRITE_ENABLED=true allows them",
        ),
        (
            &open,
            &["--read-only"],
            "changes to mail: off, by --read-only",
        ),
        (&open, &[], "changes to mail: ok, written down in "),
    ] {
        let (code, said) = run(set, arguments);
        assert_eq!(code, 0, "{said}");
        assert!(said.contains(wanted), "{said}");
    }
    assert!(ledger.exists());

    std::fs::write(&ledger, "dear diary").unwrap();
    let (code, said) = run(&open, &[]);
    assert_eq!(code, 1, "{said}");
    assert!(
        said.contains("changes to mail: failed, they are refused"),
        "{said}"
    );
    assert_eq!(std::fs::read(&ledger).unwrap(), b"dear diary");
    // Reading goes on without it, and whoever runs it is told.
    let account = Account {
        port: server.port(),
        ..Account::default()
    };
    let mut client = home.client_with(&account, &open);
    client.await_stderr("changes to mail are refused");
    let answer = client.call("imap_list_mailboxes", json!({}));
    assert_eq!(answer.structured["success"], Value::Bool(true));
}

#[test]
fn check_tells_what_the_server_has_for_changes() {
    let server = Dovecot::start();
    for (hide, wanted) in [
        (&[][..], "ok for changes: MOVE, UIDPLUS\n"),
        (
            &["UIDPLUS"],
            "warning for changes: MOVE, without UIDPLUS: what is to go is only flagged \\Deleted and a move cannot be undone\n",
        ),
        (
            &["MOVE"],
            "warning for changes: without MOVE: a move is a copy and a removal, UIDPLUS\n",
        ),
    ] {
        let proxy = FaultProxy::to(server.port());
        proxy.rewrite_replies(move |line| {
            let hidden = hide.iter().fold(line.to_owned(), |line, name: &&str| {
                line.replace(&format!(" {name}"), "")
            });
            Some(hidden)
        });
        let home = Installation::new();
        let mut command = home.program();
        let account = Account {
            port: proxy.port(),
            ..Account::default()
        };
        configure(&mut command, "DEFAULT", &account);
        command.arg("check");
        let (code, said) = checked(command);
        assert_eq!(code, 0, "{said}");
        assert!(said.contains(wanted), "{hide:?}: {said}");
    }
}

#[test]
fn config_check_tells_where_changes_go_and_makes_nothing() {
    let path = |directory: &Directory| directory.path().join("state/wal.db");
    let said = |directory: &Directory| {
        let printed = directory.run(&["config", "check"]);
        assert_eq!(printed.code, 0, "{}", printed.stderr);
        printed.stdout
    };
    let (_server, nowhere) = directory("");
    let line = "changes to mail: refused, there is neither `wal` nor `ledger`\n";
    assert!(said(&nowhere).contains(line), "{}", said(&nowhere));

    let (_server, directory) = directory("wal: { path: state/wal.db }\n");
    let line = "changes to mail: written down in DIR/state/wal.db, which is made then\n";
    assert!(said(&directory).contains(line), "{}", said(&directory));
    assert!(!path(&directory).exists());
    drop(ledger::Ledger::open(&path(&directory)).unwrap());
    let line = "changes to mail: written down in DIR/state/wal.db\n";
    assert!(said(&directory).contains(line), "{}", said(&directory));
    break_it(&path(&directory));
    let line = "changes to mail: refused, the ledger is not one that this program can use";
    assert!(said(&directory).contains(line), "{}", said(&directory));
}

fn break_it(path: &Path) {
    std::fs::write(path, "dear diary").unwrap();
}

#[test]
fn another_ledger_takes_a_restart() {
    let (server, directory) = directory("wal: { path: state/wal.db }\n");
    let mut client = directory.client("agent");
    let text = accounts(&[("work", server.port())]) + "wal: { path: state/other.db }\n";
    directory.write("accounts.yaml", &text);
    let printed = directory.run(&["config", "reload"]);
    assert!(printed.stdout.contains("wal.path"), "{}", printed.stdout);
    client.await_stderr("wal.path: changed, and in force only after a restart");
    assert!(tools(&mut client).iter().any(|tool| tool == "mark_seen"));
    assert!(!directory.path().join("state/other.db").exists());
}
