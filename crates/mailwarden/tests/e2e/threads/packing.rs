//! A conversation within a budget: what is left out stands elsewhere in the same answer, and what is cut can be had.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use testkit::Delivery;
use testkit::mcp::CallOutcome;

use super::letters::{Letter, day};
use super::store::{KINDS, Kind, Stored};
use super::{quoted, texts};
use crate::support::Look;

fn id(number: usize) -> String {
    format!("turn{number}@long.example")
}

/// Each answers the one before it; `text` makes what it says out of that one's text.
fn chain(length: usize, text: impl Fn(usize, &str) -> String) -> Vec<(&'static str, Delivery)> {
    let mut before = String::new();
    let mut ids: Vec<String> = Vec::new();
    (0..length)
        .map(|number| {
            let after: Vec<&str> = ids.iter().map(String::as_str).collect();
            before = text(number, &before);
            let letter = Letter::new(&id(number))
                .from(["Anna <anna@long.example>", "Ben <ben@long.example>"][number % 2])
                .after(&after)
                .on(day(1) + 3_600 * number as u64)
                .says(&before);
            // As most clients do, a long chain is cut in its middle.
            ids.push(id(number));
            if ids.len() > 12 {
                ids.remove(1);
            }
            let folder = ["INBOX", "Sent"][number % 2];
            (folder, letter.delivery())
        })
        .collect()
}

/// What a person adds, and everything before it as a quote.
fn quoted_to_the_end(number: usize, before: &str) -> String {
    let own = format!(
        "Point {number} is settled, as far as I can see, and the next one is open.\r\n\
         The plan of room {number} has to be drawn again before the summer begins.\r\n"
    );
    match before.is_empty() {
        true => own,
        false => format!(
            "{own}\r\nOn day {number} somebody wrote:\r\n{}",
            quoted(before)
        ),
    }
}

fn packed(outcome: &CallOutcome) -> Vec<String> {
    let emails = outcome.data("/emails");
    let emails = emails.as_array().unwrap().iter();
    emails
        .map(|one| one["body_text"].as_str().unwrap().to_owned())
        .collect()
}

fn chars(packed: &[String]) -> usize {
    packed.iter().map(|one| one.chars().count()).sum()
}

/// As a reader makes texts whole that were packed in their order, the first being #1: by what the markers say.
fn unpacked(packed: &[String]) -> Vec<String> {
    let mut full: Vec<String> = Vec::new();
    for text in packed {
        let mut lines: Vec<String> = Vec::new();
        for line in text.split('\n') {
            let Some(marker) = line.strip_prefix("[quoted: line") else {
                lines.push(line.to_owned());
                continue;
            };
            let marker = marker.trim_start_matches('s').trim_end_matches(']').trim();
            let (range, number) = marker.split_once(" of #").unwrap();
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            let place = |digits: &str| digits.parse::<usize>().unwrap();
            let quoted = full[place(number) - 1].split('\n');
            let quoted = quoted.take(place(last)).skip(place(first) - 1);
            lines.extend(quoted.map(|line| match line {
                "" => ">".to_owned(),
                line => format!("> {line}"),
            }));
        }
        full.push(lines.join("\n"));
    }
    full
}

/// The text of a message from a cursor on, to its end.
fn rest(stored: &mut Stored, id: &str, cursor: &Value) -> String {
    let mut text = String::new();
    let mut cursor = cursor.clone();
    while cursor.is_string() {
        let more = stored.client.call(
            "read_email",
            json!({ "message_id": id, "cursor": cursor, "max_chars": 700 }),
        );
        assert_eq!(more.structured["success"], true, "{}", more.text);
        text.push_str(&more.text("/body_text"));
        cursor = more.data("/next_cursor");
    }
    text
}

fn whole(stored: &mut Stored, number: usize) -> String {
    let read = stored.client.call(
        "read_email",
        json!({ "message_id": id(number), "max_chars": 100_000 }),
    );
    assert_eq!(read.data("/next_cursor"), Value::Null);
    read.text("/body_text")
}

#[test]
fn what_is_quoted_to_the_end_is_said_once_and_nothing_is_lost() {
    let mut stored = Stored::new(Kind::Imap, &chain(40, quoted_to_the_end));
    let read = stored.client.call(
        "read_thread",
        json!({ "message_id": id(17), "max_chars": 200_000 }),
    );
    assert_eq!(read.number("/thread_size"), 40);
    let packed = packed(&read);
    let full: Vec<String> = (0..40).map(|number| whole(&mut stored, number)).collect();
    let plain: usize = full.iter().map(|text| text.chars().count()).sum();
    let told = chars(&packed);
    assert!(told * 100 <= plain * 15, "{told} of {plain}");
    assert_eq!(unpacked(&packed), full);
}

#[test]
fn a_budget_is_kept_and_what_is_cut_is_named_and_can_be_had() {
    let text = |number: usize, before: &str| {
        let own = format!("Line of message {number}, which nobody quotes as a whole. ");
        let lines: Vec<String> = (0..30)
            .map(|line| format!("{line}: {own}{}", "x".repeat(line)))
            .collect();
        let quote: Vec<&str> = before.lines().take(3).collect();
        format!(
            "{}\r\n\r\n{}",
            lines.join("\r\n"),
            quoted(&quote.join("\n"))
        )
    };
    let mut stored = Stored::new(Kind::Maildir, &chain(10, text));
    let full: Vec<String> = (0..10).map(|number| whole(&mut stored, number)).collect();
    for (view, max_chars) in [
        ("new", 3_000),
        ("new", 9_000),
        ("full", 3_000),
        ("full", 9_000),
        ("new", 1_000),
    ] {
        let arguments = json!({ "message_id": id(9), "max_chars": max_chars, "view": view });
        let mut read = stored.client.call("read_thread", arguments.clone());
        let mut seen = BTreeSet::new();
        loop {
            let told = packed(&read);
            let sum = chars(&told);
            assert!(sum <= max_chars, "{view} {max_chars}: {sum}");
            let emails = read.data("/emails").as_array().unwrap().clone();
            for (one, packed) in emails.iter().zip(&told) {
                let number = one["n"].as_u64().unwrap() as usize - 1;
                assert!(seen.insert(number), "{number} twice");
                let (whole, cursor) = (&full[number], &one["body_cursor"]);
                let rest = rest(&mut stored, &id(number), cursor);
                let is_cut = one["body_chars_left"].is_u64();
                assert_eq!(is_cut, cursor.is_string(), "{view} {max_chars} {number}");
                assert!(whole.ends_with(&rest), "{view} {max_chars} {number}");
                if view == "full" || !packed.contains("[quoted") {
                    let both = format!("{packed}{rest}");
                    assert_eq!(both, *whole, "{view} {max_chars} {number}");
                }
            }
            let cursor = read.data("/next_cursor");
            if !cursor.is_string() {
                break;
            }
            let mut next = arguments.clone();
            next["cursor"] = cursor;
            read = stored.client.call("read_thread", next);
        }
        assert_eq!(seen.len(), 10, "{view} {max_chars}");
    }
}

#[test]
fn the_newest_message_is_cut_last() {
    let text = |number: usize, _: &str| format!("{number}: ").repeat(300);
    let mut stored = Stored::new(Kind::Maildir, &chain(5, text));
    let read = stored.client.call(
        "read_thread",
        json!({ "message_id": id(0), "max_chars": 3_000 }),
    );
    let emails = read.data("/emails");
    let emails = emails.as_array().unwrap();
    let (newest, older) = emails.split_last().unwrap();
    assert_eq!(newest["body_cursor"], Value::Null, "{newest}");
    assert!(older.iter().all(|one| one["body_cursor"].is_string()));
}

#[test]
fn a_long_conversation_is_paged_and_every_message_comes_once() {
    let text = |number: usize, _: &str| format!("Only {number}.");
    for kind in KINDS {
        let mut stored = Stored::new(kind, &chain(150, text));
        let mut seen: Vec<u64> = Vec::new();
        let mut arguments = json!({ "message_id": id(75) });
        let mut pages = 0;
        loop {
            let read = stored.client.call("read_thread", arguments.clone());
            assert_eq!(read.number("/thread_size"), 150, "{kind:?}");
            let emails = read.data("/emails");
            let emails = emails.as_array().unwrap();
            for one in emails {
                let n = one["n"].as_u64().unwrap();
                assert_eq!(one["message_id"], format!("<{}>", id(n as usize - 1)));
                assert_eq!(one["body_text"], format!("Only {}.", n - 1), "{kind:?}");
                seen.push(n);
            }
            pages += 1;
            match read.data("/next_cursor") {
                Value::String(cursor) => arguments["cursor"] = json!(cursor),
                _ => break,
            }
        }
        assert!(pages > 1, "{kind:?}");
        seen.sort_unstable();
        assert_eq!(seen, (1..=150).collect::<Vec<u64>>(), "{kind:?}");
        let paths = stored
            .client
            .call("get_thread_paths", json!({ "message_id": id(75) }));
        let paths: BTreeSet<String> = texts(&paths.data("/file_paths")).into_iter().collect();
        assert_eq!(paths.len(), 150, "{kind:?}");
    }
}
