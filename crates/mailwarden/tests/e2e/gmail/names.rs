//! One spelling for system folders, whatever language a mailbox is kept in.

use serde_json::{Value, json};
use testkit::Gmail;
use testkit::gmail::{Language, Place};

use super::{Owner, folder, id};
use crate::changes::ask;
use crate::support::{Look, note};

const SYSTEM: [(&str, &str); 7] = [
    ("[Gmail]/All Mail", "all"),
    ("[Gmail]/Drafts", "drafts"),
    ("[Gmail]/Important", "important"),
    ("[Gmail]/Sent Mail", "sent"),
    ("[Gmail]/Spam", "junk"),
    ("[Gmail]/Starred", "flagged"),
    ("[Gmail]/Trash", "trash"),
];

fn asked(gmail: &Gmail, verb: &str) -> usize {
    let said = gmail.commands();
    said.iter().filter(|one| one.starts_with(verb)).count()
}

#[test]
fn system_folders_are_listed_and_opened_by_one_name_in_every_language() {
    for language in [
        Language::English,
        Language::British,
        Language::German,
        Language::Japanese,
    ] {
        let gmail = Gmail::builder()
            .language(language)
            .labels(&["Büro/Rechnungen"])
            .start();
        let thrown = gmail.deliver(&[Place::Trash], note("thrown away", "x"));
        gmail.deliver(&[Place::Inbox], note("kept", "x"));
        let mut owner = Owner::of(&gmail);
        let listed = owner.client.call("imap_list_mailboxes", json!({}));
        let listed = listed.data("/mailboxes");
        for (name, special_use) in SYSTEM {
            let found = listed.as_array().unwrap().iter();
            let found: Vec<&Value> = found.filter(|one| one["name"] == name).collect();
            assert_eq!(found.len(), 1, "{language:?} {name}: {listed}");
            assert_eq!(found[0]["special_use"], special_use, "{language:?} {name}");
        }
        let text = listed.to_string();
        assert!(text.contains("Büro/Rechnungen"), "{text}");
        for other in ["Papierkorb", "[Google Mail]", "ゴミ箱"] {
            assert!(!text.contains(other), "{language:?}: {text}");
        }
        let page = owner.client.call(
            "imap_search_messages",
            json!({ "mailbox": "[Gmail]/Trash" }),
        );
        let ours = id(&gmail, "[Gmail]/Trash", &Place::Trash, thrown);
        assert_eq!(page.text("/messages/0/message_id"), ours, "{language:?}");
        let read = owner
            .client
            .call("imap_get_message", json!({ "message_id": ours }));
        assert_eq!(read.text("/message/subject"), "thrown away", "{language:?}");
        // Who goes by what stands on the screen gets there too.
        let theirs = gmail.name(&Place::Trash);
        let page = owner
            .client
            .call("imap_search_messages", json!({ "mailbox": theirs }));
        assert_eq!(page.number("/total"), 1, "{language:?}");
        assert_eq!(page.text("/messages/0/message_id"), ours, "{language:?}");
    }
}

#[test]
fn whoever_names_a_folder_in_the_owners_language_means_the_same_one() {
    let gmail = Gmail::builder()
        .language(Language::German)
        .labels(&["Work"])
        .start();
    let one = gmail.deliver(&[Place::Trash], note("one", "x"));
    let two = gmail.deliver(&[Place::Inbox], note("two", "x"));
    gmail.deliver(&[Place::Inbox], note("three", "x"));
    // What is in the trash is deleted for good, by whatever name.
    let mut owner = Owner::of(&gmail);
    let theirs = gmail.name(&Place::Trash);
    let deleted = ask(
        &mut owner.client,
        "imap_delete_message",
        json!({ "message_id": id(&gmail, &theirs, &Place::Trash, one), "confirm": true }),
    );
    assert_eq!(deleted.words, "ok done", "{}", deleted.text);
    assert!(!gmail.messages().contains(&one));
    // Archived, by a program that has asked for nothing before.
    let mut owner = Owner::of(&gmail);
    let all = gmail.name(&Place::All);
    let archived = ask(
        &mut owner.client,
        "imap_move_message",
        json!({ "message_id": id(&gmail, "INBOX", &Place::Inbox, two), "destination_mailbox": all }),
    );
    assert_eq!(archived.words, "ok done", "{}", archived.text);
    let landed = id(&gmail, "[Gmail]/All Mail", &Place::All, two);
    assert_eq!(archived.data["new_message_id"], landed);
    // A page goes on by the other name.
    let mut search = folder(&all, json!({ "limit": 1 }));
    let page = ask(&mut owner.client, "search", search.clone());
    search["folder"] = json!("[Gmail]/All Mail");
    search["cursor"] = page.data["next_cursor"].clone();
    let next = ask(&mut owner.client, "search", search);
    assert_eq!(
        next.data["messages"].as_array().unwrap().len(),
        1,
        "{}",
        next.text
    );
}

#[test]
fn a_name_is_translated_without_a_list_where_it_is_english_and_with_one_elsewhere() {
    for (language, lists) in [(Language::English, 0), (Language::German, 1)] {
        let gmail = Gmail::builder().language(language).start();
        gmail.deliver(&[Place::Inbox], note("one", "x"));
        gmail.deliver(&[Place::Sent], note("two", "x"));
        let mut owner = Owner::of(&gmail);
        for (name, total) in [
            ("[Gmail]/Sent Mail", 1),
            ("[Gmail]/All Mail", 2),
            ("[Gmail]/Trash", 0),
            ("[Gmail]/Sent Mail", 1),
        ] {
            let found = owner.client.call("search", folder(name, json!({})));
            assert_eq!(found.number("/matched_total"), total, "{language:?} {name}");
        }
        assert_eq!(asked(&gmail, "LIST"), lists, "{language:?}");
    }
}

#[test]
fn what_is_nowhere_is_not_found_and_costs_no_list_twice() {
    let gmail = Gmail::start();
    let mut owner = Owner::of(&gmail);
    for _ in 0..3 {
        let answer = ask(
            &mut owner.client,
            "imap_search_messages",
            json!({ "mailbox": "Nowhere" }),
        );
        assert!(answer.words.contains("not_found"), "{}", answer.words);
    }
    assert!(asked(&gmail, "LIST") <= 1);
}

#[test]
fn drafts_and_copies_go_to_folders_by_their_english_names() {
    let gmail = Gmail::builder()
        .language(Language::German)
        .labels(&["Work"])
        .start();
    let one = gmail.deliver(&[Place::Inbox], note("one", "x"));
    let mut owner = Owner::of(&gmail);
    let drafted = ask(
        &mut owner.client,
        "create_draft",
        json!({ "account_id": "default", "folder": "[Gmail]/Drafts", "body": "to be said" }),
    );
    assert_eq!(drafted.words, "ok done", "{}", drafted.text);
    let starred = ask(
        &mut owner.client,
        "imap_copy_message",
        json!({
            "message_id": id(&gmail, "INBOX", &Place::Inbox, one),
            "destination_mailbox": "[Gmail]/Starred",
        }),
    );
    assert_eq!(starred.words, "ok done", "{}", starred.text);
    assert!(gmail.is_starred(one));
    let drafts = gmail.messages().into_iter();
    let mut drafts = drafts.filter(|one| gmail.labels(*one).contains(&Place::Drafts));
    assert!(drafts.next().is_some());
}
