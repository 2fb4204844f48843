//! A real child, with real documents and hostile ones: what comes back, and that nothing else happens.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests stop at the first surprise"
)]

mod built;
mod child;
mod hostile;
mod page_techniques;
mod techniques;
