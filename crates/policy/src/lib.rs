//! Who may see and do what, and why.
//!
//! A decision depends on its arguments alone: no I/O, no clock. Today there is one caller, the owner of the
//! configured accounts, who may read everything; what matters already is the shape: nothing reaches mail without
//! a [`Permit`], and only [`decide`] makes one.

mod ask;
mod decide;

pub use ask::Ask;
pub use decide::{Permit, Policy, Reason, decide};
