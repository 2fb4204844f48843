//! A log of made-up calls: as a server would have written it, and from the same seeds always the same.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use jiff::{Timestamp, ToSpan as _};

use crate::keys::Keys;
use crate::{Day, Hash, Peaks, Place, line};

const TOOLS: [&str; 4] = [
    "imap_search_messages",
    "imap_get_message",
    "imap_list_mailboxes",
    "imap_get_attachment",
];

/// Writes days, one after the other. There is one writer, and no crash.
pub struct Sample {
    dir: PathBuf,
    keys: Keys,
    tree: Peaks,
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
            tree: Peaks::default(),
            head: Hash::ZERO,
            ts,
            day,
            out: io::BufWriter::new(fs::File::create(day.file(dir))?),
        };
        sample.add("day_opened", &sample.peaks())?;
        Ok(sample)
    }

    pub fn tree(&self) -> &Peaks {
        &self.tree
    }

    pub fn head(&self) -> Hash {
        self.head
    }

    /// One record; `fields` begins with a comma, or is empty.
    pub fn add(&mut self, event: &str, fields: &str) -> io::Result<()> {
        let place = Place {
            seq: self.tree.size(),
            ts: self.ts,
            prev: self.head,
        };
        let mut line = Vec::with_capacity(1024);
        self.head = line::write(&mut line, &place, event, fields.as_bytes());
        self.tree.push(self.head);
        self.ts = self
            .ts
            .saturating_add(137_777.microseconds())
            .map_err(io::Error::other)?;
        self.out.write_all(&line)
    }

    /// A record of a call; what is in it depends on its number alone.
    pub fn call(&mut self) -> io::Result<()> {
        let n = self.tree.size();
        let pick = usize::try_from(n % 4).unwrap_or_default();
        let tool = TOOLS.get(pick).copied().unwrap_or_default();
        let caller = if n.is_multiple_of(3) {
            "triage"
        } else {
            "owner"
        };
        let digest = self.keys.digester().digest(&format!("word {}", n % 10));
        let (decision, reason) = match n % 7 {
            3 => ("DENY", "rule"),
            _ => ("ALLOW", "rule"),
        };
        let fields = format!(
            r#","caller_id":"{caller}","caller_addr":"stdio","request_id":"{n}","tool":"{tool}","arguments":{{"account":"default","folder":"INBOX","message_id":"imap:default:INBOX:7:{}","limit":10,"text":"{digest}"}},"decision":"{decision}","reason":"{reason}","level":"BODY","result":"ok","shown":1,"hidden":0,"round_trips":{},"latency_ms":{}"#,
            n % 50,
            n % 5,
            1 + n % 90,
        );
        self.add("call", &fields)
    }

    /// As little as makes the record one of this log and no other.
    pub fn brief(&mut self) -> io::Result<()> {
        let digest = self.keys.digester().digest("");
        self.add("call", &format!(r#","text":"{digest}""#))
    }

    pub fn checkpoint(&mut self) -> io::Result<()> {
        self.add("checkpoint", &self.peaks())
    }

    /// What a process writes that finds fewer records than it wrote.
    pub fn cut(&mut self) -> io::Result<()> {
        self.add("log_cut", &self.peaks())
    }

    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    /// Closes the day and opens the next.
    pub fn next_day(&mut self) -> io::Result<()> {
        let closed = format!(
            r#","tree_size":{},"root":"{}""#,
            self.tree.size(),
            self.tree.root()
        );
        self.add("day_closed", &closed)?;
        self.out.flush()?;
        let note = self.keys.sign(&self.tree);
        fs::write(self.day.checkpoint(&self.dir), note)?;
        self.day = self.day.next();
        self.ts = self.day.start();
        let file = fs::File::create(self.day.file(&self.dir))?;
        self.out = io::BufWriter::new(file);
        self.add("day_opened", &self.peaks())
    }

    /// The signed checkpoint over everything so far.
    pub fn signed(&self) -> String {
        self.keys.sign(&self.tree)
    }

    /// Makes sure that all of it is in the files. The latest checkpoint is written beside them.
    pub fn finish(mut self) -> io::Result<()> {
        self.out.flush()?;
        fs::write(self.dir.join("checkpoint"), self.signed())
    }

    fn peaks(&self) -> String {
        let mut text = format!(r#","tree_size":{},"peaks":["#, self.tree.size());
        for (n, peak) in self.tree.as_slice().iter().enumerate() {
            let comma = if n == 0 { "" } else { "," };
            let _ = write!(text, r#"{comma}"{peak}""#);
        }
        text + "]"
    }
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
    sample.add("start", r#","version":"0.1.0","pid":4711"#)?;
    while sample.tree.size() < records {
        match sample.tree.size() {
            n if n == records / 3 || n == 2 * records / 3 => sample.next_day()?,
            n if n % 1024 == 40 => sample.checkpoint()?,
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
