//! One refresh, from what is remembered to what is remembered next.
//!
//! Whoever runs it holds the account's lock from before the refresh token is read until its successor is kept. Killed
//! at any point, it leaves a refresh token that works, or one that the provider refuses, which is told and remembered.

use std::sync::Arc;
use std::time::Duration;

use secrecy::{ExposeSecret as _, SecretString};

use super::answer::{Code, Declined, Given, LONGEST_TOKEN, Refusal};
use super::keep::{self, Keeping, Superseded};
use super::kept::{Files, Kept};
use super::lock::{self, NotHeld};
use super::memory::{Access, AccessToken, Because};
use super::proof;
use super::seal::Fingerprint;
use super::standing::{Holding, NeedsLogin, Standing};
use super::tokens::{Cause, Core, NoToken};
use super::vault::off_thread;
use super::web::Ungiven;

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

pub(crate) async fn run(core: &Arc<Core>, cause: &Cause) -> Result<Access, Failed> {
    let held = hold(core).await?;
    // A refusal is believed when the store still holds what was refused: somebody may have logged in meanwhile.
    let mut last = None;
    loop {
        let sight = look(core).await?;
        if last.as_ref() == Some(&sight.print) {
            break;
        }
        last = Some(sight.print.clone());
        match attempt(core, cause, sight).await? {
            Attempt::Good(access) => return Ok(access),
            Attempt::Refused => {}
        }
    }
    drop(held);
    Err(NoToken::NeedsLogin(NeedsLogin::Refused).into())
}

async fn hold(core: &Core) -> Result<Option<lock::Held>, NoToken> {
    let Some(files) = &core.files else {
        return Ok(None);
    };
    match lock::hold(files).await {
        Ok(held) => Ok(Some(held)),
        Err(NotHeld::Busy) => Err(NoToken::Unavailable {
            said: "another process of mailwarden has been refreshing this account's token for too long; try again, or end it".to_owned(),
        }),
        Err(NotHeld::Io(error)) => Err(NoToken::Misconfigured {
            said: format!("the state directory cannot be used ({error}); make it writable"),
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
        let stamp = looking.files.as_ref().and_then(Files::stamp);
        // Without a file, what this process remembers is all there is.
        let kept = match &looking.files {
            Some(files) => files.read(),
            None => looking.memory().kept.clone(),
        };
        let stored = looking.vault.read();
        let holding = match &stored {
            Ok(token) => Holding::Token(Fingerprint::of(&looking.grant.account, token)),
            Err(why) => looking.holding_nothing(&kept, why),
        };
        (stamp, kept, stored, holding)
    };
    let (stamp, kept, stored, holding) = off_thread(work).await.map_err(|_| ending())?;
    let (standing, waiting) = {
        let mut memory = core.memory();
        memory.note_login(&kept);
        memory.kept = memory.with_unwritten(kept.clone());
        memory.stamp = stamp;
        memory.holding = holding.clone();
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

enum Attempt {
    Good(Access),
    /// By the provider, and it is remembered.
    Refused,
}

async fn attempt(core: &Arc<Core>, cause: &Cause, sight: Sight) -> Result<Attempt, Failed> {
    let _aloft = core.flights.take_off().ok_or_else(ending)?;
    let mut keeping = Keeping::new(core, sight.kept, sight.stored);
    if let Some(access) = overdue(core, cause, &mut keeping).await? {
        return Ok(Attempt::Good(access));
    }
    if let Some(access) = keeping.access().filter(|it| usable(it, cause)) {
        return Ok(Attempt::Good(access));
    }
    for candidate in keeping.candidates() {
        match ask(core, &candidate).await {
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
    let unsaved = core.memory().unsaved.take();
    let Some(unsaved) = unsaved.filter(|it| it.print == *keeping.print()) else {
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

async fn ask(core: &Core, refresh: &SecretString) -> Result<Given, Ungiven> {
    let endpoints = core.web.endpoints(&core.grant.provider).await?;
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
