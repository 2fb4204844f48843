//! A code that is typed in on another machine (RFC 8628).

use std::time::Duration;

use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;

use super::super::answer::{Code, Declined, Given, Refusal, seconds};
use super::super::http::{Endpoint, Reply};
use super::super::web::Ungiven;
use super::{Asking, Face, LoginFault, TypeIn, sort};

const GRANT_TYPE: &str = "urn:ietf:params:oauth:grant-type:device_code";
/// Where the server does not say (section 3.2), and what `slow_down` adds (section 3.5).
const USUAL_INTERVAL: u64 = 5;
const LONGEST_INTERVAL: u64 = 60;
const LONGEST_LIFETIME: u64 = 30 * 60;

pub(super) async fn run(
    asking: &Asking<'_>,
    face: &mut dyn Face,
    second: Duration,
) -> Result<Given, LoginFault> {
    let begun = begin(asking).await?;
    face.type_in(&begun.asked);
    let polling = poll(asking, &begun, second);
    let limit = second * u32::try_from(begun.lifetime).unwrap_or(u32::MAX);
    let given = tokio::time::timeout(limit, polling).await;
    given.map_err(|_| LoginFault::TimedOut)?
}

struct Begun {
    code: SecretString,
    asked: TypeIn,
    lifetime: u64,
    interval: u64,
}

#[derive(Deserialize)]
struct Wire {
    device_code: String,
    user_code: String,
    // QUIRK: older servers, Google's among them, call it a URL.
    #[serde(alias = "verification_url")]
    verification_uri: String,
    verification_uri_complete: Option<String>,
    expires_in: Option<serde_json::Value>,
    interval: Option<serde_json::Value>,
}

async fn begin(asking: &Asking<'_>) -> Result<Begun, LoginFault> {
    let Some(at) = &asking.endpoints.device else {
        return Err(LoginFault::NotOffered {
            said: format!(
                "{} has no device flow: log in without --device on a machine with a browser, or with --paste",
                asking.grant.provider.name()
            ),
        });
    };
    let fields = [("scope", asking.scope.as_str())];
    let web = &asking.core.web;
    let reply = web.post(asking.grant, &asking.endpoints, at, &fields).await;
    let reply = reply.map_err(|why| sort(asking.grant, why))?;
    if reply.status != 200 {
        // Errors look as they do at the token endpoint (section 3.2).
        let declined = match super::super::answer::read(&reply) {
            Err(declined) => declined,
            Ok(_) => Declined::Malformed {
                status: reply.status,
                successor: None,
            },
        };
        return Err(sort(asking.grant, Ungiven::Declined(declined)));
    }
    read(&reply).ok_or_else(|| LoginFault::Unavailable {
        said: format!("{} did not answer as a device flow does", at.server()),
    })
}

fn read(reply: &Reply) -> Option<Begun> {
    let wire: Wire = serde_json::from_slice(&reply.body).ok()?;
    let address = |text: &str| Endpoint::parse(text).map(|it| it.url().to_string());
    let visible = |text: &str, longest: usize| {
        !text.is_empty() && text.len() <= longest && text.bytes().all(|it| it.is_ascii_graphic())
    };
    if !visible(&wire.user_code, 64) || !visible(&wire.device_code, 4096) {
        return None;
    }
    Some(Begun {
        code: wire.device_code.into(),
        asked: TypeIn {
            address: address(&wire.verification_uri)?,
            code: wire.user_code,
            complete: wire.verification_uri_complete.as_deref().and_then(address),
        },
        lifetime: wire
            .expires_in
            .as_ref()
            .and_then(seconds)
            .unwrap_or(LONGEST_LIFETIME)
            .min(LONGEST_LIFETIME),
        interval: wire
            .interval
            .as_ref()
            .and_then(seconds)
            .unwrap_or(USUAL_INTERVAL)
            .clamp(1, LONGEST_INTERVAL),
    })
}

async fn poll(asking: &Asking<'_>, begun: &Begun, second: Duration) -> Result<Given, LoginFault> {
    let fields = [
        ("grant_type", GRANT_TYPE),
        ("device_code", begun.code.expose_secret()),
    ];
    let mut interval = begun.interval;
    loop {
        let wait = u32::try_from(interval).unwrap_or(u32::MAX);
        tokio::time::sleep(second * wait).await;
        let code = match asking.tokens(&fields).await {
            Ok(given) => return Ok(given),
            Err(Ungiven::Declined(Declined::Refused(Refusal { code, .. }))) => code,
            // Section 3.5: who gets no answer asks less often.
            Err(Ungiven::Unavailable(_) | Ungiven::Declined(Declined::Busy { .. })) => {
                interval = (interval * 2).min(LONGEST_INTERVAL);
                continue;
            }
            Err(why) => return Err(sort(asking.grant, why)),
        };
        match code {
            Code::AuthorizationPending => {}
            Code::SlowDown => interval = (interval + USUAL_INTERVAL).min(LONGEST_INTERVAL),
            Code::ExpiredToken => return Err(LoginFault::TimedOut),
            Code::AccessDenied => return Err(LoginFault::Denied),
            code => {
                let refusal = Refusal {
                    code,
                    numbers: Vec::new(),
                };
                let declined = Ungiven::Declined(Declined::Refused(refusal));
                return Err(sort(asking.grant, declined));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use zeroize::Zeroizing;

    use super::*;

    fn said(change: impl FnOnce(&mut Value)) -> Option<Begun> {
        let mut value = json!({
            "device_code": "d",
            "user_code": "ABCD-EFGH",
            "verification_uri": "https://id.example/device",
            "expires_in": 600,
        });
        change(&mut value);
        read(&Reply {
            status: 200,
            body: Zeroizing::new(value.to_string().into_bytes()),
            retry_after: None,
        })
    }

    #[test]
    fn what_a_person_is_shown_is_plain() {
        let begun = said(|_| {}).unwrap();
        assert_eq!(begun.interval, USUAL_INTERVAL);
        assert_eq!(begun.asked.address, "https://id.example/device");
        let begun = said(|it| {
            it["interval"] = json!(0);
            it["expires_in"] = json!(1u64 << 60);
            it["verification_uri_complete"] = json!("javascript:alert(1)");
        });
        let begun = begun.unwrap();
        assert_eq!((begun.interval, begun.lifetime), (1, LONGEST_LIFETIME));
        assert_eq!(begun.asked.complete, None);
        let begun = said(|it| {
            it["interval"] = json!("7");
            it["expires_in"] = json!("899");
        });
        let begun = begun.unwrap();
        assert_eq!((begun.interval, begun.lifetime), (7, 899));
        type Change = fn(&mut Value);
        let wrong: [Change; 6] = [
            |it| it["user_code"] = json!(""),
            |it| it["user_code"] = json!("AB\u{1b}[2J"),
            |it| it["user_code"] = json!("A".repeat(65)),
            |it| it["device_code"] = json!("a b"),
            |it| it["verification_uri"] = json!("http://id.example/device"),
            |it| it["verification_uri"] = json!("file:///etc/passwd"),
        ];
        for change in wrong {
            assert!(said(change).is_none());
        }
    }
}
