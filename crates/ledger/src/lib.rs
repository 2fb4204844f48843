//! Durable state: every change to mail is a transaction with steps, written down before its effect and after it.
//!
//! It remembers and decides nothing: what a transaction should do next is for others to say.

mod fault;
mod filed;
mod files;
mod going;
mod id;
mod identity;
mod lease;
mod ledger;
mod owners;
mod pace;
mod pacer;
mod pails;
mod postgres;
mod reader;
mod request;
mod rows;
mod shared;
mod sqlite;
mod task;
mod transaction;
mod writer;

pub use fault::LedgerFault;
pub use going::{going, read_going};
pub use id::TransactionId;
pub use lease::{Answered, Claimed, Lease};
pub use ledger::Ledger;
pub use pace::{Draw, Drawn, Level};
pub use pails::Pails;
pub use postgres::{BadServer, Server};
pub use request::{Begun, Filter, Note, Unsettled};
pub use shared::{Lock, Record};
pub use transaction::{
    Asked, Ending, Key, Kind, Known, Mark, Place, State, StepName, StepRecord, StepState,
    Transaction,
};
