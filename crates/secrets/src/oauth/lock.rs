//! One process at a time may use up an account's refresh token. What is done meanwhile is not decided here.

use std::io;
use std::time::Duration;

use tokio::time::Instant;

use super::kept::Files;
use super::records::{HeldLock, Reach};
use super::refresh::LONGEST;
use super::vault::off_thread;

/// Longer than the slowest refresh: whoever holds it longer hangs.
const PATIENCE: Duration = LONGEST.saturating_add(Duration::from_secs(10));
const BETWEEN: Duration = Duration::from_millis(40);
/// Where each time a server is asked.
const LONGEST_BETWEEN: Duration = Duration::from_millis(500);

/// Held until it is dropped, or its process ends in whatever way.
pub(crate) struct Held {
    _lock: HeldLock,
}

#[derive(Debug)]
pub(crate) enum NotHeld {
    /// Another process has had it all the while.
    Busy,
    Io(io::Error),
}

/// Whether there is a lock that could be held, by whoever holds it now.
pub(crate) fn try_out(files: &Files) -> io::Result<()> {
    files.try_lock().map(drop)
}

/// Asks again and again instead of waiting in the kernel: a thread that waits there can be neither cancelled nor limited.
pub(crate) async fn hold(files: &Files) -> Result<Held, NotHeld> {
    hold_within(files, PATIENCE).await
}

async fn hold_within(files: &Files, patience: Duration) -> Result<Held, NotHeld> {
    let end = Instant::now() + patience;
    let mut pause = BETWEEN;
    loop {
        if let Some(lock) = ask(files).await.map_err(NotHeld::Io)? {
            return Ok(Held { _lock: lock });
        }
        if Instant::now() >= end {
            return Err(NotHeld::Busy);
        }
        tokio::time::sleep(pause).await;
        pause = longer(pause, files.reach());
    }
}

/// A file of this machine costs nothing; a server is asked less and less often.
fn longer(pause: Duration, reach: Reach) -> Duration {
    match reach {
        Reach::Machine => pause,
        Reach::Replicas => pause.saturating_mul(2).min(LONGEST_BETWEEN),
    }
}

async fn ask(files: &Files) -> io::Result<Option<HeldLock>> {
    match files.reach() {
        Reach::Machine => files.try_lock(),
        Reach::Replicas => {
            let files = files.clone();
            let asked = off_thread(move || files.try_lock()).await;
            asked.unwrap_or_else(|_| Err(io::Error::other("the program is ending")))
        }
    }
}

/// Where replicas share it.
pub(crate) fn unreachable(error: &io::Error) -> String {
    format!(
        "what replicas know of this account's token cannot be reached ({error}); try again later"
    )
}

/// What to do about a state directory that gives no lock.
pub(crate) fn unusable(error: &io::Error) -> String {
    // QUIRK: what a network file system says whose server has no locks.
    let lockless = match cfg!(any(target_os = "linux", target_os = "android")) {
        true => 37,
        false => 77,
    };
    if cfg!(unix) && error.raw_os_error() == Some(lockless) {
        format!(
            "the state directory lies on a file system that gives no locks now ({error}), without which two processes could use up one token; put it on a disk of this machine"
        )
    } else {
        format!("the state directory cannot be used ({error}); make it writable")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn who_holds_it_for_longer_than_any_refresh_is_told_of() {
        let dir = tempfile::tempdir().unwrap();
        let files = Files::beside(dir.path(), "work", "");
        let _first = hold(&files).await.unwrap();
        let second = hold_within(&files, Duration::ZERO).await;
        assert!(matches!(second, Err(NotHeld::Busy)));
        assert!(PATIENCE > LONGEST);
    }

    #[test]
    fn a_server_is_asked_less_and_less_often_and_a_file_is_not() {
        let after = |reach| {
            let pauses = std::iter::successors(Some(BETWEEN), |last| Some(longer(*last, reach)));
            pauses
                .take(100)
                .map(|pause| pause.as_millis())
                .sum::<u128>()
        };
        assert_eq!(after(Reach::Machine), 4_000);
        assert!(after(Reach::Replicas) > 48_000);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_system_without_locks_is_not_called_read_only() {
        let words = |code| unusable(&io::Error::from_raw_os_error(code));
        assert!(words(37).contains("no locks") && !words(37).contains("writable"));
        assert!(words(13).contains("make it writable"));
    }

    #[tokio::test]
    async fn the_second_gets_it_when_the_first_is_done() {
        let dir = tempfile::tempdir().unwrap();
        let files = Files::beside(dir.path(), "work", "");
        let first = hold(&files).await.unwrap();
        let mut second = Box::pin(hold(&files));
        let early = tokio::time::timeout(BETWEEN * 2, &mut second).await;
        assert!(early.is_err());
        // Who only wants to know does not wait.
        try_out(&files).unwrap();
        drop(first);
        second.await.unwrap();
    }

    #[test]
    fn a_lock_that_nobody_could_hold_is_told_before_it_is_needed() {
        let dir = tempfile::tempdir().unwrap();
        let files = Files::beside(dir.path(), "work", "");
        let made = || std::fs::read_dir(dir.path()).unwrap().next().unwrap();
        try_out(&files).unwrap();
        let lock = made().unwrap().path();
        std::fs::remove_file(&lock).unwrap();
        std::fs::create_dir(&lock).unwrap();
        assert!(try_out(&files).is_err());
    }
}
