//! Labels under a policy: one that is hidden is in no answer.

use serde_json::{Value, json};
use testkit::Gmail;
use testkit::gmail::{Language, PASSWORD, Place, USER};

use super::{folder, seen, work};
use crate::changes::ask;
use crate::directory::Directory;
use crate::support::{Look, note};
use crate::threads::letters::{Letter, day};

const CALLERS: &str = "\
callers:
  - id: agent
    policy: some
    auth: { type: stdio_trusted }
    toolsets: [imap, threads, gateway]
";

pub(crate) fn directory(gmail: &Gmail, policy: &str) -> Directory {
    let directory = Directory::new(gmail.port(), gmail.port());
    directory.write(
        "accounts.yaml",
        &format!(
            "secret_store: {{ backend: file_dir, path: secrets }}\nwal: {{ path: state/wal.db }}\naccounts:\n  \
             - id: default\n    provider: google\n    host: 127.0.0.1\n    port: {}\n    tls: none\n    \
             auth: {{ type: password, user: {USER}, secret_ref: secret://password }}\n",
            gmail.port()
        ),
    );
    directory.write("callers.yaml", CALLERS);
    directory.secret("secrets/password", PASSWORD);
    directory.policy(&format!("  default:\n{policy}"));
    directory
}

const SOME: &str = "
    - { path: INBOX, mode: blacklist, default: FULL, move_out: true, accept_incoming: true }
    - { path: Work, mode: blacklist, default: METADATA, move_out: true, accept_incoming: true }
    - { path: '[Gmail]/Trash', mode: blacklist, default: METADATA }
";

#[test]
fn a_label_that_is_hidden_is_in_no_list_and_no_answer() {
    for language in [Language::English, Language::German] {
        let gmail = Gmail::builder()
            .language(language)
            .labels(&["Work", "Secret"])
            .start();
        let secret = Place::label("Secret");
        let one = gmail.deliver(&[Place::Inbox, secret.clone()], note("one", "x"));
        let hidden = gmail.deliver(&[secret], note("hidden", "x"));
        let directory = directory(&gmail, SOME);
        let mut client = directory.client("agent");
        let labels = client.call("list_labels", json!({ "account_id": "default" }));
        let names: Vec<Value> = labels.data("/labels").as_array().unwrap().clone();
        let want = json!([
            { "name": "INBOX", "flags": [] },
            { "name": "Work", "flags": [] },
            { "name": "[Gmail]/Trash", "flags": ["\\trash"] },
        ]);
        let mut sorted = names.clone();
        sorted.sort_by_key(|one| one["name"].to_string());
        assert_eq!(json!(sorted), want, "{language:?}");
        assert_eq!(labels.number("/hidden_labels_count"), 7, "{language:?}");
        let page = client.call("search", folder("INBOX", json!({})));
        assert_eq!(page.text("/messages/0/gm_msgid"), one.to_string());
        // Where it lies in All Mail is said though All Mail is not open.
        let number = u64::from(gmail.uid(&Place::All, one).unwrap());
        assert_eq!(page.number("/messages/0/canonical_all_mail_uid"), number);
        for (tool, arguments) in [
            ("search", folder("Secret", json!({}))),
            ("search", folder("[Gmail]/All Mail", json!({}))),
            ("search", folder(&gmail.name(&Place::All), json!({}))),
        ] {
            let answer = ask(&mut client, tool, arguments.clone());
            assert_eq!(answer.words, "DENY folder_hidden", "{arguments}");
        }
        let all = [labels.text.clone(), page.text.clone()].join("\n");
        assert!(!all.contains("Secret"), "{all}");
        assert!(!all.contains(&hidden.to_string()), "{all}");
    }
}

#[test]
fn gmails_own_search_needs_all_of_an_account() {
    let gmail = Gmail::builder().labels(&["Work", "Secret"]).start();
    let secret = Place::label("Secret");
    gmail.deliver(&[Place::Inbox, work(), secret], note("bill", "pay"));
    let closed = directory(&gmail, SOME);
    let mut client = closed.client("agent");
    for words in ["pay", "label:secret", "label:nothing", "in:trash"] {
        let criteria = json!({ "criteria": { "gm_raw": words } });
        for name in ["INBOX", "Work"] {
            let refused = ask(&mut client, "search", folder(name, criteria.clone()));
            assert_eq!(refused.words, "DENY visibility_below_FULL", "{words}");
            assert!(refused.text.contains("every folder"), "{}", refused.text);
        }
    }
    let asked = gmail.commands();
    assert!(!asked.iter().any(|one| one.contains("X-GM-RAW")));
    // A rule that hides some messages closes a folder for it; one folder that is not FULL closes the account.
    let names = client_names(&gmail);
    for (last, want) in [
        ("mode: blacklist, default: FULL", "ok"),
        (
            "mode: blacklist, default: BODY",
            "DENY visibility_below_FULL",
        ),
        (
            "mode: blacklist, default: FULL, rules: [{ match: { from_domain: example.org }, cap: NONE }]",
            "DENY visibility_below_FULL",
        ),
    ] {
        let line = |name: &String| match name.as_str() {
            "Secret" => format!("    - {{ path: Secret, {last} }}\n"),
            _ => format!("    - {{ path: '{name}', mode: blacklist, default: FULL }}\n"),
        };
        let open: String = names.iter().map(line).collect();
        let opened = directory(&gmail, &format!("\n{open}"));
        let mut client = opened.client("agent");
        let criteria = json!({ "criteria": { "gm_raw": "label:secret" } });
        let page = ask(&mut client, "search", folder("INBOX", criteria));
        assert_eq!(page.words, want, "{last}: {}", page.text);
    }
}

/// All that the account shows.
fn client_names(gmail: &Gmail) -> Vec<String> {
    let mut owner = super::Owner::of(gmail);
    let listed = owner.client.call("imap_list_mailboxes", json!({}));
    let listed = listed.data("/mailboxes");
    let names = listed.as_array().unwrap().iter();
    names
        .map(|one| one["name"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn a_policy_in_the_owners_language_opens_nothing() {
    let gmail = Gmail::builder().language(Language::German).start();
    gmail.deliver(&[Place::Trash], note("one", "x"));
    let theirs = gmail.name(&Place::Trash);
    for (path, want) in [
        (theirs.as_str(), "DENY folder_hidden"),
        ("[Gmail]/Trash", "ok"),
    ] {
        let open = format!("\n    - {{ path: '{path}', mode: blacklist, default: FULL }}\n");
        let directory = directory(&gmail, &open);
        for name in [theirs.as_str(), "[Gmail]/Trash"] {
            let mut client = directory.client("agent");
            let answer = ask(&mut client, "search", folder(name, json!({})));
            assert_eq!(answer.words, want, "{path} {name}: {}", answer.text);
        }
    }
}

#[test]
fn the_name_of_a_conversation_is_told_with_the_header_and_not_before() {
    let gmail = Gmail::builder().labels(&["Work"]).start();
    let one = gmail.deliver(&[Place::Inbox, work()], note("one", "x"));
    for (level, told) in [("METADATA", false), ("ENVELOPE", false), ("HEADERS", true)] {
        let open = format!("\n    - {{ path: INBOX, mode: blacklist, default: {level} }}\n");
        let directory = directory(&gmail, &open);
        let mut client = directory.client("agent");
        for (tool, arguments) in [
            ("search", folder("INBOX", json!({}))),
            ("imap_search_messages", json!({ "mailbox": "INBOX" })),
        ] {
            let page = ask(&mut client, tool, arguments);
            let line = &page.data["messages"][0];
            assert_eq!(line["gm_msgid"], one.to_string(), "{tool} {level}");
            assert!(line["canonical_all_mail_uid"].is_u64(), "{tool} {level}");
            assert_eq!(line.get("gm_thrid").is_some(), told, "{tool} {level}");
        }
    }
}

#[test]
fn threads_hold_nothing_of_a_hidden_label_and_the_most_open_copy_of_the_rest() {
    let gmail = Gmail::builder().labels(&["Work", "Secret"]).start();
    let letter = |number: u64, parents: &[&str]| {
        Letter::new(&format!("turn{number}@talk.example"))
            .after(parents)
            .on(day(number))
            .says(&format!("Turn {number}."))
            .delivery()
    };
    gmail.deliver_as(&[Place::Inbox, work()], &letter(0, &[]));
    gmail.deliver_as(&[work()], &letter(1, &["turn0@talk.example"]));
    gmail.deliver_as(
        &[Place::label("Secret")],
        &letter(2, &["turn0@talk.example", "turn1@talk.example"]),
    );
    let open = "
    - { path: INBOX, mode: blacklist, default: HEADERS }
    - { path: Work, mode: blacklist, default: FULL }
";
    let directory = directory(&gmail, open);
    let mut client = directory.client("agent");
    gmail.reset_record();
    let read = client.call("read_thread", json!({ "message_id": "turn0@talk.example" }));
    assert_eq!(read.number("/thread_size"), 2, "{}", read.text);
    assert!(read.text.contains("Turn 0."), "{}", read.text);
    assert!(!read.text.contains("Turn 2."), "{}", read.text);
    let opened = gmail.commands();
    let hidden = |one: &&String| one.contains("Secret") || one.contains("All Mail");
    let examined = opened.iter().filter(|one| one.starts_with("EXAMINE"));
    assert_eq!(examined.filter(hidden).count(), 0, "{opened:?}");
}

#[test]
fn all_mail_stands_for_labels_that_show_no_more_than_it_does() {
    let gmail = Gmail::builder().labels(&["Work", "Other"]).start();
    let letter = |number: u64| {
        Letter::new(&format!("turn{number}@talk.example"))
            .on(day(number))
            .says(&format!("Turn {number}."))
            .delivery()
    };
    gmail.deliver_as(&[Place::Inbox, work()], &letter(0));
    for other in ["FULL", "HEADERS"] {
        let open = format!(
            "
    - {{ path: INBOX, mode: blacklist, default: FULL }}
    - {{ path: Work, mode: blacklist, default: BODY }}
    - {{ path: '[Gmail]/All Mail', mode: blacklist, default: FULL }}
    - {{ path: Other, mode: blacklist, default: {other} }}
"
        );
        let directory = directory(&gmail, &open);
        let mut client = directory.client("agent");
        gmail.reset_record();
        let read = client.call("read_email", json!({ "message_id": "turn0@talk.example" }));
        assert!(read.text.contains("Turn 0."), "{}", read.text);
        let said = gmail.commands();
        let examined = said.iter().filter_map(|one| one.strip_prefix("EXAMINE "));
        let mut examined: Vec<&str> = examined.map(|one| one.trim_matches('"')).collect();
        examined.dedup();
        assert_eq!(examined, ["[Gmail]/All Mail"], "{other}");
    }
    // Where a label may show more, it is searched as well.
    let open = "
    - { path: INBOX, mode: blacklist, default: FULL }
    - { path: '[Gmail]/All Mail', mode: blacklist, default: HEADERS }
";
    let directory = directory(&gmail, open);
    let mut client = directory.client("agent");
    let read = client.call("read_email", json!({ "message_id": "turn0@talk.example" }));
    assert!(read.text.contains("Turn 0."), "{}", read.text);
}

#[test]
fn moves_under_a_policy_need_what_they_need_anywhere() {
    let gmail = Gmail::builder().labels(&["Work", "Secret"]).start();
    let one = gmail.deliver(&[Place::Inbox], note("one", "x"));
    let directory = directory(&gmail, SOME);
    let mut client = directory.client("agent");
    let uid = gmail.uid(&Place::Inbox, one).unwrap();
    let mut go = |to: &str| {
        let arguments = json!({ "uid": uid, "target_folder": to });
        ask(&mut client, "move", folder("INBOX", arguments))
    };
    for to in ["Secret", "[Gmail]/All Mail", "Nowhere"] {
        assert_eq!(go(to).words, "DENY folder_hidden", "{to}");
    }
    assert_eq!(go("[Gmail]/Trash").words, "DENY capability_missing");
    let answer = go("Work");
    assert_eq!(answer.words, "ok done", "{}", answer.text);
    assert_eq!(seen(&gmail, one), [Place::All, work()]);
}
