//! Commands about the session: capabilities, login, encryption, identity.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::{BadArgument, Command, Piece};

/// Where an `AUTHENTICATE` puts its first response.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum InitialResponse {
    InCommand,
    AfterContinuation,
}

impl Command {
    pub fn capability() -> Self {
        Self::new("CAPABILITY")
    }

    pub fn noop() -> Self {
        Self::new("NOOP")
    }

    pub fn logout() -> Self {
        Self::new("LOGOUT")
    }

    pub fn starttls() -> Self {
        Self::new("STARTTLS")
    }

    pub fn login(user: &str, password: &str) -> Result<Self, BadArgument> {
        Self::new("LOGIN")
            .syntax(" ")
            .string(user.as_bytes())?
            .syntax(" ")
            .string(password.as_bytes())
    }

    /// RFC 4616 in one go (`SASL-IR`, RFC 4959).
    pub fn authenticate_plain(user: &str, password: &str) -> Result<Self, BadArgument> {
        plain(user, password, InitialResponse::InCommand)
    }

    /// RFC 4616 for servers without `SASL-IR`.
    pub fn authenticate_plain_later(user: &str, password: &str) -> Result<Self, BadArgument> {
        plain(user, password, InitialResponse::AfterContinuation)
    }

    /// RFC 2971: who we are.
    pub fn id(fields: &[(&str, &str)]) -> Result<Self, BadArgument> {
        if fields.is_empty() {
            return Ok(Self::new("ID").syntax(" NIL"));
        }
        let mut command = Self::new("ID").syntax(" (");
        for (index, (name, value)) in fields.iter().enumerate() {
            let space = if index > 0 { " " } else { "" };
            command = command.syntax(space).string(name.as_bytes())?;
            command = command.syntax(" ").string(value.as_bytes())?;
        }
        Ok(command.syntax(")"))
    }
}

fn plain(user: &str, password: &str, place: InitialResponse) -> Result<Command, BadArgument> {
    if user.contains('\0') || password.contains('\0') {
        return Err(BadArgument);
    }
    let response = STANDARD.encode(format!("\0{user}\0{password}"));
    let mut command = Command::new("AUTHENTICATE").syntax(" PLAIN");
    match place {
        InitialResponse::InCommand => command = command.syntax(" ").syntax(&response),
        InitialResponse::AfterContinuation => {
            command
                .pieces
                .push(Piece::AfterContinuation(response.into_bytes()));
        }
    }
    Ok(command)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::{Literals, wire};

    #[test]
    fn logins_on_the_wire() {
        for (command, want) in [
            (
                Command::login("alice", "s\"ec"),
                "a1 LOGIN \"alice\" \"s\\\"ec\"\r\n",
            ),
            (
                Command::login("a", "pä"),
                "a1 LOGIN \"a\" {3}\r\n<wait>pä\r\n",
            ),
            (
                Command::authenticate_plain("alice", "pä"),
                "a1 AUTHENTICATE PLAIN AGFsaWNlAHDDpA==\r\n",
            ),
            (
                Command::authenticate_plain_later("alice", "pä"),
                "a1 AUTHENTICATE PLAIN\r\n<wait>AGFsaWNlAHDDpA==\r\n",
            ),
            (
                Command::id(&[("name", "mailwarden")]),
                "a1 ID (\"name\" \"mailwarden\")\r\n",
            ),
        ] {
            assert_eq!(wire(&command.unwrap(), Literals::Wait), want);
        }
    }

    #[test]
    fn nul_never_leaves() {
        assert!(Command::login("a\0b", "c").is_err());
        assert!(Command::authenticate_plain("a", "b\0c").is_err());
    }
}
