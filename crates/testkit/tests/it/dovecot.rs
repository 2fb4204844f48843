//! The Dovecot fixture against itself: starts, serves what was delivered, and is gone afterwards.

use std::io::{ErrorKind, Read};
use std::net::TcpStream;
use std::time::Duration;
use testkit::{Delivery, Dovecot, Flag, Leaf, RawImap};

#[test]
fn serves_delivered_mail_in_order() {
    let server = Dovecot::start();
    let letter = |n: u32| format!("Subject: number {n}\r\n\r\nHello.\r\n").into_bytes();
    // Later messages are older: the order of delivery decides, not the date.
    let old = (1..=3).map(|n| Delivery::new(letter(n)).at(1_600_000_000 - u64::from(n) * 86_400));
    server.deliver_many(
        "alice",
        "INBOX",
        old.map(|d| d.flags(&[Flag::Seen, Flag::Flagged])),
    );
    server.deliver("alice", "INBOX", &letter(4));

    let mut imap = server.login("alice", "secret");
    assert!(imap.command("SELECT INBOX").text().contains("* 4 EXISTS"));
    let fetched = imap.command(
        "UID FETCH 1:* (UID FLAGS INTERNALDATE RFC822.SIZE BODY.PEEK[HEADER.FIELDS (SUBJECT)])",
    );
    for (n, line) in (1..=4).zip(fetched.lines()) {
        assert!(line.contains(&format!("UID {n} ")), "{line}");
        assert!(line.contains(&format!("number {n}")), "{line}");
        assert!(
            line.contains(&format!("RFC822.SIZE {}", letter(n).len())),
            "{line}"
        );
    }
    assert!(
        fetched.lines()[0].contains(r"FLAGS (\Flagged \Seen"),
        "{}",
        fetched.text()
    );
    assert!(
        fetched.lines()[0].contains("12-Sep-2020 12:26:40"),
        "{}",
        fetched.text()
    );

    server.deliver("alice", "INBOX", &letter(5));
    assert_eq!(
        imap.command("NOOP").lines()[0],
        "* 5 EXISTS",
        "mail delivered to a running server"
    );
}

#[test]
fn message_bytes_are_kept() {
    let server = Dovecot::start();
    server.deliver("alice", "INBOX", b"Subject: a\n\nbare newlines\n");
    let mut imap = server.login("alice", "secret");
    imap.command("SELECT INBOX");
    let fetched = imap.command("FETCH 1 (RFC822.SIZE BODY.PEEK[])");
    let expected = b"RFC822.SIZE 29 BODY[] {29}\r\nSubject: a\r\n\r\nbare newlines\r\n)";
    assert!(
        fetched.untagged[0].ends_with(expected),
        "{}",
        fetched.text()
    );
}

#[test]
fn folders_have_unicode_names_and_subscriptions() {
    let server = Dovecot::builder().folder("Projekte").start();
    server.create_folder("alice", "Projekte/Übersicht");
    server.deliver("alice", "Projekte/Übersicht", b"Subject: x\r\n\r\n");
    let mut imap = server.login("alice", "secret");
    let subscribed = imap.command(r#"LSUB "" *"#).text();
    assert!(subscribed.contains(r#""/" Projekte"#), "{subscribed}");
    assert!(
        subscribed.contains(r#""/" Projekte/&ANw-bersicht"#),
        "{subscribed}"
    );
    let special = imap.command(r#"LIST (SPECIAL-USE) "" *"#).text();
    for name in ["Drafts", "Sent", "Junk", "Trash", "Archive"] {
        assert!(
            special.contains(&format!("\\{name}) \"/\" {name}")),
            "{special}"
        );
    }
    let status = imap
        .command("STATUS Projekte/&ANw-bersicht (MESSAGES)")
        .text();
    assert!(status.contains("MESSAGES 1"), "{status}");

    server.create_folder("alice", "Später");
    let all = imap.command(r#"LIST "" *"#).text();
    assert!(all.contains("Sp&AOQ-ter"), "created while running: {all}");
}

#[test]
fn capabilities_can_be_overridden() {
    let real = Dovecot::start()
        .login("alice", "secret")
        .command("CAPABILITY")
        .text();
    for name in [
        "MOVE",
        "UIDPLUS",
        "QRESYNC",
        "PREVIEW",
        "COMPRESS=DEFLATE",
        "SPECIAL-USE",
        "LITERAL+",
    ] {
        assert!(
            real.contains(&format!(" {name}")),
            "{name} missing in {real}"
        );
    }
    let server = Dovecot::builder().capabilities("IMAP4rev1 IDLE").start();
    let told = server
        .login("alice", "secret")
        .command("CAPABILITY")
        .lines();
    assert_eq!(told, ["* CAPABILITY IMAP4rev1 IDLE"]);
}

#[test]
fn tls_works_and_bad_certificates_are_refused() {
    let server = Dovecot::start();
    let ca = server.ca().pem();
    RawImap::connect_tls(server.tls_port(), ca, "imap.test")
        .unwrap()
        .login("alice", "secret");
    RawImap::connect_starttls(server.port(), ca, "127.0.0.1")
        .unwrap()
        .login("alice", "secret");
    assert_eq!(
        std::fs::read_to_string(server.ca_path()).unwrap(),
        server.ca().pem()
    );

    for (leaf, complaint) in [
        (Leaf::Expired, "Expired"),
        (Leaf::WrongHost, "NotValidForName"),
        (Leaf::SelfSigned, "UnknownIssuer"),
    ] {
        let server = Dovecot::builder().cert(leaf).start();
        let refused =
            RawImap::connect_tls(server.tls_port(), server.ca().pem(), "localhost").unwrap_err();
        assert!(
            format!("{refused:?}").contains(complaint),
            "{leaf:?}: {refused:?}"
        );
    }
}

#[test]
fn login_is_disabled_where_plain_text_is_not_safe() {
    let server = Dovecot::builder().listen("127.0.0.2").start();
    let mut far = RawImap::connect_to("127.0.0.2".parse().unwrap(), server.port());
    assert!(
        far.greeting().contains("LOGINDISABLED"),
        "{}",
        far.greeting()
    );
    assert!(
        far.try_command("LOGIN alice secret")
            .status
            .starts_with("NO [PRIVACYREQUIRED]")
    );
    assert!(
        !RawImap::connect(server.port())
            .greeting()
            .contains("LOGINDISABLED")
    );
}

#[test]
fn connections_per_user_are_limited() {
    let server = Dovecot::builder()
        .user("bob", "b")
        .max_connections(1)
        .start();
    let _first = server.login("bob", "b");
    let second = RawImap::connect(server.port()).try_command("LOGIN bob b");
    // Which code goes with it depends on the release.
    let refused = second.status.starts_with("NO [");
    let said = second.status.contains("mail_max_userip_connections=1");
    assert!(refused && said, "{}", second.status);
}

#[test]
fn commands_can_be_sent_in_one_flight() {
    let server = Dovecot::start();
    let mut imap = server.login("alice", "secret");
    imap.append(
        "INBOX",
        &Delivery::new("Subject: one\r\n\r\n").flags(&[Flag::Answered]),
    );
    let tag = imap.send(&["SELECT INBOX", "UID FETCH 1 BODY.PEEK[]", "NOOP"]);
    let reply = imap.read_until(&tag);
    assert!(
        reply.is_ok() && reply.text().contains("Subject: one"),
        "{}",
        reply.text()
    );
    let tag = imap.send(&["UID FETCH 1 BODY.PEEK[]"]);
    assert!(imap.drain_until(&tag) > 60);
    let tag = imap.send(&["NOOP"]);
    assert!(imap.drain_until(&tag) < 60);
    assert!(imap.command("NOOP").is_ok());
}

#[test]
fn a_killed_server_refuses_and_comes_back_with_its_mail() {
    let mut server = Dovecot::start();
    server.deliver("alice", "INBOX", b"Subject: kept\r\n\r\n");
    server.login("alice", "secret").command("SELECT INBOX");
    server.kill();
    let refused = TcpStream::connect(("127.0.0.1", server.port())).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
    server.restart();
    assert!(
        server
            .login("alice", "secret")
            .command("SELECT INBOX")
            .text()
            .contains("* 1 EXISTS")
    );
}

#[test]
fn a_paused_server_is_silent_until_resumed() {
    let server = Dovecot::start();
    server.pause();
    let mut stream = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_millis(30)))
        .unwrap();
    assert_eq!(
        stream.read(&mut [0; 9]).unwrap_err().kind(),
        ErrorKind::WouldBlock
    );
    server.resume();
    server.login("alice", "secret");
}

#[test]
fn dropping_leaves_nothing_behind() {
    let server = Dovecot::start();
    let (dir, port) = (server.dir().to_owned(), server.port());
    let _open = server.login("alice", "secret");
    drop(server);
    assert!(!dir.exists());
    assert!(TcpStream::connect(("127.0.0.1", port)).is_err());
}
