//! The same mail at a server, in a Maildir and in a store of Apple Mail, each with a program that reads it.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use tempfile::TempDir;
use testkit::{AppleStore, Delivery, Dovecot, Flag, McpClient};

use crate::support::{Account, configure, program, start};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Imap,
    Maildir,
    Apple,
}

pub(super) const KINDS: [Kind; 3] = [Kind::Imap, Kind::Maildir, Kind::Apple];

/// Folders that every store has, mail in them or not.
pub(super) const FOLDERS: [&str; 6] = ["INBOX", "Archive", "Drafts", "Junk", "Sent", "Trash"];

/// What holds the mail.
pub(super) enum Holder {
    Imap(Box<Dovecot>),
    Maildir(TempDir),
    Apple(Box<AppleStore>),
}

impl Holder {
    pub(super) fn new(kind: Kind, mail: &[(&str, Delivery)]) -> Self {
        match kind {
            Kind::Imap => {
                let server = Dovecot::start();
                let named = mail.iter().map(|(name, _)| *name);
                let mut made: Vec<&str> = FOLDERS.into_iter().chain(named).collect();
                made.sort_unstable();
                made.dedup();
                for name in made.into_iter().filter(|name| *name != "INBOX") {
                    server.create_folder("alice", name);
                }
                for (folder, delivery) in mail {
                    server.deliver_many("alice", folder, [delivery.clone()]);
                }
                Self::Imap(Box::new(server))
            }
            Kind::Maildir => Self::Maildir(maildir(mail)),
            Kind::Apple => {
                let mut store = AppleStore::new();
                for name in FOLDERS {
                    store.folder(name);
                }
                for (folder, delivery) in mail {
                    let folder = store.folder(folder);
                    store.deliver(folder, delivery);
                }
                Self::Apple(Box::new(store))
            }
        }
    }

    /// Says of the program where the mail is.
    pub(super) fn configure(&self, command: &mut Command, name: &str) {
        match self {
            Self::Imap(server) => {
                let account = Account {
                    port: server.port(),
                    ..Account::default()
                };
                configure(command, name, &account);
            }
            Self::Maildir(dir) => {
                command.env(format!("MAIL_MAILDIR_{name}_PATH"), dir.path());
            }
            Self::Apple(store) => {
                command
                    .env(format!("MAIL_APPLE_{name}_PATH"), store.root())
                    .env(
                        format!("MAIL_APPLE_{name}_ACCOUNT"),
                        testkit::apple::ACCOUNT,
                    );
            }
        }
    }

    /// Where the files of a local store are.
    pub(super) fn root(&self) -> PathBuf {
        match self {
            Self::Imap(server) => server.dir().to_owned(),
            Self::Maildir(dir) => dir.path().to_owned(),
            Self::Apple(store) => store.root(),
        }
    }
}

/// Mail, and a program that reads it with a state directory of its own.
pub(super) struct Stored {
    pub(super) client: McpClient,
    pub(super) holder: Holder,
    pub(super) state: TempDir,
}

impl Stored {
    pub(super) fn new(kind: Kind, mail: &[(&str, Delivery)]) -> Self {
        Self::with(kind, mail, |_| {})
    }

    pub(super) fn with(
        kind: Kind,
        mail: &[(&str, Delivery)],
        more: impl FnOnce(&mut Command),
    ) -> Self {
        let holder = Holder::new(kind, mail);
        let state = tempfile::tempdir().unwrap();
        let mut command = program();
        command.env("MAILWARDEN_STATE_DIR", state.path());
        holder.configure(&mut command, "DEFAULT");
        more(&mut command);
        Self {
            client: start(command),
            holder,
            state,
        }
    }

    pub(super) fn root(&self) -> PathBuf {
        self.holder.root()
    }
}

fn maildir(mail: &[(&str, Delivery)]) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let place = |folder: &str| match folder {
        "INBOX" => dir.path().to_owned(),
        other => dir.path().join(format!(".{}", other.replace('/', "."))),
    };
    let named = mail.iter().map(|(folder, _)| *folder);
    for folder in FOLDERS.into_iter().chain(named) {
        for part in ["cur", "new", "tmp"] {
            fs::create_dir_all(place(folder).join(part)).unwrap();
        }
    }
    for (number, (folder, delivery)) in (1_000_000_000..).zip(mail) {
        let letter = |flag: &Flag| match flag {
            Flag::Draft => 'D',
            Flag::Flagged => 'F',
            Flag::Answered => 'R',
            Flag::Seen => 'S',
            Flag::Deleted => 'T',
        };
        let mut letters: Vec<char> = delivery.flags.iter().map(letter).collect();
        letters.sort_unstable();
        let letters: String = letters.into_iter().collect();
        let name = format!("cur/{}.M{number}P1.host:2,{letters}", delivery.unix_time);
        // Most Maildirs hold lines that end by LF alone, and some do not.
        let mut delivery = delivery.clone();
        if number % 2 == 0 {
            delivery.raw = without_cr(&delivery.raw);
        }
        put(&place(folder).join(name), &delivery);
    }
    dir
}

pub(super) fn without_cr(raw: &[u8]) -> Vec<u8> {
    let crlf = |at: usize| raw.get(at..at + 2) == Some(b"\r\n");
    let kept = raw.iter().enumerate().filter(|(at, _)| !crlf(*at));
    kept.map(|(_, octet)| *octet).collect()
}

fn put(path: &Path, delivery: &Delivery) {
    fs::write(path, &delivery.raw).unwrap();
    let arrived = SystemTime::UNIX_EPOCH + Duration::from_secs(delivery.unix_time);
    let file = File::options().append(true).open(path).unwrap();
    file.set_modified(arrived).unwrap();
}
