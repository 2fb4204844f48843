//! The command line: verbs, help, configuration problems, `check`.

use std::io::Write as _;
use std::process::{Output, Stdio};

use testkit::{Dovecot, closed_port};

use crate::support::{Account, configure, program};

fn run(mut command: std::process::Command) -> Output {
    command.stdin(Stdio::null()).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn a_wrong_configuration_is_told_line_by_line_with_status_two() {
    for verb in ["stdio", "check"] {
        let mut command = program();
        command
            .arg(verb)
            .env("MAIL_IMAP_DEFAULT_HOST", "imap.example.com")
            .env("MAIL_IMAP_DEFAULT_PORT", "many")
            .env("MAIL_IMAP_WORK_USER", "u")
            .env("MAIL_IMAP_ERRORS", "loud");
        let output = run(command);
        assert_eq!(output.status.code(), Some(2));
        assert!(output.stdout.is_empty());
        let lines = text(&output.stderr);
        for wanted in [
            "MAIL_IMAP_DEFAULT_PORT must be a port number",
            "MAIL_IMAP_DEFAULT_USER is missing",
            "MAIL_IMAP_DEFAULT_PASS is missing",
            "MAIL_IMAP_WORK_HOST is missing",
            "MAIL_IMAP_WORK_PASS is missing",
            "MAIL_IMAP_ERRORS must be protocol or result",
        ] {
            assert_eq!(
                lines.lines().filter(|line| line.contains(wanted)).count(),
                1,
                "{wanted} in {lines}"
            );
        }
        assert_eq!(lines.lines().count(), 6, "{lines}");
    }
}

#[test]
fn a_client_may_start_it_in_three_ways() {
    let server = Dovecot::start();
    for arguments in [vec!["stdio"], vec!["--transport", "stdio"], vec![]] {
        let mut command = program();
        configure(
            &mut command,
            "DEFAULT",
            &Account {
                port: server.port(),
                ..Account::default()
            },
        );
        command
            .args(&arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let hello = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;
        let mut stdin = child.stdin.take().unwrap();
        writeln!(stdin, "{hello}").unwrap();
        let mut answer = String::new();
        let mut reader = std::io::BufReader::new(child.stdout.take().unwrap());
        std::io::BufRead::read_line(&mut reader, &mut answer).unwrap();
        assert!(answer.contains("\"mailwarden\""), "{arguments:?}: {answer}");
        drop(stdin);
        assert!(child.wait().unwrap().success());
    }
}

#[test]
fn check_tells_what_works_and_what_to_do() {
    let server = Dovecot::start();
    let closed = closed_port();
    for verb in ["check", "doctor"] {
        let mut command = program();
        configure(
            &mut command,
            "DEFAULT",
            &Account {
                port: server.port(),
                ..Account::default()
            },
        );
        let output = run({
            command.arg(verb);
            command
        });
        let shown = text(&output.stdout);
        assert!(output.status.success(), "{shown}");
        assert!(
            shown.contains("account default") && shown.contains("ok login in"),
            "{shown}"
        );
        assert!(shown.contains("attachments: "), "{shown}");
        assert!(
            shown.contains("not encrypted") && shown.contains("6 mailbox(es)"),
            "{shown}"
        );
    }
    let mut command = program();
    configure(
        &mut command,
        "DEFAULT",
        &Account {
            port: server.port(),
            ..Account::default()
        },
    );
    configure(
        &mut command,
        "WRONG",
        &Account {
            port: server.port(),
            pass: "nope",
            ..Account::default()
        },
    );
    configure(
        &mut command,
        "CLOSED",
        &Account {
            port: closed.number(),
            ..Account::default()
        },
    );
    command
        .env("MAIL_MAILDIR_LOST_PATH", "/no/such/place")
        .arg("check");
    let output = run(command);
    let shown = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{shown}");
    for wanted in [
        "ok login in",
        "failed auth_failed at login",
        "failed connection_refused at connect",
        "failed unreadable",
    ] {
        assert!(shown.contains(wanted), "{wanted} in {shown}");
    }
    assert!(
        !shown.contains("nope") && !shown.contains("\u{1b}["),
        "{shown}"
    );
}

#[test]
fn help_and_version() {
    let mut command = program();
    command.arg("--help");
    let shown = text(&run(command).stdout);
    for wanted in ["stdio", "check", "demo", "MAIL_IMAP_DEFAULT_HOST"] {
        assert!(shown.contains(wanted), "{shown}");
    }
    let mut command = program();
    command.arg("--version");
    assert_eq!(
        text(&run(command).stdout),
        format!("mailwarden {}\n", env!("CARGO_PKG_VERSION"))
    );
    let mut command = program();
    command.arg("serve");
    assert_eq!(run(command).status.code(), Some(2));
}

#[test]
fn the_reader_of_attachments_is_locked_in_and_not_advertised() {
    let closed = closed_port();
    let shown = text(
        &run({
            let mut command = program();
            command.arg("--help");
            command
        })
        .stdout,
    );
    assert!(!shown.contains("extract-worker"), "{shown}");
    let output = run({
        let mut command = program();
        let account = Account {
            port: closed.number(),
            ..Account::default()
        };
        configure(&mut command, "DEFAULT", &account);
        command.arg("check");
        command
    });
    let shown = text(&output.stdout);
    #[cfg(target_os = "linux")]
    assert!(
        shown.contains("attachments: ok, read in a child with no files, no network, no programs"),
        "{shown}"
    );
    #[cfg(not(target_os = "linux"))]
    assert!(shown.contains("attachments: "), "{shown}");
}
