//! The same mail in, the same answers out: a server, a Maildir and a store of Apple Mail, byte for byte.
//!
//! Set aside are what names a message in one store only (ids, addresses of resources, paths) and what differs from call to
//! call (its number, its time, what it took).

mod mail;

use std::collections::BTreeMap;

use serde_json::{Value, json};
use testkit::mcp::CallOutcome;

use super::store::{KINDS, Kind, Stored};
use super::texts;
use crate::support::Look;
use mail::{every_message, field_of};

/// A store's own names for its messages, and what stands for them.
type Names = BTreeMap<String, String>;

/// Of a call, and of the store that was asked.
const SET_ASIDE: [&str; 7] = [
    "request_id",
    "now_utc",
    "duration_ms",
    "receipt",
    "telemetry",
    "as_of",
    "session_id",
];

fn without(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, _| !SET_ASIDE.contains(&name.as_str()));
            for (name, field) in fields {
                match name.as_str() {
                    "file_path" => *field = json!("a path"),
                    "file_paths" => *field = json!(field.as_array().map_or(0, Vec::len)),
                    // Sealed anew with each call.
                    "cursor" | "next_cursor" | "body_cursor" if field.is_string() => {
                        *field = json!("a cursor");
                    }
                    "uid" | "uidvalidity" => *field = json!(0),
                    "uids" => *field = json!(field.as_array().map_or(0, Vec::len)),
                    _ => without(field),
                }
            }
        }
        Value::Array(list) => list.iter_mut().for_each(without),
        _ => {}
    }
}

/// What was answered, in words that are the same for all stores.
fn answer(outcome: &CallOutcome, names: &Names) -> String {
    let mut all = outcome.structured.clone();
    without(&mut all);
    let mut text = format!("{all:#}");
    // The longest first: one id may begin another.
    for (name, stands) in names.iter().rev() {
        text = text.replace(name, stands);
    }
    text
}

/// Everything that is asked of a store, and its answers.
struct Asked {
    stored: Stored,
    names: Names,
    answers: Vec<(String, String)>,
}

impl Asked {
    fn ask(&mut self, tool: &str, arguments: Value) -> CallOutcome {
        let question = arguments.to_string();
        self.ask_as(question, tool, arguments)
    }

    /// A message that is named by numbers, which are a store's own.
    fn ask_of(&mut self, id: &str, tool: &str, arguments: Value) -> CallOutcome {
        let mut question = arguments.clone();
        without(&mut question);
        self.ask_as(format!("{id} {question}"), tool, arguments)
    }

    fn ask_as(&mut self, mut question: String, tool: &str, arguments: Value) -> CallOutcome {
        let outcome = self.stored.client.call(tool, arguments);
        for (name, stands) in self.names.iter().rev() {
            question = question.replace(name, stands);
        }
        self.answers
            .push((format!("{tool} {question}"), answer(&outcome, &self.names)));
        outcome
    }
}

/// Ids of all messages, by folder and subject, the newest first.
fn listed(stored: &mut Stored) -> (Names, Vec<String>) {
    let (mut names, mut ids) = (Names::new(), Vec::new());
    for folder in super::store::FOLDERS.into_iter().chain(["Projects/Tiles"]) {
        let mut cursor = Value::Null;
        let mut seen: BTreeMap<String, usize> = BTreeMap::new();
        loop {
            let mut arguments = json!({ "mailbox": folder, "limit": 50 });
            if cursor.is_string() {
                arguments["cursor"] = cursor;
            }
            let page = stored.client.call("imap_search_messages", arguments);
            assert_eq!(page.structured["success"], true, "{}", page.text);
            for line in page.data("/messages").as_array().unwrap() {
                let subject = line["subject"].as_str().unwrap_or("none").to_owned();
                let copy = seen.entry(subject.clone()).or_default();
                *copy += 1;
                let id = line["message_id"].as_str().unwrap().to_owned();
                let stands = format!("{folder}: {subject} ({copy})");
                let uri = line["message_uri"].as_str().unwrap().to_owned();
                names.insert(uri, format!("address of {stands}"));
                names.insert(id.clone(), stands);
                ids.push(id);
            }
            cursor = page.data("/next_cursor");
            if !cursor.is_string() {
                break;
            }
        }
    }
    (names, ids)
}

fn searches() -> Vec<Value> {
    let mut all = vec![
        json!({}),
        json!({ "limit": 3 }),
        json!({ "include_snippet": true, "limit": 50 }),
        json!({ "unread_only": true, "limit": 50 }),
        json!({ "from": "ben@talk.example", "limit": 50 }),
        json!({ "from": "Özdemir", "limit": 50 }),
        json!({ "to": "alice@talk.example", "limit": 50 }),
        json!({ "subject": "kiln", "limit": 50 }),
        json!({ "subject": "Grüße", "limit": 50 }),
        json!({ "query": "monday", "limit": 50 }),
        json!({ "query": "nowhere at all", "limit": 50 }),
        json!({ "start_date": "2026-03-07", "end_date": "2026-03-09", "limit": 50 }),
    ];
    for one in &mut all {
        one["mailbox"] = json!("INBOX");
    }
    all
}

/// The tools of the gateway, which name a message by its folder and number.
fn ask_gateway(asked: &mut Asked, ids: &[String]) {
    asked.ask("list_folders", json!({ "account_id": "default" }));
    for folder in super::store::FOLDERS {
        let place = json!({ "account_id": "default", "folder": folder });
        asked.ask("folder_stats", place.clone());
        for more in [
            json!({}),
            json!({ "include_envelope": true, "limit": 3 }),
            json!({ "criteria": { "from": "ben@talk.example" } }),
            json!({ "criteria": { "seen": false } }),
            json!({ "criteria": { "has_attachment": true } }),
            json!({ "criteria": { "subject_contains": "kiln" } }),
            json!({ "criteria": { "text": "monday" } }),
        ] {
            let mut arguments = place.clone();
            let more = more.as_object().cloned().unwrap_or_default();
            arguments.as_object_mut().unwrap().extend(more);
            asked.ask("search", arguments);
        }
    }
    for id in ids {
        let (place, uid) = id.rsplit_once(':').unwrap();
        let (place, generation) = place.rsplit_once(':').unwrap();
        let folder = place.splitn(3, ':').nth(2).unwrap();
        let numbers: [u64; 2] = [uid, generation].map(|number| number.parse().unwrap());
        let message = json!({
            "account_id": "default", "folder": folder, "uid": numbers[0], "uidvalidity": numbers[1],
        });
        for tool in ["fetch_envelope", "fetch_headers"] {
            asked.ask_of(id, tool, message.clone());
        }
        let mut whole = message.clone();
        whole["include_html"] = json!(true);
        let body = asked.ask_of(id, "fetch_body", whole);
        let attachments = body.data("/body/attachments");
        for part in attachments.as_array().into_iter().flatten() {
            for as_text in [false, true] {
                let mut wish = message.clone();
                wish["part_id"] = part["part_id"].clone();
                wish["as_text"] = json!(as_text);
                asked.ask_of(id, "fetch_attachment", wish);
            }
        }
    }
}

fn asked(kind: Kind) -> Asked {
    let mut stored = Stored::with(kind, &every_message(), |command| {
        command.env("MAILWARDEN_TOOLSETS", "imap,gateway,threads");
    });
    let (names, ids) = listed(&mut stored);
    assert_eq!(ids.len(), every_message().len(), "{kind:?}");
    let mut asked = Asked {
        stored,
        names,
        answers: Vec::new(),
    };
    asked.ask("imap_list_mailboxes", json!({}));
    for arguments in searches() {
        asked.ask("imap_search_messages", arguments);
    }
    for id in &ids {
        asked.ask("imap_get_message", json!({ "message_id": id }));
        asked.ask("imap_get_message_raw", json!({ "message_id": id }));
    }
    ask_gateway(&mut asked, &ids);
    let mut header_ids: Vec<String> = every_message()
        .iter()
        .filter_map(|(_, one)| field_of(&one.raw, "message-id"))
        .collect();
    header_ids.sort();
    header_ids.dedup();
    header_ids.push("<nobody@talk.example>".to_owned());
    // Named by a message that is here, and not here itself.
    header_ids.push("<lost@talk.example>".to_owned());
    for id in &header_ids {
        for view in ["full", "headers"] {
            asked.ask("read_email", json!({ "message_id": id, "view": view }));
        }
        for view in ["new", "full", "headers"] {
            asked.ask("read_thread", json!({ "message_id": id, "view": view }));
        }
        asked.ask("get_email_path", json!({ "message_id": id }));
        let paths = asked.ask("get_thread_paths", json!({ "message_id": id }));
        for path in texts(&paths.data("/file_paths")) {
            assert!(std::path::Path::new(&path).is_file(), "{kind:?} {path}");
        }
    }
    asked
}

/// The first lines that differ.
fn difference(one: &str, other: &str) -> String {
    let differ = one
        .lines()
        .zip(other.lines())
        .filter(|(one, other)| one != other)
        .take(4);
    let lines: Vec<String> = differ
        .map(|(one, other)| format!("    {}\n    {}", one.trim(), other.trim()))
        .collect();
    format!(
        "{}\n    ({} and {} lines)",
        lines.join("\n    --\n"),
        one.lines().count(),
        other.lines().count()
    )
}

#[test]
fn every_store_gives_the_same_answers() {
    let [server, others @ ..] = KINDS.map(asked);
    let mut wrong = Vec::new();
    for (kind, other) in KINDS.into_iter().skip(1).zip(&others) {
        assert_eq!(server.answers.len(), other.answers.len());
        for ((question, one), (asked, two)) in server.answers.iter().zip(&other.answers) {
            if question != asked {
                wrong.push(format!("{kind:?} is asked {asked} for {question}"));
            } else if one != two {
                wrong.push(format!("{kind:?} {question}:\n{}", difference(one, two)));
            }
        }
    }
    let questions = server.answers.len();
    assert!(
        wrong.is_empty(),
        "{} of {questions}:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(questions > 600, "{questions}");
}
