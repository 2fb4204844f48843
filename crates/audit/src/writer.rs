//! The one thread that writes: it takes all that waits, makes it durable at once, and answers everybody.

use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::oneshot;

use crate::book::{Book, Written};
use crate::event::{Asked, Event};
use crate::{Clock, Day, Hash, LogId, Peaks, line};

/// A day that ends while nobody calls is closed no later than this.
const NAP: Duration = Duration::from_secs(30);
/// More would make those wait who came first.
const MOST_AT_ONCE: usize = 4_096;
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
    /// What is about to be done. If nobody waits for it when it is durable, it is not.
    Intend(Arc<Asked>, Reply<Receipt>),
    /// Nobody waits for it, and it is not lost while the disk is out of order.
    Note(Event),
    /// Whether the log can be written again.
    Probe(Reply<()>),
    /// Sign what there is.
    Checkpoint(Reply<Option<(Peaks, String)>>),
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
pub(crate) struct Status(Mutex<Health>);

impl Status {
    pub(crate) fn get(&self) -> Health {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn set(&self, health: Health) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = health;
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
    /// Told when another day has begun.
    new_day: Sender<()>,
    day: Option<Day>,
    outage: Option<Outage>,
    unsaid: Vec<Event>,
    /// Taken from the queue and not yet looked at.
    next: Option<Job>,
}

impl Writer {
    pub(crate) fn new(
        book: Option<Book>,
        jobs: Receiver<Job>,
        status: Arc<Status>,
        clock: Clock,
        new_day: Sender<()>,
    ) -> Self {
        Self {
            book,
            jobs,
            status,
            clock,
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
                None => self.jobs.recv_timeout(NAP),
            };
            match job {
                Ok(Job::Checkpoint(reply)) => {
                    let _ = reply.send(self.checkpoint());
                }
                Ok(Job::Close(last, reply)) => {
                    self.commit(last.into_iter().map(Job::Note).collect());
                    let _ = self.checkpoint();
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

    fn checkpoint(&mut self) -> Result<Option<(Peaks, String)>, Unavailable> {
        match &mut self.book {
            Some(book) => book.checkpoint().map_err(|error| Unavailable::from(&error)),
            None => Ok(None),
        }
    }

    /// Writes these jobs' records, and what there is to say once their senders are told.
    fn commit(&mut self, jobs: Vec<Job>) {
        self.write(jobs);
        while self.outage.is_none() && !self.unsaid.is_empty() {
            self.write(Vec::new());
        }
    }

    /// Writes these jobs' records and all that are waiting behind them.
    fn write(&mut self, jobs: Vec<Job>) {
        let mut batch = Batch::default();
        jobs.into_iter().for_each(|job| {
            batch.take(job);
        });
        let written = match &mut self.book {
            None => Err(Unavailable(
                "there is no directory for it; set MAILWARDEN_STATE_DIR".to_owned(),
            )),
            Some(book) => {
                let (jobs, next) = (&self.jobs, &mut self.next);
                let (outage, unsaid) = (&self.outage, &self.unsaid);
                let gathered = book.write(&self.clock, || {
                    batch.gather(jobs, next);
                    let gap = outage.iter().map(Outage::event);
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
        for (waits, (seq, hash)) in batch.waits.into_iter().zip(places) {
            let receipt = Receipt {
                log_id: written.log.clone(),
                seq: *seq,
                leaf_hash: *hash,
            };
            let left = waits.answer(Ok(receipt));
            // Whoever no longer waits has been recorded all the same; an intent that nobody acts on must not look open.
            let outcome = left.map(|asked| Event::never_begun(*seq, &asked));
            self.unsaid.extend(outcome);
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
        for (waits, event) in batch.waits.into_iter().zip(batch.events) {
            // What happened is told as soon as it can be, but nobody is answered for it.
            let event = match &waits {
                Waits::Nobody => event,
                Waits::Call(_) | Waits::Intent(..) => {
                    outage.withheld += 1;
                    event.withheld()
                }
            };
            if self.unsaid.len() < MOST_UNSAID {
                self.unsaid.push(event);
            }
            waits.answer(Err(why.clone()));
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

/// Who waits for a record to be durable.
enum Waits {
    Nobody,
    Call(Reply<Receipt>),
    Intent(Arc<Asked>, Reply<Receipt>),
}

impl Waits {
    /// Tells whoever waits; what was intended, when nobody does any more.
    fn answer(self, answer: Result<Receipt, Unavailable>) -> Option<Arc<Asked>> {
        match self {
            Self::Nobody => None,
            // A call that was cancelled meanwhile has ended all the same.
            Self::Call(reply) => {
                let _ = reply.send(answer);
                None
            }
            Self::Intent(asked, reply) => reply.send(answer).is_err().then_some(asked),
        }
    }
}

/// Records that become durable together, and who waits for each.
#[derive(Default)]
struct Batch {
    events: Vec<Event>,
    waits: Vec<Waits>,
    probes: Vec<Reply<()>>,
}

impl Batch {
    /// Takes everything that is waiting, up to a job that is no record.
    fn gather(&mut self, jobs: &Receiver<Job>, next: &mut Option<Job>) {
        while next.is_none()
            && self.events.len() < MOST_AT_ONCE
            && let Ok(job) = jobs.try_recv()
        {
            *next = self.take(job);
        }
    }

    fn take(&mut self, job: Job) -> Option<Job> {
        match job {
            Job::Append(event, reply) => {
                self.events.push(event);
                self.waits.push(Waits::Call(reply));
            }
            Job::Intend(asked, reply) => {
                self.events.push(Event::intent(&asked));
                self.waits.push(Waits::Intent(asked, reply));
            }
            Job::Note(event) => {
                self.events.push(event);
                self.waits.push(Waits::Nobody);
            }
            Job::Probe(reply) => self.probes.push(reply),
            other => return Some(other),
        }
        None
    }
}
