//! What stores on this machine have in common: work off the async threads, messages in memory, conditions on them.
//!
//! Knows no layout of directories and no format of files; each store has its own.

pub(crate) mod beneath;
pub(crate) mod loaded;
pub(crate) mod look;
pub(crate) mod matching;
pub(crate) mod special;
pub(crate) mod wire;
pub(crate) mod work;
