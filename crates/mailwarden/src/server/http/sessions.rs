//! Sessions, for clients of older revisions that a person is asked through: few, each of one caller, and ended in time.
//!
//! What is said in them is none of its business; the protocol library carries that.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use gateway::Caller;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionManager, LocalSessionManagerError, SessionError,
};
use rmcp::transport::streamable_http_server::session::{
    ServerSseMessage, SessionId, SessionManager,
};

/// So long one may be silent.
const IDLE: Duration = Duration::from_secs(5 * 60);

tokio::task_local! {
    /// Whose request is being served.
    static OWNER: Caller;
}

pub(super) struct Sessions {
    inner: LocalSessionManager,
    most: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    held: HashMap<SessionId, Held>,
    /// Whose are about to begin.
    beginning: Vec<String>,
}

/// Room for one that is about to begin. Dropped, it is free again.
struct Reserved<'a> {
    sessions: &'a Sessions,
    owner: &'a Caller,
}

struct Held {
    owner: Caller,
    used: Instant,
    under_way: usize,
}

/// A request under way in a session.
pub(super) struct Entered {
    sessions: Arc<Sessions>,
    id: SessionId,
}

impl Sessions {
    /// At most so many; none if 0.
    pub(super) fn new(most: usize) -> Arc<Self> {
        let mut inner = LocalSessionManager::default();
        inner.session_config.keep_alive = Some(IDLE);
        Arc::new(Self {
            inner,
            most,
            state: Mutex::default(),
        })
    }

    pub(super) fn are_allowed(&self) -> bool {
        self.most > 0
    }

    /// Serves a request as that caller's: a session that begins on the way is theirs.
    pub(super) async fn of<T>(&self, caller: &Caller, serving: impl Future<Output = T>) -> T {
        OWNER.scope(caller.clone(), serving).await
    }

    /// INVARIANT: of the caller that began it; anybody else's is as one that is not there.
    pub(super) fn enter(self: &Arc<Self>, id: &str, caller: &Caller) -> Option<Entered> {
        let mut state = self.state();
        let (id, _) = state.held.get_key_value(id)?;
        let id = id.clone();
        let found = state.held.get_mut(&id)?;
        if found.owner.as_str() != caller.as_str() {
            return None;
        }
        found.used = Instant::now();
        found.under_way += 1;
        Some(Entered {
            sessions: Arc::clone(self),
            id,
        })
    }

    /// Ends those of callers that are none any more.
    pub(super) async fn end_unless(&self, known: impl Fn(&Caller) -> bool) {
        let gone: Vec<SessionId> = {
            let state = self.state();
            let gone = state.held.iter().filter(|(_, one)| !known(&one.owner));
            gone.map(|(id, _)| id.clone()).collect()
        };
        for id in gone {
            // It may have ended by itself.
            let _ = self.close_session(&id).await;
        }
    }

    /// INVARIANT: those held and those that begin are never more than there may be, however many begin at once. None where
    /// nobody could go instead.
    fn reserve<'a>(&'a self, owner: &'a Caller) -> Option<(Reserved<'a>, Vec<SessionId>)> {
        let mut state = self.state();
        if state.has_no_way_for(owner, self.most) {
            return None;
        }
        let mut gone = Vec::new();
        while state.is_crowded_for(owner, self.most) {
            let first = state.in_the_way(owner, self.most)?;
            state.held.remove(&first);
            gone.push(first);
        }
        state.beginning.push(owner.as_str().to_owned());
        let reserved = Reserved {
            sessions: self,
            owner,
        };
        Some((reserved, gone))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn of(&self, owner: &Caller) -> usize {
        let held = self.held.values().map(|one| one.owner.as_str());
        let all = held.chain(self.beginning.iter().map(String::as_str));
        all.filter(|one| *one == owner.as_str()).count()
    }

    fn is_greedy(&self, owner: &Caller, most: usize) -> bool {
        self.of(owner) >= most.div_ceil(4)
    }

    fn is_crowded_for(&self, owner: &Caller, most: usize) -> bool {
        self.held.len() + self.beginning.len() >= most || self.is_greedy(owner, most)
    }

    /// Those that begin cannot go: nothing is known of them yet.
    fn has_no_way_for(&self, owner: &Caller, most: usize) -> bool {
        let own = self.beginning.iter().filter(|one| *one == owner.as_str());
        let own = own.count();
        self.beginning.len() >= most || own >= most.div_ceil(4)
    }

    /// Who has to go so that this caller can begin one: of its own if it has its share, else whoever has been silent for
    /// longest; who has a call under way only if all have.
    fn in_the_way(&self, owner: &Caller, most: usize) -> Option<SessionId> {
        let own = |one: &Held| one.owner.as_str() == owner.as_str();
        let greedy = self.is_greedy(owner, most);
        let candidates = self.held.iter().filter(|(_, one)| !greedy || own(one));
        let first = candidates.min_by_key(|(_, one)| (one.under_way > 0, one.used));
        first.map(|(id, _)| id.clone())
    }

    fn forget(&mut self, owner: &Caller) {
        let at = self.beginning.iter().position(|one| one == owner.as_str());
        if let Some(at) = at {
            self.beginning.swap_remove(at);
        }
    }
}

impl Reserved<'_> {
    fn begins(self, id: SessionId) {
        let held = Held {
            owner: self.owner.clone(),
            used: Instant::now(),
            under_way: 0,
        };
        // Counted twice for a moment rather than not at all.
        self.sessions.state().held.insert(id, held);
    }
}

impl Drop for Reserved<'_> {
    fn drop(&mut self) {
        self.sessions.state().forget(self.owner);
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        if let Some(held) = self.sessions.state().held.get_mut(&self.id) {
            held.under_way = held.under_way.saturating_sub(1);
            held.used = Instant::now();
        }
    }
}

type Error = LocalSessionManagerError;

impl SessionManager for Sessions {
    type Error = Error;
    type Transport = <LocalSessionManager as SessionManager>::Transport;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), Error> {
        let owner = OWNER.try_get().unwrap_or_else(|_| Caller::nobody());
        let full = || Error::from(SessionError::SessionServiceTerminated);
        let (reserved, gone) = self.reserve(&owner).ok_or_else(full)?;
        for first in gone {
            // It may have ended by itself.
            let _ = self.inner.close_session(&first).await;
        }
        let (id, transport) = self.inner.create_session().await?;
        reserved.begins(id.clone());
        Ok((id, transport))
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, Error> {
        self.inner.initialize_session(id, message).await
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, Error> {
        self.inner.has_session(id).await
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), Error> {
        self.state().held.remove(id);
        self.inner.close_session(id).await
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl futures_core::Stream<Item = ServerSseMessage> + Send + Sync + 'static, Error>
    {
        self.inner.create_stream(id, message).await
    }

    async fn accept_message(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<(), Error> {
        self.inner.accept_message(id, message).await
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl futures_core::Stream<Item = ServerSseMessage> + Send + Sync + 'static, Error>
    {
        self.inner.create_standalone_stream(id).await
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl futures_core::Stream<Item = ServerSseMessage> + Send + Sync + 'static, Error>
    {
        self.inner.resume(id, last_event_id).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caller(id: &str) -> Caller {
        Caller::new(id, "", gateway::Credential::default())
    }

    /// All of them look before any of them has begun.
    #[test]
    fn sessions_that_begin_at_once_are_no_more_than_there_may_be() {
        let sessions = Sessions::new(8);
        let callers: Vec<Caller> = (0..8).map(|id| caller(&format!("caller{id}"))).collect();
        let mut reserved = Vec::new();
        for _ in 0..4 {
            for one in &callers {
                reserved.extend(sessions.reserve(one));
            }
        }
        assert_eq!(reserved.len(), 8);
        for (at, (one, gone)) in reserved.into_iter().enumerate() {
            assert!(gone.is_empty());
            one.begins(format!("session{at}").into());
        }
        assert_eq!(sessions.state().held.len(), 8);
        assert!(sessions.state().beginning.is_empty());
        // One's own share is its own, and one that does not begin leaves nothing.
        let (last, gone) = sessions.reserve(&callers[0]).unwrap();
        assert_eq!(gone.len(), 1);
        drop(last);
        assert_eq!(sessions.state().held.len(), 7);
        assert!(sessions.state().beginning.is_empty());
    }
}
