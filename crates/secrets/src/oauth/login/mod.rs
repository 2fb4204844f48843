//! Logging in: how a person gives an account to this program, and what is kept of it.
//!
//! It opens no browser and prints nothing: that is the face's part, which the program has.

mod browser;
mod device;
mod door;
mod listener;
mod page;
mod paste;
mod query;
mod request;
mod returned;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use secrecy::{ExposeSecret as _, SecretString};

use super::answer::{Declined, Given};
use super::grant::Grant;
use super::keep;
use super::kept::Login;
use super::lock::{self, NotHeld};
use super::memory::{Access, AccessToken, Because};
use super::proof;
use super::provider::Endpoints;
pub use super::provider::Way;
use super::records::Reach;
use super::standing::Standing;
use super::tokens::{Core, Tokens};
use super::vault::off_thread;
use super::web::Ungiven;
use crate::NoSecret;

/// How the program talks to whoever logs in.
pub trait Face: Send {
    /// An address to be opened in a browser; shown as well, for who has none here.
    fn visit(&mut self, visit: &Visit<'_>);

    /// A code to be typed in, on any machine.
    fn type_in(&mut self, asked: &TypeIn);

    /// The address that the browser ended at, pasted.
    fn pasted(&mut self) -> Pasting<'_>;

    /// Why what was pasted last is not the answer. The next is waited for. INVARIANT: nothing of it is in the words.
    fn wrong(&mut self, said: &str);
}

/// Where a person goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Visit<'a> {
    /// The provider's. What ties its answer to this login stands in it, so it is nobody else's to see.
    pub address: &'a str,
    /// Leads there, once: for the words of a program, which everybody on this machine sees.
    pub door: Option<&'a str>,
}

pub type Pasting<'a> = Pin<Box<dyn Future<Output = std::io::Result<SecretString>> + Send + 'a>>;

/// What a person types in where (RFC 8628, section 3.3).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TypeIn {
    pub address: String,
    pub code: String,
    /// An address that has the code in it already.
    pub complete: Option<String>,
}

/// What came of it. Nothing secret is in it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LoggedIn {
    pub account: String,
    pub requested: String,
    /// None where the provider did not say: then it is what was requested.
    pub granted: Option<String>,
    pub standing: Standing,
    pub company: Company,
}

/// Who else came to a login.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Company {
    /// Answers that came from somebody else.
    pub strangers: u32,
    /// How often the door was tried after somebody had gone through it.
    pub late: u32,
}

/// Why nobody is logged in. INVARIANT: no part of a secret is in it.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum LoginFault {
    #[error("the refresh token could not be kept: {0}")]
    Store(NoSecret),
    #[error("{said}")]
    Misconfigured { said: String },
    #[error("{said}")]
    Unavailable { said: String },
    #[error(
        "another process of mailwarden has been refreshing this account's token for too long, and nothing was kept; log in again later"
    )]
    Busy,
    /// The provider has no such way.
    #[error("{said}")]
    NotOffered { said: String },
    #[error("access was denied in the browser; nothing has changed")]
    Denied,
    #[error("nobody logged in within the time there was; start again")]
    TimedOut,
    #[error(
        "somebody on this machine keeps the listener for the answer busy; find out who, and start again"
    )]
    Attacked,
    #[error(
        "the answer names another issuer than the one that was asked, as if one provider's answer were passed off as another's; nothing was sent to anybody"
    )]
    OtherIssuer,
    /// What was pasted is not the whole address.
    #[error("{said}")]
    Pasted { said: String },
    #[error("the provider gave no refresh token, so the login would end within the hour; {hint}")]
    NoRefreshToken { hint: String },
    #[error(
        "the refresh token is in the secret store, but the login could not be remembered ({said}); make the state directory writable and log in again"
    )]
    Unremembered { said: String },
}

/// Lets a person log in, and keeps what comes of it: when this returns, a crash loses nothing.
pub async fn run(tokens: &Tokens, way: Way, face: &mut dyn Face) -> Result<LoggedIn, LoginFault> {
    run_with_second(tokens, way, face, SECOND).await
}

/// How long a second is: tests of what waits for a person have shorter ones.
const SECOND: Duration = Duration::from_secs(1);

pub(crate) async fn run_with_second(
    tokens: &Tokens,
    way: Way,
    face: &mut dyn Face,
    second: Duration,
) -> Result<LoggedIn, LoginFault> {
    let core = tokens.core();
    let vault = core.vault.clone();
    let writable = off_thread(move || vault.writable()).await;
    writable.map_err(|_| ending())?.map_err(LoginFault::Store)?;
    // Nobody is sent to a browser for what could not be kept then. Who refreshes now is done before a person is.
    if let Some(files) = core.files.clone() {
        let lockable = off_thread(move || lock::try_out(&files)).await;
        let lockable = lockable.map_err(|_| ending())?;
        lockable.map_err(|error| unusable(&error))?;
    }
    let asking = Asking::new(core, way).await?;
    let alone = Company::default();
    let (given, company) = match way {
        Way::Browser => browser::run(&asking, face).await?,
        Way::Device => (device::run(&asking, face, second).await?, alone),
        Way::Paste => (paste::run(&asking, face).await?, alone),
    };
    let granted = given.scope.clone();
    settle(core, given).await?;
    Ok(LoggedIn {
        account: core.grant.account.clone(),
        requested: core.grant.scope(),
        granted,
        standing: tokens.standing(),
        company,
    })
}

/// One login, and whom it asks.
struct Asking<'a> {
    core: &'a Core,
    grant: &'a Grant,
    client: &'a str,
    scope: String,
    endpoints: Arc<Endpoints>,
}

impl<'a> Asking<'a> {
    async fn new(core: &'a Core, way: Way) -> Result<Self, LoginFault> {
        let grant = &core.grant;
        let client = grant.client_id.as_deref();
        let client = client.ok_or_else(|| LoginFault::Misconfigured {
            said: grant.no_client(),
        })?;
        let offered = grant.provider.offers(way);
        offered.map_err(|said| LoginFault::NotOffered { said })?;
        let endpoints = core.web.endpoints(&grant.provider).await;
        Ok(Self {
            core,
            grant,
            client,
            scope: grant.scope(),
            endpoints: endpoints.map_err(|why| sort(grant, why))?,
        })
    }

    /// The address that a person visits (RFC 6749, section 4.1.1; RFC 7636, section 4.3).
    fn address(&self, redirect: &str, state: &SecretString, verifier: &SecretString) -> String {
        let challenge = proof::challenge(verifier);
        let mut url = self.endpoints.authorize.url().clone();
        url.query_pairs_mut()
            .append_pair("response_type", "code")
            .append_pair("client_id", self.client)
            .append_pair("redirect_uri", redirect)
            .append_pair("scope", &self.scope)
            .append_pair("state", state.expose_secret())
            .append_pair("code_challenge", &challenge)
            .append_pair("code_challenge_method", "S256")
            .append_pair("login_hint", &self.grant.user)
            .extend_pairs(self.grant.provider.extras(&self.scope));
        url.into()
    }

    /// RFC 6749, section 4.1.3.
    async fn exchange(
        &self,
        code: &SecretString,
        redirect: &str,
        verifier: &SecretString,
    ) -> Result<Given, LoginFault> {
        let fields = [
            ("grant_type", "authorization_code"),
            ("code", code.expose_secret()),
            ("redirect_uri", redirect),
            ("code_verifier", verifier.expose_secret()),
        ];
        self.tokens(&fields)
            .await
            .map_err(|why| sort(self.grant, why))
    }

    async fn tokens(&self, fields: &[(&str, &str)]) -> Result<Given, Ungiven> {
        self.core
            .web
            .tokens(self.grant, &self.endpoints, fields)
            .await
    }
}

/// Keeps what was given: the store first, so that what is remembered is never of a token that is not there.
async fn settle(core: &Arc<Core>, given: Given) -> Result<(), LoginFault> {
    let refresh = given.refresh.ok_or_else(|| LoginFault::NoRefreshToken {
        hint: if core.grant.scope.is_some() {
            "add offline_access to oauth_scope where the provider wants that, or remove the program's access at the provider, and log in again".to_owned()
        } else {
            "remove the program's access at the provider and log in again".to_owned()
        },
    })?;
    let id = proof::random().map_err(|_| no_randomness())?;
    let login = Login {
        id: id.expose_secret().to_owned(),
        given: core.grant.given().unwrap_or_default(),
        requested: core.grant.scope(),
        granted: given.scope,
        tokens: Vec::new(),
    };
    let access = Access::new(
        AccessToken::new(given.access),
        given.lifetime,
        Because::Needed,
    );
    let _held = hold(core).await?;
    keep::begin(core, refresh, login, access).await
}

/// The account's lock, where there is a place for one.
async fn hold(core: &Core) -> Result<Option<lock::Held>, LoginFault> {
    let Some(files) = &core.files else {
        return Ok(None);
    };
    match lock::hold(files).await {
        Ok(held) => Ok(Some(held)),
        Err(NotHeld::Busy) => Err(LoginFault::Busy),
        Err(NotHeld::Io(error)) if files.reach() == Reach::Replicas => {
            Err(LoginFault::Unavailable {
                said: lock::unreachable(&error),
            })
        }
        Err(NotHeld::Io(error)) => Err(unusable(&error)),
    }
}

fn sort(grant: &Grant, why: Ungiven) -> LoginFault {
    let provider = grant.provider.name();
    match why {
        Ungiven::Unavailable(said) => LoginFault::Unavailable { said },
        Ungiven::Misconfigured(said) => LoginFault::Misconfigured { said },
        Ungiven::Declined(Declined::Busy { status, .. }) => LoginFault::Unavailable {
            said: format!(
                "{provider} cannot give tokens now (status {status}); log in again later"
            ),
        },
        Ungiven::Declined(Declined::Malformed { status, .. }) => LoginFault::Unavailable {
            said: format!("{provider} did not answer as the standards have it (status {status})"),
        },
        Ungiven::Declined(Declined::Refused(refusal)) => LoginFault::Misconfigured {
            said: format!(
                "{provider} refuses: {}; check oauth_client_id, the client's secret, oauth_scope and the redirect URI that is registered",
                refusal.words()
            ),
        },
    }
}

fn ending() -> LoginFault {
    LoginFault::Unavailable {
        said: "the program is ending".to_owned(),
    }
}

fn unusable(error: &std::io::Error) -> LoginFault {
    LoginFault::Misconfigured {
        said: format!("{}, and log in again", lock::unusable(error)),
    }
}

fn no_randomness() -> LoginFault {
    LoginFault::Unavailable {
        said: "the system gives no random octets, without which a login is not safe".to_owned(),
    }
}
