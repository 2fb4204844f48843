//! An account at Gmail, simulated: an IMAP server in memory, on a loopback port, whose mailboxes are labels. Sends and receives
//! no mail, and is no yardstick for speed.
//!
//! What it does follows Google's documentation; what is not in there says at its place where it comes from.
//!
//! | file | holds |
//! |---|---|
//! | `place` | mailboxes, their names, labels |
//! | `store` | messages and the rules of labels |
//! | `settings`, `builder` | what can be chosen |
//! | `session` | which command is in order when, and the news |
//! | `login`, `folders`, `fetch`, `search`, `raw`, `change` | the commands |
//! | `mime`, `envelope`, `text`, `date` | what is inside messages |
//! | `wire`, `syntax`, `numbers`, `record` | octets, words, sets, and what was said |

mod builder;
mod change;
mod date;
mod envelope;
mod fetch;
mod folders;
mod login;
mod mime;
mod numbers;
mod place;
mod raw;
mod record;
mod search;
mod session;
mod settings;
mod store;
mod syntax;
mod text;
mod wire;

pub use builder::Builder;
pub use login::{Password, Token};
pub use place::{Language, Place};
pub use record::{Fault, Heard, Tally};
pub use settings::{Deleting, Duplicates, LastLabel, Matching, Throttle};

use crate::delivery::Delivery;
use crate::ports::LOOPBACK;
use record::Record;
use rustls::ServerConfig;
use session::Session;
use std::collections::{BTreeMap, BTreeSet};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::{self, JoinHandle};
use std::time::{SystemTime, UNIX_EPOCH};
use store::{FLAGGED, SEEN, Store};
use wire::Wire;

/// Who the account belongs to unless the test says otherwise, and an application's password for it.
pub const USER: &str = "alice@gmail.com";
pub const PASSWORD: &str = "abcd efgh ijkl mnop";

/// A running account. Dropping it ends its connections.
#[derive(Debug)]
pub struct Gmail {
    port: u16,
    ca_pem: Option<String>,
    shared: Arc<Shared>,
    acceptor: Option<JoinHandle<()>>,
}

/// What all sessions of one account look at.
#[derive(Debug)]
struct Shared {
    account: Mutex<Account>,
    record: Arc<Record>,
    connections: Mutex<Connections>,
    tls: Option<Arc<ServerConfig>>,
    longest_line: usize,
}

#[derive(Debug)]
struct Account {
    user: String,
    passwords: BTreeMap<String, Password>,
    tokens: BTreeMap<String, Token>,
    store: Store,
    throttle: Throttle,
    logged_in: usize,
    most_logged_in: usize,
}

#[derive(Debug, Default)]
struct Connections {
    streams: Vec<Weak<TcpStream>>,
    sessions: Vec<JoinHandle<()>>,
    finished: bool,
}

impl Gmail {
    /// An empty account in English, in plain text.
    pub fn start() -> Self {
        Self::builder().start()
    }

    pub fn builder() -> Builder {
        Builder::default()
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// The trust anchor, when the account speaks TLS.
    pub fn ca_pem(&self) -> Option<&str> {
        self.ca_pem.as_deref()
    }

    /// What a mailbox is called over IMAP, decoded.
    pub fn name(&self, place: &Place) -> String {
        self.account().store.settings.language.name(place)
    }

    /// Puts a message under these labels and returns its X-GM-MSGID. Without labels it is archived.
    pub fn deliver(&self, labels: &[Place], raw: impl Into<Vec<u8>>) -> u64 {
        self.deliver_as(labels, &Delivery::new(raw))
    }

    /// The same with a date and flags.
    pub fn deliver_as(&self, labels: &[Place], delivery: &Delivery) -> u64 {
        let flags: BTreeSet<String> = delivery
            .flags
            .iter()
            .map(|flag| flag.imap().to_owned())
            .collect();
        let store = &mut self.account().store;
        let msgid = match labels.split_first() {
            Some((first, _)) => store.append(first, &delivery.raw, delivery.unix_time, &flags),
            None => store.append(&Place::All, &delivery.raw, delivery.unix_time, &flags),
        };
        for label in labels {
            store.label(msgid, label);
        }
        msgid
    }

    /// Adds a label behind the backs of all clients, as the web page would.
    pub fn label(&self, msgid: u64, place: &Place) {
        self.account().store.label(msgid, place);
    }

    /// Takes a label away behind the backs of all clients.
    pub fn unlabel(&self, msgid: u64, place: &Place) {
        self.account().store.remove(msgid, place);
    }

    /// Marks as read behind the backs of all clients.
    pub fn mark_read(&self, msgid: u64) {
        let store = &mut self.account().store;
        let mut flags = store.message(msgid).expect("a message").flags.clone();
        flags.insert(SEEN.to_owned());
        store.set_flags(msgid, flags);
    }

    /// Deletes for good behind the backs of all clients.
    pub fn destroy(&self, msgid: u64) {
        self.account().store.destroy(msgid);
    }

    /// All messages by X-GM-MSGID.
    pub fn messages(&self) -> Vec<u64> {
        self.account()
            .store
            .messages()
            .map(|message| message.msgid)
            .collect()
    }

    /// Empty for one that is archived, or not there.
    pub fn labels(&self, msgid: u64) -> BTreeSet<Place> {
        let account = self.account();
        account
            .store
            .message(msgid)
            .map(|message| message.labels())
            .unwrap_or_default()
    }

    /// All flags but `\Deleted`.
    pub fn flags(&self, msgid: u64) -> BTreeSet<String> {
        let account = self.account();
        account
            .store
            .message(msgid)
            .map(|message| message.flags.clone())
            .unwrap_or_default()
    }

    pub fn is_starred(&self, msgid: u64) -> bool {
        self.flags(msgid).contains(FLAGGED)
    }

    pub fn thread(&self, msgid: u64) -> Option<u64> {
        self.account()
            .store
            .message(msgid)
            .map(|message| message.thrid)
    }

    pub fn raw(&self, msgid: u64) -> Option<Vec<u8>> {
        self.account()
            .store
            .message(msgid)
            .map(|message| message.raw.to_vec())
    }

    /// INTERNALDATE, in seconds since 1970.
    pub fn arrived(&self, msgid: u64) -> Option<u64> {
        self.account()
            .store
            .message(msgid)
            .map(|message| message.unix_time)
    }

    /// The mailboxes in which it is seen, and its UID in each.
    pub fn found_in(&self, msgid: u64) -> BTreeMap<Place, u32> {
        let account = self.account();
        let places = account.store.places().into_iter();
        places
            .filter_map(|place| account.store.uid(&place, msgid).map(|uid| (place, uid)))
            .collect()
    }

    pub fn uid(&self, place: &Place, msgid: u64) -> Option<u32> {
        self.account().store.uid(place, msgid)
    }

    pub fn uidvalidity(&self, place: &Place) -> Option<u32> {
        self.account()
            .store
            .hidden_or_shown(place)
            .map(|mailbox| mailbox.uidvalidity)
    }

    /// What an access token is worth from now on.
    pub fn token(&self, token: &str, worth: Token) {
        self.account().tokens.insert(token.to_owned(), worth);
    }

    /// What a password is worth from now on. [`PASSWORD`] is good from the start.
    pub fn password(&self, password: &str, worth: Password) {
        self.account().passwords.insert(password.to_owned(), worth);
    }

    pub fn revoke_password(&self, password: &str) {
        self.account().passwords.remove(password);
    }

    pub fn throttle(&self, throttle: Throttle) {
        self.account().throttle = throttle;
    }

    /// Something befalls the `nth` command of that name from now on, on whatever connection: `UID MOVE`. Once.
    pub fn fail(&self, verb: &str, nth: usize, fault: Fault) {
        self.shared.record.arm(verb, nth, fault);
    }

    /// How many of the faults are still to come.
    pub fn armed(&self) -> usize {
        self.shared.record.armed()
    }

    /// All commands in the order in which they came.
    pub fn heard(&self) -> Vec<Heard> {
        self.shared.record.heard()
    }

    /// Their texts alone.
    pub fn commands(&self) -> Vec<String> {
        self.heard().into_iter().map(|one| one.text).collect()
    }

    /// Waits until a command that begins so has come; panics after ten seconds.
    pub fn await_command(&self, beginning: &str) -> Heard {
        self.shared.record.await_command(beginning)
    }

    pub fn tally(&self) -> Tally {
        self.shared.record.tally()
    }

    /// Counts and commands begin anew.
    pub fn reset_record(&self) {
        self.shared.record.reset();
    }

    /// The sessions that are logged in now.
    pub fn logged_in(&self) -> usize {
        self.account().logged_in
    }

    /// The most that ever were at once.
    pub fn most_logged_in(&self) -> usize {
        self.account().most_logged_in
    }

    /// Ends all connections; new ones are taken.
    pub fn hang_up(&self) {
        let connections = self.shared.connections();
        for stream in connections.streams.iter().filter_map(Weak::upgrade) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    fn account(&self) -> MutexGuard<'_, Account> {
        self.shared.account()
    }
}

impl Shared {
    fn account(&self) -> MutexGuard<'_, Account> {
        self.account.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn connections(&self) -> MutexGuard<'_, Connections> {
        self.connections
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Account {
    fn now(&self) -> u64 {
        let clock = || {
            SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .map_or(0, |since| since.as_secs())
        };
        self.store.settings.now.unwrap_or_else(clock)
    }
}

impl Drop for Gmail {
    fn drop(&mut self) {
        self.shared.connections().finished = true;
        self.hang_up();
        let sessions = std::mem::take(&mut self.shared.connections().sessions);
        // Wakes the acceptor.
        let _ = TcpStream::connect((LOOPBACK, self.port));
        for thread in self.acceptor.take().into_iter().chain(sessions) {
            let _ = thread.join();
        }
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    for (number, stream) in listener.incoming().enumerate() {
        let Ok(stream) = stream else { continue };
        let mut connections = shared.connections();
        if connections.finished {
            return;
        }
        let stream = Arc::new(stream);
        connections.streams.push(Arc::downgrade(&stream));
        shared.record.connected();
        let shared = Arc::clone(shared);
        connections.sessions.push(thread::spawn(move || {
            let record = Arc::clone(&shared.record);
            let wire = Wire::open(stream, shared.tls.as_ref(), shared.longest_line, record);
            if let Ok(wire) = wire {
                Session::new(wire, shared, number).run();
            }
        }));
    }
}
