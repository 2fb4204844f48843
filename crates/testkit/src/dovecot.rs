//! A private Dovecot, as root or as an ordinary user, gone without trace when dropped. Configures only what tests vary.

mod config;
mod logins;
mod maildir;
mod oauth;

pub use logins::{Login, Rejection};

use crate::client::RawImap;
use crate::delivery::{Delivery, Seeds};
use crate::oidc::Oidc;
use crate::ports::{LOOPBACK, ReservedPort};
use crate::process::{ServerProcess, is_root, read_logs, scratch_dir};
use crate::tls::{Ca, Leaf};
use maildir::{Maildir, Owner};
use oauth::Trust;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use tempfile::TempDir;

/// A running server. `alice` with password `secret` exists unless the builder named other users.
#[derive(Debug)]
pub struct Dovecot {
    // Declared before the directory: the processes must be gone when it is removed.
    process: ServerProcess,
    plain: ReservedPort,
    tls: ReservedPort,
    ca: Ca,
    delivered: AtomicU64,
    dir: TempDir,
}

/// What may differ from test to test.
#[derive(Clone, Debug)]
pub struct Builder {
    users: Vec<(String, String)>,
    folders: Vec<String>,
    leaf: Leaf,
    capabilities: Option<String>,
    max_connections: u32,
    listen: Vec<IpAddr>,
    config: String,
    anyone: Option<String>,
    trust: Option<Trust>,
}

impl Dovecot {
    pub fn start() -> Self {
        Self::builder().start()
    }

    pub fn builder() -> Builder {
        Builder {
            users: Vec::new(),
            folders: Vec::new(),
            leaf: Leaf::Good,
            capabilities: None,
            max_connections: 50,
            listen: vec![LOOPBACK],
            config: String::new(),
            anyone: None,
            trust: None,
        }
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

    /// The server's log so far, for failure messages.
    pub fn log(&self) -> String {
        read_log(self.dir())
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

    /// Starts again after [`Dovecot::kill`]: same ports, same mail.
    pub fn restart(&mut self) {
        self.process.kill();
        self.process = launch(self.dir(), self.port());
    }

    /// Freezes the server: connections stay open and nothing answers.
    pub fn pause(&self) {
        self.process.pause();
    }

    pub fn resume(&self) {
        self.process.resume();
    }

    /// Delivers one unread message to the end of `folder`, as a delivery agent would.
    pub fn deliver(&self, user: &str, folder: &str, raw: &[u8]) {
        let number = self.delivered.fetch_add(1, Ordering::Relaxed);
        self.maildir(user)
            .deliver_new(folder, number, &Delivery::new(raw));
    }

    /// Delivers messages in order: their UIDs ascend as the iterator yields them.
    pub fn deliver_many(
        &self,
        user: &str,
        folder: &str,
        deliveries: impl IntoIterator<Item = Delivery>,
    ) {
        let maildir = self.maildir(user);
        for delivery in deliveries {
            let number = self.delivered.fetch_add(1, Ordering::Relaxed);
            maildir.deliver_current(folder, number, &delivery);
        }
    }

    /// Fills a folder that the server has not looked into yet, under UIDs of the test's choosing.
    pub fn seed(&self, user: &str, folder: &str, seeds: &Seeds<'_>) {
        let number = seeds.messages.len() as u64;
        let number = self.delivered.fetch_add(number, Ordering::Relaxed);
        self.maildir(user).seed(folder, number, seeds);
    }

    /// Creates and subscribes `folder`, levels separated by `/`, in plain Unicode.
    pub fn create_folder(&self, user: &str, folder: &str) {
        self.maildir(user).create(folder);
    }

    /// Makes an empty mailbox for a user that [`Builder::anyone`] lets in.
    pub fn create_user(&self, user: &str) {
        create_user(self.dir(), user, &[]);
    }

    fn maildir(&self, user: &str) -> Maildir {
        Maildir::at(
            config::home(self.dir(), user).join("Maildir"),
            Owner::of_mail(),
        )
    }
}

impl Builder {
    /// Adds a user. Without any call there is one: `alice`, `secret`.
    #[must_use]
    pub fn user(mut self, name: &str, password: &str) -> Self {
        self.users.push((name.to_owned(), password.to_owned()));
        self
    }

    /// Lets users in under any name, with this password, once [`Dovecot::create_user`] has made them a mailbox.
    #[must_use]
    pub fn anyone(mut self, password: &str) -> Self {
        self.anyone = Some(password.to_owned());
        self
    }

    /// Takes access tokens of this server for its audience too, by XOAUTH2 and OAUTHBEARER. Passwords go on working.
    #[must_use]
    pub fn oauth(mut self, oidc: &Oidc) -> Self {
        self.trust = Some(Trust::of(oidc));
        self
    }

    /// A folder every user has from the start, besides INBOX and the special-use ones.
    #[must_use]
    pub fn folder(mut self, name: &str) -> Self {
        self.folders.push(name.to_owned());
        self
    }

    #[must_use]
    pub fn cert(mut self, leaf: Leaf) -> Self {
        self.leaf = leaf;
        self
    }

    /// Announces this list after login. Only the announcement changes: what is left out still works
    /// ([`crate::proxy::Builder::strip`] takes an extension away for real).
    #[must_use]
    pub fn capabilities(mut self, list: &str) -> Self {
        self.capabilities = Some(list.to_owned());
        self
    }

    /// Connections one user may have; the next LOGIN gets `NO [LIMIT]`.
    #[must_use]
    pub fn max_connections(mut self, limit: u32) -> Self {
        self.max_connections = limit;
        self
    }

    /// Listens on `address` too. Over 127.0.0.2 plain text counts as insecure, so LOGINDISABLED is announced there.
    #[must_use]
    pub fn listen(mut self, address: &str) -> Self {
        self.listen.push(
            address
                .parse()
                .unwrap_or_else(|_| panic!("{address} is no IP address")),
        );
        self
    }

    /// Dovecot configuration text that goes last, so that it wins.
    #[must_use]
    pub fn config(mut self, text: &str) -> Self {
        self.config.push_str(text);
        self.config.push('\n');
        self
    }

    pub fn start(mut self) -> Dovecot {
        if self.users.is_empty() {
            self.users.push(("alice".to_owned(), "secret".to_owned()));
        }
        let dir = scratch_dir();
        let plain = ReservedPort::on(&self.listen);
        let tls = ReservedPort::on(&self.listen);
        let ca = Ca::new();
        config::write(&self, dir.path(), &ca, [plain.number(), tls.number()]);
        for (user, _) in &self.users {
            create_user(dir.path(), user, &self.folders);
        }
        let process = launch(dir.path(), plain.number());
        Dovecot {
            process,
            plain,
            tls,
            ca,
            delivered: AtomicU64::new(0),
            dir,
        }
    }
}

fn create_user(dir: &Path, user: &str, folders: &[String]) {
    let home = config::home(dir, user);
    Owner::of_mail().make_dir(&home);
    let maildir = Maildir::at(home.join("Maildir"), Owner::of_mail());
    maildir.create("INBOX");
    folders.iter().for_each(|folder| maildir.create(folder));
}

fn launch(dir: &Path, port: u16) -> ServerProcess {
    // Stale sockets cost the first login five seconds of retries.
    let _ = std::fs::remove_dir_all(dir.join("run"));
    config::make_dir(&dir.join("run"), if is_root() { 0o755 } else { 0o700 });
    let mut command = Command::new(config::program());
    command.arg("-F").arg("-c").arg(dir.join("dovecot.conf"));
    let mut process = ServerProcess::spawn(command, dir);
    process.await_greeting(port, || read_log(dir));
    process
}

fn read_log(dir: &Path) -> String {
    read_logs(dir, &["dovecot.log"])
}
