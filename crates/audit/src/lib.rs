//! The append-only, hash-chained log of every decision: one line for each, one file for each day.
//!
//! It never holds a body, a subject, a password or a token. What is said here is durable before [`Log::append`] answers;
//! what cannot be made durable is an error, and there is no way around it.

mod checkpoint;
mod day;
mod hash;
mod keys;
mod line;
pub mod proof;
pub mod read;
mod tree;

pub use checkpoint::{BadCheckpoint, Checkpoint, Verifier};
pub use day::{Day, DayFile, Form, days};
pub use hash::Hash;
pub use keys::{Digester, LogId, verifier};
pub use line::{Line, Malformed, Place};
pub use tree::Peaks;
