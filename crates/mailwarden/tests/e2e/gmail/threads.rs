//! Conversations where a message is under many labels: each message once, from as few round trips as anywhere.

use serde_json::json;
use testkit::gmail::Place;
use testkit::{Delivery, Gmail};

use super::{Owner, work};
use crate::support::Look;
use crate::threads::letters::{Letter, day};

fn name(number: u64) -> String {
    format!("turn{number}@talk.example")
}

/// Twenty messages over the inbox, what was sent, and two labels, most of them under several.
fn talk(gmail: &Gmail) -> Vec<u64> {
    let other = Place::label("Other");
    let turns = (0..20).map(|number| {
        let parents: Vec<String> = (0..number).map(name).collect();
        let parents: Vec<&str> = parents.iter().map(String::as_str).collect();
        let letter = Letter::new(&name(number))
            .after(&parents)
            .on(day(number))
            .says(&format!("Turn {number}."));
        let labels = match number % 4 {
            0 => vec![Place::Inbox, work()],
            1 => vec![Place::Sent, work(), other.clone()],
            2 => vec![Place::Inbox],
            _ => vec![other.clone()],
        };
        let delivery: Delivery = letter.delivery();
        gmail.deliver_as(&labels, &delivery)
    });
    turns.collect()
}

#[test]
fn a_message_under_many_labels_is_one_turn_of_a_conversation() {
    let gmail = Gmail::builder().labels(&["Work", "Other"]).start();
    talk(&gmail);
    let mut owner = Owner::of(&gmail);
    owner.client.call("imap_list_mailboxes", json!({}));
    for number in [0, 7, 19] {
        gmail.reset_record();
        let read = owner
            .client
            .call("read_thread", json!({ "message_id": name(number) }));
        assert_eq!(read.number("/thread_size"), 20, "{}", read.text);
        assert_eq!(read.data("/emails").as_array().unwrap().len(), 20);
        assert!(read.round_trips() <= 6, "{number}: {}", read.round_trips());
        let opened = gmail.commands();
        let labels = opened.iter().filter(|one| one.starts_with("EXAMINE"));
        let mut labels = labels.filter(|one| !one.contains("All Mail"));
        assert_eq!(labels.next(), None, "every message is in All Mail");
        let one = owner
            .client
            .call("read_email", json!({ "message_id": name(number) }));
        assert_eq!(
            one.data("/also_in"),
            serde_json::Value::Null,
            "{}",
            one.text
        );
    }
    let files = owner
        .client
        .call("get_thread_paths", json!({ "message_id": name(3) }));
    assert_eq!(files.data("/file_paths").as_array().unwrap().len(), 20);
}

#[test]
fn what_was_thrown_away_is_found_where_nothing_else_is() {
    let gmail = Gmail::start();
    let letter = Letter::new("gone@talk.example").says("Thrown away.");
    gmail.deliver_as(&[Place::Trash], &letter.delivery());
    let mut owner = Owner::of(&gmail);
    let read = owner
        .client
        .call("read_email", json!({ "message_id": "gone@talk.example" }));
    assert!(read.text.contains("Thrown away."), "{}", read.text);
}

#[test]
fn where_all_mail_is_hidden_every_label_is_searched_and_each_message_told_once() {
    let gmail = Gmail::builder()
        .hide(Place::All)
        .labels(&["Work", "Other"])
        .start();
    talk(&gmail);
    let mut owner = Owner::of(&gmail);
    let read = owner
        .client
        .call("read_thread", json!({ "message_id": name(7) }));
    assert_eq!(read.number("/thread_size"), 20, "{}", read.text);
}
