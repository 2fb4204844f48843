//! A private Cyrus IMAP server, run from an unpacked prefix (see install.sh) beside any installed one. Mail gets in by
//! IMAP only; users are the builder's.

mod config;

use crate::client::RawImap;
use crate::delivery::Delivery;
use crate::ports::{LOOPBACK, ReservedPort};
use crate::process::{ServerProcess, is_root, read_logs, scratch_dir};
use crate::tls::{Ca, Leaf};
use crate::utf7;
use config::Prefix;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A running server. `alice` with password `secret` exists unless the builder named other users.
#[derive(Debug)]
pub struct Cyrus {
    // Declared before the directory: the processes must be gone when it is removed.
    process: ServerProcess,
    prefix: Prefix,
    plain: ReservedPort,
    tls: ReservedPort,
    ca: Ca,
    users: Vec<(String, String)>,
    dir: TempDir,
}

/// What may differ from test to test.
#[derive(Clone, Debug)]
pub struct Builder {
    users: Vec<(String, String)>,
    leaf: Leaf,
    config: String,
}

impl Cyrus {
    pub fn start() -> Self {
        Self::builder().start()
    }

    pub fn builder() -> Builder {
        Builder {
            users: Vec::new(),
            leaf: Leaf::Good,
            config: String::new(),
        }
    }

    /// Whether a Cyrus is there to be started; if not, what is missing.
    pub fn available() -> Result<(), String> {
        Prefix::find().map(drop)
    }

    /// Plain text, with STARTTLS offered.
    pub fn port(&self) -> u16 {
        self.plain.number()
    }

    /// TLS from the first byte.
    pub fn tls_port(&self) -> u16 {
        self.tls.number()
    }

    pub fn ca(&self) -> &Ca {
        &self.ca
    }

    pub fn ca_path(&self) -> PathBuf {
        self.dir().join("ca.pem")
    }

    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// What the server printed so far; its real log goes to syslog.
    pub fn log(&self) -> String {
        read_logs(self.dir(), &[])
    }

    /// A logged-in bare connection.
    pub fn login(&self, user: &str, password: &str) -> RawImap {
        let mut imap = RawImap::connect(self.port());
        imap.login(user, password);
        imap
    }

    /// Ends every process at once, as a crash would.
    pub fn kill(&mut self) {
        self.process.kill();
    }

    /// Starts again after [`Cyrus::kill`]: same ports, same mail.
    pub fn restart(&mut self) {
        self.process.kill();
        self.process = launch(&self.prefix, self.dir(), self.port());
    }

    /// Freezes the server: connections stay open and nothing answers.
    pub fn pause(&self) {
        self.process.pause();
    }

    pub fn resume(&self) {
        self.process.resume();
    }

    /// Delivers one unread message to the end of `folder`.
    pub fn deliver(&self, user: &str, folder: &str, raw: &[u8]) {
        self.deliver_many(user, folder, [Delivery::new(raw)]);
    }

    /// Delivers messages in order: their UIDs ascend as the iterator yields them.
    pub fn deliver_many(
        &self,
        user: &str,
        folder: &str,
        deliveries: impl IntoIterator<Item = Delivery>,
    ) {
        let mut imap = self.login_as(user);
        for delivery in deliveries {
            imap.append(folder, &delivery);
        }
    }

    /// Creates and subscribes `folder`, levels separated by `/`, in plain Unicode.
    pub fn create_folder(&self, user: &str, folder: &str) {
        let name = utf7::encode(folder);
        let mut imap = self.login_as(user);
        imap.command(&format!("CREATE \"{name}\""));
        imap.command(&format!("SUBSCRIBE \"{name}\""));
    }

    fn login_as(&self, user: &str) -> RawImap {
        let known = self.users.iter().find(|(name, _)| name == user);
        let (name, password) = known.unwrap_or_else(|| panic!("no user {user} here"));
        self.login(name, password)
    }
}

impl Builder {
    /// Adds a user. Without any call there is one: `alice`, `secret`.
    #[must_use]
    pub fn user(mut self, name: &str, password: &str) -> Self {
        self.users.push((name.to_owned(), password.to_owned()));
        self
    }

    #[must_use]
    pub fn cert(mut self, leaf: Leaf) -> Self {
        self.leaf = leaf;
        self
    }

    /// Lines for imapd.conf.
    #[must_use]
    pub fn config(mut self, text: &str) -> Self {
        self.config.push_str(text);
        self.config.push('\n');
        self
    }

    pub fn start(mut self) -> Cyrus {
        let prefix = Prefix::find().unwrap_or_else(|missing| panic!("{missing}"));
        if self.users.is_empty() {
            self.users.push(("alice".to_owned(), "secret".to_owned()));
        }
        let dir = scratch_dir();
        let (plain, tls) = (ReservedPort::on(&[LOOPBACK]), ReservedPort::on(&[LOOPBACK]));
        let ca = Ca::new();
        ca.write(dir.path(), self.leaf);
        config::write(
            &prefix,
            dir.path(),
            [plain.number(), tls.number()],
            &self.config,
        );
        config::add_users(&prefix, dir.path(), &self.users);
        config::give_away(dir.path());
        let process = launch(&prefix, dir.path(), plain.number());
        Cyrus {
            process,
            prefix,
            plain,
            tls,
            ca,
            users: self.users,
            dir,
        }
    }
}

fn launch(prefix: &Prefix, dir: &Path, port: u16) -> ServerProcess {
    let mut command = prefix.command("usr/lib/cyrus/bin/master");
    command.arg("-C").arg(dir.join("imapd.conf"));
    command.arg("-M").arg(dir.join("cyrus.conf"));
    command.arg("-p").arg(dir.join("master.pid"));
    // Keep what it prints.
    command.arg("-D");
    if is_root() {
        command.uid(config::NOBODY).gid(config::NOBODY);
    }
    let mut process = ServerProcess::spawn(command, dir);
    process.await_greeting(port, || read_logs(dir, &[]));
    process
}
