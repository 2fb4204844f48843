//! What cannot be done for what is asked: each fault has its own code, and nothing is changed.

use serde_json::{Value, json};
use testkit::Dovecot;

use super::{ask, listed, message, parts, subject, with};
use crate::directory::{Directory, accounts};
use crate::support::start;
use crate::write_crash::{AWAY, Ground, HOME, SUBJECT, leave};

const FLAGS: &str = "imap_update_message_flags";
const COPY: &str = "imap_copy_message";
const MOVE: &str = "imap_move_message";
const DELETE: &str = "imap_delete_message";

const NOT_FOUND: &str = "-32002 not_found";
const CONFLICT: &str = "-32600 conflict";
const INVALID: &str = "-32602 invalid_input";

fn bad(argument: &str) -> String {
    format!("{INVALID} {}", json!({ "argument": argument }))
}

type Row = (&'static str, Value, String);

/// For a tool that takes a message by its name.
fn of_one_message(tool: &'static str, more: &Value) -> Vec<Row> {
    let id = |id: &str| with(more.clone(), json!({ "message_id": id }));
    let stale = message(HOME, SUBJECT).replace("1234", "1235");
    let key = |key: Value| {
        with(
            subject(HOME, more.clone()),
            json!({ "idempotency_key": key }),
        )
    };
    vec![
        (
            tool,
            with(subject(HOME, more.clone()), json!({ "account_id": AWAY })),
            bad("message_id"),
        ),
        (tool, id(&message("nobody", SUBJECT)), NOT_FOUND.into()),
        (tool, id(&stale), CONFLICT.into()),
        (tool, id(&message(HOME, 999)), NOT_FOUND.into()),
        (tool, id("imap:default:Nowhere:1234:22"), NOT_FOUND.into()),
        (tool, id("imap:default:INBOX:22"), bad("message_id")),
        (tool, id("imap:default:INBOX:1234:x"), bad("message_id")),
        (tool, more.clone(), bad("message_id")),
        (tool, key(json!("")), bad("idempotency_key")),
        (tool, key(json!("with space")), bad("idempotency_key")),
        (tool, key(json!("a\r\nb")), bad("idempotency_key")),
        (tool, key(json!("x".repeat(129))), bad("idempotency_key")),
        (tool, key(json!(7)), bad("idempotency_key")),
        (
            tool,
            with(subject(HOME, more.clone()), json!({ "force": true })),
            bad("force"),
        ),
    ]
}

/// For a tool that takes it in parts.
fn of_parts(tool: &'static str, more: &Value) -> Vec<Row> {
    let but = |other: Value| with(parts(HOME, SUBJECT, more.clone()), other);
    vec![
        (
            tool,
            but(json!({ "account_id": "nobody" })),
            NOT_FOUND.into(),
        ),
        (tool, but(json!({ "uidvalidity": 1235 })), CONFLICT.into()),
        (tool, but(json!({ "uid": 999 })), NOT_FOUND.into()),
        (tool, but(json!({ "folder": "Nowhere" })), NOT_FOUND.into()),
        (tool, but(json!({ "uid": 0 })), bad("uid")),
        (tool, but(json!({ "uid": "22" })), bad("uid")),
        (
            tool,
            but(json!({ "idempotency_key": " " })),
            bad("idempotency_key"),
        ),
        (tool, but(json!({ "force": true })), bad("force")),
    ]
}

/// Where it is to go.
fn of_targets() -> Vec<Row> {
    let mut rows = Vec::new();
    for tool in [COPY, MOVE] {
        let to = |to: &str| subject(HOME, json!({ "destination_mailbox": to }));
        rows.extend([
            (tool, to("Nowhere"), NOT_FOUND.into()),
            (tool, to("INBOX"), bad("destination_mailbox")),
            (tool, to("inbox"), bad("destination_mailbox")),
            (tool, to(""), bad("destination_mailbox")),
            (tool, to("a\r\nb"), bad("destination_mailbox")),
            (tool, subject(HOME, json!({})), bad("destination_mailbox")),
        ]);
    }
    let there = |account: &str, to: &str| {
        let more = json!({ "destination_account_id": account, "destination_mailbox": to });
        subject(HOME, more)
    };
    rows.extend([
        (COPY, there("nobody", "Target"), NOT_FOUND.into()),
        (
            COPY,
            there("no body", "Target"),
            bad("destination_account_id"),
        ),
        (COPY, there(AWAY, "Nowhere"), NOT_FOUND.into()),
        (COPY, there(HOME, "INBOX"), bad("destination_mailbox")),
        (MOVE, there(AWAY, "Target"), bad("destination_account_id")),
    ]);
    for tool in ["copy", "move"] {
        let to = |more: Value| parts(HOME, SUBJECT, more);
        rows.extend([
            (
                tool,
                to(json!({ "target_folder": "Nowhere" })),
                NOT_FOUND.into(),
            ),
            (
                tool,
                to(json!({ "target_folder": "iNbOx" })),
                bad("target_folder"),
            ),
            (
                tool,
                to(json!({ "target_folder": "Target", "target_account_id": "nobody" })),
                NOT_FOUND.into(),
            ),
            (
                tool,
                to(json!({ "target_folder": "Nowhere", "target_account_id": AWAY })),
                NOT_FOUND.into(),
            ),
            (tool, to(json!({})), bad("target_folder")),
        ]);
    }
    rows
}

fn of_flags() -> Vec<Row> {
    let flags = |more: Value| subject(HOME, more);
    let many: Vec<String> = (0..21).map(|number| format!("k{number}")).collect();
    let mut rows = vec![
        (FLAGS, flags(json!({ "add_flags": many })), bad("add_flags")),
        (
            FLAGS,
            flags(json!({ "remove_flags": many })),
            bad("remove_flags"),
        ),
        (FLAGS, flags(json!({ "add_flags": [] })), bad("add_flags")),
        (
            FLAGS,
            flags(json!({ "remove_flags": [] })),
            bad("remove_flags"),
        ),
        (
            FLAGS,
            flags(json!({ "add_flags": "\\Seen" })),
            bad("add_flags"),
        ),
        (FLAGS, flags(json!({})), INVALID.into()),
        (
            FLAGS,
            flags(json!({ "add_flags": ["\\Seen"], "remove_flags": ["\\SEEN"] })),
            bad("remove_flags"),
        ),
        (
            FLAGS,
            flags(json!({ "add_flags": ["\\Recent"] })),
            INVALID.into(),
        ),
        (
            FLAGS,
            flags(json!({ "remove_flags": ["\\recent"] })),
            INVALID.into(),
        ),
    ];
    for wrong in [
        "",
        "\\",
        "\\\\Seen",
        "a b",
        "\\Seen \\Deleted",
        "a)",
        "(\\Seen",
        "a\r\nx",
        "ü",
        "\\*",
        "%",
    ] {
        rows.push((
            FLAGS,
            flags(json!({ "add_flags": [wrong] })),
            bad("add_flags[0]"),
        ));
        rows.push((
            "mark_tagged",
            parts(HOME, SUBJECT, json!({ "tags": [wrong] })),
            bad("tags[0]"),
        ));
    }
    let tags = |more: Value| parts(HOME, SUBJECT, more);
    rows.extend([
        ("mark_tagged", tags(json!({ "tags": many })), bad("tags")),
        ("mark_tagged", tags(json!({ "tags": [] })), bad("tags")),
        ("mark_tagged", tags(json!({})), bad("tags")),
        (
            "mark_tagged",
            tags(json!({ "tags": ["a"], "action": "toggle" })),
            bad("action"),
        ),
        ("mark_seen", tags(json!({ "seen": "no" })), bad("seen")),
    ]);
    rows
}

fn of_the_rest() -> Vec<Row> {
    let mut rows = Vec::new();
    for confirm in [
        json!("true"),
        json!(false),
        json!(1),
        json!(null),
        json!([true]),
    ] {
        rows.push((
            DELETE,
            subject(HOME, json!({ "confirm": confirm })),
            bad("confirm"),
        ));
    }
    rows.push((DELETE, subject(HOME, json!({})), bad("confirm")));
    let unknown = "tx_00000000000000000000000000";
    for tool in ["undo_transaction", "get_transaction_status"] {
        for wrong in ["", "tx_", "7", "tx_0000000000000000000000000!", "../../x"] {
            rows.push((
                tool,
                json!({ "transaction_id": wrong }),
                bad("transaction_id"),
            ));
        }
        rows.push((tool, json!({ "transaction_id": unknown }), NOT_FOUND.into()));
    }
    let draft = |more: Value| {
        let least = json!({ "account_id": HOME, "folder": "Drafts", "body": "x" });
        ("create_draft", with(least, more))
    };
    for (more, wrong) in [
        (json!({ "account_id": "nobody" }), NOT_FOUND.to_owned()),
        (json!({ "folder": "Nowhere" }), NOT_FOUND.to_owned()),
        (json!({ "to": ["no address"] }), bad("to[0]")),
        (
            json!({ "to": ["a@b.example\r\nBcc: c@d.example"] }),
            bad("to[0]"),
        ),
        (json!({ "to": vec!["a@b.example"; 101] }), bad("to")),
        (json!({ "from": "x" }), bad("from")),
        (
            json!({ "subject": "a\r\nBcc: c@d.example" }),
            bad("subject"),
        ),
        (
            json!({ "in_reply_to": "<a@b>\r\nX: y" }),
            bad("in_reply_to"),
        ),
        (json!({ "body": "\u{0}" }), bad("body")),
        (json!({ "body": null }), bad("body")),
        (json!({ "idempotency_key": "ü" }), bad("idempotency_key")),
    ] {
        let (tool, arguments) = draft(more);
        rows.push((tool, arguments, wrong));
    }
    rows.extend([
        ("get_transaction_status", json!({}), INVALID.to_owned()),
        (
            "get_transaction_status",
            json!({ "transaction_id": unknown, "idempotency_key": "k" }),
            INVALID.to_owned(),
        ),
        (
            "get_transaction_status",
            json!({ "idempotency_key": "k" }),
            NOT_FOUND.to_owned(),
        ),
    ]);
    rows
}

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
