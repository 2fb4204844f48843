//! One call from ask to answer: the pipeline, the tools, the envelope.
//!
//! It knows no protocol that callers speak and no concrete source: calls come in as [`Call`], mail comes from
//! whatever implements `mail::MailSource`.

mod args;
mod criteria;
mod cursor;
mod envelope;
mod extracting;
mod fairness;
mod guarded_mail;
mod inspect;
mod knowledge;
mod limits;
mod pipeline;
mod recording;
mod refusal;
mod resources;
mod schema;
mod setup;
mod spool;
mod text;
mod tools;
mod transact;
mod trouble;
mod watch;

pub use cursor::CursorKey;
pub use envelope::{Again, Answered, Link, Refused};
pub use fairness::{Crowd, Load, Places, Strain};
pub use guarded_mail::{Inspected, Inspection, Progress, Which};
pub use inspect::FolderList;
pub use limits::{Limits, Measure, Rate};
pub use pipeline::{
    Admitted, Asked, Asking, Call, Caller, Consent, Deletes, Gateway, HELD_BACK, NotUndone,
    Outcome, Pace, Question, Returned,
};
pub use refusal::{Code, Refusal};
pub use resources::{Content, TEMPLATES, Template};
pub use setup::{Account, Credential, Proof, Provider, Setup, Standing, Writes};
pub use spool::Spool;
pub use tools::{ALL, Annotations, AnyTool, Toolset, Use};
pub use watch::{Cache, Ended, OTHER, Watch};
