//! The ledger through its public interface: what is written is there, once, whatever else happens.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "tests stop at the first surprise"
)]

mod alike;
mod claims;
mod crash;
mod full_disk;
mod keys;
mod leases;
mod mailboxes;
mod many;
mod notes;
mod pace;
mod replaced;
mod replicas;
mod round_trip;
mod shared;
mod support;
mod table;
