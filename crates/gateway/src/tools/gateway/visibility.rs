//! What an answer says of what it does not show.

use mail::Level;
use schemars::JsonSchema;
use serde::Serialize;

/// How much of a message its caller may see, and what that leaves out.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
pub(super) struct Visibility {
    visibility_applied: &'static str,
    redacted_fields: Vec<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    redaction_reason: Option<&'static str>,
}

/// Each with the level that shows it.
const FIELDS: [(&str, Level, &str); 4] = [
    ("envelope", Level::Envelope, "visibility_below_ENVELOPE"),
    ("headers", Level::Headers, "visibility_below_HEADERS"),
    ("body", Level::Body, "visibility_below_BODY"),
    ("attachments", Level::Full, "visibility_below_FULL"),
];

impl Visibility {
    pub(super) fn of(level: Level) -> Self {
        let left_out = || FIELDS.iter().filter(|(_, needs, _)| level < *needs);
        Self {
            visibility_applied: level.name(),
            redacted_fields: left_out().map(|(field, _, _)| *field).collect(),
            redaction_reason: left_out().map(|(_, _, reason)| *reason).next(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_level_leaves_out_is_said() {
        for (level, fields, reason) in [
            (Level::Full, vec![], None),
            (
                Level::Body,
                vec!["attachments"],
                Some("visibility_below_FULL"),
            ),
            (
                Level::Envelope,
                vec!["headers", "body", "attachments"],
                Some("visibility_below_HEADERS"),
            ),
        ] {
            let visibility = Visibility::of(level);
            assert_eq!(visibility.visibility_applied, level.name());
            assert_eq!(visibility.redacted_fields, fields);
            assert_eq!(visibility.redaction_reason, reason);
        }
    }
}
