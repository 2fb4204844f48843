//! Who may see and do what, and why.
//!
//! A decision depends on its arguments alone: no I/O, no clock. [`Policy::decide`] answers for account and folder,
//! [`Scope::judge`] for each message by its facts. Nothing reaches mail without a [`Permit`], and nothing but a
//! decision makes one. Whatever is not known never widens what may be seen.

mod ask;
mod capability;
mod decide;
mod explain;
mod flaw;
mod folder;
mod folder_pattern;
mod imply;
mod lint;
mod narrow;
mod policy;
mod reason;
mod rule;
mod span;

pub use ask::{Ask, Deed, Target};
pub use capability::{Capabilities, Capability};
pub use decide::{Denial, Permit, Scope};
pub use explain::{Explanation, Heard, Voice, Written};
pub use flaw::{Flaw, Place};
pub use folder::{By, FolderPolicy, Judged, Mode};
pub use folder_pattern::{BadFolderPattern, FolderPattern};
pub use lint::{Code, Spot, Warning, Weight, lint};
pub use narrow::superset;
pub use policy::Policy;
pub use reason::{Hidden, Reason, Refused};
pub use rule::{Answer, Predicate, Rule};
pub use span::{BadSpan, Span};
