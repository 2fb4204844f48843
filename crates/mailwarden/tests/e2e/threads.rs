//! Messages and conversations by their Message-ID, from a server, a Maildir and a store of Apple Mail.

mod apple;
mod bad_input;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod canary;
mod claims;
mod conformance;
pub(crate) mod letters;
mod packing;
mod policy;
mod round_trips;
mod store;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::{Value, json};
use testkit::mcp::CallOutcome;
use testkit::{Delivery, McpClient};

use crate::support::Look;
use letters::{Letter, day};
use store::{FOLDERS, KINDS, Kind, Stored, without_cr};

const QUESTION: &str = "When does the kiln arrive?\r\nI ask because of the roof, which is open.";
const ANSWER: &str = "It arrives on Monday, with two people.\r\nThe roof can stay open until then.";

fn quoted(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(|line| format!("> {line}")).collect();
    lines.join("\r\n")
}

/// As it is read: lines end by LF.
fn read(text: &str) -> String {
    text.replace("\r\n", "\n")
}

/// A question, an answer in another folder, and an answer to that.
fn talk() -> Vec<(&'static str, Delivery)> {
    let question = Letter::new("question@talk.example").says(QUESTION);
    let answer = Letter::new("answer@talk.example")
        .from("Ben <ben@talk.example>")
        .after(&["question@talk.example"])
        .on(day(2))
        .says(&format!("{ANSWER}\r\n\r\n{}", quoted(QUESTION)));
    let thanks = Letter::new("thanks@talk.example")
        .after(&["question@talk.example", "answer@talk.example"])
        .on(day(3))
        .says(&format!("Thank you.\r\n\r\n{}", quoted(ANSWER)));
    let stranger = Letter::new("stranger@talk.example").says("Nothing to do with it.");
    vec![
        ("INBOX", thanks.delivery()),
        ("Sent", answer.delivery()),
        ("INBOX", question.delivery()),
        ("INBOX", stranger.delivery()),
    ]
}

fn texts(list: &Value) -> Vec<String> {
    let list = list.as_array().expect("a list").iter();
    list.map(|one| one.as_str().expect("a text").to_owned())
        .collect()
}

/// One field of every message of an answer.
fn each(outcome: &CallOutcome, field: &str) -> Vec<String> {
    let emails = outcome.data("/emails");
    let emails = emails
        .as_array()
        .unwrap_or_else(|| panic!("{}", outcome.text));
    emails
        .iter()
        .map(|one| one[field].as_str().unwrap_or("-").to_owned())
        .collect()
}

/// What is said where a call is refused, in whichever way; none where it is not.
fn refusal(client: &mut McpClient, tool: &str, arguments: Value) -> Option<String> {
    let called = client.request(
        "tools/call",
        json!({ "name": tool, "arguments": arguments }),
    );
    match called {
        Err(error) => Some(error.message),
        Ok(result) if result["isError"] == true => Some(result["content"].to_string()),
        Ok(_) => None,
    }
}

/// Everything but what was thrown away, and that is said.
fn assert_coverage(outcome: &CallOutcome, kind: Kind) {
    let searched = texts(&outcome.data("/coverage/folders_searched"));
    assert_eq!(searched, ["INBOX", "Archive", "Drafts", "Sent"], "{kind:?}");
    let skipped = outcome.data("/coverage/folders_skipped");
    let skipped: Vec<String> = skipped
        .as_array()
        .unwrap_or_else(|| panic!("{kind:?}: {}", outcome.text))
        .iter()
        .map(|one| format!("{} {}", one["mailbox"], one["reason"]))
        .collect();
    assert_eq!(
        skipped,
        ["\"Junk\" \"trash_or_junk\"", "\"Trash\" \"trash_or_junk\""],
        "{kind:?}"
    );
    assert_eq!(outcome.data("/coverage/complete"), false, "{kind:?}");
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o7777
}

#[test]
fn a_message_is_read_by_its_message_id() {
    for kind in KINDS {
        let mut stored = Stored::new(kind, &talk());
        let read = stored
            .client
            .call("read_email", json!({ "message_id": "answer@talk.example" }));
        assert_eq!(read.structured["success"], true, "{kind:?}: {}", read.text);
        for (field, is) in [
            ("message_id", "<answer@talk.example>"),
            ("subject", "The kiln"),
            ("from", "Ben <ben@talk.example>"),
            ("to", "Alice <alice@talk.example>"),
            ("cc", ""),
            ("date", "Sat, 07 Mar 2026 09:00:00 +0100"),
            ("references", "<question@talk.example>"),
            ("in_reply_to", "<question@talk.example>"),
            ("body_state", "ok"),
            ("mailbox", "Sent"),
        ] {
            assert_eq!(read.data(&format!("/{field}")), is, "{kind:?} {field}");
        }
        let text = self::read(&format!("{ANSWER}\n\n{}", quoted(QUESTION)));
        assert_eq!(read.text("/body_text"), text, "{kind:?}");
        assert_eq!(texts(&read.data("/coverage/folders_searched")), ["Sent"]);
        assert_eq!(read.data("/coverage/complete"), true, "{kind:?}");
        let bracketed = stored.client.call(
            "read_email",
            json!({ "message_id": "<answer@talk.example>" }),
        );
        assert_eq!(bracketed.data("/body_text"), read.data("/body_text"));
        let headers = stored.client.call(
            "read_email",
            json!({ "message_id": "answer@talk.example", "view": "headers" }),
        );
        assert_eq!(headers.data("/body_text"), Value::Null, "{kind:?}");
        assert_eq!(headers.data("/body_state"), "not_asked", "{kind:?}");
        assert_eq!(headers.data("/subject"), "The kiln", "{kind:?}");
    }
}

#[test]
fn a_conversation_is_read_from_any_of_its_messages_the_oldest_first() {
    for kind in KINDS {
        let mut stored = Stored::new(kind, &talk());
        for any in ["question", "answer", "thanks"] {
            let read = stored.client.call(
                "read_thread",
                json!({ "message_id": format!("{any}@talk.example") }),
            );
            assert_eq!(read.structured["success"], true, "{kind:?}: {}", read.text);
            assert_eq!(read.number("/thread_size"), 3, "{kind:?} {any}");
            assert_eq!(
                each(&read, "message_id"),
                [
                    "<question@talk.example>",
                    "<answer@talk.example>",
                    "<thanks@talk.example>"
                ],
                "{kind:?} {any}"
            );
            assert_eq!(
                each(&read, "body_text"),
                [
                    self::read(QUESTION),
                    self::read(&format!("{ANSWER}\n\n[quoted: lines 1-2 of #1]")),
                    "Thank you.\n\n[quoted: lines 1-2 of #2]".to_owned(),
                ],
                "{kind:?} {any}"
            );
            assert_eq!(each(&read, "mailbox"), ["INBOX", "Sent", "INBOX"]);
            assert_eq!(read.data("/emails/2/reply_to"), 2, "{kind:?}");
            assert_eq!(read.data("/emails/0/success"), true, "{kind:?}");
            assert_eq!(read.data("/subject"), "The kiln", "{kind:?}");
            assert_eq!(read.data("/last_from"), "anna@talk.example", "{kind:?}");
            assert_eq!(read.data("/participants").as_array().unwrap().len(), 3);
            assert_eq!(read.data("/unread"), 3, "{kind:?}");
            assert_coverage(&read, kind);
        }
        let full = stored.client.call(
            "read_thread",
            json!({ "message_id": "thanks@talk.example", "view": "full" }),
        );
        let text = self::read(&format!("Thank you.\n\n{}", quoted(ANSWER)));
        assert_eq!(full.text("/emails/2/body_text"), text, "{kind:?}");
        let headers = stored.client.call(
            "read_thread",
            json!({ "message_id": "thanks@talk.example", "view": "headers" }),
        );
        assert_eq!(each(&headers, "body_text"), ["-", "-", "-"], "{kind:?}");
        assert_eq!(each(&headers, "subject"), ["The kiln"; 3], "{kind:?}");
    }
}

#[test]
fn paths_lead_to_the_messages_themselves() {
    for kind in KINDS {
        let mut stored = Stored::new(kind, &talk());
        let found = stored.client.call(
            "get_email_path",
            json!({ "message_id": "answer@talk.example" }),
        );
        let path = found.text("/file_path");
        let octets = fs::read(&path).unwrap_or_else(|error| panic!("{kind:?} {path}: {error}"));
        let raw = talk().swap_remove(1).1.raw;
        let path = Path::new(&path);
        match kind {
            Kind::Imap => {
                assert!(path.starts_with(stored.state.path()), "{path:?}");
                assert_eq!((mode(path), mode(path.parent().unwrap())), (0o600, 0o700));
                assert_eq!(octets, raw);
            }
            Kind::Maildir => {
                assert!(path.starts_with(stored.root()), "{path:?}");
                assert_eq!(without_cr(&octets), without_cr(&raw));
            }
            Kind::Apple => {
                assert!(path.starts_with(stored.root()), "{path:?}");
                assert_eq!(path.extension().unwrap(), "emlx");
            }
        }
        let thread = stored.client.call(
            "get_thread_paths",
            json!({ "message_id": "<thanks@talk.example>" }),
        );
        assert_eq!(thread.number("/thread_size"), 3, "{kind:?}");
        let paths = texts(&thread.data("/file_paths"));
        assert_eq!(paths.len(), 3, "{kind:?}");
        assert_eq!(paths[1], found.text("/file_path"), "{kind:?}");
        for (path, id) in paths.iter().zip(["question", "answer", "thanks"]) {
            let octets = String::from_utf8(fs::read(path).unwrap()).unwrap();
            let id = format!("Message-ID: <{id}@talk.example>");
            assert!(octets.contains(&id), "{kind:?} {path}");
        }
        let again = stored.client.call(
            "get_thread_paths",
            json!({ "message_id": "<thanks@talk.example>" }),
        );
        assert_eq!(again.data("/file_paths"), thread.data("/file_paths"));
    }
}

#[test]
fn what_is_not_there_is_said_with_where_was_looked() {
    for kind in KINDS {
        let mut stored = Stored::new(kind, &talk());
        for (tool, error) in [
            ("read_email", "Email not found"),
            (
                "read_thread",
                "Email thread not found or thread has no email files",
            ),
            ("get_email_path", "Email file not found"),
            (
                "get_thread_paths",
                "Email thread not found or thread has no email files",
            ),
        ] {
            let absent = stored
                .client
                .call(tool, json!({ "message_id": "nobody@talk.example" }));
            let all = &absent.structured;
            assert_eq!(all["success"], false, "{kind:?} {tool}: {all}");
            assert_eq!(absent.data("/error"), error, "{kind:?} {tool}");
            assert!(!texts(&absent.data("/possible_reasons")).is_empty());
            // What was thrown away is looked at before something is not there.
            let searched = texts(&absent.data("/coverage/folders_searched"));
            assert_eq!(searched, FOLDERS, "{kind:?} {tool}");
            assert_eq!(absent.data("/coverage/complete"), true, "{kind:?} {tool}");
        }
    }
}
