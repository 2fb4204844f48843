//! What a search looks for, split by who can tell: facts are judged here, the rest by the source.

use mail::{Condition, Level};
use policy::Predicate;

/// All of them hold at once; none lists the folder.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Criteria {
    /// Judged here, by facts.
    pub predicates: Vec<Predicate>,
    /// Evaluated by the source.
    pub conditions: Vec<Condition>,
    /// INVARIANT: a message matches only for callers who may see each field that is looked at.
    pub reads: Level,
}

impl Default for Criteria {
    fn default() -> Self {
        Self {
            predicates: Vec::new(),
            conditions: Vec::new(),
            reads: Level::Metadata,
        }
    }
}

impl Criteria {
    pub(crate) fn judged(&mut self, predicate: Predicate) {
        self.reads = self.reads.max(predicate.reads());
        self.predicates.push(predicate);
    }

    pub(crate) fn evaluated(&mut self, condition: Condition) {
        self.reads = self.reads.max(reads(&condition));
        self.conditions.push(condition);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.predicates.is_empty() && self.conditions.is_empty()
    }

    /// Every message that the predicates can hold for, as a source can find it. `None` when it cannot narrow.
    pub(crate) fn superset(&self, now: i64) -> Option<Condition> {
        let found = policy::superset(&self.predicates, now);
        (!found.is_everything()).then_some(found)
    }
}

/// The level that shows what the condition looks at.
pub(crate) fn reads(condition: &Condition) -> Level {
    match condition {
        Condition::All(each) | Condition::Any(each) => {
            each.iter().map(reads).fold(Level::Metadata, Level::max)
        }
        Condition::Not(inner) => reads(inner),
        Condition::From(_) | Condition::To(_) | Condition::Cc(_) | Condition::Subject(_) => {
            Level::Envelope
        }
        Condition::Header { .. } => Level::Headers,
        // INVARIANT: a source looks for text in attachments too. Were it found only in messages without any, whoever may
        // not see attachments would learn by it whether there are some.
        Condition::Text(_) => Level::Full,
        // Of the store's own search nobody knows what it looks at.
        Condition::StoreSearch(_) => Level::Full,
        Condition::Larger(_)
        | Condition::Smaller(_)
        | Condition::Since(_)
        | Condition::Before(_)
        | Condition::Flagged(_) => Level::Metadata,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_looked_at_says_who_finds() {
        let text = Condition::Text("a".to_owned());
        let from = Condition::From("a".to_owned());
        for (condition, level) in [
            (Condition::Larger(1), Level::Metadata),
            (from.clone(), Level::Envelope),
            (text.clone(), Level::Full),
            (Condition::Not(Box::new(text.clone())), Level::Full),
            (Condition::Any(vec![from, text]), Level::Full),
        ] {
            let mut criteria = Criteria::default();
            criteria.evaluated(condition);
            assert_eq!(criteria.reads, level, "{criteria:?}");
        }
    }
}
