//! The transports. `mcp`, `confirm` and what mounts them are the only modules that know the protocol library.

mod confirm;
#[cfg(feature = "conformance-fixtures")]
mod fixtures;
pub(crate) mod health;
mod http;
mod mcp;
mod stdio;
mod stopping;

use std::sync::Arc;

use gateway::Gateway;
use tokio::sync::watch;

use crate::config::{ErrorStyle, TextStyle};
use crate::watched::Watched;

pub(crate) use self::http::{Roster, Settings as HttpSettings, run as http};
pub(crate) use mcp::Who;
pub(crate) use stdio::run as stdio;

/// Who answers requests.
#[cfg(not(feature = "conformance-fixtures"))]
type Answering = mcp::Server;
#[cfg(feature = "conformance-fixtures")]
type Answering = fixtures::Fixtures;

/// What is served, to whomever.
#[derive(Clone)]
pub(crate) struct Served {
    pub gateway: Arc<Gateway>,
    pub errors: ErrorStyle,
    pub text: TextStyle,
    /// Counts how often the tools of somebody have become others.
    pub tools: watch::Receiver<u64>,
    /// What others may know of how this process stands.
    pub watched: Watched,
}
