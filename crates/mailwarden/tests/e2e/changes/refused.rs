//! What cannot be done for what is asked: each fault has its own code, and nothing is changed.

mod rows;

use serde_json::{Value, json};
use testkit::Dovecot;

use super::{ask, listed, parts, subject, with};
use crate::directory::{Directory, accounts};
use crate::support::start;
use crate::write_crash::{Ground, HOME, SUBJECT, leave};
use rows::{INVALID, of_flags, of_one_message, of_parts, of_targets, of_the_rest};

const FLAGS: &str = "imap_update_message_flags";
const COPY: &str = "imap_copy_message";
const MOVE: &str = "imap_move_message";
const DELETE: &str = "imap_delete_message";

#[test]
fn what_is_wrong_has_its_code_and_changes_nothing() {
    let ground = Ground::new();
    let plot = ground.plot("", &[]);
    let before = plot.world();
    let mut client = start(plot.program());
    let flags = json!({ "add_flags": ["\\Answered"] });
    let there = json!({ "target_folder": "Target" });
    let rows = [
        of_one_message(FLAGS, &flags),
        of_one_message(COPY, &json!({ "destination_mailbox": "Target" })),
        of_one_message(MOVE, &json!({ "destination_mailbox": "Target" })),
        of_one_message(DELETE, &json!({ "confirm": true })),
        of_parts("mark_seen", &json!({})),
        of_parts("mark_tagged", &json!({ "tags": ["a"] })),
        of_parts("copy", &there),
        of_parts("move", &there),
        of_targets(),
        of_flags(),
        of_the_rest(),
    ];
    let mut wrong = Vec::new();
    for (tool, arguments, want) in rows.into_iter().flatten() {
        let answer = ask(&mut client, tool, arguments.clone());
        if answer.words != want {
            wrong.push(format!(
                "{tool} {arguments}: {} instead of {want}",
                answer.words
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    leave(client);
    assert_eq!(plot.world(), before);
    let states = plot.transactions().into_iter().map(|line| line.state);
    assert_eq!(states.filter(|state| state != "undone").count(), 0);
}

#[test]
fn what_is_wrong_is_told_by_its_name_and_with_its_reason() {
    let ground = Ground::new();
    let plot = ground.plot("", &[]);
    let mut client = start(plot.program());
    let to = |more: Value| subject(HOME, more);
    let tags = |tags: Value| parts(HOME, SUBJECT, json!({ "tags": tags }));
    let nobody = json!({ "destination_mailbox": "Target", "destination_account_id": "nobody" });
    for (tool, arguments, want) in [
        (
            COPY,
            to(json!({ "destination_mailbox": "" })),
            ": destination_mailbox must be 1 to 256 characters long",
        ),
        (
            COPY,
            to(json!({ "destination_mailbox": "Target", "destination_account_id": "no body" })),
            ": destination_account_id must be 1 to 64 letters",
        ),
        (
            COPY,
            to(nobody),
            "the destination account 'nobody' is not configured",
        ),
        (
            "undo_transaction",
            json!({ "transaction_id": "7" }),
            ": transaction_id must be the name of a change",
        ),
        (
            "mark_tagged",
            tags(json!(["x".repeat(65)])),
            ": tags[0] must be a flag such as \\Flagged or $Forwarded, of at most 64 characters",
        ),
        (
            "mark_tagged",
            tags(json!("x")),
            ": tags must be a list of 1 to 20 flags",
        ),
        (
            "mark_tagged",
            tags(json!(["\\Seen"])),
            "\\Seen is set by mark_seen",
        ),
    ] {
        let answer = ask(&mut client, tool, arguments);
        assert!(answer.has(want), "{want}: {}", answer.text);
    }
    leave(client);
}

#[test]
fn a_closed_gate_says_how_it_is_opened_and_read_only_knows_no_such_tool() {
    let ground = Ground::new();
    let gate = format!("{INVALID} {}", json!({ "gate": "MAIL_IMAP_WRITE_ENABLED" }));
    for (gate_is, arguments, want) in [
        ("", &[][..], &*gate),
        ("false", &[], &gate),
        ("true", &["--read-only"], INVALID),
    ] {
        let plot = ground.plot("", &[("MAIL_IMAP_WRITE_ENABLED", gate_is)]);
        let before = plot.world();
        let mut program = plot.program();
        program.args(arguments);
        if gate_is.is_empty() {
            program.env_remove("MAIL_IMAP_WRITE_ENABLED");
        }
        let mut client = start(program);
        let tools = listed(&mut client);
        for (tool, arguments) in [
            (FLAGS, subject(HOME, json!({ "add_flags": ["\\Answered"] }))),
            (
                COPY,
                subject(HOME, json!({ "destination_mailbox": "Target" })),
            ),
            (
                MOVE,
                subject(HOME, json!({ "destination_mailbox": "Target" })),
            ),
            (DELETE, subject(HOME, json!({ "confirm": true }))),
            ("mark_seen", parts(HOME, SUBJECT, json!({}))),
            (
                "mark_tagged",
                parts(HOME, SUBJECT, json!({ "tags": ["a"] })),
            ),
            (
                "copy",
                parts(HOME, SUBJECT, json!({ "target_folder": "Target" })),
            ),
            (
                "move",
                parts(HOME, SUBJECT, json!({ "target_folder": "Target" })),
            ),
            (
                "create_draft",
                json!({ "account_id": HOME, "folder": "Drafts", "body": "x" }),
            ),
            (
                "undo_transaction",
                json!({ "transaction_id": "tx_00000000000000000000000000" }),
            ),
        ] {
            assert!(
                !tools.iter().any(|name| name == tool),
                "{tool} is listed: {gate_is}"
            );
            let answer = ask(&mut client, tool, arguments);
            assert_eq!(answer.words, want, "{tool}: {}", answer.text);
            let unknown = want == INVALID;
            assert_eq!(
                answer.has("unknown tool"),
                unknown,
                "{tool}: {}",
                answer.text
            );
        }
        leave(client);
        assert_eq!(plot.world(), before);
        assert!(plot.transactions().is_empty());
    }
}

#[test]
fn without_a_ledger_every_change_is_denied() {
    let server = Dovecot::builder().folder("Target").start();
    server.deliver("alice", "INBOX", &crate::support::note("one", "text"));
    let directory = Directory::new(server.port(), server.port());
    directory.write("accounts.yaml", &accounts(&[("work", server.port())]));
    directory.write(
        "callers.yaml",
        "callers:\n  - { id: agent, policy: some, toolsets: [imap, gateway], auth: { type: stdio_trusted } }\n",
    );
    let able = "mode: blacklist, default: FULL, mark_seen: true, mark_tagged: true, move_out: true, \
                accept_incoming: true, draft_append: true";
    let folders = ["INBOX", "Target"].map(|path| format!("    - {{ path: {path}, {able} }}\n"));
    directory.policy(&format!("  work:\n{}", folders.concat()));
    let uidvalidity = crate::support::uidvalidity(&server, "INBOX");
    let at = |more: Value| {
        let at = json!({ "account_id": "work", "folder": "INBOX", "uid": 1, "uidvalidity": uidvalidity });
        with(at, more)
    };
    let id = |more: Value| {
        with(
            json!({ "message_id": format!("imap:work:INBOX:{uidvalidity}:1") }),
            more,
        )
    };
    let mut client = directory.client("agent");
    for (tool, arguments) in [
        ("mark_seen", at(json!({}))),
        ("mark_tagged", at(json!({ "tags": ["a"] }))),
        ("copy", at(json!({ "target_folder": "Target" }))),
        (
            "move",
            at(json!({ "target_folder": "Target", "idempotency_key": "k" })),
        ),
        (
            "create_draft",
            json!({ "account_id": "work", "folder": "INBOX", "body": "x" }),
        ),
        (FLAGS, id(json!({ "add_flags": ["\\Seen"] }))),
        (COPY, id(json!({ "destination_mailbox": "Target" }))),
        (MOVE, id(json!({ "destination_mailbox": "Target" }))),
        (
            "undo_transaction",
            json!({ "transaction_id": "tx_00000000000000000000000000" }),
        ),
        ("get_transaction_status", json!({ "idempotency_key": "k" })),
    ] {
        let answer = ask(&mut client, tool, arguments);
        assert_eq!(
            answer.words, "DENY transactions_not_configured",
            "{tool}: {}",
            answer.text
        );
        assert!(answer.has("wal.path"), "{tool}: {}", answer.text);
    }
    let mut imap = server.login("alice", "secret");
    let inbox = testkit::world::list(&mut imap, "work", "INBOX");
    assert_eq!(inbox.len(), 1);
    assert!(inbox[0].item.flags.is_empty());
    assert!(testkit::world::list(&mut imap, "work", "Target").is_empty());
}
