//! Durable state: every change to mail is a transaction with steps, written down before its effect and after it.
//!
//! It remembers and decides nothing: what a transaction should do next is for others to say.

mod id;
mod ledger;
mod transaction;

pub use id::TransactionId;
pub use ledger::{Begun, Filter, Ledger, LedgerFault, Note};
pub use transaction::{
    Asked, Ending, Key, Kind, Known, Mark, Place, State, StepName, StepRecord, StepState,
    Transaction,
};
