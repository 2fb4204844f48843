//! The log as the program holds it: entries are opened before a call is carried out, and closed before it is answered.

mod entry;

use std::collections::HashMap;
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;

use entry::Kind;

pub use entry::Entry;

use crate::book::Book;
use crate::event::{Asked, Ended, Event};
use crate::keeper::Keeper;
use crate::settings::Settings;
use crate::status::{Health, Lag, Receipt, Status, Unavailable};
use crate::writer::{Job, Reply, Writer};

/// A disk that takes longer than this does not answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// The process ends no later than this after it was told to.
const PARTING: Duration = Duration::from_millis(400);

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
    state: State,
}

/// Whether calls may still begin.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum State {
    #[default]
    Serves,
    Closed,
}

/// Who takes the jobs.
#[derive(Clone)]
pub(crate) enum Jobs {
    Writer(Sender<Job>, Arc<Status>),
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
        let watched = Watched(Arc::clone(&status));
        // Without its thread nothing takes jobs, and every call is refused.
        let _ = std::thread::Builder::new()
            .name("audit".to_owned())
            .spawn(move || {
                let _watched = watched;
                writer.run();
            });
        let jobs = Jobs::Writer(jobs, Arc::clone(&status));
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
        let answer = self.0.jobs.post(|reply| Job::Append(event, reply));
        self.answered(answer).await
    }

    /// Waits for the writer, but not for ever.
    async fn answered<T>(&self, answer: Answer<T>) -> Result<T, Unavailable> {
        match tokio::time::timeout(PATIENCE, answer).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) => Err(Unavailable::Closed),
            Err(_) => {
                self.0.status.set(Health::Bad(Unavailable::NoAnswer));
                Err(Unavailable::NoAnswer)
            }
        }
    }

    /// Says something that nobody waits for.
    pub fn note(&self, event: Event) {
        self.0.jobs.send(Job::Note(event));
    }

    /// Says something that nobody is refused for, and waits until it is durable or stands among what is said later.
    pub async fn say(&self, event: Event) {
        self.note(event);
        self.settle().await;
    }

    /// Waits until all that was noted before is durable, or stands among what is written later.
    pub async fn settle(&self) {
        let (told, settled) = oneshot::channel();
        self.0.jobs.send(Job::Settle(told));
        let _ = tokio::time::timeout(PATIENCE, settled).await;
    }

    /// Opens the entry of a call that can change nothing: one record will do, when it has ended. A log that is known to be
    /// out of order is tried first.
    pub async fn reading(&self, asked: Asked) -> Result<Entry, Unavailable> {
        self.probe().await?;
        Entry::open(self, Arc::new(asked), Kind::Reading)
    }

    /// Opens the entry of a call that may change something: that it will be tried is durable when this returns.
    pub async fn changing(&self, asked: Asked) -> Result<Entry, Unavailable> {
        let event = Event::intent(&asked);
        // Open before the intent is durable: a call that is given up while it waits has its outcome said too.
        let mut entry = Entry::open(self, Arc::new(asked), Kind::Changing { intent: None })?;
        match self.append(event).await {
            Ok(receipt) => {
                entry.intended(receipt.seq);
                Ok(entry)
            }
            Err(why) => {
                // It may still become durable, on a disk that was only slow: then it must not look open.
                entry.give_up(entry::UNRECORDED);
                Err(why)
            }
        }
    }

    pub fn health(&self) -> Health {
        self.0.status.health()
    }

    /// Whether it can be written: one that is known to be out of order is tried.
    pub async fn probe(&self) -> Result<(), Unavailable> {
        match self.health() {
            Health::Bad(_) => self.answered(self.0.jobs.post(Job::Probe)).await,
            Health::Untried | Health::Good { .. } => Ok(()),
        }
    }

    /// What was said and is not yet durable.
    pub fn lag(&self) -> Lag {
        self.0.status.lag()
    }

    /// Says the last things, among them which calls were left undone, and signs what there is.
    pub async fn close(&self, why: &'static str) {
        let left: Vec<_> = {
            let mut open = self.0.open();
            open.state = State::Closed;
            open.calls.drain().collect()
        };
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

/// A writer that has ended, or that never began, lets no call begin.
struct Watched(Arc<Status>);

impl Drop for Watched {
    fn drop(&mut self) {
        self.0.set(Health::Bad(Unavailable::NoWriter));
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
            Self::Writer(jobs, status) => {
                if job.is_record() {
                    status.queued();
                }
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

    /// The same for a thread that may wait.
    pub(crate) fn ask_and_wait<T>(
        &self,
        job: impl FnOnce(Reply<T>) -> Job,
    ) -> Result<T, Unavailable> {
        let answer = self.post(job).blocking_recv();
        answer.unwrap_or_else(|_| Err(Unavailable::Closed))
    }
}

type Answer<T> = oneshot::Receiver<Result<T, Unavailable>>;
