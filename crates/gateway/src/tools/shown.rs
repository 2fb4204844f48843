//! What several tools show in the same way.

use content::{Changes, Date, Note, UncertainRun};
use mail::{Flag, MessageRef};
use schemars::JsonSchema;
use serde::Serialize;

use crate::envelope::Warning;
use crate::schema::plain_object;

plain_object!(Changed, Uncertain);

/// Which message, in all the ways in which it can be named.
#[derive(Serialize, JsonSchema)]
pub(in crate::tools) struct Located {
    pub(in crate::tools) message_id: String,
    message_uri: String,
    message_raw_uri: String,
    mailbox: String,
    pub(in crate::tools) uidvalidity: u32,
    pub(in crate::tools) uid: u32,
}

impl From<&MessageRef> for Located {
    fn from(at: &MessageRef) -> Self {
        Self {
            message_id: at.to_string(),
            message_uri: at.uri(),
            message_raw_uri: at.raw_uri(),
            mailbox: at.folder.to_string(),
            uidvalidity: at.uidvalidity.0,
            uid: at.uid.0,
        }
    }
}

/// When a message was sent.
#[derive(Serialize, JsonSchema)]
pub(in crate::tools) struct Dated {
    #[serde(skip_serializing_if = "Option::is_none")]
    date: Option<String>,
    /// zone_assumed: no certain zone; arrival: no readable Date field.
    #[serde(skip_serializing_if = "Option::is_none")]
    date_basis: Option<&'static str>,
}

impl From<Option<Date>> for Dated {
    fn from(date: Option<Date>) -> Self {
        Self {
            date_basis: date.as_ref().and_then(|date| date.basis.name()),
            date: date.map(|date| date.text),
        }
    }
}

/// What the shield changed in one message, where it changed something.
#[derive(Clone, Copy, Serialize)]
pub(in crate::tools) struct Changed {
    #[serde(skip_serializing_if = "is_zero")]
    invisible: usize,
    #[serde(skip_serializing_if = "is_zero")]
    markers: usize,
    /// Characters of hidden text that were left out.
    #[serde(skip_serializing_if = "is_zero")]
    hidden: usize,
}

impl Changed {
    pub(in crate::tools) fn of(changes: Changes, hidden: usize) -> Option<Self> {
        (!changes.is_empty() || hidden > 0).then_some(Self {
            hidden,
            invisible: changes.invisible,
            markers: changes.markers,
        })
    }
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// Characters of a text that may not be visible to a person: code points, `end` exclusive.
#[derive(Serialize)]
pub(in crate::tools) struct Uncertain {
    start: usize,
    end: usize,
    reason: &'static str,
}

pub(in crate::tools) fn uncertain(runs: &[UncertainRun]) -> Vec<Uncertain> {
    let runs = runs.iter().map(|run| Uncertain {
        start: run.start,
        end: run.end,
        reason: run.reason,
    });
    runs.collect()
}

/// One sentence for each kind of change.
pub(in crate::tools) fn warnings(changes: Changes) -> Vec<Warning> {
    let mut notes: Vec<Note> = Vec::new();
    changes.tell(&mut notes);
    notes
        .iter()
        .map(|note| Warning::from(note.to_string()))
        .collect()
}

/// More flags than this are not shown; nobody reads them, and a server may send thousands.
const MOST_FLAGS: usize = 50;
const MOST_FLAG_CHARS: usize = 100;

/// Flags as a caller sees them; absent when the source did not tell. In an order of their own: a server's may depend on
/// messages that are hidden.
pub(in crate::tools) fn flags(
    flags: Option<&[Flag]>,
    changes: &mut Changes,
) -> Option<Vec<String>> {
    let mut flags: Vec<&Flag> = flags?.iter().collect();
    flags.sort_unstable_by_key(|flag| flag.as_str());
    let shown = flags.into_iter().take(MOST_FLAGS).map(|flag| {
        let name = content::name(flag.as_str(), changes);
        name.chars().take(MOST_FLAG_CHARS).collect()
    });
    Some(shown.collect())
}

/// INVARIANT: a name is an argument of later calls, so it leaves as it is or not at all. One with invisible
/// characters or chat markers in it is no name that a person gave.
pub(in crate::tools) fn has_safe_name(folder: &mail::Folder) -> bool {
    let mut changes = content::Changes::default();
    content::name(folder.name.as_str(), &mut changes) == folder.name.as_str()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_bounded_and_safe() {
        let many: Vec<Flag> = (0..4_000)
            .map(|n| Flag::new(format!("{n}\u{202e}{}", "k".repeat(900))))
            .collect();
        let mut changes = Changes::default();
        let shown = flags(Some(&many), &mut changes).unwrap();
        assert_eq!(changes.invisible, MOST_FLAGS);
        assert_eq!(shown.len(), MOST_FLAGS);
        assert!(
            shown
                .iter()
                .all(|flag| flag.chars().count() <= MOST_FLAG_CHARS && !flag.contains('\u{202e}'))
        );
        assert_eq!(flags(None, &mut changes), None);
    }

    #[test]
    fn the_order_of_flags_is_ours() {
        let said = ["urgent", "\\Seen", "$Forwarded", "\\Answered"].map(Flag::new);
        let shown = flags(Some(&said), &mut Changes::default()).unwrap();
        assert_eq!(shown, ["$Forwarded", "\\Answered", "\\Seen", "urgent"]);
    }
}
