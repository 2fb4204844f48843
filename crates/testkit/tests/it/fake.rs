//! Scripted servers, talked to by the bare client.

use std::io::{ErrorKind, Read};
use std::net::TcpStream;
use testkit::{Delivery, Fake, RawImap};

#[test]
fn a_script_answers_word_by_word() {
    let fake = Fake::script(|s| {
        s.greet("* OK hi\r\n");
        let login = s.expect("LOGIN");
        login.assert_well_formed();
        s.reply("* CAPABILITY IMAP4rev1\r\n{tag} OK done\r\n");
        s.expect("NOOP");
        s.untagged("3 EXISTS");
        s.no("[UNAVAILABLE] not today");
        s.close();
    });
    let mut imap = RawImap::connect(fake.port());
    assert_eq!(imap.greeting(), "* OK hi");
    imap.login("alice", "secret");
    let reply = imap.try_command("NOOP");
    assert_eq!(reply.text(), "* 3 EXISTS\nNO [UNAVAILABLE] not today");
    assert_eq!(fake.commands(), [r#"t1 LOGIN "alice" "secret""#, "t2 NOOP"]);
    assert_eq!(fake.connections(), 1);
}

#[test]
fn literals_arrive_whole() {
    let fake = Fake::script(|s| {
        s.log_in("IMAP4rev1 LITERAL+");
        let append = s.expect("APPEND");
        append.assert_well_formed();
        assert!(append.mentions("line two\r\n"));
        s.ok();
        let synchronising = s.expect("SEARCH");
        assert_eq!(
            synchronising.text(),
            "x SEARCH SUBJECT {5}\r\nhel\nl BODY {2}\r\nok"
        );
        s.reply("* SEARCH\r\n{tag} OK done\r\n");
    });
    let mut imap = RawImap::connect(fake.port());
    imap.command("CAPABILITY");
    imap.login("a", "b");
    imap.append("INBOX", &Delivery::new("line one\r\nline two\r\n"));
    for part in ["x SEARCH SUBJECT {5}\r\n", "hel\nl BODY {2}\r\n"] {
        imap.send_bytes(part.as_bytes());
        assert_eq!(imap.read_response(), b"+ go on");
    }
    imap.send_bytes(b"ok\r\n");
    assert!(imap.read_until("x").is_ok());
}

#[test]
fn connections_may_be_treated_differently() {
    let fake = Fake::script(|s| match s.number() {
        0 => s.reset(),
        1 => s.close(),
        _ => {
            s.greet("* OK third time\r\n");
            s.stall();
        }
    });
    let ends: Vec<_> = (0..2)
        .map(|_| {
            let mut stream = TcpStream::connect(("127.0.0.1", fake.port())).unwrap();
            stream.read(&mut [0; 1]).map_err(|e| e.kind())
        })
        .collect();
    assert_eq!(ends, [Err(ErrorKind::ConnectionReset), Ok(0)]);
    let mut imap = RawImap::connect(fake.port());
    imap.send(&["NOOP"]);
    assert_eq!(
        fake.commands(),
        [""; 0],
        "a stalled script reads no commands"
    );
}

#[test]
#[should_panic(expected = "expected LOGIN, but the client said \"t1 NOOP\"")]
fn an_unexpected_command_fails_the_test() {
    let fake = Fake::script(|s| {
        s.greet("* OK hi\r\n");
        s.expect("LOGIN");
    });
    let mut imap = RawImap::connect(fake.port());
    imap.send(&["NOOP"]);
    fake.await_command("NOOP");
}

#[test]
fn a_client_that_leaves_is_no_failure() {
    let fake = Fake::script(|s| {
        s.greet("* OK hi\r\n");
        s.expect("NOOP");
        s.expect("NEVER");
    });
    let mut imap = RawImap::connect(fake.port());
    imap.send(&["NOOP"]);
    fake.await_command("noop").assert_well_formed();
}
