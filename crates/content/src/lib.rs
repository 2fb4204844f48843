//! Hostile mail bytes in, safe views out.
//!
//! Everything that a caller is shown of a message is made here: text decoded, HTML rendered or sanitized,
//! attachments listed, and every string through the shield. This crate never touches network, disk or clock.

mod address;
mod attachment;
mod authentication;
mod body;
mod changes;
mod charset;
mod choose;
mod envelope;
mod header;
mod headers;
mod html;
mod lines;
mod lookalike;
mod mime;
mod note;
mod outline;
mod params;
mod shield;
mod snippet;
mod text;
mod transfer;
mod view;
mod words;

pub use address::addresses;
pub use attachment::Attachment;
pub use authentication::{Authentication, Trust, Verdict};
pub use body::Truncation;
pub use changes::Changes;
pub use choose::{BodyWish, HtmlWish, choose};
pub use envelope::{date, envelope};
pub use headers::curated;
pub use note::Note;
pub use outline::{Completeness, Outline, outline};
pub use params::parameter;
pub use snippet::{Snippet, snippet};
pub use view::{View, view};
pub use words::{filename, header_text, name, said};
