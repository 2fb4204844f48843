//! What can be said of a whole conversation in a few words: its subject, who took part, from when to when, who spoke last.
//!
//! INVARIANT: of all messages of the conversation, shown in this answer or not, and of visible ones alone.

use content::Changes;
use content::thread::{Head, Spoken, head};
use mail::{Envelope, Level};
use schemars::JsonSchema;
use serde::Serialize;

use super::email::is_unread;
use super::finding;
use super::turns::{Turn, Turns};
use crate::schema::plain_object;

plain_object!(Participant);

#[derive(Default, Serialize, JsonSchema)]
pub(super) struct Summed {
    #[serde(skip_serializing_if = "Option::is_none")]
    subject: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    participants: Vec<Participant>,
    #[serde(skip_serializing_if = "finding::is_zero", default)]
    more_participants: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    first_date: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_date: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_from: Option<String>,
    unread: usize,
    /// Absent where not every message's parts may be seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    attachments: Option<usize>,
}

#[derive(Serialize)]
struct Participant {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    address: String,
    sent: usize,
    received: usize,
}

impl Summed {
    pub(super) fn of(turns: &Turns) -> Self {
        let envelopes: Vec<Envelope> = turns
            .turns
            .iter()
            .map(|turn| content::summary_envelope(&turn.copies.read.member.summary))
            .map(Option::unwrap_or_default)
            .collect();
        let spoken: Vec<Spoken<'_>> = turns
            .turns
            .iter()
            .zip(&envelopes)
            .map(|(turn, envelope)| Spoken {
                envelope,
                time: turn.time,
            })
            .collect();
        let Head {
            subject,
            participants,
            others,
            first,
            last,
            last_from,
        } = head(&spoken, &mut Changes::default());
        let last_from = last_from
            .and_then(|place| participants.get(place))
            .map(|one| one.address.clone());
        let attached = |turn: &Turn| {
            let structure = turn.copies.read.member.summary.structure.as_deref();
            let count = structure.map_or(0, content::attachment_count);
            (turn.copies.read.level() >= Level::Full).then_some(count)
        };
        let unread = |turn: &&Turn| is_unread(&turn.copies.read.member.summary);
        Self {
            subject,
            more_participants: others,
            first_date: first.map(|time| time.to_string()),
            last_date: last.map(|time| time.to_string()),
            last_from,
            unread: turns.turns.iter().filter(unread).count(),
            attachments: turns.turns.iter().map(attached).sum(),
            participants: participants
                .into_iter()
                .map(|one| Participant {
                    name: one.name,
                    address: one.address,
                    sent: one.sent,
                    received: one.received,
                })
                .collect(),
        }
    }
}
