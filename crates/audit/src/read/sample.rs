//! A log of made-up calls, as a server would have written it.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use jiff::{Timestamp, ToSpan as _};
use mail::{AccountId, FolderName, Level, MessageRef, SourceKind, Uid, UidValidity};

use crate::chain::Chain;
use crate::event::{Asked, Decision, Ended, Event};
use crate::keys::Keys;
use crate::{Day, Hash, Peaks, Summary};

const TOOLS: [&str; 4] = [
    "imap_search_messages",
    "imap_get_message",
    "imap_list_mailboxes",
    "imap_get_message_raw",
];

/// Writes days, one after the other, without a sync. There is one writer, and no crash.
pub struct Sample {
    dir: PathBuf,
    keys: Keys,
    chain: Chain,
    head: Hash,
    ts: Timestamp,
    day: Day,
    out: io::BufWriter<fs::File>,
}

impl Sample {
    /// Begins with the day of `ts`.
    pub fn begin(dir: &Path, ts: Timestamp) -> io::Result<Self> {
        let day = Day::of(ts);
        let mut sample = Self {
            dir: dir.to_owned(),
            keys: Keys::of(dir, None)?,
            chain: Chain::new(),
            head: Hash::ZERO,
            ts,
            day,
            out: io::BufWriter::new(fs::File::create(day.file(dir))?),
        };
        sample.say(&Event::day_opened())?;
        Ok(sample)
    }

    pub fn tree(&self) -> &Peaks {
        self.chain.tree()
    }

    pub fn head(&self) -> Hash {
        self.head
    }

    /// One record.
    pub fn say(&mut self, event: &Event) -> io::Result<()> {
        let mut line = Vec::with_capacity(1024);
        let digester = self.keys.digester();
        (_, self.head) = self.chain.write(&mut line, self.ts, event, digester);
        self.put(&line)
    }

    /// One that no event makes; `fields` begins with a comma, or is empty.
    pub fn add(&mut self, event: &str, fields: &str) -> io::Result<()> {
        let mut line = Vec::with_capacity(1024);
        let fields = fields.as_bytes();
        (_, self.head) = self.chain.write_fields(&mut line, self.ts, event, fields);
        self.put(&line)
    }

    fn put(&mut self, line: &[u8]) -> io::Result<()> {
        let later = self.ts.saturating_add(137_777.microseconds());
        self.ts = later.map_err(io::Error::other)?;
        self.out.write_all(line)
    }

    /// A record of a call; what is in it depends on its number alone.
    pub fn call(&mut self) -> io::Result<()> {
        let n = self.tree().size();
        self.say(&call(n).ok_or_else(|| io::Error::other("no such call"))?)
    }

    /// As little as makes the record one of this log and no other.
    pub fn brief(&mut self) -> io::Result<()> {
        let digest = self.keys.digester().digest("");
        self.add("call", &format!(r#","text":"{digest}""#))
    }

    pub fn state_tree(&mut self) -> io::Result<()> {
        self.say(&Event::tree_stated())
    }

    /// What a process writes that finds fewer records than it wrote.
    pub fn cut(&mut self) -> io::Result<()> {
        self.say(&Event::log_cut(0, 0))
    }

    /// What retention says before it deletes a day.
    pub fn deleted(&mut self, day: Day, through: u64, hash: &Hash) -> io::Result<()> {
        self.say(&Event::deleted(day, through, hash))
    }

    /// What is said of bytes that were set aside.
    pub fn torn(&mut self, kept_as: &str, bytes: &[u8]) -> io::Result<()> {
        self.say(&Event::torn_tail(kept_as, bytes))
    }

    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    /// Closes the day and opens the next.
    pub fn next_day(&mut self) -> io::Result<()> {
        self.say(&Event::day_closed())?;
        self.out.flush()?;
        fs::write(self.day.checkpoint(&self.dir), self.signed())?;
        self.day = self.day.next();
        self.ts = self.day.start();
        let file = fs::File::create(self.day.file(&self.dir))?;
        self.out = io::BufWriter::new(file);
        self.say(&Event::day_opened())
    }

    /// The signed checkpoint over everything so far.
    pub fn signed(&self) -> String {
        self.keys.sign(self.tree())
    }

    /// Makes sure that all of it is in the files. The latest checkpoint is written beside them.
    pub fn finish(mut self) -> io::Result<()> {
        self.out.flush()?;
        fs::write(self.dir.join("checkpoint"), self.signed())
    }
}

fn call(n: u64) -> Option<Event> {
    let tool = TOOLS.get(usize::try_from(n % 4).ok()?)?;
    let denied = n % 7 == 3;
    let at = MessageRef {
        source: SourceKind::Imap,
        account: AccountId::new("default").ok()?,
        folder: FolderName::new("INBOX").ok()?,
        uidvalidity: UidValidity(7),
        uid: Uid(u32::try_from(n % 50).ok()?),
    };
    let arguments = Summary::new()
        .account(&at.account)
        .folder(&at.folder)
        .message(&at)
        .number("limit", 10u32)
        .digest_if("query", Some(format!("word {}", n % 10)));
    let asked = Asked {
        caller_id: if n.is_multiple_of(3) {
            "triage"
        } else {
            "owner"
        }
        .to_owned(),
        caller_addr: "stdio:4711".to_owned(),
        request_id: format!("req_{n:016x}"),
        tool: (*tool).to_owned(),
        arguments,
        decision: if denied {
            Decision::Deny
        } else {
            Decision::Allow
        },
        reason: if denied {
            "folder_hidden"
        } else {
            "rule_matched"
        },
        level: Some(Level::Body),
        rule: Some(n % 3),
        missing_capability: None,
    };
    let ended = Ended {
        shown: u64::from(!denied),
        hidden: u64::from(denied),
        round_trips: Some(n % 5),
        latency_ms: 1 + n % 90,
        ..Ended::of("ok")
    };
    Some(Event::call(&asked, &ended))
}

/// How much the records of calls hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Calls {
    Full,
    Brief,
}

/// So many records, over three days, from 2026-11-13 on.
pub fn three_days(dir: &Path, records: u64, calls: Calls) -> io::Result<()> {
    let begin = "2026-11-13T08:00:00Z".parse().map_err(io::Error::other)?;
    let mut sample = Sample::begin(dir, begin)?;
    sample.add("start", r#","version":"0.1.0","pid":4711,"verb":"stdio""#)?;
    while sample.tree().size() < records {
        match sample.tree().size() {
            n if n == records / 3 || n == 2 * records / 3 => sample.next_day()?,
            n if n % 1024 == 40 => sample.state_tree()?,
            _ => match calls {
                Calls::Full => sample.call()?,
                Calls::Brief => sample.brief()?,
            },
        }
    }
    sample.finish()
}

/// Compresses a day, as retention does.
pub fn compress(dir: &Path, day: Day) -> io::Result<()> {
    let plain = fs::read(day.file(dir))?;
    let file = fs::File::create(day.gzip(dir))?;
    let mut gzip = flate2::write::GzEncoder::new(file, flate2::Compression::default());
    gzip.write_all(&plain)?;
    gzip.finish()?;
    fs::remove_file(day.file(dir))
}
