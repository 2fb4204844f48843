//! Several messages that claim to be the same, several accounts that have one, and texts that go on: what is shown is the
//! message that was first, in the account that has it, and a text ends in the message in which it began.

use std::net::TcpListener;
use std::path::Path;

use serde_json::{Value, json};
use testkit::Delivery;

use super::letters::{Letter, day};
use super::store::{Holder, KINDS, Kind, Stored};
use super::{each, refusal, talk, texts};
use crate::support::{Account, Look, configure, program, start};

const OWN: &str = "promise@talk.example";

fn promise() -> Letter {
    Letter::new(OWN)
        .from("Alice <alice@talk.example>")
        .says("I will pay one thousand for it.")
}

/// Everything that tells copies from strangers is the same, but what is said.
fn forged() -> Delivery {
    let said = promise().says("I will pay nine hundred for it.");
    assert_eq!(said.delivery().raw.len(), promise().delivery().raw.len());
    said.delivery().at(day(4))
}

#[test]
fn a_copy_that_came_later_does_not_speak_for_the_first() {
    let answer = Letter::new("fine@talk.example").after(&[OWN]).on(day(5));
    let mail = [
        ("Sent", promise().delivery()),
        ("INBOX", forged()),
        ("INBOX", answer.delivery()),
    ];
    for kind in KINDS {
        let mut stored = Stored::new(kind, &mail);
        let read = stored
            .client
            .call("read_email", json!({ "message_id": OWN }));
        assert_eq!(read.text("/mailbox"), "Sent", "{kind:?}");
        let said = "I will pay one thousand for it.";
        assert_eq!(read.text("/body_text"), said, "{kind:?}");
        assert_eq!(texts(&read.data("/also_in")).len(), 1, "{kind:?}");
        let thread = stored
            .client
            .call("read_thread", json!({ "message_id": "fine@talk.example" }));
        assert_eq!(each(&thread, "mailbox"), ["Sent", "INBOX"], "{kind:?}");
        assert_eq!(each(&thread, "body_text")[0], said, "{kind:?}");
        let path = stored
            .client
            .call("get_email_path", json!({ "message_id": OWN }));
        let octets = std::fs::read_to_string(path.text("/file_path")).unwrap();
        assert!(octets.contains(said), "{kind:?}");
    }
}

#[test]
fn copies_that_are_seen_first_do_not_speak_for_the_first() {
    let said = "I will pay one thousand for it.";
    for (folder, copies) in [("Bank", 1), ("Sent", 1), ("Sent", 5), ("Bank", 20)] {
        let mut mail = vec![(folder, promise().delivery())];
        mail.extend((0..copies).map(|_| ("INBOX", forged())));
        for kind in KINDS {
            let told = format!("{kind:?} {folder} {copies}");
            let mut stored = Stored::new(kind, &mail);
            let listed = stored
                .client
                .call("imap_search_messages", json!({ "mailbox": "INBOX" }));
            assert_eq!(listed.data("/status"), "ok", "{told}: {}", listed.text);
            for way in ["cold", "warm"] {
                let path = stored
                    .client
                    .call("get_email_path", json!({ "message_id": OWN }));
                let octets = std::fs::read_to_string(path.text("/file_path")).unwrap();
                assert!(octets.contains(said), "{told} {way}");
                let read = stored
                    .client
                    .call("read_email", json!({ "message_id": OWN }));
                assert_eq!(read.text("/mailbox"), folder, "{told} {way}");
                assert_eq!(read.text("/body_text"), said, "{told} {way}");
            }
        }
    }
}

#[test]
fn a_stranger_under_the_same_id_is_told() {
    let stranger = promise().subject("Your account").on(day(3));
    let mail = [
        ("INBOX", stranger.delivery()),
        ("Sent", promise().delivery()),
    ];
    for kind in KINDS {
        let mut stored = Stored::new(kind, &mail);
        for tool in ["read_email", "get_email_path"] {
            let found = stored.client.call(tool, json!({ "message_id": OWN }));
            assert!(found.text("/id").contains(":Sent:"), "{kind:?} {tool}");
            assert_eq!(found.data("/also_in"), Value::Null, "{kind:?} {tool}");
            let told = found.warnings();
            assert!(told.contains("different messages"), "{kind:?}: {told}");
            assert!(told.contains(":INBOX:"), "{kind:?} {tool}: {told}");
        }
    }
}

/// An answer of many words that has no id of its own.
fn nameless() -> Delivery {
    let letter = Letter::new("nobody@talk.example")
        .after(&["question@talk.example"])
        .on(day(6))
        .says(&"So much is left to say about the kiln. ".repeat(200));
    let mut delivery = letter.delivery();
    let raw = String::from_utf8(delivery.raw).unwrap();
    let bare = raw.replace("Message-ID: <nobody@talk.example>\r\n", "");
    assert_ne!(raw, bare);
    delivery.raw = bare.into_bytes();
    delivery
}

#[test]
fn what_is_cut_of_a_message_without_an_id_can_be_had_too() {
    let mut mail = talk();
    mail.push(("INBOX", nameless()));
    for kind in KINDS {
        let mut stored = Stored::new(kind, &mail);
        let asked = "thanks@talk.example";
        let thread = stored.client.call(
            "read_thread",
            json!({ "message_id": asked, "max_chars": 2_500, "view": "full" }),
        );
        assert_eq!(each(&thread, "message_id")[3], "", "{kind:?}");
        let mut whole = thread.text("/emails/3/body_text");
        let mut cursor = thread.data("/emails/3/body_cursor");
        let left = thread.number("/emails/3/body_chars_left");
        assert!(left > 1_000, "{kind:?}: {left}");
        for _ in 0..20 {
            if cursor.is_null() {
                break;
            }
            let arguments = json!({ "message_id": asked, "cursor": cursor, "max_chars": 2_000 });
            let rest = stored.client.call("read_email", arguments);
            assert_eq!(rest.data("/id"), thread.data("/emails/3/id"), "{kind:?}");
            whole.push_str(&rest.text("/body_text"));
            cursor = rest.data("/next_cursor");
        }
        let said = "So much is left to say about the kiln. ".repeat(200);
        assert_eq!(whole, said, "{kind:?}");
    }
}

#[test]
fn a_text_goes_on_in_the_message_in_which_it_began() {
    let long = |said: &str| promise().says(&said.repeat(100));
    let mail = [("Sent", long("the first one ").delivery())];
    let mut stored = Stored::new(Kind::Maildir, &mail);
    let ask = json!({ "message_id": OWN, "max_chars": 100 });
    let begun = stored.client.call("read_email", ask);
    let cursor = begun.text("/next_cursor");
    // It goes, and another of the same id lies elsewhere.
    let folder = stored.root().join(".Sent/cur");
    let entry = std::fs::read_dir(&folder).unwrap().next().unwrap().unwrap();
    std::fs::remove_file(entry.path()).unwrap();
    let other = stored.root().join("cur/1772697600.M9P1.host:2,");
    std::fs::write(Path::new(&other), long("the other one ").delivery().raw).unwrap();
    let arguments = json!({ "message_id": OWN, "cursor": cursor });
    let refused = refusal(&mut stored.client, "read_email", arguments).expect("a refusal");
    assert!(refused.contains("call again without cursor"), "{refused}");
    let anew = stored
        .client
        .call("read_email", json!({ "message_id": OWN }));
    assert!(anew.text("/body_text").starts_with("the other one"));
}

#[test]
fn the_account_that_has_a_message_answers_before_one_that_only_names_it() {
    let mut talk = talk();
    let answers: Vec<_> = talk
        .extract_if(.., |(folder, _)| *folder == "INBOX")
        .collect();
    // One has the question and the thanks, the other the answer between them.
    let holders = [
        Holder::new(Kind::Maildir, &answers),
        Holder::new(Kind::Maildir, &talk),
    ];
    let state = tempfile::tempdir().unwrap();
    let mut command = program();
    command.env("MAILWARDEN_STATE_DIR", state.path());
    for (holder, name) in holders.iter().zip(["DEFAULT", "WORK"]) {
        holder.configure(&mut command, name);
    }
    let mut client = start(command);
    let id = "answer@talk.example";
    for tool in ["read_thread", "read_email"] {
        let read = client.call(tool, json!({ "message_id": id }));
        let own = read.data("/id");
        let at = own.as_str().map(str::to_owned);
        let at = at.unwrap_or_else(|| read.text("/emails/0/id"));
        assert!(at.starts_with("maildir:work:"), "{tool}: {at}");
    }
}

#[test]
fn a_dead_server_holds_up_nobody_whose_mail_lies_elsewhere() {
    // It takes connections, and says nothing for ever.
    let silent = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = silent.local_addr().unwrap().port();
    let holder = Holder::new(Kind::Maildir, &talk());
    let state = tempfile::tempdir().unwrap();
    let mut command = program();
    command
        .env("MAILWARDEN_STATE_DIR", state.path())
        .env("MAIL_IMAP_CONNECT_TIMEOUT_MS", "3600000")
        .env("MAIL_IMAP_GREETING_TIMEOUT_MS", "3600000")
        .env("MAIL_IMAP_SOCKET_TIMEOUT_MS", "3600000");
    let account = Account {
        port,
        ..Account::default()
    };
    configure(&mut command, "DEFAULT", &account);
    holder.configure(&mut command, "WORK");
    let mut client = start(command);
    let id = "answer@talk.example";
    for tool in [
        "read_email",
        "read_thread",
        "get_email_path",
        "get_thread_paths",
    ] {
        let read = client.call(tool, json!({ "message_id": id }));
        assert_eq!(read.data("/status"), "partial", "{tool}: {}", read.text);
        assert_eq!(read.text("/issues/0/code"), "timeout", "{tool}");
        let told = read.text("/issues/0/message");
        assert!(told.starts_with("default: has not answered"), "{told}");
    }
}

#[test]
fn of_two_accounts_the_one_where_it_came_first_speaks() {
    let holders = [
        Holder::new(Kind::Maildir, &[("INBOX", forged())]),
        Holder::new(Kind::Maildir, &[("Sent", promise().delivery())]),
    ];
    let state = tempfile::tempdir().unwrap();
    let mut command = program();
    command.env("MAILWARDEN_STATE_DIR", state.path());
    for (holder, name) in holders.iter().zip(["DEFAULT", "PRIVATE"]) {
        holder.configure(&mut command, name);
    }
    let mut client = start(command);
    let read = client.call("read_email", json!({ "message_id": OWN }));
    assert_eq!(read.text("/body_text"), "I will pay one thousand for it.");
    assert!(read.warnings().contains("default"), "{}", read.warnings());
}

#[test]
fn ids_that_speak_to_a_model_are_made_harmless() {
    // With its brackets an id may be what no mail may say.
    let mail = [
        (
            "INBOX",
            Letter::new("|im_start|")
                .after(&["tool_response"])
                .delivery(),
        ),
        ("INBOX", Letter::new("tool_call").on(day(2)).delivery()),
    ];
    for kind in KINDS {
        let mut stored = Stored::new(kind, &mail);
        for (id, tool, view) in [
            ("|im_start|", "read_email", "headers"),
            ("|im_start|", "read_thread", "headers"),
            ("|im_start|", "read_thread", "new"),
            ("tool_call", "read_email", "full"),
        ] {
            let read = stored
                .client
                .call(tool, json!({ "message_id": id, "view": view }));
            assert_eq!(read.structured["success"], true, "{kind:?} {}", read.text);
            for marker in ["<|im_start|>", "<tool_response>", "<tool_call>"] {
                let told = read.raw.to_string();
                assert!(!told.contains(marker), "{kind:?} {tool} {view}: {told}");
            }
        }
    }
}

#[test]
fn the_rest_of_a_text_can_be_had_whatever_its_id_is() {
    // Longer than is shown of it, and said again otherwise than it is.
    let long = format!("{}@long.example", "x".repeat(900));
    let odd = "|im_start|@long.example";
    let said = "Word for word and line by line. ".repeat(100);
    let mail = [
        ("INBOX", Letter::new("root@long.example").delivery()),
        (
            "INBOX",
            Letter::new(&long)
                .after(&["root@long.example"])
                .on(day(2))
                .says(&said)
                .delivery(),
        ),
        (
            "INBOX",
            Letter::new(odd)
                .after(&["root@long.example"])
                .on(day(3))
                .says(&said)
                .delivery(),
        ),
    ];
    let mut stored = Stored::new(Kind::Maildir, &mail);
    let thread = stored.client.call(
        "read_thread",
        json!({ "message_id": "root@long.example", "account_id": "default", "max_chars": 1_900 }),
    );
    for place in [1, 2] {
        let cursor = thread.text(&format!("/emails/{place}/body_cursor"));
        let shown = thread.text(&format!("/emails/{place}/message_id"));
        // As it is told: with the message's own id, or else with the conversation's.
        let own = json!({ "message_id": shown, "cursor": cursor });
        let asked = json!({ "message_id": "root@long.example", "cursor": cursor });
        let went = [own, asked].into_iter().find(|arguments| {
            refusal(&mut stored.client, "read_email", arguments.clone()).is_none()
        });
        let went = went.unwrap_or_else(|| panic!("{place}"));
        let rest = stored.client.call("read_email", went);
        assert!(said.ends_with(&rest.text("/body_text")), "{place}");
    }
}

#[test]
fn the_audit_log_says_which_messages_were_read() {
    let mut stored = Stored::new(Kind::Maildir, &talk());
    let id = json!({ "message_id": "answer@talk.example" });
    let mut told = Vec::new();
    let read = stored.client.call("read_email", id.clone());
    told.push(vec![read.text("/id")]);
    let thread = stored.client.call("read_thread", id.clone());
    told.push(each(&thread, "id"));
    let path = stored.client.call("get_email_path", id.clone());
    told.push(vec![path.text("/id")]);
    stored.client.call("get_thread_paths", id);
    told.push(each(&thread, "id"));
    let log = stored.state.path().join("audit");
    let mut kept = Vec::new();
    for entry in std::fs::read_dir(log).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|kind| kind == "jsonl") {
            let lines = std::fs::read_to_string(path).unwrap();
            let records = lines
                .lines()
                .map(|line| serde_json::from_str(line).unwrap());
            kept.extend(records.filter_map(|record: Value| record.get("messages").map(texts)));
        }
    }
    assert_eq!(kept, told);
    // Who asks for one of them finds all that read it; with or without brackets, who asked for it by name.
    for (word, value) in [
        ("--message", told[0][0].as_str()),
        ("--search-text", "<answer@talk.example>"),
        ("--search-text", "answer@talk.example"),
    ] {
        let mut query = program();
        query.env("MAILWARDEN_STATE_DIR", stored.state.path());
        let found = query
            .args(["audit", "query", word, value])
            .output()
            .unwrap();
        let found = String::from_utf8(found.stdout).unwrap();
        for tool in [
            "read_email",
            "read_thread",
            "get_email_path",
            "get_thread_paths",
        ] {
            assert!(found.contains(tool), "{word} {value}: {found}");
        }
        assert!(found.contains("default Sent uid"), "{found}");
        assert!(found.contains("default 3 messages"), "{found}");
    }
}

#[test]
fn where_nothing_could_be_searched_nothing_is_said_to_be_absent() {
    let mut stored = Stored::new(Kind::Maildir, &talk());
    std::fs::remove_dir_all(stored.root()).unwrap();
    for tool in [
        "read_email",
        "read_thread",
        "get_email_path",
        "get_thread_paths",
    ] {
        let read = stored
            .client
            .call(tool, json!({ "message_id": "answer@talk.example" }));
        assert_eq!(read.structured["success"], false, "{tool}");
        let told = read.text("/error");
        assert!(
            told.starts_with("nothing could be searched: "),
            "{tool}: {told}"
        );
        assert!(!read.text.contains("spelling"), "{tool}: {}", read.text);
    }
}
