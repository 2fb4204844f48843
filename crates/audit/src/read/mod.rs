//! Reading a log: its lines, whether nobody changed them, and what its special records state.
//!
//! A reader takes no lock and writes nothing. It works on a copy of the directory as well as beside a running server, and
//! its memory does not grow with the log.

mod check;
mod checkpoints;
mod days;
mod explain;
mod fault;
mod lines;
mod next;
mod stated;
mod torn;
mod verify;

pub use checkpoints::{Signed, newest, stored};
pub use days::{At, Days, Read};
pub use fault::{Cause, Fault, Wrong};
pub use lines::{Lines, MOST, Piece};
pub use verify::{Notice, Report, Verify, verify};

pub(crate) use stated::Stated;

/// A log that is made up, for tests and benchmarks. The program is not built with it.
#[cfg(any(test, feature = "sample"))]
pub mod sample;
#[cfg(test)]
mod tests;
