//! The keys of an issuer (RFC 7517): fetched when a token needs one, kept, and asked for again within bounds.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};

use jsonwebtoken::jwk::{Jwk, JwkSet, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey};
use serde::Deserialize;
use tokio::sync::watch;

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
/// So long a token waits for keys; they are fetched to the end all the same.
const PATIENCE: Duration = Duration::from_secs(5);
/// No issuer has more.
const MOST_KEYS: usize = 64;

#[derive(Debug)]
pub(super) struct Keys(Arc<Shared>);

/// What those who wait for keys share with the task that fetches them.
#[derive(Debug)]
struct Shared {
    issuer: String,
    jwks_uri: Option<String>,
    ca_file: Option<PathBuf>,
    known: RwLock<Option<Known>>,
    asking: Mutex<Asking>,
}

#[derive(Debug, Default)]
struct Asking {
    /// When it was last tried to the end, and what came of it.
    tried: Option<(Instant, Told)>,
    /// Closed when the fetch that it stands for is over.
    under_way: Option<watch::Receiver<()>>,
    http: Option<Http>,
}

/// Whether what is known is all that the issuer has to say.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Told {
    All,
    /// It did not answer, or not yet.
    Nothing,
}

/// What there is to wait for.
enum Fetch {
    /// Begun just now.
    Begun(watch::Receiver<()>),
    /// Somebody else began it.
    UnderWay(watch::Receiver<()>),
    /// It is too soon to ask again.
    Over(Told),
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
        Self(Arc::new(Shared {
            issuer: issuer.issuer.clone(),
            jwks_uri: issuer.jwks_uri.clone(),
            ca_file: issuer.ca_file.clone(),
            known: RwLock::default(),
            asking: Mutex::default(),
        }))
    }

    /// The key of this name; none where the issuer has none. Keys that are known are not waited for.
    pub(super) async fn find(&self, kid: &str) -> Result<Option<Key>, Unvouched> {
        let (found, age) = self.0.look(kid);
        match (found, age) {
            (Some(key), Some(age)) if age < FRESH => return Ok(Some(key)),
            (Some(key), Some(age)) if age < STALE => {
                // Somebody asks already, or has just asked: what is known will do.
                let Fetch::Begun(fetch) = self.ask() else {
                    return Ok(Some(key));
                };
                self.wait(fetch).await;
                let (again, _) = self.0.look(kid);
                return Ok(again);
            }
            _ => {}
        }
        let told = match self.ask() {
            Fetch::Begun(fetch) | Fetch::UnderWay(fetch) => self.wait(fetch).await,
            Fetch::Over(told) => told,
        };
        match (self.0.look(kid), told) {
            ((Some(key), Some(age)), _) if age < STALE => Ok(Some(key)),
            ((None, Some(_)), Told::All) => Ok(None),
            // It may be a key that the issuer has, and could not tell us of.
            _ => Err(Unvouched::Unavailable),
        }
    }

    /// INVARIANT: a fetch is nobody's: it goes on when whoever asked first has gone, so that nobody can end it for others.
    fn ask(&self) -> Fetch {
        let mut asking = self.0.asking();
        // A sender that is gone has no news any more, however its fetch ended.
        let under_way = asking.under_way.as_ref();
        if let Some(fetch) = under_way.filter(|fetch| fetch.has_changed().is_ok()) {
            return Fetch::UnderWay(fetch.clone());
        }
        if let Some((at, told)) = asking.tried
            && at.elapsed() < PAUSE
        {
            return Fetch::Over(told);
        }
        let (over, fetch) = watch::channel(());
        asking.under_way = Some(fetch.clone());
        let shared = Arc::clone(&self.0);
        tokio::spawn(async move {
            shared.learn().await;
            drop(over);
        });
        Fetch::Begun(fetch)
    }

    async fn wait(&self, mut fetch: watch::Receiver<()>) -> Told {
        match tokio::time::timeout(PATIENCE, fetch.changed()).await {
            Ok(_) => self
                .0
                .asking()
                .tried
                .map_or(Told::Nothing, |(_, told)| told),
            Err(_) => Told::Nothing,
        }
    }
}

impl Shared {
    fn asking(&self) -> MutexGuard<'_, Asking> {
        self.asking.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn look(&self, kid: &str) -> (Option<Key>, Option<Duration>) {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let found = known.as_ref().and_then(|known| {
            let mut keys = known.set.iter();
            keys.find(|key| key.kid == kid).cloned()
        });
        (found, known.as_ref().map(|known| known.since.elapsed()))
    }

    async fn learn(&self) {
        let told = match self.fetch().await {
            Ok(set) => {
                let known = Known {
                    since: Instant::now(),
                    set: Arc::new(set),
                };
                *self.known.write().unwrap_or_else(PoisonError::into_inner) = Some(known);
                Told::All
            }
            Err(why) => {
                tracing::warn!(%why, "the keys of the issuer could not be fetched");
                Told::Nothing
            }
        };
        self.asking().tried = Some((Instant::now(), told));
    }

    async fn fetch(&self) -> Result<Vec<Key>, String> {
        let made = self.asking().http.clone();
        let http = match made {
            Some(http) => http,
            None => {
                let ca_file = self.ca_file.clone();
                let built = off_thread(move || Http::build(ca_file.as_deref())).await;
                let built = built.map_err(|_| "the program is ending".to_owned())??;
                self.asking().http.insert(built).clone()
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

#[cfg(test)]
mod tests;
