//! File work off the async threads, which stops soon after nobody waits for it any more.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use mail::{Cx, Fault, FaultKind, Stage};

/// Progress is looked at this often.
const TICK: Duration = Duration::from_millis(50);

/// Asked between files: whether the answer is still wanted. Told how far a long piece of work is.
#[derive(Clone, Default)]
pub(crate) struct Stop(Arc<Wire>);

#[derive(Default)]
struct Wire {
    raised: AtomicBool,
    done: AtomicU64,
    total: AtomicU64,
}

impl Stop {
    /// Ends the work early when the future that waited for it is gone.
    pub(crate) fn check(&self) -> io::Result<()> {
        if self.0.raised.load(Ordering::Relaxed) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        Ok(())
    }

    /// As if nobody waited any more.
    #[cfg(test)]
    pub(crate) fn raise(&self) {
        self.0.raised.store(true, Ordering::Relaxed);
    }

    /// So much of an index is read.
    pub(crate) fn count(&self, done: u64, total: u64) {
        self.0.done.store(done, Ordering::Relaxed);
        self.0.total.store(total, Ordering::Relaxed);
    }

    fn report(&self, cx: &Cx, stage: Stage) {
        let (done, total) = (&self.0.done, &self.0.total);
        let (done, total) = (done.load(Ordering::Relaxed), total.load(Ordering::Relaxed));
        if total > 0 {
            cx.count(done, total);
            cx.enter(match done < total {
                true => Stage::Index,
                false => stage,
            });
        }
    }
}

/// Raises the stop when dropped.
struct StopOnDrop(Stop);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.0.raised.store(true, Ordering::Relaxed);
    }
}

/// Runs `job` on a thread for blocking work.
pub(crate) async fn off_thread<T, F>(stage: Stage, job: F) -> Result<T, Fault>
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

/// The same for work that may have an index to read first: how far it is shows in the context.
pub(crate) async fn watched<T, F>(cx: &Cx, stage: Stage, job: F) -> Result<T, Fault>
where
    T: Send + 'static,
    F: FnOnce(&Stop) -> Result<T, Fault> + Send + 'static,
{
    let (tell, told) = tokio::sync::oneshot::channel();
    let working = off_thread(stage, move |stop: &Stop| {
        let _ = tell.send(stop.clone());
        job(stop)
    });
    tokio::pin!(working);
    let watching = async {
        let Ok(stop) = told.await else { return };
        loop {
            tokio::time::sleep(TICK).await;
            stop.report(cx, stage);
        }
    };
    tokio::pin!(watching);
    tokio::select! {
        biased;
        done = &mut working => done,
        () = &mut watching => working.await,
    }
}

/// Runs `job` like [`off_thread`] and tells now and then how far it is.
pub(crate) async fn off_thread_telling<T, F>(
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
        let done = tokio::time::timeout(TICK, work.as_mut()).await;
        tell();
        if let Ok(done) = done {
            return done;
        }
    }
}

/// What the system said, without the path: that belongs to the operator.
pub(crate) fn unreadable(stage: Stage) -> impl Fn(io::Error) -> Fault {
    move |error| Fault::saying(FaultKind::Unreadable, stage, error.kind().to_string())
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

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
    async fn how_far_an_index_is_shows_while_it_is_read() {
        let cx = Cx::new();
        let (go, gone) = mpsc::channel();
        let working = watched(&cx, Stage::Search, move |stop| {
            stop.count(3, 7);
            let _ = gone.recv_timeout(Duration::from_secs(10));
            Ok(())
        });
        let looking = async {
            while cx.counted() != Some((3, 7)) {
                tokio::task::yield_now().await;
            }
            assert_eq!(cx.stage(), Stage::Index);
            let _ = go.send(());
        };
        let (done, ()) = tokio::join!(working, looking);
        done.unwrap();
    }

    #[tokio::test]
    async fn a_panic_is_a_fault_of_this_call_alone() {
        let fault = off_thread::<(), _>(Stage::Fetch, |_| panic!("a parser fell"))
            .await
            .unwrap_err();
        assert_eq!(fault.kind, FaultKind::Unreadable);
    }
}
