//! Rules that say something else than was meant: patterns that no mail has or all mail has, and trust in senders.

use mail::Level;

use super::{Code, Site, Warning};
use crate::{Mode, Predicate, Rule};

/// Sizes are sent as numbers of 32 bits, and no server takes mail of 4 GB.
const NO_SIZE: u64 = u32::MAX as u64;

/// No mail is as old as this.
const NO_AGE: i64 = 50 * 365 * 86_400;

pub(super) fn look(site: &Site<'_>, found: &mut Vec<Warning>) {
    for (index, rule) in site.folder.rules.iter().enumerate() {
        for predicate in &rule.predicates {
            let odd = oddity(predicate);
            found.extend(odd.map(|(code, why)| {
                site.warn_rule(code, index, format!("{}: {why}", predicate.name()))
            }));
        }
        found.extend(trust(site, rule).map(|(code, text)| site.warn_rule(code, index, text)));
    }
}

fn oddity(predicate: &Predicate) -> Option<(Code, &'static str)> {
    let never = |why| Some((Code::NeverMatches, why));
    match predicate {
        Predicate::FromDomain(domain) => odd_domain(domain.as_str()).and_then(never),
        Predicate::From(address) | Predicate::To(address) => {
            let (local, _) = address.as_str().rsplit_once('@')?;
            odd_local(local)
                .or_else(|| odd_domain(address.domain()))
                .and_then(never)
        }
        Predicate::SubjectContains(part) if part.as_str().trim().is_empty() => Some((
            Code::AlwaysMatches,
            "blanks are in nearly every subject; say what to look for",
        )),
        Predicate::ToContains(part) if matches!(part.as_str(), "@" | ".") => Some((
            Code::AlwaysMatches,
            "this is in every address; say what to look for",
        )),
        Predicate::SizeGt(octets) if *octets >= NO_SIZE => {
            never("no message is that large; sizes are in octets")
        }
        Predicate::SizeLt(octets) if *octets >= NO_SIZE => Some((
            Code::AlwaysMatches,
            "every message is smaller; sizes are in octets",
        )),
        Predicate::OlderThan(span) if span.seconds() >= NO_AGE => {
            never("no mail is that old; give a shorter duration")
        }
        Predicate::NewerThan(span) if span.seconds() >= NO_AGE => Some((
            Code::AlwaysMatches,
            "all mail is newer; give a shorter duration, or leave it out",
        )),
        _ => None,
    }
}

fn odd_domain(domain: &str) -> Option<&'static str> {
    if domain.contains([':', '/']) && !domain.starts_with('[') {
        return Some("this looks like a web address; give what stands after the @ of an address");
    }
    if !domain.contains('.') && !domain.starts_with('[') {
        return Some("a domain without a dot has no senders outside this machine");
    }
    None
}

fn odd_local(local: &str) -> Option<&'static str> {
    if local.contains('*') {
        return Some("an address has no wildcards; use from_domain or to_contains");
    }
    if local.starts_with("mailto:") || local.contains(['<', '"']) {
        return Some("give the bare address, such as alice@example.com");
    }
    None
}

/// From lines are written by whoever sends.
fn trust(site: &Site<'_>, rule: &Rule) -> Option<(Code, String)> {
    let by_sender = |one: &Predicate| matches!(one, Predicate::From(_) | Predicate::FromDomain(_));
    match site.folder.mode {
        Mode::Blacklist if rule.predicates.iter().all(by_sender) => {
            let text = format!(
                "every sender whom no rule names is shown up to {}, and a From line is easily forged; \
                 whitelist those that may be read",
                site.folder.default.name()
            );
            Some((Code::BlacklistBySender, text))
        }
        Mode::Whitelist if rule.level >= Level::Body && rule.predicates.iter().any(by_sender) => {
            let text = format!(
                "grants {} to a From line, which anyone can write; \
                 see that the server refuses mail that fails DMARC",
                rule.level.name()
            );
            Some((Code::SenderNotProven, text))
        }
        Mode::Whitelist | Mode::Blacklist => None,
    }
}
