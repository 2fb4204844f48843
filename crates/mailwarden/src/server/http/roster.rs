//! Whose token is whose. Only digests are kept; a reload puts others in their place.

use std::ffi::OsString;
use std::sync::{Arc, PoisonError, RwLock};

use gateway::{Caller, Credential};
use jiff::Timestamp;
use subtle::{ConditionallySelectable as _, ConstantTimeEq as _};

use super::refusals::Why;
use crate::config::dir::{CallerAuth, Token, TokenDigest};
use crate::config::{Callers, Problem, Problems};
use crate::wiring;

/// The owner's token, where accounts stand in the environment.
const OWNER_TOKEN: &str = "MAILWARDEN_HTTP_TOKEN";
/// Shorter ones can be guessed.
const LEAST_TOKEN: usize = 16;

/// Everybody who may bring a token.
pub(crate) struct Roster {
    known: RwLock<Arc<Vec<Known>>>,
    owner: Option<TokenDigest>,
}

struct Known {
    token: Token,
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
        let given = given.filter(|token| !token.is_empty());
        if matches!(callers, Callers::Owner) {
            let what = match &given {
                None => {
                    "is not set; over HTTP everybody brings a token: set it to one, such as `mailwarden config token` makes"
                }
                Some(token) if token.chars().count() < LEAST_TOKEN => {
                    "has fewer than 16 characters, and could be guessed"
                }
                Some(_) => "",
            };
            if !what.is_empty() {
                return Err(Problems(vec![Problem::variable(OWNER_TOKEN, what)]));
            }
        }
        let roster = Self {
            known: RwLock::default(),
            owner: given.as_deref().map(TokenDigest::of),
        };
        roster.fits(callers)?;
        roster.replace(callers);
        Ok(roster)
    }

    /// Whether they can all be served over HTTP. Who is believed without proof cannot: anybody could say it.
    pub(crate) fn fits(&self, callers: &Callers) -> Result<(), Problems> {
        let Callers::Listed(listed) = callers else {
            return Ok(());
        };
        let trusted = |auth: &CallerAuth| matches!(auth, CallerAuth::StdioTrusted);
        let trusted = listed.iter().filter(|caller| trusted(&caller.auth));
        let problems: Vec<Problem> = trusted
            .map(|caller| {
                let what = format!(
                    "the caller '{}' is stdio_trusted, which proves nothing over HTTP; give it a shared_token, or another directory",
                    caller.id
                );
                Problem::file("callers.yaml", what)
            })
            .collect();
        match problems.is_empty() {
            true => Ok(()),
            false => Err(Problems(problems)),
        }
    }

    /// From now on these and no others.
    pub(crate) fn replace(&self, callers: &Callers) {
        let known = match callers {
            Callers::Owner => self.owner.into_iter().map(owner).collect(),
            Callers::Listed(listed) => listed
                .iter()
                .flat_map(|caller| {
                    let tokens = match &caller.auth {
                        CallerAuth::SharedToken(tokens) => tokens.as_slice(),
                        CallerAuth::StdioTrusted => &[],
                    };
                    tokens.iter().map(|token| Known {
                        token: *token,
                        id: caller.id.clone(),
                        credential: wiring::credential(Some(token.digest)),
                    })
                })
                .collect(),
        };
        *self.known.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(known);
    }

    /// Who brings this token, from there.
    // INVARIANT: takes as long for every token, right or wrong: digests of one length, each compared to its end, all of them.
    pub(super) fn find(&self, token: &str, address: &str) -> Result<Caller, Why> {
        let known = self.known();
        let shown = TokenDigest::of(token);
        let mut found = u64::MAX;
        for (index, one) in (0u64..).zip(known.iter()) {
            found.conditional_assign(&index, one.token.digest.0.ct_eq(&shown.0));
        }
        let one = usize::try_from(found).ok().and_then(|at| known.get(at));
        let one = one.ok_or(Why::UnknownToken)?;
        match one.token.is_fresh(Timestamp::now()) {
            true => Ok(Caller::new(one.id.clone(), address, one.credential)),
            false => Err(Why::Expired),
        }
    }

    /// Whether somebody who was known still is.
    pub(super) fn knows(&self, caller: &Caller) -> bool {
        let now = Timestamp::now();
        self.known().iter().any(|one| {
            one.id == caller.as_str()
                && one.credential == caller.credential()
                && one.token.is_fresh(now)
        })
    }

    fn known(&self) -> Arc<Vec<Known>> {
        Arc::clone(&self.known.read().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The person whose accounts these are.
fn owner(digest: TokenDigest) -> Known {
    Known {
        token: Token {
            digest,
            expires: None,
        },
        id: Caller::owner("").as_str().to_owned(),
        credential: Credential::default(),
    }
}
