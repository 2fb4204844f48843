//! What a program has said so far, and waiting for it to say more. Sends nothing.

use serde_json::Value;
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::io::BufRead;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

#[derive(Debug, Default)]
pub(crate) struct Mail {
    /// Responses by request, with the time they came, until waited for.
    pub(crate) answers: HashMap<u64, (Value, Instant)>,
    /// Requests in the order in which they were answered.
    pub(crate) answered: Vec<u64>,
    pub(crate) notifications: Vec<Value>,
    /// Requests of the server to us.
    pub(crate) requests: VecDeque<Value>,
    pub(crate) stderr: String,
    /// A line on stdout that is no JSON: a fault of the program.
    noise: Option<String>,
    /// The beginning of a line on stdout that never ended.
    pub(crate) torn: Option<String>,
    closed: Vec<Stream>,
}

/// What a program speaks on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stream {
    Stdout,
    Stderr,
}

/// Why something will not come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Missing {
    /// The stream that it would have come on is at its end.
    Closed(Stream),
    Noise(String),
    Late(Duration),
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed(Stream::Stdout) => f.write_str("the program closed its stdout"),
            Self::Closed(Stream::Stderr) => f.write_str("the program closed its stderr"),
            Self::Noise(noise) => write!(f, "stdout holds something that is no JSON: {noise}"),
            Self::Late(patience) => write!(f, "nothing came in {patience:?}"),
        }
    }
}

impl Mail {
    /// Whether nothing more can come from there.
    pub(crate) fn is_closed(&self, stream: Stream) -> bool {
        self.closed.contains(&stream)
    }
}

#[derive(Debug, Default)]
pub(crate) struct Inbox {
    mail: Mutex<Mail>,
    changed: Condvar,
}

impl Inbox {
    /// Takes what comes on a stream until its end.
    pub(crate) fn fill(&self, stream: Stream, mut from: impl BufRead) {
        let mut line = Vec::new();
        while from.read_until(b'\n', &mut line).is_ok_and(|n| n > 0) {
            let whole = line.pop_if(|last| *last == b'\n').is_some();
            let text = String::from_utf8_lossy(&line);
            match stream {
                Stream::Stdout if whole => self.receive(&text),
                Stream::Stdout => self.lock().torn = Some(text.into_owned()),
                Stream::Stderr => self.complain(&text),
            }
            line.clear();
        }
        self.lock().closed.push(stream);
        self.changed.notify_all();
    }

    fn receive(&self, line: &str) {
        let now = Instant::now();
        let mut mail = self.lock();
        match serde_json::from_str::<Value>(line) {
            Ok(message) if message.get("method").is_none() => match message["id"].as_u64() {
                Some(id) => {
                    mail.answered.push(id);
                    mail.answers.insert(id, (message, now));
                }
                // An answer to something that could not be parsed has no id of ours.
                None => mail.notifications.push(message),
            },
            Ok(message) if message.get("id").is_some() => mail.requests.push_back(message),
            Ok(message) => mail.notifications.push(message),
            Err(_) => mail.noise = Some(line.to_owned()),
        }
        self.changed.notify_all();
    }

    fn complain(&self, line: &str) {
        let mut mail = self.lock();
        mail.stderr.push_str(line);
        mail.stderr.push('\n');
        self.changed.notify_all();
    }

    pub(crate) fn read<T>(&self, look: impl FnOnce(&Mail) -> T) -> T {
        look(&self.lock())
    }

    /// Waits until `take` finds what it wants, which comes on `stream`; the error says why that will not happen.
    pub(crate) fn wait<T>(
        &self,
        patience: Duration,
        stream: Stream,
        mut take: impl FnMut(&mut Mail) -> Option<T>,
    ) -> Result<T, Missing> {
        let deadline = Instant::now() + patience;
        let mut mail = self.lock();
        loop {
            if let Some(found) = take(&mut mail) {
                return Ok(found);
            }
            if let Some(noise) = &mail.noise {
                return Err(Missing::Noise(noise.clone()));
            }
            if mail.is_closed(stream) {
                return Err(Missing::Closed(stream));
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(Missing::Late(patience));
            }
            let waited = self.changed.wait_timeout(mail, left);
            mail = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Gives a program that is dying the time to say why.
    pub(crate) fn settle(&self) {
        let _ = self.wait(Duration::from_millis(200), Stream::Stderr, |_| None::<()>);
    }

    fn lock(&self) -> MutexGuard<'_, Mail> {
        self.mail.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The last lines of a text.
pub(crate) fn tail(text: &str) -> String {
    let lines: Vec<_> = text.lines().collect();
    lines[lines.len().saturating_sub(30)..].join("\n")
}
