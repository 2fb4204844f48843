//! Rules as conditions that a source evaluates itself, so that a whitelist does not look at every message.
//!
//! Always a superset, on a server that finds ASCII text in header fields without regard to case,
//! and knows sizes and days. Addresses are searched twice, by FROM, TO and CC and by HEADER: the
//! first search what the server made of the field (Dovecot does not find `bank.de.`), and not every
//! server is known to search all fields by HEADER. Subjects are not searched, because a server
//! decodes
//! them only when asked in another charset than ASCII, and by rules of its own.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _};
use mail::{Condition, Level};

use crate::{FolderPolicy, Mode, Predicate};

/// Octets of a search command, roughly. Servers refuse lines that are too long.
const MOST_OCTETS: usize = 8_000;

/// What a condition takes beside its text: its word, quotes, OR, parentheses.
const AROUND: usize = 16;

/// Shorter runs are in nearly every address.
const SHORTEST_RUN: usize = 3;

impl FolderPolicy {
    /// Messages that may have more than the default; every other one has just that. `None` where every message has to be
    /// looked at: in a blacklist, where a message that the source failed to find would be shown; where the default shows
    /// messages anyway; and where the condition would be too long to send. It changes once a day at most.
    pub fn candidates(&self, now: i64) -> Option<Condition> {
        if self.mode == Mode::Blacklist || self.default >= Level::Metadata {
            return None;
        }
        let mut any: Vec<Condition> = Vec::new();
        let mut octets = 0_usize;
        for rule in &self.rules {
            let one = superset(&rule.predicates, now);
            if one.is_everything() {
                return None;
            }
            if any.contains(&one) {
                continue;
            }
            octets = octets.saturating_add(length(&one));
            if octets > MOST_OCTETS {
                return None;
            }
            any.push(one);
        }
        Some(Condition::Any(any))
    }
}

/// Every message that these can hold for, as a source can find it.
pub fn superset(predicates: &[Predicate], now: i64) -> Condition {
    let each = predicates.iter();
    all(each.filter_map(|one| condition(one, now)).collect())
}

/// `None` where the source might miss one.
fn condition(predicate: &Predicate, now: i64) -> Option<Condition> {
    match predicate {
        Predicate::From(address) => address_in(address.as_str(), "FROM"),
        Predicate::FromDomain(name) => domain_in(name.as_str(), "FROM"),
        Predicate::To(address) => Some(Condition::Any(vec![
            address_in(address.as_str(), "TO")?,
            address_in(address.as_str(), "CC")?,
        ])),
        // Servers compare days in zones of their own: two days leave room for all of them.
        Predicate::NewerThan(span) => {
            let then = day(now.saturating_sub(span.seconds()))?;
            Some(Condition::Since(sent(then.checked_sub(2.days()).ok()?)?))
        }
        Predicate::OlderThan(span) => {
            let then = day(now.saturating_sub(span.seconds()))?;
            Some(Condition::Before(sent(then.checked_add(2.days()).ok()?)?))
        }
        // RFC 3501 has numbers of 32 bits.
        Predicate::SizeGt(octets) => Some(Condition::Larger((*octets).min(u32::MAX.into()))),
        Predicate::SizeLt(octets) => {
            let fits = *octets <= u32::MAX.into();
            fits.then_some(Condition::Smaller(*octets))
        }
        // A part of an address may lie across the sign that a source writes differently.
        Predicate::ToContains(_) | Predicate::SubjectContains(_) | Predicate::HasAttachment(_) => {
            None
        }
    }
}

/// Both halves, each by itself: the first may stand in quotes.
fn address_in(address: &str, field: &str) -> Option<Condition> {
    let (local, domain) = address.rsplit_once('@')?;
    let mut each = vec![domain_in(domain, field)?];
    each.extend(longest_run(local).map(|run| text_in(field, run)));
    Some(all(each))
}

fn text_in(field: &str, text: String) -> Condition {
    let key = match field {
        "TO" => Condition::To,
        "CC" => Condition::Cc,
        _ => Condition::From,
    };
    let header = Condition::Header {
        name: field.to_owned(),
        holds: text.clone(),
    };
    Condition::Any(vec![key(text), header])
}

/// A label that has two forms may be written in either, the second in other letters than these: only its ASCII is asked
/// for.
fn domain_in(ascii: &str, field: &str) -> Option<Condition> {
    let foreign = ascii.split('.').filter(|label| label.starts_with("xn--"));
    let plain = match foreign.count() {
        0 => return Some(text_in(field, ascii.to_owned())),
        1 => idna::domain_to_unicode(ascii).0,
        // Each may be written in its own way; what is common to all ways is around them.
        _ => blanked(ascii),
    };
    let around = text_in(field, longest_run(&plain)?);
    match plain.contains(BLANK) {
        true => Some(around),
        false => Some(Condition::Any(vec![
            text_in(field, ascii.to_owned()),
            around,
        ])),
    }
}

/// Stands for what is not known. No label holds it.
const BLANK: char = '\u{fffd}';

fn blanked(ascii: &str) -> String {
    let labels = ascii.split('.').map(|label| match label {
        foreign if foreign.starts_with("xn--") => BLANK.to_string(),
        label => label.to_owned(),
    });
    labels.collect::<Vec<_>>().join(".")
}

/// The longest text that stands in every way to write this one. Not a `k`, which KELVIN SIGN folds to; nor a letter that
/// may be composed with the sign after it; nor what is written with a backslash.
fn longest_run(text: &str) -> Option<String> {
    let (mut longest, mut run) = (String::new(), String::new());
    for sign in text.chars() {
        match sign {
            'a'..='j' | 'l'..='z' | '0'..='9' | '.' | '-' | '_' | '+' => {
                run.push(sign);
                continue;
            }
            _ if !sign.is_ascii() => drop(run.pop()),
            _ => {}
        }
        longest = longer(longest, std::mem::take(&mut run));
    }
    let longest = longer(longest, run);
    (longest.len() >= SHORTEST_RUN).then_some(longest)
}

fn longer(one: String, other: String) -> String {
    match other.len() > one.len() {
        true => other,
        false => one,
    }
}

fn all(mut each: Vec<Condition>) -> Condition {
    match (each.pop(), each.is_empty()) {
        (Some(only), true) => only,
        (last, _) => {
            each.extend(last);
            Condition::All(each)
        }
    }
}

/// In UTC.
fn day(second: i64) -> Option<Date> {
    let time = Timestamp::from_second(second).ok()?;
    Some(TimeZone::UTC.to_datetime(time).date())
}

/// What a server can be asked about: years of four digits, and no day before its clock began.
fn sent(day: Date) -> Option<Date> {
    (day.year() >= 1970).then_some(day)
}

/// On the wire, or somewhat less than that.
fn length(condition: &Condition) -> usize {
    match condition {
        Condition::All(each) | Condition::Any(each) => {
            each.iter().map(length).fold(AROUND, usize::saturating_add)
        }
        Condition::Header { name, holds } => {
            let text = name.len().saturating_add(holds.len());
            text.saturating_add(AROUND)
        }
        Condition::From(text) | Condition::To(text) | Condition::Cc(text) => {
            text.len().saturating_add(AROUND)
        }
        _ => 2 * AROUND,
    }
}

#[cfg(test)]
mod tests {
    use mail::{Domain, Folded, FolderName, MailAddress};

    use super::*;
    use crate::Rule;
    use crate::{Capabilities, Span};

    /// 2026-11-15, an hour before midnight in UTC.
    const NOW: i64 = 1_794_783_600;

    fn folder(mode: Mode, default: Level, rules: Vec<Vec<Predicate>>) -> FolderPolicy {
        let rule = |predicates| Rule {
            predicates,
            level: Level::Full,
        };
        FolderPolicy {
            path: FolderName::new("INBOX").unwrap().try_into().unwrap(),
            mode,
            default,
            rules: rules.into_iter().map(rule).collect(),
            capabilities: Capabilities::NONE,
        }
    }

    fn whitelist(rules: Vec<Vec<Predicate>>) -> Option<Condition> {
        folder(Mode::Whitelist, Level::None, rules).candidates(NOW)
    }

    fn from(text: &str) -> Predicate {
        Predicate::From(MailAddress::parse(text).unwrap())
    }

    fn domain(text: &str) -> Predicate {
        Predicate::FromDomain(Domain::new(text).unwrap())
    }

    fn newer(text: &str) -> Predicate {
        Predicate::NewerThan(Span::parse(text).unwrap())
    }

    fn older(text: &str) -> Predicate {
        Predicate::OlderThan(Span::parse(text).unwrap())
    }

    /// As IMAP would write it, more or less.
    fn written(condition: &Condition) -> String {
        let many = |each: &[Condition], word: &str| {
            let each: Vec<_> = each.iter().map(written).collect();
            format!("({})", each.join(word))
        };
        match condition {
            Condition::All(each) => many(each, " "),
            // The same text by both keys.
            Condition::Any(each) if matches!(each.as_slice(), [_, Condition::Header { .. }]) => {
                written(&each[1])
            }
            Condition::Any(each) => many(each, " OR "),
            Condition::Header { name, holds } => format!("{} {holds}", name.to_lowercase()),
            Condition::Larger(octets) => format!("larger {octets}"),
            Condition::Smaller(octets) => format!("smaller {octets}"),
            Condition::Since(day) => format!("since {day}"),
            Condition::Before(day) => format!("before {day}"),
            other => panic!("{other:?} is asked of no server"),
        }
    }

    #[test]
    fn each_predicate_as_a_server_is_asked() {
        let to = |text| Predicate::To(MailAddress::parse(text).unwrap());
        let big = u64::from(u32::MAX);
        for (predicate, want) in [
            (domain("Hornbach.DE."), Some("from hornbach.de")),
            (
                domain("müller.example"),
                Some("(from xn--mller-kva.example OR from ller.example)"),
            ),
            // Nothing of these two labels is written in one way.
            (domain("bücher.müller.example"), Some("from .example")),
            (domain("mail.bücher.müller.ex"), Some("from mail")),
            (domain("ü.de"), Some("(from xn--tda.de OR from .de)")),
            (domain("ü.ü"), None),
            (domain("bi̇x.ab"), Some("(from xn--bix-9dc.ab OR from x.ab)")),
            (
                from("Alice@example.com"),
                Some("(from example.com from alice)"),
            ),
            (from("mike@example.com"), Some("from example.com")),
            (
                from("jörg.maier@example.com"),
                Some("(from example.com from rg.maier)"),
            ),
            (from("o'neil@x.example"), Some("(from x.example from neil)")),
            (
                from("alicek@x.example"),
                Some("(from x.example from alice)"),
            ),
            (from("abc'def@x.example"), Some("(from x.example from abc)")),
            (from("a@ü.ü"), None),
            (
                to("bob@x.example"),
                Some("((to x.example to bob) OR (cc x.example cc bob))"),
            ),
            (Predicate::ToContains(Folded::new("team")), None),
            (Predicate::SubjectContains(Folded::new("rechnung")), None),
            (Predicate::HasAttachment(true), None),
            (newer("1d"), Some("since 2026-11-12")),
            (newer("23h"), Some("since 2026-11-13")),
            (newer("100y"), None),
            (older("1d"), Some("before 2026-11-16")),
            (older("100y"), None),
            (Predicate::SizeGt(10), Some("larger 10")),
            (Predicate::SizeGt(big + 1), Some("larger 4294967295")),
            (Predicate::SizeLt(big), Some("smaller 4294967295")),
            (Predicate::SizeLt(big + 1), None),
        ] {
            let got = condition(&predicate, NOW).as_ref().map(written);
            assert_eq!(got.as_deref(), want, "{predicate:?}");
        }
    }

    #[test]
    fn rules_are_alternatives_and_their_predicates_are_not() {
        for (rules, want) in [
            (vec![], Some("()")),
            (vec![vec![domain("x.de")]], Some("(from x.de)")),
            (
                vec![vec![domain("x.de")], vec![domain("y.de")]],
                Some("(from x.de OR from y.de)"),
            ),
            (
                vec![vec![domain("x.de"), newer("1d")]],
                Some("((from x.de since 2026-11-12))"),
            ),
            (
                vec![vec![domain("x.de"), Predicate::HasAttachment(true)]],
                Some("(from x.de)"),
            ),
            (
                vec![
                    vec![domain("x.de")],
                    vec![domain("x.de"), Predicate::HasAttachment(true)],
                ],
                Some("(from x.de)"),
            ),
            (
                vec![vec![domain("x.de")], vec![Predicate::HasAttachment(true)]],
                None,
            ),
        ] {
            let got = whitelist(rules).as_ref().map(written);
            assert_eq!(got.as_deref(), want);
        }
    }

    #[test]
    fn where_every_message_counts_all_are_looked_at() {
        for (mode, default, narrowed) in [
            (Mode::Whitelist, Level::None, true),
            (Mode::Whitelist, Level::Count, true),
            (Mode::Whitelist, Level::Metadata, false),
            (Mode::Blacklist, Level::Count, false),
            (Mode::Blacklist, Level::Full, false),
        ] {
            let folder = folder(mode, default, vec![vec![domain("x.de")]]);
            assert_eq!(
                folder.candidates(NOW).is_some(),
                narrowed,
                "{mode:?} {default:?}"
            );
        }
    }

    #[test]
    fn a_condition_too_long_to_send_is_none() {
        let many = |count: usize| {
            let one = |n| vec![domain(&format!("{n:09}.x.example"))];
            whitelist((0..count).map(one).collect()).is_some()
        };
        // 19 octets by two keys, and what is around them.
        let most = MOST_OCTETS / 90;
        assert_eq!((many(most), many(most + 1)), (true, false));
        let days = |count: u32| {
            let one = |n: u32| vec![newer(&format!("{}d", n + 1))];
            whitelist((0..count).map(one).collect()).is_some()
        };
        assert_eq!((days(250), days(251)), (true, false));
        // Two halves of 9 and 8, and what is around each and both.
        let people = |count: usize| {
            let one = |n| vec![from(&format!("{n:08}@x.example"))];
            whitelist((0..count).map(one).collect()).is_some()
        };
        assert_eq!((people(51), people(52)), (true, false));
    }

    #[test]
    fn a_day_long_nothing_changes() {
        let folder = folder(
            Mode::Whitelist,
            Level::None,
            vec![vec![newer("30d")], vec![older("2w")]],
        );
        let midnight = NOW - NOW % 86_400;
        let first = folder.candidates(midnight);
        assert_eq!(folder.candidates(midnight + 86_399), first);
        assert_ne!(folder.candidates(midnight + 86_400), first);
        assert_ne!(folder.candidates(midnight - 1), first);
        // No clock says this; all is looked at.
        assert_eq!(folder.candidates(i64::MIN), None);
    }
}
