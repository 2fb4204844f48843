//! The children that read attachments: what goes on beside them, and that none is left behind.

use std::process::Command;
use std::time::Duration;

use serde_json::json;
use testkit::McpClient;

use crate::documents::{self, Attached};
use crate::support::{Look, with};

/// Looks at the processes; each a millisecond or more after the one before.
const TRIES: usize = 30_000;

/// Attachments that keep their readers busy for a while, one after the other, and a small one.
fn heavy_mail() -> Vec<u8> {
    let lines = ["The same line on and on, as long as a line is."; 30];
    let pages = [lines.as_slice(); 200];
    let heavy = Attached::new("application/pdf", "heavy.pdf", documents::pdf(&pages));
    let mut attached = vec![heavy; 4];
    attached.push(Attached::new(
        "application/rtf",
        "small.rtf",
        r"{\rtf1 still here}",
    ));
    documents::mail("See the papers.", &attached)
}

/// A child of the program that reads an attachment, stopped in the middle of it.
fn stopped_worker(client: &McpClient) -> u32 {
    wait_for("a reader at work", || {
        let all = workers(client.pid());
        let worker = all.into_iter().find(|worker| is_locked_in(*worker))?;
        signal("-STOP", worker);
        // One that had ended meanwhile is none.
        (state(worker) == Some('T')).then_some(worker)
    })
}

/// From then on it reads the attachment, and its end is tied to the program's. The filter of system calls comes last.
fn is_locked_in(worker: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{worker}/status")).unwrap_or_default();
    status.lines().any(|line| line == "Seccomp:\t2")
}

fn workers(parent: u32) -> Vec<u32> {
    let processes = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let numbers = processes.filter_map(|process| process.file_name().to_str()?.parse().ok());
    numbers
        .filter(|process| is_worker(*process) && stat(*process).is_some_and(|(_, of)| of == parent))
        .collect()
}

fn is_worker(process: u32) -> bool {
    let line = std::fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
    line.split(|octet| *octet == 0)
        .any(|word| word == b"extract-worker")
}

/// Its state and its parent.
fn stat(process: u32) -> Option<(char, u32)> {
    let line = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let (_, rest) = line.rsplit_once(')')?;
    let mut words = rest.split_whitespace();
    Some((words.next()?.chars().next()?, words.next()?.parse().ok()?))
}

fn state(process: u32) -> Option<char> {
    stat(process).map(|(state, _)| state)
}

/// Ended, whether or not anybody has taken note.
fn is_gone(process: u32) -> bool {
    !is_worker(process) || matches!(state(process), None | Some('Z' | 'X'))
}

fn signal(which: &str, process: u32) {
    let _ = Command::new("kill")
        .args([which, &process.to_string()])
        .output();
}

fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    for _ in 0..TRIES {
        if let Some(found) = look() {
            return found;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    panic!("waited in vain for {what}");
}

fn extract(id: &str) -> serde_json::Value {
    json!({ "message_id": id, "extract_attachment_text": true })
}

#[test]
fn others_are_answered_while_a_reader_hangs() {
    let (_server, mut client, id) = with(&heavy_mail());
    let reading = client.send_call("imap_get_message", extract(&id));
    let worker = stopped_worker(&client);
    let accounts = client.call("imap_list_accounts", json!({}));
    assert_eq!(accounts.data("/accounts/0/account_id"), "default");
    let plain = client.call("imap_get_message", json!({ "message_id": id }));
    assert_eq!(plain.text("/message/body_text"), "See the papers.");
    // Its reader never goes on: that attachment is given up, and the others are read.
    let read = client.wait_call(reading);
    assert!(is_gone(worker));
    assert_eq!(read.data("/status"), "partial");
    let issues = read.data("/issues").to_string();
    assert!(issues.contains("reading it took too long"), "{issues}");
    assert_eq!(read.text("/message/body_text"), "See the papers.");
    assert_eq!(
        read.text("/message/attachments/4/extracted_text"),
        "still here"
    );
}

#[test]
fn whoever_goes_away_leaves_no_reader_behind() {
    type Going = fn(&mut McpClient, testkit::mcp::RequestId);
    let ways: [(&str, Going); 3] = [
        ("cancelling", |client, reading| client.cancel(reading)),
        ("closing stdin", |client, _| client.close_stdin()),
        ("killing the program", |client, _| client.kill()),
    ];
    let raw = heavy_mail();
    for (way, go) in ways {
        let (_server, mut client, id) = with(&raw);
        let reading = client.send_call("imap_get_message", extract(&id));
        let worker = stopped_worker(&client);
        let all = workers(client.pid());
        go(&mut client, reading);
        // Stopped, it cannot end by itself.
        wait_for(&format!("its end after {way}"), || {
            is_gone(worker).then_some(())
        });
        wait_for(&format!("the others' end after {way}"), || {
            all.iter().all(|one| is_gone(*one)).then_some(())
        });
        wait_for(&format!("no new ones after {way}"), || {
            workers(client.pid()).is_empty().then_some(())
        });
    }
}
