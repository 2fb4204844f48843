//! Rules as conditions that a source evaluates itself, so that a whitelist does not look at every message.
//!
//! Always a superset: what a source cannot be trusted to find is not asked of it.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _};
use mail::{Condition, Level};

use crate::{FolderPolicy, Mode, Predicate, Rule};

impl FolderPolicy {
    /// Messages that may have more than the default. `None` where every message has to be looked at: in a blacklist,
    /// where a message that the source failed to find would be shown; and where the default shows messages anyway.
    pub fn candidates(&self, now: i64) -> Option<Condition> {
        if self.mode == Mode::Blacklist || self.default >= Level::Metadata {
            return None;
        }
        let rules = self.rules.iter().map(|rule| superset(rule, now));
        let any: Vec<Condition> = rules.collect();
        let narrow = !any.iter().any(Condition::is_everything);
        narrow.then_some(Condition::Any(any))
    }
}

fn superset(rule: &Rule, now: i64) -> Condition {
    let each = rule.predicates.iter();
    Condition::All(each.filter_map(|one| condition(one, now)).collect())
}

/// `None` where the source might miss one.
fn condition(predicate: &Predicate, now: i64) -> Option<Condition> {
    match predicate {
        Predicate::From(address) => {
            // The local part may be written in other letters than these; the domain in two spellings only.
            Some(domain(address.domain(), Condition::From))
        }
        Predicate::FromDomain(name) => Some(domain(name.as_str(), Condition::From)),
        Predicate::To(address) => Some(Condition::Any(vec![
            domain(address.domain(), Condition::To),
            domain(address.domain(), Condition::Cc),
        ])),
        Predicate::SubjectContains(part) if part.as_str().is_ascii() => {
            Some(Condition::Subject(part.as_str().to_owned()))
        }
        Predicate::NewerThan(span) => {
            let then = day(now.saturating_sub(span.seconds()))?;
            Some(Condition::Since(then.checked_sub(2.days()).ok()?))
        }
        Predicate::OlderThan(span) => {
            let then = day(now.saturating_sub(span.seconds()))?;
            Some(Condition::Before(then.checked_add(2.days()).ok()?))
        }
        Predicate::SizeGt(octets) => Some(Condition::Larger(*octets)),
        Predicate::SizeLt(octets) => Some(Condition::Smaller(*octets)),
        // A part of an address may lie across the sign that a source writes differently.
        Predicate::ToContains(_) | Predicate::SubjectContains(_) | Predicate::HasAttachment(_) => {
            None
        }
    }
}

/// In both spellings, if it has two.
fn domain(ascii: &str, condition: fn(String) -> Condition) -> Condition {
    let (unicode, read) = idna::domain_to_unicode(ascii);
    match read.is_ok() && unicode != ascii {
        true => Condition::Any(vec![condition(ascii.to_owned()), condition(unicode)]),
        false => condition(ascii.to_owned()),
    }
}

/// Servers compare days in zones of their own, so callers leave room.
fn day(second: i64) -> Option<Date> {
    let time = Timestamp::from_second(second).ok()?;
    Some(TimeZone::UTC.to_datetime(time).date())
}
