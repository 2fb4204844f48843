//! The thread that keeps buckets in a file, from the first draw on: it takes all that wait and counts them in one commit.

use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use crate::LedgerFault;
use crate::pace::{Draw, Drawn, Price};
use crate::sqlite::pace::Buckets;
use crate::task;
use crate::writer::Clock;

const MOST_AT_ONCE: usize = 256;
const CLEARED_EVERY: Duration = Duration::from_secs(600);

type Answer = Result<Drawn, LedgerFault>;

struct Request {
    draws: Vec<Draw>,
    price: Price,
    reply: oneshot::Sender<Answer>,
}

pub(crate) struct Pacer {
    path: PathBuf,
    clock: Clock,
    thread: Mutex<Option<Thread>>,
}

struct Thread {
    requests: Sender<Request>,
    handle: JoinHandle<()>,
}

impl Pacer {
    pub(crate) fn new(path: PathBuf, clock: Clock) -> Self {
        Self {
            path,
            clock,
            thread: Mutex::default(),
        }
    }

    pub(crate) async fn draw(&self, draws: Vec<Draw>, price: Price) -> Answer {
        let (reply, answer) = oneshot::channel();
        self.ask(Request {
            draws,
            price,
            reply,
        })?;
        answer.await.unwrap_or_else(|_| Err(task::gone()))
    }

    fn ask(&self, request: Request) -> Result<(), LedgerFault> {
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        if thread.is_none() {
            let (requests, asked) = mpsc::channel();
            let (path, clock) = (self.path.clone(), self.clock.clone());
            let handle = thread::Builder::new()
                .name("ledger-pace".to_owned())
                .spawn(move || run(&path, &clock, &asked))?;
            *thread = Some(Thread { requests, handle });
        }
        if let Some(thread) = &*thread {
            // It fails where the thread is gone, and the reply with it.
            let _ = thread.requests.send(request);
        }
        Ok(())
    }
}

impl Drop for Pacer {
    fn drop(&mut self) {
        let thread = self
            .thread
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(Thread { requests, handle }) = thread.take() {
            drop(requests);
            let _ = handle.join();
        }
    }
}

fn run(path: &std::path::Path, clock: &Clock, requests: &Receiver<Request>) {
    let mut buckets = None;
    let mut cleared = Instant::now();
    while let Ok(first) = requests.recv() {
        let waiting = requests.try_iter().take(MOST_AT_ONCE);
        let (asks, replies): (Vec<_>, Vec<_>) = std::iter::once(first)
            .chain(waiting)
            .map(|request| ((request.draws, request.price), request.reply))
            .unzip();
        match count(&mut buckets, path, clock, &asks) {
            Ok(drawn) => {
                for (reply, drawn) in replies.into_iter().zip(drawn) {
                    let _ = reply.send(Ok(drawn));
                }
            }
            Err(fault) => {
                // Whatever is wrong with it, the next one tries with a new connection.
                buckets = None;
                for reply in replies {
                    let _ = reply.send(Err(fault.clone()));
                }
            }
        }
        if cleared.elapsed() >= CLEARED_EVERY {
            cleared = Instant::now();
            if let Some(Err(fault)) = buckets.as_ref().map(|all| all.clear(clock())) {
                tracing::warn!(%fault, "buckets that nobody uses are not cleared");
            }
        }
    }
}

fn count(
    buckets: &mut Option<Buckets>,
    path: &std::path::Path,
    clock: &Clock,
    asks: &[(Vec<Draw>, Price)],
) -> Result<Vec<Drawn>, LedgerFault> {
    let open = match buckets.take().filter(Buckets::is_shared) {
        Some(open) => open,
        None => Buckets::open(path)?,
    };
    buckets.insert(open).draw_all(asks, clock())
}
