//! File work off the async threads, which stops soon after nobody waits for it any more.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use mail::{Fault, FaultKind, Stage};

/// How often it is told how far work is.
const INTERVAL: Duration = Duration::from_millis(100);

/// Asked between files: whether the answer is still wanted.
#[derive(Clone, Default)]
pub(super) struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Ends the work early when the future that waited for it is gone.
    pub(super) fn check(&self) -> io::Result<()> {
        if self.0.load(Ordering::Relaxed) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        Ok(())
    }
}

/// Raises the stop when dropped.
struct StopOnDrop(Stop);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::Relaxed);
    }
}

/// Runs `job` on a thread for blocking work.
pub(super) async fn off_thread<T, F>(stage: Stage, job: F) -> Result<T, Fault>
where
    T: Send + 'static,
    F: FnOnce(&Stop) -> Result<T, Fault> + Send + 'static,
{
    let guard = StopOnDrop(Stop::default());
    let stop = guard.0.clone();
    let done = tokio::task::spawn_blocking(move || job(&stop)).await;
    drop(guard);
    done.unwrap_or_else(|_| {
        Err(Fault::saying(
            FaultKind::Unreadable,
            stage,
            "the reader stopped",
        ))
    })
}

/// Runs `job` like [`off_thread`] and tells now and then how far it is.
pub(super) async fn off_thread_telling<T, F>(
    stage: Stage,
    job: F,
    mut tell: impl FnMut(),
) -> Result<T, Fault>
where
    T: Send + 'static,
    F: FnOnce(&Stop) -> Result<T, Fault> + Send + 'static,
{
    let mut work = std::pin::pin!(off_thread(stage, job));
    loop {
        let done = tokio::time::timeout(INTERVAL, work.as_mut()).await;
        tell();
        if let Ok(done) = done {
            return done;
        }
    }
}

/// What the system said, without the path: that belongs to the operator.
pub(super) fn unreadable(stage: Stage) -> impl Fn(io::Error) -> Fault {
    move |error| Fault::saying(FaultKind::Unreadable, stage, error.kind().to_string())
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[tokio::test]
    async fn a_dropped_wait_stops_the_work() {
        let (tell, told) = mpsc::channel();
        let waiting = off_thread(Stage::Search, move |stop| {
            while stop.check().is_ok() {
                std::thread::yield_now();
            }
            let _ = tell.send("stopped");
            Ok(())
        });
        let waited = tokio::time::timeout(Duration::from_millis(20), waiting).await;
        assert!(waited.is_err());
        assert_eq!(told.recv_timeout(Duration::from_secs(10)), Ok("stopped"));
    }

    #[tokio::test]
    async fn a_panic_is_a_fault_of_this_call_alone() {
        let fault = off_thread::<(), _>(Stage::Fetch, |_| panic!("a parser fell"))
            .await
            .unwrap_err();
        assert_eq!(fault.kind, FaultKind::Unreadable);
    }
}
