//! All mail of some accounts as a multiset: where each message lies, its whole content by hash, its flags, its date.
//! Read over connections of its own; never changes anything, and does not look at UIDs.

use crate::client::RawImap;
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::fmt;

/// One message as it lies somewhere. Two that are the same in everything are told apart by nothing.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Item {
    /// The account, as the test calls it.
    pub account: String,
    /// The folder as it is spelled on the wire.
    pub folder: String,
    /// SHA-256 of the whole message, in hexadecimal.
    pub hash: String,
    /// Flags and keywords in order, without `\Recent`, which is the session's and not the message's.
    pub flags: Vec<String>,
    /// INTERNALDATE in seconds since 1970.
    pub arrived: i64,
}

/// How many of each there are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct World(BTreeMap<Item, usize>);

/// A message found in a folder, and the number under which it is found again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    pub uid: u32,
    pub uidvalidity: u32,
    pub item: Item,
}

impl Item {
    /// The same message in another place.
    #[must_use]
    pub fn lying_in(&self, account: &str, folder: &str) -> Self {
        Self {
            account: account.to_owned(),
            folder: folder.to_owned(),
            ..self.clone()
        }
    }

    /// The same message with these flags as well.
    #[must_use]
    pub fn flagged(&self, flags: &[&str]) -> Self {
        let mut item = self.clone();
        item.flags.extend(flags.iter().map(|&flag| flag.to_owned()));
        item.flags.sort();
        item.flags.dedup();
        item
    }

    /// The same message without these flags.
    #[must_use]
    pub fn unflagged(&self, flags: &[&str]) -> Self {
        let mut item = self.clone();
        item.flags.retain(|flag| !flags.contains(&flag.as_str()));
        item
    }
}

impl World {
    /// What lies in all folders of these accounts, each over a connection that is logged in.
    pub fn read(accounts: &mut [(&str, RawImap)]) -> Self {
        let mut world = Self::default();
        for (account, imap) in accounts {
            for folder in folders(imap) {
                for found in list(imap, account, &folder) {
                    world.put(found.item);
                }
            }
        }
        world
    }

    pub fn items(&self) -> impl Iterator<Item = &Item> {
        let repeated = self.0.iter();
        repeated.flat_map(|(item, count)| std::iter::repeat_n(item, *count))
    }

    pub fn len(&self) -> usize {
        self.0.values().sum()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn put(&mut self, item: Item) {
        *self.0.entry(item).or_default() += 1;
    }

    /// Takes one away; panics when there is none, as a model that loses count is a broken test.
    pub fn take(&mut self, item: &Item) {
        let count = self.0.get_mut(item);
        let count = count.unwrap_or_else(|| panic!("the world has no {item:?}"));
        *count -= 1;
        if *count == 0 {
            self.0.remove(item);
        }
    }

    /// The same world with one more.
    #[must_use]
    pub fn with(&self, item: Item) -> Self {
        let mut world = self.clone();
        world.put(item);
        world
    }

    /// The same world with one fewer.
    #[must_use]
    pub fn without(&self, item: &Item) -> Self {
        let mut world = self.clone();
        world.take(item);
        world
    }

    /// What this one has and the other has not.
    #[must_use]
    pub fn beyond(&self, other: &Self) -> Self {
        let more = self.0.iter().filter_map(|(item, count)| {
            let left = count.saturating_sub(other.0.get(item).copied().unwrap_or_default());
            (left > 0).then(|| (item.clone(), left))
        });
        Self(more.collect())
    }
}

impl FromIterator<Item> for World {
    fn from_iter<I: IntoIterator<Item = Item>>(items: I) -> Self {
        let mut world = Self::default();
        items.into_iter().for_each(|item| world.put(item));
        world
    }
}

impl fmt::Display for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (account, folder, flags) = (&self.account, &self.folder, self.flags.join(" "));
        let hash = self.hash.get(..8).unwrap_or(&self.hash);
        write!(f, "{account}:{folder} {hash} ({flags}) @{}", self.arrived)
    }
}

impl fmt::Display for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<_> = self.items().map(Item::to_string).collect();
        f.write_str(&lines.join("; "))
    }
}

/// SHA-256 as an [`Item`] has it.
pub fn hash(raw: &[u8]) -> String {
    let digest = Sha256::digest(raw);
    digest.iter().map(|octet| format!("{octet:02x}")).collect()
}

/// All messages of a folder, by ascending UID. The folder is left examined.
pub fn list(imap: &mut RawImap, account: &str, folder: &str) -> Vec<Found> {
    let examined = imap.command(&format!("EXAMINE {}", quoted(folder))).text();
    let uidvalidity = after(&examined, "UIDVALIDITY ").expect("a UIDVALIDITY");
    let reply = imap.command("UID FETCH 1:* (UID FLAGS INTERNALDATE BODY.PEEK[])");
    let mut all: Vec<Found> = reply
        .untagged
        .iter()
        .filter_map(|line| fetched(line))
        .map(|(uid, item)| Found {
            uid,
            uidvalidity,
            item: item.lying_in(account, folder),
        })
        .collect();
    all.sort_by_key(|found| found.uid);
    all
}

/// Names of all folders that can be opened, as they are spelled on the wire.
fn folders(imap: &mut RawImap) -> Vec<String> {
    let reply = imap.command("LIST \"\" *");
    let mut names: Vec<_> = reply
        .lines()
        .iter()
        .filter_map(|line| listed(line))
        .collect();
    names.sort();
    names
}

/// The name in a LIST response; none for what is no folder.
fn listed(line: &str) -> Option<String> {
    let (attributes, rest) = line.strip_prefix("* LIST (")?.split_once(") ")?;
    if attributes.to_ascii_lowercase().contains("\\noselect") {
        return None;
    }
    // The separator is one quoted character or NIL.
    let name = rest
        .strip_prefix("NIL ")
        .or_else(|| rest.split_once("\" ").map(|(_, name)| name))?;
    if let Some((_, literal)) = name.split_once("}\r\n") {
        return Some(literal.to_owned());
    }
    let Some(inner) = name.strip_prefix('"').and_then(|n| n.strip_suffix('"')) else {
        return Some(name.to_owned());
    };
    let mut plain = String::new();
    let mut letters = inner.chars();
    while let Some(letter) = letters.next() {
        plain.extend(match letter {
            '\\' => letters.next(),
            letter => Some(letter),
        });
    }
    Some(plain)
}

/// UID and message of a FETCH response with one literal; none for another response.
fn fetched(line: &[u8]) -> Option<(u32, Item)> {
    let open = memchr::memmem::find(line, b"BODY[] {")?;
    let close = open + memchr::memchr(b'}', &line[open..])?;
    let size: usize = std::str::from_utf8(&line[open + 8..close])
        .ok()?
        .parse()
        .ok()?;
    let begin = close + 3;
    let (head, tail) = (&line[..open], line.get(begin + size..)?);
    let words = String::from_utf8_lossy(&[head, tail].concat()).into_owned();
    let (_, flags) = words.split_once("FLAGS (")?;
    let mut flags: Vec<_> = flags.split_once(')')?.0.split_whitespace().collect();
    flags.retain(|flag| !flag.eq_ignore_ascii_case("\\Recent"));
    flags.sort_unstable();
    let (_, date) = words.split_once("INTERNALDATE \"")?;
    let item = Item {
        account: String::new(),
        folder: String::new(),
        hash: hash(line.get(begin..begin + size)?),
        flags: flags.into_iter().map(str::to_owned).collect(),
        arrived: instant(date.split_once('"')?.0)?,
    };
    Some((after(&words, "UID ")?, item))
}

/// The number that follows a word.
fn after(text: &str, word: &str) -> Option<u32> {
    let (_, rest) = text.split_once(word)?;
    let digits = rest.split(|c: char| !c.is_ascii_digit()).next()?;
    digits.parse().ok()
}

/// `date-time` of RFC 3501 as seconds since 1970.
fn instant(date: &str) -> Option<i64> {
    const MONTHS: &str = "JanFebMarAprMayJunJulAugSepOctNovDec";
    let words: Vec<&str> = date.split_whitespace().collect();
    let [day, time, zone] = words.as_slice() else {
        return None;
    };
    let parts: Vec<&str> = day.split('-').collect();
    let [day, month, year] = parts.as_slice() else {
        return None;
    };
    let month = i64::try_from(MONTHS.find(month)? / 3).ok()? + 1;
    let (day, year): (i64, i64) = (day.parse().ok()?, year.parse().ok()?);
    let clock: Vec<i64> = time
        .split(':')
        .filter_map(|part| part.parse().ok())
        .collect();
    let [hour, minute, second] = clock.as_slice() else {
        return None;
    };
    let offset: i64 = zone.parse().ok()?;
    // Years that begin in March: a leap day is then a year's last.
    let year = if month <= 2 { year - 1 } else { year };
    let march = (month + 9) % 12;
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * march + 2) / 5 + day - 1;
    let utc = (days - 719_468) * 86_400 + hour * 3_600 + minute * 60 + second;
    Some(utc - (offset / 100 * 3_600 + offset % 100 * 60))
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('\\', r"\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_instants() {
        for (date, instant_of) in [
            ("01-Jan-1970 00:00:00 +0000", 0),
            ("29-Feb-2000 00:00:00 +0000", 951_782_400),
            (" 1-Jun-2026 03:01:01 +0200", 1_780_275_661),
            ("31-Dec-2025 18:29:59 -0530", 1_767_225_599),
        ] {
            assert_eq!(instant(date), Some(instant_of), "{date}");
        }
    }

    #[test]
    fn names_of_folders_are_read() {
        for (line, name) in [
            ("* LIST (\\HasNoChildren) \"/\" INBOX", Some("INBOX")),
            ("* LIST () \".\" \"a \\\"b\\\" c\"", Some("a \"b\" c")),
            ("* LIST () NIL {3}\r\na b", Some("a b")),
            ("* LIST (\\Noselect) \"/\" x", None),
            ("* OK nothing", None),
        ] {
            assert_eq!(listed(line).as_deref(), name, "{line}");
        }
    }

    #[test]
    fn worlds_are_compared_as_multisets() {
        let (_, one) = fetched(
            b"* 1 FETCH (UID 7 FLAGS (\\Seen \\Recent a) INTERNALDATE \"01-Jan-1970 00:00:01 +0000\" BODY[] {2}\r\nhi)",
        )
        .unwrap();
        assert_eq!(
            (one.flags.as_slice(), one.arrived),
            (&["\\Seen".to_owned(), "a".to_owned()][..], 1)
        );
        let once = World::from_iter([one.clone()]);
        let twice = once.with(one.clone());
        assert_ne!(once, twice);
        assert_eq!(twice.beyond(&once), once);
        assert_eq!(twice.without(&one), once);
        assert!(once.beyond(&twice).is_empty());
    }
}
