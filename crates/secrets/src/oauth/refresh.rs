//! One refresh, from what is remembered to what is remembered next.
//!
//! Whoever runs it holds the account's lock from before the refresh token is read until its successor is kept. Killed
//! at any point, it leaves a refresh token that works, or one that the provider refuses, which is told and remembered.

use std::sync::Arc;
use std::time::{Duration, Instant};

use secrecy::{ExposeSecret as _, SecretString};
use tokio::time::timeout;

use super::answer::{Code, Declined, Given, LONGEST_TOKEN, Refusal};
use super::http;
use super::keep::{self, Keeping, Superseded};
use super::kept::{Files, Kept};
use super::lock::{self, NotHeld};
use super::memory::{Access, AccessToken, Because};
use super::proof;
use super::records::Reach;
use super::seal::Fingerprint;
use super::standing::{Holding, NeedsLogin, Standing};
use super::tokens::{Cause, Core, NoToken};
use super::vault::off_thread;
use super::web::Ungiven;
use crate::store::PROGRAM;

/// Told to whoever observes. Nothing secret is in it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refreshed {
    pub account: String,
    pub outcome: RefreshOutcome,
    pub rotation: Rotation,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RefreshOutcome {
    Refreshed,
    /// A person has to log in.
    Refused,
    Unavailable,
    Misconfigured,
}

impl RefreshOutcome {
    pub fn word(self) -> &'static str {
        match self {
            Self::Refreshed => "refreshed",
            Self::Refused => "refused",
            Self::Unavailable => "unavailable",
            Self::Misconfigured => "misconfigured",
        }
    }
}

/// What became of the refresh token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rotation {
    /// It stays the same.
    None,
    /// Another one is in the secret store.
    Stored,
    /// Another one is beside it, sealed: the store could not be written.
    Sealed,
    /// Another one could be kept nowhere yet.
    Unkept,
}

impl Rotation {
    pub fn word(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Stored => "stored",
            Self::Sealed => "sealed",
            Self::Unkept => "unkept",
        }
    }
}

/// What a flight ends with, and when it is worth trying again.
#[derive(Debug)]
pub(crate) struct Failed {
    pub said: NoToken,
    pub wait: Option<Duration>,
}

impl From<NoToken> for Failed {
    fn from(said: NoToken) -> Self {
        Self { said, wait: None }
    }
}

/// No token is shown to a provider later than this after the lock was got.
pub(crate) const BEGUN_WITHIN: Duration = Duration::from_secs(60);

/// A store whose token is another one each time it is refused is not followed for ever.
pub(crate) const MOST_ATTEMPTS: usize = 3;

/// So long the lock is held at most: the last answer may come this much later, and then programs keep what is in it.
pub(crate) const LONGEST: Duration =
    Duration::from_secs(BEGUN_WITHIN.as_secs() + http::LIMIT.as_secs() + 6 * PROGRAM.as_secs());

pub(crate) async fn run(core: &Arc<Core>, cause: &Cause) -> Result<Access, Failed> {
    let _held = hold(core).await.inspect_err(|why| complain(core, why))?;
    let begun = Instant::now();
    // A refusal is believed when the store still holds what was refused: somebody may have logged in meanwhile.
    let mut last = None;
    for _ in 0..MOST_ATTEMPTS {
        let sight = look(core).await.inspect_err(|why| complain(core, why))?;
        if last.as_ref() == Some(&sight.print) {
            break;
        }
        last = Some(sight.print.clone());
        match attempt(core, cause, begun, sight).await? {
            Attempt::Good(access) => return Ok(access),
            Attempt::Refused => {}
        }
    }
    Err(NoToken::NeedsLogin(NeedsLogin::Refused).into())
}

/// Also what fails before anybody is asked is told. That a person has to log in is told once, when the provider says so.
fn complain(core: &Core, why: &NoToken) {
    if !matches!(why, NoToken::NeedsLogin(_)) {
        core.tell(&told(core, outcome_of(why), Rotation::None));
    }
}

async fn hold(core: &Core) -> Result<Option<lock::Held>, NoToken> {
    let Some(files) = &core.files else {
        return Ok(None);
    };
    match lock::hold(files).await {
        Ok(held) => Ok(Some(held)),
        Err(NotHeld::Busy) => Err(NoToken::Unavailable {
            said: "another process of mailwarden is refreshing this account's token, and takes unusually long; try again later".to_owned(),
        }),
        Err(NotHeld::Io(error)) if files.reach() == Reach::Replicas => Err(NoToken::Unavailable {
            said: lock::unreachable(&error),
        }),
        Err(NotHeld::Io(error)) => Err(NoToken::Misconfigured {
            said: lock::unusable(&error),
        }),
    }
}

/// What file and store hold, seen under the lock.
struct Sight {
    kept: Kept,
    stored: SecretString,
    print: Fingerprint,
}

async fn look(core: &Arc<Core>) -> Result<Sight, NoToken> {
    let looking = Arc::clone(core);
    let work = move || {
        let before = looking.files.as_ref().and_then(Files::stamp);
        // Without a file, what this process remembers is all there is.
        let kept = match &looking.files {
            // INVARIANT: what a replica may have used up is not used again because nobody could tell.
            Some(files) if files.reach() == Reach::Replicas => files.try_read()?,
            Some(files) => files.read(),
            None => looking.memory().kept.clone(),
        };
        let stamp = looking
            .files
            .as_ref()
            .and_then(|files| files.stamp_of_read(before));
        let stored = looking.vault.read();
        let holding = match &stored {
            Ok(token) => Holding::Token(Fingerprint::of(&looking.grant.account, token)),
            Err(why) => looking.holding_nothing(&kept, why),
        };
        Ok::<_, std::io::Error>((stamp, kept, stored, holding))
    };
    let looked = off_thread(work).await.map_err(|_| ending())?;
    let (stamp, kept, stored, holding) = looked.map_err(|error| NoToken::Unavailable {
        said: format!(
            "what replicas know of this account's token cannot be read ({error}); try again later"
        ),
    })?;
    let (standing, waiting) = {
        let mut memory = core.memory();
        memory.note_login(&kept);
        memory.kept = memory.with_unwritten(kept.clone());
        memory.stamp = stamp;
        memory.holding = holding.clone();
        memory.lacking = stored.as_ref().err().cloned();
        let waiting = memory.waiting();
        let waiting = waiting.map(|it| (it.before.clone(), it.print.clone()));
        (core.judge(&memory), waiting)
    };
    match (standing, stored, holding) {
        (Standing::NeedsLogin(why), _, _) => Err(NoToken::NeedsLogin(why)),
        // What this process could not keep comes first, also where the store has lost what it held.
        _ if let Some((stored, print)) = waiting => Ok(Sight {
            kept,
            stored,
            print,
        }),
        // INVARIANT: who has an outdated store does not destroy what the others have in common.
        (_, Ok(_), Holding::Token(print))
            if shares(core)
                && kept.is_of_another(&print, &core.grant.given().unwrap_or_default()) =>
        {
            Err(NoToken::Misconfigured {
                said: "this machine's secret store is older than the last login, or of another one; copy it anew from where the login was, or log in again".to_owned(),
            })
        }
        (_, Ok(stored), Holding::Token(print)) => Ok(Sight {
            kept,
            stored,
            print,
        }),
        (_, Err(why), _) => Err(NoToken::Misconfigured {
            said: why.to_string(),
        }),
        (_, Ok(_), _) => Err(NoToken::NeedsLogin(NeedsLogin::Never)),
    }
}

fn shares(core: &Core) -> bool {
    let files = core.files.as_ref();
    files.is_some_and(|files| files.reach() == Reach::Replicas)
}

enum Attempt {
    Good(Access),
    /// By the provider, and it is remembered.
    Refused,
}

async fn attempt(
    core: &Arc<Core>,
    cause: &Cause,
    begun: Instant,
    sight: Sight,
) -> Result<Attempt, Failed> {
    let _aloft = core.flights.take_off().ok_or_else(ending)?;
    let mut keeping = Keeping::new(core, sight.kept, sight.stored);
    if let Some(access) = overdue(core, cause, &mut keeping).await? {
        return Ok(Attempt::Good(access));
    }
    if let Some(access) = keeping.access().filter(|it| usable(it, cause)) {
        return Ok(Attempt::Good(access));
    }
    for candidate in keeping.candidates() {
        match ask(core, begun, &candidate).await {
            Ok(given) => return finish(core, cause, keeping, &candidate, given).await,
            Err(Ungiven::Declined(Declined::Refused(Refusal {
                code: Code::InvalidGrant | Code::InteractionRequired,
                ..
            }))) => keeping.refuse(&candidate),
            Err(mut why) => {
                let rotation = salvage(core, &mut keeping, &mut why).await?;
                let failed = sort(core, why);
                core.tell(&told(core, outcome_of(&failed.said), rotation));
                return Err(failed);
            }
        }
    }
    core.tell(&told(core, RefreshOutcome::Refused, Rotation::None));
    keep::remember(core, keeping).await?;
    Ok(Attempt::Refused)
}

/// An answer that is of no use otherwise may have replaced the refresh token: first that is kept, then it is complained.
async fn salvage(
    core: &Arc<Core>,
    keeping: &mut Keeping,
    why: &mut Ungiven,
) -> Result<Rotation, Failed> {
    let Ungiven::Declined(Declined::Malformed { successor, .. }) = why else {
        return Ok(Rotation::None);
    };
    let Some(next) = successor.take() else {
        return Ok(Rotation::None);
    };
    if proof::same(keeping.stored(), next.expose_secret()) {
        return Ok(Rotation::None);
    }
    Ok(match keep::supersede(core, keeping, next, None).await? {
        Superseded::Stored => Rotation::Stored,
        Superseded::Sealed => Rotation::Sealed,
        Superseded::Nowhere(said) => {
            *why = Ungiven::Misconfigured(said);
            Rotation::Unkept
        }
    })
}

/// What an earlier refresh could keep nowhere is kept now, or nothing goes on.
async fn overdue(
    core: &Arc<Core>,
    cause: &Cause,
    keeping: &mut Keeping,
) -> Result<Option<Access>, Failed> {
    let unsaved = {
        let mut memory = core.memory();
        memory.unsaved.take_if(|it| it.print != *keeping.print());
        memory.unsaved.clone()
    };
    let Some(unsaved) = unsaved else {
        return Ok(None);
    };
    let access = unsaved.access;
    let kept = keep::supersede(core, keeping, unsaved.refresh, access.as_ref()).await?;
    if let Superseded::Nowhere(said) = kept {
        core.tell(&told(core, RefreshOutcome::Misconfigured, Rotation::Unkept));
        return Err(NoToken::Misconfigured { said }.into());
    }
    Ok(access.filter(|it| usable(it, cause)))
}

fn usable(access: &Access, cause: &Cause) -> bool {
    let spurned = matches!(cause, Cause::Spurned(refused) if access.token.is(refused));
    access.is_fresh() && !spurned
}

pub(crate) async fn ask(
    core: &Core,
    begun: Instant,
    refresh: &SecretString,
) -> Result<Given, Ungiven> {
    let late = || {
        let said = "finding out where tokens are had took too long; it is tried again later";
        Ungiven::Unavailable(said.to_owned())
    };
    let left = BEGUN_WITHIN.checked_sub(begun.elapsed()).ok_or_else(late)?;
    let endpoints = core.web.endpoints(&core.grant.provider);
    let endpoints = timeout(left, endpoints).await.map_err(|_| late())??;
    let fields = [
        ("grant_type", "refresh_token"),
        ("refresh_token", refresh.expose_secret()),
    ];
    core.web.tokens(&core.grant, &endpoints, &fields).await
}

async fn finish(
    core: &Arc<Core>,
    cause: &Cause,
    mut keeping: Keeping,
    used: &SecretString,
    given: Given,
) -> Result<Attempt, Failed> {
    let because = match cause {
        Cause::Needed => Because::Needed,
        Cause::Spurned(_) => Because::Spurned,
    };
    let access = Access::new(AccessToken::new(given.access), given.lifetime, because);
    keeping.granted(given.scope.as_deref());
    let next = given.refresh.unwrap_or_else(|| used.clone());
    let rotation = if proof::same(keeping.stored(), next.expose_secret()) {
        keeping.put_access(Some(&access));
        keep::remember(core, keeping).await?;
        Rotation::None
    } else {
        match keep::supersede(core, &mut keeping, next, Some(&access)).await? {
            Superseded::Stored => Rotation::Stored,
            Superseded::Sealed => Rotation::Sealed,
            Superseded::Nowhere(said) => {
                core.tell(&told(core, RefreshOutcome::Misconfigured, Rotation::Unkept));
                return Err(NoToken::Misconfigured { said }.into());
            }
        }
    };
    core.tell(&told(core, RefreshOutcome::Refreshed, rotation));
    Ok(Attempt::Good(access))
}

fn sort(core: &Core, why: Ungiven) -> Failed {
    let provider = core.grant.provider.name();
    match why {
        Ungiven::Unavailable(said) => NoToken::Unavailable { said }.into(),
        Ungiven::Misconfigured(said) => NoToken::Misconfigured { said }.into(),
        Ungiven::Declined(Declined::Busy { status, wait }) => Failed {
            said: NoToken::Unavailable {
                said: format!("{provider} cannot give a token now (status {status}); it is asked again later"),
            },
            wait,
        },
        Ungiven::Declined(Declined::Malformed { status, .. }) => NoToken::Unavailable {
            said: format!(
                "{provider} did not answer as a token endpoint does (status {status}): a bearer token of at most {} kB was expected; check the provider, and try again later",
                LONGEST_TOKEN / 1024
            ),
        }
        .into(),
        Ungiven::Declined(Declined::Refused(refusal)) => NoToken::Misconfigured {
            said: format!(
                "{provider} does not serve this client: {}; check oauth_client_id, the client's secret and its registration",
                refusal.words()
            ),
        }
        .into(),
    }
}

fn outcome_of(said: &NoToken) -> RefreshOutcome {
    match said {
        NoToken::NeedsLogin(_) => RefreshOutcome::Refused,
        NoToken::Unavailable { .. } => RefreshOutcome::Unavailable,
        NoToken::Misconfigured { .. } | NoToken::Spurned { .. } => RefreshOutcome::Misconfigured,
    }
}

fn told(core: &Core, outcome: RefreshOutcome, rotation: Rotation) -> Refreshed {
    Refreshed {
        account: core.grant.account.clone(),
        outcome,
        rotation,
    }
}

pub(crate) fn ending() -> NoToken {
    NoToken::Unavailable {
        said: "the program is ending".to_owned(),
    }
}
