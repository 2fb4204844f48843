//! A message as a caller may see it.

use mail::{Fetched, UncertainText};

use crate::address::{AddressFields, AddressList};
use crate::attachment::{Attachment, attachments};
use crate::authentication::{Authentication, authentication};
use crate::body::{self, Truncation};
use crate::changes::Changes;
use crate::charset;
use crate::choose::BodyWish;
use crate::crypto;
use crate::date::{Date, date};
use crate::envelope::envelope_with;
use crate::extract::{Extractions, Extracts};
use crate::headers::headers;
use crate::lookalike;
use crate::note::Note;
use crate::parts::Parts;
use crate::roles::selection;
use crate::uncertain::UncertainRun;
use crate::words;

/// INVARIANT: every string in here has passed the shield and is bounded.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct View {
    pub date: Option<Date>,
    pub from: Option<String>,
    pub to: Option<String>,
    pub cc: Option<String>,
    pub subject: Option<String>,
    /// All of them, decoded, in order; see [`crate::curated`].
    pub headers: Vec<(String, String)>,
    pub body_text: Option<String>,
    /// What of `body_text` may not be visible to a person.
    pub uncertain_text: Vec<UncertainRun>,
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

/// What the message itself does not say.
#[derive(Clone, Default, Debug)]
pub struct Known {
    /// The name under which the receiving server signs its Authentication-Results.
    pub authserv_id: Option<String>,
    /// What came of the jobs that [`crate::extractions`] gave.
    pub extractions: Extractions,
    /// What becomes of text that may not be visible.
    pub uncertain_text: UncertainText,
}

pub fn view(fetched: &Fetched, wish: &BodyWish, known: &Known) -> View {
    let selection = selection(&fetched.structure);
    let parts = Parts::new(fetched, wish);
    let mut notes = Vec::new();
    let charset = charset::of_structure(&fetched.structure);
    let addresses = AddressFields::read(&fetched.header);
    let headers = headers(fetched, &addresses, charset, &mut notes);
    let mut changes = headers.changes;
    lookalike::note(&addresses, &mut notes);
    if fetched.structure.cut {
        notes.push(Note::StructureCut);
    }
    let body = match wish.only {
        None => {
            let uncertain = known.uncertain_text;
            body::body(fetched, &selection, &parts, wish, uncertain, &mut notes)
        }
        Some(_) => body::Body::default(),
    };
    notes.extend(crypto::recognize(fetched, &parts, body.text.as_deref()));
    let extracts = wish.attachment_text.map(|max_chars| Extracts {
        max_chars,
        only: wish.only.as_ref(),
        done: &known.extractions,
        uncertain: known.uncertain_text,
    });
    let attachments = attachments(
        fetched,
        &selection.roles,
        &parts,
        wish,
        extracts.as_ref(),
        &mut changes,
        &mut notes,
    );
    let envelope = envelope_with(&fetched.header, &addresses);
    let mut people = |list| AddressList::of_envelope(list).print(charset, &mut changes);
    let (from, to, cc) = (
        people(&envelope.from),
        people(&envelope.to),
        people(&envelope.cc),
    );
    let subject = envelope.subject.as_ref();
    let subject = subject.map(|raw| words::shown_in(raw.bytes(), charset, &mut changes).text);
    let authentication =
        authentication(&fetched.header, known.authserv_id.as_deref(), &mut changes);
    let beyond_header = fetched.size.saturating_sub(fetched.header.len() as u64);
    if body.text.is_none()
        && body.truncated.is_none()
        && attachments.is_empty()
        && beyond_header > 8
        && wish.only.is_none()
        && !notes.iter().any(is_explanation)
    {
        notes.push(Note::NothingFound);
    }
    changes.tell(&mut notes);
    let notes = merged(notes);
    View {
        date: date(envelope.date.as_ref(), fetched.arrived),
        from,
        to,
        cc,
        subject,
        headers: headers.list,
        uncertain_text: body
            .uncertain
            .runs(body.text.as_deref().unwrap_or_default()),
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

/// It says already why there is no text.
fn is_explanation(note: &Note) -> bool {
    matches!(
        note,
        Note::HtmlShowsNothing { .. }
            | Note::VersionsLeftOut { .. }
            | Note::PlainDiffers { .. }
            | Note::TooDeep { .. }
            | Note::BeyondEnd { .. }
            | Note::UncertainWithheld { .. }
    )
}

/// What was counted in several places is said once.
fn merged(notes: Vec<Note>) -> Vec<Note> {
    let mut once: Vec<Note> = Vec::with_capacity(notes.len());
    for note in notes {
        let said = note.to_string();
        if !note.is_count() && once.iter().any(|known| known.to_string() == said) {
            continue;
        }
        if !once.iter_mut().any(|known| known.absorb(&note)) {
            once.push(note);
        }
    }
    once
}
