//! Commands that change mail: `UID STORE`, `UID COPY`, `UID MOVE`, `UID EXPUNGE` and `APPEND`.
//!
//! There is no plain `EXPUNGE`: it takes out whatever anybody flagged `\Deleted`.

use std::fmt;

use super::fetch::{Fetches, Messages};
use super::search::atom;
use super::{BadArgument, Command, Item, Piece};
use crate::{SequenceSet, date};

/// The name of a flag or keyword that can be set: an atom, which cannot end its list early.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FlagName(String);

impl FlagName {
    /// RFC 3501 section 2.3.2. `\Recent` is the server's, and `\*` is no flag.
    pub fn new(name: &str) -> Result<Self, BadArgument> {
        atom(name.strip_prefix('\\').unwrap_or(name))?;
        if name.eq_ignore_ascii_case("\\Recent") {
            return Err(BadArgument);
        }
        Ok(Self(name.to_owned()))
    }
}

/// Which messages of the open mailbox.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Which {
    Uids(SequenceSet),
    /// What the last search kept (`$`, RFC 5182).
    Saved,
}

impl Which {
    /// Grammar has no empty set, and no command that changes mail shall mean another one.
    fn wire(&self) -> Result<String, BadArgument> {
        match self {
            Self::Uids(set) if set.is_empty() => Err(BadArgument),
            Self::Uids(set) => Ok(set.to_string()),
            Self::Saved => Ok("$".to_owned()),
        }
    }
}

/// What becomes of the flags that are named; the others stay as they are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stored {
    Added,
    Removed,
}

impl Command {
    /// Not silent: the server tells the flags that result.
    pub fn uid_store(
        which: &Which,
        stored: Stored,
        flags: &[FlagName],
    ) -> Result<Self, BadArgument> {
        let item = match stored {
            Stored::Added => "+FLAGS",
            Stored::Removed => "-FLAGS",
        };
        let set = which.wire()?;
        let store = Self::new("UID STORE").syntax(&format!(" {set} {item} ({})", listed(flags)));
        Ok(store.telling(which, Item::Flags))
    }

    /// Puts labels on messages or takes them off (`X-GM-LABELS`), names being decoded UTF-8. A label that is not there is
    /// made on the way.
    pub fn uid_store_labels(
        which: &Which,
        stored: Stored,
        labels: &[&str],
    ) -> Result<Self, BadArgument> {
        let item = match stored {
            Stored::Added => "+X-GM-LABELS",
            Stored::Removed => "-X-GM-LABELS",
        };
        let [first, rest @ ..] = labels else {
            return Err(BadArgument);
        };
        let command = Self::new("UID STORE").syntax(&format!(" {} {item} (", which.wire()?));
        let mut command = command.mailbox(first)?;
        for label in rest {
            command = command.syntax(" ").mailbox(label)?;
        }
        Ok(command.syntax(")").telling(which, Item::GmailLabels))
    }

    /// The server answers with what became of this item of each message.
    fn telling(mut self, which: &Which, item: Item) -> Self {
        let messages = match which {
            Which::Uids(set) => Messages::Uids(set.clone()),
            Which::Saved => Messages::Saved,
        };
        self.fetches = Some(Fetches::of(messages, &[item]));
        self
    }

    pub fn uid_copy(which: &Which, to: &str) -> Result<Self, BadArgument> {
        let command = Self::new("UID COPY").syntax(&format!(" {} ", which.wire()?));
        command.mailbox(to)
    }

    /// RFC 6851.
    pub fn uid_move(which: &Which, to: &str) -> Result<Self, BadArgument> {
        let command = Self::new("UID MOVE").syntax(&format!(" {} ", which.wire()?));
        command.mailbox(to)
    }

    /// Takes out those of these messages that are flagged `\Deleted` (RFC 4315).
    pub fn uid_expunge(which: &Which) -> Result<Self, BadArgument> {
        Ok(Self::new("UID EXPUNGE").syntax(&format!(" {}", which.wire()?)))
    }

    /// Adds a message of so many octets, which are streamed ([`crate::Connection::owes`]). `arrived` is in seconds
    /// since 1970.
    pub fn append(
        to: &str,
        flags: &[FlagName],
        arrived: Option<i64>,
        octets: u64,
    ) -> Result<Self, BadArgument> {
        let mut command = Self::new("APPEND").syntax(" ").mailbox(to)?;
        if !flags.is_empty() {
            command = command.syntax(&format!(" ({})", listed(flags)));
        }
        if let Some(arrived) = arrived {
            let arrived = date::format(arrived).ok_or(BadArgument)?;
            command = command.syntax(&format!(" \"{arrived}\""));
        }
        command = command.syntax(" ");
        command.pieces.push(Piece::Streamed(octets));
        Ok(command)
    }
}

fn listed(flags: &[FlagName]) -> String {
    let names: Vec<&str> = flags.iter().map(|flag| flag.0.as_str()).collect();
    names.join(" ")
}

impl fmt::Display for FlagName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::{Literals, wire};

    fn flags(names: &[&str]) -> Vec<FlagName> {
        names
            .iter()
            .map(|name| FlagName::new(name).unwrap())
            .collect()
    }

    fn seven() -> Which {
        Which::Uids(SequenceSet::of([7]))
    }

    #[test]
    fn changes_on_the_wire() {
        let some = Which::Uids(SequenceSet::of([3, 4, 9]));
        let keyword = flags(&["\\Deleted", "$Work-2"]);
        for (command, want) in [
            (
                Command::uid_store(&seven(), Stored::Added, &keyword),
                "a1 UID STORE 7 +FLAGS (\\Deleted $Work-2)\r\n",
            ),
            (
                Command::uid_store(&Which::Saved, Stored::Removed, &flags(&["\\seen"])),
                "a1 UID STORE $ -FLAGS (\\seen)\r\n",
            ),
            (
                Command::uid_copy(&seven(), "R&D \"x\"/ü"),
                "a1 UID COPY 7 \"R&-D \\\"x\\\"/&APw-\"\r\n",
            ),
            (
                Command::uid_move(&Which::Saved, "a b"),
                "a1 UID MOVE $ \"a b\"\r\n",
            ),
            (
                Command::uid_store_labels(&seven(), Stored::Added, &["\\Inbox", "a (b\"/ü"]),
                "a1 UID STORE 7 +X-GM-LABELS (\"\\\\Inbox\" \"a (b\\\"/&APw-\")\r\n",
            ),
            (
                Command::uid_store_labels(&seven(), Stored::Removed, &["x"]),
                "a1 UID STORE 7 -X-GM-LABELS (\"x\")\r\n",
            ),
            (Command::uid_expunge(&some), "a1 UID EXPUNGE 3:4,9\r\n"),
            (Command::uid_expunge(&Which::Saved), "a1 UID EXPUNGE $\r\n"),
        ] {
            assert_eq!(wire(&command.unwrap(), Literals::Plus), want);
        }
    }

    #[test]
    fn nothing_is_done_to_no_message_or_to_a_folder_without_a_name() {
        let none = Which::Uids(SequenceSet::default());
        for command in [
            Command::uid_store(&none, Stored::Added, &[]),
            Command::uid_store_labels(&none, Stored::Added, &["x"]),
            Command::uid_store_labels(&seven(), Stored::Added, &[]),
            Command::uid_store_labels(&seven(), Stored::Added, &["a\0"]),
            Command::uid_copy(&none, "x"),
            Command::uid_move(&none, "x"),
            Command::uid_expunge(&none),
            Command::uid_copy(&seven(), "a\0"),
            Command::uid_move(&seven(), "a\0"),
            Command::append("a\0", &[], None, 1),
            Command::append("a", &[], Some(i64::MAX), 1),
        ] {
            assert_eq!(command, Err(BadArgument));
        }
    }

    #[test]
    fn flags_are_atoms() {
        for good in [
            "\\Seen",
            "\\deleted",
            "$Forwarded",
            "a",
            "\\Important",
            "x-y.z",
        ] {
            assert_eq!(FlagName::new(good).unwrap().to_string(), good);
        }
        for bad in [
            "", "\\", "\\*", "\\Recent", "\\recent", "a b", "a)", "(", "a\r\nb", "a\0", "ü", "\"",
            "a\\b", "{5}", "a]", "%", "*", "\\\\Seen",
        ] {
            assert_eq!(FlagName::new(bad), Err(BadArgument), "{bad:?}");
        }
    }

    #[test]
    fn messages_on_the_wire() {
        let seen = flags(&["\\Seen", "work"]);
        let large = (1 << 20) + 1;
        for (command, literals, want) in [
            (
                Command::append("a b", &seen, Some(0), 5),
                Literals::Plus,
                "a1 APPEND \"a b\" (\\Seen work) \"01-Jan-1970 00:00:00 +0000\" {5+}\r\n<5 octets>\r\n",
            ),
            (
                Command::append("x", &[], None, 5),
                Literals::Wait,
                "a1 APPEND \"x\" {5}\r\n<wait><5 octets>\r\n",
            ),
            (
                Command::append("x", &[], None, 4_096),
                Literals::Minus,
                "a1 APPEND \"x\" {4096+}\r\n<4096 octets>\r\n",
            ),
            (
                Command::append("x", &[], None, 4_097),
                Literals::Minus,
                "a1 APPEND \"x\" {4097}\r\n<wait><4097 octets>\r\n",
            ),
            (
                Command::append("x", &[], None, large),
                Literals::Plus,
                "a1 APPEND \"x\" {1048577}\r\n<wait><1048577 octets>\r\n",
            ),
        ] {
            assert_eq!(wire(&command.unwrap(), literals), want);
        }
    }
}
