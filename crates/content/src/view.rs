//! A message as a caller may see it.

use mail::Fetched;

use crate::address::addresses;
use crate::attachment::{Attachment, attachments};
use crate::authentication::{Authentication, authentication};
use crate::body::{self, Truncation};
use crate::changes::Changes;
use crate::choose::{BodyWish, roles};
use crate::envelope::{date, envelope};
use crate::headers::headers;
use crate::lookalike;
use crate::note::Note;
use crate::words;

/// INVARIANT: every string in here has passed the shield and is bounded.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct View {
    /// RFC 3339, UTC.
    pub date: Option<String>,
    pub from: Option<String>,
    pub to: Option<String>,
    pub cc: Option<String>,
    pub subject: Option<String>,
    /// All of them, decoded, in order; see [`crate::curated`].
    pub headers: Vec<(String, String)>,
    pub body_text: Option<String>,
    pub body_truncated: Option<Truncation>,
    /// Sanitized.
    pub body_html: Option<String>,
    pub attachments: Vec<Attachment>,
    pub authentication: Option<Authentication>,
    pub notes: Vec<Note>,
    /// What the shield changed in all of the above, the headers that [`crate::curated`] leaves out aside.
    pub changes: Changes,
    /// What it changed in those.
    pub rare_changes: Changes,
}

/// `authserv_id` is the name under which the receiving server signs its Authentication-Results, if it is known.
pub fn view(fetched: &Fetched, wish: &BodyWish, authserv_id: Option<&str>) -> View {
    let roles = roles(&fetched.structure);
    let mut notes = Vec::new();
    let headers = headers(fetched, &mut notes);
    let mut changes = headers.changes;
    lookalike::note(&fetched.header, &mut notes);
    if fetched.structure.cut {
        notes.push(Note::StructureCut);
    }
    let body = body::body(fetched, &roles, wish, &mut notes);
    let attachments = attachments(fetched, &roles, wish, &mut changes, &mut notes);
    let envelope = envelope(&fetched.header);
    let from = addresses(&envelope.from, &mut changes);
    let to = addresses(&envelope.to, &mut changes);
    let cc = addresses(&envelope.cc, &mut changes);
    let subject = envelope.subject.as_ref();
    let subject = subject.map(|raw| words::header_text(raw, &mut changes));
    let authentication = authentication(&fetched.header, authserv_id, &mut changes);
    changes.tell(&mut notes);
    View {
        date: date(envelope.date.as_ref(), fetched.arrived),
        from,
        to,
        cc,
        subject,
        headers: headers.list,
        body_text: body.text,
        body_truncated: body.truncated,
        body_html: body.html,
        attachments,
        authentication,
        changes: Changes::told(&notes),
        rare_changes: headers.rare,
        notes,
    }
}
