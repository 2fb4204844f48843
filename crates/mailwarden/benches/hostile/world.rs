//! A Dovecot whose INBOX holds one mail of each attack, and the program with it as its account.

use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};
use testkit::{Delivery, Dovecot, McpClient, RawImap, fixtures, hostile};

const USER: &str = "alice";
const PASSWORD: &str = "secret";
/// One of the names in the certificate.
const HOST: &str = "127.0.0.1";
/// Harmless, and the last in the crowd: it waits for whatever the attacks hold.
const SMALL: &str = "a small mail, asked for last";
/// A miss should be measured, not end the run.
const PATIENCE: Duration = Duration::from_secs(120);

pub(crate) struct World {
    pub mails: Vec<Mail>,
    dovecot: Dovecot,
    state: tempfile::TempDir,
}

/// One attack as it lies in the mailbox.
pub(crate) struct Mail {
    pub name: &'static str,
    pub bytes: usize,
    pub id: String,
}

impl World {
    pub(crate) fn build() -> Self {
        let dovecot = Dovecot::start();
        let attacks = hostile::ALL
            .iter()
            .map(|attack| (attack.name, attack.raw()));
        let (names, raws): (Vec<&'static str>, Vec<Vec<u8>>) =
            attacks.chain([(SMALL, fixtures::plain())]).unzip();
        let sizes: Vec<usize> = raws.iter().map(Vec::len).collect();
        dovecot.deliver_many(USER, "INBOX", raws.into_iter().map(Delivery::new));
        let validity = uidvalidity(&mut dovecot.login(USER, PASSWORD));
        let mails = names
            .into_iter()
            .zip(sizes)
            .zip(1..)
            .map(|((name, bytes), uid)| Mail {
                name,
                bytes,
                id: format!("imap:default:INBOX:{validity}:{uid}"),
            })
            .collect();
        Self {
            mails,
            dovecot,
            state: tempfile::tempdir().expect("make a state directory"),
        }
    }

    /// A fresh program, greeted, that has asked the server nothing yet.
    pub(crate) fn client(&self) -> McpClient {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mailwarden"));
        let ours = |name: &str| name.starts_with("MAIL_") || name.starts_with("MAILWARDEN_");
        for (name, _) in std::env::vars_os() {
            if name.to_str().is_some_and(ours) {
                command.env_remove(&name);
            }
        }
        command
            .arg("stdio")
            .env("MAILWARDEN_STATE_DIR", self.state.path())
            .env("MAIL_IMAP_CA_CERT_PATH", self.dovecot.ca_path())
            .env("MAIL_IMAP_DEFAULT_HOST", HOST)
            .env(
                "MAIL_IMAP_DEFAULT_PORT",
                self.dovecot.tls_port().to_string(),
            )
            .env("MAIL_IMAP_DEFAULT_SECURE", "true")
            .env("MAIL_IMAP_DEFAULT_USER", USER)
            .env("MAIL_IMAP_DEFAULT_PASS", PASSWORD);
        let mut client = McpClient::spawn(command).patience(PATIENCE);
        client.initialize();
        client
    }
}

impl Mail {
    /// Everything that can be wished of a message.
    pub(crate) fn arguments(&self) -> Value {
        json!({
            "message_id": self.id,
            "body_max_chars": 20_000,
            "include_html": true,
            "include_all_headers": true,
            "extract_attachment_text": true,
        })
    }
}

fn uidvalidity(imap: &mut RawImap) -> u32 {
    let opened = imap.command("EXAMINE INBOX").text();
    let (_, after) = opened.split_once("UIDVALIDITY ").expect("a UIDVALIDITY");
    let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().expect("a number")
}
