//! `mailwarden tx retry` and `tx undo`: the operator's own hand at the mail of others.

use std::process::Stdio;

use ledger::{Asked, Begun, Kind, Known, Ledger, Mark, StepName};
use mail::{AccountId, Flag, FolderName, MessageRef, SourceKind, Uid, UidValidity};
use serde_json::{Value, json};
use testkit::Dovecot;

use super::asked;
use crate::directory::{Directory, accounts};
use crate::installation::Record;
use crate::support::{Look as _, uidvalidity};

/// A mailbox with one message, whose flags a caller may change.
fn served() -> (Dovecot, Directory) {
    let server = Dovecot::start();
    server.deliver("alice", "INBOX", b"Subject: one\r\n\r\nbody\r\n");
    let directory = Directory::new(server.port(), server.port());
    let text = accounts(&[("work", server.port())]) + "wal: { path: wal.db }\n";
    directory.write("accounts.yaml", &text);
    directory.policy(
        "  work:\n    - { path: INBOX, mode: blacklist, default: FULL, mark_seen: true }\n",
    );
    (server, directory)
}

/// A caller has marked the message; the transaction is told.
fn marked(server: &Dovecot, directory: &Directory) -> String {
    let arguments = json!({
        "account_id": "work", "folder": "INBOX", "uid": 1,
        "uidvalidity": uidvalidity(server, "INBOX"), "seen": true,
    });
    let answer = directory.client("agent").call("mark_seen", arguments);
    answer.text("/transaction_id")
}

fn is_seen(server: &Dovecot) -> bool {
    let mut imap = server.login("alice", "secret");
    imap.command("EXAMINE INBOX");
    imap.command("UID FETCH 1 FLAGS").text().contains("\\Seen")
}

#[test]
fn retry_and_undo_say_why_they_cannot() {
    let (_server, directory) = served();
    let nobody = "tx_00000000000000000000000000";
    for (arguments, wanted) in [
        (vec!["tx", "retry", nobody], "there is no such transaction"),
        (vec!["tx", "undo", nobody], "there is no such transaction"),
        (vec!["tx", "retry", "x"], "no transaction's name"),
        (
            vec!["tx", "retry", nobody, "--read-only"],
            "nothing is done",
        ),
        (vec!["tx", "undo", nobody, "--read-only"], "nothing is done"),
    ] {
        let printed = directory.run(&arguments);
        assert_eq!(printed.code, 1, "{arguments:?}");
        let said = &printed.stderr;
        assert!(said.contains(wanted), "{arguments:?}: {said}");
        assert!(printed.stdout.is_empty(), "{}", printed.stdout);
    }
}

#[test]
fn what_a_caller_changed_is_put_back_once() {
    let (server, directory) = served();
    let id = marked(&server, &directory);
    assert!(is_seen(&server), "{id}");

    let printed = directory.run(&["tx", "undo", &id, "--json"]);
    assert_eq!(printed.code, 0, "{}", printed.stderr);
    assert!(!is_seen(&server));
    let undoing: Value = serde_json::from_str(&printed.stdout).unwrap();
    assert_eq!(
        (&undoing["undoes"], &undoing["state"]),
        (&json!(id), &json!("done"))
    );
    let shown = directory.run(&["tx", "show", &id, "--json"]);
    let shown: Value = serde_json::from_str(&shown.stdout).unwrap();
    assert_eq!(shown["undone_by"], undoing["transaction_id"]);
    assert_eq!(shown["caller_id"], "agent");
    let list = directory.run(&["tx", "list", "--all"]).stdout;
    let by = undoing["transaction_id"].as_str().unwrap();
    for (line, words) in [
        (&*id, format!("undone by {by}")),
        (by, format!("undoes {id}")),
    ] {
        let mut lines = list.lines();
        let line = lines.find(|one| one.starts_with(line)).unwrap();
        assert!(line.ends_with(&words), "{list}");
    }
    let asked = json!({ "transaction_id": id });
    let told = directory
        .client("agent")
        .call("get_transaction_status", asked);
    assert_eq!(told.text("/undone_by"), by);

    let resumed = |record: &Record| record.json["caller_id"] == "operator";
    directory.home.only("transaction_resumed", resumed);

    let again = directory.run(&["tx", "undo", &id]);
    assert_eq!(again.code, 1);
    let said = format!("undone already, or is being undone, by {by}");
    assert!(again.stderr.contains(&said), "{}", again.stderr);
    let over = directory.run(&["tx", "retry", &id]);
    assert_eq!(over.code, 1);
    assert!(over.stderr.contains("is over"), "{}", over.stderr);
    let unfinished = directory.run(&["tx", "list", "--json"]);
    assert_eq!(unfinished.stdout, "{\n  \"transactions\": []\n}\n");
}

#[test]
fn what_a_dead_process_left_is_taken_up_again() {
    let (server, directory) = served();
    let at = MessageRef {
        source: SourceKind::Imap,
        account: AccountId::new("work").unwrap(),
        folder: FolderName::new("INBOX").unwrap(),
        uidvalidity: UidValidity(uidvalidity(&server, "INBOX")),
        uid: Uid(1),
    };
    let path = directory.path().join("wal.db");
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let id = runtime.unwrap().block_on(async {
        let ledger = Ledger::open(&path).unwrap();
        let asked = Asked {
            source: Some(at),
            marks: vec![Mark::Set(Flag::new("\\Seen"))],
            ..asked(Kind::Flags, "agent")
        };
        let begun = ledger.begin(asked, Known::default(), StepName::Mark, None);
        let Ok(Begun::New(lease)) = begun.await else {
            panic!("it is new");
        };
        lease.id().clone()
    });
    let printed = directory.run(&["tx", "retry", id.as_str()]);
    assert_eq!(printed.code, 0, "{}{}", printed.stdout, printed.stderr);
    assert!(printed.stdout.contains("flags done"), "{}", printed.stdout);
    assert!(is_seen(&server));
}

#[test]
fn what_nobody_serves_any_more_is_left_to_who_insists() {
    let (server, directory) = served();
    let path = directory.path().join("wal.db");
    let at = |account: &str| MessageRef {
        source: SourceKind::Imap,
        account: AccountId::new(account).unwrap(),
        folder: FolderName::new("INBOX").unwrap(),
        uidvalidity: UidValidity(uidvalidity(&server, "INBOX")),
        uid: Uid(1),
    };
    let begun = |hours: i64| {
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        runtime.unwrap().block_on(async {
            let clock = move || jiff::Timestamp::now() - jiff::SignedDuration::from_hours(hours);
            let ledger = Ledger::open_with(&path, clock).unwrap();
            let asked = Asked {
                source: Some(at("dismissed")),
                ..asked(Kind::Flags, "agent")
            };
            let begun = ledger.begin(asked, Known::default(), StepName::Mark, None);
            match begun.await {
                Ok(Begun::New(lease)) => lease.id().clone(),
                other => panic!("{other:?}"),
            }
        })
    };
    for (hours, state) in [(1, "open"), (80, "needs_operator")] {
        let id = begun(hours);
        let printed = directory.run(&["tx", "retry", id.as_str(), "--json"]);
        assert_eq!(printed.code, 1, "{}", printed.stderr);
        let row: Value = serde_json::from_str(&printed.stdout).unwrap();
        assert_eq!(row["state"], state, "{row:#}");
        let resolved = directory.run(&["tx", "resolve", id.as_str(), "--as", "undone"]);
        let decided = state == "needs_operator";
        assert_eq!(resolved.code == 0, decided, "{}", resolved.stderr);
    }
}

/// The gate is for agents; the operator's own command is not kept by it, and says so.
#[test]
fn the_operator_puts_things_back_while_agents_may_change_nothing() {
    let (server, directory) = served();
    let id = marked(&server, &directory);
    let run = |arguments: &[&str]| {
        let mut command = directory.program();
        command.env("MAIL_IMAP_WRITE_ENABLED", "false");
        let output = command.arg("tx").args(arguments).stdin(Stdio::null());
        let output = output.output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (
            output.status.success(),
            text(output.stdout),
            text(output.stderr),
        )
    };
    let (done, _, said) = run(&["undo", &id, "--read-only"]);
    assert!(!done && is_seen(&server));
    assert!(said.contains("leave it out to have it done"), "{said}");
    let (done, printed, said) = run(&["undo", &id]);
    assert!(done && !is_seen(&server), "{said}");
    assert!(said.contains("this is your own command"), "{said}");
    let back = format!("What {id} changed is put back.");
    assert!(printed.contains(&back), "{printed}");
    let (done, printed, said) = run(&["show", &id]);
    assert!(done && said.is_empty(), "{said}");
    assert!(
        printed.contains("It is put back, or being put back, by tx_"),
        "{printed}"
    );
}
