//! What is in a token, and what of it has to be so. Pure but for the clock that its times are compared with.

use jsonwebtoken::{Algorithm, Validation, decode, decode_header};
use serde::Deserialize;

use super::Issuer;
use super::keys::Key;

/// INVARIANT: only these. With a shared secret (HS256 and kin) whoever knows our public key could sign, and with `none`
/// anybody.
const ALLOWED: [Algorithm; 9] = [
    Algorithm::RS256,
    Algorithm::RS384,
    Algorithm::RS512,
    Algorithm::PS256,
    Algorithm::PS384,
    Algorithm::PS512,
    Algorithm::ES256,
    Algorithm::ES384,
    Algorithm::EdDSA,
];

/// Clocks differ by so much.
const LEEWAY: u64 = 30;
const LONGEST_KID: usize = 256;

/// It proves nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Refused;

/// What has to be known before the signature can be looked at.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Head {
    pub algorithm: Algorithm,
    pub kid: String,
}

#[derive(Deserialize, Debug)]
pub(super) struct Claims {
    /// One, and not a list: the issuer's name is compared whole.
    #[expect(
        dead_code,
        reason = "that it is a text is all that is asked of it here"
    )]
    iss: String,
    pub exp: u64,
    iat: Option<u64>,
    pub sub: Option<String>,
    pub client_id: Option<String>,
    pub azp: Option<String>,
    scope: Option<Words>,
    /// QUIRK: Microsoft's and Okta's name for it.
    scp: Option<Words>,
}

/// RFC 8693, section 4.2: one text; some make a list of it.
#[derive(Deserialize, Debug)]
#[serde(untagged)]
enum Words {
    Text(String),
    List(Vec<String>),
}

impl Head {
    pub(super) fn read(token: &str) -> Result<Self, Refused> {
        if token.bytes().filter(|byte| *byte == b'.').count() != 2 {
            return Err(Refused);
        }
        let header = decode_header(token).map_err(|_| Refused)?;
        let typ = header.typ.as_deref().unwrap_or("JWT");
        let typ = typ.strip_prefix("application/").unwrap_or(typ);
        let is_token = ["jwt", "at+jwt"]
            .iter()
            .any(|one| typ.eq_ignore_ascii_case(one));
        // What the signer wants understood and we do not is no token for us (RFC 7515, section 4.1.11).
        let critical = header.crit.is_some() || header.zip.is_some();
        let kid = header.kid.filter(|kid| kid.len() <= LONGEST_KID);
        match kid {
            Some(kid) if is_token && !critical && ALLOWED.contains(&header.alg) => Ok(Self {
                algorithm: header.alg,
                kid,
            }),
            _ => Err(Refused),
        }
    }
}

/// Looks at the signature first, then at whom it is from, for whom, and when.
pub(super) fn read(
    token: &str,
    head: &Head,
    key: &Key,
    issuer: &Issuer,
) -> Result<Claims, Refused> {
    if key.algorithm.is_some_and(|only| only != head.algorithm) {
        return Err(Refused);
    }
    let mut rules = Validation::new(head.algorithm);
    rules.leeway = LEEWAY;
    rules.validate_nbf = true;
    rules.set_audience(&[&issuer.audience]);
    rules.set_issuer(&[&issuer.issuer]);
    rules.set_required_spec_claims(&["exp", "iss", "aud"]);
    let data = decode::<Claims>(token, &key.key, &rules).map_err(|_| Refused)?;
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let now = now.map_err(|_| Refused)?.as_secs();
    match data.claims.iat {
        Some(made) if made > now + LEEWAY => Err(Refused),
        _ => Ok(data.claims),
    }
}

impl Claims {
    pub(super) fn scopes(&self) -> Vec<String> {
        let words = [&self.scope, &self.scp].into_iter().flatten();
        words
            .flat_map(|words| match words {
                Words::Text(text) => text.split_whitespace().map(str::to_owned).collect(),
                Words::List(list) => list.clone(),
            })
            .collect()
    }
}

#[cfg(test)]
mod tests;
