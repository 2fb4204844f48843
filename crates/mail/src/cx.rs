//! What one call carries down to a source and brings back up: counters and the stage it is in.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};

use crate::TraceParent;

/// One call's context. Cancelling a call drops its future; nothing here needs to be asked.
#[derive(Debug, Default)]
pub struct Cx {
    round_trips: AtomicU32,
    cache_hit: AtomicBool,
    stage: AtomicU8,
    done: AtomicU64,
    total: AtomicU64,
    discreet: AtomicBool,
    parent: Option<TraceParent>,
}

/// Where a call is, for progress messages and for naming the step that failed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum Stage {
    Start,
    Queue,
    Connect,
    Tls,
    Greeting,
    Login,
    ListFolders,
    OpenFolder,
    Search,
    Fetch,
    Render,
    Mark,
    Copy,
    Move,
    Remove,
    Append,
    Confirm,
    Index,
}

impl Stage {
    const ALL: [Self; 18] = [
        Self::Start,
        Self::Queue,
        Self::Connect,
        Self::Tls,
        Self::Greeting,
        Self::Login,
        Self::ListFolders,
        Self::OpenFolder,
        Self::Search,
        Self::Fetch,
        Self::Render,
        Self::Mark,
        Self::Copy,
        Self::Move,
        Self::Remove,
        Self::Append,
        Self::Confirm,
        Self::Index,
    ];

    /// The name on the wire (`issues[].stage`).
    pub fn name(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Queue => "queue",
            Self::Connect => "connect",
            Self::Tls => "tls",
            Self::Greeting => "greeting",
            Self::Login => "login",
            Self::ListFolders => "list_folders",
            Self::OpenFolder => "open_folder",
            Self::Search => "search",
            Self::Fetch => "fetch",
            Self::Render => "render",
            Self::Mark => "mark",
            Self::Copy => "copy",
            Self::Move => "move",
            Self::Remove => "remove",
            Self::Append => "append",
            Self::Confirm => "confirm",
            Self::Index => "index",
        }
    }
}

impl Cx {
    pub fn new() -> Self {
        Self::default()
    }

    /// The same for a call that is part of somebody's trace.
    pub fn traced(parent: Option<TraceParent>) -> Self {
        Self {
            parent,
            ..Self::default()
        }
    }

    pub fn parent(&self) -> Option<TraceParent> {
        self.parent
    }

    /// Something was sent, and the answer waited for.
    pub fn count_round_trip(&self) {
        self.round_trips.fetch_add(1, Ordering::Relaxed);
    }

    pub fn round_trips(&self) -> u32 {
        self.round_trips.load(Ordering::Relaxed)
    }

    /// Part of the answer came from what an earlier call had fetched.
    pub fn note_cache_hit(&self) {
        self.cache_hit.store(true, Ordering::Relaxed);
    }

    pub fn cache_hit(&self) -> bool {
        self.cache_hit.load(Ordering::Relaxed)
    }

    pub fn enter(&self, stage: Stage) {
        let before = self.stage.swap(stage as u8, Ordering::Relaxed);
        // What was counted there means nothing here.
        if before != stage as u8 {
            self.count(0, 0);
        }
    }

    /// So much of a long piece of work is done.
    pub fn count(&self, done: u64, total: u64) {
        self.done.store(done, Ordering::Relaxed);
        self.total.store(total, Ordering::Relaxed);
    }

    /// From now on nobody is told how much there is to do: it may be more than the caller may know of.
    pub fn keep_counts(&self) {
        self.discreet.store(true, Ordering::Relaxed);
    }

    /// What is done, and of how much; none where nobody counts, or tells.
    pub fn counted(&self) -> Option<(u64, u64)> {
        let total = self.total.load(Ordering::Relaxed);
        let told = total > 0 && !self.discreet.load(Ordering::Relaxed);
        told.then(|| (self.done.load(Ordering::Relaxed).min(total), total))
    }

    pub fn stage(&self) -> Stage {
        let index = usize::from(self.stage.load(Ordering::Relaxed));
        Stage::ALL.get(index).copied().unwrap_or(Stage::Start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stage_is_what_was_entered() {
        let cx = Cx::new();
        for stage in Stage::ALL {
            cx.enter(stage);
            assert_eq!(cx.stage(), stage);
        }
    }

    #[test]
    fn counts_are_told_until_they_are_kept() {
        let cx = Cx::new();
        assert_eq!(cx.counted(), None);
        cx.count(3, 9);
        assert_eq!(cx.counted(), Some((3, 9)));
        cx.keep_counts();
        cx.count(4, 9);
        assert_eq!(cx.counted(), None);
    }
}
