//! One attachment's text, and how a long text goes on.

use serde_json::{Value, json};

use super::{House, blacklist, letter, work};

/// A text, a picture, and so many files of text after it.
fn with_files(files: usize) -> Vec<u8> {
    let mut raw = "From: a@x.example\r\nTo: alice@example.org\r\nSubject: many\r\nMIME-Version: 1.0\r\n\
         Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: text/plain\r\n\r\nsee below\r\n\
         --b\r\nContent-Type: image/png\r\nContent-Transfer-Encoding: base64\r\n\
         Content-Disposition: attachment; filename=a.png\r\n\r\niVBORw0KGgoAAAANSUhEUg==\r\n"
        .to_owned();
    for n in 1..=files {
        raw.push_str(&format!(
            "--b\r\nContent-Type: text/plain\r\nContent-Disposition: attachment; filename=f{n}.txt\r\n\r\n\
             text of file {n}\r\n"
        ));
    }
    raw.push_str("--b--\r\n");
    raw.into_bytes()
}

#[test]
fn the_text_of_one_attachment_is_told_or_why_there_is_none() {
    let house = House::new(&[("agent", blacklist("FULL", json!([])))]);
    house.server.deliver("alice", "INBOX", &with_files(60));
    let mut agent = house.client("agent");
    let mut as_text = |part: &str| {
        let arguments = work(json!({ "uid": 1, "part_id": part, "as_text": true }));
        agent.call("fetch_attachment", arguments)
    };
    let picture = as_text("2");
    let data = &picture.structured["data"];
    assert_eq!(data["status"], "partial", "{data}");
    assert_eq!(data["issues"].as_array().unwrap().len(), 1, "{data}");
    assert_eq!(data["issues"][0]["code"], "extraction_unsupported");
    assert_eq!(data["issues"][0]["retryable"], false);
    for part in [3, 62] {
        let late = as_text(&part.to_string());
        let data = &late.structured["data"];
        assert_eq!(data["status"], "ok", "{data}");
        assert_eq!(data["issues"], json!([]));
        let text = format!("text of file {}", part - 2);
        assert_eq!(data["attachment"]["text"], text, "{data}");
    }
    drop(agent);
    let records = house.records();
    let calls = records.iter().filter(|one| one["event"] == "call");
    let parts: Vec<&Value> = calls.map(|one| &one["arguments"]["part_id"]).collect();
    assert_eq!(parts, ["2", "3", "62"]);
}

#[test]
fn a_long_text_goes_on_by_the_argument_that_the_tool_has() {
    let house = House::new(&[("agent", blacklist("FULL", json!([])))]);
    let long = letter("a@x.example", "long", &"word ".repeat(200));
    house.server.deliver("alice", "INBOX", &long);
    let mut agent = house.client("agent");
    let first = agent.call("fetch_body", work(json!({ "uid": 1, "max_chars": 100 })));
    let next = &first.structured["data"]["body"]["next_offset"];
    let hint = format!("call again with offset: {next}");
    assert!(first.text.contains(&hint), "{}", first.text);
    assert!(!first.text.contains("body_offset"), "{}", first.text);
    let second = agent.call("fetch_body", work(json!({ "uid": 1, "offset": next })));
    assert!(!second.is_error, "{}", second.text);
}
