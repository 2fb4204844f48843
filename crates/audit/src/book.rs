//! A log's directory as one process holds it: takes the lock, sees what others wrote, writes, makes it durable.
//!
//! Nothing here knows threads or waits for anybody but the lock. A failed write leaves the file as it was, or as the
//! next one will find and mend it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;

use crate::chain::Chain;
use crate::checkpoint::Checkpoint;
use crate::event::{DAY_CLOSED, Event};
use crate::files;
use crate::keys::{Keys, Seeds, verifier};
use crate::line::{self, Line};
use crate::recover::{self, Closed, Found};
use crate::{Clock, Day, Hash, LogId, Peaks};

pub(crate) const LOCK: &str = "lock";
pub(crate) const CHECKPOINT: &str = "checkpoint";
/// A clock may be set right by a little without a word.
const CLOCK_SLACK: jiff::SignedDuration = jiff::SignedDuration::from_secs(1);

pub(crate) struct Book {
    dir: PathBuf,
    open: Option<Open>,
    /// The end of the chain when this process last made something durable: disks forget, we don't.
    known: Option<Known>,
    /// What could neither be made durable nor cut off again.
    undone: Option<Undone>,
}

struct Undone {
    day: Day,
    begin: u64,
    end: u64,
    /// As it was before.
    chain: Chain,
}

impl Undone {
    /// Cuts off what was written and not made durable, unless another process has gone on from it. What it says is said
    /// again, as withheld.
    fn take_back(&self, found: &mut Found) -> io::Result<()> {
        let Some(newest) = &mut found.newest else {
            return Ok(());
        };
        if newest.day != self.day || newest.closed == Closed::Yes || newest.len <= self.begin {
            return Ok(());
        }
        let file = OpenOptions::new().append(true).open(&newest.path)?;
        if file.metadata()?.len() > self.end {
            return Ok(());
        }
        file.set_len(self.begin)?;
        newest.torn.clear();
        newest.len = self.begin;
        found.chain = self.chain.clone();
        Ok(())
    }
}

struct Known {
    log: LogId,
    seeds: Seeds,
    chain: Chain,
}

impl Known {
    /// Whether the files are not those that this process wrote.
    fn is_other(&self, log: &LogId, found: &Chain) -> bool {
        let rewritten = found.seq() == self.chain.seq() && found.prev() != self.chain.prev();
        self.log != *log || rewritten
    }
}

/// The directory, while it is the one that was opened.
struct Open {
    lock: File,
    keys: Keys,
    head: Option<Head>,
}

/// The file that is written to.
struct Head {
    day: Day,
    file: File,
    len: u64,
    chain: Chain,
    closed: Closed,
}

/// What was found on disk, and what there is to say of it.
struct Looked {
    /// None when there is no file yet.
    head: Option<Head>,
    chain: Chain,
    /// Said before anything else.
    first: Vec<Event>,
    /// The names of what was set aside and is told in it.
    told: Vec<String>,
}

impl Looked {
    fn nothing_new(head: Head) -> Self {
        Self {
            chain: head.chain.clone(),
            head: Some(head),
            first: Vec::new(),
            told: Vec::new(),
        }
    }
}

/// Where the records ended up.
#[derive(Debug)]
pub(crate) struct Written {
    pub log: LogId,
    pub places: Vec<(u64, Hash)>,
    pub tree: Peaks,
}

impl Book {
    pub(crate) fn new(dir: PathBuf) -> Self {
        Self {
            dir,
            open: None,
            known: None,
            undone: None,
        }
    }

    /// Writes events and makes them durable, or none of them. They and the time are asked for once the lock is held, so
    /// that all that gathered meanwhile shares one sync.
    pub(crate) fn write(
        &mut self,
        clock: &Clock,
        events: impl FnOnce() -> Vec<Arc<Event>>,
    ) -> io::Result<Written> {
        let mut open = self.lock()?;
        let written = self.write_locked(&mut open, clock.now(), events);
        let unlocked = open.lock.unlock();
        // After any failure the directory is looked at afresh.
        if written.is_ok() && unlocked.is_ok() {
            self.open = Some(open);
        }
        written
    }

    /// Takes the lock of the directory as it is now. Whoever waited for it may find that it leads nowhere any more.
    fn lock(&mut self) -> io::Result<Open> {
        for _ in 0..3 {
            let open = match self.open.take() {
                Some(open) => open,
                None => Open::at(&self.dir, self.known.as_ref().map(|known| &known.seeds))?,
            };
            open.lock.lock()?;
            if files::is_at(&open.lock, &self.dir.join(LOCK)) {
                return Ok(open);
            }
        }
        Err(io::Error::other("the log's directory is being replaced"))
    }

    fn write_locked(
        &mut self,
        open: &mut Open,
        now: Timestamp,
        events: impl FnOnce() -> Vec<Arc<Event>>,
    ) -> io::Result<Written> {
        let current = match open.head.take() {
            Some(mut head) => head.catch_up(&self.dir)?.then_some(head),
            None => None,
        };
        let Looked {
            head,
            chain,
            mut first,
            told,
        } = match current {
            Some(head) => Looked::nothing_new(head),
            None => self.look(&open.keys)?,
        };
        let mut head = match head {
            Some(head) if head.is_for(Day::of(now)) => head,
            before => self.turn(&open.keys, before, chain, now, &mut first)?,
        };
        if let Some(last) = head.chain.last_ts()
            && last.duration_since(now) > CLOCK_SLACK
        {
            first.push(Event::clock_back(&line::stamp(last)));
        }
        let mut out = Vec::new();
        let mut chain = head.chain.clone();
        let mut write = |event: &Event| {
            if chain.wants_base() {
                let base = Event::tree_stated();
                chain.write(&mut out, now, &base, open.keys.digester());
            }
            chain.write(&mut out, now, event, open.keys.digester())
        };
        first.iter().for_each(|event| {
            write(event);
        });
        let places = events().iter().map(|event| write(event)).collect();
        self.append(&mut head, &out)?;
        for name in told {
            files::said(&self.dir, &name);
        }
        head.chain = chain.clone();
        let written = Written {
            log: open.keys.log().clone(),
            places,
            tree: chain.tree().clone(),
        };
        self.known = Some(Known {
            log: written.log.clone(),
            seeds: open.keys.seeds().clone(),
            chain,
        });
        open.head = Some(head);
        Ok(written)
    }

    /// Closes the day that is over, if it still has to be, and opens the one that has come. A day never comes back: what a
    /// clock that was set back would call yesterday is still today here.
    fn turn(
        &mut self,
        keys: &Keys,
        before: Option<Head>,
        mut chain: Chain,
        now: Timestamp,
        first: &mut Vec<Event>,
    ) -> io::Result<Head> {
        let mut day = Day::of(now);
        if let Some(mut head) = before {
            if head.closed == Closed::No && head.len > 0 {
                let mut out = Vec::new();
                // What was found wrong with this day is said in it.
                for event in first.drain(..).chain([Event::day_closed()]) {
                    chain.write(&mut out, now, &event, keys.digester());
                }
                self.append(&mut head, &out)?;
                head.closed = Closed::Yes;
            }
            day = match head.closed {
                Closed::Yes => {
                    // INVARIANT: a compressed day was signed when it was closed; one that is
                    // damaged is not signed anew.
                    if head.day.file(&self.dir).exists() {
                        files::seal(&head.file)?;
                        let note = keys.sign(chain.tree());
                        let path = head.day.checkpoint(&self.dir);
                        files::replace(&self.dir, &path, note.as_bytes())?;
                    }
                    // INVARIANT: nothing is written behind a day's last record, not even on the last day of the calendar.
                    if head.day.next() == head.day {
                        return Err(io::Error::other("no day is left for the log"));
                    }
                    day.max(head.day.next())
                }
                Closed::No => day.max(head.day),
            };
        }
        files::remove_empty_days(&self.dir, day)?;
        let file = files::private()
            .create(true)
            .read(true)
            .append(true)
            .open(day.file(&self.dir))?;
        files::sync_dir(&self.dir)?;
        first.insert(0, Event::day_opened());
        Ok(Head {
            day,
            file,
            len: 0,
            chain,
            closed: Closed::No,
        })
    }

    /// Adds bytes and makes them durable. When that fails, the file is what it was before.
    fn append(&mut self, head: &mut Head, bytes: &[u8]) -> io::Result<()> {
        let more = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        let added = head
            .file
            .write_all(bytes)
            .and_then(|()| head.file.sync_data());
        if let Err(error) = added {
            // INVARIANT: what was not made durable must not be found later as if it had been.
            if head.file.set_len(head.len).is_err() {
                self.undone = Some(Undone {
                    day: head.day,
                    begin: head.len,
                    end: head.len.saturating_add(more),
                    chain: head.chain.clone(),
                });
            }
            return Err(error);
        }
        // A file that was deleted takes writes without complaint.
        if !files::is_at(&head.file, &head.day.file(&self.dir)) {
            return Err(io::Error::other("the log's file was taken away"));
        }
        head.len += more;
        Ok(())
    }

    /// Finds the end of the log on disk, sets aside what a crash left, and compares with what this process knows.
    fn look(&mut self, keys: &Keys) -> io::Result<Looked> {
        let mut first = Vec::new();
        let mut found = recover::find(&self.dir)?;
        if let Some(undone) = &self.undone {
            undone.take_back(&mut found)?;
            self.undone = None;
        }
        for damaged in &found.damaged {
            let (file, why) = (&damaged.file, &damaged.why);
            tracing::error!(
                file,
                why,
                "a day of the audit log is damaged; the log goes on behind it, and `mailwarden audit verify` says more"
            );
            first.push(Event::day_damaged(file, why));
        }
        let mut chain = found.chain;
        let signed = signed(&self.dir);
        match &self.known {
            Some(known) if known.is_other(keys.log(), &chain) => {
                tracing::error!("the audit log was replaced by another while it was written to");
                first.push(Event::log_replaced(known.log.as_str(), known.chain.tree()));
            }
            Some(known) if chain.seq() < known.chain.seq() => {
                missing(chain.seq(), known.chain.seq());
                first.push(Event::log_cut(chain.seq(), known.chain.seq()));
                chain = known.chain.clone();
            }
            None if chain.seq() < signed => {
                missing(chain.seq(), signed);
                first.push(Event::log_cut(chain.seq(), signed));
            }
            _ => {}
        }
        let Some(newest) = found.newest else {
            return Ok(Looked {
                head: None,
                chain,
                first,
                told: Vec::new(),
            });
        };
        let file = match newest.closed {
            Closed::Yes => File::open(&newest.path)?,
            Closed::No => OpenOptions::new()
                .read(true)
                .append(true)
                .open(&newest.path)?,
        };
        if !newest.torn.is_empty() {
            files::set_aside(&self.dir, newest.day, &newest.torn)?;
            file.set_len(newest.len)?;
        }
        let mut told = Vec::new();
        for (name, bytes) in files::unsaid(&self.dir)? {
            first.push(Event::torn_tail(&name, &bytes));
            told.push(name);
        }
        let head = Head {
            day: newest.day,
            file,
            len: newest.len,
            chain: chain.clone(),
            closed: newest.closed,
        };
        Ok(Looked {
            head: Some(head),
            chain,
            first,
            told,
        })
    }

    /// Signs what is durable, whoever wrote it.
    pub(crate) fn sign(&mut self) -> io::Result<Option<(Peaks, String)>> {
        if self.open.is_none() {
            return Ok(None);
        }
        let mut open = self.lock()?;
        let signed = self.sign_locked(&mut open);
        let unlocked = open.lock.unlock();
        if signed.is_ok() && unlocked.is_ok() {
            self.open = Some(open);
        }
        signed
    }

    fn sign_locked(&mut self, open: &mut Open) -> io::Result<Option<(Peaks, String)>> {
        if let Some(mut head) = open.head.take() {
            let before = head.len;
            if head.catch_up(&self.dir)? {
                // What another process wrote and died over may not have reached the disk.
                if head.len > before {
                    head.file.sync_data()?;
                }
                open.head = Some(head);
            }
        }
        let chain = match &open.head {
            Some(head) => head.chain.clone(),
            // Another day has begun, or there is something to mend, which the next record will do.
            None => recover::find(&self.dir)?.chain,
        };
        let Some(known) = &mut self.known else {
            return Ok(None);
        };
        // Of a log that was cut, what this process knows stays signed.
        if chain.seq() > known.chain.seq() {
            known.chain = chain;
        }
        let tree = known.chain.tree().clone();
        let note = open.keys.sign(&tree);
        Ok(Some((tree, note)))
    }

    /// Keeps a signed text beside the log, unless the one that is there covers as much.
    pub(crate) fn keep(dir: &Path, tree: &Peaks, note: &str) -> io::Result<()> {
        if signed(dir) >= tree.size() {
            return Ok(());
        }
        let whole = files::whole(dir, note.as_bytes())?;
        // Compared again and put into its place under the lock, and only that: nobody waits for the disk here.
        let lock = files::lock(dir, LOCK)?;
        lock.lock()?;
        if signed(dir) >= tree.size() {
            return Ok(());
        }
        whole
            .persist(dir.join(CHECKPOINT))
            .map_err(|error| error.error)?;
        files::sync_dir(dir)
    }

    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// The day that is written to.
    pub(crate) fn day(&self) -> Option<Day> {
        let head = self.open.as_ref()?.head.as_ref()?;
        (head.closed == Closed::No).then_some(head.day)
    }
}

/// How many records the checkpoint beside a log covers.
fn signed(dir: &Path) -> u64 {
    let note = fs::read_to_string(dir.join(CHECKPOINT)).ok();
    let there = note.zip(verifier(dir).ok());
    let opened = there.and_then(|(note, key)| Checkpoint::open(&note, &key).ok());
    opened.map_or(0, |checkpoint| checkpoint.size)
}

/// Whoever runs this has to know at once.
fn missing(found: u64, expected: u64) {
    tracing::error!(
        "the audit log holds {found} records where there were {expected}: its end was cut off; `mailwarden audit verify` says more"
    );
}

impl Open {
    fn at(dir: &Path, known: Option<&Seeds>) -> io::Result<Self> {
        files::create_private_dir(dir)?;
        Ok(Self {
            lock: files::lock(dir, LOCK)?,
            keys: Keys::of(dir, known)?,
            head: None,
        })
    }
}

impl Head {
    /// A clock that was set back does not reopen a day, and a file without a first record has yet to be opened.
    fn is_for(&self, today: Day) -> bool {
        self.closed == Closed::No && self.len > 0 && today <= self.day
    }

    /// Takes in what other processes wrote. False when the file is not the one it was, or holds what is no record.
    fn catch_up(&mut self, dir: &Path) -> io::Result<bool> {
        if !files::is_at(&self.file, &self.day.file(dir)) {
            return Ok(false);
        }
        let len = self.file.metadata()?.len();
        if len == self.len {
            return Ok(self.closed == Closed::No);
        }
        let Some(more) = len.checked_sub(self.len) else {
            return Ok(false);
        };
        let mut bytes = Vec::new();
        self.file.seek(SeekFrom::Start(self.len))?;
        (&self.file).take(more).read_to_end(&mut bytes)?;
        let Some(lines) = bytes.strip_suffix(b"\n") else {
            return Ok(false);
        };
        for text in lines.split(|byte| *byte == b'\n') {
            let followed = Line::parse(text).is_ok_and(|line| {
                if line.event == DAY_CLOSED {
                    self.closed = Closed::Yes;
                }
                self.chain.follow(&line).is_ok()
            });
            if !followed {
                return Ok(false);
            }
        }
        self.len = len;
        Ok(self.closed == Closed::No)
    }
}

#[cfg(test)]
mod tests;
