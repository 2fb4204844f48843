//! What is put under load: a Dovecot with many accounts full of generated mail, and a configuration directory with callers
//! and policies over them. Nothing here runs the program.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use memchr::memmem;
use tempfile::TempDir;
use testkit::mailgen::Mailgen;
use testkit::{Dovecot, RawImap};

use super::mix::Tool;

const PASSWORD: &str = "secret";
/// Besides INBOX and those that servers give everybody.
pub(super) const FOLDER: &str = "Projects";
/// Callers, by turns of each kind.
pub(super) const CALLERS: usize = 50;
/// What the rules of policies let through: four of the six domains that generated mail comes from.
const OPEN: [&str; 4] = ["example.com", "example.org", "corp.example", "uni.example"];

/// How much of the world there is.
#[derive(Clone, Copy)]
pub(super) struct Size {
    pub accounts: usize,
    pub messages: u64,
    pub only: Option<Tool>,
}

pub(super) struct World {
    pub dovecot: Dovecot,
    pub mailboxes: Vec<Mailbox>,
    place: TempDir,
}

/// INBOX of an account, as far as clients must know it to ask for something that is there.
pub(super) struct Mailbox {
    pub account: String,
    /// The one thing that is asked for; the whole mix when there is none.
    pub only: Option<Tool>,
    /// By UID, from 1 on.
    pub letters: Vec<Letter>,
}

pub(super) struct Letter {
    pub message_id: String,
    pub from: String,
    /// Whether rules let it through.
    pub open: bool,
}

/// What the policy of a caller is like.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// Everything, without a rule.
    Full,
    /// Nothing but what rules grant.
    Whitelist,
    /// Everything but what rules take.
    Blacklist,
}

impl Kind {
    pub(super) const ALL: [Self; 3] = [Self::Full, Self::Whitelist, Self::Blacklist];

    /// The kind of a caller, by its number.
    pub(super) fn of(caller: usize) -> Self {
        match caller % 5 {
            0 | 1 => Self::Full,
            2 | 3 => Self::Whitelist,
            _ => Self::Blacklist,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Whitelist => "whitelist",
            Self::Blacklist => "blacklist",
        }
    }

    fn folder(self) -> String {
        let rules = |verb: &str, domains: &[&str]| {
            domains.iter().fold(String::new(), |mut text, domain| {
                let _ = writeln!(
                    text,
                    "        - {{ match: {{ from_domain: {domain} }}, {verb} }}"
                );
                text
            })
        };
        match self {
            Self::Full => "      mode: blacklist\n      default: FULL\n".to_owned(),
            Self::Whitelist => format!(
                "      mode: whitelist\n      default: NONE\n      rules:\n{}",
                rules("grant: FULL", &OPEN)
            ),
            Self::Blacklist => format!(
                "      mode: blacklist\n      default: FULL\n      rules:\n{}",
                rules(
                    "cap: NONE",
                    &["mail.example.net", "shop.example", "example.net"]
                )
            ),
        }
    }
}

impl World {
    pub(super) fn build(size: Size) -> io::Result<Self> {
        let users = (0..size.accounts).map(|n| format!("u{n}"));
        let builder = users.clone().fold(Dovecot::builder(), |builder, user| {
            builder.user(&user, PASSWORD)
        });
        let dovecot = builder
            .folder(FOLDER)
            .config("mail_fsync = never\nauth_verbose = no\nservice imap {\n  process_limit = 2048\n}\n")
            .start();
        let mut mailboxes = Vec::new();
        for (seed, user) in (0..).zip(users) {
            mailboxes.push(fill(&dovecot, seed, user, size));
        }
        let place = tempfile::Builder::new().prefix("load").tempdir()?;
        let world = Self {
            dovecot,
            mailboxes,
            place,
        };
        world.configure()?;
        Ok(world)
    }

    pub(super) fn config(&self) -> PathBuf {
        self.place.path().join("config")
    }

    pub(super) fn state(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    fn configure(&self) -> io::Result<()> {
        let config = self.config();
        for part in ["policies", "secrets/callers"] {
            fs::create_dir_all(config.join(part))?;
        }
        keep(&config.join("secrets/password"), PASSWORD)?;
        let port = self.dovecot.port();
        let accounts = self.mailboxes.iter().fold(String::new(), |mut text, one| {
            let user = &one.account;
            let _ = writeln!(
                text,
                "  - {{ id: {user}, host: 127.0.0.1, port: {port}, tls: none, \
                 auth: {{ type: password, user: {user}, secret_ref: secret://password }} }}"
            );
            text
        });
        let secrets = config.join("secrets");
        let text = format!(
            "accounts:\n{accounts}secret_store: {{ backend: file_dir, path: {} }}\nwal: {{ path: {} }}\n",
            secrets.display(),
            self.place.path().join("ledger.db").display()
        );
        fs::write(config.join("accounts.yaml"), text)?;
        for kind in Kind::ALL {
            self.write_policy(kind, 0)?;
        }
        self.write_callers(CALLERS)
    }

    /// Another configuration that means the same to all clients: a caller more or less, and a policy with or without a rule
    /// that no message meets.
    pub(super) fn rewrite(&self, turn: usize) -> io::Result<()> {
        self.write_policy(Kind::Whitelist, turn)?;
        self.write_callers(CALLERS + turn % 2)
    }

    fn write_policy(&self, kind: Kind, turn: usize) -> io::Result<()> {
        let more = match turn % 2 {
            0 => "",
            _ => "        - { match: { from_domain: nobody.example }, grant: ENVELOPE }\n",
        };
        let mut text = format!("name: {}\naccounts:\n", kind.name());
        for one in &self.mailboxes {
            let _ = writeln!(text, "  {}:", one.account);
            for folder in ["INBOX", FOLDER] {
                let _ = write!(text, "    - path: {folder}\n{}{more}", kind.folder());
            }
        }
        replace(
            &self.config().join(format!("policies/{}.yaml", kind.name())),
            &text,
        )
    }

    /// So many callers, from now on.
    pub(super) fn write_callers(&self, count: usize) -> io::Result<()> {
        let config = self.config();
        let mut text = "callers:\n".to_owned();
        for caller in 0..count {
            keep(
                &config.join(format!("secrets/callers/c{caller}")),
                &token(caller),
            )?;
            let _ = writeln!(
                text,
                "  - {{ id: c{caller}, policy: {}, toolsets: [gateway, threads], \
                 auth: {{ type: shared_token, token_secret_ref: secret://callers/c{caller} }} }}",
                Kind::of(caller).name()
            );
        }
        replace(&config.join("callers.yaml"), &text)
    }

    /// Every mailbox has been looked at once, so that no side finds the server's caches cold.
    pub(super) fn warm(&self) {
        for one in &self.mailboxes {
            let mut imap = self.login(&one.account);
            imap.command("EXAMINE INBOX");
            let tag = imap.send(&["UID FETCH 1:* (FLAGS INTERNALDATE RFC822.SIZE ENVELOPE BODYSTRUCTURE BODY.PEEK[HEADER] \
                BODY.PEEK[HEADER.FIELDS (FROM TO CC SUBJECT DATE MESSAGE-ID IN-REPLY-TO)])"]);
            imap.drain_until(&tag);
        }
    }

    fn login(&self, user: &str) -> RawImap {
        self.dovecot.login(user, PASSWORD)
    }
}

/// What a caller shows.
pub(super) fn token(caller: usize) -> String {
    format!("load-token-of-caller-{caller:04}")
}

pub(super) fn login(account: &str) -> String {
    format!("LOGIN {account} {PASSWORD}")
}

fn fill(dovecot: &Dovecot, seed: u64, account: String, size: Size) -> Mailbox {
    let mail = Mailgen::new(seed);
    let mut letters = Vec::new();
    let deliveries = mail.messages(size.messages).map(|mut delivery| {
        delivery.raw = answering_one(&delivery.raw);
        letters.push(letter(&delivery.raw));
        delivery
    });
    dovecot.deliver_many(&account, "INBOX", deliveries);
    let only = size.only;
    Mailbox {
        account,
        only,
        letters,
    }
}

/// Generated mail refers to a letter of another conversation too, which makes one of nearly all of them; conversations here
/// are as short as most are.
fn answering_one(raw: &[u8]) -> Vec<u8> {
    const NAME: &[u8] = b"\r\nReferences: ";
    let begin = memmem::find(raw, NAME).map(|at| at + NAME.len());
    let first = begin.and_then(|begin| {
        let end = memmem::find(raw.get(begin..)?, b"\r\n ")?;
        Some((raw.get(..begin)?, raw.get(begin + end + 3..)?))
    });
    match first {
        Some((before, after)) => [before, after].concat(),
        None => raw.to_vec(),
    }
}

fn letter(raw: &[u8]) -> Letter {
    let text = String::from_utf8_lossy(raw);
    let value = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap_or_default().to_owned()
    };
    let from = value("From: ");
    let from = from.rsplit_once('<').map_or("", |(_, address)| address);
    let from = from.trim_end_matches('>').to_owned();
    let domain = from.rsplit_once('@').map_or("", |(_, domain)| domain);
    Letter {
        message_id: value("Message-ID: "),
        open: OPEN.contains(&domain),
        from,
    }
}

/// In one step: it may be read at any moment.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    let whole = path.with_extension("new");
    fs::write(&whole, text)?;
    fs::rename(whole, path)
}

fn keep(path: &Path, secret: &str) -> io::Result<()> {
    fs::write(path, secret)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o600))
}
