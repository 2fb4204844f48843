//! What follows from a predicate: whether it can hold at all, which others it makes certain, which it excludes.
//!
//! Each answer is certain for every message, those with missing facts included.

use mail::{Domain, MailAddress};

use crate::Predicate;
use crate::rule::holds;

impl Predicate {
    /// Wherever this one says yes, `other` says yes; and wherever `other` says no, this one does. Both look at one fact,
    /// so that it is missing for both or for neither.
    pub(crate) fn implies(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::From(address), Self::FromDomain(domain)) => at(address, domain),
            (Self::To(address), Self::ToContains(part)) => holds(address.as_str(), part.as_str()),
            (Self::ToContains(long), Self::ToContains(part))
            | (Self::SubjectContains(long), Self::SubjectContains(part)) => {
                long.as_str().contains(part.as_str())
            }
            (Self::NewerThan(short), Self::NewerThan(long)) => short <= long,
            (Self::OlderThan(long), Self::OlderThan(short)) => long >= short,
            (Self::SizeGt(high), Self::SizeGt(low)) => high >= low,
            (Self::SizeLt(low), Self::SizeLt(high)) => low <= high,
            _ => self == other,
        }
    }

    /// No message meets both.
    pub(crate) fn excludes(&self, other: &Self) -> bool {
        clash(self, other) || clash(other, self)
    }

    /// Why no message meets it.
    pub(crate) fn impossible(&self) -> Option<&'static str> {
        match self {
            Self::SizeLt(0) => Some("no message has fewer than 0 octets"),
            Self::SizeGt(u64::MAX) => Some("no message has more octets than there are numbers for"),
            Self::ToContains(part) if part.as_str().contains(outside_addresses) => {
                Some("addresses hold neither spaces nor control characters")
            }
            _ => None,
        }
    }

    /// Every message meets it, as far as its facts are known.
    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Self::ToContains(part) | Self::SubjectContains(part) => part.is_empty(),
            _ => false,
        }
    }
}

fn clash(one: &Predicate, other: &Predicate) -> bool {
    match (one, other) {
        (Predicate::From(a), Predicate::From(b)) => a != b,
        (Predicate::From(address), Predicate::FromDomain(domain)) => !at(address, domain),
        (Predicate::FromDomain(a), Predicate::FromDomain(b)) => a != b,
        (Predicate::HasAttachment(a), Predicate::HasAttachment(b)) => a != b,
        // Seconds and octets are whole: nothing lies between 10 and 11.
        (Predicate::NewerThan(new), Predicate::OlderThan(old)) => {
            new.seconds() <= old.seconds().saturating_add(1)
        }
        (Predicate::SizeLt(high), Predicate::SizeGt(low)) => *high <= low.saturating_add(1),
        _ => false,
    }
}

fn at(address: &MailAddress, domain: &Domain) -> bool {
    address.domain() == domain.as_str()
}

fn outside_addresses(sign: char) -> bool {
    sign.is_whitespace() || sign.is_control()
}

#[cfg(test)]
mod tests {
    use mail::Folded;

    use super::*;
    use crate::Span;

    fn from(text: &str) -> Predicate {
        Predicate::From(MailAddress::parse(text).unwrap())
    }

    fn from_domain(text: &str) -> Predicate {
        Predicate::FromDomain(Domain::new(text).unwrap())
    }

    fn to(text: &str) -> Predicate {
        Predicate::To(MailAddress::parse(text).unwrap())
    }

    fn to_contains(text: &str) -> Predicate {
        Predicate::ToContains(Folded::new(text))
    }

    fn subject(text: &str) -> Predicate {
        Predicate::SubjectContains(Folded::new(text))
    }

    fn newer(text: &str) -> Predicate {
        Predicate::NewerThan(Span::parse(text).unwrap())
    }

    fn older(text: &str) -> Predicate {
        Predicate::OlderThan(Span::parse(text).unwrap())
    }

    #[test]
    fn the_narrower_implies_the_wider() {
        use Predicate::{HasAttachment, SizeGt, SizeLt};
        for (narrow, wide) in [
            (from("a@x.example"), from_domain("x.example")),
            (to("ab@müller.example"), to_contains("b@mü")),
            (to("ab@müller.example"), to_contains("xn--")),
            (to_contains("abc"), to_contains("b")),
            (subject("abc"), subject("bc")),
            (newer("7d"), newer("30d")),
            (older("30d"), older("7d")),
            (SizeGt(100), SizeGt(10)),
            (SizeLt(10), SizeLt(100)),
        ] {
            assert!(narrow.implies(&wide), "{narrow:?} {wide:?}");
            assert!(!wide.implies(&narrow), "{wide:?} {narrow:?}");
            for one in [narrow, wide] {
                assert!(one.implies(&one), "{one:?}");
            }
        }
        for (one, other) in [
            (from("a@x.example"), from("b@x.example")),
            (from("a@y.example"), from_domain("x.example")),
            (from("a@x.example"), to("a@x.example")),
            (subject("a"), to_contains("a")),
            (to("a@x.example"), to_contains("y")),
            (newer("7d"), older("1d")),
            (SizeGt(5), SizeLt(5)),
            (HasAttachment(true), HasAttachment(false)),
        ] {
            assert!(!one.implies(&other), "{one:?} {other:?}");
            assert!(!other.implies(&one), "{other:?} {one:?}");
        }
    }

    #[test]
    fn what_no_message_meets_at_once() {
        use Predicate::{HasAttachment, SizeGt, SizeLt};
        for (one, other, want) in [
            (from("a@x.example"), from("b@x.example"), true),
            (from("a@x.example"), from("a@x.example"), false),
            (from("a@x.example"), from_domain("y.example"), true),
            (from("a@x.example"), from_domain("x.example"), false),
            (from_domain("x.example"), from_domain("y.example"), true),
            (from_domain("x.example"), from_domain("x.example"), false),
            (to("a@x.example"), to("b@x.example"), false),
            (HasAttachment(true), HasAttachment(false), true),
            (HasAttachment(true), HasAttachment(true), false),
            (newer("10s"), older("10s"), true),
            (newer("11s"), older("10s"), true),
            (newer("12s"), older("10s"), false),
            (SizeLt(10), SizeGt(10), true),
            (SizeLt(11), SizeGt(10), true),
            (SizeLt(12), SizeGt(10), false),
            (SizeLt(u64::MAX), SizeGt(u64::MAX - 1), true),
            (SizeLt(5), newer("1d"), false),
        ] {
            assert_eq!(one.excludes(&other), want, "{one:?} {other:?}");
            assert_eq!(other.excludes(&one), want, "{other:?} {one:?}");
        }
    }

    #[test]
    fn what_no_message_meets_and_what_every_one_does() {
        use Predicate::{SizeGt, SizeLt};
        for (predicate, impossible, empty) in [
            (SizeLt(0), true, false),
            (SizeLt(1), false, false),
            (SizeGt(0), false, false),
            (SizeGt(u64::MAX), true, false),
            (to_contains("the team"), true, false),
            (to_contains("a\u{7}"), true, false),
            (to_contains("team"), false, false),
            (to_contains(""), false, true),
            (subject(""), false, true),
            (subject("the team"), false, false),
        ] {
            assert_eq!(
                predicate.impossible().is_some(),
                impossible,
                "{predicate:?}"
            );
            assert_eq!(predicate.is_empty(), empty, "{predicate:?}");
        }
    }
}
