//! Work over large sets, done where it delays no other task.

use tokio::runtime::{Handle, RuntimeFlavor};

/// A set of so many ranges is gone through in about a millisecond.
const MAX_INLINE_RANGES: usize = 50_000;

/// Hands the other tasks of this thread to another one while it goes through sets of so many
/// ranges.
pub(crate) fn block_in_place_if_large<T>(ranges: usize, work: impl FnOnce() -> T) -> T {
    let flavor = Handle::try_current().map(|runtime| runtime.runtime_flavor());
    if ranges > MAX_INLINE_RANGES && matches!(flavor, Ok(RuntimeFlavor::MultiThread)) {
        tokio::task::block_in_place(work)
    } else {
        work()
    }
}
