//! What it takes to make a change, where the message is and where it goes, and which tools there are without it.

use serde_json::{Value, json};

use super::house::{ALL, House, folder};
use crate::changes::{ask, listed, same};

#[test]
fn each_change_needs_its_capability_here_and_there() {
    let folders = json!({ "work": [
        folder("INBOX", "FULL", &[]),
        folder("Able", "FULL", &ALL),
        folder("Seen", "FULL", &["mark_seen"]),
        folder("Target", "FULL", &["accept_incoming"]),
    ] });
    let house = House::new(
        &["Able", "Seen", "Target", "Elsewhere"],
        &[("agent", folders)],
    );
    for folder in ["INBOX", "Able", "Seen"] {
        house.deliver(folder, "good.example");
    }
    let mut agent = house.client("agent");
    let before = house.world();
    let missing = "DENY capability_missing";
    let to = |folder: &str| json!({ "target_folder": folder });
    let mut rows: Vec<(&str, Value, &str)> = vec![
        ("mark_seen", house.at("INBOX", 1, json!({})), missing),
        (
            "mark_tagged",
            house.at("Seen", 1, json!({ "tags": ["a"] })),
            missing,
        ),
        ("copy", house.at("Able", 1, to("INBOX")), missing),
        ("move", house.at("INBOX", 1, to("Able")), missing),
        ("move", house.at("Able", 1, to("Seen")), missing),
        (
            "create_draft",
            json!({ "account_id": "work", "folder": "Target", "body": "x" }),
            missing,
        ),
        (
            "imap_copy_message",
            json!({ "message_id": house.id("Able", 1), "destination_mailbox": "Seen" }),
            missing,
        ),
        (
            "imap_move_message",
            json!({ "message_id": house.id("Seen", 1), "destination_mailbox": "Target" }),
            missing,
        ),
        (
            "imap_move_message",
            json!({ "message_id": house.id("Able", 1), "destination_mailbox": "Seen" }),
            missing,
        ),
        // Folders and accounts that the policy does not name are not there.
        (
            "copy",
            house.at("Able", 1, to("Elsewhere")),
            "DENY folder_hidden",
        ),
        (
            "copy",
            house.at("Able", 1, to("Nowhere")),
            "DENY folder_hidden",
        ),
        (
            "copy",
            house.at(
                "Able",
                1,
                json!({ "target_folder": "Target", "target_account_id": "private" }),
            ),
            "DENY account_hidden",
        ),
        (
            "copy",
            house.at(
                "Able",
                1,
                json!({ "target_folder": "Target", "target_account_id": "nobody" }),
            ),
            "DENY account_hidden",
        ),
        (
            "mark_seen",
            house.at("Elsewhere", 1, json!({})),
            "DENY folder_hidden",
        ),
        (
            "create_draft",
            json!({ "account_id": "private", "folder": "Drafts", "body": "x" }),
            "DENY account_hidden",
        ),
    ];
    // Each flag by itself, and all of them or none.
    for (flags, words) in [
        (json!(["\\Seen"]), "ok done"),
        (json!(["\\Flagged"]), missing),
        (json!(["keyword"]), missing),
        (json!(["\\Seen", "keyword"]), missing),
    ] {
        let arguments = json!({ "message_id": house.id("Seen", 1), "remove_flags": flags });
        rows.push(("imap_update_message_flags", arguments, words));
    }
    for (tool, arguments, want) in rows {
        let answer = ask(&mut agent, tool, arguments.clone());
        assert_eq!(answer.words, want, "{tool} {arguments}: {}", answer.all);
        same(&house.world(), &before, &format!("{tool} {arguments}"));
    }
    for (tool, arguments) in [
        ("mark_seen", house.at("Seen", 1, json!({}))),
        ("copy", house.at("INBOX", 1, to("Target"))),
        ("move", house.at("Able", 1, to("Target"))),
        (
            "create_draft",
            json!({ "account_id": "work", "folder": "Able", "body": "x" }),
        ),
    ] {
        let answer = ask(&mut agent, tool, arguments);
        assert_eq!(answer.words, "ok done", "{tool}: {}", answer.all);
    }
}

#[test]
fn tools_are_there_for_who_has_a_use_for_them() {
    let always = ["undo_transaction", "get_transaction_status"];
    let rows: [(&[&str], &[&str]); 7] = [
        (&[], &[]),
        (&["mark_seen"], &["mark_seen", "imap_update_message_flags"]),
        (
            &["mark_tagged"],
            &["mark_tagged", "imap_update_message_flags"],
        ),
        (&["move_out"], &[]),
        (&["accept_incoming"], &["copy", "imap_copy_message"]),
        (
            &["move_out", "accept_incoming"],
            &["copy", "imap_copy_message", "move", "imap_move_message"],
        ),
        (&["draft_append"], &["create_draft"]),
    ];
    let names: Vec<String> = (0..rows.len()).map(|nth| format!("caller{nth}")).collect();
    let callers: Vec<(&str, Value)> = names
        .iter()
        .zip(&rows)
        .map(|(name, (given, _))| {
            (
                name.as_str(),
                json!({ "work": [folder("INBOX", "FULL", given)] }),
            )
        })
        .collect();
    let house = House::new(&[], &callers);
    let changing: Vec<&str> = gateway::ALL
        .iter()
        .filter(|tool| !tool.annotations().read_only || tool.name() == "get_transaction_status")
        .map(|tool| tool.name())
        .collect();
    for (name, (given, tools)) in names.iter().zip(rows) {
        let mut client = house.client(name);
        let mut there = listed(&mut client);
        there.retain(|tool| changing.contains(&tool.as_str()));
        there.sort_unstable();
        let mut want = tools.to_vec();
        if !given.is_empty() {
            want.extend(always);
        }
        want.sort_unstable();
        assert_eq!(there, want, "{given:?}");
        // A tool that is not listed is denied, and only the owner may delete.
        for tool in changing.iter().filter(|tool| !want.contains(tool)) {
            let answer = ask(&mut client, tool, json!({}));
            assert_eq!(
                answer.words, "DENY capability_missing",
                "{tool}: {}",
                answer.text
            );
        }
    }
}

#[test]
fn reserved_flags_are_nobodys_however_they_are_spelled() {
    let folders = json!({ "work": [folder("INBOX", "FULL", &ALL)] });
    let house = House::new(&[], &[("agent", folders)]);
    house.deliver("INBOX", "good.example");
    let mut agent = house.client("agent");
    let before = house.world();
    for flag in [
        "\\Deleted",
        "\\deleted",
        "\\DELETED",
        "\\dElEtEd",
        "\\Draft",
        "\\answered",
        "\\Important",
        "\\X",
    ] {
        for action in ["add", "remove", "replace"] {
            for tags in [json!([flag]), json!(["fine", flag])] {
                let arguments = house.at("INBOX", 1, json!({ "tags": tags, "action": action }));
                let answer = ask(&mut agent, "mark_tagged", arguments);
                assert_eq!(
                    answer.words, "DENY forbidden_system_flag",
                    "{flag} {action}"
                );
            }
        }
        for list in ["add_flags", "remove_flags"] {
            let mut arguments = json!({ "message_id": house.id("INBOX", 1) });
            arguments[list] = json!(["fine", flag]);
            let answer = ask(&mut agent, "imap_update_message_flags", arguments);
            assert_eq!(answer.words, "DENY forbidden_system_flag", "{flag} {list}");
        }
    }
    for flag in ["\\Seen", "\\SEEN", "\\Recent"] {
        let arguments = house.at("INBOX", 1, json!({ "tags": [flag] }));
        let answer = ask(&mut agent, "mark_tagged", arguments);
        assert_eq!(
            answer.words, "DENY forbidden_system_flag",
            "{flag} has a tool of its own"
        );
    }
    for flag in [
        "\\Deleted ",
        " \\Deleted",
        "a \\Deleted",
        "\\Deleted)",
        "\\Deleted\r\n",
        "\\\\Deleted",
        "\\Dele\u{0}ted",
    ] {
        let arguments = house.at("INBOX", 1, json!({ "tags": [flag] }));
        let answer = ask(&mut agent, "mark_tagged", arguments);
        assert!(
            answer.words.starts_with("-32602 invalid_input"),
            "{flag:?}: {}",
            answer.text
        );
        let arguments = json!({ "message_id": house.id("INBOX", 1), "add_flags": [flag] });
        let answer = ask(&mut agent, "imap_update_message_flags", arguments);
        assert!(
            answer.words.starts_with("-32602 invalid_input"),
            "{flag:?}: {}",
            answer.text
        );
    }
    same(&house.world(), &before, "reserved flags");
    // One that only looks like it is a keyword like any other.
    let arguments = house.at("INBOX", 1, json!({ "tags": ["Deleted", "\\FLAGGED"] }));
    let answer = ask(&mut agent, "mark_tagged", arguments);
    assert_eq!(answer.words, "ok done", "{}", answer.all);
    let item = before.items().next().unwrap();
    let want = before
        .without(item)
        .with(item.flagged(&["Deleted", "\\Flagged"]));
    same(&house.world(), &want, "keywords");
}
