//! Sessions, for clients of older revisions that a person is asked through: few, each of one caller, and ended in time.
//!
//! What is said in them is none of its business; the protocol library carries that.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use gateway::Caller;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionManager, LocalSessionManagerError,
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
    held: Mutex<HashMap<SessionId, Held>>,
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
            held: Mutex::default(),
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
        let mut held = self.held();
        let (id, found) = held
            .get_key_value(id)
            .map(|(id, _)| id.clone())
            .and_then(|id| {
                let found = held.get_mut(&id)?;
                Some((id, found))
            })?;
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
            let held = self.held();
            let gone = held.iter().filter(|(_, one)| !known(&one.owner));
            gone.map(|(id, _)| id.clone()).collect()
        };
        for id in gone {
            // It may have ended by itself.
            let _ = self.close_session(&id).await;
        }
    }

    /// Who has to go so that this caller can begin one: of its own if it has its share, else whoever has been silent for
    /// longest; who has a call under way only if all have.
    fn in_the_way(&self, owner: &Caller) -> Option<SessionId> {
        let held = self.held();
        let own = |one: &&Held| one.owner.as_str() == owner.as_str();
        let share = self.most.div_ceil(4);
        let full = held.len() >= self.most;
        let greedy = held.values().filter(own).count() >= share;
        if !full && !greedy {
            return None;
        }
        let candidates = held.iter().filter(|(_, one)| !greedy || own(one));
        let first = candidates.min_by_key(|(_, one)| (one.under_way > 0, one.used));
        first.map(|(id, _)| id.clone())
    }

    fn held(&self) -> MutexGuard<'_, HashMap<SessionId, Held>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        if let Some(held) = self.sessions.held().get_mut(&self.id) {
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
        while let Some(first) = self.in_the_way(&owner) {
            self.close_session(&first).await?;
        }
        let (id, transport) = self.inner.create_session().await?;
        let held = Held {
            owner,
            used: Instant::now(),
            under_way: 0,
        };
        self.held().insert(id.clone(), held);
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
        self.held().remove(id);
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
