//! A mailbox, a configuration directory with one caller, and how it is reached.

use std::time::Duration;

use testkit::clients::Way;
use testkit::{Dovecot, FaultProxy, Served};

use crate::directory::{Directory, TOKEN, accounts, mailbox};

const CALLER: &str = "\
callers:
  - id: keyed
    policy: some
    auth: { type: shared_token, token_secret_ref: secret://callers/keyed/token }
";

/// INBOX of `work`, where mail can be marked; the same behind a slow line as `home`; no other folder.
const POLICY: &str = "  work:\n    - { path: INBOX, mode: blacklist, default: FULL, mark_seen: true }\n  \
                      home:\n    - { path: INBOX, mode: blacklist, default: FULL }\n";

pub(super) struct House {
    directory: Directory,
    _slow: FaultProxy,
    _server: Dovecot,
}

impl House {
    pub(super) fn new() -> Self {
        let server = mailbox();
        // A login takes several round trips, so the first call lasts longer than it takes to be told of progress.
        let line = FaultProxy::builder(server.port()).delay(Duration::from_millis(400));
        let slow = line.start();
        let directory = Directory::new(server.port(), slow.port());
        let with_ledger = accounts(&[("work", server.port()), ("home", slow.port())]);
        let with_ledger = with_ledger + "wal: { path: state/wal.db }\n";
        directory.write("accounts.yaml", &with_ledger);
        directory.write("callers.yaml", CALLER);
        directory.policy(POLICY);
        Self {
            directory,
            _slow: slow,
            _server: server,
        }
    }

    pub(super) fn serve(&self) -> Served {
        let mut command = self.directory.program();
        command.arg("http");
        Served::start(command)
    }

    pub(super) fn http(&self, served: &Served) -> Way {
        Way::Http {
            url: served.url(),
            token: TOKEN.to_owned(),
        }
    }

    /// How a client starts the program itself.
    pub(super) fn stdio(&self) -> Way {
        let mut command = self.directory.program();
        command
            .arg("stdio")
            .env("IMAP_MCP_CALLER_ID", "keyed")
            .env("IMAP_MCP_CALLER_TOKEN", TOKEN);
        Way::stdio(&command)
    }
}
