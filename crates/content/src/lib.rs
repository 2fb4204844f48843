//! Hostile mail bytes in, safe views out.
//!
//! Everything that a caller is shown of a message is made here: text decoded, HTML rendered or sanitized,
//! attachments listed, and every string through the shield. This crate never touches network, disk or clock.

mod address;
mod agree;
mod attachment;
mod authentication;
mod body;
mod calendar;
mod changes;
mod charset;
mod choose;
mod claim;
mod crypto;
mod data_urls;
mod date;
mod draft;
mod enriched;
mod envelope;
mod extract;
mod facts;
mod findings;
mod header;
mod headers;
mod ical;
mod lines;
mod links;
mod lookalike;
mod nested;
mod note;
mod outline;
pub mod pack;
mod params;
mod parts;
mod roles;
mod shield;
mod sniff;
mod snippet;
mod text;
pub mod thread;
mod transfer;
mod uncertain;
mod view;
mod window;
mod words;

pub use address::{AddressList, Entry, Form, Mailbox, addresses};
pub use attachment::{Attachment, File, file};
pub use authentication::{Authentication, Trust, Verdict};
pub use body::{Left, Truncation};
pub use changes::Changes;
pub use choose::{BodyWish, HtmlWish, choose};
pub use date::{Date, DateBasis, date};
pub use draft::{Draft, draft};
pub use envelope::{envelope, envelope_of_beginning, list_fields, summary_envelope};
pub use extract::{Extractions, extractions};
pub use facts::{UnknownFact, UnknownReason, attachment_count, facts, unknown_facts};
pub use headers::{curated, field_texts, values};
pub use links::links;
pub use note::{HiddenReason, Note};
pub use outline::{Completeness, Outline, is_declared, outline};
pub use params::parameter;
pub use roles::bodies;
pub use snippet::{Snippet, snippet};
pub use uncertain::UncertainRun;
pub use view::{Known, View, view};
pub use words::{filename, header_id, header_text, name, said};
