//! What may go wrong at the server, where and how often, in the words that its scripts understand. Asks nobody.

use serde_json::{Value, json};
use std::time::Duration;

/// What a request is for. The token endpoint is three of them, by grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Endpoint {
    Discovery,
    /// Where the browser is sent.
    Authorization,
    /// A code for tokens.
    Exchange,
    /// A refresh token for tokens.
    Refresh,
    /// The beginning of a device's login.
    Device,
    /// A device code for tokens, or for patience.
    Poll,
    Revocation,
    Keys,
}

/// Where in the handling of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    /// It has arrived, and nothing was done.
    Arrival,
    /// Everything was done (tokens are rotated), and nothing was answered.
    Answer,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Times {
    Once,
    Exactly(u32),
    /// Until [`super::Oidc::mend`].
    Always,
}

#[derive(Clone, Debug)]
pub enum Fault {
    /// An OAuth2 error (RFC 6749 section 5.2) with status 400: `invalid_grant`, `slow_down`, `expired_token`…
    Error(String),
    /// A bare status, with a page for people.
    Status(u16),
    /// Status 503 or 429 with `Retry-After`, in seconds.
    RetryAfter(u16, u32),
    /// An error of this status that says back, wherever it can, all that was sent: plain and decoded.
    Echo(u16),
    /// Sent to another place (307, so that a careless client repeats the body there).
    Redirect(String),
    /// 200 and this text, said to be JSON.
    Text(String),
    /// 200 and a member of so many bytes, no length announced.
    Huge(u64),
    /// The answer of the server itself, so much later.
    Slow(Duration),
    /// The connection is cut at this point, without an answer.
    Cut(Point),
    /// The server's answer with members replaced, or taken away by null.
    Patch(Value),
}

impl Fault {
    pub fn invalid_grant() -> Self {
        Fault::Error("invalid_grant".to_owned())
    }

    /// Tokens, but no refresh token among them.
    pub fn without_refresh_token() -> Self {
        Fault::Patch(json!({ "refresh_token": null }))
    }

    /// A discovery document of somebody else.
    pub fn wrong_issuer() -> Self {
        Fault::Patch(json!({ "issuer": "https://other.test" }))
    }

    /// A discovery document that knows only the weaker way of PKCE.
    pub fn without_s256() -> Self {
        Fault::Patch(json!({ "code_challenge_methods_supported": ["plain"] }))
    }

    /// A discovery document that does not speak of PKCE.
    pub fn without_pkce() -> Self {
        Fault::Patch(json!({ "code_challenge_methods_supported": null }))
    }

    pub(super) fn wire(&self, at: Endpoint, times: Times) -> Value {
        let point = match self {
            Fault::Cut(point) => *point,
            Fault::Patch(_) => Point::Answer,
            _ => Point::Arrival,
        };
        let mut wire = match self {
            Fault::Error(code) => answer(400, json!({}), &json!({ "error": code }).to_string()),
            Fault::Status(status) => {
                let headers = json!({ "content-type": "text/html" });
                answer(*status, headers, "<h1>Sorry</h1>")
            }
            Fault::RetryAfter(status, seconds) => {
                answer(*status, json!({ "retry-after": seconds.to_string() }), "{}")
            }
            Fault::Echo(status) => json!({ "echo": status }),
            Fault::Redirect(url) => answer(307, json!({ "location": url }), "{}"),
            Fault::Text(text) => answer(200, json!({}), text),
            Fault::Huge(size) => {
                json!({ "answer": { "status": 200, "headers": {}, "size": size } })
            }
            Fault::Slow(delay) => json!({ "delay": delay.as_secs_f64() * 1000.0 }),
            Fault::Cut(_) => json!({ "cut": true }),
            Fault::Patch(members) => json!({ "patch": members }),
        };
        wire["at"] = at.word().into();
        wire["when"] = point.word().into();
        wire["times"] = match times {
            Times::Once => 1.into(),
            Times::Exactly(times) => times.into(),
            Times::Always => Value::Null,
        };
        wire
    }
}

fn answer(status: u16, headers: Value, body: &str) -> Value {
    json!({ "answer": { "status": status, "headers": headers, "body": body } })
}

impl Endpoint {
    const ALL: [(Endpoint, &'static str); 8] = [
        (Endpoint::Discovery, "discovery"),
        (Endpoint::Authorization, "authorization"),
        (Endpoint::Exchange, "exchange"),
        (Endpoint::Refresh, "refresh"),
        (Endpoint::Device, "device"),
        (Endpoint::Poll, "poll"),
        (Endpoint::Revocation, "revocation"),
        (Endpoint::Keys, "keys"),
    ];

    pub(super) fn word(self) -> &'static str {
        let found = Self::ALL.iter().find(|(endpoint, _)| *endpoint == self);
        found.map_or("other", |(_, word)| word)
    }

    pub(super) fn from_word(word: &str) -> Option<Self> {
        let found = Self::ALL.iter().find(|(_, known)| *known == word);
        found.map(|(endpoint, _)| *endpoint)
    }
}

impl Point {
    pub(super) fn word(self) -> &'static str {
        match self {
            Point::Arrival => "before",
            Point::Answer => "after",
        }
    }
}
