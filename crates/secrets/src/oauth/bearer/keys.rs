//! The keys of an issuer (RFC 7517): fetched when a token needs one, kept, and asked for again within bounds.

use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use jsonwebtoken::jwk::{Jwk, JwkSet, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey};
use serde::Deserialize;
use tokio::sync::Mutex;

use super::super::discovery;
use super::super::http::{Endpoint, Http};
use super::super::vault::off_thread;
use super::{Issuer, Unvouched};

/// Older keys are asked for again.
const FRESH: Duration = Duration::from_secs(10 * 60);
/// While the issuer cannot be asked, its keys are good for so long.
const STALE: Duration = Duration::from_secs(6 * 60 * 60);
/// Nobody makes us ask more often, whatever keys their tokens name.
const PAUSE: Duration = Duration::from_secs(30);
/// No issuer has more.
const MOST_KEYS: usize = 64;

#[derive(Debug)]
pub(super) struct Keys {
    issuer: String,
    jwks_uri: Option<String>,
    ca_file: Option<PathBuf>,
    known: RwLock<Option<Known>>,
    /// One asks at a time; when it was last tried.
    asking: Mutex<Asking>,
}

#[derive(Debug, Default)]
struct Asking {
    tried: Option<Instant>,
    http: Option<Http>,
}

#[derive(Clone, Debug)]
struct Known {
    since: Instant,
    set: Arc<Vec<Key>>,
}

/// A key that signs.
#[derive(Clone, Debug)]
pub(super) struct Key {
    kid: String,
    /// The only one it is for, where the issuer says so.
    pub algorithm: Option<Algorithm>,
    pub key: DecodingKey,
}

#[derive(Deserialize)]
struct Metadata {
    issuer: String,
    jwks_uri: String,
}

impl Key {
    #[cfg(test)]
    pub(super) fn kid(&self) -> &str {
        &self.kid
    }
}

impl Keys {
    pub(super) fn new(issuer: &Issuer) -> Self {
        Self {
            issuer: issuer.issuer.clone(),
            jwks_uri: issuer.jwks_uri.clone(),
            ca_file: issuer.ca_file.clone(),
            known: RwLock::default(),
            asking: Mutex::default(),
        }
    }

    /// The key of this name; none where the issuer has none. Keys that are known are not waited for.
    pub(super) async fn find(&self, kid: &str) -> Result<Option<Key>, Unvouched> {
        let (found, age) = self.look(kid);
        match (found, age) {
            (Some(key), Some(age)) if age < FRESH => return Ok(Some(key)),
            (Some(key), Some(age)) if age < STALE => {
                // Somebody asks already, or has just asked: what is known will do.
                let Ok(asking) = self.asking.try_lock() else {
                    return Ok(Some(key));
                };
                self.ask(asking).await;
                let (again, _) = self.look(kid);
                return Ok(again);
            }
            _ => {}
        }
        self.ask(self.asking.lock().await).await;
        match self.look(kid) {
            (found, Some(age)) if age < STALE => Ok(found),
            _ => Err(Unvouched::Unavailable),
        }
    }

    fn look(&self, kid: &str) -> (Option<Key>, Option<Duration>) {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let found = known.as_ref().and_then(|known| {
            let mut keys = known.set.iter();
            keys.find(|key| key.kid == kid).cloned()
        });
        (found, known.as_ref().map(|known| known.since.elapsed()))
    }

    async fn ask(&self, mut asking: tokio::sync::MutexGuard<'_, Asking>) {
        if asking.tried.is_some_and(|tried| tried.elapsed() < PAUSE) {
            return;
        }
        asking.tried = Some(Instant::now());
        match self.fetch(&mut asking).await {
            Ok(set) => {
                let known = Known {
                    since: Instant::now(),
                    set: Arc::new(set),
                };
                *self.known.write().unwrap_or_else(PoisonError::into_inner) = Some(known);
            }
            Err(why) => tracing::warn!(%why, "the keys of the issuer could not be fetched"),
        }
    }

    async fn fetch(&self, asking: &mut Asking) -> Result<Vec<Key>, String> {
        let http = match asking.http.clone() {
            Some(http) => http,
            None => {
                let ca_file = self.ca_file.clone();
                let built = off_thread(move || Http::build(ca_file.as_deref())).await;
                let built = built.map_err(|_| "the program is ending".to_owned())??;
                asking.http.insert(built).clone()
            }
        };
        let at = match &self.jwks_uri {
            Some(uri) => Endpoint::parse(uri).ok_or("jwks_uri is no https address")?,
            None => self.discover(&http).await?,
        };
        let reply = http.get(&at).await.map_err(|why| why.say(&at.server()))?;
        if reply.status != 200 {
            return Err(format!(
                "{} answers with status {}",
                at.server(),
                reply.status
            ));
        }
        read(&reply.body).ok_or_else(|| format!("{} gives no readable keys", at.server()))
    }

    /// As the issuer says itself (RFC 8414; OpenID Connect Discovery).
    async fn discover(&self, http: &Http) -> Result<Endpoint, String> {
        let places =
            discovery::addresses(&self.issuer).map_err(|_| "issuer is no https address")?;
        let secure = Endpoint::parse(&self.issuer).is_some_and(|it| it.is_https());
        for at in places {
            let reply = http.get(&at).await.map_err(|why| why.say(&at.server()))?;
            let found: Option<Metadata> = match reply.status {
                200 => serde_json::from_slice(&reply.body).ok(),
                _ => None,
            };
            // RFC 8414, section 3.3: or another server could answer in its name.
            let Some(found) = found.filter(|found| found.issuer == self.issuer) else {
                continue;
            };
            let uri = Endpoint::parse(&found.jwks_uri).filter(|uri| uri.is_https() || !secure);
            return uri.ok_or_else(|| "its jwks_uri is no https address".to_owned());
        }
        Err(format!("{} does not say where its keys are", self.issuer))
    }
}

/// The keys of a set that can be used: named, for signatures, and public.
pub(super) fn read(body: &[u8]) -> Option<Vec<Key>> {
    let set: JwkSet = serde_json::from_slice(body).ok()?;
    let usable = |jwk: &Jwk| {
        let use_ = jwk.common.public_key_use.as_ref();
        let signs = use_.is_none_or(|use_| *use_ == PublicKeyUse::Signature);
        let algorithm = match jwk.common.key_algorithm {
            Some(named) => Some(named.to_string().parse().ok()?),
            None => None,
        };
        let key = DecodingKey::from_jwk(jwk).ok()?;
        let public = key.family() != jsonwebtoken::AlgorithmFamily::Hmac;
        (signs && public).then_some(Key {
            kid: jwk.common.key_id.clone()?,
            algorithm,
            key,
        })
    };
    Some(set.keys.iter().take(MOST_KEYS).filter_map(usable).collect())
}
