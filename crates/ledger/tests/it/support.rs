//! Transactions to write down, ledgers with a clock of their own, and this very program as another process.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use jiff::Timestamp;
use ledger::{Asked, Begun, Key, Kind, Known, Lease, Ledger, Server, StepName, TransactionId};
use testkit::{Postgres, postgres};

pub(crate) fn asked() -> Asked {
    Asked {
        kind: Kind::Move,
        caller: "agent".to_owned(),
        tool: "imap_move_message".to_owned(),
        request_id: "req-1".to_owned(),
        policy: "owner".to_owned(),
        source: None,
        target: None,
        source_home: None,
        target_home: None,
        horizon: None,
        marks: Vec::new(),
        key: None,
        undoes: None,
    }
}

pub(crate) fn with_key(name: &str, arguments: u8) -> Asked {
    Asked {
        key: Some(Key {
            name: name.to_owned(),
            arguments: [arguments; 32],
        }),
        ..asked()
    }
}

pub(crate) async fn begin(ledger: &Ledger, asked: Asked) -> Lease {
    let begun = ledger
        .begin(asked, Known::default(), StepName::Move, None)
        .await;
    match begun.unwrap() {
        Begun::New(lease) => lease,
        other => panic!("it is new: {other:?}"),
    }
}

/// Time that passes when it is told to.
#[derive(Clone, Default)]
pub(crate) struct Time(Arc<AtomicI64>);

impl Time {
    pub(crate) fn now(&self) -> Timestamp {
        Timestamp::from_second(1_790_000_000 + self.0.load(Ordering::SeqCst)).unwrap()
    }

    pub(crate) fn pass(&self, seconds: i64) {
        self.0.fetch_add(seconds, Ordering::SeqCst);
    }

    pub(crate) fn open(&self, path: &Path) -> Ledger {
        let time = self.clone();
        Ledger::open_with(path, move || time.now()).unwrap()
    }
}

pub(crate) struct Place {
    _dir: tempfile::TempDir,
    pub(crate) path: PathBuf,
}

pub(crate) fn place() -> Place {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("state/ledger.db");
    Place { _dir: dir, path }
}

impl Place {
    pub(crate) fn owners(&self) -> Vec<PathBuf> {
        let dir = self.path.with_file_name("ledger.db.owners");
        let files = std::fs::read_dir(dir).into_iter().flatten();
        files.map(|entry| entry.unwrap().path()).collect()
    }

    /// SQLite finds nothing to complain of.
    pub(crate) fn is_sound(&self) {
        let conn = rusqlite::Connection::open(&self.path).unwrap();
        for check in ["integrity_check", "foreign_key_check"] {
            let mut said = Vec::new();
            conn.pragma_query(None, check, |row| {
                said.push(row.get::<_, String>(0)?);
                Ok(())
            })
            .unwrap();
            assert!(said.iter().all(|word| word == "ok"), "{check}: {said:?}");
        }
    }
}

/// Where a ledger stands: in a file, or on a server.
pub(crate) enum Ground {
    File(Place),
    Server(String),
}

impl Ground {
    pub(crate) fn file() -> Self {
        Self::File(place())
    }

    pub(crate) fn on(server: &Postgres) -> Self {
        Self::Server(server.new_database())
    }

    /// As another process would have it.
    pub(crate) async fn open(&self) -> Ledger {
        match self {
            Self::File(place) => Ledger::open(&place.path).unwrap(),
            Self::Server(url) => connect(url).await,
        }
    }

    pub(crate) async fn open_at(&self, time: &Time) -> Ledger {
        match self {
            Self::File(place) => time.open(&place.path),
            Self::Server(url) => {
                let time = time.clone();
                let server = at(url).with_clock(move || time.now());
                Ledger::connect(server).await.unwrap()
            }
        }
    }

    pub(crate) fn is_sound(&self) {
        if let Self::File(place) = self {
            place.is_sound();
        }
    }
}

pub(crate) fn server() -> Postgres {
    Postgres::start_fast()
}

pub(crate) fn at(url: &str) -> Server {
    Server::parse(url)
        .unwrap()
        .with_password(&postgres::PASSWORD.into())
}

pub(crate) async fn connect(url: &str) -> Ledger {
    Ledger::connect(at(url)).await.unwrap()
}

/// The variable that tells another process of this program which ledger it works on.
const LEDGER: &str = "LEDGER_OF_ANOTHER_PROCESS";

/// In another process: the ledger it was started for.
pub(crate) fn started_for() -> Option<PathBuf> {
    std::env::var_os(LEDGER).map(PathBuf::from)
}

/// Another process, and what it says.
pub(crate) struct Other {
    pub(crate) child: Child,
    pub(crate) says: BufReader<ChildStdout>,
}

impl Other {
    /// Runs one test of this program, which does something else when it finds itself started for a ledger.
    pub(crate) fn start(test: &str, path: &Path) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([test, "--exact", "--nocapture"])
            .env(LEDGER, path)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let says = BufReader::new(child.stdout.take().unwrap());
        Self { child, says }
    }

    /// The next transaction that it says it began; none when it says no more.
    pub(crate) fn began(&mut self) -> Option<TransactionId> {
        loop {
            let mut line = String::new();
            if self.says.read_line(&mut line).unwrap() == 0 {
                return None;
            }
            if let Some(id) = TransactionId::parse(line.trim_end()) {
                return Some(id);
            }
        }
    }
}

/// As another process: says that a transaction is durable.
pub(crate) fn say(id: &TransactionId) {
    use std::io::Write as _;
    let mut out = std::io::stdout().lock();
    writeln!(out, "{id}").unwrap();
    out.flush().unwrap();
}
