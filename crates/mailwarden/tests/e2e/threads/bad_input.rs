//! Ids that lead elsewhere, cursors of others, accounts that are not there: refused or not found, and nothing else happens.

use serde_json::{Value, json};
use testkit::Delivery;

use super::letters::{Letter, day};
use super::store::{Holder, KINDS, Kind, Stored};
use super::{each, refusal, talk, texts};
use crate::support::{Look, program, start};

const TOOLS: [&str; 4] = [
    "read_email",
    "read_thread",
    "get_email_path",
    "get_thread_paths",
];

/// Ids that a header can hold, though they mean something to a path, a pattern, a query or a protocol.
const AWKWARD: [&str; 12] = [
    "../../../etc/passwd",
    "..%2F..%2Fetc%2Fpasswd@x.example",
    "a/b/../c@x.example",
    "%s%n%00@x.example",
    "star*and%percent@x.example",
    "it's@x.example",
    "';DROP@x.example",
    "\"quoted\"@x.example",
    "back\\slash@x.example",
    "{12}@x.example",
    "a)(OR@x.example",
    "-leading@x.example",
];

#[test]
fn awkward_ids_are_found_as_any_other() {
    let mail: Vec<(&str, Delivery)> = (0..)
        .zip(AWKWARD)
        .map(|(number, id)| {
            let said = format!("This is number {number}.");
            (
                "INBOX",
                Letter::new(id).on(day(number)).says(&said).delivery(),
            )
        })
        .collect();
    for kind in KINDS {
        let mut stored = Stored::new(kind, &mail);
        for (number, id) in AWKWARD.into_iter().enumerate() {
            let said = format!("This is number {number}.");
            let read = stored
                .client
                .call("read_email", json!({ "message_id": id }));
            assert_eq!(
                read.data("/body_text"),
                said,
                "{kind:?} {id}: {}",
                read.text
            );
            let thread = stored
                .client
                .call("read_thread", json!({ "message_id": id }));
            assert_eq!(
                each(&thread, "body_text"),
                std::slice::from_ref(&said),
                "{kind:?} {id}"
            );
            let path = stored
                .client
                .call("get_email_path", json!({ "message_id": id }));
            let path = path.text("/file_path");
            let place = match kind {
                Kind::Imap => stored.state.path().to_owned(),
                Kind::Maildir | Kind::Apple => stored.root(),
            };
            let real = std::fs::canonicalize(&path).unwrap();
            assert!(real.starts_with(place.canonicalize().unwrap()), "{path}");
            let octets = std::fs::read_to_string(path).unwrap();
            assert!(octets.contains(&said), "{kind:?} {id}");
        }
    }
}

#[test]
fn ids_that_no_message_can_have_find_nothing() {
    let long = "x".repeat(10_000);
    let more = [
        "",
        " ",
        "<>",
        "nul\0inside@x.example",
        "line\r\nA1 LOGOUT@x.example",
        "a> <b@x.example",
        "*",
        "%",
        "../",
        "/etc/passwd",
        "file:///etc/passwd",
        "\u{202e}@x.example",
        "ä@x.example",
        long.as_str(),
    ];
    for kind in KINDS {
        let mut stored = Stored::new(kind, &talk());
        for id in AWKWARD.into_iter().chain(more) {
            for tool in TOOLS {
                let short: String = id.chars().take(40).collect();
                let called = stored.client.request(
                    "tools/call",
                    json!({ "name": tool, "arguments": { "message_id": id } }),
                );
                let shown = match called {
                    Ok(result) => {
                        let all = &result["structuredContent"];
                        assert_eq!(all["success"], false, "{kind:?} {tool} {short:?}");
                        assert!(
                            all["data"]["error"].is_string(),
                            "{kind:?} {tool} {short:?}"
                        );
                        result.to_string()
                    }
                    Err(error) => {
                        assert!(error.message.contains("message_id"), "{}", error.message);
                        format!("{} {}", error.message, error.data)
                    }
                };
                assert!(!shown.contains("root:"), "{kind:?} {tool} {short:?}");
                assert!(shown.len() < 8_000, "{kind:?} {tool} {short:?}");
            }
        }
        let read = stored.client.call(
            "read_email",
            json!({ "message_id": "question@talk.example" }),
        );
        assert_eq!(read.structured["success"], true, "{kind:?}");
    }
}

/// A conversation whose texts do not fit.
fn long(name: &str) -> Vec<(&'static str, Delivery)> {
    let id = |number: u64| format!("{name}{number}@long.example");
    let letters = (0..12).map(|number| {
        let parents: Vec<String> = (0..number).map(id).collect();
        let parents: Vec<&str> = parents.iter().map(String::as_str).collect();
        Letter::new(&id(number))
            .after(&parents)
            .on(day(number))
            .says(&format!("{number} is a long story. ").repeat(100))
    });
    letters.map(|letter| ("INBOX", letter.delivery())).collect()
}

#[test]
fn a_cursor_is_good_for_its_own_call_alone() {
    let mut mail = long("one");
    mail.extend(long("two"));
    let mut stored = Stored::new(Kind::Maildir, &mail);
    let mut ask = |tool: &str, arguments: Value| stored.client.call(tool, arguments);
    let thread = ask(
        "read_thread",
        json!({ "message_id": "one3@long.example", "max_chars": 1_000 }),
    );
    let email = ask(
        "read_email",
        json!({ "message_id": "one3@long.example", "max_chars": 100 }),
    );
    let (older, rest) = (thread.text("/next_cursor"), email.text("/next_cursor"));
    let body = thread.text("/emails/0/body_cursor");
    let own = thread.text("/emails/0/message_id");
    for (tool, id, cursor) in [
        ("read_thread", "one3@long.example", &older),
        ("read_email", "one3@long.example", &rest),
        ("read_email", own.as_str(), &body),
    ] {
        let good = ask(tool, json!({ "message_id": id, "cursor": cursor }));
        assert_eq!(good.structured["success"], true, "{tool} {id}");
    }
    let mut torn = rest.clone();
    torn.pop();
    let mut turned: Vec<char> = rest.chars().collect();
    turned.swap(10, 11);
    let turned: String = turned.into_iter().collect();
    let long = "A".repeat(5_000);
    for (tool, id, cursor) in [
        ("read_email", "one3@long.example", older.as_str()),
        ("read_thread", "one3@long.example", rest.as_str()),
        ("read_thread", "one4@long.example", older.as_str()),
        ("read_thread", "two3@long.example", older.as_str()),
        ("read_email", "two3@long.example", rest.as_str()),
        ("read_email", "two3@long.example", body.as_str()),
        ("read_email", "one3@long.example", torn.as_str()),
        ("read_email", "one3@long.example", turned.as_str()),
        ("read_email", "one3@long.example", "nonsense"),
        ("read_thread", "one3@long.example", ""),
        ("read_thread", "one3@long.example", "../../etc/passwd"),
        ("read_thread", "one3@long.example", long.as_str()),
    ] {
        let arguments = json!({ "message_id": id, "cursor": cursor });
        let refused = refusal(&mut stored.client, tool, arguments).expect("a refusal");
        assert!(refused.contains("cursor"), "{tool} {id}: {refused}");
        assert!(!refused.contains("long story"), "{tool} {id}");
    }
    // Where the message lies may be said too; where it does not, it cannot go on.
    let said = json!({
        "message_id": "one3@long.example", "account_id": "default", "cursor": rest,
    });
    assert!(refusal(&mut stored.client, "read_email", said).is_none());
    let elsewhere = json!({
        "message_id": "one3@long.example", "account_id": "other", "cursor": rest,
    });
    assert!(refusal(&mut stored.client, "read_email", elsewhere).is_some());
    // Of another installation.
    let mut other = Stored::new(Kind::Maildir, &mail);
    let foreign = json!({ "message_id": "one3@long.example", "cursor": rest });
    assert!(refusal(&mut other.client, "read_email", foreign).is_some());
}

#[test]
fn arguments_that_mean_nothing_are_refused() {
    let mut stored = Stored::new(Kind::Maildir, &talk());
    let id = "question@talk.example";
    for (tool, arguments, told) in [
        ("read_email", json!({}), "message_id"),
        ("read_email", json!({ "message_id": 7 }), "message_id"),
        (
            "read_email",
            json!({ "message_id": "maildir:default:INBOX:1:7" }),
            "Message-ID of a message's header",
        ),
        (
            "read_email",
            json!({ "message_id": id, "view": "new" }),
            "view",
        ),
        (
            "read_thread",
            json!({ "message_id": id, "view": "all" }),
            "view",
        ),
        (
            "read_thread",
            json!({ "message_id": id, "max_chars": 10 }),
            "max_chars",
        ),
        (
            "read_email",
            json!({ "message_id": id, "max_chars": 1_000_000 }),
            "max_chars",
        ),
        (
            "get_email_path",
            json!({ "message_id": id, "cursor": "x" }),
            "cursor",
        ),
        (
            "get_thread_paths",
            json!({ "message_id": id, "path": "/" }),
            "path",
        ),
    ] {
        let refused = refusal(&mut stored.client, tool, arguments.clone());
        let refused = refused.unwrap_or_else(|| panic!("{tool} {arguments}"));
        assert!(refused.contains(told), "{tool}: {refused}");
    }
    for tool in TOOLS {
        let arguments = json!({ "message_id": id, "account_id": "nowhere" });
        let refused = refusal(&mut stored.client, tool, arguments).expect(tool);
        assert!(
            refused.contains("account 'nowhere' is not configured"),
            "{refused}"
        );
    }
}

#[test]
fn every_account_is_asked_and_one_that_fails_is_said() {
    let holders = [
        Holder::new(Kind::Maildir, &talk()),
        Holder::new(Kind::Imap, &talk()),
    ];
    let state = tempfile::tempdir().unwrap();
    let mut command = program();
    command.env("MAILWARDEN_STATE_DIR", state.path());
    for (holder, name) in holders.iter().zip(["DEFAULT", "WORK"]) {
        holder.configure(&mut command, name);
    }
    command.env("MAIL_MAILDIR_BROKEN_PATH", state.path().join("nowhere"));
    let mut client = start(command);
    let id = "answer@talk.example";
    let read = client.call("read_thread", json!({ "message_id": id }));
    assert_eq!(read.number("/thread_size"), 3, "{}", read.text);
    assert_eq!(read.data("/status"), "partial");
    assert!(read.text("/issues/0/message").starts_with("broken: "));
    assert!(read.warnings().contains("work"), "{}", read.warnings());
    assert!(read.text("/emails/0/id").starts_with("maildir:default:"));
    let one = client.call(
        "read_thread",
        json!({ "message_id": id, "account_id": "work" }),
    );
    assert_eq!(one.data("/status"), "ok", "{}", one.text);
    assert!(one.text("/emails/0/id").starts_with("imap:work:"));
    let absent = client.call("read_email", json!({ "message_id": "nobody@talk.example" }));
    assert_eq!(absent.data("/coverage/complete"), false);
    assert!(!texts(&absent.data("/possible_reasons")).is_empty());
    assert_eq!(absent.data("/issues").as_array().unwrap().len(), 1);
}
