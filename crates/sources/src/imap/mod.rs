//! An account on an IMAP server.
//!
//! `pool` lends sessions, `session` opens folders, `link` carries flights of pipelined commands, `net` and `tls` dial.
//! Each read is a [`Job`](job::Job), each change a [`Change`](job::Change) in a file of its own; `change` is what they have
//! in common. `cache`, `census`, `answered`, `gatherings` and `sightings` remember what earlier reads learned; what could have changed since is
//! asked again. Nothing here tries a change again, takes one back that may have been made, or decides about one.

mod answered;
mod answers;
mod append;
mod bearer;
mod cache;
mod candidates;
mod cargo;
mod catalogue;
mod census;
mod change;
mod closure;
mod conditions;
mod convert;
mod departure;
mod descent;
mod describe;
mod faults;
mod folder_words;
mod folders;
mod gatherings;
mod gmail;
mod horizon;
mod hunt;
mod in_thread;
mod job;
mod kindred;
mod lineages;
mod link;
mod locate;
mod login;
mod look;
mod mark;
mod message;
mod messages;
mod needles;
mod net;
mod pool;
mod quirks;
mod raw;
mod remove;
mod response_limits;
mod revisit;
mod scope;
mod search;
mod session;
mod settings;
mod sift;
mod sightings;
mod source_fallback;
mod steps;
mod summaries;
mod tls;
mod together;
mod tour;
mod transfer;
mod witness;

use std::sync::{Arc, Mutex, PoisonError};

use ::secrets::Tokens;
use bytes::Bytes;
use mail::{
    AccountId, Answer, Append, Body, Broken, Candidate, Changed, Changing, Choose, Condition, Cx,
    Described, Fault, FaultKind, Fetched, FolderName, Folders, Found, Horizon, InAll, Keeping,
    Kindred, Landing, Likely, MailSource, MessageRef, RawMessage, Reach, Removal, Scopes, Search,
    Sifted, Snippets, Sought, SourceKind, Spelling, Stage, Step, Summary, Uid, UidSet, UidValidity,
    Verified, Witness,
};

pub use imap::Bearer;
pub use pool::Connections;
pub use quirks::{Quirk, REGISTER, Tried};
pub use settings::{Login, Security, Settings, Timeouts};
pub use tls::{BadRoots, Roots};

use answered::Answered;
use cache::{Cache, Key};
use catalogue::Catalogue;
use census::Censuses;
use folders::ListFolders;
use gatherings::Gatherings;
use gmail::all_mail::{self, Numbers};
use gmail::names::{self, Names, Place};
use horizon::Horizons;
use hunt::Gear;
use in_thread::InThread;
use job::Job;
use lineages::Lineages;
use pool::Pool;
use quirks::{echo, false_esearch};
use session::Session;
use sightings::Sightings;
use together::Together;

/// One account on one server.
pub struct ImapSource {
    account: AccountId,
    settings: Arc<Settings>,
    pool: Arc<Pool>,
    cache: Mutex<Cache>,
    censuses: Censuses,
    answered: Answered,
    horizons: Horizons,
    sightings: Sightings,
    gatherings: Gatherings,
    lineages: Lineages,
    catalogue: Catalogue,
    in_thread: InThread,
    together: Together,
    /// Shared with the pool and its sessions.
    names: Arc<Names>,
    in_all: Numbers,
}

impl ImapSource {
    /// Connects to nothing yet: the first call that needs a connection makes it.
    pub fn new(account: AccountId, settings: Settings) -> Self {
        if settings.security != Security::Plain {
            settings.roots.warm();
        }
        let settings = Arc::new(settings);
        let names = Arc::new(Names::default());
        Self {
            account,
            pool: Pool::new(Arc::clone(&settings), Arc::clone(&names)),
            settings,
            cache: Mutex::new(Cache::default()),
            censuses: Censuses::default(),
            answered: Answered::default(),
            horizons: Horizons::default(),
            sightings: Sightings::default(),
            gatherings: Gatherings::default(),
            lineages: Lineages::default(),
            catalogue: Catalogue::default(),
            in_thread: InThread::default(),
            together: Together::default(),
            names,
            in_all: Numbers::default(),
        }
    }

    /// Whether these settings would make the same source.
    pub fn is_made_from(&self, settings: &Settings) -> bool {
        self.settings.is_same(settings)
    }

    /// What it has open now, and what became of its attempts.
    pub fn connections(&self) -> Connections {
        self.pool.connections()
    }

    /// What it logs in with, where that is no password.
    pub fn tokens(&self) -> Option<&Arc<Tokens>> {
        match &self.settings.login {
            Login::Tokens(_, tokens) => Some(tokens),
            Login::Password(_) => None,
        }
    }

    /// Runs a job on a lent session; a session that turns out dead costs one retry on another.
    async fn run<J: Job>(&self, cx: &Cx, job: J) -> Result<J::Out, Fault> {
        let outcome = self.attempt(cx, job).await;
        outcome.map_err(|fault| self.tell(fault))
    }

    async fn attempt<J: Job>(&self, cx: &Cx, job: J) -> Result<J::Out, Fault> {
        cx.enter(Stage::Queue);
        let mut lease = self.pool.take(cx, job.wish()).await?;
        let mut outcome = job.run(lease.session(), cx).await;
        if let Err(fault) = &outcome
            && lease.was_dead(fault.kind)
        {
            tracing::debug!(
                stage = fault.stage.name(),
                "a pooled connection was dead; trying another"
            );
            drop(lease);
            self.pool.forget_idle();
            lease = self.pool.take(cx, job.wish()).await?;
            outcome = job.run(lease.session(), cx).await;
        }
        if let Err(fault) = &outcome
            && names::mend(lease.session(), cx, fault.kind).await
        {
            outcome = job.run(lease.session(), cx).await;
        }
        if let Some(folder) = job.folder() {
            self.note_end(lease.session(), folder);
        }
        outcome
    }

    async fn list(&self, cx: &Cx, what: ListFolders) -> Result<Folders, Fault> {
        let folders = Arc::new(self.run(cx, what).await?);
        self.catalogue.keep(&folders, &self.sightings);
        Ok(folders.as_ref().clone())
    }

    /// A hunt that brought more than a flight carries is begun again in smaller steps, and so is one that could not read who
    /// names whom.
    async fn hunt<J: Job>(
        &self,
        cx: &Cx,
        job: impl Fn(hunt::Manner) -> J + Send,
    ) -> Result<J::Out, Fault> {
        match self.run(cx, job(hunt::Manner::Together)).await {
            Err(fault) if fault.kind == FaultKind::Protocol => {
                self.run(cx, job(hunt::Manner::Apart)).await
            }
            outcome => outcome,
        }
    }

    fn gear(&self, manner: hunt::Manner) -> Gear<'_> {
        Gear {
            account: &self.account,
            cache: &self.cache,
            sightings: &self.sightings,
            in_thread: &self.in_thread,
            manner,
        }
    }

    /// Finds out whether the server keeps what it offers, as far as that is cheap. Whatever else comes of it is for those to
    /// tell who want something.
    async fn try_out(&self, session: &mut Session, cx: &Cx) {
        if let Ok(inbox) = FolderName::new("INBOX")
            && conditions::has_esearch(session)
        {
            let _ = false_esearch::is_believed(session, cx, &inbox, 0).await;
        }
    }

    /// A fault as it may leave.
    fn tell(&self, fault: Fault) -> Fault {
        let fault = echo::silence(fault, &self.settings);
        // INVARIANT: what the server said may hold mail; only what it means is logged.
        tracing::debug!(host = self.settings.host, stage = fault.stage.name(), kind = ?fault.kind, "failed");
        fault
    }

    fn note_end(&self, session: &Session, folder: &FolderName) {
        if let Some(stamp) = session.stamp(folder) {
            let ends = Horizon {
                uidvalidity: stamp.uidvalidity,
                next: Uid(stamp.uidnext),
            };
            self.horizons.note(folder, ends);
        }
    }

    fn note_landing(&self, folder: &FolderName, changed: &Changed) {
        self.sightings.doubt_all();
        if let Some(id) = changed.before.as_ref().and_then(|seen| seen.store_id) {
            // Out of the trash it comes back with another number.
            self.in_all.forget(id);
        }
        if let Some(landed) = changed.landed {
            self.horizons.note_landing(folder, landed);
        }
    }

    /// What is no longer there is not kept here either.
    fn forget(&self, at: &MessageRef) {
        let key = Key {
            folder: at.folder.clone(),
            uidvalidity: at.uidvalidity.0,
            uid: at.uid.0,
        };
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        cache.forget(&key);
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
            home: crate::home::named(&[
                "imap",
                &self.settings.host.to_lowercase(),
                &self.settings.port.to_string(),
                &self.settings.user,
            ]),
        }
    }

    fn reach(&self) -> Reach {
        bearer::reach(&self.settings.login)
    }

    fn scopes(&self) -> Option<Scopes> {
        bearer::scopes(&self.settings.login)
    }

    fn keeping(&self) -> Option<Keeping> {
        self.names.keeping()
    }

    fn spelled(&self, folder: &FolderName) -> Spelling {
        self.names.ours(folder)
    }

    fn in_all<'a>(
        &'a self,
        cx: &'a Cx,
        folder: &'a FolderName,
        messages: &'a [(Uid, u64)],
    ) -> Answer<'a, InAll> {
        Box::pin(self.numbers_in_all(cx, folder, messages))
    }

    fn anchored<'a>(&'a self, cx: &'a Cx, at: &'a MessageRef) -> Answer<'a, MessageRef> {
        Box::pin(async move {
            if self.keeping() == Some(Keeping::Apart) {
                return Ok(at.clone());
            }
            let memory = &self.in_all;
            match memory.anchor(at, &self.names) {
                Some(known) => Ok(known),
                None => self.run(cx, all_mail::AnchorMessage { at, memory }).await,
            }
        })
    }

    fn recalled<'a>(
        &'a self,
        cx: &'a Cx,
        at: &'a MessageRef,
        message: u64,
    ) -> Answer<'a, Option<MessageRef>> {
        Box::pin(self.recall(cx, at, message))
    }

    fn end_of_all<'a>(&'a self, cx: &'a Cx) -> Answer<'a, Option<Horizon>> {
        Box::pin(self.ask_end_of_all(cx))
    }

    fn removes(&self, folder: &FolderName) -> Removal {
        match self.keeping() == Some(Keeping::Labels)
            && self.names.place(folder) != Place::Discarded
        {
            true => Removal::Trashed,
            false => Removal::Gone,
        }
    }

    fn standing<'a>(
        &'a self,
        cx: &'a Cx,
        folder: &'a FolderName,
        message: u64,
    ) -> Answer<'a, Option<Landing>> {
        let id = message;
        Box::pin(self.run(cx, all_mail::FindStanding { folder, id }))
    }

    fn verify<'a>(&'a self, cx: &'a Cx) -> Answer<'a, Verified> {
        Box::pin(async move {
            let slot = self.pool.slot().await?;
            let findings = self.pool.findings();
            let opened = session::Session::open(&self.settings, &self.names, findings, cx).await;
            let mut session = opened.map_err(|fault| echo::silence(fault, &self.settings))?;
            let capabilities = session.capabilities().names().to_vec();
            self.try_out(&mut session, cx).await;
            if session.is_sound() {
                slot.fill(session, cx);
            }
            Ok(Verified {
                capabilities,
                remarks: findings.remarks(),
            })
        })
    }

    fn folders<'a>(&'a self, cx: &'a Cx) -> Answer<'a, Folders> {
        Box::pin(self.list(cx, ListFolders::Names))
    }

    fn counted_folders<'a>(&'a self, cx: &'a Cx) -> Answer<'a, Folders> {
        Box::pin(self.list(cx, ListFolders::Counts))
    }

    fn search<'a>(&'a self, cx: &'a Cx, search: &'a Search) -> Answer<'a, Found> {
        Box::pin(self.run(
            cx,
            search::FindMessages {
                search,
                cache: &self.cache,
                sightings: &self.sightings,
                answered: &self.answered,
            },
        ))
    }

    fn sift<'a>(
        &'a self,
        cx: &'a Cx,
        folder: &'a FolderName,
        tests: &'a [Condition],
    ) -> Answer<'a, Sifted> {
        Box::pin(async move {
            let job = self.sifting(folder, tests, None);
            Ok(self.run(cx, job).await?.0)
        })
    }

    fn sift_ahead<'a>(
        &'a self,
        cx: &'a Cx,
        folder: &'a FolderName,
        tests: &'a [Condition],
        likely: Likely<'a>,
    ) -> Answer<'a, (Sifted, Vec<Summary>)> {
        let likely = summaries::DescribeMessages {
            folder,
            uidvalidity: likely.uidvalidity,
            uids: likely.uids,
            snippets: Snippets::Without,
            cache: &self.cache,
            sightings: &self.sightings,
        };
        Box::pin(self.run(cx, self.sifting(folder, tests, Some(likely))))
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
            sightings: &self.sightings,
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
                sightings: &self.sightings,
            },
        ))
    }

    fn raw<'a>(&'a self, cx: &'a Cx, at: &'a MessageRef, max_bytes: u64) -> Answer<'a, RawMessage> {
        Box::pin(self.run(cx, raw::ReadRaw { at, max_bytes }))
    }

    fn messages<'a>(
        &'a self,
        cx: &'a Cx,
        wanted: &'a [MessageRef],
        choose: Choose<'a>,
    ) -> Answer<'a, Vec<Result<Fetched, Fault>>> {
        Box::pin(async move {
            // Of one, the beginning of its text may be all that is wanted.
            if let [at] = wanted {
                return Ok(vec![self.message(cx, at, choose).await]);
            }
            let job = messages::ReadMessages {
                wanted,
                choose,
                cache: &self.cache,
                sightings: &self.sightings,
            };
            let mut told = self.run(cx, job).await?;
            for outcome in &mut told {
                if let Err(fault) = outcome {
                    *fault = self.tell(fault.clone());
                }
            }
            Ok(told)
        })
    }

    fn locate<'a>(&'a self, cx: &'a Cx, sought: &'a Sought) -> Answer<'a, Kindred> {
        let job = |manner| locate::LocateMessages {
            sought,
            catalogue: &self.catalogue,
            gear: self.gear(manner),
        };
        Box::pin(self.hunt(cx, job))
    }

    fn kindred<'a>(&'a self, cx: &'a Cx, sought: &'a Sought) -> Answer<'a, Kindred> {
        let job = |manner| kindred::GatherKindred {
            sought,
            catalogue: &self.catalogue,
            gatherings: &self.gatherings,
            lineages: &self.lineages,
            gear: self.gear(manner),
        };
        Box::pin(self.hunt(cx, job))
    }

    fn look<'a>(
        &'a self,
        cx: &'a Cx,
        at: &'a MessageRef,
        octets: u64,
    ) -> Answer<'a, Option<(Witness, Bytes)>> {
        Box::pin(self.run(cx, look::Look { at, octets }))
    }

    fn read<'a>(
        &'a self,
        cx: &'a Cx,
        at: &'a MessageRef,
        octets: u64,
    ) -> Answer<'a, Option<(Witness, Bytes)>> {
        Box::pin(self.together.read(self, cx, at, octets))
    }

    fn octets<'a>(
        &'a self,
        cx: &'a Cx,
        at: &'a MessageRef,
        from: u64,
        most: u32,
    ) -> Answer<'a, Bytes> {
        Box::pin(self.run(cx, look::ReadOctets { at, from, most }))
    }

    fn horizon<'a>(&'a self, cx: &'a Cx, folder: &'a FolderName) -> Answer<'a, Horizon> {
        Box::pin(async move {
            // Where folders are labels, whether a message had one is told by this: then the end is no earlier one.
            if self.keeping() != Some(Keeping::Labels)
                && let Some(known) = self.horizons.of(folder)
            {
                return Ok(known);
            }
            let ends = self.run(cx, horizon::AskHorizon { folder }).await?;
            self.horizons.note(folder, ends);
            Ok(ends)
        })
    }

    fn candidates<'a>(
        &'a self,
        cx: &'a Cx,
        folder: &'a FolderName,
        beyond: Option<Horizon>,
        size: u64,
        octets: u64,
    ) -> Answer<'a, Vec<Candidate>> {
        let job = candidates::FindCandidates {
            folder,
            beyond,
            size,
            octets,
        };
        Box::pin(self.run(cx, job))
    }

    fn apply<'a>(&'a self, cx: &'a Cx, step: &'a Step) -> Changing<'a> {
        Box::pin(self.carry_out(cx, step))
    }

    fn append<'a>(
        &'a self,
        cx: &'a Cx,
        append: &'a Append,
        body: &'a mut dyn Body,
    ) -> Changing<'a> {
        Box::pin(async move {
            self.lets_change().map_err(Broken::before_anything)?;
            let changed = self.add(cx, append, body).await?;
            self.note_landing(&append.to, &changed);
            Ok(changed)
        })
    }
}
