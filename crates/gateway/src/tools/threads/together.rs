//! Several things at once, and how long the slow ones are waited for.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

/// All of them, in their order, however long it takes.
pub(in crate::tools) async fn all<F: Future>(futures: impl Iterator<Item = F>) -> Vec<F::Output> {
    let came = gathered(futures, |_| false, Duration::MAX).await;
    came.into_iter().flatten().collect()
}

/// All of them, in their order. Once one is `enough`, the others have so much time left; those that did not come by then
/// are dropped, and none stands in their place.
pub(super) async fn gathered<F: Future>(
    futures: impl Iterator<Item = F>,
    enough: impl Fn(&F::Output) -> bool,
    patience: Duration,
) -> Vec<Option<F::Output>> {
    let mut waiting: Vec<_> = futures.map(|future| Some(Box::pin(future))).collect();
    let mut came: Vec<Option<F::Output>> = Vec::new();
    came.resize_with(waiting.len(), || None);
    let mut time_up = pin!(None);
    poll_fn(|task| {
        for (slot, out) in waiting.iter_mut().zip(&mut came) {
            let Some(future) = slot else {
                continue;
            };
            if let Poll::Ready(value) = future.as_mut().poll(task) {
                if time_up.is_none() && enough(&value) {
                    time_up.set(Some(tokio::time::sleep(patience)));
                }
                (*slot, *out) = (None, Some(value));
            }
        }
        if waiting.iter().all(Option::is_none) {
            return Poll::Ready(());
        }
        match time_up.as_mut().as_pin_mut() {
            Some(time_up) => time_up.poll(task),
            None => Poll::Pending,
        }
    })
    .await;
    came
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn after(seconds: u64) -> u64 {
        tokio::time::sleep(Duration::from_secs(seconds)).await;
        seconds
    }

    #[tokio::test(start_paused = true)]
    async fn the_slow_are_waited_for_until_there_is_enough() {
        for (delays, least, want) in [
            // Nobody is enough: all are waited for.
            (&[1, 900][..], 1_000, &[Some(1), Some(900)][..]),
            // What comes soon after is still taken, in its place.
            (&[4, 2], 0, &[Some(4), Some(2)]),
            (&[900, 2, 4], 0, &[None, Some(2), Some(4)]),
            (&[900, 2], 3, &[Some(900), Some(2)]),
            (&[], 0, &[]),
        ] {
            let futures = delays.iter().map(|seconds| after(*seconds));
            let enough = |came: &u64| *came >= least;
            let found = gathered(futures, enough, Duration::from_secs(3)).await;
            assert_eq!(found, want, "{delays:?}");
        }
    }
}
