//! What a log needs beside being written: days that have aged, checkpoints, and the root handed to the operator's program.
//!
//! A thread of its own, so that nobody who calls waits for it. Of all processes that share a directory, one does this.

use std::fs::{self, File};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use crate::book::Book;
use crate::event::Event;
use crate::log::Jobs;
use crate::retention::Retention;
use crate::status::Unavailable;
use crate::writer::Job;
use crate::{Day, Peaks, Settings, day, files, hook};

pub(crate) const LOCK: &str = "keeper.lock";
/// Up to how many records the root was handed on.
pub(crate) const SENT: &str = "root-sent";
const NAP: Duration = Duration::from_secs(30);
const FIRST_RETRY: Duration = Duration::from_secs(60);
const LAST_RETRY: Duration = Duration::from_secs(3_600);

pub(crate) struct Keeper {
    dir: PathBuf,
    retention: Retention,
    hook: Option<PathBuf>,
    every: Duration,
    jobs: Jobs,
    /// Held by the one who keeps.
    lock: Option<File>,
    aged: Option<Day>,
    signed: Option<Instant>,
    failed: Option<Failed>,
}

/// The root could not be handed on.
struct Failed {
    at: Instant,
    wait: Duration,
}

impl Failed {
    /// Whether it is time to try again.
    fn is_over(&self) -> bool {
        self.at.elapsed() >= self.wait
    }
}

impl Keeper {
    pub(crate) fn new(settings: &Settings, jobs: Jobs) -> Option<Self> {
        let keeping = settings.keeping.clone()?;
        Some(Self {
            dir: settings.dir.clone()?,
            retention: keeping.retention,
            hook: keeping.root_hook,
            every: keeping.checkpoint_every,
            jobs,
            lock: None,
            aged: None,
            signed: None,
            failed: None,
        })
    }

    /// Begins once the first record is written, and wakes when a day has begun, and now and then.
    pub(crate) fn run(mut self, days: &Receiver<()>) {
        let nap = NAP.min(self.every);
        let mut told = days.recv().map_err(|_| RecvTimeoutError::Disconnected);
        loop {
            match told {
                Ok(()) => self.signed = None,
                Err(RecvTimeoutError::Timeout) => {}
                // The log is closed.
                Err(RecvTimeoutError::Disconnected) => return,
            }
            // What cannot be done now is tried at the next turn.
            let _ = self.look();
            told = days.recv_timeout(nap);
        }
    }

    fn look(&mut self) -> Result<(), Unavailable> {
        if !self.is_the_one() {
            return Ok(());
        }
        // Without a directory there is nothing to keep; whoever writes next will say what is wrong with it.
        let days = day::days(&self.dir).unwrap_or_default();
        let today = days.last().map(|file| file.day);
        if self.aged != today {
            let record = |event| self.record(event);
            files::sweep(&self.dir);
            self.retention.run(&self.dir, &days, &record)?;
            self.aged = today;
        }
        let due = self.signed.is_none_or(|at| at.elapsed() >= self.every);
        let again = self.failed.as_ref().is_some_and(Failed::is_over);
        if due || again {
            self.sign()?;
        }
        Ok(())
    }

    fn is_the_one(&mut self) -> bool {
        let path = self.dir.join(LOCK);
        if self
            .lock
            .as_ref()
            .is_some_and(|lock| files::is_at(lock, &path))
        {
            return true;
        }
        let opened = files::lock(&self.dir, LOCK);
        self.lock = opened.ok().filter(|lock| lock.try_lock().is_ok());
        self.lock.is_some()
    }

    /// Signs a checkpoint, and hands the root on where it has grown.
    fn sign(&mut self) -> Result<(), Unavailable> {
        let Some((tree, note)) = self.jobs.ask_and_wait(Job::Sign)? else {
            return Ok(());
        };
        // Written here, where nobody waits for the disk.
        Book::keep(&self.dir, &tree, &note).map_err(|error| Unavailable::from(&error))?;
        self.signed = Some(Instant::now());
        let Some(hook) = self.hook.clone() else {
            return Ok(());
        };
        // That it was handed on is a record too, and no reason to do it again.
        let has = self.sent().unwrap_or_default().saturating_add(1);
        let waits = self.failed.as_ref().is_some_and(|failed| !failed.is_over());
        if waits || tree.size() <= has {
            return Ok(());
        }
        match hook::run(&hook, &tree, &note) {
            Ok(()) => {
                self.failed = None;
                self.keep_sent(&tree);
                self.record(Event::root_sent(tree.size(), &tree.root()))
            }
            Err(why) => {
                tracing::warn!(why, "the audit log's root could not be handed on");
                let wait = match &self.failed {
                    Some(failed) => failed.wait.saturating_mul(2).min(LAST_RETRY),
                    None => FIRST_RETRY.min(self.every),
                };
                let at = Instant::now();
                self.failed = Some(Failed { at, wait });
                self.record(Event::root_failed(tree.size(), &why))
            }
        }
    }

    fn sent(&self) -> Option<u64> {
        fs::read_to_string(self.dir.join(SENT))
            .ok()?
            .trim()
            .parse()
            .ok()
    }

    /// One that cannot be kept is handed on once more: that does no harm.
    fn keep_sent(&self, tree: &Peaks) {
        let text = format!("{}\n", tree.size());
        let _ = files::replace(&self.dir, &self.dir.join(SENT), text.as_bytes());
    }

    fn record(&self, event: Event) -> Result<(), Unavailable> {
        self.jobs
            .ask_and_wait(|reply| Job::Append(event, reply))
            .map(|_| ())
    }
}
