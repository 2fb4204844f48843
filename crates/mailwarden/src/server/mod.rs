//! The transports. `mcp` is the only module that knows the protocol library.

mod mcp;
mod stdio;

pub(crate) use stdio::{Served, run};
