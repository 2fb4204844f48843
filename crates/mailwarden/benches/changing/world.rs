//! Two mail servers with mail, and the program that knows both.

use std::process::{Command, Stdio};

use serde_json::Value;
use testkit::{Delivery, Dovecot, McpClient, RawImap};

/// Small messages in INBOX, to be marked, copied, moved and deleted, each once.
pub(crate) const SMALL: usize = 2_400;
/// Messages that go to another account, and how large they are.
pub(crate) const LARGE: usize = 1_000;
pub(crate) const OCTETS: usize = 20_000;

pub(crate) struct World {
    pub home: Dovecot,
    pub away: Dovecot,
}

impl World {
    pub(crate) fn build() -> Self {
        let server = || {
            Dovecot::builder()
                .folder("Target")
                .folder("Large")
                .max_connections(100)
                .start()
        };
        let (home, away) = (server(), server());
        let small = (0..SMALL).map(|number| Delivery::new(letter(number, 400)));
        home.deliver_many("alice", "INBOX", small);
        let large = (0..LARGE).map(|number| Delivery::new(letter(number, OCTETS)));
        home.deliver_many("alice", "Large", large);
        Self { home, away }
    }

    /// The program, with the first account at this port.
    pub(crate) fn program(&self, home: u16) -> Program {
        // Beside the build, where the disk is a disk.
        let state = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a state directory");
        let mut command = Command::new(env!("CARGO_BIN_EXE_mailwarden"));
        for (name, port) in [("DEFAULT", home), ("AWAY", self.away.port())] {
            let variable = |suffix: &str| format!("MAIL_IMAP_{name}_{suffix}");
            command
                .env(variable("HOST"), "127.0.0.1")
                .env(variable("PORT"), port.to_string())
                .env(variable("SECURE"), "false")
                .env(variable("USER"), "alice")
                .env(variable("PASS"), "secret");
        }
        command
            .env("MAIL_IMAP_WRITE_ENABLED", "true")
            .env("MAILWARDEN_STATE_DIR", state.path().join("state"))
            .arg("stdio")
            .stdin(Stdio::piped());
        let mut client = McpClient::spawn(command);
        client.initialize();
        Program {
            client,
            _state: state,
        }
    }
}

pub(crate) struct Program {
    pub client: McpClient,
    _state: tempfile::TempDir,
}

/// One connection, logged in, with the folder selected.
pub(crate) fn bare(port: u16, folder: &str) -> (RawImap, u32) {
    let mut imap = RawImap::connect(port);
    imap.login("alice", "secret");
    let selected = imap.command(&format!("SELECT {folder}")).text();
    let (_, after) = selected.split_once("UIDVALIDITY ").expect("a generation");
    let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
    (imap, digits.parse().expect("a number"))
}

/// Checks an answer, and says in how many round trips it was made.
pub(crate) fn round_trips(result: &Value) -> u64 {
    let envelope = &result["structuredContent"];
    assert_eq!(envelope["data"]["status"], "ok", "{envelope}");
    let told = envelope["meta"]["telemetry"]["imap_round_trips"].as_u64();
    told.expect("telemetry")
}

fn letter(number: usize, octets: usize) -> Vec<u8> {
    let head = format!(
        "From: sender{number}@example.com\r\nTo: alice@example.org\r\nSubject: number {number}\r\n\
         Message-ID: <{number}.{octets}@example.com>\r\n\r\n"
    );
    let line = format!("This is line after line of letter number {number}, and nothing else.\r\n");
    let lines = octets.saturating_sub(head.len()).div_ceil(line.len());
    (head + &line.repeat(lines.max(1))).into_bytes()
}
