//! The public API over whole messages.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests stop at the first surprise"
)]

mod addresses;
mod bodies;
mod corpus;
mod faithful;
mod hostile;
mod matrix;
mod outline;
mod packing;
mod pages;
mod parts;
mod shield;
mod source;
mod strict_addresses;
mod view;
