//! Searching: what Gmail calls each message, where it lies in All Mail, and the search of Gmail's own.

use serde_json::{Value, json};
use testkit::gmail::Place;
use testkit::{Dovecot, Gmail, Mailgen};

use super::{Owner, folder, id, work};
use crate::changes::ask;
use crate::support::{Look, note};

/// So many in the inbox, every third under a label too, among others that are elsewhere.
fn filled(gmail: &Gmail, count: u64) -> Vec<u64> {
    let mail = Mailgen::new(7);
    let each = (0..count).zip(mail.messages(count)).map(|(number, raw)| {
        gmail.deliver(&[], note(&format!("elsewhere {number}"), "x"));
        match number % 3 {
            0 => gmail.deliver(&[Place::Inbox, work()], raw.raw),
            _ => gmail.deliver(&[Place::Inbox], raw.raw),
        }
    });
    each.collect()
}

#[test]
fn a_page_of_fifty_says_where_each_is_in_all_mail_in_three_round_trips() {
    let gmail = Gmail::start();
    let all = filled(&gmail, 60);
    let mut owner = Owner::of(&gmail);
    owner
        .client
        .call("list_folders", json!({ "account_id": "default" }));
    for (time, most) in [("first", 3), ("again", 2)] {
        gmail.reset_record();
        let page = owner
            .client
            .call("search", folder("INBOX", json!({ "limit": 50 })));
        let lines = page.data("/messages");
        let lines = lines.as_array().unwrap();
        assert_eq!(lines.len(), 50, "{}", page.text);
        for (line, message) in lines.iter().zip(all.iter().rev()) {
            assert_eq!(line["gm_msgid"], message.to_string());
            assert_eq!(
                line["gm_thrid"],
                gmail.thread(*message).unwrap().to_string()
            );
            let number = gmail.uid(&Place::All, *message).unwrap();
            assert_eq!(line["canonical_all_mail_uid"], number);
        }
        assert!(page.round_trips() <= most, "{time}: {}", page.round_trips());
        // What reaches the server in pieces may be counted twice there.
        let flights = gmail.tally().flights as u64;
        assert!(flights >= page.round_trips(), "{time}: {flights}");
        let searched = gmail.commands();
        let searched = searched.iter().filter(|one| one.contains("X-GM-MSGID 1"));
        let want = if time == "first" { 50 } else { 0 };
        assert_eq!(searched.count(), want, "{time}");
    }
    // The owner's other search says the same.
    let page = owner.client.call(
        "imap_search_messages",
        json!({ "mailbox": "Work", "limit": 3 }),
    );
    let newest = all[57];
    assert_eq!(page.text("/messages/0/gm_msgid"), newest.to_string());
    let number = gmail.uid(&Place::All, newest).unwrap();
    let told = page.number("/messages/0/canonical_all_mail_uid");
    assert_eq!(told, u64::from(number));
}

#[test]
fn what_is_in_the_trash_or_where_all_mail_is_hidden_has_no_number_there() {
    let gmail = Gmail::start();
    let thrown = gmail.deliver(&[Place::Trash], note("thrown", "x"));
    let kept = gmail.deliver(&[Place::Inbox], note("kept", "x"));
    let mut owner = Owner::of(&gmail);
    for name in ["[Gmail]/Trash", "[Gmail]/Spam"] {
        let page = owner.client.call("search", folder(name, json!({})));
        let lines = page.data("/messages");
        for line in lines.as_array().unwrap() {
            assert_eq!(line["gm_msgid"], thrown.to_string());
            assert_eq!(line["canonical_all_mail_uid"], Value::Null);
        }
        assert_eq!(page.warnings(), "", "{name}");
    }
    let page = owner
        .client
        .call("search", folder("[Gmail]/All Mail", json!({})));
    let number = gmail.uid(&Place::All, kept).unwrap();
    let told = page.number("/messages/0/canonical_all_mail_uid");
    assert_eq!(told, u64::from(number));

    let gmail = Gmail::builder().hide(Place::All).start();
    let kept = gmail.deliver(&[Place::Inbox], note("kept", "x"));
    let mut owner = Owner::of(&gmail);
    for _ in 0..2 {
        let page = owner.client.call("search", folder("INBOX", json!({})));
        let line = &page.data("/messages/0");
        assert_eq!(line["gm_msgid"], kept.to_string());
        assert_eq!(line["canonical_all_mail_uid"], Value::Null);
        let warned = page.warnings();
        assert_eq!(
            warned.matches("All Mail is not shown").count(),
            1,
            "{warned}"
        );
    }
}

#[test]
fn gmails_own_search_finds_and_its_words_never_become_commands() {
    let gmail = Gmail::builder().labels(&["Work"]).start();
    let bill = gmail.deliver(&[Place::Inbox, work()], note("bill", "pay (soon)"));
    gmail.deliver(&[Place::Inbox], note("lunch", "soup"));
    let mut owner = Owner::of(&gmail);
    for (words, found) in [
        ("subject:bill label:work", 1),
        ("soup OR pay", 2),
        ("\"nothing of the kind\"", 0),
        ("x\" ALL UID SEARCH ALL \"", 0),
        ("x) LOGOUT", 0),
        ("ü \\ {5}", 0),
    ] {
        let criteria = json!({ "criteria": { "gm_raw": words } });
        let page = ask(&mut owner.client, "search", folder("INBOX", criteria));
        assert_eq!(page.data["matched_total"], found, "{words}: {}", page.text);
    }
    let line = ask(
        &mut owner.client,
        "search",
        folder("INBOX", json!({ "criteria": { "gm_raw": "pay" } })),
    );
    assert_eq!(line.data["messages"][0]["gm_msgid"], bill.to_string());
    for said in gmail.commands() {
        assert!(!said.starts_with("LOGOUT"), "{said}");
    }
}

#[test]
fn no_other_server_has_it_and_says_so() {
    let server = Dovecot::start();
    server.deliver("alice", "INBOX", &note("one", "x"));
    let mut client = crate::support::client_with(
        &crate::support::Account {
            port: server.port(),
            ..crate::support::Account::default()
        },
        &[("MAILWARDEN_TOOLSETS", "gateway")],
    );
    let criteria = json!({ "criteria": { "gm_raw": "pay" } });
    let refused = ask(&mut client, "search", folder("INBOX", criteria));
    assert_eq!(
        refused.words, "DENY tool_not_applicable_for_provider",
        "{}",
        refused.text
    );
    let page = ask(&mut client, "search", folder("INBOX", json!({})));
    let line = &page.data["messages"][0];
    for name in ["gm_msgid", "gm_thrid", "canonical_all_mail_uid"] {
        assert_eq!(line.get(name), None, "{name}");
    }
}

#[test]
fn a_message_is_one_in_all_of_its_labels() {
    let gmail = Gmail::builder().labels(&["Work"]).start();
    let one = gmail.deliver(&[Place::Inbox, work()], note("one", "x"));
    let mut owner = Owner::of(&gmail);
    for name in ["INBOX", "Work", "[Gmail]/All Mail"] {
        let page = owner.client.call("search", folder(name, json!({})));
        assert_eq!(page.text("/messages/0/gm_msgid"), one.to_string(), "{name}");
        let number = u64::from(gmail.uid(&Place::All, one).unwrap());
        let told = page.number("/messages/0/canonical_all_mail_uid");
        assert_eq!(told, number, "{name}");
    }
    assert!(!id(&gmail, "Work", &work(), one).is_empty());
}
