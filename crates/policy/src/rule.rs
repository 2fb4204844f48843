//! Rules: predicates over the facts of a message, all of which must hold.

use mail::{Domain, Facts, Folded, Known, Level, MailAddress};

use crate::{Mode, Span};

/// All its predicates hold, or it does not speak.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rule {
    /// Never empty in a policy that was accepted.
    pub predicates: Vec<Predicate>,
    /// What it grants in a whitelist, or caps to in a blacklist.
    pub level: Level,
}

/// The closed list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Predicate {
    /// The sender (From) is this address.
    From(MailAddress),
    /// The sender is at this domain; not at one below it.
    FromDomain(Domain),
    /// One of the To and Cc addresses is this one.
    To(MailAddress),
    /// One of the To and Cc addresses holds this, its domain in either form.
    ToContains(Folded),
    SubjectContains(Folded),
    HasAttachment(bool),
    /// Arrived less than this ago.
    NewerThan(Span),
    /// Arrived more than this ago.
    OlderThan(Span),
    /// More octets than this.
    SizeGt(u64),
    /// Fewer octets than this.
    SizeLt(u64),
}

/// What a predicate says of a message.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Answer {
    Yes,
    No,
    /// The fact that it looks at is missing.
    Unknown,
}

/// What becomes of what is not known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Doubt {
    /// For rules that give: a missing fact gives nothing.
    CountsAgainst,
    /// For rules that take: a missing fact takes.
    CountsFor,
}

impl Rule {
    /// `now` in seconds since 1970.
    pub(crate) fn speaks(&self, facts: &Facts<'_>, now: i64, doubt: Doubt) -> bool {
        self.predicates
            .iter()
            .all(|predicate| match predicate.ask(facts, now) {
                Answer::Yes => true,
                Answer::No => false,
                Answer::Unknown => doubt == Doubt::CountsFor,
            })
    }
}

impl Doubt {
    pub(crate) fn of(mode: Mode) -> Self {
        match mode {
            Mode::Whitelist => Self::CountsAgainst,
            Mode::Blacklist => Self::CountsFor,
        }
    }

    pub(crate) fn other(self) -> Self {
        match self {
            Self::CountsAgainst => Self::CountsFor,
            Self::CountsFor => Self::CountsAgainst,
        }
    }
}

impl Predicate {
    /// The key in a policy file.
    pub fn name(&self) -> &'static str {
        match self {
            Self::From(_) => "from",
            Self::FromDomain(_) => "from_domain",
            Self::To(_) => "to",
            Self::ToContains(_) => "to_contains",
            Self::SubjectContains(_) => "subject_contains",
            Self::HasAttachment(_) => "has_attachment",
            Self::NewerThan(_) => "newer_than",
            Self::OlderThan(_) => "older_than",
            Self::SizeGt(_) => "size_gt",
            Self::SizeLt(_) => "size_lt",
        }
    }

    /// The level that shows the fact it looks at.
    pub fn reads(&self) -> Level {
        match self {
            Self::From(_)
            | Self::FromDomain(_)
            | Self::To(_)
            | Self::ToContains(_)
            | Self::SubjectContains(_) => Level::Envelope,
            // That there is one is told by attachment lists alone.
            Self::HasAttachment(_) => Level::Full,
            Self::NewerThan(_) | Self::OlderThan(_) | Self::SizeGt(_) | Self::SizeLt(_) => {
                Level::Metadata
            }
        }
    }

    /// Whether the message is known to meet it.
    pub fn holds(&self, facts: &Facts<'_>, now: i64) -> bool {
        self.ask(facts, now) == Answer::Yes
    }

    /// Yes, no, or that it cannot be told.
    pub fn ask(&self, facts: &Facts<'_>, now: i64) -> Answer {
        match self {
            Self::From(address) => Answer::of(facts.from, |from| from == address.as_str()),
            Self::FromDomain(domain) => Answer::of(facts.from, |from| {
                from.rsplit_once('@')
                    .is_some_and(|(_, host)| host == domain.as_str())
            }),
            Self::To(address) => among(facts, |one| one == address.as_str()),
            Self::ToContains(part) => among(facts, |one| holds(one, part.as_str())),
            Self::SubjectContains(part) => {
                Answer::of(facts.subject, |subject| subject.contains(part.as_str()))
            }
            Self::HasAttachment(wanted) => Answer::of(facts.has_attachment, |has| has == *wanted),
            Self::NewerThan(span) => Answer::of(facts.arrived, |then| {
                now.saturating_sub(then) < span.seconds()
            }),
            Self::OlderThan(span) => Answer::of(facts.arrived, |then| {
                now.saturating_sub(then) > span.seconds()
            }),
            Self::SizeGt(octets) => Answer::of(facts.size, |size| size > *octets),
            Self::SizeLt(octets) => Answer::of(facts.size, |size| size < *octets),
        }
    }
}

impl Answer {
    fn of<T>(fact: Option<T>, test: impl FnOnce(T) -> bool) -> Self {
        match fact.map(test) {
            Some(true) => Self::Yes,
            Some(false) => Self::No,
            None => Self::Unknown,
        }
    }
}

/// One recipient that fits is enough; that none does is known only of a whole list.
fn among(facts: &Facts<'_>, test: impl Fn(&str) -> bool) -> Answer {
    match facts.recipients.iter().any(test) {
        true => Answer::Yes,
        false if facts.recipients.known == Known::Whole => Answer::No,
        false => Answer::Unknown,
    }
}

/// Whether an address in the form of [`MailAddress`] holds `part`, in that form or as people read it.
pub(crate) fn holds(address: &str, part: &str) -> bool {
    address.contains(part) || readable(address).is_some_and(|read| read.contains(part))
}

/// With its domain in Unicode, if that is another way to write it.
fn readable(address: &str) -> Option<String> {
    let (local, domain) = address.rsplit_once('@')?;
    if !domain.contains("xn--") {
        return None;
    }
    let (unicode, _) = idna::domain_to_unicode(domain);
    Some(format!("{local}@{}", Folded::new(&unicode).as_str()))
}

#[cfg(test)]
mod tests {
    use mail::Recipients;

    use super::*;

    const NOW: i64 = 1_800_000_000;

    fn full() -> Facts<'static> {
        Facts {
            from: Some("al@ice@xn--mller-kva.example"),
            recipients: Recipients {
                lines: "team@example.com\nbob@xn--bcher-kva.example",
                known: Known::Whole,
            },
            subject: Some("über die rechnung"),
            has_attachment: Some(true),
            arrived: Some(NOW - 100),
            size: Some(50),
        }
    }

    fn address(text: &str) -> MailAddress {
        MailAddress::parse(text).unwrap()
    }

    fn domain(text: &str) -> Domain {
        Domain::new(text).unwrap()
    }

    fn span(text: &str) -> Span {
        Span::parse(text).unwrap()
    }

    #[test]
    fn predicates_say_yes_no_or_that_they_cannot_tell() {
        use Answer::{No, Yes};
        use Predicate as P;
        let folded = Folded::new;
        for (predicate, name, reads, want) in [
            (
                P::From(address("AL@ICE@MÜLLER.example.")),
                "from",
                Level::Envelope,
                Yes,
            ),
            (
                P::From(address("ice@müller.example")),
                "from",
                Level::Envelope,
                No,
            ),
            (
                P::FromDomain(domain("müller.example")),
                "from_domain",
                Level::Envelope,
                Yes,
            ),
            (
                P::FromDomain(domain("example")),
                "from_domain",
                Level::Envelope,
                No,
            ),
            (
                P::FromDomain(domain("mx.müller.example")),
                "from_domain",
                Level::Envelope,
                No,
            ),
            (
                P::To(address("Bob@Bücher.example")),
                "to",
                Level::Envelope,
                Yes,
            ),
            (
                P::To(address("ob@bücher.example")),
                "to",
                Level::Envelope,
                No,
            ),
            (
                P::ToContains(folded("TEAM@")),
                "to_contains",
                Level::Envelope,
                Yes,
            ),
            (
                P::ToContains(folded("BÜCHER.ex")),
                "to_contains",
                Level::Envelope,
                Yes,
            ),
            (
                P::ToContains(folded("b@bü")),
                "to_contains",
                Level::Envelope,
                Yes,
            ),
            (
                P::ToContains(folded("xn--bcher")),
                "to_contains",
                Level::Envelope,
                Yes,
            ),
            (
                P::ToContains(folded("bob@example")),
                "to_contains",
                Level::Envelope,
                No,
            ),
            (
                P::SubjectContains(folded("U\u{308}BER DIE")),
                "subject_contains",
                Level::Envelope,
                Yes,
            ),
            (
                P::SubjectContains(folded("uber")),
                "subject_contains",
                Level::Envelope,
                No,
            ),
            (P::HasAttachment(true), "has_attachment", Level::Full, Yes),
            (P::HasAttachment(false), "has_attachment", Level::Full, No),
            (
                P::NewerThan(span("101s")),
                "newer_than",
                Level::Metadata,
                Yes,
            ),
            (
                P::NewerThan(span("100s")),
                "newer_than",
                Level::Metadata,
                No,
            ),
            (
                P::OlderThan(span("99s")),
                "older_than",
                Level::Metadata,
                Yes,
            ),
            (
                P::OlderThan(span("100s")),
                "older_than",
                Level::Metadata,
                No,
            ),
            (P::SizeGt(49), "size_gt", Level::Metadata, Yes),
            (P::SizeGt(50), "size_gt", Level::Metadata, No),
            (P::SizeLt(51), "size_lt", Level::Metadata, Yes),
            (P::SizeLt(50), "size_lt", Level::Metadata, No),
        ] {
            assert_eq!(predicate.ask(&full(), NOW), want, "{predicate:?}");
            assert_eq!(predicate.holds(&full(), NOW), want == Yes, "{predicate:?}");
            let nothing = Facts::default();
            assert_eq!(
                predicate.ask(&nothing, NOW),
                Answer::Unknown,
                "{predicate:?}"
            );
            assert!(!predicate.holds(&nothing, NOW), "{predicate:?}");
            assert_eq!((predicate.name(), predicate.reads()), (name, reads));
        }
    }

    #[test]
    fn of_a_list_with_gaps_a_match_is_known_and_a_lack_is_not() {
        let mut facts = full();
        facts.recipients.known = Known::NotWhole;
        for (text, want) in [
            ("team@example.com", Answer::Yes),
            ("nobody@example.com", Answer::Unknown),
        ] {
            assert_eq!(Predicate::To(address(text)).ask(&facts, NOW), want);
        }
    }

    #[test]
    fn a_rule_speaks_when_all_its_predicates_do() {
        use Doubt::{CountsAgainst, CountsFor};
        let (yes, no) = (Predicate::SizeGt(49), Predicate::SizeGt(50));
        let unknown = Predicate::HasAttachment(true);
        let mut facts = full();
        facts.has_attachment = None;
        for (predicates, gives, takes) in [
            (vec![&yes], true, true),
            (vec![&no], false, false),
            (vec![&unknown], false, true),
            (vec![&yes, &no], false, false),
            (vec![&yes, &unknown], false, true),
            (vec![&no, &unknown], false, false),
            (vec![&unknown, &no], false, false),
        ] {
            let rule = Rule {
                predicates: predicates.into_iter().cloned().collect(),
                level: Level::Body,
            };
            assert_eq!(rule.speaks(&facts, NOW, CountsAgainst), gives, "{rule:?}");
            assert_eq!(rule.speaks(&facts, NOW, CountsFor), takes, "{rule:?}");
        }
    }

    #[test]
    fn times_out_of_all_bounds_overflow_nothing() {
        let newer = Predicate::NewerThan(span("1d"));
        for (arrived, now, want) in [
            (i64::MIN, i64::MAX, Answer::No),
            (i64::MAX, i64::MIN, Answer::Yes),
        ] {
            let facts = Facts {
                arrived: Some(arrived),
                ..Facts::default()
            };
            assert_eq!(newer.ask(&facts, now), want);
        }
    }
}
