//! What a caller cannot see can neither be marked nor copied nor moved, and answers as what is not there.

use serde_json::{Value, json};
use testkit::McpClient;

use super::house::{ALL, House, folder};
use crate::changes::{Answer, ask, same, with};

/// What was told, without what differs from call to call and the number that was asked for.
fn told(answer: &Answer, uid: u32) -> Value {
    let mut all = answer.all.clone();
    for key in ["request_id", "now_utc", "duration_ms", "receipt"] {
        all["meta"].as_object_mut().unwrap().remove(key);
    }
    let text = json!([all, answer.text, answer.words]).to_string();
    json!(text.replace(&format!(":{uid}\""), ":N\""))
}

fn rule(level: &str) -> Value {
    let domain = format!("{}.example", level.to_lowercase());
    json!({ "match": { "from_domain": domain }, "grant": level })
}

/// A folder in which every message is seen as far as its sender's domain says.
fn ladder(path: &str) -> Value {
    let rules = ["COUNT", "METADATA", "FULL"].map(rule);
    with(folder(path, "NONE", &ALL), json!({ "rules": rules }))
}

#[test]
fn what_is_hidden_is_not_changed_and_answers_as_what_is_absent() {
    let folders = json!({ "work": [ladder("INBOX"), folder("Target", "METADATA", &ALL)] });
    let house = House::new(&["Target"], &[("agent", folders)]);
    for domain in ["none", "count", "metadata", "full"] {
        house.deliver("INBOX", &format!("{domain}.example"));
    }
    let before = house.world();
    let mut agent = house.client("agent");
    let mut first = Vec::new();
    // Twice: once before anything is known of the folder, once after.
    for uid in [1, 2, 99, 1, 2, 99] {
        let answers =
            house
                .every_change("INBOX", uid, "Target")
                .into_iter()
                .map(|(tool, arguments)| {
                    let answer = ask(&mut agent, tool, arguments);
                    assert_eq!(
                        answer.words, "DENY message_not_visible",
                        "{tool} {uid}: {}",
                        answer.all
                    );
                    told(&answer, uid)
                });
        let answers: Vec<Value> = answers.collect();
        match first.is_empty() {
            true => first = answers,
            false => assert_eq!(answers, first, "uid {uid}"),
        }
        same(&house.world(), &before, &format!("uid {uid}"));
    }
    for (tool, arguments) in house.every_change("INBOX", 3, "Target") {
        let answer = ask(&mut agent, tool, arguments);
        let gone =
            tool == "imap_copy_message" || tool == "imap_move_message" || tool.contains("update");
        let want = if gone {
            "DENY message_not_visible"
        } else {
            "ok done"
        };
        assert_eq!(answer.words, want, "{tool} after the move: {}", answer.all);
    }
}

#[test]
fn where_its_caller_sees_nothing_a_message_has_no_number() {
    let dark = folder("Dark", "NONE", &["accept_incoming", "draft_append"]);
    let mixed = json!({ "rules": [{ "match": { "from_domain": "evil.example" }, "cap": "NONE" }] });
    let folders = json!({ "work": [
        folder("INBOX", "FULL", &ALL),
        with(folder("Mixed", "FULL", &ALL), mixed),
        dark,
    ] });
    let house = House::new(&["Dark", "Mixed"], &[("agent", folders)]);
    for _ in 0..6 {
        house.deliver("INBOX", "good.example");
    }
    house.deliver("Mixed", "good.example");
    let mut agent = house.client("agent");
    let hidden = |answer: &Answer, what: &str| {
        assert_eq!(answer.words, "ok done", "{what}: {}", answer.all);
        for name in ["new_message_id", "new_uid", "new_uidvalidity"] {
            assert_eq!(answer.data[name], Value::Null, "{what}: {}", answer.data);
        }
    };
    for (uid, target) in [(1, "Dark"), (2, "Mixed")] {
        let to = json!({ "target_folder": target });
        let copied = ask(&mut agent, "copy", house.at("INBOX", uid, to.clone()));
        hidden(&copied, "copy");
        let to_there =
            json!({ "message_id": house.id("INBOX", uid), "destination_mailbox": target });
        hidden(
            &ask(&mut agent, "imap_copy_message", to_there),
            "imap_copy_message",
        );
        // The copy is its maker's to take away, wherever it is.
        let undo = json!({ "transaction_id": copied.id() });
        let undone = ask(&mut agent, "undo_transaction", undo);
        hidden(&undone, "undo of a copy");
        let keyed = with(to, json!({ "idempotency_key": format!("k{uid}") }));
        let moved = house.at("INBOX", uid, keyed);
        let first = ask(&mut agent, "move", moved.clone());
        hidden(&first, "move");
        let again = ask(&mut agent, "move", moved);
        assert_eq!(again.data, with(first.data, json!({ "repeated": true })));
        let change = |agent: &mut McpClient, by: Value| {
            let status = ask(agent, "get_transaction_status", by);
            status.data["change"].clone()
        };
        let moved = change(&mut agent, json!({ "idempotency_key": format!("k{uid}") }));
        assert_eq!(moved["message_id"], house.id("INBOX", uid), "{moved}");
        assert_eq!(moved["target_mailbox"], target, "{moved}");
        assert!(moved.get("new_message_id").is_none(), "{moved}");
        // An undoing begins where the copy lay, of which its maker was told no number.
        let taken = change(&mut agent, json!({ "transaction_id": undone.id() }));
        assert_eq!(taken["undoes"], copied.id(), "{taken}");
        assert!(taken.get("message_id").is_none(), "{taken}");
    }
    let to = json!({ "message_id": house.id("INBOX", 3), "destination_mailbox": "Dark" });
    let there = ask(&mut agent, "imap_move_message", to);
    hidden(&there, "imap_move_message");
    // It is out of sight now, and so out of reach.
    let undo = ask(
        &mut agent,
        "undo_transaction",
        json!({ "transaction_id": there.id() }),
    );
    assert!(undo.words.starts_with("DENY"), "{}", undo.all);

    for (folder, told) in [("Dark", false), ("Mixed", false), ("INBOX", true)] {
        let draft = json!({ "account_id": "work", "folder": folder, "body": "x" });
        let draft = ask(&mut agent, "create_draft", draft);
        assert_eq!(draft.words, "ok done", "{}", draft.all);
        assert_eq!(
            draft.data["uid"].is_number(),
            told,
            "{folder}: {}",
            draft.data
        );
    }
    // Back into a folder of which something is hidden: no number either.
    let out = house.at("Mixed", 1, json!({ "target_folder": "INBOX" }));
    let out = ask(&mut agent, "move", out);
    assert_eq!(out.words, "ok done", "{}", out.all);
    assert!(out.data["new_uid"].is_number(), "{}", out.data);
    let back = ask(
        &mut agent,
        "undo_transaction",
        json!({ "transaction_id": out.id() }),
    );
    hidden(&back, "undo of a move");
}
