//! What the ledger is asked for, and what it answers to a beginning.

use bytes::Bytes;
use jiff::Timestamp;

use crate::{Asked, Ending, Known, Lease, State, StepName, StepState, Transaction, TransactionId};

/// Everything that is new with a transaction.
pub(crate) struct Beginning {
    pub(crate) id: TransactionId,
    pub(crate) asked: Asked,
    pub(crate) known: Known,
    pub(crate) first: StepName,
    pub(crate) content: Option<Bytes>,
}

/// What came of beginning a transaction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Begun {
    /// It is durable, its first step intended, and leased to this process.
    New(Lease),
    /// The same caller asked for the same under this key before; or what is to be undone is being undone by this one.
    Known(Box<Transaction>),
    /// The same caller asked for something else under this key.
    Conflict,
    /// Another transaction that is not at its end takes the same message away.
    Leaving,
}

/// One thing to write down of a transaction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Note {
    /// Everything that is known of the message by now.
    Knows(Known),
    /// The last step of this name came to this, if it was intended or its answer never came; else, and for `Intended`,
    /// it is another step.
    Step(StepName, StepState, Option<String>),
    /// It is over: the lease ends, and what recovery needed is removed. One that waits for an operator keeps it.
    /// An undoing that ends undone is no longer named by what it would have undone.
    Ends(State, Ending),
    /// It is to be tried again, then; the lease ends.
    Later(Timestamp),
    /// The caller's name for its request is free again: nothing was asked of a server under it.
    FreesKey,
}

/// Which transactions a list is of; the newest first.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Filter {
    pub caller: Option<String>,
    /// Those of any state where it is empty.
    pub states: Vec<State>,
    /// As many as there are where it is 0; never more than 10,000.
    pub limit: usize,
}

/// What is not at its end, counted.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Unsettled {
    pub open: u64,
    pub needs_operator: u64,
    /// When the first of those began that are open.
    pub oldest: Option<Timestamp>,
}
