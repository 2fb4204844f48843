//! A scripted IMAP server, for answers that no real server would give. Keeps no mailbox: the script says every word.

mod session;

pub use session::{Received, Session};

use crate::ports::LOOPBACK;
use session::ClientGone;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(10);

/// A running script. Dropping it ends all connections, and fails the test if a script found something unexpected.
#[derive(Debug)]
pub struct Fake {
    port: u16,
    record: Arc<Record>,
    acceptor: Option<JoinHandle<()>>,
}

/// What has happened so far, on all connections.
#[derive(Debug, Default)]
struct Record {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    commands: Vec<Received>,
    /// One for each connection ever made. Not kept open from here: a script's reset must close its socket.
    streams: Vec<Weak<TcpStream>>,
    scripts: Vec<JoinHandle<()>>,
    /// Scripts that ended because their client had left.
    left: usize,
    failures: Vec<String>,
    finished: bool,
}

impl Fake {
    /// Runs `script` for each connection, on a thread of its own. When the script returns, the connection is closed.
    pub fn script(script: impl Fn(&mut Session) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind((LOOPBACK, 0)).expect("bind a loopback port");
        let port = listener
            .local_addr()
            .expect("address of a bound socket")
            .port();
        let record = Arc::new(Record::default());
        let acceptor = thread::spawn({
            let record = Arc::clone(&record);
            move || accept(&listener, &record, &Arc::new(script))
        });
        Self {
            port,
            record,
            acceptor: Some(acceptor),
        }
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// All commands so far, without CRLF, in order of arrival.
    pub fn commands(&self) -> Vec<String> {
        self.record
            .lock()
            .commands
            .iter()
            .map(Received::text)
            .collect()
    }

    /// How many clients have connected.
    pub fn connections(&self) -> usize {
        self.record.lock().streams.len()
    }

    /// Waits until so many clients have left in the middle of their script; panics after ten
    /// seconds.
    pub fn await_left(&self, clients: usize) {
        let deadline = Instant::now() + PATIENCE;
        let mut state = self.record.lock();
        while state.left < clients {
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "{} clients have left", state.left);
            let woken = self.record.changed.wait_timeout(state, left);
            state = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Waits until a command holding `word` (in any case) has arrived; panics after ten seconds.
    pub fn await_command(&self, word: &str) -> Received {
        let deadline = Instant::now() + PATIENCE;
        let mut state = self.record.lock();
        loop {
            if let Some(found) = state.commands.iter().find(|command| command.mentions(word)) {
                return found.clone();
            }
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(
                !left.is_zero(),
                "no {word} came; the commands were {:?}",
                state.commands
            );
            let woken = self.record.changed.wait_timeout(state, left);
            state = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        let mut state = self.record.lock();
        state.finished = true;
        for stream in state.streams.iter().filter_map(Weak::upgrade) {
            let _ = stream.shutdown(Shutdown::Both);
        }
        let scripts = std::mem::take(&mut state.scripts);
        drop(state);
        // Wakes the acceptor.
        let _ = TcpStream::connect((LOOPBACK, self.port));
        for thread in self.acceptor.take().into_iter().chain(scripts) {
            let _ = thread.join();
        }
        let failures = self.record.lock().failures.join("\n");
        assert!(
            failures.is_empty() || thread::panicking(),
            "a script failed: {failures}"
        );
    }
}

impl Record {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn command(&self, command: Received) {
        self.lock().commands.push(command);
        self.changed.notify_all();
    }
}

fn accept<S>(listener: &TcpListener, record: &Arc<Record>, script: &Arc<S>)
where
    S: Fn(&mut Session) + Send + Sync + 'static,
{
    for stream in listener.incoming() {
        let Ok(stream) = stream else { continue };
        let mut state = record.lock();
        if state.finished {
            return;
        }
        let number = state.streams.len();
        let stream = Arc::new(stream);
        state.streams.push(Arc::downgrade(&stream));
        let (script, shared) = (Arc::clone(script), Arc::clone(record));
        state.scripts.push(thread::spawn(move || {
            run(stream, number, &shared, script.as_ref())
        }));
    }
}

fn run(stream: Arc<TcpStream>, number: usize, record: &Arc<Record>, script: impl Fn(&mut Session)) {
    let mut session = Session::new(stream, number, Arc::clone(record));
    let ended = catch_unwind(AssertUnwindSafe(|| script(&mut session)));
    if ended.as_ref().is_err_and(|panic| panic.is::<ClientGone>()) {
        record.lock().left += 1;
        record.changed.notify_all();
    } else if let Err(panic) = ended {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        record
            .lock()
            .failures
            .push(text.unwrap_or_else(|| "panicked".to_owned()));
    }
    session.finish();
}
