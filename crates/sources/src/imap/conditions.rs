//! Conditions as the search keys of a server, and what the server can answer them with.

use imap::Command;
use imap::command::{Day, Key, SearchReturn};
use jiff::civil::Date;
use mail::{Condition, Fault, FaultKind, Stage};

use super::quirks::Finding;
use super::session::{Pace, Session};

/// Conditions that nest deeper are not asked: a server would not answer them either.
const MOST_DEPTH: usize = 16;

/// The keys that must all hold.
pub(super) fn keys(condition: &Condition) -> Result<Vec<Key<'_>>, Fault> {
    match condition {
        Condition::All(each) => each.iter().map(|one| key(one, MOST_DEPTH)).collect(),
        one => Ok(vec![key(one, MOST_DEPTH)?]),
    }
}

pub(super) fn command(returns: SearchReturn, keys: &[Key<'_>]) -> Result<Command, Fault> {
    Command::uid_search(returns, keys).map_err(|bad| refused(&bad.to_string()))
}

pub(super) fn has_esearch(session: &Session) -> bool {
    let offered = session.capabilities();
    (offered.has("ESEARCH") || offered.has("IMAP4REV2"))
        && !session.esearch_fails
        && !session.has_found_out(Finding::EsearchLies)
}

/// Whether what a search finds can be kept at the server.
pub(super) fn has_searchres(session: &Session) -> bool {
    let offered = session.capabilities();
    (offered.has("SEARCHRES") || offered.has("IMAP4REV2"))
        && has_esearch(session)
        && !session.searchres_fails
}

/// Whether the server has what these ask for.
pub(super) fn check(session: &Session, tests: &[Condition]) -> Result<(), Fault> {
    match session.is_gmail() || !tests.iter().any(|test| needs_gmail(test, MOST_DEPTH)) {
        true => Ok(()),
        false => Err(Fault::new(FaultKind::NotOffered, Stage::Search)),
    }
}

/// What nests too deep is refused later.
fn needs_gmail(test: &Condition, depth: usize) -> bool {
    let Some(depth) = depth.checked_sub(1) else {
        return false;
    };
    match test {
        Condition::All(tests) | Condition::Any(tests) => {
            tests.iter().any(|test| needs_gmail(test, depth))
        }
        Condition::Not(test) => needs_gmail(test, depth),
        Condition::StoreSearch(_) => true,
        _ => false,
    }
}

/// Whether what they find depends on flags.
pub(super) fn heed_flags(keys: &[Key<'_>]) -> bool {
    keys.iter().any(|key| match key {
        Key::Each(keys) | Key::Any(keys) => heed_flags(keys),
        Key::Not(key) | Key::InThread(key) => heed_flags(std::slice::from_ref(key)),
        Key::Flag(_) | Key::GmailRaw(_) => true,
        Key::All
        | Key::Text(_)
        | Key::From(_)
        | Key::To(_)
        | Key::Cc(_)
        | Key::Subject(_)
        | Key::Header { .. }
        | Key::Larger(_)
        | Key::Smaller(_)
        | Key::Since(_)
        | Key::Before(_)
        | Key::Uid(_)
        | Key::GmailMessage(_)
        | Key::Thread(_) => false,
    })
}

/// Whether the server may have to read mail to answer.
pub(super) fn pace(tests: &[Condition]) -> Pace {
    match tests.iter().all(|test| is_prompt(test, MOST_DEPTH)) {
        true => Pace::Prompt,
        false => Pace::Slow,
    }
}

fn is_prompt(test: &Condition, depth: usize) -> bool {
    let Some(depth) = depth.checked_sub(1) else {
        return false;
    };
    match test {
        Condition::All(tests) | Condition::Any(tests) => {
            tests.iter().all(|test| is_prompt(test, depth))
        }
        Condition::Not(test) => is_prompt(test, depth),
        Condition::Flagged(_) => true,
        _ => false,
    }
}

fn key(condition: &Condition, depth: usize) -> Result<Key<'_>, Fault> {
    let too_deep = || refused("the conditions nest too deep");
    let depth = depth.checked_sub(1).ok_or_else(too_deep)?;
    Ok(match condition {
        Condition::All(each) => Key::Each(several(each, depth)?),
        Condition::Any(any) => Key::Any(several(any, depth)?),
        Condition::Not(one) => Key::Not(Box::new(key(one, depth)?)),
        Condition::From(text) => Key::From(text),
        Condition::To(text) => Key::To(text),
        Condition::Cc(text) => Key::Cc(text),
        Condition::Subject(text) => Key::Subject(text),
        Condition::Text(text) => Key::Text(text),
        Condition::Header { name, holds } => Key::Header { name, holds },
        // No message of RFC 3501 has more octets than 32 bits count.
        Condition::Larger(octets) => Key::Larger(u32::try_from(*octets).unwrap_or(u32::MAX)),
        Condition::Smaller(octets) => match u32::try_from(*octets) {
            Ok(octets) => Key::Smaller(octets),
            Err(_) => Key::All,
        },
        Condition::Since(date) => Key::Since(day(*date)),
        Condition::Before(date) => Key::Before(day(*date)),
        Condition::Flagged(flag) => Key::Flag(flag.as_str()),
        Condition::StoreSearch(words) => Key::GmailRaw(words),
    })
}

fn several(conditions: &[Condition], depth: usize) -> Result<Vec<Key<'_>>, Fault> {
    conditions.iter().map(|one| key(one, depth)).collect()
}

fn refused(why: &str) -> Fault {
    Fault::saying(FaultKind::Rejected, Stage::Search, why)
}

fn day(date: Date) -> Day {
    Day {
        year: date.year().unsigned_abs(),
        month: date.month().unsigned_abs(),
        day: date.day().unsigned_abs(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mail::{Flag, Query};

    #[test]
    fn conditions_become_keys() {
        let seen = || Condition::Flagged(Flag::new("\\Seen"));
        for (condition, want) in [
            (Condition::EVERYTHING, vec![]),
            (Condition::Any(vec![]), vec![Key::Any(vec![])]),
            (
                Condition::All(vec![Condition::All(vec![]), Condition::Any(vec![])]),
                vec![Key::Each(vec![]), Key::Any(vec![])],
            ),
            (
                Condition::Not(Box::new(seen())),
                vec![Key::Not(Box::new(Key::Flag("\\Seen")))],
            ),
            (Condition::Larger(1 << 40), vec![Key::Larger(u32::MAX)]),
            (Condition::Smaller(1 << 40), vec![Key::All]),
            (Condition::Smaller(7), vec![Key::Smaller(7)]),
        ] {
            assert_eq!(keys(&condition).unwrap(), want);
        }
    }

    #[test]
    fn flags_are_noticed_however_deep_they_are() {
        let deep = |key: Key<'static>| Key::Not(Box::new(Key::Any(vec![Key::Each(vec![key])])));
        for (key, heeds) in [
            (Key::Flag("\\Seen"), true),
            (Key::Flag("$Work"), true),
            (Key::GmailRaw("is:unread"), true),
            (Key::From("x"), false),
            (Key::All, false),
        ] {
            for keys in [vec![Key::All, key.clone()], vec![deep(key)]] {
                assert_eq!(heed_flags(&keys), heeds, "{keys:?}");
            }
        }
    }

    #[test]
    fn a_query_is_spelled_as_ever() {
        let query = Query {
            unread_only: true,
            until: Some(jiff::civil::date(2026, 2, 28)),
            subject: Some("x".to_owned()),
            ..Query::default()
        };
        let condition = Condition::from(&query);
        let command = command(SearchReturn::Plain, &keys(&condition).unwrap()).unwrap();
        let mut connection = imap::Connection::new(imap::Limits::default());
        connection.push(&command);
        assert_eq!(
            connection.outgoing(),
            "w1 UID SEARCH UNSEEN BEFORE 1-Mar-2026 SUBJECT \"x\"\r\n"
        );
    }

    #[test]
    fn what_nests_too_deep_is_refused() {
        let deep = (0..1_000).fold(Condition::EVERYTHING, |one, _| Condition::All(vec![one]));
        assert_eq!(keys(&deep).unwrap_err().kind, FaultKind::Rejected);
        assert_eq!(pace(&[deep]), Pace::Slow);
        assert_eq!(
            pace(&[Condition::EVERYTHING, Condition::Flagged(Flag::new("a"))]),
            Pace::Prompt
        );
        assert_eq!(
            pace(&[Condition::EVERYTHING, Condition::Cc("x".to_owned())]),
            Pace::Slow
        );
    }
}
