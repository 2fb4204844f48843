//! Servers that take command lines of some thousand octets only. The one place that says how long ours may be.
//!
//! Who: Exchange and Outlook answer `BAD Command Error. 10` or hang up (reported for MailKit, Mailspring, Nextcloud Mail and
//! node-imap, with sets of UIDs of ten thousand octets and more); Dovecot says `Too long argument` beyond its
//! `imap_max_line_length` of 64 kB. RFC 7162 section 4 has clients stay below 8,192 octets and servers take that much.
//!
//! Known by: nothing; it holds for all. Done: sets of UIDs are cut into several commands, and so are searches for one of many
//! things. A search that cannot be cut, such as one for a very long text, goes as it is. Told: nothing.

use imap::command::{Key, SearchReturn};
use mail::Fault;

use crate::imap::conditions;

/// Octets of a command, with its tag.
pub(in crate::imap) const LONGEST: usize = 8_000;

/// What is left of it for a set of UIDs, beside the items that are asked of them.
pub(in crate::imap) const MOST_OF_A_SET: usize = LONGEST - 500;

/// What is left of it for words, beside a set of UIDs that are left out.
pub(in crate::imap) const MOST_WORDS: usize = LONGEST - MOST_LEFT_OUT - 500;

/// What was seen already is left out of a search, if it is said in so many octets.
pub(in crate::imap) const MOST_LEFT_OUT: usize = 1_500;

/// Tag, return options and charset.
const AROUND: usize = 100;

/// Searches that together find what the one finds that these keys make.
pub(in crate::imap) fn cut(keys: Vec<Key<'_>>) -> Result<Vec<Vec<Key<'_>>>, Fault> {
    let (mut whole, mut rest) = (Vec::new(), vec![keys]);
    while let Some(keys) = rest.pop() {
        let octets = conditions::command(SearchReturn::Plain, &keys)?.octets();
        let fits = usize::try_from(octets).is_ok_and(|octets| octets + AROUND <= LONGEST);
        match (fits, halves(&keys)) {
            (false, Some((one, other))) => rest.extend([other, one]),
            _ => whole.push(keys),
        }
    }
    Ok(whole)
}

/// None where nothing is one of several.
fn halves<'k>(keys: &[Key<'k>]) -> Option<(Vec<Key<'k>>, Vec<Key<'k>>)> {
    let several = |key: &Key<'_>| match key {
        Key::Any(any) if any.len() > 1 => any.len(),
        _ => 0,
    };
    let at = (0..keys.len()).max_by_key(|at| keys.get(*at).map_or(0, several))?;
    let Key::Any(any) = keys.get(at)? else {
        return None;
    };
    if any.len() < 2 {
        return None;
    }
    let (one, other) = any.split_at(any.len() / 2);
    let with = |half: &[Key<'k>]| {
        let mut keys = keys.to_vec();
        if let Some(key) = keys.get_mut(at) {
            *key = Key::Any(half.to_vec());
        }
        keys
    };
    Some((with(one), with(other)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_for_one_of_many_is_cut_and_nothing_is_lost() {
        let names: Vec<String> = (0..1_000)
            .map(|n| format!("somebody{n}@example.org"))
            .collect();
        let any = Key::Any(names.iter().map(|name| Key::From(name)).collect());
        let keys = vec![Key::Flag("\\Seen"), any];
        let cut = cut(keys).unwrap();
        assert!(cut.len() > 3);
        let mut told = Vec::new();
        for keys in &cut {
            let command = conditions::command(SearchReturn::CountAll, keys).unwrap();
            assert!(command.octets() < u64::try_from(LONGEST).unwrap());
            let [Key::Flag("\\Seen"), Key::Any(any)] = keys.as_slice() else {
                panic!("{keys:?}");
            };
            told.extend(any.iter().cloned());
        }
        let all: Vec<Key<'_>> = names.iter().map(|name| Key::From(name)).collect();
        assert_eq!(told, all, "in their order");
    }

    #[test]
    fn what_cannot_be_cut_goes_as_it_is() {
        let long = "x".repeat(900);
        let each: Vec<Key<'_>> = vec![Key::Subject(&long); 20];
        for keys in [
            vec![],
            vec![Key::All],
            each.clone(),
            vec![Key::Any(vec![Key::Each(each)])],
        ] {
            assert_eq!(cut(keys.clone()).unwrap(), [keys]);
        }
    }
}
