//! The ledger in SQLite: all SQL is here, and nothing else is.
//!
//! These functions work within a transaction that others begin and commit, and know neither threads nor queues.

pub(crate) mod begin;
pub(crate) mod find;
pub(crate) mod lease;
mod open;
pub(crate) mod pace;
mod schema;
pub(crate) mod shared;
pub(crate) mod write;

pub(crate) use open::{Cut, cut_log, open};
