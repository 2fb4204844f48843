//! The transports. `mcp` and `confirm` are the only modules that know the protocol library.

mod confirm;
mod mcp;
mod stdio;

pub(crate) use stdio::{Served, run};
