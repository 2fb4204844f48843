//! A TCP proxy that delays, cuts, stalls and mangles, and counts what passes. Knows IMAP only in plain text, and only
//! as far as command lines and capabilities; TLS passes through as bytes.

mod connection;
mod rules;
mod splitter;
mod stats;
mod strike;
mod strip;

pub use rules::{Cut, Refusal};
pub use stats::Stats;
pub use strike::{Blow, Boundary, Strike};

use crate::ports::LOOPBACK;
use connection::Connection;
use rules::{Direction, Rules};
use stats::Counters;
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A running proxy on a loopback port. Dropping it ends its connections.
#[derive(Debug)]
pub struct FaultProxy {
    port: u16,
    shared: Arc<Shared>,
    acceptor: Option<JoinHandle<()>>,
}

/// What a proxy does from the start. Faults armed here hit every connection, or the first one only after
/// [`Builder::once`].
#[derive(Debug)]
pub struct Builder {
    target: u16,
    rules: Rules,
}

/// What all threads of one proxy look at.
#[derive(Debug)]
struct Shared {
    target: u16,
    state: Mutex<State>,
    /// Told of every change to `state`.
    changed: Condvar,
    counters: Counters,
}

#[derive(Debug)]
struct State {
    rules: Rules,
    connections: Vec<Weak<Connection>>,
    stalled: bool,
    refusing: bool,
    finished: bool,
}

impl FaultProxy {
    /// A faithful proxy to a loopback port, for counting; faults can be armed later.
    pub fn to(port: u16) -> Self {
        Self::builder(port).start()
    }

    pub fn builder(target: u16) -> Builder {
        Builder {
            target,
            rules: Rules::default(),
        }
    }

    /// Where clients connect.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Holds all traffic, both ways, until [`FaultProxy::resume`]. Nothing is lost.
    pub fn stall(&self) {
        self.change(|state| state.stalled = true);
    }

    pub fn resume(&self) {
        self.change(|state| state.stalled = false);
    }

    /// Resets every new connection at once, until [`FaultProxy::admit`].
    pub fn refuse(&self) {
        self.change(|state| state.refusing = true);
    }

    pub fn admit(&self) {
        self.change(|state| state.refusing = false);
    }

    /// Changes the one-way delay for bytes yet to come.
    pub fn delay(&self, one_way: Duration) {
        self.change(|state| state.rules.delay = one_way);
    }

    /// Cuts every live connection now; after a reset or close the clients' sockets have been told on return.
    pub fn cut_all(&self, cut: Cut) {
        let live: Vec<_> = self.shared.lock().connections.clone();
        for connection in live.iter().filter_map(Weak::upgrade) {
            connection.cut(&self.shared, cut);
        }
        if cut == Cut::Reset {
            self.wait("cut connections to go", |_| {
                live.iter().all(|c| c.strong_count() == 0)
            });
        }
    }

    /// Cuts once, after this many more bytes from server to client; the connection that carries the last one is cut.
    pub fn cut_after_down(&self, more_bytes: u64, cut: Cut) {
        self.arm(|rules| rules.cut_after_more(Direction::Down, more_bytes, cut));
    }

    /// Cuts once, after this many more bytes from client to server.
    pub fn cut_after_up(&self, more_bytes: u64, cut: Cut) {
        self.arm(|rules| rules.cut_after_more(Direction::Up, more_bytes, cut));
    }

    /// As [`Builder::cut_before`], once.
    pub fn cut_before(&self, cut: Cut, matches: impl Fn(&str) -> bool + Send + Sync + 'static) {
        self.arm(|rules| rules.cut_before(cut, Arc::new(matches)));
    }

    /// As [`Builder::cut_reply`], once.
    pub fn cut_reply(&self, cut: Cut, matches: impl Fn(&str) -> bool + Send + Sync + 'static) {
        self.arm(|rules| rules.cut_reply(cut, Arc::new(matches)));
    }

    /// Answers the first command line that matches in the server's place, which never sees it. Once.
    pub fn refuse_command(
        &self,
        refusal: Refusal,
        matches: impl Fn(&str) -> bool + Send + Sync + 'static,
    ) {
        self.change(|state| state.rules.refuse(refusal, Arc::new(matches)));
    }

    /// The client hears other words than the server's: `change` is shown each first line of a response (CRLF not), and
    /// none leaves it as it is. Until [`FaultProxy::disarm`].
    pub fn rewrite_replies(&self, change: impl Fn(&str) -> Option<String> + Send + Sync + 'static) {
        self.change(|state| state.rules.rewrite(Direction::Down, Arc::new(change)));
    }

    /// The server hears other words than the client's, as in [`FaultProxy::rewrite_replies`].
    pub fn rewrite_commands(
        &self,
        change: impl Fn(&str) -> Option<String> + Send + Sync + 'static,
    ) {
        self.change(|state| state.rules.rewrite(Direction::Up, Arc::new(change)));
    }

    /// First lines of the commands that clients sent in plain text since the last reset, in order of arrival.
    pub fn commands(&self) -> Vec<String> {
        self.shared.counters.commands()
    }

    /// Waits until the server has ended every session, and so has done whatever it was sent.
    pub fn await_idle(&self) {
        self.wait("the server to end its sessions", |stats| {
            stats.sessions == 0
        });
    }

    /// Forgets every armed cut, refusal and rewriting.
    pub fn disarm(&self) {
        self.change(|state| state.rules.disarm());
    }

    pub fn stats(&self) -> Stats {
        self.shared.counters.read()
    }

    /// Sets all counts to zero, and the peak to the number of live connections.
    pub fn reset_stats(&self) {
        self.shared.counters.reset();
    }

    /// What clients sent, all connections in order of arrival; the first megabyte.
    pub fn transcript(&self) -> String {
        self.shared.counters.transcript()
    }

    /// Waits until the counts meet `condition`; panics after ten seconds.
    pub fn await_stats(&self, what: &str, condition: impl Fn(&Stats) -> bool) {
        self.wait(what, condition);
    }

    fn wait(&self, what: &str, condition: impl Fn(&Stats) -> bool) {
        let deadline = Instant::now() + Duration::from_secs(10);
        while !condition(&self.stats()) {
            assert!(
                Instant::now() < deadline,
                "waited in vain for {what}: {:?}",
                self.stats()
            );
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Adds a fault that happens once.
    fn arm(&self, add: impl FnOnce(&mut Rules)) {
        self.change(|state| {
            add(&mut state.rules);
            state.rules.last_once();
        });
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.shared.lock());
        self.shared.changed.notify_all();
    }
}

impl Drop for FaultProxy {
    fn drop(&mut self) {
        self.change(|state| state.finished = true);
        for connection in self
            .shared
            .lock()
            .connections
            .drain(..)
            .filter_map(|c| c.upgrade())
        {
            connection.shut_down();
        }
        // Wakes the acceptor.
        let _ = TcpStream::connect((LOOPBACK, self.port));
        if let Some(acceptor) = self.acceptor.take() {
            let _ = acceptor.join();
        }
    }
}

impl Builder {
    /// One-way delay in each direction: a round trip takes twice as long, and so does connecting (the client's socket
    /// connects at once, but its first bytes, and the server's greeting, come that much later).
    #[must_use]
    pub fn delay(mut self, one_way: Duration) -> Self {
        self.rules.delay = one_way;
        self
    }

    /// Cuts a connection when exactly `bytes` have gone from server to client.
    #[must_use]
    pub fn cut_after_down(mut self, bytes: u64, cut: Cut) -> Self {
        self.rules.cut_after(Direction::Down, bytes, cut);
        self
    }

    /// Cuts a connection when exactly `bytes` have gone from client to server.
    #[must_use]
    pub fn cut_after_up(mut self, bytes: u64, cut: Cut) -> Self {
        self.rules.cut_after(Direction::Up, bytes, cut);
        self
    }

    /// Cuts when a command line (tag included, CRLF not) matches; the server never sees it.
    #[must_use]
    pub fn cut_before(
        mut self,
        cut: Cut,
        matches: impl Fn(&str) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.rules.cut_before(cut, Arc::new(matches));
        self
    }

    /// Lets a matching command run, then cuts: the client hears nothing the server said since.
    #[must_use]
    pub fn cut_reply(
        mut self,
        cut: Cut,
        matches: impl Fn(&str) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.rules.cut_reply(cut, Arc::new(matches));
        self
    }

    /// Every cut armed in this builder happens once; later connections pass.
    #[must_use]
    pub fn once(mut self) -> Self {
        self.rules.once();
        self
    }

    /// Passes the server's bytes on in pieces of this size, with a pause (below 0.1 ms) after each.
    #[must_use]
    pub fn split_writes(mut self, size: usize) -> Self {
        self.rules.split = Some(size.max(1));
        self
    }

    /// Slips `bytes` into the server's stream after its first `at` bytes, on every connection.
    #[must_use]
    pub fn garbage(mut self, at: u64, bytes: &[u8]) -> Self {
        self.rules.garbage = Some((at, bytes.to_vec()));
        self
    }

    /// Takes capabilities (separated by spaces) away for real: they are not announced, their commands get BAD and
    /// their response codes disappear. COMPRESS and STARTTLS go too, since the proxy could not look inside.
    #[must_use]
    pub fn strip(mut self, capabilities: &str) -> Self {
        self.rules.strip = Some(Arc::new(strip::Strip::new(capabilities)));
        self
    }

    pub fn start(self) -> FaultProxy {
        let listener = TcpListener::bind((LOOPBACK, 0)).expect("bind a loopback port");
        let port = listener
            .local_addr()
            .expect("address of a bound socket")
            .port();
        let shared = Arc::new(Shared {
            target: self.target,
            state: Mutex::new(State {
                rules: self.rules,
                connections: Vec::new(),
                stalled: false,
                refusing: false,
                finished: false,
            }),
            changed: Condvar::new(),
            counters: Counters::default(),
        });
        let acceptor = std::thread::spawn({
            let shared = Arc::clone(&shared);
            move || accept(&listener, &shared)
        });
        FaultProxy {
            port,
            shared,
            acceptor: Some(acceptor),
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    for client in listener.incoming() {
        let Ok(client) = client else { continue };
        let state = shared.lock();
        if state.finished {
            return;
        }
        let refusing = state.refusing;
        drop(state);
        shared.counters.accepted();
        if refusing {
            connection::reset_on_close(&client);
        } else {
            Connection::start(client, shared);
        }
    }
}
