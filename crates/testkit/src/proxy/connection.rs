//! One client and its server, joined by four threads: a reader and a writer each way. Decides no fault: the rules do.

use super::rules::{Cut, Direction, Refusal, rewritten};
use super::splitter::{Piece, Splitter, tag};
use super::{Shared, State};
use crate::ports::LOOPBACK;
use socket2::SockRef;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

const CHUNK: usize = 64 * 1024;
/// Chunks under way in one direction: enough for a gigabyte a second over any delay a test would set.
const UNDER_WAY: usize = 1024;
/// How often a writer that the peer blocks looks whether it has been cut.
const BLOCKED: Duration = Duration::from_millis(20);

#[derive(Debug)]
pub(super) struct Connection {
    client: TcpStream,
    server: OnceLock<TcpStream>,
    accepted: Instant,
    fate: OnceLock<Cut>,
    /// Counted as live.
    live: AtomicBool,
    /// The client has been sent something since it last spoke.
    heard: AtomicBool,
    /// Not plain text, or not any more: bytes pass without a look.
    opaque: AtomicBool,
    commands: Mutex<Splitter>,
    /// The command whose reply shall be lost: its tag, and what happens then.
    lost: Mutex<Option<(Vec<u8>, Cut)>>,
    /// Commands that the server never saw, by their tags, and what the client hears in their turn.
    refused: Mutex<Vec<(Vec<u8>, Refusal)>>,
    /// The client is about to be sent away: what it says from here on is not passed on.
    deaf: AtomicBool,
}

/// What becomes of bytes from the server.
struct Passing {
    bytes: Vec<u8>,
    /// Follows the bytes.
    cut: Option<Cut>,
}

/// What a reader hands to its writer, to be done at a certain time.
enum Item {
    Bytes(Vec<u8>),
    Cut(Cut),
    End,
}

type Timed = (Instant, Item);

/// Makes closing the socket a reset.
pub(super) fn reset_on_close(stream: &TcpStream) {
    let _ = SockRef::from(stream).set_linger(Some(Duration::ZERO));
}

impl Connection {
    pub(super) fn start(client: TcpStream, shared: &Arc<Shared>) {
        prepare(&client);
        let connection = Arc::new(Self {
            client,
            server: OnceLock::new(),
            accepted: Instant::now(),
            fate: OnceLock::new(),
            live: AtomicBool::new(true),
            heard: AtomicBool::new(true),
            opaque: AtomicBool::new(false),
            commands: Mutex::default(),
            lost: Mutex::new(None),
            refused: Mutex::default(),
            deaf: AtomicBool::new(false),
        });
        shared.counters.opened();
        shared.lock().connections.push(Arc::downgrade(&connection));
        let (sender, receiver) = sync_channel(UNDER_WAY);
        thread::spawn({
            let (connection, shared) = (Arc::clone(&connection), Arc::clone(shared));
            move || connection.read_client(&shared, &sender)
        });
        let shared = Arc::clone(shared);
        thread::spawn(move || connection.write_server(&shared, &receiver));
    }

    /// Ends the connection in the given way, unless it was cut before.
    pub(super) fn cut(&self, shared: &Shared, cut: Cut) {
        if self.fate.set(cut).is_err() {
            return;
        }
        match cut {
            Cut::Reset => {
                reset_on_close(&self.client);
                // Wakes the reader and tells the client nothing; the last thread to go closes the socket.
                let _ = self.client.shutdown(Shutdown::Read);
                self.gone(shared);
            }
            Cut::Close => {
                let _ = self.client.shutdown(Shutdown::Write);
                self.gone(shared);
            }
            Cut::Stall => {}
        }
        if let (Some(server), Cut::Reset | Cut::Close) = (self.server.get(), cut) {
            // It is heard out: what was sent to it takes effect before it ends the session.
            let _ = server.shutdown(Shutdown::Write);
        }
        drop(shared.lock());
        shared.changed.notify_all();
    }

    /// The proxy ends: wakes every thread, whatever it is waiting for.
    pub(super) fn shut_down(&self) {
        let _ = self.client.shutdown(Shutdown::Both);
        if let Some(server) = self.server.get() {
            let _ = server.shutdown(Shutdown::Both);
        }
    }

    fn gone(&self, shared: &Shared) {
        if self.live.swap(false, Ordering::AcqRel) {
            shared.counters.closed();
        }
    }

    fn read_client(&self, shared: &Shared, out: &SyncSender<Timed>) {
        let mut buffer = vec![0; CHUNK];
        let mut first = true;
        loop {
            let bytes = match (&self.client).read(&mut buffer) {
                Ok(n) if n > 0 => &buffer[..n],
                Err(e) if e.kind() == ErrorKind::Interrupted => continue,
                _ => break,
            };
            // A cut connection's client may talk on; nobody listens, but its leaving counts.
            if self.fate.get().is_some() {
                continue;
            }
            if std::mem::take(&mut first) && bytes[0] == TLS_HANDSHAKE {
                self.opaque.store(true, Ordering::Release);
            }
            shared
                .counters
                .up(bytes, u64::from(self.heard.swap(false, Ordering::AcqRel)));
            let items = self.look_up(shared, bytes);
            let delay = shared.lock().rules.delay;
            // As if the client had waited one round trip for its connection.
            let due = Instant::now().max(self.accepted + 2 * delay) + delay;
            for item in items {
                let _ = out.send((due, item));
            }
        }
        self.gone(shared);
        if let (Some(server), Some(_)) = (self.server.get(), self.fate.get()) {
            // A stalled client that gave up: nobody else will tell the server.
            let _ = server.shutdown(Shutdown::Write);
        }
        let delay = shared.lock().rules.delay;
        let rest = self.lock_commands().take_rest();
        let _ = out.send((Instant::now() + delay, Item::Bytes(rest)));
        let _ = out.send((Instant::now() + delay, Item::End));
    }

    /// What becomes of bytes from the client.
    fn look_up(&self, shared: &Shared, bytes: &[u8]) -> Vec<Item> {
        let mut commands = self.lock_commands();
        commands.feed(bytes);
        let mut pass = Vec::new();
        let mut cut = None;
        if !self.opaque.load(Ordering::Acquire) {
            commands.drain(|splitter, piece| match piece {
                Piece::Start(line) if cut.is_none() && !self.is_deaf() => {
                    cut = self.begin_command(shared, splitter, line, &mut pass);
                }
                Piece::More(bytes) if cut.is_none() && !self.is_deaf() => pass.extend(bytes),
                _ => {}
            });
        }
        if self.opaque.load(Ordering::Acquire) && cut.is_none() {
            pass.extend(commands.take_rest());
        }
        let cut = cut.map(Item::Cut);
        (!pass.is_empty())
            .then_some(Item::Bytes(pass))
            .into_iter()
            .chain(cut)
            .collect()
    }

    fn begin_command(
        &self,
        shared: &Shared,
        splitter: &mut Splitter,
        line: Vec<u8>,
        pass: &mut Vec<u8>,
    ) -> Option<Cut> {
        let state: &mut State = &mut shared.lock();
        let text = String::from_utf8_lossy(&line);
        let text = text.trim_end();
        shared.counters.command(text);
        if let Some(cut) = state.rules.command_cut(text) {
            return Some(cut);
        }
        let refusal = state.rules.refusal(text);
        let stripped = state.rules.strip.as_ref();
        if refusal.is_some() || stripped.is_some_and(|strip| strip.refuses(text)) {
            splitter.drop_command();
            // The server itself refuses a command of this name, in its turn and after the usual delay.
            pass.extend([tag(&line), b" XSTRIPPED\r\n"].concat());
            if let Some(refusal) = refusal {
                let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
                refused.push((tag(&line).to_vec(), refusal));
                self.deaf.store(refusal == Refusal::Bye, Ordering::Release);
            }
            return None;
        }
        if let Some(cut) = state.rules.reply_cut(text) {
            *self.lost.lock().unwrap_or_else(PoisonError::into_inner) =
                Some((tag(&line).to_vec(), cut));
        }
        let name = text.split(' ').nth(1).unwrap_or_default();
        if ["STARTTLS", "COMPRESS"]
            .iter()
            .any(|opaque| name.eq_ignore_ascii_case(opaque))
        {
            self.opaque.store(true, Ordering::Release);
        }
        pass.extend(rewritten(line, &state.rules.rewrites(Direction::Up)));
        None
    }

    fn write_server(self: Arc<Self>, shared: &Arc<Shared>, items: &Receiver<Timed>) {
        let delay = shared.lock().rules.delay;
        if !self.hold(shared, self.accepted + 3 * delay) {
            return;
        }
        let Ok(server) = TcpStream::connect((LOOPBACK, shared.target)) else {
            return self.cut(shared, Cut::Reset);
        };
        prepare(&server);
        let server = self.server.get_or_init(|| server);
        // A cut, or the proxy's end, that came too early to see the socket.
        if self.fate.get().is_some_and(|cut| *cut != Cut::Stall) || shared.lock().finished {
            let _ = server.shutdown(Shutdown::Both);
        }
        let (sender, receiver) = sync_channel(UNDER_WAY);
        shared.counters.session_begun();
        thread::spawn({
            let (connection, shared) = (Arc::clone(&self), Arc::clone(shared));
            move || {
                connection.read_server(&shared, &sender);
                drop(sender);
                let rest = connection.server.get().and_then(|s| s.try_clone().ok());
                drop(connection);
                if let Some(mut rest) = rest {
                    // Nobody listens any more, but until it ends the server may be at work.
                    let _ = std::io::copy(&mut rest, &mut std::io::sink());
                }
                shared.counters.session_ended();
            }
        });
        thread::spawn({
            let (connection, shared) = (Arc::clone(&self), Arc::clone(shared));
            move || connection.write_client(&shared, &receiver)
        });
        let mut passed = 0;
        for (due, item) in items {
            if !self.hold(shared, due) {
                return;
            }
            match item {
                Item::Bytes(bytes) => {
                    if !self.pass(shared, server, Direction::Up, &mut passed, &bytes) {
                        return;
                    }
                }
                Item::Cut(cut) => return self.cut(shared, cut),
                Item::End => {
                    let _ = server.shutdown(Shutdown::Write);
                }
            }
        }
    }

    fn read_server(&self, shared: &Shared, out: &SyncSender<Timed>) {
        let Some(mut server) = self.server.get() else {
            return;
        };
        let mut buffer = vec![0; CHUNK];
        let mut splitter = Splitter::default();
        loop {
            let bytes = match server.read(&mut buffer) {
                Ok(n) if n > 0 => &buffer[..n],
                Err(e) if e.kind() == ErrorKind::Interrupted => continue,
                _ => break,
            };
            let Some(Passing { bytes, cut }) = self.look_down(shared, &mut splitter, bytes) else {
                return;
            };
            let due = Instant::now() + shared.lock().rules.delay;
            if !bytes.is_empty() && out.send((due, Item::Bytes(bytes))).is_err() {
                return;
            }
            if let Some(cut) = cut {
                let _ = out.send((due, Item::Cut(cut)));
                return;
            }
        }
        let due = Instant::now() + shared.lock().rules.delay;
        let _ = out.send((due, Item::Bytes(splitter.take_rest())));
        let _ = out.send((due, Item::End));
    }

    /// What of the server's bytes passes on; nothing more ever if the connection was cut over them.
    fn look_down(&self, shared: &Shared, splitter: &mut Splitter, bytes: &[u8]) -> Option<Passing> {
        let (strip, rewrites) = {
            let rules = &shared.lock().rules;
            (rules.strip.clone(), rules.rewrites(Direction::Down))
        };
        let lost = self
            .lost
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        let mut pass = Vec::new();
        let (mut cut, mut leave) = (None, None);
        splitter.feed(bytes);
        if !self.opaque.load(Ordering::Acquire) {
            splitter.drain(|_, piece| match piece {
                _ if leave.is_some() => {}
                Piece::Start(line) => {
                    self.lock_commands().answered(tag(&line));
                    if let Some(refusal) = self.refusal(tag(&line)) {
                        pass.extend(refusal.line(tag(&line)));
                        leave = (refusal == Refusal::Bye).then_some(Cut::Close);
                        return;
                    }
                    let line = rewritten(line, &rewrites);
                    match (&lost, &strip) {
                        (Some((awaited, how)), _) if tag(&line) == awaited => cut = Some(*how),
                        (_, Some(strip)) => pass.extend(rewrite(line, |text| strip.rewrite(text))),
                        _ => pass.extend(line),
                    }
                }
                Piece::More(bytes) => pass.extend(bytes),
            });
        }
        if self.opaque.load(Ordering::Acquire) {
            pass.extend(splitter.take_rest());
        }
        if strip.is_none() {
            pass.extend(splitter.take_long_line());
        }
        if let Some(cut) = cut {
            self.cut(shared, cut);
            return None;
        }
        if lost.is_some() {
            pass.clear();
        }
        Some(Passing {
            bytes: pass,
            cut: leave,
        })
    }

    /// What the client hears instead of the server's answer with this tag.
    fn refusal(&self, tag: &[u8]) -> Option<Refusal> {
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        let at = refused.iter().position(|(refused, _)| refused == tag)?;
        Some(refused.remove(at).1)
    }

    fn is_deaf(&self) -> bool {
        self.deaf.load(Ordering::Acquire)
    }

    fn write_client(&self, shared: &Shared, items: &Receiver<Timed>) {
        let (split, mut garbage) = {
            let rules = &shared.lock().rules;
            (rules.split.unwrap_or(usize::MAX), rules.garbage.clone())
        };
        let (mut passed, mut from_server) = (0, 0);
        for (due, item) in items {
            if !self.hold(shared, due) {
                return;
            }
            let mut bytes = match item {
                Item::Bytes(bytes) => bytes,
                Item::Cut(cut) => return self.cut(shared, cut),
                Item::End => {
                    let _ = self.client.shutdown(Shutdown::Write);
                    return;
                }
            };
            let end = from_server + bytes.len() as u64;
            if let Some((at, extra)) = garbage.take_if(|(at, _)| *at <= end) {
                let at = usize::try_from(at - from_server).unwrap_or_default();
                bytes.splice(at..at, extra);
            }
            from_server = end;
            for piece in bytes.chunks(split) {
                if !self.pass(shared, &self.client, Direction::Down, &mut passed, piece) {
                    return;
                }
                if split != usize::MAX {
                    // Lets the client see this piece before the next.
                    thread::sleep(Duration::from_micros(1));
                }
            }
        }
    }

    /// Writes bytes, or as many as a rule allows. False when the connection is over.
    fn pass(
        &self,
        shared: &Shared,
        to: &TcpStream,
        way: Direction,
        passed: &mut u64,
        bytes: &[u8],
    ) -> bool {
        let cut = shared.lock().rules.bytes_cut(way, *passed, bytes.len());
        let allowed = cut.map_or(bytes, |(allowed, _)| &bytes[..allowed]);
        if way == Direction::Down && !allowed.is_empty() {
            // Counted before they can be answered.
            shared.counters.down(allowed.len());
            self.heard.store(true, Ordering::Release);
        }
        *passed += allowed.len() as u64;
        let written = self.write(to, allowed);
        if let Some((_, cut)) = cut {
            self.cut(shared, cut);
        }
        written && cut.is_none()
    }

    fn write(&self, mut to: &TcpStream, mut bytes: &[u8]) -> bool {
        while !bytes.is_empty() {
            if self.fate.get().is_some() {
                return false;
            }
            match to.write(bytes) {
                Ok(n) => bytes = &bytes[n..],
                Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
                Err(_) => return false,
            }
        }
        true
    }

    /// Waits until `due` and for any stall to end. False when the connection is over.
    fn hold(&self, shared: &Shared, due: Instant) -> bool {
        let mut state = shared.lock();
        loop {
            if state.finished || self.fate.get().is_some() {
                return false;
            }
            let wait = due.saturating_duration_since(Instant::now());
            if wait.is_zero() && !state.stalled {
                return true;
            }
            let wait = if wait.is_zero() {
                Duration::from_secs(1)
            } else {
                wait
            };
            let woken = shared.changed.wait_timeout(state, wait);
            state = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn lock_commands(&self) -> std::sync::MutexGuard<'_, Splitter> {
        self.commands.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The first byte of every TLS connection (RFC 8446 section 5.1).
const TLS_HANDSHAKE: u8 = 22;

fn prepare(stream: &TcpStream) {
    let _ = stream.set_nodelay(true);
    let _ = stream.set_write_timeout(Some(BLOCKED));
}

/// A line changed as text; bytes that are no UTF-8 leave it as it is.
fn rewrite(line: Vec<u8>, change: impl Fn(&str) -> String) -> Vec<u8> {
    std::str::from_utf8(&line)
        .map(|text| change(text).into_bytes())
        .unwrap_or(line)
}
