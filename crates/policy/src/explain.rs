//! Why a message has the level that it has, rule by rule: for the author of a policy, never for its caller.

use std::fmt;

use mail::Facts;

use crate::rule::Doubt;
use crate::{Answer, FolderPolicy, Judged, Predicate, Rule};

/// What every rule of a folder says of one message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Explanation<'a> {
    pub judged: Judged,
    /// In the order in which they were written.
    pub rules: Vec<Heard<'a>>,
}

/// What one rule says of one message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Heard<'a> {
    pub rule: &'a Rule,
    pub voice: Voice,
    /// What each of its predicates says.
    pub answers: Vec<(&'a Predicate, Answer)>,
}

/// Whether a rule has a say.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Voice {
    /// All its predicates hold.
    Speaks,
    /// None says no, and some facts are missing: in a blacklist that is enough.
    SpeaksInDoubt,
    Silent,
}

impl FolderPolicy {
    /// `now` in seconds since 1970.
    pub fn explain<'a>(&'a self, facts: &Facts<'_>, now: i64) -> Explanation<'a> {
        let doubt = Doubt::of(self.mode);
        let hear = |rule: &'a Rule| {
            let each = rule.predicates.iter();
            let answers: Vec<_> = each.map(|one| (one, one.ask(facts, now))).collect();
            let voice = match rule.speaks(facts, now, doubt) {
                false => Voice::Silent,
                true if answers.iter().all(|(_, said)| *said == Answer::Yes) => Voice::Speaks,
                true => Voice::SpeaksInDoubt,
            };
            Heard {
                rule,
                voice,
                answers,
            }
        };
        Explanation {
            judged: self.judge(facts, now),
            rules: self.rules.iter().map(hear).collect(),
        }
    }
}

impl Answer {
    pub fn name(self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::No => "no",
            Self::Unknown => "unknown",
        }
    }
}

impl Voice {
    pub fn name(self) -> &'static str {
        match self {
            Self::Speaks => "speaks",
            Self::SpeaksInDoubt => "speaks_in_doubt",
            Self::Silent => "silent",
        }
    }
}

/// As a policy file says it. For its author: a caller is told no pattern.
pub struct Written<'a>(pub &'a Predicate);

impl fmt::Display for Written<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.0.name())?;
        match self.0 {
            Predicate::From(address) | Predicate::To(address) => f.write_str(address.as_str()),
            Predicate::FromDomain(domain) => f.write_str(domain.as_str()),
            Predicate::ToContains(part) | Predicate::SubjectContains(part) => {
                write!(f, "{:?}", part.as_str())
            }
            Predicate::HasAttachment(wanted) => write!(f, "{wanted}"),
            Predicate::NewerThan(span) | Predicate::OlderThan(span) => write!(f, "{span}"),
            Predicate::SizeGt(octets) | Predicate::SizeLt(octets) => write!(f, "{octets}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use mail::{Domain, Folded, FolderName, Level, MailAddress};

    use super::*;
    use crate::{By, Capabilities, Mode, Span};

    #[test]
    fn every_rule_is_heard() {
        let rules = [
            (vec![Predicate::SizeGt(10)], Level::Body),
            (
                vec![Predicate::SizeGt(10), Predicate::HasAttachment(true)],
                Level::Count,
            ),
            (
                vec![Predicate::SizeGt(99), Predicate::HasAttachment(true)],
                Level::None,
            ),
        ];
        let rule = |(predicates, level)| Rule { predicates, level };
        let mut folder = FolderPolicy {
            path: FolderName::new("INBOX").unwrap().try_into().unwrap(),
            mode: Mode::Blacklist,
            default: Level::Full,
            rules: rules.into_iter().map(rule).collect(),
            capabilities: Capabilities::NONE,
        };
        let facts = Facts {
            size: Some(50),
            ..Facts::default()
        };
        let told = |folder: &FolderPolicy| {
            let explained = folder.explain(&facts, 0);
            assert_eq!(explained.judged, folder.judge(&facts, 0));
            let answers = |heard: &Heard<'_>| {
                let said: Vec<_> = heard.answers.iter().map(|(_, said)| said.name()).collect();
                format!("{}: {}", heard.voice.name(), said.join(", "))
            };
            let heard: Vec<_> = explained.rules.iter().map(answers).collect();
            (explained.judged.by, heard)
        };
        let want = [
            "speaks: yes",
            "speaks_in_doubt: yes, unknown",
            "silent: no, unknown",
        ];
        assert_eq!(
            told(&folder),
            (By::Rule(1), want.map(str::to_owned).to_vec())
        );

        folder.mode = Mode::Whitelist;
        folder.default = Level::None;
        let want = ["speaks: yes", "silent: yes, unknown", "silent: no, unknown"];
        assert_eq!(
            told(&folder),
            (By::Rule(0), want.map(str::to_owned).to_vec())
        );
    }

    #[test]
    fn predicates_are_written_as_in_a_file() {
        let address = || MailAddress::parse("A@X.example").unwrap();
        let span = || Span::parse("30d").unwrap();
        for (predicate, want) in [
            (Predicate::From(address()), "from: a@x.example"),
            (
                Predicate::FromDomain(Domain::new("X.example").unwrap()),
                "from_domain: x.example",
            ),
            (Predicate::To(address()), "to: a@x.example"),
            (
                Predicate::ToContains(Folded::new("Team")),
                "to_contains: \"team\"",
            ),
            (
                Predicate::SubjectContains(Folded::new("ein \"Ü\"")),
                r#"subject_contains: "ein \"ü\"""#,
            ),
            (Predicate::HasAttachment(false), "has_attachment: false"),
            (Predicate::NewerThan(span()), "newer_than: 30d"),
            (Predicate::OlderThan(span()), "older_than: 30d"),
            (Predicate::SizeGt(7), "size_gt: 7"),
            (Predicate::SizeLt(8), "size_lt: 8"),
        ] {
            assert_eq!(Written(&predicate).to_string(), want);
        }
    }
}
