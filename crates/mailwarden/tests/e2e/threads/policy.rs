//! What a policy hides of a conversation: counted, and otherwise as if it did not exist.

use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::mcp::CallOutcome;
use testkit::{Delivery, McpClient};

use super::letters::{Letter, day};
use super::store::{Holder, KINDS, Kind};
use super::{each, texts};
use crate::config_directory::{account, place, program, write};
use crate::support::Look;

const TOOLS: [&str; 4] = [
    "read_email",
    "read_thread",
    "get_email_path",
    "get_thread_paths",
];

/// Mail, and a caller who may see some of it.
struct House {
    client: McpClient,
    _holder: Holder,
    _dir: TempDir,
    _state: TempDir,
}

impl House {
    fn new(kind: Kind, mail: &[(&str, Delivery)], folders: Value) -> Self {
        let holder = Holder::new(kind, mail);
        let (dir, state) = (place(), tempfile::tempdir().unwrap());
        let described = match &holder {
            Holder::Imap(server) => account("work", "alice", server.port()),
            Holder::Maildir(root) => {
                json!({ "id": "work", "provider": "maildir", "path": root.path() })
            }
            Holder::Apple(store) => json!({
                "id": "work", "provider": "apple-mail", "path": store.root(),
                "store_account": testkit::apple::ACCOUNT,
            }),
        };
        let caller = json!({
            "id": "agent", "policy": "agent", "toolsets": ["threads", "gateway"],
            "auth": { "type": "stdio_trusted" },
        });
        let policy = json!({ "name": "agent", "accounts": { "work": folders } });
        write(dir.path(), &[described], &[caller], &[policy]);
        let mut command = program(dir.path());
        command
            .env("IMAP_MCP_CALLER_ID", "agent")
            .env("MAILWARDEN_STATE_DIR", state.path());
        let mut client = McpClient::spawn(command);
        client.initialize();
        Self {
            client,
            _holder: holder,
            _dir: dir,
            _state: state,
        }
    }

    fn call(&mut self, tool: &str, id: &str) -> CallOutcome {
        self.client.call(tool, json!({ "message_id": id }))
    }
}

/// All of INBOX, Sent and Trash but what a secretive person wrote, and nothing of the other folders.
fn discreet() -> Value {
    let folder = |path: &str| {
        json!({
            "path": path, "mode": "blacklist", "default": "FULL",
            "rules": [{ "match": { "from_domain": "secret.example" }, "cap": "NONE" }],
        })
    };
    json!([folder("INBOX"), folder("Sent"), folder("Trash")])
}

/// So much of INBOX.
fn only(level: &str) -> Value {
    let rules = json!([{ "match": { "from_domain": "talk.example" }, "grant": level }]);
    json!([{ "path": "INBOX", "mode": "whitelist", "default": "NONE", "rules": rules }])
}

/// An answer without what differs from call to call.
fn told(outcome: &CallOutcome) -> String {
    let mut all = outcome.structured.clone();
    for key in [
        "request_id",
        "now_utc",
        "duration_ms",
        "receipt",
        "telemetry",
    ] {
        all["meta"].as_object_mut().unwrap().shift_remove(key);
    }
    if let Some(data) = all["data"].as_object_mut() {
        // Of the time of the call.
        if let Some(coverage) = data.get_mut("coverage").and_then(Value::as_object_mut) {
            coverage.shift_remove("as_of");
        }
    }
    // Cursors are sealed anew, and none is expected here.
    assert!(!all.to_string().contains("cursor"), "{all}");
    format!("{all:#}")
}

fn question() -> Letter {
    Letter::new("question@talk.example").says("When does the kiln arrive?")
}

fn whisper() -> Letter {
    Letter::new("whisper@talk.example")
        .from("Max <max@secret.example>")
        .after(&["question@talk.example"])
        .on(day(2))
        .says("The kiln costs a wyvernish sum.\r\nTell nobody of it at all.")
}

fn answer() -> Letter {
    Letter::new("answer@talk.example")
        .after(&["question@talk.example", "whisper@talk.example"])
        .on(day(3))
        .says("On Monday.\r\n\r\n> Something of my own.")
}

#[test]
fn thread_with_hidden_messages_says_it_may_hide() {
    let aside = Letter::new("aside@talk.example")
        .after(&["question@talk.example"])
        .on(day(4))
        .says("A basiliskine remark in a folder that is hidden.");
    let mail = [
        ("INBOX", question().delivery()),
        ("INBOX", whisper().delivery()),
        ("Sent", answer().delivery()),
        ("Archive", aside.delivery()),
    ];
    for kind in KINDS {
        let mut house = House::new(kind, &mail, discreet());
        for id in ["question@talk.example", "answer@talk.example"] {
            let read = house.call("read_thread", id);
            assert_eq!(
                each(&read, "message_id"),
                ["<question@talk.example>", "<answer@talk.example>"],
                "{kind:?}: {}",
                read.text
            );
            assert_eq!(read.number("/thread_size"), 2, "{kind:?}");
            // What lies in a hidden folder is not even looked for.
            assert_eq!(read.data("/may_hide"), true, "{kind:?}");
            assert_eq!(read.data("/participants").as_array().unwrap().len(), 2);
            let searched = texts(&read.data("/coverage/folders_searched"));
            assert_eq!(searched, ["INBOX", "Sent"], "{kind:?}");
            let skipped = read.data("/coverage/folders_skipped");
            assert_eq!(
                skipped,
                json!([{ "mailbox": "Trash", "reason": "trash_or_junk" }]),
                "{kind:?}"
            );
            let paths = house.call("get_thread_paths", id);
            assert_eq!(texts(&paths.data("/file_paths")).len(), 2, "{kind:?}");
            assert_eq!(paths.data("/may_hide"), true, "{kind:?}");
            for outcome in [read, paths] {
                for word in ["wyvernish", "basiliskine", "secret.example", "Archive"] {
                    assert!(!outcome.raw.to_string().contains(word), "{kind:?} {word}");
                }
            }
        }
    }
}

#[test]
fn a_hidden_message_answers_as_one_that_does_not_exist() {
    let mail = [
        ("INBOX", question().delivery()),
        ("INBOX", whisper().delivery()),
        (
            "Archive",
            Letter::new("filed0@talk.example")
                .says("In a hidden folder.")
                .delivery(),
        ),
    ];
    for kind in KINDS {
        let mut house = House::new(kind, &mail, discreet());
        for tool in TOOLS {
            let told = |house: &mut House, id: &str| {
                let outcome = house.call(tool, &format!("{id}@talk.example"));
                assert_eq!(outcome.structured["success"], false, "{kind:?} {tool}");
                let told = format!("{}{}", told(&outcome), outcome.text);
                let told = told.replace(&format!("{id}@talk.example"), "it");
                // Where data begins and ends is drawn anew for each answer.
                let drawn = |line: &&str| !line.starts_with("--- ");
                told.lines().filter(drawn).collect::<Vec<_>>().join("\n")
            };
            let nothing = told(&mut house, "nobody0");
            for id in ["whisper", "filed0"] {
                assert_eq!(told(&mut house, id), nothing, "{kind:?} {tool} {id}");
            }
        }
    }
}

/// Mailboxes that differ only in what is hidden: with it, with other hidden mail, without, and with some in the trash.
fn worlds() -> [Vec<(&'static str, Delivery)>; 4] {
    let other = whisper().says("Nothing like the other, and quoted by nobody.\r\n\r\nReally.");
    let more = Letter::new("more@talk.example")
        .from("Max <max@secret.example>")
        .after(&["answer@talk.example"])
        .on(day(1))
        .says("> On Monday.\r\nIndeed.");
    let seen = [
        ("INBOX", question().delivery()),
        ("INBOX", answer().delivery()),
        (
            "Sent",
            Letter::new("quoting@talk.example")
                .after(&["answer@talk.example"])
                .on(day(5))
                .says("> The kiln costs a wyvernish sum.\r\n> Tell nobody of it at all.\r\nWhat was that?")
                .delivery(),
        ),
    ];
    let with = |hidden: &[Letter]| {
        let hidden = hidden.iter().map(|letter| ("Sent", letter.delivery()));
        seen.iter().cloned().chain(hidden).collect::<Vec<_>>()
    };
    let trashed = Letter::new("more@talk.example")
        .from("Max <max@secret.example>")
        .after(&["question@talk.example"]);
    let mut thrown = with(&[]);
    thrown.push(("Trash", trashed.delivery()));
    // Hidden mail comes last, so that ids of visible messages are the same.
    [with(&[whisper()]), with(&[other, more]), with(&[]), thrown]
}

/// Two visible messages that only a hidden one ties together.
fn bridged() -> [Vec<(&'static str, Delivery)>; 2] {
    let one = Letter::new("one@talk.example").says("One end of a bridge.");
    let two = Letter::new("two@talk.example")
        .on(day(3))
        .says("The other end of it.");
    let bridge = Letter::new("bridge@talk.example")
        .from("Max <max@secret.example>")
        .after(&["one@talk.example", "two@talk.example"])
        .on(day(4))
        .says("A bridge.");
    let seen = [("INBOX", one.delivery()), ("INBOX", two.delivery())];
    let mut with = seen.to_vec();
    with.push(("INBOX", bridge.delivery()));
    [with, seen.to_vec()]
}

/// Everything that is told of these ids; ids of the store and paths aside.
fn everything(kind: Kind, mail: &[(&'static str, Delivery)], ids: &[&str]) -> Vec<String> {
    let mut house = House::new(kind, mail, discreet());
    let mut all = Vec::new();
    for id in ids {
        for tool in TOOLS {
            let outcome = house.call(tool, id);
            let mut told = told(&outcome);
            let mut own = Vec::new();
            names_of(&outcome.structured["data"], &mut own);
            for (number, name) in own.into_iter().enumerate() {
                told = told.replace(&name, &format!("(name {number})"));
            }
            all.push(format!("{tool} {id}: {told}"));
        }
        for view in ["full", "headers"] {
            let arguments = json!({ "message_id": id, "view": view });
            all.push(told(&house.client.call("read_thread", arguments)));
        }
    }
    all.iter().map(|one| without_validity(one)).collect()
}

/// Paths differ from world to world.
fn names_of(value: &Value, into: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                match (name.as_str(), field) {
                    ("file_path", Value::String(path)) => into.push(path.clone()),
                    ("file_paths", list) => into.extend(texts(list)),
                    _ => names_of(field, into),
                }
            }
        }
        Value::Array(list) => list.iter().for_each(|one| names_of(one, into)),
        _ => {}
    }
}

/// The number that a server gave to a folder when it was made: `imap:work:INBOX:<number>:1`.
fn without_validity(text: &str) -> String {
    let lines = text.lines().map(|line| {
        let parts: Vec<&str> = line.split(':').collect();
        let has = |name: &str| line.contains(&format!("\"{name}:work:"));
        match has("imap") || has("maildir") || has("apple") {
            true => {
                let kept = parts.iter().enumerate();
                let digits = |part: &str| part.chars().all(|c| c.is_ascii_digit());
                let last = parts.len() - 2;
                kept.filter(|(place, part)| *place != last || !digits(part))
                    .map(|(_, part)| *part)
                    .collect::<Vec<_>>()
                    .join(":")
            }
            false => line.to_owned(),
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn what_is_hidden_changes_nothing_that_is_told() {
    let ids = [
        "question@talk.example",
        "answer@talk.example",
        "quoting@talk.example",
        "whisper@talk.example",
        "more@talk.example",
    ];
    for kind in KINDS {
        let [first, rest @ ..] = worlds().map(|mail| everything(kind, &mail, &ids));
        for other in rest {
            for (one, two) in first.iter().zip(&other) {
                assert_eq!(one, two, "{kind:?}");
            }
        }
        assert!(first.iter().any(|told| told.contains("What was that?")));
    }
}

#[test]
fn what_only_a_hidden_message_ties_together_is_not_together() {
    let ids = [
        "one@talk.example",
        "two@talk.example",
        "bridge@talk.example",
    ];
    for kind in KINDS {
        let [with, without] = bridged().map(|mail| everything(kind, &mail, &ids));
        for (one, two) in with.iter().zip(&without) {
            assert_eq!(one, two, "{kind:?}");
        }
    }
}

/// A copy that is hidden, in a folder that is searched first, and one that is not.
#[test]
fn a_hidden_copy_does_not_hide_another() {
    let shown = json!({ "path": "Archive", "mode": "blacklist", "default": "FULL", "rules": [] });
    let thrown = json!({ "path": "Trash", "mode": "blacklist", "default": "FULL", "rules": [] });
    for (place, folder) in [("Archive", shown), ("Trash", thrown)] {
        let mut folders = discreet();
        let list = folders.as_array_mut().unwrap();
        list.retain(|one| one["path"] != folder["path"]);
        list.push(folder);
        let mail = [
            ("INBOX", whisper().delivery()),
            (place, whisper().delivery()),
        ];
        for kind in KINDS {
            let mut house = House::new(kind, &mail, folders.clone());
            // Twice: what was seen before must not lead away from it.
            for _ in 0..2 {
                let read = house.call("read_email", "whisper@talk.example");
                assert_eq!(read.data("/mailbox"), place, "{kind:?}: {}", read.text);
                assert!(read.text("/body_text").contains("wyvernish"), "{kind:?}");
                assert_eq!(read.data("/also_in"), Value::Null, "{kind:?}");
                let thread = house.call("read_thread", "whisper@talk.example");
                assert_eq!(each(&thread, "mailbox"), [place], "{kind:?}");
                let path = house.call("get_email_path", "whisper@talk.example");
                assert!(path.data("/file_path").is_string(), "{kind:?}");
            }
        }
    }
}

#[test]
fn below_body_there_is_no_text_and_below_full_no_path() {
    let mail = [
        ("INBOX", question().delivery()),
        ("INBOX", answer().delivery()),
    ];
    for kind in KINDS {
        let levels = ["COUNT", "METADATA", "ENVELOPE", "HEADERS", "BODY", "FULL"];
        for (rank, level) in levels.into_iter().enumerate() {
            let mut house = House::new(kind, &mail, only(level));
            for tool in TOOLS {
                let needs = match tool.starts_with("read") {
                    true => 4,
                    false => 5,
                };
                let called = house.client.request(
                    "tools/call",
                    json!({ "name": tool, "arguments": { "message_id": "answer@talk.example" } }),
                );
                let said = match &called {
                    Ok(outcome) => outcome.to_string(),
                    Err(error) => error.message.clone(),
                };
                let succeeded = called
                    .as_ref()
                    .is_ok_and(|outcome| outcome["structuredContent"]["success"] == true);
                assert_eq!(succeeded, rank >= needs, "{kind:?} {level} {tool}: {said}");
                if rank < 4 {
                    assert!(!said.contains("Monday"), "{kind:?} {level} {tool}");
                }
                if rank < 5 {
                    assert!(!said.contains("file_path\":\""), "{kind:?} {level} {tool}");
                }
            }
        }
    }
}

#[test]
fn texts_are_shown_by_the_level_of_each_message() {
    let folders = json!([{
        "path": "INBOX", "mode": "whitelist", "default": "NONE", "rules": [
            { "match": { "from_domain": "talk.example" }, "grant": "FULL" },
            { "match": { "from_domain": "secret.example" }, "grant": "HEADERS" },
        ],
    }]);
    let mail = [
        ("INBOX", question().delivery()),
        ("INBOX", whisper().delivery()),
        ("INBOX", answer().delivery()),
    ];
    for kind in KINDS {
        let mut house = House::new(kind, &mail, folders.clone());
        let read = house.call("read_thread", "question@talk.example");
        assert_eq!(
            each(&read, "body_state"),
            ["ok", "not_permitted", "ok"],
            "{kind:?}: {}",
            read.text
        );
        assert_eq!(read.data("/may_hide"), true, "{kind:?}");
        assert_eq!(read.text("/issues/0/code"), "not_permitted", "{kind:?}");
        // How many there are, nobody can tell who may not see all of it.
        assert_eq!(read.data("/attachments"), Value::Null, "{kind:?}");
        let one = house.call("read_email", "whisper@talk.example");
        let told = one.raw.to_string();
        assert!(told.contains("visibility_below_BODY"), "{kind:?}: {told}");
        let path = house.call("get_email_path", "whisper@talk.example");
        assert_eq!(path.data("/file_path"), Value::Null, "{kind:?}");
        let paths = house.call("get_thread_paths", "question@talk.example");
        assert_eq!(texts(&paths.data("/file_paths")).len(), 2, "{kind:?}");
        for outcome in [read, one, path, paths] {
            assert!(!outcome.raw.to_string().contains("wyvernish"), "{kind:?}");
        }
    }
}
