//! Commands about mailboxes: opening them for reading or for writing, and what can be asked without opening them.
//!
//! There is no `CLOSE`: it takes out whatever anybody flagged `\Deleted`.

use super::{BadArgument, Command};
use crate::utf7;

/// What `LIST` shall return besides names (RFC 5258, 5819, 6154).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ListReturn {
    pub special_use: bool,
    pub status: bool,
}

impl Command {
    /// Opens a mailbox for reading. `name` is decoded UTF-8.
    pub fn examine(name: &str) -> Result<Self, BadArgument> {
        Self::new("EXAMINE").syntax(" ").mailbox(name)
    }

    /// Opens a mailbox for writing. `name` is decoded UTF-8.
    pub fn select(name: &str) -> Result<Self, BadArgument> {
        Self::new("SELECT").syntax(" ").mailbox(name)
    }

    /// Closes the mailbox and takes nothing out of it (RFC 3691).
    pub fn unselect() -> Self {
        Self::new("UNSELECT")
    }

    /// Which message number comes next, and in which generation.
    pub fn status(name: &str) -> Result<Self, BadArgument> {
        let command = Self::new("STATUS").syntax(" ").mailbox(name)?;
        Ok(command.syntax(" (UIDNEXT UIDVALIDITY)"))
    }

    /// All mailboxes.
    pub fn list_all(returns: ListReturn) -> Self {
        let mut wanted = Vec::new();
        if returns.special_use {
            wanted.push("SPECIAL-USE");
        }
        if returns.status {
            wanted.push("STATUS (MESSAGES UNSEEN)");
        }
        let list = Self::new("LIST").syntax(" \"\" \"*\"");
        if wanted.is_empty() {
            return list;
        }
        list.syntax(&format!(" RETURN ({})", wanted.join(" ")))
    }

    pub(super) fn mailbox(self, name: &str) -> Result<Self, BadArgument> {
        if name.contains('\0') {
            return Err(BadArgument);
        }
        self.string(utf7::encode(name).as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::{Literals, wire};

    #[test]
    fn mailboxes_on_the_wire() {
        for (command, want) in [
            (Command::examine("INBOX"), "a1 EXAMINE \"INBOX\"\r\n"),
            (
                Command::examine("R&D \"x\""),
                "a1 EXAMINE \"R&-D \\\"x\\\"\"\r\n",
            ),
            (
                Command::examine("Entwürfe"),
                "a1 EXAMINE \"Entw&APw-rfe\"\r\n",
            ),
            (Command::examine("a\r\nb"), "a1 EXAMINE \"a&AA0ACg-b\"\r\n"),
            (
                Command::select("a\" (x)\\"),
                "a1 SELECT \"a\\\" (x)\\\\\"\r\n",
            ),
            (
                Command::status("Entwürfe/x y"),
                "a1 STATUS \"Entw&APw-rfe/x y\" (UIDNEXT UIDVALIDITY)\r\n",
            ),
            (Ok(Command::unselect()), "a1 UNSELECT\r\n"),
        ] {
            assert_eq!(wire(&command.unwrap(), Literals::Plus), want);
        }
        for bad in [
            Command::examine("a\0b"),
            Command::select("\0"),
            Command::status("\0"),
        ] {
            assert_eq!(bad, Err(BadArgument));
        }
    }

    #[test]
    fn list_asks_for_what_is_offered() {
        let plain = Command::list_all(ListReturn::default());
        assert_eq!(wire(&plain, Literals::Plus), "a1 LIST \"\" \"*\"\r\n");
        let full = Command::list_all(ListReturn {
            special_use: true,
            status: true,
        });
        assert_eq!(
            wire(&full, Literals::Plus),
            "a1 LIST \"\" \"*\" RETURN (SPECIAL-USE STATUS (MESSAGES UNSEEN))\r\n"
        );
    }
}
