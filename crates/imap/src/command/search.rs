//! `UID SEARCH` (RFC 3501 section 6.4.4) with the return options of RFC 4731 and 9394.

use super::{BadArgument, Command};
use crate::SequenceSet;

/// A day without a time, as search keys want it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Day {
    pub year: u16,
    /// 1 to 12.
    pub month: u8,
    pub day: u8,
}

/// One condition. All conditions of a search hold at once.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Key<'a> {
    All,
    Text(&'a str),
    From(&'a str),
    To(&'a str),
    Subject(&'a str),
    Unseen,
    /// Arrived on this day or later.
    Since(Day),
    /// Arrived before this day.
    Before(Day),
    Uid(SequenceSet),
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
    /// `COUNT` and the newest so many (`PARTIAL`, RFC 9394).
    Newest(u32),
}

impl Command {
    pub fn uid_search(returns: SearchReturn, keys: &[Key<'_>]) -> Result<Self, BadArgument> {
        let mut command = Self::new("UID SEARCH").syntax(&match returns {
            SearchReturn::Plain => String::new(),
            SearchReturn::CountAll => " RETURN (COUNT ALL)".to_owned(),
            SearchReturn::Count => " RETURN (COUNT)".to_owned(),
            SearchReturn::Newest(n) => format!(" RETURN (COUNT PARTIAL -1:-{})", n.max(1)),
        });
        if keys
            .iter()
            .any(|key| key.text().is_some_and(|text| !text.is_ascii()))
        {
            command = command.syntax(" CHARSET UTF-8");
        }
        if keys.is_empty() {
            return Ok(command.syntax(" ALL"));
        }
        for key in keys {
            command = command.syntax(" ").key(key)?;
        }
        Ok(command)
    }

    fn key(self, key: &Key<'_>) -> Result<Self, BadArgument> {
        Ok(match key {
            Key::All => self.syntax("ALL"),
            Key::Text(text) => self.syntax("TEXT ").string(text.as_bytes())?,
            Key::From(text) => self.syntax("FROM ").string(text.as_bytes())?,
            Key::To(text) => self.syntax("TO ").string(text.as_bytes())?,
            Key::Subject(text) => self.syntax("SUBJECT ").string(text.as_bytes())?,
            Key::Unseen => self.syntax("UNSEEN"),
            Key::Since(day) => self.syntax(&format!("SINCE {}", day.wire())),
            Key::Before(day) => self.syntax(&format!("BEFORE {}", day.wire())),
            // Grammar has no empty set.
            Key::Uid(set) if set.is_empty() => self.syntax("NOT ALL"),
            Key::Uid(set) => self.syntax(&format!("UID {set}")),
        })
    }
}

impl Key<'_> {
    fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) | Self::From(text) | Self::To(text) | Self::Subject(text) => {
                Some(text)
            }
            Self::All | Self::Unseen | Self::Since(_) | Self::Before(_) | Self::Uid(_) => None,
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
                vec![Key::Unseen, Key::From("anna")],
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
                vec![Key::Subject("Rüben"), Key::Unseen],
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
