//! The one thread that writes: it takes all that waits, makes it durable at once, and answers everybody.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::oneshot;

use crate::book::{Book, Written};
use crate::event::Event;
use crate::{Clock, Day, Hash, LogId, Peaks, Settings, line};

/// A day that ends while nobody calls is closed no later than this.
const NAP: Duration = Duration::from_secs(30);
/// More would make those wait who came first.
const MOST_AT_ONCE: usize = 4_096;
/// When so many calls are under way, others are about to end too: they are given this long to share a sync. Nobody has to
/// wake the writer meanwhile, which costs more than all it does with a record.
const CROWD: usize = 8;
const LINGER: Duration = Duration::from_millis(1);
/// So many records wait for a disk that is out of order; of what comes after them, only the number is kept.
const MOST_UNSAID: usize = 4_096;

/// Proof that something is in the log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Receipt {
    pub log_id: LogId,
    pub seq: u64,
    pub leaf_hash: Hash,
}

/// The log cannot be written, and why, in words that name no path.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct Unavailable(pub(crate) String);

impl From<&io::Error> for Unavailable {
    fn from(error: &io::Error) -> Self {
        // Errors that carry a path keep it in their text alone.
        Self(match (error.raw_os_error(), error.kind()) {
            (Some(code), _) => io::Error::from_raw_os_error(code).to_string(),
            (None, io::ErrorKind::Other) => error.to_string(),
            (None, kind) => kind.to_string(),
        })
    }
}

pub(crate) type Reply<T> = oneshot::Sender<Result<T, Unavailable>>;

pub(crate) enum Job {
    Append(Event, Reply<Receipt>),
    /// Nobody waits for it, and it is not lost while the disk is out of order.
    Note(Event),
    /// Whether the log can be written again.
    Probe(Reply<()>),
    /// Sign what there is.
    Sign(Reply<Option<(Peaks, String)>>),
    /// The last things to say.
    Close(Vec<Event>, oneshot::Sender<()>),
}

/// How the log is doing.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Health {
    /// Nothing was written yet.
    #[default]
    Untried,
    Good {
        log_id: LogId,
        records: u64,
    },
    Bad(Unavailable),
}

/// Shared between the writer and those who ask.
#[derive(Default)]
pub(crate) struct Status {
    health: Mutex<Health>,
    /// Calls that have an entry and have not closed it.
    under_way: AtomicUsize,
}

impl Status {
    pub(crate) fn health(&self) -> Health {
        self.lock().clone()
    }

    fn set(&self, health: Health) {
        *self.lock() = health;
    }

    fn lock(&self) -> MutexGuard<'_, Health> {
        self.health.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn count(&self, under_way: usize) {
        self.under_way.store(under_way, Ordering::Relaxed);
    }

    fn is_crowded(&self) -> bool {
        self.under_way.load(Ordering::Relaxed) >= CROWD
    }
}

/// While the log cannot be written.
struct Outage {
    since: Timestamp,
    why: Unavailable,
    withheld: u64,
    turned_away: u64,
}

pub(crate) struct Writer {
    /// None when there is no directory to write to.
    book: Option<Book>,
    jobs: Receiver<Job>,
    status: Arc<Status>,
    clock: Clock,
    nap: Duration,
    /// Told when another day has begun.
    new_day: Sender<()>,
    day: Option<Day>,
    outage: Option<Outage>,
    unsaid: Vec<Arc<Event>>,
    /// Taken from the queue and not yet looked at.
    next: Option<Job>,
}

impl Writer {
    pub(crate) fn new(
        book: Option<Book>,
        jobs: Receiver<Job>,
        status: Arc<Status>,
        settings: &Settings,
        new_day: Sender<()>,
    ) -> Self {
        Self {
            book,
            jobs,
            status,
            clock: settings.clock.clone(),
            nap: NAP.min(settings.checkpoint_every),
            new_day,
            day: None,
            outage: None,
            unsaid: Vec::new(),
            next: None,
        }
    }

    /// Until it is closed, or nobody is left who could ask.
    pub(crate) fn run(mut self) {
        loop {
            let job = match self.next.take() {
                Some(job) => Ok(job),
                None => self.jobs.recv_timeout(self.nap),
            };
            match job {
                Ok(Job::Sign(reply)) => {
                    let _ = reply.send(self.sign());
                }
                Ok(Job::Close(last, reply)) => {
                    self.commit(last.into_iter().map(Job::Note).collect());
                    self.keep_checkpoint();
                    let _ = reply.send(());
                    return;
                }
                Ok(job) => self.commit(vec![job]),
                Err(RecvTimeoutError::Timeout) => self.tend(),
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    /// Ends the day when it is over, and says what waits to be said.
    fn tend(&mut self) {
        let over = self.day.is_some_and(|day| Day::of(self.clock.now()) > day);
        if over || !self.unsaid.is_empty() {
            self.commit(Vec::new());
        }
    }

    /// One that cannot be kept is made again by the next process.
    fn keep_checkpoint(&mut self) {
        if let Ok(Some((tree, note))) = self.sign()
            && let Some(book) = &self.book
        {
            let _ = Book::keep(book.dir(), &tree, &note);
        }
    }

    fn sign(&mut self) -> Result<Option<(Peaks, String)>, Unavailable> {
        match &mut self.book {
            Some(book) => book.sign().map_err(|error| Unavailable::from(&error)),
            None => Ok(None),
        }
    }

    /// Writes these jobs' records and all that are waiting behind them.
    fn commit(&mut self, jobs: Vec<Job>) {
        let mut batch = Batch::default();
        jobs.into_iter().for_each(|job| {
            batch.take(job);
        });
        if self.status.is_crowded() {
            std::thread::sleep(LINGER);
        }
        let written = match &mut self.book {
            None => Err(Unavailable(
                "there is no directory for it; set MAILWARDEN_STATE_DIR".to_owned(),
            )),
            Some(book) => {
                let (jobs, next) = (&self.jobs, &mut self.next);
                let (outage, unsaid) = (&self.outage, &self.unsaid);
                let gathered = book.write(&self.clock, || {
                    *next = batch.gather(jobs);
                    let gap = outage.iter().map(|outage| Arc::new(outage.event()));
                    let events = gap.chain(unsaid.iter().cloned());
                    events.chain(batch.events.iter().cloned()).collect()
                });
                gathered.map_err(|error| {
                    // The whole story, with its path, is for whoever runs this.
                    tracing::error!(%error, "the audit log cannot be written");
                    Unavailable::from(&error)
                })
            }
        };
        match written {
            Ok(written) => self.written(batch, &written),
            Err(why) => self.failed(batch, why),
        }
    }

    fn written(&mut self, batch: Batch, written: &Written) {
        let before = usize::from(self.outage.take().is_some()) + self.unsaid.len();
        self.unsaid.clear();
        let health = Health::Good {
            log_id: written.log.clone(),
            records: written.tree.size(),
        };
        self.status.set(health);
        let day = self.book.as_ref().and_then(Book::day);
        if day != self.day {
            self.day = day;
            let _ = self.new_day.send(());
        }
        let places = written.places.iter().skip(before);
        for (reply, (seq, hash)) in batch.replies.into_iter().zip(places) {
            let receipt = Receipt {
                log_id: written.log.clone(),
                seq: *seq,
                leaf_hash: *hash,
            };
            // Whoever no longer waits has been recorded all the same.
            let _ = reply.map(|reply| reply.send(Ok(receipt)));
        }
        for probe in batch.probes {
            let _ = probe.send(Ok(()));
        }
    }

    fn failed(&mut self, batch: Batch, why: Unavailable) {
        self.status.set(Health::Bad(why.clone()));
        let outage = self.outage.get_or_insert_with(|| Outage {
            since: self.clock.now(),
            why: why.clone(),
            withheld: 0,
            turned_away: 0,
        });
        for (reply, event) in batch.replies.into_iter().zip(batch.events) {
            // What happened is told as soon as it can be, but nobody is answered for it.
            let event = match &reply {
                Some(_) => Arc::new(Event::clone(&event).withheld()),
                None => event,
            };
            outage.withheld += u64::from(reply.is_some());
            if self.unsaid.len() < MOST_UNSAID {
                self.unsaid.push(event);
            }
            let _ = reply.map(|reply| reply.send(Err(why.clone())));
        }
        for probe in batch.probes {
            outage.turned_away += 1;
            let _ = probe.send(Err(why.clone()));
        }
    }
}

impl Outage {
    fn event(&self) -> Event {
        Event::interrupted(
            &line::stamp(self.since),
            &self.why.0,
            self.withheld,
            self.turned_away,
        )
    }
}

/// Records that become durable together, and who waits for each.
#[derive(Default)]
struct Batch {
    events: Vec<Arc<Event>>,
    replies: Vec<Option<Reply<Receipt>>>,
    probes: Vec<Reply<()>>,
}

impl Batch {
    /// Takes everything that is waiting, up to a job that is no record.
    fn gather(&mut self, jobs: &Receiver<Job>) -> Option<Job> {
        while self.events.len() < MOST_AT_ONCE
            && let Ok(job) = jobs.try_recv()
        {
            if let Some(other) = self.take(job) {
                return Some(other);
            }
        }
        None
    }

    fn take(&mut self, job: Job) -> Option<Job> {
        match job {
            Job::Append(event, reply) => {
                self.events.push(Arc::new(event));
                self.replies.push(Some(reply));
            }
            Job::Note(event) => {
                self.events.push(Arc::new(event));
                self.replies.push(None);
            }
            Job::Probe(reply) => self.probes.push(reply),
            other => return Some(other),
        }
        None
    }
}
