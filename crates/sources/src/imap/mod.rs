//! An account on an IMAP server.
//!
//! `pool` lends sessions, `session` opens folders, `link` carries flights of pipelined commands, `net` and `tls` dial.
//! Each read is a [`Job`](job::Job) in a file of its own.

mod cache;
mod census;
mod conditions;
mod convert;
mod describe;
mod echo;
mod faults;
mod folders;
mod job;
mod link;
mod login;
mod message;
mod net;
mod pool;
mod raw;
mod search;
mod session;
mod settings;
mod sift;
mod summaries;
mod tls;

use std::sync::{Arc, Mutex};

use mail::{
    Answer, Choose, Condition, Cx, Described, Fault, Fetched, FolderName, Folders, Found,
    MailSource, MessageRef, RawMessage, Search, Sifted, Snippets, SourceKind, Stage, Summary,
    UidSet, UidValidity, Verified,
};

pub use settings::{Security, Settings, Timeouts};
pub use tls::{BadRoots, Roots};

use cache::Cache;
use census::Censuses;
use job::Job;
use pool::Pool;

/// One account on one server.
pub struct ImapSource {
    settings: Arc<Settings>,
    pool: Arc<Pool>,
    cache: Mutex<Cache>,
    censuses: Censuses,
}

impl ImapSource {
    /// Connects to nothing yet: the first call that needs a connection makes it.
    pub fn new(settings: Settings) -> Self {
        if settings.security != Security::Plain {
            settings.roots.warm();
        }
        let settings = Arc::new(settings);
        Self {
            pool: Pool::new(Arc::clone(&settings)),
            settings,
            cache: Mutex::new(Cache::default()),
            censuses: Censuses::default(),
        }
    }

    /// Whether these settings would make the same source.
    pub fn is_made_from(&self, settings: &Settings) -> bool {
        self.settings.is_same(settings)
    }

    /// Runs a job on a lent session; a session that turns out dead costs one retry on another.
    async fn run<J: Job>(&self, cx: &Cx, job: J) -> Result<J::Out, Fault> {
        let outcome = self.attempt(cx, job).await;
        let outcome = outcome.map_err(|fault| echo::silence(fault, &self.settings));
        if let Err(fault) = &outcome {
            // INVARIANT: what the server said may hold mail; only what it means is logged.
            tracing::debug!(host = self.settings.host, stage = fault.stage.name(), kind = ?fault.kind, "failed");
        }
        outcome
    }

    async fn attempt<J: Job>(&self, cx: &Cx, job: J) -> Result<J::Out, Fault> {
        cx.enter(Stage::Queue);
        let mut lease = self.pool.take(cx, job.folder()).await?;
        match job.run(lease.session(), cx).await {
            Err(fault) if lease.was_dead(fault.kind) => {
                tracing::debug!(
                    stage = fault.stage.name(),
                    "a pooled connection was dead; trying another"
                );
                drop(lease);
                self.pool.forget_idle();
                let mut lease = self.pool.take(cx, job.folder()).await?;
                job.run(lease.session(), cx).await
            }
            outcome => outcome,
        }
    }
}

impl MailSource for ImapSource {
    fn describe(&self) -> Described {
        Described {
            kind: SourceKind::Imap,
            host: self.settings.host.clone(),
            port: self.settings.port,
            secure: self.settings.security != Security::Plain,
            authserv_id: self.settings.authserv_id.clone(),
        }
    }

    fn verify<'a>(&'a self, cx: &'a Cx) -> Answer<'a, Verified> {
        Box::pin(async move {
            let slot = self.pool.slot().await?;
            let opened = session::Session::open(&self.settings, cx).await;
            let session = opened.map_err(|fault| echo::silence(fault, &self.settings))?;
            let capabilities = session.capabilities().names().to_vec();
            slot.fill(session, cx);
            Ok(Verified { capabilities })
        })
    }

    fn folders<'a>(&'a self, cx: &'a Cx) -> Answer<'a, Folders> {
        Box::pin(self.run(cx, folders::ListFolders))
    }

    fn search<'a>(&'a self, cx: &'a Cx, search: &'a Search) -> Answer<'a, Found> {
        Box::pin(self.run(
            cx,
            search::FindMessages {
                search,
                cache: &self.cache,
            },
        ))
    }

    fn sift<'a>(
        &'a self,
        cx: &'a Cx,
        folder: &'a FolderName,
        tests: &'a [Condition],
    ) -> Answer<'a, Sifted> {
        Box::pin(self.run(
            cx,
            sift::SiftFolder {
                folder,
                tests,
                censuses: &self.censuses,
            },
        ))
    }

    fn summaries<'a>(
        &'a self,
        cx: &'a Cx,
        folder: &'a FolderName,
        uidvalidity: UidValidity,
        uids: &'a UidSet,
        snippets: Snippets,
    ) -> Answer<'a, Vec<Summary>> {
        let job = summaries::DescribeMessages {
            folder,
            uidvalidity,
            uids,
            snippets,
            cache: &self.cache,
        };
        Box::pin(self.run(cx, job))
    }

    fn message<'a>(
        &'a self,
        cx: &'a Cx,
        at: &'a MessageRef,
        choose: Choose<'a>,
    ) -> Answer<'a, Fetched> {
        Box::pin(self.run(
            cx,
            message::ReadMessage {
                at,
                choose,
                cache: &self.cache,
            },
        ))
    }

    fn raw<'a>(&'a self, cx: &'a Cx, at: &'a MessageRef, max_bytes: u64) -> Answer<'a, RawMessage> {
        Box::pin(self.run(cx, raw::ReadRaw { at, max_bytes }))
    }
}
