//! Logging in with an OAuth2 token: XOAUTH2 and OAUTHBEARER (RFC 7628), as a whole exchange. Gets no token.

use super::RawImap;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// How the token is wrapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mechanism {
    Xoauth2,
    Oauthbearer,
}

/// What the server said when it did not take the token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The JSON of its challenge, which a client must answer before it is told.
    pub challenge: String,
    /// The tagged line without its tag.
    pub status: String,
}

impl RawImap {
    /// Logs in with an access token, initial response included (SASL-IR).
    pub fn authenticate(
        &mut self,
        mechanism: Mechanism,
        user: &str,
        token: &str,
    ) -> Result<(), Refused> {
        let (name, response) = match mechanism {
            Mechanism::Xoauth2 => (
                "XOAUTH2",
                format!("user={user}\x01auth=Bearer {token}\x01\x01"),
            ),
            Mechanism::Oauthbearer => (
                "OAUTHBEARER",
                format!("n,a={user},\x01host=localhost\x01port=143\x01auth=Bearer {token}\x01\x01"),
            ),
        };
        let command = format!("AUTHENTICATE {name} {}", STANDARD.encode(response));
        let tag = self.send(&[&command]);
        let mut challenge = String::new();
        loop {
            let line = String::from_utf8_lossy(&self.read_response()).into_owned();
            if let Some(text) = line.strip_prefix("+ ") {
                let text = STANDARD.decode(text).expect("a challenge in Base64");
                challenge = String::from_utf8(text).expect("a challenge of text");
                self.send_bytes(b"\r\n");
            } else if let Some(status) = line.strip_prefix(&format!("{tag} ")) {
                if status.starts_with("OK") {
                    return Ok(());
                }
                let status = status.to_owned();
                return Err(Refused { challenge, status });
            }
        }
    }
}
