//! Where an issuer is asked, as it says itself (RFC 8414; OpenID Connect Discovery). Nothing it says is believed untested.

use serde::Deserialize;

use super::http::{ClientAuth, Endpoint, Http};
use super::provider::{Endpoints, Issuer};

/// Why an issuer cannot be used, for a person.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Undiscovered {
    /// Later it may.
    Unavailable(String),
    Unusable(String),
}

#[derive(Deserialize)]
struct Wire {
    issuer: String,
    authorization_endpoint: String,
    token_endpoint: String,
    device_authorization_endpoint: Option<String>,
    code_challenge_methods_supported: Option<Vec<String>>,
    token_endpoint_auth_methods_supported: Option<Vec<String>>,
    authorization_response_iss_parameter_supported: Option<bool>,
}

pub(crate) async fn discover(http: &Http, issuer: &str) -> Result<Endpoints, Undiscovered> {
    let mut last = 0;
    let mut unreadable = None;
    for at in addresses(issuer)? {
        let reply = match http.get(&at).await {
            Ok(reply) => reply,
            Err(fault) => return Err(Undiscovered::Unavailable(fault.say(&at.server()))),
        };
        match reply.status {
            // QUIRK: some servers have a page of their own for every address. The next may lead to a document.
            200 => match serde_json::from_slice(&reply.body) {
                Ok(wire) => return read(issuer, wire),
                Err(_) => unreadable = Some("what it says of itself is not readable"),
            },
            429 | 500.. => {
                let said = format!("{issuer} has trouble of its own (status {})", reply.status);
                return Err(Undiscovered::Unavailable(said));
            }
            other => last = other,
        }
    }
    if let Some(why) = unreadable {
        return Err(unusable(issuer, why));
    }
    Err(Undiscovered::Unusable(format!(
        "{issuer} does not say where its tokens are had (status {last}): check oauth_issuer"
    )))
}

fn unusable(issuer: &str, why: &str) -> Undiscovered {
    Undiscovered::Unusable(format!("{issuer} cannot be used: {why}"))
}

/// RFC 8414, section 3.1: before the path; OpenID Connect Discovery, section 4: behind it.
pub(crate) fn addresses(issuer: &str) -> Result<[Endpoint; 2], Undiscovered> {
    let wrong = || {
        Undiscovered::Unusable(format!(
            "the issuer {issuer:?} is not an https address without a query: check oauth_issuer"
        ))
    };
    let at = Endpoint::parse(issuer).ok_or_else(wrong)?;
    if at.url().query().is_some() {
        return Err(wrong());
    }
    let path = at.url().path().trim_end_matches('/').to_owned();
    let with = |path: &str| {
        let mut url = at.url().clone();
        url.set_path(path);
        Endpoint::parse(url.as_str()).ok_or_else(wrong)
    };
    Ok([
        with(&format!("/.well-known/oauth-authorization-server{path}"))?,
        with(&format!("{path}/.well-known/openid-configuration"))?,
    ])
}

fn read(issuer: &str, wire: Wire) -> Result<Endpoints, Undiscovered> {
    let unusable = |why: &str| unusable(issuer, why);
    // RFC 8414, section 3.3: or another server could answer in its name.
    if wire.issuer != issuer {
        return Err(unusable(
            "it calls itself by another name; oauth_issuer has to be spelled exactly as the server spells it, slashes included",
        ));
    }
    let has = |list: &[String], word: &str| list.iter().any(|it| it == word);
    if let Some(methods) = &wire.code_challenge_methods_supported
        && !has(methods, "S256")
    {
        return Err(unusable(
            "it does not offer PKCE with S256, without which a stolen code is worth something",
        ));
    }
    let secure = Endpoint::parse(issuer).is_some_and(|it| it.is_https());
    let endpoint = |text: &str, what: &str| {
        let found = Endpoint::parse(text).filter(|it| it.is_https() || !secure);
        found.ok_or_else(|| unusable(&format!("its {what} is not an https address")))
    };
    let device = wire.device_authorization_endpoint.as_deref();
    // RFC 8414, section 2: where nothing is said, it is the header.
    let client_auth = match &wire.token_endpoint_auth_methods_supported {
        Some(methods) if !has(methods, "client_secret_basic") => ClientAuth::Form,
        _ => ClientAuth::Basic,
    };
    let name = wire.issuer.clone();
    Ok(Endpoints {
        authorize: endpoint(&wire.authorization_endpoint, "authorization_endpoint")?,
        token: endpoint(&wire.token_endpoint, "token_endpoint")?,
        device: match device {
            Some(text) => Some(endpoint(text, "device_authorization_endpoint")?),
            None => None,
        },
        issuer: if wire.authorization_response_iss_parameter_supported == Some(true) {
            Issuer::Demanded(name)
        } else {
            Issuer::Named(name)
        },
        client_auth,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn said(issuer: &str, change: impl FnOnce(&mut Value)) -> Result<Endpoints, Undiscovered> {
        let mut value = json!({
            "issuer": "https://id.example",
            "authorization_endpoint": "https://id.example/auth",
            "token_endpoint": "https://id.example/token",
            "code_challenge_methods_supported": ["plain", "S256"],
        });
        change(&mut value);
        let wire = serde_json::from_value(value).map_err(|_| unusable(issuer, "not readable"))?;
        read(issuer, wire)
    }

    #[test]
    fn an_issuer_that_says_what_it_should() {
        let found = said("https://id.example", |it| {
            it["device_authorization_endpoint"] = json!("https://id.example/device");
            it["authorization_response_iss_parameter_supported"] = json!(true);
            it["token_endpoint_auth_methods_supported"] = json!(["none", "client_secret_post"]);
        });
        let found = found.unwrap();
        assert!(found.device.is_some());
        assert_eq!(
            found.issuer,
            Issuer::Demanded("https://id.example".to_owned())
        );
        assert_eq!(found.client_auth, ClientAuth::Form);
        // A list that is not given promises nothing, and refuses nothing.
        let silent = said("https://id.example", |it| {
            it.as_object_mut()
                .unwrap()
                .remove("code_challenge_methods_supported");
        });
        assert!(matches!(silent.unwrap().issuer, Issuer::Named(_)));
    }

    #[test]
    fn issuers_that_are_not_believed() {
        type Change = fn(&mut Value);
        let cases: [(&str, Change); 10] = [
            ("another name", |it| {
                it["issuer"] = json!("https://evil.example")
            }),
            ("another name", |it| {
                it["issuer"] = json!("https://id.example/")
            }),
            ("S256", |it| {
                it["code_challenge_methods_supported"] = json!(["plain"])
            }),
            ("S256", |it| {
                it["code_challenge_methods_supported"] = json!([])
            }),
            ("token_endpoint", |it| {
                it["token_endpoint"] = json!("http://id.example/token")
            }),
            ("token_endpoint", |it| {
                it["token_endpoint"] = json!("http://127.0.0.1/token")
            }),
            ("token_endpoint", |it| {
                it["token_endpoint"] = json!("/token")
            }),
            ("authorization_endpoint", |it| {
                it["authorization_endpoint"] = json!("javascript:x")
            }),
            ("device", |it| {
                it["device_authorization_endpoint"] = json!("ftp://x")
            }),
            ("not readable", |it| it["token_endpoint"] = json!(7)),
        ];
        for (word, change) in cases {
            let Err(Undiscovered::Unusable(words)) = said("https://id.example", change) else {
                panic!("{word}: it was believed");
            };
            assert!(words.contains(word), "{words}");
        }
    }

    #[test]
    fn where_an_issuer_is_asked_about_itself() {
        let [first, second] = addresses("https://id.example/realms/a").unwrap();
        let first = first.url().as_str();
        assert_eq!(
            first,
            "https://id.example/.well-known/oauth-authorization-server/realms/a"
        );
        let second = second.url().as_str();
        assert_eq!(
            second,
            "https://id.example/realms/a/.well-known/openid-configuration"
        );
        for issuer in [
            "",
            "id.example",
            "http://id.example",
            "https://id.example/?a=b",
        ] {
            assert!(addresses(issuer).is_err(), "{issuer}");
        }
    }
}
