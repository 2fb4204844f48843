//! What a program has said so far, and waiting for it to say more. Sends nothing.

use serde_json::Value;
use std::collections::{HashMap, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

#[derive(Debug, Default)]
pub(super) struct Mail {
    /// Responses by request, with the time they came, until waited for.
    pub(super) answers: HashMap<u64, (Value, Instant)>,
    pub(super) notifications: Vec<Value>,
    /// Requests of the server to us.
    pub(super) requests: VecDeque<Value>,
    pub(super) stderr: String,
    /// A line on stdout that is no JSON: a fault of the program.
    noise: Option<String>,
    closed: bool,
}

#[derive(Debug, Default)]
pub(super) struct Inbox {
    mail: Mutex<Mail>,
    changed: Condvar,
}

impl Inbox {
    pub(super) fn receive(&self, line: &str) {
        let now = Instant::now();
        let mut mail = self.lock();
        match serde_json::from_str::<Value>(line) {
            Ok(message) if message.get("method").is_none() => match message["id"].as_u64() {
                Some(id) => drop(mail.answers.insert(id, (message, now))),
                // An answer to something that could not be parsed has no id of ours.
                None => mail.notifications.push(message),
            },
            Ok(message) if message.get("id").is_some() => mail.requests.push_back(message),
            Ok(message) => mail.notifications.push(message),
            Err(_) => mail.noise = Some(line.to_owned()),
        }
        self.changed.notify_all();
    }

    pub(super) fn complain(&self, line: &str) {
        let mut mail = self.lock();
        mail.stderr.push_str(line);
        mail.stderr.push('\n');
        self.changed.notify_all();
    }

    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_all();
    }

    pub(super) fn read<T>(&self, look: impl FnOnce(&Mail) -> T) -> T {
        look(&self.lock())
    }

    /// Waits until `take` finds what it wants; the error says why that will not happen.
    pub(super) fn wait<T>(
        &self,
        patience: Duration,
        mut take: impl FnMut(&mut Mail) -> Option<T>,
    ) -> Result<T, String> {
        let deadline = Instant::now() + patience;
        let mut mail = self.lock();
        loop {
            if let Some(found) = take(&mut mail) {
                return Ok(found);
            }
            if let Some(noise) = &mail.noise {
                return Err(format!("stdout holds something that is no JSON: {noise}"));
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(format!("nothing came in {patience:?}"));
            }
            // After the end of stdout only stderr may still come, and that soon.
            if mail.closed && left > Duration::from_secs(1) {
                let (again, timeout) = self.pause(mail, Duration::from_millis(200));
                mail = again;
                if timeout && take(&mut mail).is_none() {
                    return Err("the program closed its stdout".to_owned());
                }
                continue;
            }
            mail = self.pause(mail, left).0;
        }
    }

    fn pause<'a>(
        &self,
        mail: MutexGuard<'a, Mail>,
        time: Duration,
    ) -> (MutexGuard<'a, Mail>, bool) {
        let (mail, result) = self
            .changed
            .wait_timeout(mail, time)
            .unwrap_or_else(PoisonError::into_inner);
        (mail, result.timed_out())
    }

    fn lock(&self) -> MutexGuard<'_, Mail> {
        self.mail.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The last lines of a text.
pub(super) fn tail(text: &str) -> String {
    let lines: Vec<_> = text.lines().collect();
    lines[lines.len().saturating_sub(30)..].join("\n")
}
