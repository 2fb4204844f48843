//! One Dovecot with a small and a large folder, and a configuration directory with two callers.

use std::fs;
use std::process::Command;

use testkit::{Delivery, Dovecot, McpClient, RawImap};

const USER: &str = "alice";
const PASSWORD: &str = "secret";
/// Of so many senders' domains, three are in the policy.
const DOMAINS: u32 = 20;

pub(crate) struct World {
    dovecot: Dovecot,
    place: tempfile::TempDir,
}

/// A folder and how many messages lie in it.
#[derive(Clone, Copy)]
pub(crate) struct Folder {
    pub name: &'static str,
    pub messages: u32,
}

/// Who calls.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Who {
    /// A whitelist of three domains.
    Whitelisted,
    /// A blacklist: every message has to be looked at.
    Blacklisted,
}

impl World {
    pub(crate) fn build() -> Self {
        let dovecot = Dovecot::builder()
            .folder("Small")
            .folder("Large")
            .max_connections(100)
            .start();
        let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
        let world = Self { dovecot, place };
        for folder in [world.small(), world.large()] {
            let letters = (0..folder.messages).map(letter);
            world.dovecot.deliver_many(USER, folder.name, letters);
            // The server's own cache is warm for both sides.
            world.fetch_all(&mut world.connect(folder));
        }
        world.configure();
        world
    }

    pub(crate) fn small(&self) -> Folder {
        Folder {
            name: "Small",
            messages: 5_000,
        }
    }

    pub(crate) fn large(&self) -> Folder {
        Folder {
            name: "Large",
            messages: 100_000,
        }
    }

    /// A bare connection with the folder open.
    pub(crate) fn connect(&self, folder: Folder) -> RawImap {
        let pem = self.dovecot.ca().pem();
        let mut bare =
            RawImap::connect_tls(self.dovecot.tls_port(), pem, "127.0.0.1").expect("TLS");
        bare.login(USER, PASSWORD);
        bare.command(&format!("EXAMINE {}", folder.name));
        bare
    }

    /// The facts of every message, thrown away unparsed. Octets that came.
    pub(crate) fn fetch_all(&self, bare: &mut RawImap) -> usize {
        let items = "FLAGS INTERNALDATE RFC822.SIZE ENVELOPE BODYSTRUCTURE";
        let tag = bare.send(&[&format!("UID FETCH 1:* ({items})")]);
        bare.drain_until(&tag)
    }

    /// Which messages there are: the least that tells whether something changed.
    pub(crate) fn list_all(&self, bare: &mut RawImap) -> usize {
        let tag = bare.send(&["UID SEARCH RETURN (COUNT ALL) ALL"]);
        bare.drain_until(&tag)
    }

    /// The program, greeted and logged in, with nothing known about any folder.
    pub(crate) fn client(&self, who: Who) -> McpClient {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mailwarden"));
        for (name, _) in std::env::vars_os() {
            let ours = |name: &str| {
                ["MAIL_", "MAILWARDEN_", "IMAP_MCP_"]
                    .iter()
                    .any(|p| name.starts_with(p))
            };
            if name.to_str().is_some_and(ours) {
                command.env_remove(&name);
            }
        }
        command
            .arg("stdio")
            .env("MAILWARDEN_STATE_DIR", self.place.path().join("state"))
            .env("IMAP_MCP_CONFIG_DIR", self.place.path().join("config"))
            .env("MAILWARDEN_LOG", "gateway=debug")
            .env(
                "IMAP_MCP_CALLER_ID",
                match who {
                    Who::Whitelisted => "white",
                    Who::Blacklisted => "black",
                },
            );
        let mut client = McpClient::spawn(command);
        client.initialize();
        client.call("list_folders", serde_json::json!({ "account_id": "work" }));
        client
    }

    fn configure(&self) {
        let config = self.place.path().join("config");
        fs::create_dir_all(config.join("policies")).expect("a directory");
        fs::create_dir_all(config.join("secrets")).expect("a directory");
        let secret = config.join("secrets/work");
        fs::write(&secret, PASSWORD).expect("a secret");
        private(&secret);
        let port = self.dovecot.tls_port();
        let ca = self.dovecot.ca_path();
        fs::write(
            config.join("accounts.yaml"),
            format!(
                "accounts:\n  - id: work\n    host: 127.0.0.1\n    port: {port}\n    tls: implicit\n    ca_file: {}\n    \
                 auth: {{ type: password, user: {USER}, secret_ref: secret://work }}\n\
                 secret_store: {{ backend: file_dir, path: {} }}\n",
                ca.display(),
                config.join("secrets").display()
            ),
        )
        .expect("accounts.yaml");
        fs::write(
            config.join("callers.yaml"),
            "callers:\n  - { id: white, policy: white, auth: { type: stdio_trusted } }\n  \
             - { id: black, policy: black, auth: { type: stdio_trusted } }\n",
        )
        .expect("callers.yaml");
        let folders = |mode: &str| -> String {
            let folders = ["Small", "Large"].map(|name| format!("    - path: {name}\n{mode}"));
            folders.concat()
        };
        let white = "      mode: whitelist\n      default: NONE\n      rules:\n\
                     \x20       - { match: { from_domain: d1.example }, grant: FULL }\n\
                     \x20       - { match: { from_domain: d2.example }, grant: BODY }\n\
                     \x20       - { match: { from_domain: d3.example }, grant: ENVELOPE }\n";
        let black = "      mode: blacklist\n      default: FULL\n      rules:\n\
                     \x20       - { match: { from_domain: d1.example }, cap: NONE }\n";
        for (name, mode) in [("white", white), ("black", black)] {
            let text = format!("name: {name}\naccounts:\n  work:\n{}", folders(mode));
            fs::write(config.join(format!("policies/{name}.yaml")), text).expect("a policy");
        }
    }
}

#[cfg(unix)]
fn private(path: &std::path::Path) {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).expect("private");
}

#[cfg(not(unix))]
fn private(_: &std::path::Path) {}

/// As mail usually is: most are plain, some have an attachment.
fn letter(n: u32) -> Delivery {
    let head = format!(
        "Date: Tue, 03 Nov 2026 09:12:00 +0100\r\nFrom: Margarethe Beispiel <m.beispiel{n}@d{}.example>\r\n\
         To: Alice Adler <alice@kettenwerk.example>, Einkauf <einkauf@kettenwerk.example>\r\n\
         Subject: Rechnung {n} zur Bestellung vom 3. November\r\nMessage-ID: <{n}.letter@d.example>\r\nMIME-Version: 1.0\r\n",
        n % DOMAINS
    );
    let text = "Guten Tag,\r\nanbei wie besprochen.\r\n";
    Delivery::new(match n % 5 {
        0 => format!(
            "{head}Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: text/plain\r\n\r\n{text}\r\n--b\r\n\
             Content-Type: application/pdf; name=rechnung.pdf\r\nContent-Transfer-Encoding: base64\r\n\r\nJVBERi0=\r\n--b--\r\n"
        ),
        _ => format!("{head}Content-Type: text/plain; charset=utf-8\r\n\r\n{text}"),
    })
}
