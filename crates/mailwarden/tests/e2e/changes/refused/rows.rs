//! Calls with one thing wrong in each, and the code that it has.

use serde_json::{Value, json};

use super::{COPY, DELETE, FLAGS, MOVE};
use crate::changes::{message, parts, subject, with};
use crate::write_crash::{AWAY, HOME, SUBJECT};

const NOT_FOUND: &str = "-32002 not_found";
const CONFLICT: &str = "-32600 conflict";
pub(super) const INVALID: &str = "-32602 invalid_input";

fn bad(argument: &str) -> String {
    format!("{INVALID} {}", json!({ "argument": argument }))
}

pub(super) type Row = (&'static str, Value, String);

/// For a tool that takes a message by its name.
pub(super) fn of_one_message(tool: &'static str, more: &Value) -> Vec<Row> {
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
pub(super) fn of_parts(tool: &'static str, more: &Value) -> Vec<Row> {
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
pub(super) fn of_targets() -> Vec<Row> {
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

pub(super) fn of_flags() -> Vec<Row> {
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

pub(super) fn of_the_rest() -> Vec<Row> {
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
