//! The log as the program uses it: threads, outages, days and what is done with them.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests stop at the first surprise"
)]

mod bench;
mod keeping;
mod writing;
