//! The client's side by bare HTTP: for fixtures that need tokens, and to try what the server does. The program under test
//! has its own.

use super::{CLIENT, Oidc};
use crate::http::{Response, form, parameter};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

/// Where codes are sent to by [`Oidc::grant`]; nobody listens there, and nobody goes.
const REDIRECT: &str = "http://127.0.0.1:1/callback";

/// Tokens that were got.
#[derive(Clone, Debug)]
pub struct Granted {
    pub access_token: String,
    pub refresh_token: String,
    /// The whole answer.
    pub answer: Value,
}

/// A secret of one login and its digest (RFC 7636).
#[derive(Clone, Debug)]
pub struct Pkce {
    pub verifier: String,
    pub challenge: String,
}

impl Pkce {
    #[expect(
        clippy::new_without_default,
        reason = "another one each time: not a default value"
    )]
    pub fn new() -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let seed = format!("{:?} {} {count}", SystemTime::now(), std::process::id());
        let verifier = URL_SAFE_NO_PAD.encode(Sha256::digest(seed));
        let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(&verifier));
        Self {
            verifier,
            challenge,
        }
    }
}

impl Oidc {
    /// The whole way for `user` with every scope there is: code with PKCE, then tokens.
    pub fn grant(&self, user: &str) -> Granted {
        let pkce = Pkce::new();
        let url = self.authorization_url(user, &pkce);
        let redirect = self
            .authorize(&url)
            .unwrap_or_else(|page| panic!("no code: {page:?}"));
        let code = parameter(&redirect, "code").unwrap_or_else(|| panic!("no code: {redirect}"));
        Granted::from(self.exchange(&code, &pkce.verifier))
    }

    /// Where [`Oidc::grant`] sends the browser.
    pub fn authorization_url(&self, user: &str, pkce: &Pkce) -> String {
        let query = form(&[
            ("client_id", CLIENT),
            ("response_type", "code"),
            ("redirect_uri", REDIRECT),
            ("scope", &self.scopes.join(" ")),
            ("prompt", "consent"),
            ("state", "of the test"),
            ("code_challenge", &pkce.challenge),
            ("code_challenge_method", "S256"),
            ("login_hint", user),
        ]);
        format!("{}/auth?{query}", self.issuer())
    }

    /// A code for tokens.
    pub fn exchange(&self, code: &str, verifier: &str) -> Response {
        self.token(&[
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", REDIRECT),
            ("code_verifier", verifier),
        ])
    }

    /// A refresh token for tokens.
    pub fn refresh(&self, refresh_token: &str) -> Response {
        self.token(&[
            ("grant_type", "refresh_token"),
            ("refresh_token", refresh_token),
        ])
    }

    /// Asks the token endpoint as [`CLIENT`].
    pub fn token(&self, fields: &[(&str, &str)]) -> Response {
        let url = format!("{}/token", self.issuer());
        let fields = [&[("client_id", CLIENT)], fields].concat();
        self.http.post_form(&url, &fields).expect("an answer")
    }

    /// Begins a device's login as [`CLIENT`] (RFC 8628 section 3.1).
    pub fn begin_device(&self) -> Value {
        let url = format!("{}/device/auth", self.issuer());
        let fields = [("client_id", CLIENT), ("scope", &*self.scopes.join(" "))];
        let answer = self.http.post_form(&url, &fields).expect("an answer");
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.json()
    }

    /// Asks once whether somebody has entered the code.
    pub fn poll_device(&self, device_code: &str) -> Response {
        self.token(&[
            ("grant_type", "urn:ietf:params:oauth:grant-type:device_code"),
            ("device_code", device_code),
        ])
    }
}

impl From<Response> for Granted {
    /// Panics where the answer holds no tokens.
    fn from(answer: Response) -> Self {
        assert_eq!(answer.status, 200, "no tokens: {}", answer.text());
        let answer = answer.json();
        let token = |name: &str| {
            let token = answer[name].as_str();
            token
                .unwrap_or_else(|| panic!("no {name}: {answer}"))
                .to_owned()
        };
        Self {
            access_token: token("access_token"),
            refresh_token: token("refresh_token"),
            answer,
        }
    }
}
