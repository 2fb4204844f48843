//! The way of one call, from ask to answer. Read [`pass`] from top to bottom; there is nothing around it.
//!
//! What is said to the audit log on the way is put together in `recording`. The operator's own looks go by `operator`.

mod admission;
pub(crate) mod argument_aliases;
mod asking;
mod begun;
mod folder_patterns;
mod hostile;
mod offered;
mod operator;
mod parsing;
mod spelling;
mod turnstile;
mod writing;

use std::sync::{Arc, Mutex, PoisonError, RwLock};

use audit::{Entry, Log, Receipt, Summary, Unavailable};
use content::Extractions;
use jiff::Timestamp;
use mail::{AccountId, Cx, ExtractJob, Extractor, Level, Reach, Section, UncertainText};
use policy::{Denial, Permit, Policy, Refused as Denied};
use serde_json::{Map, Value};
use tokio::sync::Semaphore;

use crate::cursor::CursorKey;
use crate::envelope::{self, Answered, Facts, Refused, Reply};
use crate::extracting;
use crate::guarded_mail::{GuardedMail, Verdict};
use crate::knowledge::lock;
use crate::recording;
use crate::setup::{Account, Credential, Setup, Standing};
use crate::spool::Spool;
use crate::tools::{AnyTool, SOURCE, Tool, Toolset};
use crate::watch::Watch;
use crate::{Code, Refusal};

pub use admission::{Admitted, HELD_BACK, Pace};
use admission::{Came, hold_back};
pub use asking::{Asked, Asking, Consent, Question, Returned};
pub(crate) use hostile::{LITTLE, at_once, over_ranges};
use offered::Lookup;
pub(crate) use operator::{Look, Looked, POLICY_INSPECT};
use parsing::parse;
use spelling::{Said, Unlisted};
use turnstile::Turnstile;
use writing::Writing;
pub use writing::{Deletes, NotUndone};

use begun::Begun;

/// Everything calls share: the accounts and callers, the log, the cursor key, the reader of attachments.
pub struct Gateway {
    setup: RwLock<Arc<Setup>>,
    log: Log,
    cursor_key: CursorKey,
    extractor: Option<Arc<dyn Extractor>>,
    spool: Option<Spool>,
    /// One for each message that is rendered at a time.
    renderers: Arc<Semaphore>,
    /// Where changes are written down; without it there are none.
    writing: Option<Writing>,
    /// Held by each change under way.
    under_way: Arc<tokio::sync::RwLock<()>>,
    turnstile: Turnstile,
    /// Told of every call that is over.
    watch: Option<Arc<dyn Watch>>,
}

/// Who calls. Identity is fixed by the transport, never by an argument.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Caller {
    id: String,
    address: String,
    credential: Credential,
}

impl Caller {
    pub(crate) const OWNER: &'static str = "owner";
    /// Whoever runs the program, at its command line.
    pub(crate) const OPERATOR: &'static str = "operator";

    /// Whoever proved to be this caller.
    pub fn new(id: impl Into<String>, address: impl Into<String>, credential: Credential) -> Self {
        Self {
            id: id.into(),
            address: address.into(),
            credential,
        }
    }

    /// The person who configured the accounts, calling from there.
    pub fn owner(address: impl Into<String>) -> Self {
        Self::new(Self::OWNER, address, Credential::default())
    }

    /// Who has not said who it is. No configuration can name it.
    pub fn nobody() -> Self {
        Self::new("", "", Credential::default())
    }

    pub fn as_str(&self) -> &str {
        &self.id
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    pub fn credential(&self) -> Credential {
        self.credential
    }
}

/// One call. Dropping its future cancels it, down to the connection it is using.
pub struct Call<'a> {
    pub caller: &'a Caller,
    pub tool: &'a str,
    pub arguments: Map<String, Value>,
    pub asking: Asking,
    pub cx: &'a Cx,
}

pub enum Outcome {
    Answered(Answered),
    Refused(Refused),
}

impl Gateway {
    pub fn new(setup: Setup, cursor_key: CursorKey, log: Log) -> Self {
        Self {
            setup: RwLock::new(Arc::new(setup)),
            turnstile: Turnstile::new(log.clone()),
            log,
            cursor_key,
            extractor: None,
            spool: None,
            renderers: Arc::new(Semaphore::new(hostile::renderers())),
            writing: None,
            under_way: Arc::default(),
            watch: None,
        }
    }

    /// Who is told of every call when it is over.
    pub fn with_watch(mut self, watch: Arc<dyn Watch>) -> Self {
        self.watch = Some(watch);
        self
    }

    /// Who takes the text out of attachments that are not text; without it, none of them has any.
    pub fn with_extractor(mut self, extractor: Arc<dyn Extractor>) -> Self {
        self.extractor = Some(extractor);
        self
    }

    /// Where messages become files, for those who want a path.
    pub fn with_spool(mut self, spool: Spool) -> Self {
        self.spool = Some(spool.keyed(self.cursor_key.derived(b"message files")));
        self
    }

    /// Calls that come from now on see the new accounts and callers; those under way end as they began.
    pub fn replace(&self, setup: Setup) {
        *self.setup.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(setup);
    }

    pub fn setup(&self) -> Arc<Setup> {
        Arc::clone(&self.setup.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub async fn call(&self, call: Call<'_>) -> Outcome {
        self.call_unless_left(call, std::future::pending()).await
    }

    /// The same, but one whose caller leaves before it is let in is not made.
    async fn call_unless_left(&self, call: Call<'_>, left: impl Future<Output = ()>) -> Outcome {
        let setup = self.setup();
        let Some(standing) = setup.standing(call.caller) else {
            let begun = Begun::now().watched(self, call.tool, call.cx);
            let asked = recording::nobody(call.caller, call.tool, &begun.request_id);
            let refused = self.turn_away(&begun, call.cx, asked, Refusal::nobody(), None);
            return Outcome::Refused(refused.await);
        };
        let tool = standing.tool(&setup, call.tool);
        self.serve(&setup, standing, tool, call, left).await
    }

    /// For what is asked in another way than by calling a tool; limited, decided and recorded like any call.
    pub(crate) async fn call_unlisted(
        &self,
        tool: &'static dyn AnyTool,
        call: Call<'_>,
    ) -> Outcome {
        let setup = self.setup();
        let known = setup.standing(call.caller);
        match known.filter(|standing| !standing.toolsets.is_empty()) {
            Some(standing) => {
                let staying = std::future::pending();
                let found = match tool.name() == SOURCE.name() && !standing.serves_sources() {
                    true => Lookup::NoResource(tool),
                    false => Lookup::Offered(tool),
                };
                self.serve(&setup, standing, found, call, staying).await
            }
            None => self.call(call).await,
        }
    }

    /// A tool that the caller's policy could never allow: refused as a call that it does not allow.
    async fn withhold(
        &self,
        standing: &Standing,
        tool: &'static dyn AnyTool,
        denial: Denial,
        call: Call<'_>,
    ) -> Refused {
        let begun = Begun::by(standing).watched(self, tool.name(), call.cx);
        let refusal = Refusal::denied(denial);
        let asked = recording::withheld(
            call.caller,
            tool.name(),
            &begun.request_id,
            tool.kept(call.arguments),
            &refusal,
        );
        self.turn_away(&begun, call.cx, asked, refusal, None).await
    }

    /// A tool that changes mail, while nothing may be changed.
    async fn refuse_gated(&self, standing: &Standing, call: Call<'_>) -> Refused {
        let begun = Begun::by(standing).watched(self, call.tool, call.cx);
        let asked = recording::gated(call.caller, call.tool, &begun.request_id);
        self.turn_away(&begun, call.cx, asked, Refusal::gated(), None)
            .await
    }

    /// A tool that is none, or none for this caller.
    async fn no_such_tool(&self, standing: &Standing, call: Call<'_>) -> Refused {
        let begun = Begun::by(standing).watched(self, call.tool, call.cx);
        let message = format!(
            "unknown tool '{}'; call tools/list for the tools there are",
            content::name(call.tool, &mut content::Changes::default())
        );
        let asked = recording::unknown_tool(call.caller, call.tool, &begun.request_id);
        let refusal = Refusal::invalid(message);
        self.turn_away(&begun, call.cx, asked, refusal, None).await
    }

    /// A resource that the caller's toolsets leave out.
    async fn no_such_resource(
        &self,
        standing: &Standing,
        tool: &'static dyn AnyTool,
        call: Call<'_>,
    ) -> Refused {
        let begun = Begun::by(standing).watched(self, tool.name(), call.cx);
        let message = "raw sources are not served here; list the resource templates for what is";
        let refusal = Refusal::new(Code::NotFound, message);
        let asked = recording::unknown_tool(call.caller, tool.name(), &begun.request_id);
        self.turn_away(&begun, call.cx, asked, refusal, None).await
    }

    /// Whether this caller may read raw sources as resources.
    pub(crate) fn serves_sources(&self, caller: &Caller) -> bool {
        let setup = self.setup();
        let standing = setup.standing(caller);
        standing.is_some_and(Standing::serves_sources)
    }

    /// The most that this caller can see of anything; nothing, if it is nobody or has no tools.
    pub(crate) fn ceiling(&self, caller: &Caller) -> Option<mail::Level> {
        let setup = self.setup();
        let known = setup.standing(caller)?;
        (!known.toolsets.is_empty()).then(|| known.policy.ceiling())
    }

    /// The tools that this caller is shown: none, if it is nobody.
    pub fn tools(&self, caller: &Caller) -> Vec<&'static dyn AnyTool> {
        let setup = self.setup();
        let standing = setup.standing(caller);
        let tools = standing.into_iter().flat_map(|one| one.tools(&setup));
        tools.collect()
    }

    /// Refuses a call for what it asks, once that is recorded.
    async fn turn_away(
        &self,
        begun: &Begun,
        cx: &Cx,
        asked: audit::Asked,
        refusal: Refusal,
        argument: Option<String>,
    ) -> Refused {
        let facts = begun.facts(cx);
        let ended = recording::refused(&refusal, &facts, argument);
        begun.decided(asked.decision, asked.reason);
        let receipt = self.log.append(audit::Event::call(&asked, &ended)).await;
        tracing::info!(
            tool = asked.tool,
            request = facts.request_id,
            code = refusal.code.name(),
            "refused"
        );
        begun.came_to(match &receipt {
            Ok(_) => ended.result,
            Err(_) => UNRECORDED,
        });
        refuse(refusal, &facts, receipt)
    }
}

/// The arguments of a tool, and what may still be found out about the folders that they name.
fn read_arguments<T: Tool>(
    setup: &Setup,
    arguments: Map<String, Value>,
) -> Result<(T::Args, Option<Unlisted>), Refusal> {
    let said = Said::read(setup, argument_aliases::resolve::<T>(arguments)?);
    Ok((parse(said.arguments)?, said.unlisted))
}

/// What the audit log may hold of arguments; nothing of those that cannot be read.
pub(crate) fn kept<T: Tool>(arguments: Map<String, Value>) -> Summary {
    let args = argument_aliases::resolve::<T>(arguments).and_then(parse::<T::Args>);
    args.map_or_else(|_| Summary::new(), |args| T::kept(&args))
}

/// Steps 2 to 8 of the way of a call.
pub(crate) async fn pass<T: Tool>(
    gateway: &Gateway,
    setup: &Setup,
    standing: &Standing,
    call: Call<'_>,
    admitted: &Admitted,
) -> Outcome {
    let begun = Begun::by(standing).since(admitted.since());
    let begun = begun.watched(gateway, T::NAME, call.cx);
    let asking = call.asking.about::<T>(&call.arguments);
    let wanted = read_arguments::<T>(setup, call.arguments)
        .and_then(|(args, unlisted)| Ok((T::ask(&args)?, args, unlisted)));
    let (ask, args, unlisted): (_, T::Args, _) = match wanted {
        Ok(wanted) => wanted,
        Err(refusal) => {
            let asked = recording::bad_arguments::<T>(call.caller, &begun.request_id);
            let argument = recording::argument::<T>(&refusal);
            let refused = gateway.turn_away(&begun, call.cx, asked, refusal, argument);
            return Outcome::Refused(refused.await);
        }
    };
    let decided = decide(setup, standing, &ask).or_else(|refusal| match &unlisted {
        Some(unlisted) => unlisted.leave(setup, standing, refusal),
        None => Err(refusal),
    });
    let decided = decided.or_else(|refusal| folder_patterns::leave(setup, standing, &ask, refusal));
    let permit = match decided {
        Ok(permit) => permit,
        Err(refusal) => {
            let asked =
                recording::denied_at_once::<T>(call.caller, &begun.request_id, &args, &refusal);
            let refused = gateway.turn_away(&begun, call.cx, asked, refusal, None);
            return Outcome::Refused(refused.await);
        }
    };
    // Only now: of an account that is hidden nobody learns whether it has limits.
    let room = gateway.admit_to_accounts(admitted, setup, standing, &ask);
    if let Err(excess) = room.await {
        let came = Came {
            tool: Some(T::NAME),
            since: admitted.since(),
        };
        admitted.leave_place();
        let refused = gateway.refuse_excess(standing, call.caller, came, call.cx, excess);
        return Outcome::Refused(hold_back(refused.await, admitted.since()).await);
    }
    let asked = recording::permitted::<T>(call.caller, &begun.request_id, &args, &permit);
    // INVARIANT: a call that may change something is durably said to be about to.
    let opened = match T::ANNOTATIONS.read_only {
        true => gateway.log.reading(asked).await,
        false => gateway.log.changing(asked).await,
    };
    let mut entry = match opened {
        Ok(entry) => entry,
        Err(why) => {
            begun.came_to(UNRECORDED);
            return Outcome::Refused(withheld(&why, &begun.facts(call.cx)));
        }
    };
    begun.decided(entry.decision(), entry.reason());
    let verdict = Mutex::new(None);
    let mut ctx = Ctx {
        gateway,
        setup,
        standing,
        permit,
        verdict: &verdict,
        _entry: &entry,
        caller: call.caller,
        request_id: &begun.request_id,
        cx: call.cx,
        now: begun.now,
    };
    let args = match unlisted {
        Some(unlisted) => unlisted.settle::<T>(&mut ctx).await,
        None => Ok(args),
    };
    let args = match args {
        Ok(args) => folder_patterns::confirm::<T>(&mut ctx, args).await,
        Err(refusal) => Err(refusal),
    };
    let outcome = match args {
        Ok(args) => match asking.settle::<T>(&ctx, &args).await {
            Ok(()) => T::run(ctx, args).await,
            Err(refusal) => Err(refusal),
        },
        Err(refusal) => Err(refusal),
    };
    let facts = begun.facts(call.cx);
    let verdict = *lock(&verdict);
    recording::decided(&mut entry, verdict, outcome.as_ref().err());
    begun.decided(entry.decision(), entry.reason());
    // INVARIANT: what happened is durable before anybody is told. What is told is ready before: from then on there is only a
    // disk to wait for, and another call can have the place.
    match outcome {
        Ok(done) => {
            admitted.shows(&ask, &done.data);
            let ended = recording::done(&done, &facts);
            let result = ended.result;
            let changed = Some(&done.data).filter(|_| !T::ANNOTATIONS.read_only);
            let changed = changed.and_then(Reply::transaction);
            let decision = (T::TOOLSET == Toolset::Gateway).then(|| entry.decision());
            let answered = envelope::answered(done, T::UNTRUSTED, decision, &facts);
            admitted.hand_on_place();
            let receipt = entry.close(ended).await;
            begun.came_to(receipt.as_ref().map_or(UNRECORDED, |_| result));
            match (receipt, changed) {
                (Ok(receipt), _) => {
                    tracing::debug!(
                        tool = T::NAME,
                        request = facts.request_id,
                        ms = facts.duration_ms,
                        "answered"
                    );
                    Outcome::Answered(answered.recorded(&receipt))
                }
                // INVARIANT: that nothing was done is not said of what may have been.
                (Err(why), Some(id)) => Outcome::Refused(envelope::refused(
                    Refusal::unrecorded_change(&why, &id),
                    &facts,
                )),
                (Err(why), None) => Outcome::Refused(withheld(&why, &facts)),
            }
        }
        Err(refusal) => {
            let argument = recording::argument::<T>(&refusal);
            let ended = recording::refused(&refusal, &facts, argument);
            let result = ended.result;
            admitted.hand_on_place();
            let receipt = entry.close(ended).await;
            begun.came_to(receipt.as_ref().map_or(UNRECORDED, |_| result));
            tracing::info!(
                tool = T::NAME,
                request = facts.request_id,
                code = refusal.code.name(),
                "refused"
            );
            Outcome::Refused(refuse(refusal, &facts, receipt))
        }
    }
}

fn refuse(refusal: Refusal, facts: &Facts, receipt: Result<Receipt, Unavailable>) -> Refused {
    match receipt {
        Ok(receipt) => envelope::refused(refusal, facts).recorded(&receipt),
        // A refusal that could not be recorded is itself withheld.
        Err(why) => withheld(&why, facts),
    }
}

/// How a call comes out that nobody is answered for, because it cannot be recorded.
const UNRECORDED: &str = "audit_unavailable";

/// What could not be recorded is not told.
fn withheld(why: &Unavailable, facts: &Facts) -> Refused {
    envelope::refused(Refusal::unrecorded(why), facts)
}

/// INVARIANT: an account that is not configured answers as one that is hidden, to whoever is not the owner.
fn decide(setup: &Setup, standing: &Standing, ask: &policy::Ask) -> Result<Permit, Refusal> {
    let permit = standing.policy.decide(ask).map_err(Refusal::denied)?;
    let absent = ask
        .accounts()
        .any(|account| setup.account(account).is_none());
    match absent && !standing.policy.is_owner() {
        true => Err(Refusal::denied(Denial {
            hidden: Some(policy::Hidden::ObjectAbsent),
            ..Denial::of(Denied::AccountHidden)
        })),
        false => within_reach(setup, ask).map(|()| permit),
    }
}

/// INVARIANT: whatever a policy says, nothing is changed where the account's login does not let it, and nobody is asked
/// about it first.
fn within_reach(setup: &Setup, ask: &policy::Ask) -> Result<(), Refusal> {
    for id in ask.accounts() {
        let Some(account) = setup.account(id) else {
            continue;
        };
        match account.reach() {
            Reach::Nothing(why, remedy) => return Err(Refusal::needs_login(id, why, &remedy)),
            reach if reach.is_for_reading() && ask.changes(id) => {
                return Err(Refusal::reading_only(account.scopes()));
            }
            // What is broken says why when it is asked.
            Reach::Everything | Reach::ReadingOnly | Reach::Broken(_) => {}
        }
    }
    Ok(())
}

/// What a tool runs with. It can only be made from a permit and an open entry of the audit log.
pub(crate) struct Ctx<'a> {
    gateway: &'a Gateway,
    setup: &'a Setup,
    standing: &'a Standing,
    permit: Permit,
    verdict: &'a Mutex<Option<Verdict>>,
    _entry: &'a Entry,
    pub caller: &'a Caller,
    request_id: &'a str,
    pub cx: &'a Cx,
    pub now: Timestamp,
}

impl<'a> Ctx<'a> {
    /// The mail of the account that the permit is for.
    pub(crate) fn mail(&self) -> Result<GuardedMail<'_>, Refusal> {
        self.mail_under(&self.permit)
    }

    /// The same for another permit of the same caller.
    pub(crate) fn mail_under<'p>(&'p self, permit: &'p Permit) -> Result<GuardedMail<'p>, Refusal> {
        let wanted = permit.account();
        match wanted.and_then(|id| self.setup.account(id)) {
            Some(account) => {
                let (now, cx) = (self.now.as_second(), self.cx);
                Ok(GuardedMail::new(account, permit, cx, now, self.verdict))
            }
            None => {
                let name = wanted.map(AccountId::as_str).unwrap_or_default();
                Err(Refusal::new(
                    Code::NotFound,
                    format!(
                        "account '{name}' is not configured; call imap_list_accounts for those that are"
                    ),
                ))
            }
        }
    }

    /// The mail of an account that the permit reaches, wherever in it.
    pub(crate) fn mail_of(&self, account: &'a Account) -> GuardedMail<'_> {
        let (now, cx) = (self.now.as_second(), self.cx);
        GuardedMail::new(account, &self.permit, cx, now, self.verdict)
    }

    /// One that the permit is for, or that a permitted message goes to.
    pub(crate) fn account(&self, id: &AccountId) -> Option<&'a Account> {
        self.accounts().find(|account| account.id() == id)
    }

    /// The accounts that the caller may know of, as configured.
    pub(crate) fn accounts(&self) -> impl Iterator<Item = &'a Account> {
        let policy = &self.standing.policy;
        let all = self.setup.accounts().iter();
        all.filter(|account| policy.shows_account(account.id()))
    }

    pub(crate) fn hidden_accounts(&self) -> usize {
        self.setup.accounts().len() - self.accounts().count()
    }

    /// The least that a message can have which the caller finds in the permitted folder.
    pub(crate) fn least_visible(&self) -> Level {
        let folder = match self.permit.scope() {
            policy::Scope::Alike(level) => return level,
            policy::Scope::Each(folder) => folder,
        };
        let rules = folder.rules.iter().map(|rule| rule.level);
        let visible = rules
            .chain([folder.default])
            .filter(|level| *level >= Level::Metadata);
        visible.min().unwrap_or(Level::Metadata)
    }

    /// What the caller may do.
    pub(crate) fn policy(&self) -> &'a Policy {
        &self.standing.policy
    }

    /// What becomes of text that a person may not see: the stricter of the setting and the caller's policy.
    pub(crate) fn uncertain_text(&self) -> UncertainText {
        self.setup
            .uncertain_text()
            .max(self.standing.policy.uncertain_text())
    }

    pub(crate) fn toolsets(&self) -> &'a [crate::tools::Toolset] {
        &self.standing.toolsets
    }

    pub(crate) fn spool(&self) -> Option<&'a Spool> {
        self.gateway.spool.as_ref()
    }

    pub(crate) fn cursor_key(&self) -> &'a CursorKey {
        &self.gateway.cursor_key
    }

    /// Has the text of attachments taken out. Dropping this ends the work.
    pub(crate) async fn extract(&self, jobs: Vec<(Section, ExtractJob)>) -> Extractions {
        let extractor = self.gateway.extractor.as_ref();
        let time_up = tokio::time::sleep(extracting::PATIENCE);
        extracting::run(extractor, jobs, time_up).await
    }
}

#[cfg(test)]
mod tests;
