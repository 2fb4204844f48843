//! What the tests share: a log in a directory of its own, a clock that obeys, and its records as they are on disk.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use audit::{Asked, Clock, DayFile, Decision, Form, Hash, Keeping, Line, Log, Settings, Summary};
use jiff::Timestamp;
use serde_json::Value;

/// A clock that stands still until it is set.
#[derive(Clone)]
pub(crate) struct Hands(Arc<Mutex<Timestamp>>);

impl Hands {
    pub(crate) fn at(now: &str) -> Self {
        Self(Arc::new(Mutex::new(now.parse().unwrap())))
    }

    pub(crate) fn set(&self, now: &str) {
        *self.0.lock().unwrap() = now.parse().unwrap();
    }

    pub(crate) fn clock(&self) -> Clock {
        let hands = self.clone();
        Clock::new(move || *hands.0.lock().unwrap())
    }
}

pub(crate) struct Bench {
    pub(crate) tmp: tempfile::TempDir,
    pub(crate) hands: Hands,
    pub(crate) settings: Settings,
}

impl Bench {
    pub(crate) fn new() -> Self {
        let tmp = tempfile::tempdir().unwrap();
        let hands = Hands::at("2026-11-15T12:00:00Z");
        let settings = Settings {
            clock: hands.clock(),
            keeping: Some(Keeping {
                // Whoever looks now and then looks often here.
                checkpoint_every: Duration::from_millis(5),
                ..Keeping::default()
            }),
            ..Settings::new(Some(tmp.path().join("audit")))
        };
        Self {
            tmp,
            hands,
            settings,
        }
    }

    pub(crate) fn keeping(&mut self) -> &mut Keeping {
        self.settings.keeping.as_mut().unwrap()
    }

    pub(crate) fn log(&self) -> Log {
        Log::open(self.settings.clone())
    }

    pub(crate) fn dir(&self) -> PathBuf {
        self.tmp.path().join("audit")
    }

    pub(crate) fn records(&self) -> Vec<Value> {
        records(&self.dir())
    }

    pub(crate) fn named(&self, event: &str) -> Vec<Value> {
        let mut records = self.records();
        records.retain(|record| record["event"] == event);
        records
    }
}

pub(crate) fn asked(request: &str) -> Asked {
    Asked {
        caller_id: "owner".to_owned(),
        caller_addr: "stdio:1".to_owned(),
        request_id: request.to_owned(),
        tool: "imap_get_message".to_owned(),
        arguments: Summary::new().digest_if("query", Some("salary".to_owned())),
        decision: Decision::Allow,
        reason: "folder_default_applied",
        level: Some(mail::Level::Body),
        rule: None,
        missing_capability: None,
    }
}

/// All records, after checking that they follow each other.
pub(crate) fn records(dir: &Path) -> Vec<Value> {
    // Days are compressed and deleted meanwhile: then it is read again.
    let days = until("a whole look", || whole(dir).ok());
    let mut last: Option<(u64, Hash)> = None;
    let mut records = Vec::new();
    for text in days {
        // A line that is being written is not there yet.
        let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
        for line in whole.lines() {
            let read = Line::parse(line.as_bytes()).unwrap();
            assert!(read.is_whole(), "{line}");
            if let Some((seq, hash)) = last {
                assert_eq!((read.seq, read.prev), (seq + 1, hash), "{line}");
            }
            last = Some((read.seq, read.hash));
            records.push(serde_json::from_str(line).unwrap());
        }
    }
    records
}

fn whole(dir: &Path) -> std::io::Result<Vec<String>> {
    let days = audit::days(dir).unwrap_or_default();
    let text = |file: DayFile| match file.form {
        Form::Plain => fs::read_to_string(&file.path),
        Form::Gzip => {
            let mut text = String::new();
            let packed = fs::File::open(&file.path)?;
            flate2::read::GzDecoder::new(packed).read_to_string(&mut text)?;
            Ok(text)
        }
    };
    days.into_iter().map(text).collect()
}

/// Waits for what another thread is about to do.
pub(crate) fn until<T>(what: &str, mut there: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = there() {
            return found;
        }
        assert!(begun.elapsed() < Duration::from_secs(30), "never: {what}");
        std::thread::yield_now();
    }
}
