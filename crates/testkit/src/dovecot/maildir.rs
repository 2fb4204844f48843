//! Mail put straight into Maildir++ files, faster than any protocol. Never reads or changes what is already there.

use crate::delivery::{Delivery, Seeds};
use crate::process::is_root;
use crate::utf7;
use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Who owns the mail: an otherwise unused uid when we are root (Dovecot serves no mail as root), else ourselves.
#[derive(Clone, Copy, Debug)]
pub(super) struct Owner {
    pub(super) uid: u32,
    pub(super) gid: u32,
}

impl Owner {
    pub(super) fn of_mail() -> Self {
        if is_root() {
            return Self {
                uid: 5000,
                gid: 5000,
            };
        }
        let (uid, gid) = (rustix::process::getuid(), rustix::process::getgid());
        Self {
            uid: uid.as_raw(),
            gid: gid.as_raw(),
        }
    }

    pub(super) fn make_dir(self, path: &Path) {
        super::config::make_dir(path, 0o700);
        self.take(path);
    }

    fn take(self, path: &Path) {
        if is_root() {
            chown(path, Some(self.uid), Some(self.gid))
                .unwrap_or_else(|e| panic!("cannot chown {}: {e}", path.display()));
        }
    }
}

/// One user's mail.
#[derive(Debug)]
pub(super) struct Maildir {
    root: PathBuf,
    owner: Owner,
}

impl Maildir {
    pub(super) fn at(root: PathBuf, owner: Owner) -> Self {
        Self { root, owner }
    }

    pub(super) fn create(&self, folder: &str) {
        let dir = self.folder(folder);
        self.owner.make_dir(&dir);
        for part in ["tmp", "new", "cur"] {
            self.owner.make_dir(&dir.join(part));
        }
        if folder != "INBOX" {
            // Maildir++ knows a folder by this file.
            let marker = dir.join("maildirfolder");
            File::create(&marker).expect("mark a Maildir folder");
            self.owner.take(&marker);
            self.subscribe(folder);
        }
    }

    /// Into `new`, where the server finds it as \Recent.
    pub(super) fn deliver_new(&self, folder: &str, number: u64, delivery: &Delivery) {
        self.write(folder, "new", &base_name(number, delivery), delivery);
    }

    /// Into `cur`, with flags.
    pub(super) fn deliver_current(&self, folder: &str, number: u64, delivery: &Delivery) {
        let mut flags = delivery.flags.clone();
        flags.sort_unstable();
        flags.dedup();
        let letters: String = flags.iter().map(|flag| flag.maildir()).collect();
        self.write(
            folder,
            "cur",
            &format!("{}:2,{letters}", base_name(number, delivery)),
            delivery,
        );
    }

    /// Into `cur`, under UIDs and a UIDVALIDITY of the test's choosing. The folder must be new to the server.
    pub(super) fn seed(&self, folder: &str, number: u64, seeds: &Seeds<'_>) {
        let dir = self.folder(folder);
        let mut list = String::new();
        let mut next = 1;
        for (number, seed) in (number..).zip(seeds.messages) {
            let base = base_name(number, &seed.delivery);
            let mut flags = seed.delivery.flags.clone();
            flags.sort_unstable();
            flags.dedup();
            let letters = flags.iter().map(|flag| flag.maildir());
            let keywords = (b'a'..)
                .zip(seeds.keywords)
                .filter(|(_, keyword)| seed.keywords.contains(keyword));
            let letters: String = letters
                .chain(keywords.map(|(letter, _)| char::from(letter)))
                .collect();
            let name = format!("{base}:2,{letters}");
            self.write(folder, "cur", &name, &seed.delivery);
            list.push_str(&format!("{} :{base}\n", seed.uid));
            next = seed.uid + 1;
        }
        // Version 3: UIDVALIDITY, next UID, and an id of the folder.
        let uidvalidity = seeds.uidvalidity;
        let list = format!("3 V{uidvalidity} N{next} G{uidvalidity:032x}\n{list}");
        let keywords: String = (0..)
            .zip(seeds.keywords)
            .map(|(index, keyword): (u32, _)| format!("{index} {keyword}\n"))
            .collect();
        for (name, text) in [("dovecot-uidlist", list), ("dovecot-keywords", keywords)] {
            let path = dir.join(name);
            std::fs::write(&path, text).expect("write what Dovecot knows of a folder");
            self.owner.take(&path);
        }
    }

    fn write(&self, folder: &str, part: &str, name: &str, delivery: &Delivery) {
        let dir = self.folder(folder);
        let hidden = dir.join("tmp").join(name);
        let mut file = File::create(&hidden).unwrap_or_else(|e| {
            panic!("no folder {folder}? cannot write {}: {e}", hidden.display())
        });
        file.write_all(&delivery.raw).expect("write a message");
        let arrival = SystemTime::UNIX_EPOCH + Duration::from_secs(delivery.unix_time);
        file.set_modified(arrival).expect("date a message");
        self.owner.take(&hidden);
        std::fs::rename(&hidden, dir.join(part).join(name)).expect("deliver a message");
    }

    fn folder(&self, folder: &str) -> PathBuf {
        if folder == "INBOX" {
            return self.root.clone();
        }
        assert!(
            !folder.contains('.'),
            "Maildir++ keeps the dot for itself: {folder}"
        );
        self.root
            .join(format!(".{}", utf7::encode(folder).replace('/', ".")))
    }

    /// Subscriptions file, version 2: levels separated by tabs.
    fn subscribe(&self, folder: &str) {
        let path = self.root.join("subscriptions");
        let mut text = std::fs::read_to_string(&path).unwrap_or_else(|_| "V\t2\n\n".to_owned());
        text.push_str(&utf7::encode(folder).replace('/', "\t"));
        text.push('\n');
        std::fs::write(&path, text).expect("write the subscriptions");
        self.owner.take(&path);
    }
}

/// Dovecot gives UIDs to new files in the order of the number their names begin with (the date comes from the file's
/// time), so that number is a counter. `S` and `W`, size as stored and with CRLF, spare it reading the file.
fn base_name(number: u64, delivery: &Delivery) -> String {
    let stored = delivery.raw.len();
    let bare_newlines = memchr::memchr_iter(b'\n', &delivery.raw)
        .filter(|at| {
            at.checked_sub(1)
                .is_none_or(|before| delivery.raw[before] != b'\r')
        })
        .count();
    format!(
        "{}.testkit,S={stored},W={}",
        1_000_000_000 + number,
        stored + bare_newlines
    )
}
