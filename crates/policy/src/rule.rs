//! Rules: predicates over the facts of a message, all of which must hold.

use mail::{Domain, Facts, Folded, Known, Level, MailAddress};

use crate::Span;

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
    /// The first From address is this one.
    From(MailAddress),
    /// The first From address is at this domain; not at one below it.
    FromDomain(Domain),
    /// One of the To and Cc addresses is this one.
    To(MailAddress),
    /// One of the To and Cc addresses holds this.
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
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Answer {
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

    fn ask(&self, facts: &Facts<'_>, now: i64) -> Answer {
        match self {
            Self::From(address) => Answer::of(facts.from, |from| from == address.as_str()),
            Self::FromDomain(domain) => Answer::of(facts.from, |from| {
                from.rsplit_once('@')
                    .is_some_and(|(_, host)| host == domain.as_str())
            }),
            Self::To(address) => among(facts, |one| one == address.as_str()),
            Self::ToContains(part) => among(facts, |one| one.contains(part.as_str())),
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
