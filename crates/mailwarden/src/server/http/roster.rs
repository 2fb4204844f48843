//! Whose token is whose: ours by their digests, those of an issuer by what it vouches for. A reload puts others in their
//! place.

use std::ffi::OsString;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::SystemTime;

use gateway::{Caller, Credential};
use jiff::Timestamp;
use secrets::{Unvouched, Verifier};
use subtle::{ConditionallySelectable as _, ConstantTimeEq as _};

use super::refusals::Why;
use crate::config::dir::{CallerAuth, Token, TokenDigest, Vouchee, Vouching};
use crate::config::{Callers, Problem, Problems, identity};
use crate::wiring;

/// The owner's token, where accounts stand in the environment.
const OWNER_TOKEN: &str = "MAILWARDEN_HTTP_TOKEN";
/// Shorter ones can be guessed.
const LEAST_TOKEN: usize = 16;

/// Everybody who may bring a token.
pub(crate) struct Roster {
    known: RwLock<Arc<All>>,
    owner: Option<TokenDigest>,
}

#[derive(Default)]
struct All {
    tokens: Vec<Known>,
    vouched: Option<Arc<Vouched>>,
}

/// Those who bring tokens of an issuer.
pub(super) struct Vouched {
    verifier: Arc<Verifier>,
    pub(super) issuer: String,
    pub(super) resource: String,
    callers: Vec<(String, Vouchee)>,
}

/// Somebody who has proven who it is, and how long that holds.
pub(super) struct Shown {
    pub caller: Caller,
    pub until: Option<SystemTime>,
}

/// Why somebody is nobody.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Unproven {
    Nobody(Why),
    /// It is a caller, and its token does not reach so far: these it would need.
    Short(Vec<String>),
    /// Nobody can say: whoever vouches for such tokens does not answer.
    Unknown,
}

struct Known {
    token: Token,
    id: String,
    credential: Credential,
}

impl Roster {
    pub(crate) fn of(
        callers: &Callers,
        vouching: Option<&Vouching>,
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
        roster.replace(callers, vouching);
        Ok(roster)
    }

    /// Whether they can all be served over HTTP.
    pub(crate) fn fits(&self, callers: &Callers) -> Result<(), Problems> {
        match callers {
            Callers::Owner => Ok(()),
            Callers::Listed(listed) => identity::over_http(listed),
        }
    }

    /// From now on these and no others.
    pub(crate) fn replace(&self, callers: &Callers, vouching: Option<&Vouching>) {
        let tokens = match callers {
            Callers::Owner => self.owner.into_iter().map(owner).collect(),
            Callers::Listed(listed) => listed
                .iter()
                .flat_map(|caller| {
                    let tokens = match &caller.auth {
                        CallerAuth::SharedToken(tokens) => tokens.as_slice(),
                        CallerAuth::StdioTrusted | CallerAuth::Oauth(_) => &[],
                    };
                    tokens.iter().map(|token| Known {
                        token: *token,
                        id: caller.id.clone(),
                        credential: wiring::credential(Some(token.digest)),
                    })
                })
                .collect(),
        };
        let before = self.known().vouched.clone();
        let vouched = vouching.map(|vouching| Arc::new(Vouched::of(vouching, callers, before)));
        let all = All { tokens, vouched };
        *self.known.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(all);
    }

    /// Who vouches, if somebody does.
    pub(super) fn vouched(&self) -> Option<Arc<Vouched>> {
        self.known().vouched.clone()
    }

    /// Who brings this token, from there.
    pub(super) async fn find(&self, token: &str, address: &str) -> Result<Shown, Unproven> {
        let known = self.known();
        match (known.find(token, address), &known.vouched) {
            (Err(Why::UnknownToken), Some(vouched)) => vouched.find(token, address).await,
            (found, _) => found.map_err(Unproven::Nobody),
        }
    }

    /// Whether somebody who was known still is.
    pub(super) fn knows(&self, caller: &Caller) -> bool {
        let now = Timestamp::now();
        let known = self.known();
        let by_token = known.tokens.iter().any(|one| {
            one.id == caller.as_str()
                && one.credential == caller.credential()
                && one.token.is_fresh(now)
        });
        by_token
            || known
                .vouched
                .as_ref()
                .is_some_and(|vouched| vouched.knows(caller))
    }

    /// Whether there is still a caller of this name that could bring a token, whichever it brought before.
    pub(super) fn serves(&self, id: &str) -> bool {
        let now = Timestamp::now();
        let known = self.known();
        let mut tokens = known.tokens.iter();
        let vouched = known.vouched.as_ref();
        tokens.any(|one| one.id == id && one.token.is_fresh(now))
            || vouched.is_some_and(|vouched| vouched.callers.iter().any(|(one, _)| one == id))
    }

    fn known(&self) -> Arc<All> {
        Arc::clone(&self.known.read().unwrap_or_else(PoisonError::into_inner))
    }
}

impl All {
    // INVARIANT: takes as long for every token, right or wrong: digests of one length, each compared to its end, all of them.
    fn find(&self, token: &str, address: &str) -> Result<Shown, Why> {
        let shown = TokenDigest::of(token);
        let mut found = u64::MAX;
        for (index, one) in (0u64..).zip(&self.tokens) {
            found.conditional_assign(&index, one.token.digest.0.ct_eq(&shown.0));
        }
        let one = usize::try_from(found)
            .ok()
            .and_then(|at| self.tokens.get(at));
        let one = one.ok_or(Why::UnknownToken)?;
        match one.token.is_fresh(Timestamp::now()) {
            true => Ok(Shown {
                caller: Caller::new(one.id.clone(), address, one.credential),
                until: one.token.expires.map(Into::into),
            }),
            false => Err(Why::Expired),
        }
    }
}

impl Vouched {
    /// What is known of the same issuer's keys is taken over.
    fn of(vouching: &Vouching, callers: &Callers, before: Option<Arc<Self>>) -> Self {
        let same = before.filter(|before| before.verifier.is_of(&vouching.issuer));
        let verifier = match same {
            Some(before) => Arc::clone(&before.verifier),
            None => Arc::new(Verifier::new(vouching.issuer.clone())),
        };
        let listed = match callers {
            Callers::Owner => &[][..],
            Callers::Listed(listed) => listed,
        };
        let callers = listed.iter().filter_map(|caller| match &caller.auth {
            CallerAuth::Oauth(vouchee) => Some((caller.id.clone(), vouchee.clone())),
            CallerAuth::StdioTrusted | CallerAuth::SharedToken(_) => None,
        });
        Self {
            verifier,
            issuer: vouching.issuer.issuer.clone(),
            resource: vouching.resource.clone(),
            callers: callers.collect(),
        }
    }

    /// INVARIANT: a token that fits nobody, or more than one, is nobody's.
    async fn find(&self, token: &str, address: &str) -> Result<Shown, Unproven> {
        let told = self.verifier.verify(token).await;
        let told = told.map_err(|why| match why {
            Unvouched::Invalid => Unproven::Nobody(Why::Unvouched),
            Unvouched::Unavailable => Unproven::Unknown,
        })?;
        let fits =
            |wanted: &Option<String>, said: &Option<String>| wanted.is_none() || (wanted == said);
        let mut meant = self.callers.iter().filter(|(_, vouchee)| {
            fits(&vouchee.subject, &told.subject) && fits(&vouchee.client, &told.client)
        });
        let (Some((id, vouchee)), None) = (meant.next(), meant.next()) else {
            return Err(Unproven::Nobody(Why::Unvouched));
        };
        if !vouchee
            .scopes
            .iter()
            .all(|scope| told.scopes.contains(scope))
        {
            return Err(Unproven::Short(vouchee.scopes.clone()));
        }
        let credential = wiring::credential(Some(vouchee.digest()));
        Ok(Shown {
            caller: Caller::new(id.clone(), address, credential),
            until: Some(told.until),
        })
    }

    fn knows(&self, caller: &Caller) -> bool {
        self.callers.iter().any(|(id, vouchee)| {
            let credential = wiring::credential(Some(vouchee.digest()));
            id == caller.as_str() && credential == caller.credential()
        })
    }

    /// Every scope that somebody needs.
    pub(super) fn scopes(&self) -> Vec<String> {
        let all = self.callers.iter().flat_map(|(_, vouchee)| &vouchee.scopes);
        let mut all: Vec<String> = all.cloned().collect();
        all.sort_unstable();
        all.dedup();
        all
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

#[cfg(test)]
mod tests {
    use super::*;

    fn known(id: &str, token: &str) -> Known {
        let digest = TokenDigest::of(token);
        Known {
            token: Token {
                digest,
                expires: None,
            },
            id: id.to_owned(),
            credential: wiring::credential(Some(digest)),
        }
    }

    fn roster(all: All) -> Roster {
        Roster {
            known: RwLock::new(Arc::new(all)),
            owner: None,
        }
    }

    /// Its sessions stay when a token is replaced by the next, and go when it goes.
    #[tokio::test]
    async fn a_caller_is_more_than_the_token_that_it_came_with() {
        let before = roster(All {
            tokens: vec![known("a", "the token before"), known("b", "another token")],
            vouched: None,
        });
        let Ok(shown) = before.find("the token before", "http:test").await else {
            panic!("it is known");
        };
        let after = roster(All {
            tokens: vec![known("a", "the token after")],
            vouched: None,
        });
        assert!(!after.knows(&shown.caller));
        assert!(after.serves("a") && !after.serves("b"));
    }

    /// Its token may be good: nobody is told that it is not.
    #[tokio::test]
    async fn who_cannot_be_vouched_for_now_is_not_nobody() {
        // Taken and not listened on, so that nobody answers.
        let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let issuer = format!("http://{}", taken.local_addr().unwrap());
        drop(taken);
        let verifier = Verifier::new(secrets::Issuer {
            issuer: issuer.clone(),
            audience: "https://mail.example/mcp".to_owned(),
            jwks_uri: None,
            ca_file: None,
        });
        let roster = roster(All {
            tokens: Vec::new(),
            vouched: Some(Arc::new(Vouched {
                verifier: Arc::new(verifier),
                issuer,
                resource: "https://mail.example/mcp".to_owned(),
                callers: Vec::new(),
            })),
        });
        // {"alg":"EdDSA","kid":"one","typ":"at+jwt"}
        let token = "eyJhbGciOiJFZERTQSIsImtpZCI6Im9uZSIsInR5cCI6ImF0K2p3dCJ9.e30.c2ln";
        let found = roster.find(token, "http:test").await;
        assert_eq!(found.err(), Some(Unproven::Unknown));
        let found = roster.find("no token of any issuer", "http:test").await;
        assert_eq!(found.err(), Some(Unproven::Nobody(Why::Unvouched)));
    }
}
