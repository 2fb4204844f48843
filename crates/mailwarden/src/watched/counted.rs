//! The IMAP accounts of this process, as numbers: how many connections, how many logins stand. Never which.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use secrets::Standing;
use sources::imap::{Connections, ImapSource};

/// Clones are the same one; a reload puts other accounts into it.
#[derive(Clone, Default)]
pub(crate) struct Counted(Arc<Mutex<Accounts>>);

#[derive(Default)]
struct Accounts {
    now: Vec<Arc<ImapSource>>,
    /// What those dialled that a reload has taken away: counts only grow.
    before: Connections,
}

/// Accounts by OAuth2, by how their logins stand.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Logins {
    pub(crate) good: u64,
    pub(crate) read_only: u64,
    pub(crate) needs_login: u64,
    /// Their refresh tokens cannot be read.
    pub(crate) unreadable: u64,
}

impl Counted {
    pub(crate) fn are_now(&self, sources: Vec<Arc<ImapSource>>) {
        let mut accounts = self.lock();
        let stays = |one: &Arc<ImapSource>| sources.iter().any(|other| Arc::ptr_eq(one, other));
        let gone: Vec<_> = accounts
            .now
            .iter()
            .filter(|one| !stays(one))
            .cloned()
            .collect();
        for source in gone {
            let Connections {
                dials, failures, ..
            } = source.connections();
            accounts.before += Connections {
                dials,
                failures,
                ..Connections::default()
            };
        }
        accounts.now = sources;
    }

    pub(crate) fn connections(&self) -> Connections {
        let accounts = self.lock();
        let mut sum = accounts.before;
        accounts.now.iter().for_each(|one| sum += one.connections());
        sum
    }

    pub(crate) fn logins(&self) -> Logins {
        // Looking may read a file, and nobody waits for that under the lock.
        let now = self.lock().now.clone();
        let mut logins = Logins::default();
        for tokens in now.iter().filter_map(|source| source.tokens()) {
            let place = match (tokens.unreadable(), tokens.standing()) {
                (Some(_), _) => &mut logins.unreadable,
                (None, Standing::Good) => &mut logins.good,
                (None, Standing::ReadOnly) => &mut logins.read_only,
                (None, Standing::NeedsLogin(_)) => &mut logins.needs_login,
            };
            *place += 1;
        }
        logins
    }

    fn lock(&self) -> MutexGuard<'_, Accounts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
