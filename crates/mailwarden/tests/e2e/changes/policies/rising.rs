//! Nothing goes where its caller would see more of it: every pair of levels, and rules that decide by facts.

use serde_json::{Value, json};
use testkit::Delivery;

use super::house::{ALL, House, folder};
use crate::changes::{ask, same, with};

const LEVELS: [&str; 7] = [
    "NONE", "COUNT", "METADATA", "ENVELOPE", "HEADERS", "BODY", "FULL",
];

#[test]
fn every_pair_of_levels_lets_mail_go_down_and_never_up() {
    let folders: Vec<Value> = LEVELS
        .iter()
        .map(|level| folder(level, level, &ALL))
        .collect();
    let house = House::new(&LEVELS, &[("agent", json!({ "work": folders }))]);
    LEVELS
        .iter()
        .for_each(|level| house.deliver(level, "good.example"));
    let mut agent = house.client("agent");
    let mut copies = 0;
    let before = house.world();
    for (from, here) in LEVELS.iter().enumerate() {
        for (to, there) in LEVELS.iter().enumerate().filter(|(to, _)| *to != from) {
            let want = match (from < 2, to > from) {
                (true, _) => "DENY visibility_below_METADATA",
                (false, true) => "DENY visibility_would_rise",
                (false, false) => "ok done",
            };
            let by_parts = house.at(here, 1, json!({ "target_folder": there }));
            let by_name = json!({ "message_id": house.id(here, 1), "destination_mailbox": there });
            for (tool, arguments) in [
                ("copy", by_parts.clone()),
                ("imap_copy_message", by_name.clone()),
            ] {
                let answer = ask(&mut agent, tool, arguments);
                assert_eq!(
                    answer.words, want,
                    "{tool} {here} to {there}: {}",
                    answer.all
                );
                copies += usize::from(want == "ok done");
            }
            if want == "ok done" {
                continue;
            }
            for (tool, arguments) in [("move", by_parts), ("imap_move_message", by_name)] {
                let answer = ask(&mut agent, tool, arguments);
                assert_eq!(
                    answer.words, want,
                    "{tool} {here} to {there}: {}",
                    answer.all
                );
            }
        }
    }
    assert_eq!(house.world().len(), before.len() + copies);
    for level in LEVELS {
        let mut imap = house.server.login("alice", "secret");
        let all = testkit::world::list(&mut imap, "work", level);
        assert_eq!(all[0].uid, 1, "what was there is still there: {level}");
    }
}

fn whitelist(path: &str, rules: Value) -> Value {
    with(folder(path, "NONE", &ALL), json!({ "rules": rules }))
}

fn blacklist(path: &str, default: &str, rules: Value) -> Value {
    with(folder(path, default, &ALL), json!({ "rules": rules }))
}

#[test]
fn rules_decide_by_the_facts_of_the_message() {
    let good = json!({ "from_domain": "good.example" });
    let folders = json!({ "work": [
        folder("INBOX", "ENVELOPE", &ALL),
        whitelist("Good", json!([{ "match": good, "grant": "FULL" }])),
        whitelist("Small", json!([{ "match": { "size_lt": 100_000 }, "grant": "BODY" }])),
        whitelist("Large", json!([{ "match": { "size_gt": 100_000 }, "grant": "BODY" }])),
        whitelist("Subject", json!([{ "match": { "subject_contains": "inbox" }, "grant": "BODY" }])),
        blacklist("NotGood", "FULL", json!([{ "match": good, "cap": "METADATA" }])),
        blacklist("NotLarge", "FULL", json!([{ "match": { "size_gt": 100_000 }, "cap": "NONE" }])),
    ] });
    let names = ["Good", "Small", "Large", "Subject", "NotGood", "NotLarge"];
    let house = House::new(&names, &[("agent", folders)]);
    house.deliver("INBOX", "good.example");
    house.deliver("INBOX", "other.example");
    let unknown = b"From: nobody in particular\r\nSubject: who\r\n\r\ntext\r\n";
    house.server.deliver("alice", "INBOX", unknown);
    let mut agent = house.client("agent");
    let rises = "DENY visibility_would_rise";
    for (uid, target, want) in [
        (1, "Good", rises),
        (2, "Good", "ok done"),
        // Who wrote it cannot be told, so it may turn out to be who is trusted.
        (3, "Good", rises),
        (1, "Small", rises),
        (1, "Large", "ok done"),
        (1, "Subject", rises),
        (3, "Subject", "ok done"),
        (1, "NotGood", "ok done"),
        (2, "NotGood", rises),
        (3, "NotGood", rises),
        (1, "NotLarge", rises),
    ] {
        let before = house.world();
        // What is let go is copied, and stays for the next row.
        let tools = match want == rises {
            true => &["copy", "imap_copy_message", "move", "imap_move_message"][..],
            false => &["copy", "imap_copy_message"],
        };
        for tool in tools {
            let arguments = match tool.starts_with("imap_") {
                true => {
                    json!({ "message_id": house.id("INBOX", uid), "destination_mailbox": target })
                }
                false => house.at("INBOX", uid, json!({ "target_folder": target })),
            };
            let answer = ask(&mut agent, tool, arguments);
            assert_eq!(
                answer.words, want,
                "{tool} {uid} to {target}: {}",
                answer.all
            );
        }
        match want == rises {
            true => same(&house.world(), &before, target),
            false => assert_eq!(house.world().len(), before.len() + 2, "{target}"),
        }
    }
}

#[test]
fn refused_copy_tells_no_fact_that_its_caller_does_not_see() {
    let rule = |test: Value| json!([{ "match": test, "grant": "FULL" }]);
    let folders = json!({ "work": [
        folder("INBOX", "METADATA", &ALL),
        whitelist("Sender", rule(json!({ "from_domain": "good.example" }))),
        whitelist("Subject", rule(json!({ "subject_contains": "inbox" }))),
        whitelist("Attached", rule(json!({ "has_attachment": true }))),
        blacklist("NotSubject", "FULL", json!([
            { "match": { "subject_contains": "inbox" }, "cap": "METADATA" },
        ])),
        whitelist("Large", rule(json!({ "size_gt": 100_000 }))),
        whitelist("LargeSubject", rule(json!({ "size_gt": 100_000, "subject_contains": "inbox" }))),
    ] });
    let names = [
        "Sender",
        "Subject",
        "Attached",
        "NotSubject",
        "Large",
        "LargeSubject",
    ];
    let house = House::new(&names, &[("agent", folders)]);
    house.deliver("INBOX", "good.example");
    let other = b"From: x@other.example\r\nSubject: something else\r\n\r\ntext\r\n";
    house.server.deliver("alice", "INBOX", other);
    let mut agent = house.client("agent");
    for (target, want) in [
        ("Sender", "DENY visibility_would_rise"),
        ("Subject", "DENY visibility_would_rise"),
        ("Attached", "DENY visibility_would_rise"),
        ("NotSubject", "DENY visibility_would_rise"),
        ("LargeSubject", "DENY visibility_would_rise"),
        // Sizes are seen at METADATA.
        ("Large", "ok done"),
    ] {
        for uid in [1, 2] {
            let arguments = house.at("INBOX", uid, json!({ "target_folder": target }));
            let answer = ask(&mut agent, "copy", arguments);
            assert_eq!(answer.words, want, "{uid} to {target}: {}", answer.all);
        }
    }
}

#[test]
fn time_is_no_way_up_either() {
    let rule =
        |when: &str, what: &str, level: &str| json!([{ "match": { when: "30d" }, what: level }]);
    let folders = json!({ "work": [
        folder("INBOX", "ENVELOPE", &ALL),
        whitelist("ShowsOld", rule("older_than", "grant", "FULL")),
        whitelist("ShowsNew", rule("newer_than", "grant", "FULL")),
        blacklist("HidesOld", "FULL", rule("older_than", "cap", "METADATA")),
        blacklist("HidesNew", "FULL", rule("newer_than", "cap", "METADATA")),
        whitelist("ShowsOldNoMore", rule("older_than", "grant", "ENVELOPE")),
        blacklist("HidesNewOfLittle", "ENVELOPE", rule("newer_than", "cap", "NONE")),
    ] });
    let names = [
        "ShowsOld",
        "ShowsNew",
        "HidesOld",
        "HidesNew",
        "ShowsOldNoMore",
        "HidesNewOfLittle",
    ];
    let house = House::new(&names, &[("agent", folders)]);
    let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs();
    let mut imap = house.server.login("alice", "secret");
    // One that came just now and will be old, and one that is.
    for arrived in [now, now - 400 * 86_400] {
        let raw = "From: anna@good.example\r\nSubject: x\r\n\r\ntext\r\n";
        imap.append("INBOX", &Delivery::new(raw).at(arrived));
    }
    let mut agent = house.client("agent");
    for uid in [1, 2] {
        for target in names {
            let before = house.world();
            let want = match target {
                "ShowsOldNoMore" | "HidesNewOfLittle" => "ok done",
                _ => "DENY visibility_would_rise",
            };
            let id = json!({ "message_id": house.id("INBOX", uid), "destination_mailbox": target });
            let at = house.at("INBOX", uid, json!({ "target_folder": target }));
            let calls = [
                ("copy", &at),
                ("imap_copy_message", &id),
                ("move", &at),
                ("imap_move_message", &id),
            ];
            let most = if want == "ok done" { 2 } else { 4 };
            for (tool, arguments) in calls.into_iter().take(most) {
                let answer = ask(&mut agent, tool, arguments.clone());
                assert_eq!(
                    answer.words, want,
                    "{tool} {uid} to {target}: {}",
                    answer.all
                );
            }
            match want == "ok done" {
                true => assert_eq!(house.world().len(), before.len() + 2, "{uid} {target}"),
                false => same(&house.world(), &before, target),
            }
        }
    }
}

#[test]
fn undoing_is_no_way_up_either() {
    let folders =
        json!({ "work": [folder("Low", "METADATA", &ALL), folder("High", "FULL", &ALL)] });
    let house = House::new(&["Low", "High"], &[("agent", folders)]);
    house.deliver("High", "good.example");
    let mut agent = house.client("agent");
    let down = house.at("High", 1, json!({ "target_folder": "Low" }));
    let down = ask(&mut agent, "move", down);
    assert_eq!(down.words, "ok done", "{}", down.all);
    let before = house.world();
    let up = ask(
        &mut agent,
        "undo_transaction",
        json!({ "transaction_id": down.id() }),
    );
    assert_eq!(up.words, "DENY visibility_would_rise", "{}", up.all);
    same(&house.world(), &before, "undo");
}
