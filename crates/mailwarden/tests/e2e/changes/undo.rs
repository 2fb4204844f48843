//! Taking changes back: what is put back, what stays as others left it, and what is refused before it is tried.

use serde_json::{Value, json};
use testkit::proxy::Refusal;
use testkit::{McpClient, World};

use super::{Answer, ask, message, parts, shown, subject, tx};
use crate::protocol::{meets, no_nulls};
use crate::support::start;
use crate::write_crash::{AWAY, Ground, HOME, Plot, SUBJECT, leave};

/// A change, and whether its undoing can be undone.
const CHANGES: [(&str, &str, Again); 7] = [
    ("flags", "imap_update_message_flags", Again::Yes),
    ("copy", "imap_copy_message", Again::No),
    ("copy across", "copy", Again::No),
    ("move", "imap_move_message", Again::Yes),
    ("move across", "move", Again::Yes),
    ("delete", "imap_delete_message", Again::Yes),
    ("draft", "create_draft", Again::No),
];

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Again {
    Yes,
    /// What was added is gone for good.
    No,
}

fn arguments(name: &str) -> Value {
    let across = json!({ "target_folder": "Target", "target_account_id": AWAY });
    match name {
        "flags" => subject(
            HOME,
            json!({ "add_flags": ["\\Answered", "todo"], "remove_flags": ["\\Flagged"] }),
        ),
        "copy" | "move" => subject(HOME, json!({ "destination_mailbox": "Target" })),
        "copy across" | "move across" => parts(HOME, SUBJECT, across),
        "delete" => subject(HOME, json!({ "confirm": true })),
        "draft" => json!({ "account_id": HOME, "folder": "Drafts", "body": "x" }),
        other => panic!("{other} is no change"),
    }
}

fn undo(client: &mut McpClient, id: &Value) -> Answer {
    ask(client, "undo_transaction", json!({ "transaction_id": id }))
}

fn done(client: &mut McpClient, tool: &str, arguments: Value) -> Answer {
    let answer = ask(client, tool, arguments);
    assert!(answer.words.ends_with("done"), "{tool}: {}", answer.text);
    answer
}

#[test]
fn every_change_can_be_put_back_once_and_put_forth_again() {
    let ground = Ground::new();
    for (name, tool, again) in CHANGES {
        let plot = ground.plot("", &[]);
        let mut client = start(plot.program());
        let before = plot.world();
        let first = done(&mut client, tool, arguments(name)).id();
        let after = plot.world();
        assert_ne!(before, after, "{name}");
        assert_eq!(status(&mut client, &first)["undoable"], true, "{name}");

        let back = undo(&mut client, &first);
        assert_eq!(back.words, "ok done", "{name}: {}", back.text);
        assert_eq!(plot.world(), before, "{name}");
        told_in_full(&mut client, &plot, name, &first, &back, &before);
        let told = status(&mut client, &first);
        assert_eq!(told["transaction_state"], "done", "{name}");
        assert_eq!(told["undoable"], false, "{name}");
        assert_eq!(told["undone_by"], back.id(), "{name}");
        let asked = json!({ "transaction_id": first });
        let told = ask(&mut client, "get_transaction_status", asked);
        assert!(told.has("undone since by tx_"), "{name}: {}", told.text);
        let row = shown(&plot, &back.id());
        assert_eq!(row["undoes"], first, "{name}: {row:#}");
        assert_eq!(shown(&plot, &first)["undone_by"], back.id(), "{name}");

        let twice = undo(&mut client, &first);
        assert_eq!(twice.words, "-32600 conflict", "{name}: {}", twice.text);
        assert!(twice.has("undone already"), "{name}: {}", twice.text);
        assert_eq!(plot.world(), before, "{name}");

        let forth = undo(&mut client, &back.id());
        match again {
            Again::Yes => {
                assert_eq!(forth.words, "ok done", "{name}: {}", forth.text);
                assert_eq!(plot.world(), after, "{name}");
            }
            Again::No => {
                assert_eq!(forth.words, "-32600 conflict", "{name}: {}", forth.text);
                assert!(forth.has("deleted for good"), "{name}: {}", forth.text);
                assert_eq!(plot.world(), before, "{name}");
            }
        }
        leave(client);
    }
}

fn status(client: &mut McpClient, id: &Value) -> Value {
    let asked = json!({ "transaction_id": id });
    ask(client, "get_transaction_status", asked).data
}

/// The answer's fields, and the message where it says that it is.
fn told_in_full(
    client: &mut McpClient,
    plot: &Plot<'_>,
    name: &str,
    first: &Value,
    back: &Answer,
    before: &World,
) {
    let tools = client.request("tools/list", json!({})).unwrap();
    let mut tools = tools["tools"].as_array().unwrap().iter();
    let tool = tools.find(|one| one["name"] == "undo_transaction").unwrap();
    meets(&tool["outputSchema"], &back.all, name);
    no_nulls(&back.data, name);
    assert_eq!(&back.data["undone_transaction_id"], first, "{name}");
    let moved = ["move", "move across", "delete"].contains(&name);
    let new = back.data["new_message_id"].as_str();
    assert_eq!(new.is_some(), moved, "{name}: {}", back.data);
    if let Some(new) = new {
        let uid: u32 = new.rsplit(':').next().unwrap().parse().unwrap();
        let found = plot.folder(HOME, "INBOX").into_iter();
        let found = found.filter(|one| one.uid == uid);
        let [one] = &found.collect::<Vec<_>>()[..] else {
            panic!("{name}: {new} names nothing");
        };
        assert!(before.items().any(|item| *item == one.item), "{name}");
    }
}

#[test]
fn flags_that_were_there_or_came_since_stay() {
    let ground = Ground::new();
    let plot = ground.plot("", &[]);
    let mut client = start(plot.program());
    let item = plot.subject(HOME);
    let arguments = subject(
        HOME,
        json!({
            "add_flags": ["\\Seen", "\\Answered", "PROJECT", "todo"],
            "remove_flags": ["\\flagged", "never-there"],
        }),
    );
    let id = done(&mut client, "imap_update_message_flags", arguments).id();
    let mut imap = plot.bare(HOME);
    imap.command("SELECT INBOX");
    imap.command(&format!("UID STORE {SUBJECT} +FLAGS (\\Draft since)"));
    imap.command(&format!("UID STORE {SUBJECT} -FLAGS (todo)"));
    let back = undo(&mut client, &id);
    assert_eq!(back.words, "ok done", "{}", back.text);
    assert_eq!(plot.subject(HOME), item.flagged(&["\\Draft", "since"]));
}

#[test]
fn what_cannot_be_put_back_is_refused_with_the_reason() {
    let ground = Ground::new();
    let plot = ground.plot("", &[]);
    let mut client = start(plot.program());
    let flags = |flags: &[&str]| subject(HOME, json!({ "add_flags": flags }));
    const FLAGS: &str = "imap_update_message_flags";

    let gone = json!({ "account_id": AWAY, "message_id": message(AWAY, 33), "confirm": true });
    let for_good = done(&mut client, "imap_delete_message", gone).id();
    let nothing = done(&mut client, FLAGS, flags(&["\\Seen", "Project"])).id();
    plot.home
        .refuse_command(Refusal::No, |line| line.contains("STORE"));
    let refused = ask(&mut client, FLAGS, flags(&["todo"]));
    assert_eq!(
        refused.words, "failed server_refused undone",
        "{}",
        refused.text
    );

    let across = parts(
        HOME,
        33,
        json!({ "target_folder": "Target", "target_account_id": AWAY }),
    );
    let copy = done(&mut client, "copy", across).id();
    let within = json!({ "message_id": message(HOME, 33), "destination_mailbox": "Target" });
    let second = done(&mut client, "imap_copy_message", within).id();
    let mut imap = plot.bare(HOME);
    imap.command("SELECT INBOX");
    imap.command("UID STORE 33 +FLAGS (\\Deleted)");
    imap.command("UID EXPUNGE 33");

    let before = plot.world();
    let unknown = json!("tx_00000000000000000000000000");
    for (what, id, words, says) in [
        (
            "deleted for good",
            &for_good,
            "-32600 conflict",
            "deleted for good",
        ),
        (
            "nothing changed",
            &nothing,
            "-32600 conflict",
            "it changed nothing",
        ),
        (
            "not done",
            &refused.id(),
            "-32600 conflict",
            "it was not done",
        ),
        ("the last copy", &copy, "-32600 conflict", "the last copy"),
        (
            "the last copy within",
            &second,
            "-32600 conflict",
            "the last copy",
        ),
        (
            "unknown",
            &unknown,
            "-32002 not_found",
            "no such transaction",
        ),
    ] {
        let answer = undo(&mut client, id);
        assert_eq!(answer.words, words, "{what}: {}", answer.text);
        assert!(answer.has(says), "{what}: {}", answer.text);
        let by_operator = tx(plot.program(), &["undo", id.as_str().unwrap()]).unwrap_err();
        assert!(by_operator.contains(says), "{what}: {by_operator}");
        assert_eq!(plot.world(), before, "{what}");
    }
    leave(client);
}

#[test]
fn a_message_that_has_gone_on_is_not_chased() {
    let ground = Ground::new();
    let plot = ground.plot("", &[]);
    let mut client = start(plot.program());
    let to = json!({ "destination_mailbox": "Target" });
    let moved = done(&mut client, "imap_move_message", subject(HOME, to));
    let new = moved.data["new_message_id"].as_str().unwrap();
    let uid = new.rsplit(':').next().unwrap();
    let mut imap = plot.bare(HOME);
    imap.command("SELECT Target");
    imap.command(&format!("UID MOVE {uid} Archive"));
    let before = plot.world();
    let back = undo(&mut client, &moved.id());
    assert_eq!(back.words, "-32002 not_found", "{}", back.text);
    assert_eq!(plot.world(), before);
    // That attempt came to nothing, so there may be another when the message is back.
    imap.command("SELECT Archive");
    let archived = plot.folder(HOME, "Archive")[0].uid;
    imap.command(&format!("UID MOVE {archived} Target"));
    let again = undo(&mut client, &moved.id());
    assert_eq!(
        again.words, "-32002 not_found",
        "its number is another: {}",
        again.text
    );
    leave(client);
    assert!(plot.transactions().iter().all(|line| line.state != "open"));
}

#[test]
fn the_operator_takes_back_what_anybody_did() {
    let ground = Ground::new();
    let plot = ground.plot("", &[]);
    let mut client = start(plot.program());
    for (name, tool, _) in CHANGES {
        let before = plot.world();
        let id = done(&mut client, tool, arguments(name)).id();
        let came = tx(plot.program(), &["undo", id.as_str().unwrap()]);
        let row = came.unwrap_or_else(|said| panic!("{name}: {said}"));
        assert_eq!(
            (&row["state"], &row["undoes"]),
            (&json!("done"), &id),
            "{name}"
        );
        assert_eq!(row["caller_id"], "operator", "{name}");
        assert_eq!(plot.world(), before, "{name}");
        let twice = tx(plot.program(), &["undo", id.as_str().unwrap()]).unwrap_err();
        assert!(twice.contains("undone already"), "{name}: {twice}");
        // A message that was moved there and back has another number.
        if ["move", "move across", "delete"].contains(&name) {
            break;
        }
    }
}
