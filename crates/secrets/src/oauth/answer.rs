//! A token endpoint's answers (RFC 6749, section 5; RFC 8628, section 3.5), read as strictly as strangers are read.
//!
//! No text of the provider's gets out of here: codes that are known, numbers, and scopes.

use std::borrow::Cow;
use std::time::Duration;

use secrecy::SecretString;
use serde::Deserialize;

use super::http::Reply;

/// Where nothing is said about it.
const USUAL_LIFETIME: Duration = Duration::from_secs(3600);
const LONGEST_LIFETIME: u64 = 30 * 24 * 3600;
/// Microsoft's have a few kB; whatever is longer no mail server would read.
pub(crate) const LONGEST_TOKEN: usize = 32 * 1024;
const LONGEST_SCOPE: usize = 4096;

/// What was given. Its Debug says nothing of the tokens.
#[derive(Debug)]
pub(crate) struct Given {
    pub access: SecretString,
    pub refresh: Option<SecretString>,
    pub lifetime: Duration,
    pub scope: Option<String>,
}

#[derive(Clone, Debug)]
pub(crate) enum Declined {
    Refused(Refusal),
    /// 429, 5xx and what means the same.
    Busy {
        status: u16,
        wait: Option<Duration>,
    },
    /// Not an answer as the standards have it.
    Malformed {
        status: u16,
        /// The refresh token that is in it all the same: the one before it may be good no longer.
        successor: Option<SecretString>,
    },
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Refusal {
    pub code: Code,
    /// Microsoft's own numbers (AADSTS…), by which its documentation explains them.
    pub numbers: Vec<u32>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Code {
    InvalidGrant,
    /// Microsoft: a person has to do something first.
    InteractionRequired,
    InvalidClient,
    UnauthorizedClient,
    InvalidScope,
    InvalidRequest,
    UnsupportedGrantType,
    AuthorizationPending,
    SlowDown,
    ExpiredToken,
    AccessDenied,
    Other,
}

impl Code {
    pub(crate) fn parse(text: &str) -> Self {
        match text {
            "invalid_grant" => Self::InvalidGrant,
            "interaction_required" | "login_required" | "consent_required" => {
                Self::InteractionRequired
            }
            "invalid_client" => Self::InvalidClient,
            "unauthorized_client" => Self::UnauthorizedClient,
            "invalid_scope" => Self::InvalidScope,
            "invalid_request" => Self::InvalidRequest,
            "unsupported_grant_type" | "unsupported_response_type" => Self::UnsupportedGrantType,
            "authorization_pending" => Self::AuthorizationPending,
            "slow_down" => Self::SlowDown,
            "expired_token" | "code_expired" => Self::ExpiredToken,
            // Microsoft's word for it in the device flow.
            "access_denied" | "authorization_declined" => Self::AccessDenied,
            _ => Self::Other,
        }
    }

    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::InvalidGrant => "invalid_grant",
            Self::InteractionRequired => "interaction_required",
            Self::InvalidClient => "invalid_client",
            Self::UnauthorizedClient => "unauthorized_client",
            Self::InvalidScope => "invalid_scope",
            Self::InvalidRequest => "invalid_request",
            Self::UnsupportedGrantType => "unsupported_grant_type",
            Self::AuthorizationPending => "authorization_pending",
            Self::SlowDown => "slow_down",
            Self::ExpiredToken => "expired_token",
            Self::AccessDenied => "access_denied",
            Self::Other => "an error that is not known here",
        }
    }
}

impl Refusal {
    /// `invalid_client (AADSTS7000215)`.
    pub(crate) fn words(&self) -> String {
        let mut words = self.code.word().to_owned();
        for number in &self.numbers {
            words.push_str(&format!(" (AADSTS{number})"));
        }
        words
    }
}

#[derive(Deserialize)]
struct Wire<'a> {
    #[serde(borrow, default)]
    access_token: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    refresh_token: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    token_type: Option<Cow<'a, str>>,
    #[serde(default)]
    expires_in: Option<serde_json::Value>,
    #[serde(default)]
    scope: Option<serde_json::Value>,
    #[serde(borrow, default)]
    error: Option<Cow<'a, str>>,
    #[serde(default)]
    error_codes: Option<serde_json::Value>,
}

/// All that is looked for where the rest cannot be read.
#[derive(Deserialize)]
struct Salvage<'a> {
    #[serde(borrow, default)]
    refresh_token: Option<Cow<'a, str>>,
}

pub(crate) fn read(reply: &Reply) -> Result<Given, Declined> {
    let status = reply.status;
    if status == 429 || status >= 500 {
        return Err(Declined::Busy {
            status,
            wait: reply.retry_after,
        });
    }
    let malformed = |successor| Declined::Malformed { status, successor };
    let good = (200..300).contains(&status);
    let Ok(wire) = serde_json::from_slice::<Wire<'_>>(&reply.body) else {
        let salvaged = serde_json::from_slice::<Salvage<'_>>(&reply.body).ok();
        let refresh = salvaged.and_then(|it| it.refresh_token.as_deref().and_then(token));
        return Err(malformed(refresh.filter(|_| good)));
    };
    // QUIRK: some servers answer 200 and mean an error.
    if let Some(error) = &wire.error {
        return Err(declined(error, &wire, reply));
    }
    if !good {
        return Err(malformed(None));
    }
    let refresh = match wire.refresh_token.as_deref() {
        None | Some("") => None,
        Some(text) => Some(token(text).ok_or_else(|| malformed(None))?),
    };
    let bearer = wire.token_type.as_deref().unwrap_or("bearer");
    let access = wire.access_token.as_deref().and_then(token);
    let Some(access) = access.filter(|_| bearer.eq_ignore_ascii_case("bearer")) else {
        return Err(malformed(refresh));
    };
    Ok(Given {
        access,
        refresh,
        lifetime: lifetime(wire.expires_in.as_ref()),
        scope: wire.scope.as_ref().and_then(scope),
    })
}

fn declined(error: &str, wire: &Wire<'_>, reply: &Reply) -> Declined {
    if matches!(error, "temporarily_unavailable" | "server_error") {
        return Declined::Busy {
            status: reply.status,
            wait: reply.retry_after,
        };
    }
    let numbers = wire.error_codes.as_ref().and_then(|it| it.as_array());
    let numbers = numbers.into_iter().flatten().take(4);
    let numbers = numbers.filter_map(|it| it.as_u64().and_then(|it| it.try_into().ok()));
    Declined::Refused(Refusal {
        code: Code::parse(error),
        numbers: numbers.collect(),
    })
}

/// INVARIANT: visible characters alone (RFC 6749, appendix A): nothing that ends a line or a SASL field.
fn token(text: &str) -> Option<SecretString> {
    let fits = !text.is_empty()
        && text.len() <= LONGEST_TOKEN
        && text.bytes().all(|byte| (0x21..0x7f).contains(&byte));
    fits.then(|| text.into())
}

/// QUIRK: some servers write the number as a string.
pub(crate) fn seconds(value: &serde_json::Value) -> Option<u64> {
    match value {
        serde_json::Value::String(text) => text.trim().parse().ok(),
        other => other
            .as_u64()
            .or_else(|| other.as_f64().filter(|it| *it >= 0.0).map(|it| it as u64)),
    }
}

fn lifetime(value: Option<&serde_json::Value>) -> Duration {
    match value.and_then(seconds) {
        Some(seconds) => Duration::from_secs(seconds.min(LONGEST_LIFETIME)),
        None => USUAL_LIFETIME,
    }
}

fn scope(value: &serde_json::Value) -> Option<String> {
    let text = value.as_str()?.trim();
    let fits = !text.is_empty()
        && text.len() <= LONGEST_SCOPE
        && text.bytes().all(|byte| (0x20..0x7f).contains(&byte));
    fits.then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret as _;
    use zeroize::Zeroizing;

    use super::*;

    fn reply(status: u16, body: &str) -> Reply {
        Reply {
            status,
            body: Zeroizing::new(body.as_bytes().to_vec()),
            retry_after: None,
        }
    }

    #[test]
    fn a_good_answer_is_read_however_it_is_spelled() {
        let body = r#"{"access_token":"a","token_type":"Bearer","expires_in":"3599","refresh_token":"r\u0031","scope":"mail","id_token":"x","ext":{"y":[1]}}"#;
        let given = read(&reply(200, body)).unwrap();
        assert_eq!(given.access.expose_secret(), "a");
        assert_eq!(given.refresh.as_ref().unwrap().expose_secret(), "r1");
        assert_eq!(given.lifetime, Duration::from_secs(3599));
        assert_eq!(given.scope.as_deref(), Some("mail"));
        let shown = format!("{given:?}");
        assert!(!shown.contains("\"a\"") && !shown.contains("r1"), "{shown}");

        let given = read(&reply(
            200,
            r#"{"access_token":"a","scope":["x"],"expires_in":-3}"#,
        ));
        let given = given.unwrap();
        assert_eq!(given.lifetime, USUAL_LIFETIME);
        assert!(given.refresh.is_none() && given.scope.is_none());
        let given = read(&reply(200, r#"{"access_token":"a","expires_in":1e300}"#)).unwrap();
        assert_eq!(given.lifetime, Duration::from_secs(LONGEST_LIFETIME));
    }

    #[test]
    fn answers_that_are_none() {
        let long = format!(r#"{{"access_token":"{}"}}"#, "x".repeat(LONGEST_TOKEN + 1));
        let deep = "[".repeat(60_000);
        let cases = [
            (200, "", 200),
            (200, "{}", 200),
            (200, "[]", 200),
            (200, r#"{"access_token":""}"#, 200),
            (200, r#"{"access_token":7}"#, 200),
            (200, r#"{"access_token":"a","access_token":"b"}"#, 200),
            (200, r#"{"access_token":"a b"}"#, 200),
            (200, r#"{"access_token":"a\u0001auth=x"}"#, 200),
            (200, r#"{"access_token":"a\r\nb"}"#, 200),
            (200, r#"{"access_token":"a","refresh_token":"b\n"}"#, 200),
            (200, r#"{"access_token":"a","token_type":"mac"}"#, 200),
            (302, r#"{"access_token":"a"}"#, 302),
            (400, r#"{"access_token":"a"}"#, 400),
            (403, "<html>", 403),
            (200, &long, 200),
            (200, &deep, 200),
        ];
        for (status, body, said) in cases {
            let answer = read(&reply(status, body)).unwrap_err();
            let shown: String = body.chars().take(60).collect();
            let Declined::Malformed { status, successor } = answer else {
                panic!("{shown}: {answer:?}");
            };
            assert_eq!(status, said, "{shown}");
            assert!(successor.is_none(), "{shown}");
        }
    }

    #[test]
    fn a_refresh_token_is_not_lost_with_the_rest_of_an_answer() {
        let long = format!(
            r#"{{"access_token":"{}","refresh_token":"next"}}"#,
            "x".repeat(LONGEST_TOKEN + 1)
        );
        for body in [
            r#"{"refresh_token":"next"}"#,
            r#"{"access_token":7,"refresh_token":"next"}"#,
            r#"{"access_token":"a b","refresh_token":"next"}"#,
            r#"{"access_token":"a","access_token":"b","refresh_token":"next"}"#,
            r#"{"access_token":"a","token_type":"mac","refresh_token":"next"}"#,
            &long,
        ] {
            let shown: String = body.chars().take(60).collect();
            let answer = read(&reply(200, body)).unwrap_err();
            assert!(!format!("{answer:?}").contains("next"), "{shown}");
            let Declined::Malformed { successor, .. } = answer else {
                panic!("{shown}: {answer:?}");
            };
            assert_eq!(successor.unwrap().expose_secret(), "next", "{shown}");
            // Who refuses gives nothing.
            let answer = read(&reply(400, body)).unwrap_err();
            let nothing = |it| {
                matches!(
                    it,
                    Declined::Malformed {
                        successor: None,
                        ..
                    }
                )
            };
            assert!(nothing(answer), "{shown}");
        }
    }

    #[test]
    fn refusals_are_known_by_their_codes_and_numbers_alone() {
        let body = r#"{"error":"invalid_grant","error_description":"AADSTS700082: token secret-1","error_codes":[700082,"x",-1],"suberror":"bad_token"}"#;
        let Err(Declined::Refused(refusal)) = read(&reply(400, body)) else {
            panic!("it is a refusal");
        };
        assert_eq!(refusal.code, Code::InvalidGrant);
        assert_eq!(refusal.words(), "invalid_grant (AADSTS700082)");
        let strange = read(&reply(401, r#"{"error":"secret-2"}"#)).unwrap_err();
        assert!(!format!("{strange:?}").contains("secret-2"));
        // The same, but said with a good status.
        let said = read(&reply(200, r#"{"error":"slow_down"}"#)).unwrap_err();
        assert!(matches!(
            said,
            Declined::Refused(Refusal {
                code: Code::SlowDown,
                ..
            })
        ));
        for (status, body) in [
            (429, r#"{"error":"invalid_grant"}"#),
            (503, ""),
            (400, r#"{"error":"temporarily_unavailable"}"#),
        ] {
            let busy = read(&reply(status, body)).unwrap_err();
            assert!(matches!(busy, Declined::Busy { .. }), "{status}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_answer_is_too_strange(status in 100u16..600, body: Vec<u8>) {
            let reply = Reply { status, body: Zeroizing::new(body), retry_after: None };
            let _ = read(&reply);
        }

        #[test]
        fn what_is_taken_for_a_token_is_one_word(text in ".{0,40}") {
            let body = serde_json::json!({ "access_token": text }).to_string();
            if let Ok(given) = read(&reply(200, &body)) {
                let token = given.access.expose_secret();
                proptest::prop_assert_eq!(token, &text);
                proptest::prop_assert!(token.bytes().all(|byte| byte.is_ascii_graphic()));
            }
        }
    }
}
