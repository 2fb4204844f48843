//! A server with mail on it, the source that changes it, and a second pair of eyes that sees what became of it.

use std::collections::BTreeMap;

use mail::{
    AccountId, Broken, Changed, Cx, Flag, FolderName, MailSource as _, MessageRef, SourceKind,
    Step, Subject, Uid, UidValidity,
};
use sources::imap::ImapSource;
use testkit::{Delivery, Dovecot, FaultProxy, RawImap};
use tokio::runtime::Runtime;

use crate::settings;

pub(crate) struct Ground {
    pub(crate) server: Dovecot,
    pub(crate) proxy: FaultProxy,
    pub(crate) source: ImapSource,
    pub(crate) runtime: Runtime,
    eyes: std::cell::RefCell<RawImap>,
}

/// A message as it lies at the server: flags, date, and octets.
pub(crate) type Lying = (Vec<String>, String, Vec<u8>);

/// Folders with names that a careless program does not get across.
pub(crate) const NAMES: [&str; 5] = [
    "a b",
    "say \"hi\"",
    "Entwürfe 日本",
    "deep/er/still",
    "R&D \\ {5}",
];

pub(crate) const ARRIVED: u64 = 1_700_000_000;

impl Ground {
    pub(crate) fn new() -> Self {
        Self::without("")
    }

    /// A server that has not these capabilities.
    pub(crate) fn without(capabilities: &str) -> Self {
        Self::on(Dovecot::start(), capabilities)
    }

    pub(crate) fn on(server: Dovecot, without: &str) -> Self {
        for folder in NAMES.into_iter().chain(["Target"]) {
            let mut path = String::new();
            for level in folder.split('/') {
                path = [path.as_str(), level].join(if path.is_empty() { "" } else { "/" });
                server.create_folder("alice", &path);
            }
        }
        server.deliver_many("alice", "INBOX", (1..=4).map(message));
        let proxy = FaultProxy::builder(server.port()).strip(without).start();
        let source = ImapSource::new(crate::account(), settings(proxy.port()));
        let eyes = server.login("alice", "secret").into();
        Self {
            server,
            proxy,
            source,
            runtime: crate::runtime(),
            eyes,
        }
    }

    pub(crate) fn eyes(&self, command: &str) -> Vec<String> {
        self.eyes.borrow_mut().command(command).lines()
    }

    pub(crate) fn generation(&self, folder: &str) -> UidValidity {
        let name = imap_name(folder);
        let status = self.eyes(&format!("STATUS {name} (UIDVALIDITY)")).concat();
        let digits = status.rsplit_once("UIDVALIDITY ").unwrap().1;
        UidValidity(digits.trim_end_matches(')').parse().unwrap())
    }

    pub(crate) fn at(&self, folder: &str, uid: u32) -> MessageRef {
        MessageRef {
            source: SourceKind::Imap,
            account: AccountId::new("a").unwrap(),
            folder: FolderName::new(folder).unwrap(),
            uidvalidity: self.generation(folder),
            uid: Uid(uid),
        }
    }

    /// Message `uid` of INBOX, by its true size.
    pub(crate) fn subject(&self, uid: u32) -> Subject {
        Subject {
            at: self.at("INBOX", uid),
            size: Some(message(uid).raw.len() as u64),
        }
    }

    pub(crate) fn apply(&self, step: &Step) -> (Result<Changed, Broken>, u32) {
        let cx = Cx::new();
        let outcome = self.runtime.block_on(self.source.apply(&cx, step));
        (outcome, cx.round_trips())
    }

    /// Opens INBOX for writing, as an earlier change would have.
    pub(crate) fn warm_up(&self) {
        let flag = |name| vec![Flag::new(name)];
        let warm = Step::Mark {
            subject: self.subject(4),
            add: flag("warm"),
            remove: flag("cold"),
        };
        self.apply(&warm).0.unwrap();
    }

    /// What lies in a folder, by number.
    pub(crate) fn lying(&self, folder: &str) -> BTreeMap<u32, Lying> {
        let name = imap_name(folder);
        self.eyes(&format!("EXAMINE {name}"));
        let mut eyes = self.eyes.borrow_mut();
        let reply = eyes.command("UID FETCH 1:* (FLAGS INTERNALDATE BODY.PEEK[])");
        let each = reply
            .untagged
            .iter()
            .filter(|line| line.windows(6).any(|w| w == b"FETCH "));
        let each = each.map(|line| {
            let text = String::from_utf8_lossy(line);
            let between = |from: &str, to: &str| {
                let rest = text.split_once(from).unwrap().1;
                rest.split_once(to).unwrap().0.to_owned()
            };
            let mut flags: Vec<String> = between("FLAGS (", ")")
                .split(' ')
                .filter(|flag| !flag.is_empty() && *flag != "\\Recent")
                .map(str::to_owned)
                .collect();
            flags.sort();
            let begin = line.windows(2).position(|w| w == b"\r\n").unwrap() + 2;
            let body = line[begin..].strip_suffix(b")").unwrap().to_vec();
            let uid = between("UID ", " ").parse().unwrap();
            (uid, (flags, between("INTERNALDATE \"", "\""), body))
        });
        each.collect()
    }
}

/// A message of its own length, with a date of its own.
pub(crate) fn message(number: u32) -> Delivery {
    let filler = "x".repeat(number as usize * 7);
    let raw = format!(
        "Message-ID: <{number}@test.example>\r\nSubject: number {number}\r\n\r\n{filler}\r\n"
    );
    Delivery::new(raw)
        .at(ARRIVED + u64::from(number))
        .flags(&[testkit::Flag::Flagged])
}

pub(crate) fn flags(names: &[&str]) -> Vec<Flag> {
    names.iter().copied().map(Flag::new).collect()
}

/// What the eyes type.
fn imap_name(folder: &str) -> String {
    let name = imap_utf7(folder);
    format!("\"{}\"", name.replace('\\', "\\\\").replace('"', "\\\""))
}

fn imap_utf7(folder: &str) -> String {
    imap::utf7::encode(folder)
}
