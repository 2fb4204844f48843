//! The verbs of the audit log, with the built program, on logs that are made up.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests stop at the first surprise"
)]

mod follow;
mod many;
mod python;
mod reading;
mod support;
mod verifying;
