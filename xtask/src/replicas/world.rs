//! The mail that replicas share, and the configuration that they all read. Nothing here runs the program.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use testkit::{Delivery, Dovecot, RawImap};

use super::model::{Lying, Spot};

const PASSWORD: &str = "secret";
/// Several writers change mail of the same account.
pub(super) const ACCOUNTS: usize = 6;
/// Messages of a writer.
const LETTERS: usize = 6;
/// Messages of an account that all who have it copy.
const SHARED: usize = 2;
/// Messages are moved among these.
pub(super) const FOLDERS: [&str; 3] = ["INBOX", "Left", "Right"];
/// Copies are made here.
pub(super) const COPIES: &str = "Copies";
/// Drafts are written here.
pub(super) const WRITTEN: &str = "Written";
/// Nobody changes this one.
pub(super) const QUIET: &str = "Quiet";
pub(super) const QUIET_LETTERS: u64 = 60;

pub(super) struct World {
    pub dovecot: Dovecot,
    /// By writer, as they were delivered.
    pub letters: Vec<Vec<Lying>>,
    /// Those that nobody changes.
    pub quiet: Vec<Lying>,
    place: TempDir,
}

impl World {
    pub(super) fn build(writers: usize, callers: usize) -> io::Result<Self> {
        let users = (0..ACCOUNTS).map(account);
        let builder = users.fold(Dovecot::builder(), |builder, user| {
            builder.user(&user, PASSWORD)
        });
        let dovecot = [FOLDERS[1], FOLDERS[2], COPIES, WRITTEN, QUIET]
            .iter()
            .fold(builder, |builder, folder| builder.folder(folder))
            .start();
        let mut world = Self {
            dovecot,
            letters: vec![Vec::new(); writers],
            quiet: Vec::new(),
            place: tempfile::Builder::new().prefix("replicas").tempdir()?,
        };
        for number in 0..ACCOUNTS {
            world.fill(number, writers);
        }
        world.configure(callers)?;
        Ok(world)
    }

    pub(super) fn config(&self) -> PathBuf {
        self.place.path().join("config")
    }

    pub(super) fn state(&self, replica: &str) -> PathBuf {
        self.place.path().join(replica)
    }

    /// What a replica says on stderr.
    pub(super) fn log(&self, replica: &str) -> PathBuf {
        self.place.path().join(format!("{replica}.log"))
    }

    pub(super) fn login(&self, account: &str) -> RawImap {
        self.dovecot.login(account, PASSWORD)
    }

    /// What a writer copies as others do.
    pub(super) fn shared(&self, writer: usize) -> Vec<Lying> {
        let own = account(home(writer));
        let quiet = self.quiet.iter().filter(|one| one.spot.account == own);
        quiet.take(SHARED).cloned().collect()
    }

    /// All of it but the mail stays on the disk, for whoever wants to look.
    pub(super) fn keep(self) -> PathBuf {
        self.place.keep()
    }

    /// Writers whose account it is have their letters there, one after the other.
    fn fill(&mut self, number: usize, writers: usize) {
        let user = account(number);
        let inbox = Spot::new(&user, FOLDERS[0]);
        let mut uid = 0;
        let mut deliveries = Vec::new();
        for writer in (0..writers).filter(|writer| home(*writer) == number) {
            for letter in 0..LETTERS {
                uid += 1;
                let name = format!("<w{writer}.{letter}@replicas.example>");
                let (lying, raw) = letter_of(name, &inbox, uid);
                deliveries.push(Delivery::new(raw));
                if let Some(own) = self.letters.get_mut(writer) {
                    own.push(lying);
                }
            }
        }
        self.dovecot.deliver_many(&user, FOLDERS[0], deliveries);
        let spot = Spot::new(&user, QUIET);
        let mut deliveries = Vec::new();
        for uid in 1..=QUIET_LETTERS {
            let (lying, raw) = letter_of(format!("<q{number}.{uid}@replicas.example>"), &spot, uid);
            deliveries.push(Delivery::new(raw));
            self.quiet.push(lying);
        }
        self.dovecot.deliver_many(&user, QUIET, deliveries);
    }

    fn configure(&self, count: usize) -> io::Result<()> {
        let config = self.config();
        for part in ["policies", "secrets/callers"] {
            fs::create_dir_all(config.join(part))?;
        }
        keep(&config.join("secrets/password"), PASSWORD)?;
        let port = self.dovecot.port();
        let (mut accounts, mut callers) = ("accounts:\n".to_owned(), "callers:\n".to_owned());
        let mut policy = "name: all\naccounts:\n".to_owned();
        for user in (0..ACCOUNTS).map(account) {
            let _ = writeln!(
                accounts,
                "  - {{ id: {user}, host: 127.0.0.1, port: {port}, tls: none, \
                 auth: {{ type: password, user: {user}, secret_ref: secret://password }} }}"
            );
            let _ = writeln!(policy, "  {user}:");
            for folder in FOLDERS.iter().chain(&[COPIES, WRITTEN, QUIET]) {
                let _ = writeln!(
                    policy,
                    "    - {{ path: {folder}, mode: blacklist, default: FULL, mark_seen: true, mark_tagged: true, \
                     move_out: true, accept_incoming: true, draft_append: true }}"
                );
            }
        }
        // More than anybody asks for: so every call draws from the buckets that replicas share.
        for number in 0..count {
            let _ = writeln!(
                callers,
                "  - {{ id: c{number}, policy: all, toolsets: [gateway, imap], limits: {{ calls_per_minute: 60000 }}, \
                 auth: {{ type: shared_token, token_secret_ref: secret://callers/c{number} }} }}"
            );
            let path = config.join(format!("secrets/callers/c{number}"));
            keep(&path, &token(number))?;
        }
        let secrets = config.join("secrets");
        let _ = writeln!(
            accounts,
            "secret_store: {{ backend: file_dir, path: {} }}",
            secrets.display()
        );
        fs::write(config.join("accounts.yaml"), accounts)?;
        fs::write(config.join("callers.yaml"), callers)?;
        fs::write(config.join("policies/all.yaml"), policy)
    }
}

pub(super) fn account(number: usize) -> String {
    format!("a{}", number % ACCOUNTS)
}

/// The account where the letters of a writer are at first.
pub(super) fn home(writer: usize) -> usize {
    writer % ACCOUNTS
}

pub(super) fn token(caller: usize) -> String {
    format!("replicas-token-of-caller-{caller:04}")
}

fn letter_of(name: String, spot: &Spot, uid: u64) -> (Lying, String) {
    let raw = format!(
        "Date: Tue, 03 Nov 2026 09:12:00 +0100\r\nFrom: Anna <anna@example.com>\r\nTo: team@example.com\r\n\
         Subject: letter {uid}\r\nMessage-ID: {name}\r\n\r\nText of {name}.\r\n"
    );
    let lying = Lying {
        size: Some(raw.len() as u64),
        name,
        spot: spot.clone(),
        uid: Some(uid),
        flags: BTreeSet::new(),
    };
    (lying, raw)
}

fn keep(path: &Path, secret: &str) -> io::Result<()> {
    fs::write(path, secret)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o600))
}
