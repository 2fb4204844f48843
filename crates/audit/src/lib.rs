//! The append-only, hash-chained log of every decision: one line for each, one file for each day.
//!
//! It never holds a body, a subject, a password or a token. What is said here is durable before [`Log::append`] answers;
//! what cannot be made durable is an error, and there is no way around it.

mod book;
mod chain;
mod checkpoint;
mod day;
#[cfg(feature = "discard")]
mod discard;
mod event;
mod fields;
mod files;
mod hash;
mod hook;
mod keeper;
mod keys;
mod line;
mod log;
pub mod proof;
pub mod read;
mod recover;
mod retention;
mod settings;
mod status;
mod summary;
mod tree;
mod writer;

pub use checkpoint::{BadCheckpoint, Checkpoint, Verifier};
pub use day::{Day, DayFile, Form, days};
pub use event::{
    Asked, Decision, Ended, Event, NO_TOOL, SERVICE, SERVICE_REASON, Seen, TransactionStep,
    UNKNOWN_CALLER,
};
pub use hash::Hash;
pub use hook::end_hooks;
pub use keys::{Digester, LogId, verifier};
pub use line::{Line, Malformed, Place};
pub use log::{Entry, Log};
pub use retention::Retention;
pub use settings::{Clock, Keeping, Settings};
pub use status::{Health, Lag, Receipt, Unavailable};
pub use summary::Summary;
pub use tree::Peaks;
