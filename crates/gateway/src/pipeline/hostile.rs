//! Reading what strangers wrote: a little of it at once, much of it where a long look holds up nobody else.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use tokio::runtime::{Handle, RuntimeFlavor};

use super::Ctx;
use crate::{Code, Refusal};

/// So few octets of headers, envelopes and plain text are read in one pass, and hold up nobody for long. Other bodies are never
/// read at once: few octets of HTML and its styles can take long.
pub(crate) const LITTLE: usize = 16 << 10;

impl Ctx<'_> {
    /// Reads so many hostile octets of headers or plain text: a few at once, for sending them to another thread takes longer.
    pub(crate) async fn read<R: Send + 'static>(
        &self,
        octets: usize,
        work: impl FnOnce() -> R + Send + 'static,
    ) -> Result<R, Refusal> {
        if octets > LITTLE {
            return self.render(work).await;
        }
        self.cx.enter(mail::Stage::Render);
        at_once(work).ok_or_else(fell)
    }

    /// Reads hostile bytes where a long look at them holds up nobody else.
    pub(crate) async fn render<R: Send + 'static>(
        &self,
        work: impl FnOnce() -> R + Send + 'static,
    ) -> Result<R, Refusal> {
        self.cx.enter(mail::Stage::Render);
        let renderers = Arc::clone(&self.gateway.renderers);
        let place = renderers.acquire_owned().await.map_err(|_| fell())?;
        let working = tokio::task::spawn_blocking(move || {
            // Work that nobody waits for any more still takes its place until it is done.
            let _place = place;
            work()
        });
        working.await.map_err(|_| fell())
    }
}

/// Sets of so many ranges are gone through in about a millisecond.
const MAX_INLINE_RANGES: usize = 50_000;

/// Goes through sets of so many ranges; many of them while another thread takes over the tasks of
/// this one.
pub(crate) fn over_ranges<R>(ranges: usize, work: impl FnOnce() -> R) -> R {
    let flavor = Handle::try_current().map(|runtime| runtime.runtime_flavor());
    if ranges > MAX_INLINE_RANGES && matches!(flavor, Ok(RuntimeFlavor::MultiThread)) {
        tokio::task::block_in_place(work)
    } else {
        work()
    }
}

/// INVARIANT: who stumbles over a message fails at that message alone.
pub(crate) fn at_once<R>(work: impl FnOnce() -> R) -> Option<R> {
    std::panic::catch_unwind(AssertUnwindSafe(work)).ok()
}

fn fell() -> Refusal {
    Refusal::new(
        Code::Internal,
        "the message could not be rendered; please report this",
    )
}

/// More at a time would end none of them sooner, and keep the threads from running that serve everybody. Two at least,
/// so that one long look does not hold up all others.
pub(super) fn renderers() -> usize {
    std::thread::available_parallelism().map_or(2, |cores| cores.get().max(2))
}
