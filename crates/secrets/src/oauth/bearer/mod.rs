//! Access tokens that another server vouches for (RFC 9068): whether they are meant for us, and whom they speak of. What
//! such a bearer may do is decided elsewhere, and no token is ever passed on.

mod claims;
mod keys;

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use claims::{Head, Refused};
use keys::Keys;

/// Longer ones are not looked at.
const LONGEST: usize = 16 << 10;

/// Whose tokens are taken, and for whom they must have been made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Issuer {
    /// Exactly as it spells itself.
    pub issuer: String,
    /// What `aud` has to name.
    pub audience: String,
    /// Where its keys are, unless that is asked of it.
    pub jwks_uri: Option<String>,
    /// Certificates to trust besides the system's.
    pub ca_file: Option<PathBuf>,
}

/// Whom a token speaks of.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Vouched {
    pub subject: Option<String>,
    pub client: Option<String>,
    pub scopes: Vec<String>,
    pub until: SystemTime,
}

/// Why a token proves nothing. Its bearer is told neither.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unvouched {
    /// Not a token of this issuer, for us, now.
    Invalid,
    /// The issuer's keys cannot be had.
    Unavailable,
}

/// Tells good tokens from others.
#[derive(Debug)]
pub struct Verifier {
    issuer: Issuer,
    keys: Keys,
}

impl Issuer {
    /// What is wrong with it, if something is.
    pub fn flaw(&self) -> Option<&'static str> {
        if super::discovery::addresses(&self.issuer).is_err() {
            return Some("'issuer' is an https:// address without query and fragment");
        }
        let uri = self.jwks_uri.as_deref();
        if uri.is_some_and(|uri| super::http::Endpoint::parse(uri).is_none()) {
            return Some("'jwks_uri' is an https:// address");
        }
        None
    }
}

impl Verifier {
    /// Asks nobody before the first token comes.
    pub fn new(issuer: Issuer) -> Self {
        Self {
            keys: Keys::new(&issuer),
            issuer,
        }
    }

    pub fn is_of(&self, issuer: &Issuer) -> bool {
        self.issuer == *issuer
    }

    /// INVARIANT: nothing that a token says of itself is believed before its signature fits a key of the issuer.
    pub async fn verify(&self, token: &str) -> Result<Vouched, Unvouched> {
        if token.len() > LONGEST {
            return Err(Unvouched::Invalid);
        }
        let head = Head::read(token).map_err(|Refused| Unvouched::Invalid)?;
        let key = self.keys.find(&head.kid).await?;
        let key = key.ok_or(Unvouched::Invalid)?;
        let claims = claims::read(token, &head, &key, &self.issuer);
        let claims = claims.map_err(|Refused| Unvouched::Invalid)?;
        Ok(Vouched {
            until: SystemTime::UNIX_EPOCH
                + Duration::from_secs(claims.exp.min(u64::from(u32::MAX))),
            scopes: claims.scopes(),
            client: claims.client_id.or(claims.azp),
            subject: claims.sub,
        })
    }
}
