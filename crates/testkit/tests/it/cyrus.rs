//! The Cyrus fixture against itself.

use std::net::TcpStream;
use testkit::{Cyrus, Delivery, Flag, Leaf, RawImap};

#[test]
fn serves_delivered_mail_in_order() {
    let server = Cyrus::start();
    let letter = |n: u32| Delivery::new(format!("Subject: number {n}\r\n\r\nHello.\r\n"));
    server.deliver_many(
        "alice",
        "INBOX",
        (1..=3).map(|n| letter(n).at(1_600_000_000).flags(&[Flag::Seen])),
    );
    server.create_folder("alice", "Projekte/Übersicht");
    server.deliver("alice", "Projekte/Übersicht", &letter(4).raw);

    let mut imap = server.login("alice", "secret");
    assert!(imap.command("CAPABILITY").text().contains("OBJECTID"));
    assert!(imap.command("SELECT INBOX").text().contains("* 3 EXISTS"));
    let fetched = imap
        .command("UID FETCH 1:* (FLAGS INTERNALDATE BODY.PEEK[HEADER.FIELDS (SUBJECT)])")
        .lines();
    for (n, line) in (1..=3).zip(&fetched) {
        assert!(
            line.contains(&format!("UID {n} ")) && line.contains(&format!("number {n}")),
            "{line}"
        );
    }
    assert!(
        fetched[0].contains(r"\Seen") && fetched[0].contains("13-Sep-2020 12:26:40 +0000"),
        "{}",
        fetched[0]
    );
    assert!(
        imap.command(r#"LSUB "" *"#)
            .text()
            .contains("Projekte/&ANw-bersicht")
    );
    assert!(
        imap.command(r#"LIST (SPECIAL-USE) "" *"#)
            .text()
            .contains(r"\sent"),
        "Cyrus likes lower case"
    );
    assert!(
        imap.command("STATUS Projekte/&ANw-bersicht (MESSAGES)")
            .text()
            .contains("MESSAGES 1")
    );
}

#[test]
fn tls_works_and_bad_certificates_are_refused() {
    let server = Cyrus::builder().user("bob", "b").start();
    let ca = server.ca().pem();
    RawImap::connect_tls(server.tls_port(), ca, "localhost")
        .unwrap()
        .login("bob", "b");
    RawImap::connect_starttls(server.port(), ca, "localhost")
        .unwrap()
        .login("bob", "b");
    let server = Cyrus::builder().cert(Leaf::Expired).start();
    let refused =
        RawImap::connect_tls(server.tls_port(), server.ca().pem(), "localhost").unwrap_err();
    assert!(format!("{refused:?}").contains("Expired"), "{refused:?}");
}

#[test]
fn crashes_come_back_and_nothing_stays_behind() {
    let mut server = Cyrus::start();
    server.deliver("alice", "INBOX", b"Subject: kept\r\n\r\n");
    let _open = server.login("alice", "secret");
    server.kill();
    assert!(TcpStream::connect(("127.0.0.1", server.port())).is_err());
    server.restart();
    assert!(
        server
            .login("alice", "secret")
            .command("SELECT INBOX")
            .text()
            .contains("* 1 EXISTS")
    );
    let (dir, port) = (server.dir().to_owned(), server.port());
    drop(server);
    assert!(!dir.exists());
    assert!(TcpStream::connect(("127.0.0.1", port)).is_err());
}
