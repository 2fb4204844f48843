//! The words of mailwarden: accounts, folders, messages, queries, and the seam behind which mail lives.
//!
//! This crate does no I/O, reads no clock and serializes nothing for the wire.
//! Text that came from mail stays [`Raw`] here; only `content` turns it into something a caller may see.

mod account;
mod change;
mod condition;
mod conversation;
mod cx;
mod envelope;
mod extract;
mod facts;
mod fault;
mod flag;
mod folder;
mod level;
mod message;
mod query;
mod raw;
mod room;
mod source;
mod structure;
mod trace;
mod uids;
mod uncertain;

pub use account::{AccountId, BadAccountId};
pub use change::{
    Append, Body, Broken, Candidate, Changed, Changing, Digest, Effect, Horizon, Landing,
    MOST_DIGESTED, Removal, Removed, Step, Subject, Witness,
};
pub use condition::Condition;
pub use conversation::{
    Coverage, Effort, HeaderId, Kindred, Links, Member, Skipped, Sought, Why, Within,
};
pub use cx::{Cx, Stage};
pub use envelope::{Address, Envelope, HeaderFields, SummaryHeader};
pub use extract::{
    EmptyReason, ExtractFault, ExtractJob, ExtractedText, Extracting, Extractor, Format,
    HidingReason, MAX_UNCERTAIN_RUNS, MOST_EXTRACT_BYTES, MOST_EXTRACT_CHARS, UncertainRun,
};
pub use facts::{Domain, Facts, FactsBuf, Folded, Known, MailAddress, Recipients};
pub use fault::{Fault, FaultKind};
pub use flag::Flag;
pub use folder::{BadFolderName, Counts, Folder, FolderName, SpecialUse};
pub use level::Level;
pub use message::{BadMessageId, MessageRef, SourceKind, Uid, UidValidity};
pub use query::Query;
pub use raw::Raw;
pub use room::Room;
pub use source::{
    Anchor, Answer, Choose, Described, Fetched, Folders, Found, Granted, InAll, Keeping, Likely,
    MailSource, Order, Part, PartWish, RawMessage, Reach, Remedy, Scopes, Search, Sifted, Snippets,
    Spelling, StoreId, Summary, TextPrefix, Unadmitted, Urgency, Verified,
};
pub use structure::{Disposition, Flow, Leaf, Multipart, Section, Structure};
pub use trace::{Sampled, TraceParent};
pub use uids::UidSet;
pub use uncertain::UncertainText;
