//! `UID SEARCH` (RFC 3501 section 6.4.4) with the return options of RFC 4731, 5182 and 9394.

use super::{BadArgument, Command};
use crate::{SequenceSet, ThreadId};

/// A day without a time, as search keys want it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Day {
    pub year: u16,
    /// 1 to 12.
    pub month: u8,
    pub day: u8,
}

/// Conditions nest this deep at most: servers give up on what nests deeper.
const MOST_DEPTH: usize = 40;

/// One condition. All conditions of a search hold at once.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Key<'a> {
    All,
    /// Each of them; none means every message.
    Each(Vec<Key<'a>>),
    /// At least one of them; none means no message.
    Any(Vec<Key<'a>>),
    Not(Box<Key<'a>>),
    Text(&'a str),
    From(&'a str),
    To(&'a str),
    Cc(&'a str),
    Subject(&'a str),
    /// A field of that name holds the text.
    Header {
        name: &'a str,
        holds: &'a str,
    },
    /// More octets than this.
    Larger(u32),
    /// Fewer octets than this.
    Smaller(u32),
    /// A system flag such as `\Seen`, or a keyword.
    Flag(&'a str),
    /// Arrived on this day or later.
    Since(Day),
    /// Arrived before this day.
    Before(Day),
    Uid(SequenceSet),
    /// `X-GM-MSGID`: this message, and no other.
    GmailMessage(u64),
    /// `X-GM-RAW`: what the words find that a person would type into Gmail's own search.
    GmailRaw(&'a str),
    /// The server says that it is of this conversation.
    Thread(&'a ThreadId),
    /// In one thread with a message that meets the condition, by references (`INTHREAD REFS` of
    /// draft-ietf-morg-inthread, as Dovecot has it).
    InThread(Box<Key<'a>>),
}

/// What the answer shall hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SearchReturn {
    /// The plain `SEARCH` of RFC 3501.
    Plain,
    /// `COUNT ALL` (`ESEARCH`).
    CountAll,
    /// `COUNT` (`ESEARCH`).
    Count,
    /// `COUNT`, and what was found is kept as [`Which::Saved`](super::Which::Saved) (`SEARCHRES`, RFC 5182).
    Save,
    /// The same with `ALL`.
    SaveAll,
    /// `COUNT` and the newest so many (`PARTIAL`, RFC 9394).
    Newest(u32),
}

impl Command {
    pub fn uid_search(returns: SearchReturn, keys: &[Key<'_>]) -> Result<Self, BadArgument> {
        let mut command = Self::new("UID SEARCH").syntax(&match returns {
            SearchReturn::Plain => String::new(),
            SearchReturn::CountAll => " RETURN (COUNT ALL)".to_owned(),
            SearchReturn::Count => " RETURN (COUNT)".to_owned(),
            SearchReturn::Save => " RETURN (SAVE COUNT)".to_owned(),
            SearchReturn::SaveAll => " RETURN (SAVE COUNT ALL)".to_owned(),
            SearchReturn::Newest(n) => format!(" RETURN (COUNT PARTIAL -1:-{})", n.max(1)),
        });
        if keys.iter().any(|key| key.is_foreign(MOST_DEPTH)) {
            command = command.syntax(" CHARSET UTF-8");
        }
        if keys.is_empty() {
            return Ok(command.syntax(" ALL"));
        }
        for key in keys {
            command = command.syntax(" ").key(key, MOST_DEPTH)?;
        }
        Ok(command)
    }

    /// `depth` is what is left of it.
    fn key(self, key: &Key<'_>, depth: usize) -> Result<Self, BadArgument> {
        let depth = depth.checked_sub(1).ok_or(BadArgument)?;
        Ok(match key {
            Key::All => self.syntax("ALL"),
            Key::Each(each) => self.each(each, depth)?,
            Key::Any(any) => self.any(any, depth)?,
            Key::Not(key) => match key.as_ref() {
                Key::Flag(flag) => self.syntax("UN").flag(flag)?,
                key => self.syntax("NOT ").key(key, depth)?,
            },
            Key::Text(text) => self.syntax("TEXT ").string(text.as_bytes())?,
            Key::From(text) => self.syntax("FROM ").string(text.as_bytes())?,
            Key::To(text) => self.syntax("TO ").string(text.as_bytes())?,
            Key::Cc(text) => self.syntax("CC ").string(text.as_bytes())?,
            Key::Subject(text) => self.syntax("SUBJECT ").string(text.as_bytes())?,
            Key::Header { name, holds } => {
                let command = self.syntax("HEADER ").string(field_name(name)?)?;
                command.syntax(" ").string(holds.as_bytes())?
            }
            Key::Larger(octets) => self.syntax(&format!("LARGER {octets}")),
            Key::Smaller(octets) => self.syntax(&format!("SMALLER {octets}")),
            Key::Flag(flag) => self.flag(flag)?,
            Key::Since(day) => self.syntax(&format!("SINCE {}", day.wire())),
            Key::Before(day) => self.syntax(&format!("BEFORE {}", day.wire())),
            // Grammar has no empty set.
            Key::Uid(set) if set.is_empty() => self.syntax("NOT ALL"),
            Key::Uid(set) => self.syntax(&format!("UID {set}")),
            Key::GmailMessage(id) => self.syntax(&format!("X-GM-MSGID {id}")),
            Key::GmailRaw(words) => self.syntax("X-GM-RAW ").string(words.as_bytes())?,
            Key::Thread(id) => self.syntax(&id.wire()),
            Key::InThread(key) => self.syntax("INTHREAD REFS ").key(key, depth)?,
        })
    }

    fn each(self, each: &[Key<'_>], depth: usize) -> Result<Self, BadArgument> {
        let (first, rest) = match each {
            [] => return Ok(self.syntax("ALL")),
            [only] => return self.key(only, depth),
            [first, rest @ ..] => (first, rest),
        };
        let mut command = self.syntax("(").key(first, depth)?;
        for key in rest {
            command = command.syntax(" ").key(key, depth)?;
        }
        Ok(command.syntax(")"))
    }

    /// `OR` takes two, so that many become a tree: a balanced one, as servers bound its depth.
    fn any(self, any: &[Key<'_>], depth: usize) -> Result<Self, BadArgument> {
        match any {
            [] => Ok(self.syntax("NOT ALL")),
            [only] => self.key(only, depth),
            many => {
                let depth = depth.checked_sub(1).ok_or(BadArgument)?;
                let (left, right) = many.split_at(many.len() / 2);
                let command = self.syntax("OR ").any(left, depth)?;
                command.syntax(" ").any(right, depth)
            }
        }
    }

    fn flag(self, flag: &str) -> Result<Self, BadArgument> {
        const SYSTEM: [(&str, &str); 5] = [
            ("\\Seen", "SEEN"),
            ("\\Flagged", "FLAGGED"),
            ("\\Answered", "ANSWERED"),
            ("\\Draft", "DRAFT"),
            ("\\Deleted", "DELETED"),
        ];
        let known = SYSTEM
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(flag));
        match known {
            Some((_, word)) => Ok(self.syntax(word)),
            None => Ok(self.syntax("KEYWORD ").syntax(atom(flag)?)),
        }
    }
}

/// RFC 3501 section 9: a keyword is an atom, and cannot be written otherwise.
pub(super) fn atom(text: &str) -> Result<&str, BadArgument> {
    let fits = |byte: u8| byte.is_ascii_graphic() && !b"(){%*\"\\]".contains(&byte);
    let good = !text.is_empty() && text.len() <= 1_000 && text.bytes().all(fits);
    good.then_some(text).ok_or(BadArgument)
}

/// RFC 5322 section 3.6.8.
fn field_name(text: &str) -> Result<&[u8], BadArgument> {
    let fits = |byte: u8| byte.is_ascii_graphic() && byte != b':';
    let good = !text.is_empty() && text.len() <= 1_000 && text.bytes().all(fits);
    good.then_some(text.as_bytes()).ok_or(BadArgument)
}

impl Key<'_> {
    /// Holds text that is not ASCII. What nests too deep is not looked at, and refused later.
    fn is_foreign(&self, depth: usize) -> bool {
        let Some(depth) = depth.checked_sub(1) else {
            return false;
        };
        match self {
            Self::Text(text)
            | Self::From(text)
            | Self::To(text)
            | Self::Cc(text)
            | Self::Subject(text)
            | Self::GmailRaw(text)
            | Self::Header { holds: text, .. } => !text.is_ascii(),
            Self::Each(keys) | Self::Any(keys) => keys.iter().any(|key| key.is_foreign(depth)),
            Self::Not(key) | Self::InThread(key) => key.is_foreign(depth),
            Self::All
            | Self::Larger(_)
            | Self::Smaller(_)
            | Self::Flag(_)
            | Self::Since(_)
            | Self::Before(_)
            | Self::Uid(_)
            | Self::GmailMessage(_)
            | Self::Thread(_) => false,
        }
    }
}

impl Day {
    fn wire(self) -> String {
        const MONTHS: [&str; 12] = [
            "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
        ];
        let month = usize::from(self.month.clamp(1, 12)) - 1;
        let month = MONTHS.get(month).copied().unwrap_or("Jan");
        format!(
            "{}-{}-{:04}",
            self.day.clamp(1, 31),
            month,
            self.year.min(9_999)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::{Literals, wire};

    fn not(key: Key<'_>) -> Key<'_> {
        Key::Not(Box::new(key))
    }

    #[test]
    fn conditions_on_the_wire() {
        let header = |name, holds| Key::Header { name, holds };
        let gmail = ThreadId::Gmail(1_278_455_344_230_334_865);
        let object = ThreadId::object(b"T64-b_4").unwrap();
        let from = || ["a", "b", "c", "d", "e"].map(Key::From).to_vec();
        for (key, want) in [
            (Key::Each(vec![]), "ALL"),
            (Key::Each(vec![Key::Cc("x")]), "CC \"x\""),
            (
                Key::Each(vec![Key::Larger(5), Key::Smaller(u32::MAX)]),
                "(LARGER 5 SMALLER 4294967295)",
            ),
            (Key::Any(vec![]), "NOT ALL"),
            (Key::Any(vec![Key::All]), "ALL"),
            (
                Key::Any(from()),
                "OR OR FROM \"a\" FROM \"b\" OR FROM \"c\" OR FROM \"d\" FROM \"e\"",
            ),
            (
                Key::Any(vec![Key::Each(from()), not(Key::Any(vec![]))]),
                "OR (FROM \"a\" FROM \"b\" FROM \"c\" FROM \"d\" FROM \"e\") NOT NOT ALL",
            ),
            (
                not(Key::Any(vec![Key::To("x"), Key::Cc("y")])),
                "NOT OR TO \"x\" CC \"y\"",
            ),
            (header("List-Id", "a\" b"), "HEADER \"List-Id\" \"a\\\" b\""),
            (header("X\"", ""), "HEADER \"X\\\"\" \"\""),
            (Key::Flag("\\FLAGGED"), "FLAGGED"),
            (Key::Flag("\\Answered"), "ANSWERED"),
            (not(Key::Flag("\\Draft")), "UNDRAFT"),
            (Key::Flag("\\Deleted"), "DELETED"),
            (Key::Flag("$Junk"), "KEYWORD $Junk"),
            (not(Key::Flag("Work")), "UNKEYWORD Work"),
            (Key::Uid(SequenceSet::default()), "NOT ALL"),
            (Key::Thread(&gmail), "X-GM-THRID 1278455344230334865"),
            (Key::Thread(&object), "THREADID T64-b_4"),
            (
                Key::GmailMessage(u64::MAX),
                "X-GM-MSGID 18446744073709551615",
            ),
            (
                Key::GmailRaw("has:attachment \" OR in:trash\\"),
                "X-GM-RAW \"has:attachment \\\" OR in:trash\\\\\"",
            ),
            (
                Key::GmailRaw("a\r\nb LOGOUT"),
                "X-GM-RAW {11+}\r\na\r\nb LOGOUT",
            ),
            (
                Key::InThread(Box::new(Key::Any(vec![Key::To("x"), Key::Cc("y")]))),
                "INTHREAD REFS OR TO \"x\" CC \"y\"",
            ),
        ] {
            let command = Command::uid_search(SearchReturn::Plain, &[key]).unwrap();
            let got = wire(&command, Literals::Plus);
            assert_eq!(got, format!("a1 UID SEARCH {want}\r\n"));
        }
    }

    #[test]
    fn what_is_foreign_anywhere_names_its_charset() {
        let deep = not(Key::Any(vec![Key::All, Key::Each(vec![Key::Cc("ü")])]));
        let header = Key::Header {
            name: "X",
            holds: "ü",
        };
        for key in [deep, header, Key::GmailRaw("ü")] {
            let command = Command::uid_search(SearchReturn::CountAll, &[key]).unwrap();
            let got = wire(&command, Literals::Plus);
            assert!(got.starts_with("a1 UID SEARCH RETURN (COUNT ALL) CHARSET UTF-8 "));
        }
    }

    #[test]
    fn names_that_would_be_syntax_are_refused() {
        for flag in [
            "", " ", "a b", "a)", "(a", "\\Recent", "\\*", "a*", "a]", "{5}", "ü", "a\r\nb", "a\"",
            "a\0", "%",
        ] {
            for key in [Key::Flag(flag), not(Key::Flag(flag))] {
                let command = Command::uid_search(SearchReturn::Plain, &[key]);
                assert_eq!(command, Err(BadArgument), "{flag:?}");
            }
        }
        for name in ["", "a b", "a:", "ü", "a\r\nb", "a\0", ":"] {
            let key = Key::Header { name, holds: "x" };
            let command = Command::uid_search(SearchReturn::Plain, &[key]);
            assert_eq!(command, Err(BadArgument), "{name:?}");
        }
    }

    #[test]
    fn depth_is_bounded_and_breadth_is_not() {
        let wide = Key::Any(vec![Key::From("x"); 5_000]);
        let command = Command::uid_search(SearchReturn::Plain, &[wide]).unwrap();
        let got = wire(&command, Literals::Plus);
        assert_eq!(got.matches("OR ").count(), 4_999);
        assert!(!got.contains(&"OR ".repeat(14)));
        let deep = (0..MOST_DEPTH).fold(Key::All, |key, _| not(key));
        assert!(Command::uid_search(SearchReturn::Plain, &[deep]).is_err());
    }

    #[test]
    fn searches_on_the_wire() {
        let day = Day {
            year: 2026,
            month: 11,
            day: 5,
        };
        for (returns, keys, want) in [
            (SearchReturn::Plain, vec![], "a1 UID SEARCH ALL\r\n"),
            (
                SearchReturn::CountAll,
                vec![not(Key::Flag("\\Seen")), Key::From("anna")],
                "a1 UID SEARCH RETURN (COUNT ALL) UNSEEN FROM \"anna\"\r\n",
            ),
            (
                SearchReturn::Count,
                vec![
                    Key::Uid(SequenceSet::range(1, 41)),
                    Key::Since(day),
                    Key::Before(day),
                ],
                "a1 UID SEARCH RETURN (COUNT) UID 1:41 SINCE 5-Nov-2026 BEFORE 5-Nov-2026\r\n",
            ),
            (
                SearchReturn::Save,
                vec![
                    Key::Uid(SequenceSet::of([7])),
                    Key::Larger(41),
                    Key::Smaller(43),
                ],
                "a1 UID SEARCH RETURN (SAVE COUNT) UID 7 LARGER 41 SMALLER 43\r\n",
            ),
            (
                SearchReturn::Newest(10),
                vec![Key::Text("x")],
                "a1 UID SEARCH RETURN (COUNT PARTIAL -1:-10) TEXT \"x\"\r\n",
            ),
            (
                SearchReturn::Plain,
                vec![Key::Subject("\" BODY \"word")],
                "a1 UID SEARCH SUBJECT \"\\\" BODY \\\"word\"\r\n",
            ),
            (
                SearchReturn::Plain,
                vec![Key::Subject("Rüben"), not(Key::Flag("\\seen"))],
                "a1 UID SEARCH CHARSET UTF-8 SUBJECT {6+}\r\nRüben UNSEEN\r\n",
            ),
            (
                SearchReturn::Plain,
                vec![Key::Subject("x\r\na2 DELETE INBOX")],
                "a1 UID SEARCH SUBJECT {18+}\r\nx\r\na2 DELETE INBOX\r\n",
            ),
        ] {
            let command = Command::uid_search(returns, &keys).unwrap();
            assert_eq!(wire(&command, Literals::Plus), want);
        }
    }
}
