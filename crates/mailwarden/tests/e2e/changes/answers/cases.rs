//! Every tool that changes a message that is there, each with what must come of it.

use serde_json::json;

use super::{Case, Names};
use crate::changes::{message, parts, subject, with};
use crate::write_crash::{AWAY, GENERATION, HOME, SUBJECT};

pub(super) fn all() -> Vec<Case> {
    [of_flags(), of_transfers(), of_the_rest()]
        .into_iter()
        .flatten()
        .collect()
}

fn of_flags() -> Vec<Case> {
    let at = || json!({ "account_id": HOME, "folder": "INBOX", "uid": SUBJECT, "uidvalidity": GENERATION });
    let row = |after: &[&str]| json!({ "kind": "flags", "target": null, "flags_after": after });
    vec![
        Case {
            tool: "imap_update_message_flags",
            arguments: subject(
                HOME,
                json!({ "add_flags": ["\\Answered", "todo"], "remove_flags": ["\\Flagged", "project"] }),
            ),
            data: json!({
                "account_id": HOME,
                "message_id": message(HOME, SUBJECT),
                "flags": ["\\Answered", "\\Seen", "todo"],
                "requested_add_flags": ["\\Answered", "todo"],
                "requested_remove_flags": ["\\Flagged", "project"],
                "applied_add_flags": true,
                "applied_remove_flags": true,
                "untrusted": ["flags"],
            }),
            names: Names::Nothing,
            row: row(&["\\Answered", "\\Seen", "todo"]),
            steps: &["mark"],
            world: |ends| ends.marked(&["\\Answered", "todo"], &["\\Flagged", "project"]),
        },
        Case {
            tool: "mark_seen",
            arguments: parts(HOME, SUBJECT, json!({ "seen": false })),
            data: with(
                at(),
                json!({ "flags": ["\\Flagged", "project"], "untrusted": ["flags"] }),
            ),
            names: Names::Nothing,
            row: row(&["\\Flagged", "project"]),
            steps: &["mark"],
            world: |ends| ends.marked(&[], &["\\Seen"]),
        },
        Case {
            tool: "mark_tagged",
            arguments: parts(
                HOME,
                SUBJECT,
                json!({ "tags": ["a", "$b"], "action": "replace" }),
            ),
            data: with(
                at(),
                json!({ "flags": ["$b", "\\Seen", "a"], "untrusted": ["flags"] }),
            ),
            names: Names::Nothing,
            row: row(&["$b", "\\Seen", "a"]),
            steps: &["mark"],
            world: |ends| ends.marked(&["a", "$b"], &["\\Flagged", "project"]),
        },
        Case {
            tool: "mark_tagged",
            arguments: parts(
                HOME,
                SUBJECT,
                json!({ "tags": ["project", "x"], "action": "remove" }),
            ),
            data: with(
                at(),
                json!({ "flags": ["\\Flagged", "\\Seen"], "untrusted": ["flags"] }),
            ),
            names: Names::Nothing,
            row: row(&["\\Flagged", "\\Seen"]),
            steps: &["mark"],
            world: |ends| ends.marked(&[], &["project"]),
        },
    ]
}

fn of_transfers() -> Vec<Case> {
    let from = || json!({ "source_mailbox": "INBOX", "destination_mailbox": "Target", "message_id": message(HOME, SUBJECT) });
    let across = json!({ "destination_mailbox": "Target", "destination_account_id": AWAY });
    let at = |account: &str| {
        json!({
            "account_id": HOME, "folder": "INBOX", "uid": SUBJECT, "uidvalidity": GENERATION,
            "target_account_id": account, "target_folder": "Target",
        })
    };
    let row = |kind: &str, account: &str, folder: &str| json!({ "kind": kind, "target": { "account": account, "folder": folder } });
    vec![
        Case {
            tool: "imap_copy_message",
            arguments: subject(HOME, json!({ "destination_mailbox": "Target" })),
            data: with(
                from(),
                json!({
                    "source_account_id": HOME, "destination_account_id": HOME,
                    "steps_attempted": 1, "steps_succeeded": 1,
                }),
            ),
            names: Names::Whole,
            row: row("copy", HOME, "Target"),
            steps: &["copy"],
            world: |ends| ends.copied(HOME),
        },
        Case {
            tool: "imap_copy_message",
            arguments: subject(HOME, across),
            data: with(
                from(),
                json!({
                    "source_account_id": HOME, "destination_account_id": AWAY,
                    "steps_attempted": 2, "steps_succeeded": 2,
                }),
            ),
            names: Names::Whole,
            row: row("copy", AWAY, "Target"),
            steps: &["append", "confirm"],
            world: |ends| ends.copied(AWAY),
        },
        Case {
            tool: "imap_move_message",
            arguments: subject(HOME, json!({ "destination_mailbox": "Target" })),
            data: with(
                from(),
                json!({ "account_id": HOME, "steps_attempted": 1, "steps_succeeded": 1 }),
            ),
            names: Names::Whole,
            row: row("move", HOME, "Target"),
            steps: &["move"],
            world: |ends| ends.moved(HOME, "Target"),
        },
        Case {
            tool: "imap_delete_message",
            arguments: subject(HOME, json!({ "confirm": true })),
            data: json!({
                "account_id": HOME, "mailbox": "INBOX", "message_id": message(HOME, SUBJECT),
                "trash_mailbox": "Trash", "steps_attempted": 1, "steps_succeeded": 1,
            }),
            names: Names::Whole,
            row: row("delete", HOME, "Trash"),
            steps: &["move"],
            world: |ends| ends.moved(HOME, "Trash"),
        },
        Case {
            tool: "copy",
            arguments: parts(
                HOME,
                SUBJECT,
                json!({ "target_folder": "Target", "target_account_id": AWAY }),
            ),
            data: at(AWAY),
            names: Names::Parts(AWAY, "Target"),
            row: row("copy", AWAY, "Target"),
            steps: &["append", "confirm"],
            world: |ends| ends.copied(AWAY),
        },
        Case {
            tool: "move",
            arguments: parts(HOME, SUBJECT, json!({ "target_folder": "Target" })),
            data: at(HOME),
            names: Names::Parts(HOME, "Target"),
            row: row("move", HOME, "Target"),
            steps: &["move"],
            world: |ends| ends.moved(HOME, "Target"),
        },
        Case {
            tool: "move",
            arguments: parts(
                HOME,
                SUBJECT,
                json!({ "target_folder": "Target", "target_account_id": AWAY }),
            ),
            data: at(AWAY),
            names: Names::Parts(AWAY, "Target"),
            row: row("move", AWAY, "Target"),
            steps: &["append", "confirm", "remove"],
            world: |ends| ends.moved(AWAY, "Target"),
        },
    ]
}

fn of_the_rest() -> Vec<Case> {
    vec![Case {
        tool: "imap_delete_message",
        arguments: subject(AWAY, json!({ "confirm": true, "account_id": AWAY })),
        data: json!({
            "account_id": AWAY, "mailbox": "INBOX", "message_id": message(AWAY, SUBJECT),
            "steps_attempted": 1, "steps_succeeded": 1,
        }),
        names: Names::Nothing,
        row: json!({ "kind": "delete", "target": null, "landed": null }),
        steps: &["remove"],
        world: |ends| ends.before.without(&ends.item.lying_in(AWAY, "INBOX")),
    }]
}
