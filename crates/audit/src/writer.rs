//! The one thread that writes: it takes all that waits, makes it durable at once, and answers everybody.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use tokio::sync::oneshot;

use crate::book::{Book, Written};
use crate::event::Event;
use crate::status::{Health, Receipt, Status, Unavailable};
use crate::{Clock, Day, Peaks, Settings, line};

/// A day that ends while nobody calls is closed no later than this.
const NAP: Duration = Duration::from_secs(30);
/// More would make those wait who came first.
const MOST_AT_ONCE: usize = 4_096;
/// In a crowd, those about to end are given this long to share a sync. Nobody has to wake the writer meanwhile, which costs
/// more than all it does with a record.
const LINGER: Duration = Duration::from_millis(2);
/// So many records wait for a disk that is out of order. Calls that come after them are only counted.
const MOST_UNSAID: usize = 4_096;

pub(crate) type Reply<T> = oneshot::Sender<Result<T, Unavailable>>;

pub(crate) enum Job {
    Append(Event, Reply<Receipt>),
    /// Nobody waits for it, and it is not lost while the disk is out of order.
    Note(Event),
    /// Told when all before it is durable, or is known not to be yet.
    Settle(oneshot::Sender<()>),
    /// Whether the log can be written again.
    Probe(Reply<()>),
    /// Sign what there is.
    Sign(Reply<Option<(Peaks, String)>>),
    /// The last things to say.
    Close(Vec<Event>, oneshot::Sender<()>),
}

impl Job {
    /// Whether something is to be made durable.
    pub(crate) fn is_record(&self) -> bool {
        matches!(self, Self::Append(..) | Self::Note(_))
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
            nap: settings
                .keeping
                .as_ref()
                .map_or(NAP, |keeping| NAP.min(keeping.checkpoint_every)),
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

    /// Ends the day when it is over, and tries again what could not be written.
    fn tend(&mut self) {
        let over = self.day.is_some_and(|day| Day::of(self.clock.now()) > day);
        if over || self.outage.is_some() {
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
        let mut gathered = Instant::now();
        jobs.into_iter().for_each(|job| {
            batch.take(job);
        });
        if self.status.is_crowded() {
            std::thread::sleep(LINGER);
        }
        let written = match &mut self.book {
            None => Err(Unavailable::Nowhere),
            Some(book) => {
                let (jobs, next) = (&self.jobs, &mut self.next);
                let (outage, unsaid) = (&self.outage, &self.unsaid);
                let written = book.write(&self.clock, || {
                    *next = batch.gather(jobs);
                    gathered = Instant::now();
                    let gap = outage.iter().map(|outage| Arc::new(outage.event()));
                    let events = gap.chain(unsaid.iter().cloned());
                    events.chain(batch.events.iter().cloned()).collect()
                });
                written.map_err(|error| {
                    // The whole story, with its path, is for whoever runs this; once is enough.
                    if outage.is_none() {
                        tracing::error!(%error, "the audit log cannot be written: every call is refused until it can");
                    }
                    Unavailable::from(&error)
                })
            }
        };
        match written {
            Ok(written) => self.written(batch, &written, gathered),
            Err(why) => self.failed(batch, why),
        }
    }

    fn written(&mut self, batch: Batch, written: &Written, gathered: Instant) {
        let ended = self.outage.take().is_some();
        if ended {
            tracing::warn!("the audit log is written again");
        }
        let before = usize::from(ended) + self.unsaid.len();
        self.status
            .settled(self.unsaid.len() + batch.events.len(), gathered);
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
        settle(batch.settling);
    }

    fn failed(&mut self, batch: Batch, why: Unavailable) {
        self.status.failed();
        self.status.set(Health::Bad(why.clone()));
        let outage = self.outage.get_or_insert_with(|| Outage {
            since: self.clock.now(),
            why: why.clone(),
            withheld: 0,
            turned_away: 0,
        });
        let now = line::stamp(self.clock.now());
        for (reply, event) in batch.replies.into_iter().zip(batch.events) {
            // What happened is told as soon as it can be, but nobody is answered for it.
            let event = match &reply {
                Some(_) => Arc::new(Event::clone(&event).withheld(&now)),
                None => event,
            };
            outage.withheld += u64::from(reply.is_some());
            match self.unsaid.len() < MOST_UNSAID {
                true => self.unsaid.push(event),
                false => self.status.given_up(),
            }
            let _ = reply.map(|reply| reply.send(Err(why.clone())));
        }
        for probe in batch.probes {
            outage.turned_away += 1;
            let _ = probe.send(Err(why.clone()));
        }
        settle(batch.settling);
    }
}

fn settle(waiting: Vec<oneshot::Sender<()>>) {
    for one in waiting {
        let _ = one.send(());
    }
}

impl Outage {
    fn event(&self) -> Event {
        Event::interrupted(
            &line::stamp(self.since),
            &self.why.to_string(),
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
    settling: Vec<oneshot::Sender<()>>,
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
            Job::Settle(waits) => self.settling.push(waits),
            Job::Probe(reply) => self.probes.push(reply),
            other => return Some(other),
        }
        None
    }
}
