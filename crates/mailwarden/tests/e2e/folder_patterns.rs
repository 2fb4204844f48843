//! Patterns in the paths of a policy (`*`, `INBOX/*`), over a real server and by every tool.

use serde_json::{Value, json};
use testkit::gmail::Language;
use testkit::mcp::CallOutcome;
use testkit::{Dovecot, Gmail, McpClient};

use crate::directory::{CALLERS, Directory, accounts};
use crate::support::{Look, uidvalidity};

const TOOLSETS: &str = "toolsets: [imap, threads, gateway]\n    policy: some\n";

/// The account `work` under this policy, with a ledger.
fn directory(server: &Dovecot, folders: &str) -> Directory {
    let directory = Directory::new(server.port(), server.port());
    let text = accounts(&[("work", server.port())]) + "wal: { path: state/wal.db }\n";
    directory.write("accounts.yaml", &text);
    directory.write("callers.yaml", &CALLERS.replace("policy: some\n", TOOLSETS));
    directory.policy(&format!("  work:\n{folders}"));
    directory
}

fn deliver(server: &Dovecot, folder: &str, name: &str, answers: &str) {
    let raw = format!(
        "From: Anna <anna@x.example>\r\nTo: alice@example.org\r\nSubject: {name}\r\n\
         Date: Tue, 3 Nov 2026 09:12:00 +0100\r\nMessage-ID: <{name}@x>\r\n{answers}\r\n\
         text of {name}\r\n"
    );
    server.deliver("alice", folder, raw.as_bytes());
}

fn at(folder: &str, more: Value) -> Value {
    let mut arguments = json!({ "account_id": "work", "folder": folder });
    for (key, value) in more.as_object().unwrap() {
        arguments[key] = value.clone();
    }
    arguments
}

/// The reason of a denial; "ok" where there is none.
fn reason(outcome: &CallOutcome) -> String {
    match outcome.is_error {
        true => outcome.text("/reason"),
        false => "ok".to_owned(),
    }
}

/// What was told, without what differs from call to call.
fn told(outcome: &CallOutcome) -> Value {
    let mut all = outcome.structured.clone();
    for key in ["request_id", "now_utc", "duration_ms", "receipt"] {
        all["meta"].as_object_mut().unwrap().remove(key);
    }
    json!([all, outcome.text, outcome.is_error])
}

fn names(outcome: &CallOutcome, list: &str, field: &str) -> Vec<String> {
    let each = outcome.data(list);
    let each = each.as_array().unwrap().iter();
    each.map(|one| one[field].as_str().unwrap().to_owned())
        .collect()
}

/// One call of each kind about a folder, each with its tool.
fn every_call(client: &mut McpClient, folder: &str) -> Vec<(&'static str, CallOutcome)> {
    let one = |more: Value| at(folder, more);
    let into = at("INBOX", json!({ "uid": 1, "target_folder": folder }));
    let draft = json!({ "to": ["bob@x.example"], "subject": "s", "body": "b" });
    let calls = [
        ("search", one(json!({}))),
        ("folder_stats", one(json!({}))),
        ("fetch_envelope", one(json!({ "uid": 1 }))),
        ("fetch_body", one(json!({ "uid": 1 }))),
        ("fetch_attachment", one(json!({ "uid": 1, "part_id": "2" }))),
        ("mark_seen", one(json!({ "uid": 1 }))),
        ("move", one(json!({ "uid": 1, "target_folder": "INBOX" }))),
        ("copy", into.clone()),
        ("move", into),
        ("create_draft", one(draft)),
        (
            "imap_search_messages",
            json!({ "account_id": "work", "mailbox": folder }),
        ),
        (
            "imap_get_message",
            json!({ "message_id": format!("imap:work:{folder}:1:1") }),
        ),
    ];
    let each = calls.into_iter();
    each.map(|(tool, arguments)| (tool, client.call(tool, arguments)))
        .collect()
}

const ALL_BUT_PRIVATE: &str =
    "    - { path: '*', mode: blacklist, default: FULL, mark_seen: true, \
                               move_out: true, accept_incoming: true, draft_append: true }
    - { path: Private, mode: whitelist, default: NONE }
";

#[test]
fn star_opens_every_folder_but_its_exception() {
    let server = Dovecot::builder()
        .folder("Work")
        .folder("Work/Deep")
        .folder("Private")
        .start();
    deliver(&server, "Work/Deep", "deep", "");
    deliver(&server, "Private", "secret", "");
    let directory = directory(&server, ALL_BUT_PRIVATE);
    let mut client = directory.client("agent");
    let listed = client.call("list_folders", json!({ "account_id": "work" }));
    let want = [
        "INBOX",
        "Archive",
        "Drafts",
        "Junk",
        "Sent",
        "Trash",
        "Work",
        "Work/Deep",
    ];
    let mut found = names(&listed, "/folders", "path");
    let mut want: Vec<String> = want.map(str::to_owned).to_vec();
    found.sort();
    want.sort();
    assert_eq!(found, want);
    assert_eq!(listed.number("/hidden_folders_count"), 1);
    let mailboxes = client.call("imap_list_mailboxes", json!({ "account_id": "work" }));
    let mut found = names(&mailboxes, "/mailboxes", "name");
    found.sort();
    assert_eq!(found, want);
    let described = client.call("describe_policy", json!({}));
    assert_eq!(names(&described, "/accounts/0/folders", "path"), ["*"]);
    let shown = client.call("list_accounts", json!({}));
    assert_eq!(names(&shown, "/accounts", "account_id"), ["work"]);

    let body = client.call("fetch_body", at("Work/Deep", json!({ "uid": 1 })));
    assert!(body.text.contains("text of deep"), "{}", body.text);
    let stats = client.call("folder_stats", at("Work/Deep", json!({})));
    assert_eq!(stats.number("/visible_count"), 1);
    let name = format!(
        "imap://work/mailbox/Work%2FDeep/message/{}/1",
        uidvalidity(&server, "Work/Deep")
    );
    let read = client
        .request("resources/read", json!({ "uri": name }))
        .unwrap();
    assert!(read.to_string().contains("text of deep"), "{read}");
}

#[test]
fn prefix_opens_what_is_below_at_any_depth() {
    let folders = [
        "INBOX/Work",
        "INBOX/Work/Deep",
        "INBOX/Secret",
        "INBOX/Secret/Open",
        "Else",
    ];
    let server = Dovecot::builder();
    let server = folders
        .iter()
        .fold(server, |server, name| server.folder(name))
        .start();
    deliver(&server, "INBOX/Work/Deep", "deep", "");
    let directory = directory(
        &server,
        "    - { path: 'inbox/*', mode: blacklist, default: FULL }
    - { path: 'INBOX/Secret/*', mode: blacklist, default: COUNT }
    - { path: INBOX/Secret, mode: whitelist, default: NONE }
",
    );
    let mut client = directory.client("agent");
    let listed = client.call("list_folders", json!({ "account_id": "work" }));
    let levels: Vec<(String, String)> = names(&listed, "/folders", "path")
        .into_iter()
        .zip(names(&listed, "/folders", "max_visibility"))
        .collect();
    let want = [
        ("INBOX/Secret/Open", "COUNT"),
        ("INBOX/Work", "FULL"),
        ("INBOX/Work/Deep", "FULL"),
    ];
    let mut levels: Vec<(&str, &str)> = levels
        .iter()
        .map(|(path, level)| (path.as_str(), level.as_str()))
        .collect();
    levels.sort_unstable();
    assert_eq!(levels, want);
    // INBOX, INBOX/Secret, Else, and the five that every account has.
    assert_eq!(listed.number("/hidden_folders_count"), 8);
    for (folder, want) in [
        ("INBOX/Work/Deep", "ok"),
        ("INBOX/Secret/Open", "visibility_below_METADATA"),
        ("INBOX", "folder_hidden"),
        ("INBOX/Secret", "folder_hidden"),
        ("INBOX/Ghost", "folder_hidden"),
        ("inbox/Work/Deep", "folder_hidden"),
        ("INBOX/Work/", "folder_hidden"),
        ("INBOX/*", "folder_hidden"),
        ("Else", "folder_hidden"),
    ] {
        let found = client.call("search", at(folder, json!({})));
        assert_eq!(reason(&found), want, "{folder}: {}", found.text);
    }
    // A folder that was made meanwhile is there.
    server.create_folder("alice", "INBOX/New");
    let found = client.call("search", at("INBOX/New", json!({})));
    assert_eq!(reason(&found), "ok", "{}", found.text);
}

#[test]
fn absent_folder_under_a_pattern_answers_as_hidden() {
    let server = Dovecot::builder().folder("Work").folder("Private").start();
    deliver(&server, "INBOX", "first", "");
    deliver(&server, "Work", "work", "");
    deliver(&server, "Private", "secret", "");
    // Little may be seen or done, so that other refusals come into question.
    let directory = directory(
        &server,
        "    - { path: '*', mode: blacklist, default: METADATA }
    - { path: Private, mode: whitelist, default: NONE }
    - { path: INBOX, mode: blacklist, default: FULL, mark_seen: true, move_out: true, accept_incoming: true }
    - { path: Drafts, mode: blacklist, default: COUNT, draft_append: true }
",
    );
    let mut client = directory.client("agent");
    let present = every_call(&mut client, "Work");
    let want = [
        "ok",
        "ok",
        "visibility_below_ENVELOPE",
        "visibility_below_BODY",
        "visibility_below_FULL",
        "capability_missing",
        "capability_missing",
        "capability_missing",
        "capability_missing",
        "capability_missing",
        "ok",
        "visibility_below_BODY",
    ];
    let reasons: Vec<String> = present.iter().map(|(_, one)| reason(one)).collect();
    assert_eq!(reasons, want);
    let hidden = every_call(&mut client, "Private");
    let absent = every_call(&mut client, "Ghost");
    for ((tool, hidden), (_, absent)) in hidden.iter().zip(&absent) {
        assert_eq!(reason(hidden), "folder_hidden", "{tool}: {}", hidden.text);
        assert_eq!(told(hidden), told(absent), "{tool}");
    }
    let records = directory.home.records();
    let lacking = records
        .iter()
        .filter(|one| one.json["reason"] == "capability_missing");
    let missing: Vec<&Value> = lacking.map(|one| &one.json["missing_capability"]).collect();
    let want = [
        "mark_seen",
        "move_out",
        "accept_incoming",
        "accept_incoming",
        "draft_append",
    ];
    assert_eq!(json!(missing), json!(want));
    let reasons = |reason: &str| {
        records
            .iter()
            .filter(|one| one.json["reason"] == reason)
            .count()
    };
    assert_eq!(reasons("folder_hidden"), hidden.len());
    assert_eq!(reasons("object_absent"), absent.len());
}

/// Two servers that differ only in a folder that an exact entry hides.
#[test]
fn hidden_exception_is_in_no_answer() {
    let worlds = [true, false].map(|exists| {
        let server = Dovecot::builder().folder("Work").start();
        deliver(&server, "INBOX", "first", "");
        if exists {
            server.create_folder("alice", "Private");
            deliver(&server, "Private", "secret", "In-Reply-To: <first@x>\r\n");
        }
        let directory = directory(&server, ALL_BUT_PRIVATE);
        let mut client = directory.client("agent");
        let mut all: Vec<Value> = Vec::new();
        // Before and after the folders were listed.
        for _ in 0..2 {
            let calls = every_call(&mut client, "Private");
            all.extend(calls.iter().map(|(_, outcome)| told(outcome)));
            let listed = client.call("list_folders", json!({ "account_id": "work" }));
            all.push(listed.data("/folders"));
            for id in ["<first@x>", "<secret@x>"] {
                let read = client.call("read_thread", json!({ "message_id": id }));
                all.push(json!([
                    reason_or_text(&read),
                    read.data("/coverage/complete")
                ]));
            }
        }
        let argument = json!({ "name": "mailbox", "value": "P" });
        let template = "imap://{account}/mailbox/{mailbox}/message/{uidvalidity}/{uid}";
        let completed = client.request(
            "completion/complete",
            json!({
                "ref": { "type": "ref/resource", "uri": template }, "argument": argument,
                "context": { "arguments": { "account": "work" } },
            }),
        );
        all.push(completed.unwrap());
        all
    });
    let [there, not_there] = worlds;
    for (one, other) in there.iter().zip(&not_there) {
        assert_eq!(one, other);
    }
}

/// What was said, without the number that differs from server to server.
fn reason_or_text(outcome: &CallOutcome) -> String {
    let said = outcome.text.split("imap:work:INBOX:");
    let said = said.map(|part| part.trim_start_matches(|sign: char| sign.is_ascii_digit()));
    let lines = said.collect::<Vec<_>>().join("imap:work:INBOX:");
    let lines = lines.lines().filter(|line| {
        !line.contains("_utc") && !line.contains("req_") && !line.starts_with("---")
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// A server may know a folder by a name that it does not list.
#[test]
fn other_name_of_a_hidden_folder_stays_hidden() {
    let server = Dovecot::builder()
        .folder("Private")
        .config("namespace compat {\n  prefix = OLD/\n  separator = /\n  hidden = yes\n  list = no\n}\n")
        .start();
    deliver(&server, "INBOX", "first", "");
    deliver(&server, "Private", "secret", "");
    let mut raw = server.login("alice", "secret");
    let opened = raw.command("EXAMINE OLD/Private").text();
    assert!(opened.contains("1 EXISTS"), "{opened}");
    let directory = directory(&server, ALL_BUT_PRIVATE);
    let mut client = directory.client("agent");
    for folder in ["OLD/Private", "Private", "Private/"] {
        for (tool, outcome) in every_call(&mut client, folder) {
            assert_eq!(
                reason(&outcome),
                "folder_hidden",
                "{tool} {folder}: {}",
                outcome.text
            );
        }
    }
    assert_eq!(reason(&client.call("search", at("INBOX", json!({})))), "ok");
}

#[test]
fn mail_moves_between_folders_of_one_pattern() {
    let server = Dovecot::builder().folder("Work").folder("Private").start();
    deliver(&server, "INBOX", "first", "");
    let directory = directory(&server, ALL_BUT_PRIVATE);
    let mut client = directory.client("agent");
    let to = |folder: &str| at("INBOX", json!({ "uid": 1, "target_folder": folder }));
    for folder in ["Private", "Ghost", "work"] {
        for tool in ["copy", "move"] {
            let refused = client.call(tool, to(folder));
            assert_eq!(
                reason(&refused),
                "folder_hidden",
                "{tool} {folder}: {}",
                refused.text
            );
        }
    }
    let moved = client.call("move", to("Work"));
    assert_eq!(moved.text("/transaction_state"), "done", "{}", moved.text);
    let found = client.call("search", at("Work", json!({})));
    assert_eq!(found.number("/matched_visible"), 1);
    let transaction = moved.text("/transaction_id");
    let back = client.call("undo_transaction", json!({ "transaction_id": transaction }));
    assert_eq!(back.text("/transaction_state"), "done", "{}", back.text);
    let draft = json!({ "to": ["bob@x.example"], "subject": "s", "body": "b" });
    let drafted = client.call("create_draft", at("Drafts", draft));
    assert_eq!(
        drafted.text("/transaction_state"),
        "done",
        "{}",
        drafted.text
    );

    // The folder is hidden from now on, and with it what would be undone there.
    let moved = client.call(
        "move",
        at("INBOX", json!({ "uid": 2, "target_folder": "Work" })),
    );
    assert_eq!(moved.text("/transaction_state"), "done", "{}", moved.text);
    let hidden = "    - { path: Work, mode: whitelist, default: NONE }\n";
    directory.policy(&format!("  work:\n{ALL_BUT_PRIVATE}{hidden}"));
    let printed = directory.run(&["config", "reload"]);
    assert_eq!(printed.code, 0, "{}{}", printed.stdout, printed.stderr);
    let transaction = moved.text("/transaction_id");
    let back = client.call("undo_transaction", json!({ "transaction_id": transaction }));
    assert_eq!(reason(&back), "folder_hidden", "{}", back.text);
    assert_eq!(
        reason(&client.call("search", at("Work", json!({})))),
        "folder_hidden"
    );
}

#[test]
fn thread_under_a_pattern_leaves_out_the_exception() {
    let server = Dovecot::builder().folder("Private").folder("Work").start();
    deliver(&server, "INBOX", "first", "");
    deliver(
        &server,
        "Work",
        "second",
        "In-Reply-To: <first@x>\r\nReferences: <first@x>\r\n",
    );
    deliver(
        &server,
        "Private",
        "third",
        "In-Reply-To: <first@x>\r\nReferences: <first@x>\r\n",
    );
    let directory = directory(&server, ALL_BUT_PRIVATE);
    let mut client = directory.client("agent");
    let read = client.call("read_thread", json!({ "message_id": "<first@x>" }));
    for (text, shown) in [
        ("text of first", true),
        ("text of second", true),
        ("third", false),
    ] {
        assert_eq!(read.text.contains(text), shown, "{text}: {}", read.text);
    }
    let read = client.call("read_email", json!({ "message_id": "<third@x>" }));
    assert!(!read.text.contains("text of third"), "{}", read.text);
    assert!(
        !read.structured.to_string().contains("Private"),
        "{}",
        read.structured
    );
}

#[test]
fn outage_under_a_pattern_is_reported_as_one() {
    let mut server = Dovecot::builder().folder("Private").start();
    deliver(&server, "INBOX", "first", "");
    let directory = directory(&server, ALL_BUT_PRIVATE);
    let mut client = directory.client("agent");
    assert_eq!(reason(&client.call("search", at("INBOX", json!({})))), "ok");
    server.kill();
    for (folder, tool, arguments) in [
        ("INBOX", "search", json!({})),
        ("Never asked for", "search", json!({})),
        ("Never asked for", "fetch_body", json!({ "uid": 1 })),
    ] {
        let failed = client.call(tool, at(folder, arguments));
        assert_eq!(
            failed.text("/status"),
            "failed",
            "{folder}: {}",
            failed.text
        );
    }
    let hidden = client.call("search", at("Private", json!({})));
    assert_eq!(reason(&hidden), "folder_hidden", "{}", hidden.text);
    server.restart();
    assert_eq!(reason(&client.call("search", at("INBOX", json!({})))), "ok");
}

#[test]
fn gmail_pattern_covers_localized_names() {
    let gmail = Gmail::builder()
        .language(Language::German)
        .labels(&["Work"])
        .start();
    let directory = crate::gmail::policies::directory(
        &gmail,
        "    - { path: '[Gmail]/*', mode: blacklist, default: METADATA }
    - { path: '[Gmail]/All Mail', mode: whitelist, default: NONE }
",
    );
    let mut client = directory.client("agent");
    let search = |client: &mut McpClient, folder: &str| {
        let arguments = json!({ "account_id": "default", "folder": folder });
        reason(&client.call("search", arguments))
    };
    // Before the folders were listed for the first time, and after.
    for _ in 0..2 {
        for (folder, want) in [
            ("[Gmail]/Alle Nachrichten", "folder_hidden"),
            ("[Gmail]/All Mail", "folder_hidden"),
            ("[Gmail]/Papierkorb", "ok"),
            ("[Gmail]/Trash", "ok"),
            ("[Gmail]/Ghost", "folder_hidden"),
            ("INBOX", "folder_hidden"),
            ("Work", "folder_hidden"),
        ] {
            assert_eq!(search(&mut client, folder), want, "{folder}");
        }
    }
    let labels = client.call("list_labels", json!({ "account_id": "default" }));
    let names = names(&labels, "/labels", "name");
    assert!(names.contains(&"[Gmail]/Trash".to_owned()), "{names:?}");
    assert!(!names.contains(&"[Gmail]/All Mail".to_owned()), "{names:?}");
}

#[test]
fn policy_commands_look_through_patterns() {
    let server = Dovecot::builder()
        .folder("Work")
        .folder("Work/Deep")
        .folder("Private")
        .start();
    deliver(&server, "Work/Deep", "deep", "");
    let directory = directory(
        &server,
        "    - { path: 'Work/*', mode: blacklist, default: BODY }
    - { path: 'Away/*', mode: blacklist, default: BODY }
    - { path: Private, mode: blacklist, default: COUNT }
",
    );
    let run = |arguments: &[&str]| {
        let mut all = vec!["policy"];
        all.extend(arguments);
        let printed = directory.run(&all);
        format!("{}{}exit {}", printed.stdout, printed.stderr, printed.code)
    };
    let explain = [
        "explain",
        "--caller",
        "agent",
        "--account",
        "work",
        "--folder",
    ];
    let explained = run(&[&explain[..], &["Work/Deep"]].concat());
    assert!(
        explained.contains("the entry Work/* covers this folder"),
        "{explained}"
    );
    let explained = run(&[&explain[..], &["Work"]].concat());
    assert!(explained.contains("folder_hidden"), "{explained}");
    let simulated = run(&["simulate", "--caller", "agent"]);
    assert!(
        simulated.contains("work     Work/Deep    1 "),
        "{simulated}"
    );
    assert!(
        simulated.contains("not at the server: work / Away/*\n"),
        "{simulated}"
    );
    assert!(
        simulated.contains("and 7 folders of the accounts"),
        "{simulated}"
    );
    let one = run(&["simulate", "--caller", "agent", "--folder", "Work/Ghost"]);
    assert!(
        one.contains("not at the server: work / Work/Ghost\n"),
        "{one}"
    );
    let none = run(&["simulate", "--caller", "agent", "--folder", "Work"]);
    assert!(none.ends_with("exit 1"), "{none}");

    directory.policy("  work:\n    - { path: '*', mode: blacklist, default: BODY }\n");
    let linted = run(&["lint"]);
    assert!(
        linted.contains("warning[pattern_opens_all] agent, work / *: gives BODY"),
        "{linted}"
    );
    directory.policy("  work:\n    - { path: 'INBOX*', mode: blacklist, default: BODY }\n");
    let checked = directory.run(&["config", "check"]);
    assert_eq!(checked.code, 2, "{}", checked.stdout);
    assert!(
        checked.stderr.contains("write '*' for every folder"),
        "{}",
        checked.stderr
    );
}
