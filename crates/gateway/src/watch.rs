//! Who is told of every call when it is over, to count it. What is told names nobody and nothing of anybody's.

use std::time::Duration;

use audit::Decision;
use mail::TraceParent;

use crate::tools::ALL;

/// Told once of every call, however it ended. It must not wait: the caller's answer does.
pub trait Watch: Send + Sync {
    fn ended(&self, call: &Ended<'_>);
}

/// A call that is over.
///
/// INVARIANT: every word of it is one of ours. The request's name and the trace are for traces alone, never for what is
/// counted by.
#[derive(Clone, Debug)]
pub struct Ended<'a> {
    /// A tool that there is, or [`OTHER`].
    pub tool: &'static str,
    pub decision: Decision,
    /// One of the reasons that the contract lists, or the code of a refusal.
    pub reason: &'static str,
    /// `ok`, `partial`, `failed`, `cancelled`, `asked`, or the code of a refusal.
    pub result: &'static str,
    pub took: Duration,
    pub round_trips: u32,
    pub cache: Cache,
    pub request_id: &'a str,
    /// The span of the caller's that this call belongs to.
    pub parent: Option<TraceParent>,
}

/// Whether part of an answer came from what an earlier call had fetched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cache {
    Hit,
    Miss,
}

/// What a call is counted by that names no tool of ours.
pub const OTHER: &str = "other";

impl Ended<'_> {
    /// Whether it was turned away because there were too many.
    pub fn is_throttled(&self) -> bool {
        ["rate_limited", "overloaded"].contains(&self.result)
    }
}

/// The tool of ours that has this name.
pub(crate) fn known(name: &str) -> &'static str {
    let mut tools = ALL.iter().map(|tool| tool.name());
    tools.find(|known| *known == name).unwrap_or(OTHER)
}
