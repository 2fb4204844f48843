//! A configuration directory of a test's own, beside an installation of its own.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;
use testkit::{Delivery, Dovecot, McpClient};

use crate::installation::Installation;
use crate::support::start;

/// The directory, and the state of whoever serves it.
pub(crate) struct Directory {
    pub(crate) home: Installation,
    dir: TempDir,
}

/// What a command printed.
pub(crate) struct Printed {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

pub(crate) const TOKEN: &str = "a token of more than sixteen characters";

/// Trusted, known by a token, and nobody that a test starts.
pub(crate) const CALLERS: &str = "\
callers:
  - id: agent
    policy: some
    auth: { type: stdio_trusted }
  - id: keyed
    policy: some
    auth: { type: shared_token, token_secret_ref: secret://callers/keyed/token }
  - id: other
    policy: some
    auth: { type: stdio_trusted }
";

impl Directory {
    /// Two accounts of the same mailbox, `work` and `home`, each behind its own port.
    pub(crate) fn new(work: u16, home: u16) -> Self {
        let directory = Self {
            home: Installation::new(),
            dir: tempfile::tempdir().unwrap(),
        };
        directory.write(
            "accounts.yaml",
            &accounts(&[("work", work), ("home", home)]),
        );
        directory.write("callers.yaml", CALLERS);
        directory.secret("secrets/password", "secret");
        directory.secret("secrets/callers/keyed/token", TOKEN);
        directory
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    pub(crate) fn secret(&self, name: &str, text: &str) {
        let path = self.write(name, text);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let set = |path: &Path, mode: u32| {
                let mode = std::fs::Permissions::from_mode(mode);
                std::fs::set_permissions(path, mode).unwrap();
            };
            set(&path, 0o600);
            // Whatever the umask of whoever runs this.
            let above = path.ancestors().skip(1);
            above
                .take_while(|above| *above != self.path())
                .for_each(|above| set(above, 0o700));
        }
    }

    /// The policy `some`: these accounts.
    pub(crate) fn policy(&self, accounts: &str) {
        let text = format!("name: some\naccounts:\n{accounts}");
        self.write("policies/some.yaml", &text);
    }

    pub(crate) fn program(&self) -> Command {
        let mut command = self.home.program();
        command
            .env("IMAP_MCP_CONFIG_DIR", self.path())
            .env_remove("IMAP_MCP_CALLER_ID")
            .env_remove("IMAP_MCP_CALLER_TOKEN");
        command
    }

    /// Served as this caller.
    pub(crate) fn client(&self, caller: &str) -> McpClient {
        let mut command = self.program();
        command.env("IMAP_MCP_CALLER_ID", caller);
        if caller == "keyed" {
            command.env("IMAP_MCP_CALLER_TOKEN", TOKEN);
        }
        start(command)
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Printed {
        let mut command = self.program();
        let output = command.args(arguments).stdin(Stdio::null()).output();
        Printed::new(self.path(), &output.unwrap())
    }
}

impl Printed {
    /// The directory's place is another in each run, and who runs this may be root.
    pub(crate) fn new(dir: &Path, output: &Output) -> Self {
        let text = |bytes: &[u8]| {
            let text = String::from_utf8(bytes.to_vec()).unwrap();
            let lines = text.split_inclusive('\n');
            let for_all = lines.filter(|line| !line.contains("as root: a service of another user"));
            let text: String = for_all.collect();
            text.replace(&dir.display().to_string(), "DIR")
        };
        Self {
            code: output.status.code().unwrap(),
            stdout: text(&output.stdout),
            stderr: text(&output.stderr),
        }
    }
}

pub(crate) fn accounts(of: &[(&str, u16)]) -> String {
    let mut text = "secret_store: { backend: file_dir, path: secrets }\naccounts:\n".to_owned();
    for (id, port) in of {
        text.push_str(&format!(
            "  - id: {id}\n    host: 127.0.0.1\n    port: {port}\n    tls: none\n    \
             auth: {{ type: password, user: alice, secret_ref: secret://password }}\n"
        ));
    }
    text
}

/// A mailbox of few messages, all of them for a reason: UIDs ascend from 1 in the order in which they stand here.
pub(crate) fn mailbox() -> Dovecot {
    let server = Dovecot::builder().folder("Invoices").start();
    let mail = |from: &str, subject: &str, more: &str| {
        format!(
            "Date: Tue, 03 Nov 2026 09:12:00 +0000\r\nFrom: {from}\r\nTo: alice@example.org\r\n\
             Subject: {subject}\r\nMIME-Version: 1.0\r\n{more}"
        )
    };
    let plain = "Content-Type: text/plain\r\n\r\nHello.\r\n";
    let attached = "Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: text/plain\r\n\r\n\
                    See there.\r\n--b\r\nContent-Type: application/pdf\r\n\
                    Content-Disposition: attachment; filename=a.pdf\r\n\r\n%PDF\r\n--b--\r\n";
    let inbox = [
        mail("Anna <anna@example.com>", "Invoice 7", attached),
        mail("Anna <anna@example.com>", "Lunch", plain),
        mail("doctor@clinic.example", "Your results", plain),
        mail(
            "\"x\u{202e}\" <x@evil.example>",
            "=?utf-8?Q?red_=1B=5B31m_and_two=0Alines?=",
            plain,
        ),
        // Who wrote it cannot be told.
        mail("nobody in particular", "Invoice 8", plain),
    ];
    let old = |raw: String| Delivery::new(raw).at(1_793_696_400);
    server.deliver_many("alice", "INBOX", inbox.map(old));
    let invoices = mail("billing@example.com", "Invoice 6", attached);
    server.deliver_many("alice", "Invoices", [old(invoices)]);
    server
}
