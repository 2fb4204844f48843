//! Running a program where there are neither process groups nor pipes that do not block: a thread for each pipe.
//!
//! What the program itself started is not ended with it; a thread whose pipe somebody else holds open waits until that one ends.

use std::ffi::OsStr;
use std::io::{self, Read, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::{Duration, Instant};

use secrecy::zeroize::Zeroizing;

use super::{Ended, Failed, Input, Stderr};
use crate::store::text::{self, Wiped};

const GLANCE: Duration = Duration::from_millis(5);

pub(super) fn run(
    program: &Path,
    words: &[&OsStr],
    input: Input<'_>,
    stderr: Stderr,
    patience: Duration,
) -> Result<Ended, Failed> {
    let deadline = Instant::now() + patience;
    let mut command = Command::new(program);
    command.args(words).stdout(Stdio::piped());
    command.stderr(match stderr {
        Stderr::Discarded => Stdio::null(),
        Stderr::Kept => Stdio::piped(),
    });
    for name in super::own_variables() {
        command.env_remove(name);
    }
    let secret = match input {
        Input::Nothing => {
            command.stdin(Stdio::null());
            None
        }
        Input::File(file) => {
            command.stdin(file);
            None
        }
        Input::Secret(secret) => {
            command.stdin(Stdio::piped());
            Some(Zeroizing::new(secret.to_vec()))
        }
    };
    let child = command.spawn();
    let child = child.map_err(|error| Failed::NotStarted(error.kind()))?;
    let mut child = Ending(child);
    let out = child.0.stdout.take().map(reader);
    let err = child.0.stderr.take().map(reader);
    let fed = child.0.stdin.take().zip(secret).map(|(mut pipe, secret)| {
        let (done, fed) = sync_channel(1);
        std::thread::spawn(move || done.send(pipe.write_all(&secret)));
        fed
    });
    let stdout = all(out, deadline)?;
    let stderr = all(err, deadline)?;
    let status = loop {
        match child.0.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if Instant::now() < deadline => std::thread::sleep(GLANCE),
            Ok(None) => return Err(Failed::TimedOut),
            Err(error) => return Err(Failed::Lost(error.kind())),
        }
    };
    let unread = match fed.map(|fed| within(&fed, deadline)).transpose()? {
        Some(Err(_)) => true,
        Some(Ok(())) | None => false,
    };
    match unread && status.success() {
        true => Err(Failed::Unread),
        false => Ok(Ended {
            status,
            stdout,
            stderr,
        }),
    }
}

/// Ended at the latest when it is no longer looked at.
struct Ending(Child);

impl Drop for Ending {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

type Drained = io::Result<Option<Wiped>>;

fn reader(pipe: impl Read + Send + 'static) -> Receiver<Drained> {
    let (done, read) = sync_channel(1);
    std::thread::spawn(move || done.send(text::all_of(pipe)));
    read
}

fn all(reader: Option<Receiver<Drained>>, deadline: Instant) -> Result<Wiped, Failed> {
    let Some(reader) = reader else {
        return Ok(Wiped::default());
    };
    match within(&reader, deadline)? {
        Ok(Some(bytes)) => Ok(bytes),
        Ok(None) => Err(Failed::TooMuch),
        Err(error) => Err(Failed::Lost(error.kind())),
    }
}

fn within<T>(waited_for: &Receiver<T>, deadline: Instant) -> Result<T, Failed> {
    let left = deadline.saturating_duration_since(Instant::now());
    waited_for.recv_timeout(left).map_err(|_| Failed::TimedOut)
}
