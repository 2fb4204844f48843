//! Servers as they are: each fault has its test, so that nobody mends it away.

use serde_json::json;
use testkit::{Dovecot, Fake, FaultProxy, Leaf};

use crate::support::{Account, Look, client, client_with, inbox, note, subjects};

/// A large mailbox that describes message 1, with these capabilities and this answer to searches.
fn scripted(capabilities: &'static str, search: &'static str) -> Fake {
    Fake::script(move |s| {
        s.log_in(capabilities);
        loop {
            let command = s.command();
            if command.mentions("EXAMINE") {
                s.examined(5_000);
            } else if command.mentions("RETURN")
                || (command.mentions("SEARCH") && !search.contains("ESEARCH"))
            {
                s.reply(search);
            } else if command.mentions("SEARCH") {
                s.untagged("SEARCH 1");
                s.ok();
            } else if command.mentions("FETCH") {
                s.untagged("1 FETCH (UID 1 FLAGS () RFC822.SIZE 10 BODY[HEADER.FIELDS (FROM SUBJECT)]<0> \"Subject: hello\")");
                s.ok();
            } else {
                s.ok();
            }
        }
    })
}

#[test]
fn a_server_that_wants_to_know_us_first_is_told() {
    let fake = Fake::script(|s| {
        s.log_in("IMAP4rev1 ID");
        let id = s.expect("ID");
        assert!(id.mentions("mailwarden"));
        s.untagged("ID NIL");
        s.ok();
        s.expect("EXAMINE");
        s.examined(0);
        s.stall();
    });
    let mut client = client(fake.port());
    let page = client.call("imap_search_messages", inbox(json!({})));
    assert_eq!(page.number("/total"), 0, "{}", page.text);
}

#[test]
fn esearch_answered_by_search_or_not_at_all_still_finds() {
    for search in [
        "* SEARCH 1\r\n{tag} OK done\r\n",
        "{tag} OK ESEARCH says nothing\r\n",
        "* ESEARCH (TAG \"{tag}\") UID COUNT 3\r\n{tag} OK ESEARCH names none\r\n",
        "* ESEARCH (TAG \"{tag}\") UID COUNT 1 ALL 1:*\r\n{tag} OK ESEARCH names nonsense\r\n",
        "* ESEARCH (TAG \"{tag}\") UID\r\n{tag} OK ESEARCH counts none\r\n",
    ] {
        let fake = scripted("IMAP4rev1 ESEARCH IMAP4rev2", search);
        let mut client = client(fake.port());
        let page = client.call("imap_search_messages", inbox(json!({ "subject": "hello" })));
        assert_eq!(subjects(&page), ["hello"], "{search}: {}", page.text);
    }
}

#[test]
fn partial_results_are_used_where_offered() {
    let fake = scripted(
        "IMAP4rev1 ESEARCH PARTIAL",
        "* ESEARCH (TAG \"{tag}\") UID COUNT 4711 PARTIAL (-1:-10 1)\r\n{tag} OK done\r\n",
    );
    let mut client = client(fake.port());
    let page = client.call("imap_search_messages", inbox(json!({ "subject": "hello" })));
    assert_eq!(page.number("/total"), 4711);
    assert_eq!(subjects(&page), ["hello"]);
    assert!(fake.commands().iter().any(|c| c.contains("PARTIAL -1:-10")));
}

#[test]
fn a_listed_message_that_is_not_described_is_an_issue() {
    let fake = scripted("IMAP4rev1", "* SEARCH 1 5\r\n{tag} OK done\r\n");
    let mut client = client(fake.port());
    let page = client.call("imap_search_messages", inbox(json!({ "subject": "x" })));
    assert_eq!(page.data("/status"), "partial");
    assert_eq!(
        (
            page.number("/attempted"),
            page.number("/returned"),
            page.number("/failed")
        ),
        (2, 1, 1)
    );
    assert_eq!(page.data("/issues/0/uid"), 5);
    assert_eq!(page.data("/issues/0/message_id"), "imap:default:INBOX:7:5");
    assert_eq!(page.structured["success"], true);
}

#[test]
fn a_server_with_only_the_basics_serves_every_tool() {
    let server = Dovecot::start();
    server.deliver_many("alice", "INBOX", testkit::Mailgen::new(9).messages(25));
    let proxy = FaultProxy::builder(server.port())
        .strip("ESEARCH SEARCHRES LITERAL+ SASL-IR LIST-EXTENDED LIST-STATUS SPECIAL-USE CONDSTORE QRESYNC ID ENABLE PREVIEW")
        .start();
    let mut basic = client(proxy.port());
    let mut full = client(server.port());
    let without_cursor = |mut page: serde_json::Value| {
        page.as_object_mut().unwrap().remove("next_cursor");
        page
    };
    for arguments in [
        json!({}),
        json!({ "query": "uniq3x" }),
        json!({ "subject": "ü" }),
        json!({ "include_snippet": true }),
    ] {
        let one = basic.call("imap_search_messages", inbox(arguments.clone()));
        let two = full.call("imap_search_messages", inbox(arguments.clone()));
        assert_eq!(
            without_cursor(one.data("")),
            without_cursor(two.data("")),
            "{arguments}"
        );
    }
    let page = basic.call("imap_search_messages", inbox(json!({})));
    let next = basic.call(
        "imap_search_messages",
        inbox(json!({ "cursor": page.text("/next_cursor") })),
    );
    assert_eq!(next.number("/returned"), 10);
    let id = next.text("/messages/0/message_id");
    assert!(
        !basic
            .call("imap_get_message", json!({ "message_id": id }))
            .is_error
    );
    assert!(
        !basic
            .call("imap_get_message_raw", json!({ "message_id": id }))
            .is_error
    );
    let wire = proxy.transcript();
    assert!(!wire.contains("RETURN"), "{wire}");
}

#[test]
fn a_bridge_with_starttls_and_its_own_certificate_works_when_trusted() {
    let server = Dovecot::builder().cert(Leaf::SelfSigned).start();
    server.deliver("alice", "INBOX", &note("x", "y"));
    let pem = server.ca_path().with_file_name("server.pem");
    let account = Account {
        port: server.port(),
        secure: "starttls",
        ..Account::default()
    };
    let mut client = client_with(
        &account,
        &[("MAIL_IMAP_CA_CERT_PATH", pem.to_str().unwrap())],
    );
    let page = client.call("imap_search_messages", inbox(json!({})));
    assert_eq!(page.number("/total"), 1, "{}", page.text);
}

#[test]
fn a_uid_that_means_another_message_now_is_read_anew() {
    let fake = Fake::script(|s| {
        s.log_in("IMAP4rev1");
        let mut reads = 0;
        loop {
            let command = s.command();
            if command.mentions("EXAMINE") {
                s.examined(1);
            } else if command.mentions("BODYSTRUCTURE") {
                reads += 1;
                let body = format!("text number {reads}");
                s.send(format!(
                    "* 1 FETCH (UID 1 FLAGS () RFC822.SIZE {reads} BODYSTRUCTURE (\"text\" \"plain\" NIL NIL NIL \"7bit\" {} 1) BODY[HEADER]<0> {{2}}\r\n\r\n BODY[TEXT]<0> {{{}}}\r\n{body})\r\n",
                    body.len(), body.len()
                ).as_bytes());
                s.ok();
            } else if command.mentions("FETCH") {
                s.untagged("1 FETCH (UID 1 FLAGS () RFC822.SIZE 4711)");
                s.ok();
            } else {
                s.ok();
            }
        }
    });
    let mut client = client(fake.port());
    let id = json!({ "message_id": "imap:default:INBOX:7:1" });
    let first = client.call("imap_get_message", id.clone());
    assert_eq!(first.text("/message/body_text"), "text number 1");
    let second = client.call("imap_get_message", id);
    assert_eq!(second.text("/message/body_text"), "text number 2");
    assert_eq!(second.structured["meta"]["telemetry"]["cache_hit"], false);
}

#[test]
fn a_folder_of_any_size_is_listed_and_a_search_of_any_size_is_not() {
    let fake = Fake::script(|s| {
        s.log_in("IMAP4rev1 ESEARCH");
        loop {
            let command = s.command();
            if command.mentions("EXAMINE") {
                s.examined(300000);
            } else if command.mentions("SEARCH") {
                s.reply(
                    "* ESEARCH (TAG \"{tag}\") UID COUNT 20001 ALL 1:20001\r\n{tag} OK done\r\n",
                );
            } else if command.mentions("FETCH") {
                assert!(command.mentions("299991:300000"), "{:?}", command.text());
                for number in 299_991..=300_000 {
                    s.untagged(&format!("{number} FETCH (UID {} FLAGS () BODY[HEADER.FIELDS (FROM SUBJECT)]<0> \"Subject: m{number}\")", number + 5));
                }
                s.ok();
            } else {
                s.ok();
            }
        }
    });
    let mut client = client(fake.port());
    let page = client.call("imap_search_messages", inbox(json!({})));
    assert_eq!(page.number("/total"), 300_000);
    assert_eq!(subjects(&page)[0], "m300000");
    let params =
        json!({ "name": "imap_search_messages", "arguments": inbox(json!({ "query": "x" })) });
    let error = client.request("tools/call", params).unwrap_err();
    assert_eq!(error.data["code"], "invalid_input");
    assert!(
        error.message.contains("20001") && error.message.contains("narrow"),
        "{}",
        error.message
    );
}

#[test]
fn mail_leaves_by_no_other_command_than_reading_ones() {
    let server = Dovecot::start();
    server.deliver("alice", "INBOX", &note("x", "y"));
    let proxy = FaultProxy::to(server.port());
    let mut client = client(proxy.port());
    let page = client.call(
        "imap_search_messages",
        inbox(json!({ "include_snippet": true })),
    );
    let id = page.text("/messages/0/message_id");
    client.call("imap_get_message", json!({ "message_id": id }));
    client.call("imap_get_message_raw", json!({ "message_id": id }));
    client.call("imap_list_mailboxes", json!({}));
    for line in proxy.transcript().lines().filter(|l| l.starts_with('w')) {
        let name = line.split(' ').nth(1).unwrap();
        let known = [
            "AUTHENTICATE",
            "LOGIN",
            "CAPABILITY",
            "ID",
            "NOOP",
            "EXAMINE",
            "LIST",
            "UID",
            "FETCH",
        ];
        assert!(known.contains(&name), "{line}");
        assert!(
            !line.contains("BODY[") && !line.contains("STORE") && !line.contains("EXPUNGE"),
            "{line}"
        );
    }
}

/// A folder of five, described like this.
fn five(described: &'static [&'static str]) -> Fake {
    Fake::script(move |s| {
        s.log_in("IMAP4rev1");
        loop {
            let command = s.command();
            if command.mentions("EXAMINE") {
                s.examined(5);
            } else if command.mentions("FETCH") {
                described.iter().for_each(|line| s.untagged(line));
                s.ok();
            } else {
                s.ok();
            }
        }
    })
}

#[test]
fn what_cannot_be_read_in_a_listing_is_an_issue_and_nothing_is_lost() {
    let fake = five(&[
        "1 FETCH (UID 11 FLAGS () BODY[HEADER.FIELDS (FROM SUBJECT)]<0> \"Subject: one\")",
        "2 FETCH (UID 12 FLAGS () BODY[HEADER.FIELDS (FROM SUBJECT)]<0> NIL)",
        "3 FETCH (UID 13 FLAGS () BODY[HEADER.FIELDS (FROM SUBJECT)]<0> \"Subject: open",
        "4 FETCH (UID 14 BODY[HEADER.FIELDS (FROM SUBJECT)]<0> \"Subject: four\")",
        "5 FETCH (UID 15 FLAGS (\\Seen) BODY[HEADER.FIELDS (FROM SUBJECT)]<0> \"Subject: five\")",
        "900 FETCH (UID 900 FLAGS ())",
    ]);
    let mut client = client(fake.port());
    let page = client.call("imap_search_messages", inbox(json!({})));
    assert_eq!(page.data("/status"), "partial", "{}", page.text);
    assert_eq!(subjects(&page), ["five", "four", "-", "one"]);
    assert_eq!((page.number("/attempted"), page.number("/failed")), (5, 1));
    assert!(
        page.text("/issues/0/message").contains("1 message(s)"),
        "{}",
        page.text
    );
    assert_eq!(page.data("/messages/0/flags"), json!(["\\Seen"]));
    assert!(
        page.data("/messages/1/flags").is_null(),
        "flags that were not told are not told"
    );
}

#[test]
fn a_listing_that_cannot_be_read_at_all_is_a_failure() {
    let fake = five(&["1 FETCH (UID 11 (((", "2 FETCH (UID 12 \"", "3 FETCH (UID"]);
    let mut client = client(fake.port());
    let page = client.call("imap_search_messages", inbox(json!({})));
    assert_eq!(
        page.data("/issues/0/code"),
        "protocol_error",
        "{}",
        page.text
    );
}

#[test]
fn matches_may_be_spread_over_several_lines() {
    let fake = scripted(
        "IMAP4rev1",
        "* SEARCH 5 2\r\n* SEARCH 1\r\n{tag} OK done\r\n",
    );
    let mut client = client(fake.port());
    let page = client.call("imap_search_messages", inbox(json!({ "subject": "x" })));
    assert_eq!(page.number("/total"), 3, "{}", page.text);
}

#[test]
fn a_certificate_that_is_its_own_authority_is_trusted_for_its_own_name_only() {
    for (leaf, code) in [
        (Leaf::OwnAuthority, None),
        (Leaf::OwnAuthorityElsewhere, Some("certificate_wrong_host")),
    ] {
        let server = Dovecot::builder().cert(leaf).start();
        let pem = server.ca_path().with_file_name("server.pem");
        for (port, secure) in [(server.tls_port(), "true"), (server.port(), "starttls")] {
            let account = Account {
                host: "localhost",
                port,
                secure,
                ..Account::default()
            };
            let mut client = client_with(
                &account,
                &[("MAIL_IMAP_CA_CERT_PATH", pem.to_str().unwrap())],
            );
            let verified = client.call("imap_verify_account", json!({}));
            assert_eq!(
                verified.data("/issues/0/code").as_str(),
                code,
                "{}",
                verified.text
            );
            let mut wary = client_with(&account, &[]);
            assert!(
                wary.call("imap_verify_account", json!({})).is_error,
                "not without being told to"
            );
        }
    }
}

#[test]
fn a_false_esearch_is_told_by_a_verification_and_hides_nothing() {
    let fake = scripted(
        "IMAP4rev1 ESEARCH",
        "* ESEARCH (TAG \"{tag}\") UID COUNT 0\r\n{tag} OK ESEARCH finds none\r\n",
    );
    let mut client = client(fake.port());
    let page = client.call("imap_search_messages", inbox(json!({ "subject": "hello" })));
    assert_eq!(subjects(&page), ["hello"], "{}", page.text);
    let verified = client.call("imap_verify_account", json!({}));
    let warning = verified.structured["meta"]["warnings"][0].as_str();
    assert!(
        warning.is_some_and(|warning| warning.contains("ESEARCH")),
        "{}",
        verified.structured
    );
}

#[test]
fn a_login_without_a_mailbox_behind_it_says_so() {
    let fake = Fake::script(|s| {
        s.log_in("IMAP4rev1");
        loop {
            s.command();
            s.bad("User is authenticated but not connected.");
        }
    });
    let mut client = client(fake.port());
    let page = client.call("imap_search_messages", inbox(json!({})));
    assert_eq!(page.data("/issues/0/code"), "mailbox_unavailable");
    let message = page.text("/issues/0/message");
    assert!(
        message.contains("opens no mailbox") && message.contains("not connected"),
        "{message}"
    );
}
