//! The tokens of one account: asked for by every connection, refreshed once for all of them.
//!
//! How a refresh goes is said in `refresh.rs`; here is who waits for it, and what is answered without one.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use tokio::runtime::Handle;
use tokio::sync::watch;

use super::Grant;
use super::flights::Flights;
use super::grant::TokenCache;
use super::kept::{Files, Kept};
use super::looks::{Looks, Shown};
use super::memory::{
    Access, AccessToken, Because, Failure, Flight, Left, Memory, Outcome, Unsaved, Unwritten,
};
use super::records::{Directory, Reach, Records};
use super::refresh::{self, Refreshed};
use super::seal::Fingerprint;
use super::standing::{Holding, NeedsLogin, Standing, judge, read_only_scope};
use super::vault::{Vault, off_thread};
use super::web::Web;
use crate::{NoSecret, SecretRef, Store};

/// A token that was got because the last one was refused, and is refused as well, is not the fault of its age.
pub(super) const TOO_SOON: Duration = Duration::from_secs(60);

/// The tokens of one account.
pub struct Tokens {
    core: Arc<Core>,
}

/// Why there is no token. INVARIANT: no part of a secret is in it.
#[derive(Clone, Debug, thiserror::Error)]
pub enum NoToken {
    #[error("the account has to be logged in")]
    NeedsLogin(NeedsLogin),
    /// The provider could not be reached, or did not answer as it should; later it may.
    #[error("{said}")]
    Unavailable { said: String },
    /// Something has to be changed in the configuration, the client's registration or the secret store.
    #[error("{said}")]
    Misconfigured { said: String },
    /// The mail server takes none of those that are given; another one is asked for after a while.
    #[error("{said}")]
    Spurned { said: String },
}

impl std::fmt::Debug for Tokens {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut told = to.debug_struct("Tokens");
        told.field("account", &self.core.grant.account);
        told.finish_non_exhaustive()
    }
}

impl Tokens {
    /// Asks nobody and reads nothing yet: [`first_look`] does. `state` is a directory of ours; without it nothing is
    /// remembered.
    pub fn new(grant: Grant, store: Arc<Store>, state: Option<PathBuf>) -> Arc<Self> {
        let vault = Vault::new(store, grant.refresh_token.clone());
        Self::with(grant, vault, state)
    }

    pub(crate) fn with(grant: Grant, vault: Vault, state: Option<PathBuf>) -> Arc<Self> {
        Self::among(Flights::of_this_process(), grant, vault, state)
    }

    pub(crate) fn among(
        flights: Flights,
        grant: Grant,
        vault: Vault,
        state: Option<PathBuf>,
    ) -> Arc<Self> {
        let records = state.map(|dir| Arc::new(Directory(dir)) as Arc<dyn Records>);
        let files = records.map(|all| Files::of(all, &grant.account, &vault.place()));
        let web = Web::new(grant.ca_file.clone());
        let core = Arc::new(Core {
            grant,
            vault,
            files,
            web,
            flights,
            memory: Arc::new(Mutex::new(blank())),
            observer: OnceLock::new(),
        });
        Arc::new(Self { core })
    }

    /// The same, with what is remembered kept elsewhere. Before it is asked for anything.
    #[must_use]
    pub fn sharing(&self, records: Arc<dyn Records>) -> Arc<Self> {
        let core = &self.core;
        let files = Files::of(records, &core.grant.account, &core.vault.place());
        let shared = Core {
            grant: core.grant.clone(),
            vault: core.vault.clone(),
            files: Some(files),
            web: Web::new(core.grant.ca_file.clone()),
            flights: core.flights.clone(),
            memory: Arc::new(Mutex::new(blank())),
            observer: OnceLock::new(),
        };
        Arc::new(Self {
            core: Arc::new(shared),
        })
    }

    /// Is told of every refresh; the first who asks for it, and nobody else.
    pub fn observed_by(&self, observer: impl Fn(&Refreshed) + Send + Sync + 'static) {
        let _ = self.core.observer.set(Box::new(observer));
    }

    /// Whether tokens made from the other's configuration would be the same.
    pub fn is_same(&self, other: &Self) -> bool {
        self.core.grant.is_same(&other.core.grant)
            && self.core.vault.is_same(&other.core.vault)
            && self.core.files == other.core.files
    }

    /// As this one, and with all that `before` knows of the same login and has nowhere but in memory: a refresh token
    /// that could not be kept, a refresh under way, an access token.
    pub fn succeeding(self: &Arc<Self>, before: &Self) -> Arc<Self> {
        let (now, then) = (&self.core, &before.core);
        let (new, old) = (&now.grant, &then.grant);
        if Arc::ptr_eq(&now.memory, &then.memory)
            || new.account != old.account
            || new.given() != old.given()
        {
            return Arc::clone(self);
        }
        let same_place = now.vault.is_same(&then.vault) && now.files == then.files;
        if !same_place || new.user != old.user {
            // It counts where the store has been moved together with what it held.
            let unsaved = then.memory().unsaved.clone();
            now.memory().unsaved = unsaved.map(|it| Unsaved {
                left: Left::AsItWas,
                ..it
            });
            return Arc::clone(self);
        }
        {
            let mut memory = then.memory();
            // What failed may work as it is configured now.
            memory.failure = None;
            // The next refresh takes it off the disk.
            if new.cache == TokenCache::MemoryOnly && old.cache != new.cache {
                memory.access = None;
            }
        }
        let core = Core {
            grant: new.clone(),
            vault: now.vault.clone(),
            files: now.files.clone(),
            web: Web::new(new.ca_file.clone()),
            flights: now.flights.clone(),
            memory: Arc::clone(&then.memory),
            observer: OnceLock::new(),
        };
        let core = Arc::new(core);
        Arc::new(Self { core })
    }

    pub fn grant(&self) -> &Grant {
        &self.core.grant
    }

    /// Asks nobody: what is known, with a look at whether the state file has changed. Where something is wrong, or
    /// nobody has looked yet, the secret store is looked at meanwhile, for who asks next: by one at a time, and seldom
    /// where that takes a program. A login is noticed without it.
    pub fn standing(&self) -> Standing {
        let mut memory = self.core.memory();
        self.core.notice(&mut memory);
        let standing = self.core.judge(&memory);
        let needs_login = matches!(standing, Standing::NeedsLogin(_));
        let wanted = needs_login || memory.unreadable().is_some() || memory.looks.is_first();
        let due = memory.looks.is_due(self.core.vault.cost(), Instant::now());
        // A flight looks for itself.
        if wanted
            && due
            && memory.flight.is_none()
            && let Ok(runtime) = Handle::try_current()
        {
            memory.looks.begin();
            let core = Arc::clone(&self.core);
            runtime.spawn_blocking(move || core.look());
        }
        standing
    }

    /// The scope that lets nothing be changed, as far as is known: no I/O.
    pub fn read_only_scope(&self) -> Option<String> {
        let memory = self.core.memory();
        self.core.read_only_scope(&memory)
    }

    /// Why the refresh token cannot be read, as far as is known: a login would not mend it. Whatever needs another access
    /// token fails.
    pub fn unreadable(&self) -> Option<NoSecret> {
        self.core.memory().unreadable().cloned()
    }

    /// What a person does where a login is needed.
    pub fn remedy(&self) -> Remedy {
        match self.core.vault.is_read_only() {
            false => Remedy::LogIn,
            true => Remedy::Replace(self.core.grant.refresh_token.clone()),
        }
    }

    /// What the secret store has now. Runs a program where the store does: not for an async thread.
    pub fn find(&self) -> Found {
        self.core.look();
        let memory = self.core.memory();
        match (&memory.holding, &memory.lacking) {
            (Holding::Nothing, Some(why)) => Found::Nothing(why.clone()),
            (Holding::Unknown, Some(why)) => Found::Unreadable(why.clone()),
            _ => Found::Token,
        }
    }

    /// Another number after every login of a person: what was refused before may be taken now.
    pub fn logins(&self) -> u64 {
        let mut memory = self.core.memory();
        self.core.notice(&mut memory);
        memory.logins
    }

    /// As [`standing`](Self::standing), after a look at the secret store.
    pub async fn look(&self) -> Standing {
        let core = Arc::clone(&self.core);
        // Where the program is ending, what is known has to do.
        let _ = off_thread(move || core.look()).await;
        self.standing()
    }

    /// One that is good for a while yet; refreshed first if need be, once for all who ask meanwhile.
    pub async fn access(&self) -> Result<AccessToken, NoToken> {
        let flight = {
            let mut memory = self.core.memory();
            self.core.notice(&mut memory);
            let cause = match memory.fresh() {
                None => Cause::Needed,
                Some(access) if access.spurned.is_none() => return Ok(access.token.clone()),
                Some(access) if access.is_spurned_lately() => {
                    return Err(spurned(&self.core.grant));
                }
                Some(access) => Cause::Spurned(access.token.clone()),
            };
            match self.core.join(&mut memory, cause) {
                Next::Known(outcome) => return outcome,
                Next::Wait(flight) => flight,
            }
        };
        landed(flight).await
    }

    /// A mail server refused this one. Another one, newly got, unless somebody has got one meanwhile.
    pub async fn instead_of(&self, refused: &AccessToken) -> Result<AccessToken, NoToken> {
        // The first flight may be one that had begun for other reasons, and bring the same one.
        for _ in 0..2 {
            let flight = {
                let mut memory = self.core.memory();
                self.core.notice(&mut memory);
                if let Some(access) = memory.fresh() {
                    if access.is_spurned_lately() {
                        break;
                    }
                    if !access.token.is(refused) {
                        return Ok(access.token.clone());
                    }
                    if access.because == Because::Spurned && access.got.elapsed() < TOO_SOON {
                        break;
                    }
                    memory.access = None;
                }
                match self.core.join(&mut memory, Cause::Spurned(refused.clone())) {
                    Next::Known(outcome) => return outcome,
                    Next::Wait(flight) => flight,
                }
            };
            let token = landed(flight).await?;
            if !token.is(refused) {
                return Ok(token);
            }
        }
        self.spurn(refused);
        Err(spurned(&self.core.grant))
    }

    /// A mail server refused also this one, which had been got instead of another. It is shown to nobody again.
    pub fn spurn(&self, refused: &AccessToken) {
        let mut memory = self.core.memory();
        if let Some(access) = &mut memory.access
            && access.token.is(refused)
        {
            access.spurned.get_or_insert_with(Instant::now);
        }
    }

    /// What whoever runs this should know although all works. A store that is not meant to be written is as configured.
    pub async fn concern(&self) -> Option<&'static str> {
        let beside = {
            let mut memory = self.core.memory();
            self.core.notice(&mut memory);
            memory.kept.successor.is_some() || memory.unsaved.is_some()
        };
        // What replicas share is kept beside their stores by design.
        let files = self.core.files.as_ref();
        let shared = files.is_some_and(|files| files.reach() == Reach::Replicas);
        if !beside || shared {
            return None;
        }
        let vault = self.core.vault.clone();
        let writable = off_thread(move || vault.writable().is_ok()).await;
        (writable == Ok(true)).then_some(
            "the secret store should take new refresh tokens and does not: the newest is sealed in the state directory, and lost if one of the two is; mend the store, or log in again",
        )
    }

    /// Those given lately, for whoever has to recognize them in what others say.
    pub fn given(&self) -> Vec<AccessToken> {
        self.core.memory().given.iter().cloned().collect()
    }

    pub(crate) fn core(&self) -> &Arc<Core> {
        &self.core
    }
}

/// Why one is wanted.
#[derive(Clone, Debug)]
pub(crate) enum Cause {
    Needed,
    Spurned(AccessToken),
}

/// What a person does about an account that needs a login.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Remedy {
    LogIn,
    /// The store cannot be written: a new token is put there by hand.
    Replace(SecretRef),
}

/// What the secret store has of a refresh token.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Found {
    Token,
    /// Nobody has logged in yet, as far as can be told from this.
    Nothing(NoSecret),
    Unreadable(NoSecret),
}

/// Looks at the secret store for everybody who has not been looked for, one after the other: a person may have to
/// answer. Whoever comes after one who was waited for in vain is not waited for as well. Not for an async thread.
///
/// Those who were looked for now.
pub fn first_look(all: &[Arc<Tokens>]) -> Vec<&Arc<Tokens>> {
    let new = |tokens: &&Arc<Tokens>| tokens.core.memory().looks.is_first();
    let new: Vec<&Arc<Tokens>> = all.iter().filter(new).collect();
    // Before the first: who asks how the last one stands meanwhile begins no look of its own.
    for tokens in &new {
        tokens.core.memory().looks.begin();
    }
    let mut hung = None;
    for tokens in &new {
        match &hung {
            Some(why) => tokens.core.put_off(why),
            None => {
                tokens.core.look();
                hung = tokens.unreadable().filter(NoSecret::is_timeout);
            }
        }
    }
    new
}

/// Nobody has looked yet.
fn blank() -> Memory {
    Memory {
        access: None,
        given: std::collections::VecDeque::new(),
        flight: None,
        failure: None,
        unsaved: None,
        unwritten: Unwritten::default(),
        kept: Kept::default(),
        stamp: None,
        holding: Holding::Unknown,
        lacking: None,
        looks: Looks::default(),
        logins: 0,
    }
}

type Observer = Box<dyn Fn(&Refreshed) + Send + Sync>;

/// What all handles, and a refresh that outlives its caller, share.
pub(crate) struct Core {
    pub grant: Grant,
    pub vault: Vault,
    pub files: Option<Files>,
    pub web: Web,
    pub flights: Flights,
    /// Shared with whoever succeeds this one.
    memory: Arc<Mutex<Memory>>,
    observer: OnceLock<Observer>,
}

enum Next {
    Known(Outcome),
    Wait(Flight),
}

impl Core {
    pub(crate) fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read_only_scope(&self, memory: &Memory) -> Option<String> {
        match memory.waiting() {
            Some(unsaved) => {
                let holding = Holding::Token(unsaved.print.clone());
                read_only_scope(&self.grant, &memory.kept, &holding)
            }
            None => read_only_scope(&self.grant, &memory.kept, &memory.holding),
        }
    }

    pub(crate) fn judge(&self, memory: &Memory) -> Standing {
        let Some(unsaved) = memory.waiting() else {
            return judge(&self.grant, &memory.kept, &memory.holding);
        };
        // What the provider makes of the one before it, and what is left of that, does not matter any more.
        let mut kept = memory.kept.clone();
        kept.refused.clear();
        judge(&self.grant, &kept, &Holding::Token(unsaved.print.clone()))
    }

    pub(crate) fn tell(&self, refreshed: &Refreshed) {
        if let Some(observer) = self.observer.get() {
            observer(refreshed);
        }
    }

    /// Reads file and store, which may run a program: not for an async thread.
    pub(crate) fn look(&self) {
        let before = self.files.as_ref().and_then(Files::stamp);
        let kept = self.files.as_ref().map(Files::read).unwrap_or_default();
        let stamp = self
            .files
            .as_ref()
            .and_then(|files| files.stamp_of_read(before));
        let stored = self.vault.read();
        let holding = match &stored {
            Ok(token) => Holding::Token(Fingerprint::of(&self.grant.account, token)),
            Err(why) => self.holding_nothing(&kept, why),
        };
        let mut memory = self.memory();
        let shown = match memory.stamp != stamp || memory.holding != holding {
            true => Shown::Other,
            false => Shown::Same,
        };
        if shown == Shown::Other {
            memory.take(kept, stamp);
        }
        memory.holding = holding;
        memory.lacking = stored.err();
        memory.looks.end(shown, Instant::now());
    }

    /// The store did not answer somebody else in time: nobody is asked as well.
    fn put_off(&self, why: &NoSecret) {
        let mut memory = self.memory();
        memory.lacking = Some(why.clone());
        memory.looks.end(Shown::Same, Instant::now());
    }

    /// A store that has no such secret holds nothing yet. One that cannot tell is taken to, where nobody is known to have
    /// logged in; any other one is at fault, and says how when a token is wanted.
    pub(crate) fn holding_nothing(&self, kept: &Kept, why: &NoSecret) -> Holding {
        tracing::debug!(account = %self.grant.account, %why, "the store gives no refresh token");
        let nothing = why.is_absent() || (kept.login.is_none() && why.may_be_absent());
        // Where a login could not be kept, it is no help.
        if nothing && self.vault.writable().is_ok() {
            Holding::Nothing
        } else {
            Holding::Unknown
        }
    }

    /// Another process may have logged in, or been refused.
    fn notice(&self, memory: &mut Memory) {
        let Some(files) = &self.files else {
            return;
        };
        // Whoever is not of this machine is asked where that holds up nobody: when a token is wanted, or something is wrong.
        if files.reach() == Reach::Replicas {
            return;
        }
        let stamp = files.stamp();
        if stamp != memory.stamp {
            memory.take(files.read(), stamp);
        }
    }

    /// INVARIANT: one flight at a time.
    fn join(self: &Arc<Self>, memory: &mut Memory, cause: Cause) -> Next {
        if let Some(flight) = &memory.flight {
            return Next::Wait(flight.clone());
        }
        if let Some(failure) = &memory.failure
            && Instant::now() < failure.until
        {
            return Next::Known(Err(failure.said.clone()));
        }
        if self.flights.are_over() {
            return Next::Known(Err(refresh::ending()));
        }
        let (sender, flight) = watch::channel(None);
        memory.flight = Some(flight.clone());
        let landing = Landing {
            core: Arc::clone(self),
            sender: Some(sender),
        };
        // A task of its own: who asked may leave, a refresh that has begun goes on.
        tokio::spawn(async move {
            let outcome = refresh::run(&landing.core, &cause).await;
            landing.land(outcome);
        });
        Next::Wait(flight)
    }
}

/// Ends a flight, also where its task is torn down.
struct Landing {
    core: Arc<Core>,
    /// None once it has landed.
    sender: Option<watch::Sender<Option<Outcome>>>,
}

impl Landing {
    fn land(mut self, outcome: Result<Access, refresh::Failed>) {
        let outcome = {
            let mut memory = self.core.memory();
            // INVARIANT: whoever asks from now on waits for no flight that is over.
            memory.flight = None;
            match outcome {
                Ok(access) => {
                    let token = access.token.clone();
                    memory.give(&token);
                    memory.failure = None;
                    memory.access = Some(access);
                    Ok(token)
                }
                Err(failed) => {
                    let before = memory.failure.take();
                    let failure = Failure::new(failed.said, failed.wait, before.as_ref());
                    // One that a mail server spurned is remembered as such.
                    memory.access.take_if(|it| it.spurned.is_none());
                    let said = failure.said.clone();
                    memory.failure = Some(failure);
                    Err(said)
                }
            }
        };
        if let Some(sender) = self.sender.take() {
            // Nobody may be left to hear it.
            let _ = sender.send(Some(outcome));
        }
    }
}

impl Drop for Landing {
    fn drop(&mut self) {
        if self.sender.is_some() {
            self.core.memory().flight = None;
        }
    }
}

async fn landed(mut flight: Flight) -> Outcome {
    let heard = flight.wait_for(Option::is_some).await;
    heard.ok().and_then(|it| it.clone()).unwrap_or_else(|| {
        Err(NoToken::Unavailable {
            said: "the refresh was interrupted; try again".to_owned(),
        })
    })
}

fn spurned(grant: &Grant) -> NoToken {
    NoToken::Spurned {
        said: format!(
            "the mail server refuses the tokens that {} has just given for {}: check that user, oauth_scope and host belong together",
            grant.provider.name(),
            grant.user
        ),
    }
}
