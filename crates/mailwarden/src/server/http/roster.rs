//! Whose token is whose. Only digests are kept; a reload puts others in their place.

use std::ffi::OsString;
use std::sync::{Arc, PoisonError, RwLock};

use gateway::{Caller, Credential};
use secrecy::{ExposeSecret as _, SecretString};
use subtle::{ConditionallySelectable as _, ConstantTimeEq as _};

use crate::config::dir::{CallerAuth, token_digest};
use crate::config::{Callers, Problem, Problems};
use crate::wiring;

/// The owner's token, where accounts stand in the environment.
const OWNER_TOKEN: &str = "MAILWARDEN_HTTP_TOKEN";
/// Shorter ones can be guessed.
const LEAST_TOKEN: usize = 16;

/// Everybody who may bring a token.
pub(crate) struct Roster {
    known: RwLock<Arc<Vec<Known>>>,
    owner: Option<SecretString>,
}

struct Known {
    digest: [u8; 32],
    id: String,
    credential: Credential,
}

impl Roster {
    pub(crate) fn of(
        callers: &Callers,
        variables: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Result<Self, Problems> {
        let given = variables.into_iter().find(|(name, _)| name == OWNER_TOKEN);
        let given = given.and_then(|(_, value)| value.into_string().ok());
        let owner = given
            .filter(|token| !token.is_empty())
            .map(SecretString::from);
        let refuse = |what: &str| {
            Err(Problems(vec![Problem::variable(
                OWNER_TOKEN,
                what.to_owned(),
            )]))
        };
        match callers {
            Callers::Owner => match &owner {
                None => {
                    return refuse(
                        "is not set; over HTTP everybody brings a token: set it to one such as `openssl rand -hex 32` prints",
                    );
                }
                Some(token) if token.expose_secret().chars().count() < LEAST_TOKEN => {
                    return refuse("has fewer than 16 characters, and could be guessed");
                }
                Some(_) => {}
            },
            Callers::Listed(listed) => {
                let trusted = listed
                    .iter()
                    .any(|caller| matches!(caller.auth, CallerAuth::StdioTrusted));
                if trusted {
                    let what = "has a caller with auth.type stdio_trusted, which proves nothing over HTTP; give it a shared_token";
                    return Err(Problems(vec![Problem::file("callers.yaml", what)]));
                }
            }
        }
        let roster = Self {
            known: RwLock::default(),
            owner,
        };
        roster.replace(callers);
        Ok(roster)
    }

    /// From now on these and no others.
    pub(crate) fn replace(&self, callers: &Callers) {
        let known = match callers {
            Callers::Owner => {
                let token = self.owner.iter();
                let owner = Caller::owner("");
                let known = token.map(|token| Known {
                    digest: token_digest(token.expose_secret()),
                    id: owner.as_str().to_owned(),
                    credential: Credential::default(),
                });
                known.collect()
            }
            Callers::Listed(listed) => {
                let known = listed.iter().filter_map(|caller| match &caller.auth {
                    CallerAuth::SharedToken(token) => Some(Known {
                        digest: token_digest(token.expose_secret()),
                        id: caller.id.clone(),
                        credential: wiring::credential(caller),
                    }),
                    CallerAuth::StdioTrusted => None,
                });
                known.collect()
            }
        };
        *self.known.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(known);
    }

    /// Who brings this token, from there.
    // INVARIANT: takes as long for every token, right or wrong: digests of one length, each compared to its end, all of them.
    pub(super) fn find(&self, token: &str, address: &str) -> Option<Caller> {
        let known = Arc::clone(&self.known.read().unwrap_or_else(PoisonError::into_inner));
        let shown = token_digest(token);
        let mut found = u64::MAX;
        for (index, one) in (0u64..).zip(known.iter()) {
            found.conditional_assign(&index, one.digest.ct_eq(&shown));
        }
        let one = known.get(usize::try_from(found).ok()?)?;
        Some(Caller::new(one.id.clone(), address, one.credential))
    }
}
