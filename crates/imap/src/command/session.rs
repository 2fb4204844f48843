//! Commands about the session: capabilities, login, encryption, identity.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::{BadArgument, Command, Piece};

/// Where an `AUTHENTICATE` puts its first response.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InitialResponse {
    /// In the command itself (`SASL-IR`, RFC 4959).
    InCommand,
    AfterContinuation,
}

/// How an access token is shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bearer {
    /// Google's and Microsoft's `XOAUTH2`.
    XOAuth2,
    /// RFC 7628.
    OAuthBearer,
}

impl Bearer {
    /// The SASL mechanism, as `AUTH=` names it.
    pub fn name(self) -> &'static str {
        match self {
            Self::XOAuth2 => "XOAUTH2",
            Self::OAuthBearer => "OAUTHBEARER",
        }
    }

    /// What a server that refused the token, and said why, is answered: it goes on to its tagged `NO` only then.
    fn acknowledgement(self) -> &'static str {
        match self {
            Self::XOAuth2 => "",
            // RFC 7628, section 3.2.3: a lone %x01.
            Self::OAuthBearer => "AQ==",
        }
    }

    fn response(self, user: &str, token: &str, host: &str, port: u16) -> String {
        match self {
            Self::XOAuth2 => format!("user={user}\x01auth=Bearer {token}\x01\x01"),
            Self::OAuthBearer => {
                // RFC 5801, section 4: what would end the name stands encoded.
                let name = user.replace('=', "=3D").replace(',', "=2C");
                format!("n,a={name},\x01host={host}\x01port={port}\x01auth=Bearer {token}\x01\x01")
            }
        }
    }
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

    /// RFC 4616.
    pub fn authenticate_plain(
        user: &str,
        password: &str,
        place: InitialResponse,
    ) -> Result<Self, BadArgument> {
        if user.contains('\0') || password.contains('\0') {
            return Err(BadArgument);
        }
        let response = format!("\0{user}\0{password}");
        Ok(authenticate("PLAIN", &response, place))
    }

    /// An access token instead of a password.
    pub fn authenticate_bearer(
        bearer: Bearer,
        (host, port): (&str, u16),
        user: &str,
        token: &str,
        place: InitialResponse,
    ) -> Result<Self, BadArgument> {
        // RFC 6750, section 2.1; and nothing that would end a field of the response.
        let graphic = |text: &str| text.bytes().all(|byte| byte.is_ascii_graphic());
        if token.is_empty() || !graphic(token) || user.chars().any(char::is_control) {
            return Err(BadArgument);
        }
        let response = bearer.response(user, token, host, port);
        let mut command = authenticate(bearer.name(), &response, place);
        let acknowledgement = bearer.acknowledgement().as_bytes().to_vec();
        command
            .pieces
            .push(Piece::AfterContinuation(acknowledgement));
        Ok(command)
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

fn authenticate(mechanism: &str, response: &str, place: InitialResponse) -> Command {
    let response = STANDARD.encode(response);
    let mut command = Command::new("AUTHENTICATE").syntax(" ").syntax(mechanism);
    match place {
        InitialResponse::InCommand => command = command.syntax(" ").syntax(&response),
        InitialResponse::AfterContinuation => {
            command
                .pieces
                .push(Piece::AfterContinuation(response.into_bytes()));
        }
    }
    command
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
                Command::authenticate_plain("alice", "pä", InitialResponse::InCommand),
                "a1 AUTHENTICATE PLAIN AGFsaWNlAHDDpA==\r\n",
            ),
            (
                Command::authenticate_plain("alice", "pä", InitialResponse::AfterContinuation),
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
        let place = InitialResponse::InCommand;
        assert!(Command::authenticate_plain("a", "b\0c", place).is_err());
    }

    fn bearer(bearer: Bearer, user: &str, token: &str, place: InitialResponse) -> Option<String> {
        let server = ("imap.example.com", 993);
        let command = Command::authenticate_bearer(bearer, server, user, token, place).ok()?;
        Some(wire(&command, Literals::Wait))
    }

    #[test]
    fn tokens_on_the_wire() {
        let place = InitialResponse::InCommand;
        // The example of Google's page on XOAUTH2.
        assert_eq!(
            bearer(
                Bearer::XOAuth2,
                "someuser@example.com",
                "ya29.vF9dft4qmTc2Nvb3RlckBhdHRhdmlzdGEuY29tCg",
                place
            )
            .unwrap(),
            "a1 AUTHENTICATE XOAUTH2 dXNlcj1zb21ldXNlckBleGFtcGxlLmNvbQFhdXRoPUJlYXJlciB5YTI5LnZGOWRmdDRxbVRjMk52YjNSbGNrQmhkSFJoZG1semRHRXVZMjl0Q2cBAQ==\r\n<wait>\r\n"
        );
        // The example of RFC 7628, section 4.1, with our server's name.
        let encoded = STANDARD.encode(
            "n,a=user@example.com,\x01host=imap.example.com\x01port=993\x01auth=Bearer vF9dft4qmTc2Nvb3RlckBhbHRhdmlzdGEuY29tCg==\x01\x01",
        );
        let token = "vF9dft4qmTc2Nvb3RlckBhbHRhdmlzdGEuY29tCg==";
        assert_eq!(
            bearer(Bearer::OAuthBearer, "user@example.com", token, place).unwrap(),
            format!("a1 AUTHENTICATE OAUTHBEARER {encoded}\r\n<wait>AQ==\r\n")
        );
        assert_eq!(
            bearer(
                Bearer::OAuthBearer,
                "user@example.com",
                token,
                InitialResponse::AfterContinuation
            )
            .unwrap(),
            format!("a1 AUTHENTICATE OAUTHBEARER\r\n<wait>{encoded}\r\n<wait>AQ==\r\n")
        );
    }

    #[test]
    fn no_name_and_no_token_adds_a_field() {
        let place = InitialResponse::InCommand;
        for (user, token) in [
            ("a\u{1}auth=Bearer x", "t"),
            ("a\r\nb", "t"),
            ("a", ""),
            ("a", "t\u{1}"),
            ("a", "t x"),
            ("a", "t\r\n"),
            ("a", "tö"),
        ] {
            assert_eq!(bearer(Bearer::XOAuth2, user, token, place), None);
            assert_eq!(bearer(Bearer::OAuthBearer, user, token, place), None);
        }
        let got = bearer(Bearer::OAuthBearer, "a,b=c", "t", place).unwrap();
        let encoded = got.split(' ').nth(3).unwrap().lines().next().unwrap();
        let plain = String::from_utf8(STANDARD.decode(encoded).unwrap()).unwrap();
        assert!(plain.starts_with("n,a=a=2Cb=3Dc,\u{1}host="), "{plain:?}");
    }
}
