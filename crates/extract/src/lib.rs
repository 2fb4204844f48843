//! Text out of attachments whose parsers can crash, hang or bloat, read in a locked-in child of the same program.
//!
//! An attachment is never read in a process that holds anything else: [`Runner`] starts one child for each, hands it
//! the bytes and takes back text or a fault; [`worker::run`] is that child. What is text already (plain, HTML,
//! calendars) does not come here, and what comes out is not shielded yet: that is the work of `content`.

pub mod formats;
mod frame;
mod protections;
mod runner;
mod sandbox;
pub mod worker;

pub use protections::{Protection, Protections, State};
pub use runner::{Limits, Runner};
