//! How a refresh token gets its successor: never are both lost, whenever the power goes.
//!
//! First the successor is sealed beside the store, then it replaces the old one in the store, then, once the store has
//! given it back, the sealed copy goes. A crash before the first step loses what nobody has used; later, one of the two
//! places has it, unless the store itself loses the old one without having the new one: then this process still has it.

use std::io;
use std::sync::Arc;

use secrecy::{ExposeSecret as _, SecretString};

use super::grant::TokenCache;
use super::kept::{Files, Granted, Kept, Login, Refused};
use super::login::LoginFault;
use super::memory::{Access, Left, Unsaved, Unwritten};
use super::records::Reach;
use super::refresh::ending;
use super::seal::{Binding, Fingerprint, Kind, Sealed};
use super::standing::Holding;
use super::tokens::{Core, NoToken};
use super::vault::{Put, off_thread};
use crate::NoSecret;

/// What is kept of one account, while its lock is held.
#[derive(Clone)]
pub(crate) struct Keeping {
    account: String,
    given: String,
    cache: TokenCache,
    before: Kept,
    kept: Kept,
    stored: SecretString,
    print: Fingerprint,
}

pub(crate) enum Superseded {
    /// In the store, which gives it back.
    Stored,
    /// Beside the store, which could not be written.
    Sealed,
    /// It is in memory alone: the words say what to do.
    Nowhere(String),
}

impl Keeping {
    pub(crate) fn new(core: &Core, kept: Kept, stored: SecretString) -> Self {
        let account = core.grant.account.clone();
        let print = Fingerprint::of(&account, &stored);
        let mut now = core.memory().with_unwritten(kept.clone());
        if core.grant.cache == TokenCache::MemoryOnly {
            now.access = None;
        }
        let mut keeping = Self {
            account,
            given: core.grant.given().unwrap_or_default(),
            cache: core.grant.cache,
            before: kept,
            kept: now,
            stored,
            print,
        };
        // Sealed under a token that is gone, or damaged: it can help nobody any more.
        if keeping.successor().is_none() {
            keeping.kept.successor = None;
        }
        keeping
    }

    pub(crate) fn print(&self) -> &Fingerprint {
        &self.print
    }

    pub(crate) fn stored(&self) -> &SecretString {
        &self.stored
    }

    /// The access token that another process, or an earlier run, has kept.
    pub(crate) fn access(&self) -> Option<Access> {
        let sealed = self.kept.access.as_ref()?;
        let plain = sealed.open(&self.stored, &self.binding(Kind::Access))?;
        Access::read(&plain)
    }

    /// The refresh tokens that may be tried, the likeliest first.
    pub(crate) fn candidates(&self) -> Vec<SecretString> {
        let all = [self.successor(), Some(self.stored.clone())];
        let fits = |token: &SecretString| {
            let print = Fingerprint::of(&self.account, token);
            !self.kept.refuses(&print, &self.given)
        };
        all.into_iter().flatten().filter(fits).collect()
    }

    pub(crate) fn refuse(&mut self, token: &SecretString) {
        let print = Fingerprint::of(&self.account, token);
        if print != self.print {
            self.kept.successor = None;
        }
        self.kept.refuse(Refused {
            token: print,
            given: self.given.clone(),
        });
        self.kept.access = None;
    }

    /// What the provider says of the scope now. Where it says nothing, it is what it was (RFC 6749, section 6).
    pub(crate) fn granted(&mut self, scope: Option<&str>) {
        let Some(scope) = scope else {
            return;
        };
        if let Some(login) = &mut self.kept.login
            && login.tokens.contains(&self.print)
        {
            login.granted = Some(scope.to_owned());
        }
        self.kept.granted = Some(Granted {
            scope: scope.to_owned(),
            tokens: vec![self.print.clone()],
        });
    }

    pub(crate) fn put_access(&mut self, access: Option<&Access>) {
        let spelled = match self.cache {
            TokenCache::MemoryOnly => None,
            TokenCache::PersistAll => access.and_then(Access::spell),
        };
        self.kept.access = spelled
            .and_then(|plain| Sealed::new(&plain, &self.stored, &self.binding(Kind::Access)));
    }

    fn successor(&self) -> Option<SecretString> {
        let sealed = self.kept.successor.as_ref()?;
        let plain = sealed.open(&self.stored, &self.binding(Kind::Successor))?;
        let text = std::str::from_utf8(&plain).ok()?;
        Some(text.into())
    }

    fn binding(&self, kind: Kind) -> Binding<'_> {
        Binding {
            kind,
            account: &self.account,
            given: &self.given,
        }
    }

    /// Step one: beside the store.
    fn seal_beside(&mut self, next: &SecretString, access: Option<&Access>) -> io::Result<()> {
        let plain = next.expose_secret().as_bytes();
        self.kept.successor = Sealed::new(plain, &self.stored, &self.binding(Kind::Successor));
        let print = Fingerprint::of(&self.account, next);
        self.kept.follow(&self.print, &[self.print.clone(), print]);
        self.put_access(access);
        match self.kept.successor {
            Some(_) => Ok(()),
            None => Err(io::Error::other("the system has no random octets")),
        }
    }

    /// Step three: the store holds it.
    fn moved(&mut self, next: SecretString, access: Option<&Access>) {
        let print = Fingerprint::of(&self.account, &next);
        self.kept.successor = None;
        self.kept.refused.clear();
        self.kept.follow(&self.print, std::slice::from_ref(&print));
        self.stored = next;
        self.print = print;
        self.put_access(access);
    }

    fn write(&mut self, files: Option<&Files>) -> io::Result<()> {
        let Some(files) = files else {
            return Err(io::Error::other("there is no state directory"));
        };
        if self.kept != self.before {
            files.write(&self.kept)?;
            self.before = self.kept.clone();
        }
        Ok(())
    }
}

/// Puts `next` into the place of what the store holds. It is durable before this returns, or said to be nowhere.
pub(crate) async fn supersede(
    core: &Arc<Core>,
    keeping: &mut Keeping,
    next: SecretString,
    access: Option<&Access>,
) -> Result<Superseded, NoToken> {
    let left = {
        let mut memory = core.memory();
        let earlier = memory.unsaved.take();
        let earlier = earlier.filter(|it| it.print == keeping.print);
        let left = earlier.map_or(Left::AsItWas, |it| it.left);
        // INVARIANT: until it is certain to be kept, it is in memory.
        memory.unsaved = Some(Unsaved {
            before: keeping.stored.clone(),
            print: keeping.print.clone(),
            refresh: next.clone(),
            access: access.cloned(),
            left: left.clone(),
        });
        left
    };
    let work = {
        let (core, access) = (Arc::clone(core), access.cloned());
        let mut keeping = keeping.clone();
        move || {
            let kept = move_over(&core, &mut keeping, left, next, access.as_ref());
            (kept, keeping)
        }
    };
    let ((kept, left), after) = off_thread(work).await.map_err(|_| ending())?;
    *keeping = after;
    settle(core, keeping);
    let mut memory = core.memory();
    match left {
        None => memory.unsaved = None,
        Some(left) => {
            if let Left::Torn(_) = left {
                memory.holding = Holding::Unknown;
            }
            if let Some(unsaved) = &mut memory.unsaved {
                unsaved.left = left;
            }
        }
    }
    Ok(kept)
}

/// Writes what has changed. Where that fails nothing is lost but memory: no refresh token is at stake.
pub(crate) async fn remember(core: &Arc<Core>, keeping: Keeping) -> Result<(), NoToken> {
    let writing = Arc::clone(core);
    let work = move || {
        let mut keeping = keeping;
        if let Err(error) = keeping.write(writing.files.as_ref()) {
            tracing::debug!(account = %keeping.account, %error, "what became of a token is not remembered");
        }
        keeping
    };
    let keeping = off_thread(work).await.map_err(|_| ending())?;
    settle(core, &keeping);
    Ok(())
}

fn settle(core: &Core, keeping: &Keeping) {
    let stamp = core.files.as_ref().and_then(Files::stamp);
    let mut memory = core.memory();
    memory.unwritten = match keeping.kept == keeping.before {
        true => Unwritten::default(),
        false => Unwritten {
            refused: keeping.kept.refused.clone(),
            granted: keeping.kept.granted.clone(),
        },
    };
    memory.kept = keeping.kept.clone();
    memory.stamp = stamp;
    memory.holding = Holding::Token(keeping.print.clone());
}

/// `left` is what an earlier attempt has left in the store; what this one does is told where the new token has to stay in
/// memory.
fn move_over(
    core: &Core,
    keeping: &mut Keeping,
    left: Left,
    next: SecretString,
    access: Option<&Access>,
) -> (Superseded, Option<Left>) {
    let files = core.files.as_ref();
    let beside = keeping.seal_beside(&next, access);
    let beside = beside.and_then(|()| keeping.write(files));
    let shared = files.is_some_and(|files| files.reach() == Reach::Replicas);
    // Where each replica may have a store of its own, what all of them find is the record: none is changed under the others.
    let put = match shared {
        true => Put::ReadOnly(NoSecret::new(
            "replicas share what is known of this token",
            "mend the database that they share",
        )),
        false => core.vault.put(&next, Some(&keeping.stored)),
    };
    let (why, left) = match put {
        Put::Kept => {
            keeping.moved(next, access);
            // As after a crash here: what is sealed under a token that is gone counts as nothing.
            if let Err(error) = keeping.write(files) {
                tracing::debug!(account = %keeping.account, %error, "a token that is in the store still lies beside it, sealed");
            }
            return (Superseded::Stored, None);
        }
        Put::ReadOnly(why) => {
            tracing::debug!(account = %keeping.account, %why, "the store is not written; the new refresh token is kept beside it, sealed");
            (why, left)
        }
        Put::Unchanged(why) => {
            tracing::warn!(account = %keeping.account, %why, "the secret store did not take the new refresh token; it is kept beside it, sealed, if it can be");
            (why, Left::AsItWas)
        }
        Put::Torn(why, found) => {
            tracing::warn!(account = %keeping.account, %why, "the secret store may have lost the refresh token; the new one is in memory: mend the store while mailwarden runs");
            let found = found.map(|it| Fingerprint::of(&keeping.account, &it));
            (why, Left::Torn(found))
        }
    };
    match beside {
        Ok(()) => (
            Superseded::Sealed,
            Some(left).filter(|it| *it != Left::AsItWas),
        ),
        Err(error) if shared => {
            let said = format!(
                "the provider has replaced the refresh token, and the new one could not be kept where replicas share it ({error}); mend their database while mailwarden runs, or log in again"
            );
            (Superseded::Nowhere(said), Some(left))
        }
        Err(error) => (Superseded::Nowhere(nowhere(&why, &error)), Some(left)),
    }
}

fn nowhere(why: &NoSecret, error: &io::Error) -> String {
    format!(
        "the provider has replaced the refresh token, and the new one could be kept neither in the secret store ({why}) nor in the state directory ({error}); mend one of them while mailwarden runs, or log in again"
    )
}

/// After a login: a new token, a new record, and nothing of what was before.
pub(crate) async fn begin(
    core: &Arc<Core>,
    refresh: SecretString,
    mut login: Login,
    access: Access,
) -> Result<(), LoginFault> {
    login.tokens = vec![Fingerprint::of(&core.grant.account, &refresh)];
    let kept = Kept {
        login: Some(login),
        ..Kept::default()
    };
    let keeping = Arc::clone(core);
    let shown = access.clone();
    let work = move || {
        match keeping.vault.put(&refresh, None) {
            Put::Kept => {}
            Put::ReadOnly(why) | Put::Unchanged(why) | Put::Torn(why, _) => {
                return Err(LoginFault::Store(why));
            }
        }
        keeping.memory().unwritten = Unwritten::default();
        let mut now = Keeping::new(&keeping, kept, refresh);
        now.before = Kept::default();
        now.put_access(Some(&shown));
        let written = match keeping.files.as_ref() {
            None => Ok(()),
            Some(files) => now.write(Some(files)),
        };
        written.map_err(|error| LoginFault::Unremembered {
            said: error.to_string(),
        })?;
        Ok(now)
    };
    let now = match off_thread(work).await {
        Ok(kept) => kept?,
        Err(_) => {
            return Err(LoginFault::Unavailable {
                said: "the program is ending".to_owned(),
            });
        }
    };
    settle(core, &now);
    let mut memory = core.memory();
    memory.unsaved = None;
    memory.failure = None;
    memory.access = Some(access);
    Ok(())
}
