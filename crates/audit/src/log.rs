//! The log as the program holds it: entries are opened before a call is carried out, and closed before it is answered.

use std::collections::HashMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use tokio::sync::oneshot;

use crate::book::Book;
use crate::event::{Asked, Ended, Event};
use crate::keeper::Keeper;
use crate::retention::Retention;
use crate::writer::{Health, Job, Receipt, Reply, Status, Unavailable, Writer};

/// What time it is. Given from outside, so that a test can let days pass.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> Timestamp + Send + Sync>);

impl Clock {
    pub fn new(now: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    pub(crate) fn now(&self) -> Timestamp {
        (self.0)()
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clock")
    }
}

/// How a call ends that nobody is answered for, because it could not be recorded in time.
const UNRECORDED: &str = "audit_unavailable";

/// A disk that takes longer than this does not answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// The process ends no later than this after it was told to.
const PARTING: Duration = Duration::from_millis(400);

#[derive(Clone, Debug)]
pub struct Settings {
    /// None when the program has nowhere to keep a log: then nothing can be recorded, and nothing is done.
    pub dir: Option<PathBuf>,
    pub clock: Clock,
    pub retention: Retention,
    /// A program that is handed the root of the tree.
    pub root_hook: Option<PathBuf>,
    /// How often a checkpoint is signed, and the root handed on.
    pub checkpoint_every: Duration,
}

impl Settings {
    pub fn new(dir: Option<PathBuf>) -> Self {
        Self {
            dir,
            clock: Clock::new(Timestamp::now),
            retention: Retention::default(),
            root_hook: None,
            checkpoint_every: Duration::from_secs(3_600),
        }
    }
}

/// A handle; clones write to the same log.
#[derive(Clone)]
pub struct Log(Arc<Shared>);

struct Shared {
    jobs: Jobs,
    status: Arc<Status>,
    /// Calls that were begun and have not ended, so that none of them ends unsaid with the process.
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    next: u64,
    calls: HashMap<u64, (Arc<Asked>, Kind)>,
}

/// Whether a call could change something; then its intent is in the log, under this number as soon as that is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Reading,
    Changing { intent: Option<u64> },
}

/// Who takes the jobs.
#[derive(Clone)]
pub(crate) enum Jobs {
    Writer(Sender<Job>),
    #[cfg(feature = "discard")]
    Nobody,
}

impl Log {
    /// Starts to write. It never fails: a log that cannot be written says so to every call, and goes on as soon as it can.
    pub fn open(settings: Settings) -> Self {
        let (jobs, taken) = mpsc::channel();
        let (new_day, days) = mpsc::channel();
        let status = Arc::new(Status::default());
        let book = settings.dir.clone().map(Book::new);
        let writer = Writer::new(book, taken, Arc::clone(&status), &settings, new_day);
        // Without its thread nothing takes jobs, and every call is refused.
        let _ = std::thread::Builder::new()
            .name("audit".to_owned())
            .spawn(move || writer.run());
        let jobs = Jobs::Writer(jobs);
        if let Some(keeper) = Keeper::new(&settings, jobs.clone()) {
            let _ = std::thread::Builder::new()
                .name("audit-keeper".to_owned())
                .spawn(move || keeper.run(&days));
        }
        Self::over(jobs, status)
    }

    /// A log that keeps nothing, to measure what keeping costs.
    #[cfg(feature = "discard")]
    pub fn discard() -> Self {
        Self::over(Jobs::Nobody, Arc::default())
    }

    fn over(jobs: Jobs, status: Arc<Status>) -> Self {
        Self(Arc::new(Shared {
            jobs,
            status,
            open: Mutex::default(),
        }))
    }

    /// Makes an event durable.
    pub async fn append(&self, event: Event) -> Result<Receipt, Unavailable> {
        self.0.jobs.ask(|reply| Job::Append(event, reply)).await
    }

    /// Says something that nobody waits for.
    pub fn note(&self, event: Event) {
        self.0.jobs.send(Job::Note(event));
    }

    /// Opens the entry of a call that can change nothing: one record will do, when it has ended. A log that is known to be
    /// out of order is tried first.
    pub async fn reading(&self, asked: Asked) -> Result<Entry, Unavailable> {
        if let Health::Bad(_) = self.health() {
            self.0.jobs.ask(Job::Probe).await?;
        }
        Ok(self.entry(Arc::new(asked), Kind::Reading))
    }

    /// Opens the entry of a call that may change something: that it will be tried is durable when this returns.
    pub async fn changing(&self, asked: Asked) -> Result<Entry, Unavailable> {
        let event = Event::intent(&asked);
        // Open before the intent is durable: a call that is given up while it waits has its outcome said too.
        let mut entry = self.entry(Arc::new(asked), Kind::Changing { intent: None });
        match self.append(event).await {
            Ok(receipt) => {
                let intent = Some(receipt.seq);
                entry.kind = Kind::Changing { intent };
                if let Some((_, kind)) = self.0.open().calls.get_mut(&entry.id) {
                    *kind = entry.kind;
                }
                Ok(entry)
            }
            Err(why) => {
                // It may still become durable, on a disk that was only slow: then it must not look open.
                entry.give_up(UNRECORDED);
                Err(why)
            }
        }
    }

    fn entry(&self, asked: Arc<Asked>, kind: Kind) -> Entry {
        let mut open = self.0.open();
        let id = open.next;
        open.next += 1;
        open.calls.insert(id, (Arc::clone(&asked), kind));
        self.0.status.count(open.calls.len());
        drop(open);
        Entry {
            log: self.clone(),
            id,
            asked,
            kind,
            begun: Instant::now(),
        }
    }

    pub fn health(&self) -> Health {
        self.0.status.health()
    }

    /// Says the last things, among them which calls were left undone, and signs what there is.
    pub async fn close(&self, why: &'static str) {
        let left: Vec<_> = self.0.open().calls.drain().collect();
        let mut last: Vec<Event> = left
            .into_iter()
            .map(|(_, (asked, kind))| kind.ended(&asked, &Ended::of("abandoned")))
            .collect();
        last.push(Event::stop(why));
        let (done, closed) = oneshot::channel();
        self.0.jobs.send(Job::Close(last, done));
        let _ = tokio::time::timeout(PARTING, closed).await;
    }
}

impl Shared {
    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Jobs {
    pub(crate) fn send(&self, job: Job) {
        match self {
            // A writer that has ended answers nobody, and whoever waits is told so.
            Self::Writer(jobs) => {
                let _ = jobs.send(job);
            }
            #[cfg(feature = "discard")]
            Self::Nobody => crate::discard::answer(job),
        }
    }

    fn post<T>(&self, job: impl FnOnce(Reply<T>) -> Job) -> Answer<T> {
        let (reply, answer) = oneshot::channel();
        self.send(job(reply));
        answer
    }

    async fn ask<T>(&self, job: impl FnOnce(Reply<T>) -> Job) -> Result<T, Unavailable> {
        answered(self.post(job)).await
    }

    /// The same for a thread that may wait.
    pub(crate) fn ask_and_wait<T>(
        &self,
        job: impl FnOnce(Reply<T>) -> Job,
    ) -> Result<T, Unavailable> {
        let answer = self.post(job).blocking_recv();
        answer.unwrap_or_else(|_| Err(closed()))
    }
}

type Answer<T> = oneshot::Receiver<Result<T, Unavailable>>;

async fn answered<T>(answer: Answer<T>) -> Result<T, Unavailable> {
    match tokio::time::timeout(PATIENCE, answer).await {
        Ok(Ok(answer)) => answer,
        Ok(Err(_)) => Err(closed()),
        Err(_) => Err(no_answer()),
    }
}

fn no_answer() -> Unavailable {
    Unavailable("the disk does not answer".to_owned())
}

fn closed() -> Unavailable {
    Unavailable("the log is closed".to_owned())
}

impl Kind {
    fn ended(self, asked: &Asked, ended: &Ended) -> Event {
        match self {
            Self::Reading => Event::call(asked, ended),
            Self::Changing { intent } => Event::outcome(intent, asked, ended),
        }
    }
}

/// A call under way. Nothing reaches a mail store without one, and none ends unsaid: one that is dropped was cancelled.
pub struct Entry {
    log: Log,
    id: u64,
    asked: Arc<Asked>,
    kind: Kind,
    begun: Instant,
}

impl Entry {
    /// Makes the outcome durable.
    pub async fn close(self, ended: Ended) -> Result<Receipt, Unavailable> {
        let event = self.kind.ended(&self.asked, &ended);
        let answer = self.say(|jobs| jobs.post(|reply| Job::Append(event, reply)));
        match answer {
            Some(answer) => answered(answer).await.inspect_err(|why| {
                // The record may still become durable and say that all was well, but nobody was told so.
                if *why == no_answer() {
                    self.note(UNRECORDED);
                }
            }),
            None => Err(closed()),
        }
    }

    /// Ends it with a word, for which nobody waits.
    fn give_up(&self, result: &'static str) {
        self.say(|_| self.note(result));
    }

    fn note(&self, result: &'static str) {
        let ended = Ended {
            latency_ms: u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX),
            ..Ended::of(result)
        };
        self.log.note(self.kind.ended(&self.asked, &ended));
    }

    /// Takes the call off the list of open ones and says how it ended, as one step: whoever closes the log sees it
    /// before both or after both. None when it was closed before.
    fn say<T>(&self, how: impl FnOnce(&Jobs) -> T) -> Option<T> {
        let shared = &self.log.0;
        let mut open = shared.open();
        open.calls.remove(&self.id)?;
        shared.status.count(open.calls.len());
        Some(how(&shared.jobs))
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.give_up(match std::thread::panicking() {
            true => "internal",
            false => "cancelled",
        });
    }
}
