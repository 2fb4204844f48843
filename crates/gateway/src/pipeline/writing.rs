//! Calls that change something: they go on to their end whoever leaves, and what a crash left open is taken up again.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use audit::Event;
use ledger::{Claimed, Key, Ledger, LedgerFault, State, Transaction, TransactionId};
use mail::{AccountId, Cx, Fault, FolderName, Level};
use policy::{Denial, Permit, Policy, Refused, Scope};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use super::{Asking, Call, Caller, Ctx, Gateway, Outcome};
use crate::guarded_mail::{GuardedMail, Halt};
use crate::setup::Writes;
use crate::tools::{ALL, Landing};
use crate::transact::{
    Desk, Inverse, NotBegun, Order, Orderer, Told, Work, inverse, is_here, is_kept, tell,
};
use crate::trouble::Issue;
use crate::{Code, Refusal};

/// So many transactions of others are brought to their end at a time.
const RECOVERED_AT_ONCE: usize = 8;
const A_DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// What becomes of messages that are deleted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Deletes {
    /// They go to the trash, where there is one, and can be taken back.
    #[default]
    ToTrash,
    ForGood,
}

/// Why the operator's undoing of a change was not begun.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NotUndone {
    #[error(transparent)]
    Ledger(#[from] LedgerFault),
    /// For people: why, and what to do.
    #[error("{0}")]
    Refused(String),
}

pub(crate) struct Writing {
    pub desk: Desk,
    pub deletes: Deletes,
    purpose: Purpose,
}

/// What a process has the ledger for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Purpose {
    Changing,
    Looking,
}

impl Gateway {
    /// Where changes are written down.
    ///
    /// A server may take as long as `settle` to come to a command whose connection is gone: until then a copy that is not
    /// there is not made again.
    pub fn with_ledger(mut self, ledger: Ledger, deletes: Deletes, settle: Duration) -> Self {
        self.turnstile.share(ledger.clone());
        self.writing = Some(Writing {
            desk: Desk::new(ledger, self.log.clone(), settle),
            deletes,
            purpose: Purpose::Changing,
        });
        self
    }

    /// Where earlier changes are written down: they can be asked for, and nothing is changed or taken up.
    pub fn with_ledger_to_look_at(mut self, ledger: Ledger) -> Self {
        self.turnstile.share(ledger.clone());
        self.writing = Some(Writing {
            desk: Desk::new(ledger, self.log.clone(), Duration::ZERO),
            deletes: Deletes::default(),
            purpose: Purpose::Looking,
        });
        self
    }

    /// Where changes are written down, to see how it is; none where there are none.
    pub fn ledger(&self) -> Option<&Ledger> {
        self.writing.as_ref().map(|writing| &writing.desk.ledger)
    }

    /// A call whose caller may leave: one that changes something goes on to its end, and is recorded as it ends.
    pub async fn call_to_the_end(
        self: &Arc<Self>,
        caller: &Caller,
        tool: &str,
        arguments: Map<String, Value>,
        asking: Asking,
        cx: &Arc<Cx>,
    ) -> Outcome {
        let changes = ALL
            .iter()
            .any(|known| known.name() == tool && !known.annotations().read_only);
        if !changes {
            let call = Call {
                caller,
                tool,
                arguments,
                asking,
                cx,
            };
            return self.call(call).await;
        }
        let (gateway, cx) = (Arc::clone(self), Arc::clone(cx));
        let (caller, tool) = (caller.clone(), tool.to_owned());
        let under_way = Arc::clone(&self.under_way).read_owned().await;
        // Dropped with this future: then nobody waits any more.
        let (_stays, left) = oneshot::channel::<Infallible>();
        let task = tokio::spawn(async move {
            let _under_way = under_way;
            let call = Call {
                caller: &caller,
                tool: &tool,
                arguments,
                asking,
                cx: &cx,
            };
            let left = async {
                let _ = left.await;
            };
            gateway.call_unless_left(call, left).await
        });
        match task.await {
            Ok(outcome) => outcome,
            Err(_) => Outcome::Refused(crate::envelope::refused(
                Refusal::new(
                    Code::Internal,
                    "the change fell over; what was begun is brought to its end later, please report this",
                ),
                &super::Begun::now().facts(&Cx::new()),
            )),
        }
    }

    /// Waits for changes under way; those that begin later wait for good.
    pub async fn finish_changes(&self) {
        let _none = self.under_way.write().await;
    }

    /// Never ends: brings to their end what crashes and dead servers left open.
    pub async fn recover(self: Arc<Self>) {
        let Some(writing) = &self.writing else { return };
        if writing.purpose == Purpose::Looking {
            return;
        }
        let mut forgotten: Option<tokio::time::Instant> = None;
        let mut under_way = JoinSet::new();
        loop {
            if forgotten.is_none_or(|last| last.elapsed() >= A_DAY) {
                forgotten = Some(tokio::time::Instant::now());
                let _ = writing.desk.forget_the_old().await;
            }
            if under_way.len() >= RECOVERED_AT_ONCE {
                let _ = under_way.join_next().await;
            }
            // As many as are worked on at once: what waits behind them is nobody's yet.
            let free = RECOVERED_AT_ONCE - under_way.len();
            match writing.desk.due(&self.setup(), free).await {
                Ok(due) => {
                    for one in due {
                        let gateway = Arc::clone(&self);
                        under_way.spawn(async move { gateway.resume(one).await });
                    }
                }
                // The ledger itself says so, once.
                Err(LedgerFault::Away { .. }) => {}
                Err(fault) => tracing::warn!(%fault, "nothing can be recovered now"),
            }
            while under_way.try_join_next().is_some() {}
            writing.desk.rest().await;
        }
    }

    async fn resume(&self, claimed: Claimed) {
        let Some(writing) = &self.writing else { return };
        let one = &claimed.transaction;
        let (id, caller) = (one.id.clone(), one.asked.caller.clone());
        // INVARIANT: what cannot be recorded is not done.
        let resumed = Event::transaction_resumed(id.as_str(), &caller, one.asked.kind.name());
        if self.log.append(resumed).await.is_err() {
            writing.desk.put_off(&claimed.lease).await;
            return;
        }
        let (setup, cx) = (self.setup(), Cx::new());
        match writing.desk.resume(&setup, &cx, claimed).await {
            Ok(work) => self.record_end(&work.transaction).await,
            Err(fault) => {
                tracing::warn!(%id, %fault, "a transaction could not be brought to its end")
            }
        }
    }

    async fn record_end(&self, transaction: &Transaction) {
        if transaction.state == State::Open {
            return;
        }
        let code = transaction.ending.as_ref().and_then(|end| end.code.clone());
        let event =
            Event::transaction_ended(transaction.id.as_str(), transaction.state.name(), code);
        let _ = self.log.append(event).await;
    }

    /// By the operator: takes up what waits, or what a person was asked to decide.
    pub async fn retry_transaction(&self, id: &TransactionId) -> Result<Transaction, LedgerFault> {
        let writing = self.writing.as_ref().ok_or(LedgerFault::Unknown)?;
        let (setup, cx) = (self.setup(), Cx::new());
        let known = writing.desk.ledger.get(id).await?;
        let known = known.ok_or(LedgerFault::Unknown)?;
        if !matches!(known.state, State::Open | State::NeedsOperator) {
            return Err(LedgerFault::Over);
        }
        let kind = known.asked.kind.name();
        let resumed = Event::transaction_resumed(id.as_str(), Caller::OPERATOR, kind);
        if let Err(why) = self.log.append(resumed).await {
            return Err(LedgerFault::Unwritable(why.to_string()));
        }
        let work = writing.desk.take_up_again(&setup, &cx, id).await?;
        self.record_end(&work.transaction).await;
        Ok(work.transaction)
    }

    /// By the operator: puts a change back, whoever made it. What cannot be done is said before it is tried.
    pub async fn undo_as_operator(&self, id: &TransactionId) -> Result<Transaction, NotUndone> {
        let writing = self.writing.as_ref().ok_or(LedgerFault::Unknown)?;
        let (setup, cx) = (self.setup(), Cx::new());
        let known = writing.desk.ledger.get(id).await?;
        let known = known.ok_or(LedgerFault::Unknown)?;
        let refused = |why: String| NotUndone::Refused(why);
        let known = writing.desk.located(&setup, &cx, known).await;
        let back = inverse(&known).map_err(|why| refused(why.to_string()))?;
        let kind = back.order.kind.name();
        let resumed = Event::transaction_resumed(id.as_str(), Caller::OPERATOR, kind);
        if let Err(why) = self.log.append(resumed).await {
            return Err(refused(format!("it cannot be recorded: {why}")));
        }
        let orderer = Orderer {
            caller: Caller::OPERATOR.to_owned(),
            tool: "tx_undo",
            request_id: super::Begun::now().request_id.clone(),
            policy: Caller::OPERATOR.to_owned(),
        };
        let came = writing
            .desk
            .carry_out(&setup, &cx, orderer, back.order)
            .await;
        let work = came.map_err(|why| match why {
            NotBegun::Ledger(fault) => NotUndone::Ledger(fault),
            why => refused(why.words()),
        })?;
        self.record_end(&work.transaction).await;
        let ending = work.transaction.ending.as_ref();
        if ending.and_then(|end| end.code.as_deref()) == Some("last_copy") {
            return Err(refused(LAST_COPY.to_owned()));
        }
        Ok(work.transaction)
    }
}

impl<'a> Ctx<'a> {
    /// INVARIANT: nothing is changed by a process that has the ledger only to look at.
    ///
    /// Where the ledger is known to be away, neither a person nor a mail server is asked for nothing.
    fn writing(&self) -> Result<&'a Writing, Refusal> {
        let none = || Refusal::denied(Denial::of(Refused::TransactionsNotConfigured));
        let writing = self.gateway.writing.as_ref().ok_or_else(none)?;
        if writing.purpose == Purpose::Looking {
            return Err(Refusal::gated());
        }
        let present = writing.desk.ledger.present();
        present.map_err(|fault| Refusal::unwritten(&fault))?;
        Ok(writing)
    }

    /// To look at.
    pub(crate) fn ledger(&self) -> Result<&'a Ledger, Refusal> {
        match &self.gateway.writing {
            Some(writing) => Ok(&writing.desk.ledger),
            None if self.standing.writes == Writes::Allowed => Err(Refusal::denied(Denial::of(
                Refused::TransactionsNotConfigured,
            ))),
            // Where nothing may be changed and nothing ever was.
            None => Err(Refusal::no_such_transaction()),
        }
    }

    /// Whether this caller could put a change back itself.
    pub(crate) fn may_undo(&self) -> bool {
        self.standing.writes == Writes::Allowed
            && self
                .standing
                .toolsets
                .contains(&crate::tools::Toolset::Imap)
    }

    pub(crate) fn deletes(&self) -> Result<Deletes, Refusal> {
        Ok(self.writing()?.deletes)
    }

    /// A caller that sees nothing of messages where this one goes is not told its number there.
    pub(crate) fn shows_landing(&self) -> Landing {
        match floor(self.permit.scope_of_target()) >= Level::Metadata {
            true => Landing::Shown,
            false => Landing::Hidden,
        }
    }

    /// The same where only the change itself knows its target.
    pub(crate) fn shows_landing_of(&self, told: &Told) -> Landing {
        let change = told.transaction.as_ref();
        let target = change.and_then(|one| one.asked.target.as_ref());
        match target {
            Some(target) => self.shows_numbers_in(&target.account, &target.folder),
            None => Landing::Hidden,
        }
    }

    /// Whether its caller may know the number of any message there.
    pub(crate) fn shows_numbers_in(&self, account: &AccountId, folder: &FolderName) -> Landing {
        let policy = self.policy();
        let folder = policy.folder(account, folder);
        let open = folder.is_some_and(|folder| folder.floor() >= Level::Metadata);
        match open || policy.is_owner() {
            true => Landing::Shown,
            false => Landing::Hidden,
        }
    }

    /// The least that any message of the permitted folder has.
    pub(crate) fn least_visible_of_all(&self) -> Level {
        floor(self.permit.scope())
    }

    /// What became of the same request before, if it was made.
    pub(crate) async fn repeated(&self, key: Option<&Key>) -> Result<Option<Told>, Refusal> {
        let desk = &self.writing()?.desk;
        let Some(key) = key else { return Ok(None) };
        let caller = self.caller.as_str();
        match desk.repeated(self.setup, self.cx, caller, key).await {
            Ok(None) => Ok(None),
            Ok(Some(work)) => self.told_again(work).await.map(Some),
            Err(why) => Err(refused(why)),
        }
    }

    /// What is told of a change that this call did not make, from what is written of it.
    pub(crate) async fn told_again(&self, work: Work) -> Result<Told, Refusal> {
        let asked = &work.transaction.asked;
        let known = |id: Option<&AccountId>| id.and_then(|id| self.setup.account(id));
        let here = known(asked.source.as_ref().map(|at| &at.account));
        let there = known(asked.target.as_ref().map(|to| &to.account));
        let since = match &work.transaction.undone_by {
            Some(back) => Some(since(back, self.own_transaction(back).await?.as_ref())),
            None => None,
        };
        let told = tell(work, |fault, step| {
            let account = match step.is_at_the_target() {
                true => there.or(here),
                false => here.or(there),
            };
            match account {
                Some(account) => self.mail_of(account).sort(Halt::Fault(fault)),
                None => Ok(unexplained(&fault)),
            }
        })?;
        Ok(Told { since, ..told })
    }

    /// Whether this key stands for something already, whatever it is.
    ///
    /// INVARIANT: who is not asked because of it cannot have it begun anew. What is still under way may give its key
    /// back, so its end is waited for.
    pub(crate) async fn was_begun(&self, key: Option<&Key>) -> Result<bool, Refusal> {
        let desk = &self.writing()?.desk;
        let Some(key) = key else { return Ok(false) };
        let caller = self.caller.as_str();
        let found = desk.ledger.by_key(caller, &key.name).await;
        let found = found.map_err(|fault| Refusal::unwritten(&fault))?;
        match found.map(|found| found.state) {
            None => Ok(false),
            Some(State::Done | State::Undone | State::NeedsOperator) => Ok(true),
            Some(State::Open) => {
                let waited = desk.repeated(self.setup, self.cx, caller, key).await;
                let ended = waited.ok().flatten().map(|work| work.transaction);
                Ok(ended.is_some_and(|one| one.state != State::Open && one.asked.key.is_some()))
            }
        }
    }

    /// Writes it down and does it.
    pub(crate) async fn change(
        &self,
        mail: &GuardedMail<'a>,
        tool: &'static str,
        order: Order,
    ) -> Result<Told, Refusal> {
        let desk = &self.writing()?.desk;
        let orderer = Orderer {
            caller: self.caller.as_str().to_owned(),
            tool,
            request_id: self.request_id.to_owned(),
            policy: stated(&self.standing.policy),
        };
        let there = order.target.as_ref().map(|target| target.account.clone());
        let there = there.and_then(|account| self.setup.account(&account));
        if let Some(told) = self.confirm_places(mail, &order).await? {
            return Ok(told);
        }
        match desk.carry_out(self.setup, self.cx, orderer, order).await {
            Ok(work) => tell(work, |fault, step| match there {
                Some(there) if step.is_at_the_target() => mail.sort_at(there, fault),
                _ => mail.sort(Halt::Fault(fault)),
            }),
            Err(why) => self.not_begun(mail, there, why),
        }
    }

    /// INVARIANT: nothing is changed in a folder of a pattern that the server does not list.
    async fn confirm_places(
        &self,
        mail: &GuardedMail<'a>,
        order: &Order,
    ) -> Result<Option<Told>, Refusal> {
        let source = order.source.as_ref().map(|at| (&at.account, &at.folder));
        let target = order.target.as_ref().map(|to| (&to.account, &to.folder));
        for (id, folder) in source.into_iter().chain(target) {
            let Some(account) = self.setup.account(id) else {
                continue;
            };
            if let Err(fault) = mail.confirm_at(account, folder).await {
                return Ok(Some(Told::not_begun(mail.sort_at(account, fault)?)));
            }
        }
        Ok(None)
    }

    fn not_begun(
        &self,
        mail: &GuardedMail<'a>,
        there: Option<&'a crate::setup::Account>,
        why: NotBegun,
    ) -> Result<Told, Refusal> {
        let issue = match (why, there) {
            (NotBegun::AtTarget(fault), Some(there)) => mail.sort_at(there, fault)?,
            (NotBegun::Fault(fault) | NotBegun::AtTarget(fault), _) => {
                mail.sort(Halt::Fault(fault))?
            }
            (why, _) => return Err(refused(why)),
        };
        Ok(Told::not_begun(issue))
    }

    /// Leave to do something that only turned out to be wanted on the way.
    pub(crate) fn permitted(&self, ask: &policy::Ask) -> Result<Permit, Refusal> {
        super::decide(self.setup, self.standing, ask)
    }

    /// INVARIANT: the last copy of a message is never removed, and whoever does not see the original is not told
    /// whether it is there.
    pub(crate) async fn check_remains(&self, back: &Inverse) -> Result<Option<Issue>, Refusal> {
        let Some(at) = &back.remains else {
            return Ok(None);
        };
        let last = || cannot(LAST_COPY);
        let ask = policy::Ask::Messages {
            account: at.account.clone(),
            folder: at.folder.clone(),
            level: Level::Metadata,
        };
        let permit = self.permitted(&ask).map_err(|_| last())?;
        let mail = self.mail_under(&permit).map_err(|_| last())?;
        match mail.is_there(at).await {
            Ok(Some(seen)) if is_kept(&seen, back.order.size) => Ok(None),
            Err(Halt::Fault(fault)) if !crate::transact::is_verdict(fault.kind) => {
                mail.sort(Halt::Fault(fault)).map(Some)
            }
            _ => Err(last()),
        }
    }

    /// With what its store tells only when it is asked.
    pub(crate) async fn located(&self, done: Transaction) -> Transaction {
        match &self.gateway.writing {
            Some(writing) => writing.desk.located(self.setup, self.cx, done).await,
            None => done,
        }
    }

    /// The inverse of one of the caller's own changes, if there is one.
    pub(crate) async fn inverse(&self, id: &TransactionId) -> Result<Inverse, Refusal> {
        let found = self.own_transaction(id).await?;
        let done = found.ok_or_else(Refusal::no_such_transaction)?;
        let done = self.located(done).await;
        inverse(&done).map_err(|why| cannot(&why.to_string()))
    }

    /// INVARIANT: another's transaction answers as one that does not exist.
    pub(crate) async fn own_transaction(
        &self,
        id: &TransactionId,
    ) -> Result<Option<Transaction>, Refusal> {
        let found = self.ledger()?.get(id).await;
        let found = found.map_err(|fault| Refusal::unwritten(&fault))?;
        Ok(found.filter(|one| self.is_own(one)))
    }

    fn is_own(&self, transaction: &Transaction) -> bool {
        let own = transaction.asked.caller == self.caller.as_str();
        own && is_here(self.setup, transaction)
    }

    /// By the name that the caller gave to its request.
    pub(crate) async fn own_transaction_by_key(
        &self,
        key: &str,
    ) -> Result<Option<Transaction>, Refusal> {
        let found = self.ledger()?.by_key(self.caller.as_str(), key).await;
        let found = found.map_err(|fault| Refusal::unwritten(&fault))?;
        Ok(found.filter(|one| self.is_own(one)))
    }
}

/// What became of it later. How far the undoing of others is, its caller is not told.
fn since(back: &TransactionId, known: Option<&Transaction>) -> String {
    match known.map(|known| known.state) {
        Some(State::Done) => format!(", and undone since by {back}"),
        Some(_) => format!(", and being undone by {back}"),
        None => format!(", and undone since or being undone by {back}"),
    }
}

fn floor(scope: Scope<'_>) -> Level {
    match scope {
        Scope::Alike(level) => level,
        Scope::Each(folder) => folder.floor(),
    }
}

fn refused(why: NotBegun) -> Refusal {
    match why {
        NotBegun::Conflict => Refusal::new(
            Code::Conflict,
            "this idempotency_key stands for another request; take a new one for a new request",
        ),
        NotBegun::Leaving => Refusal::new(Code::Conflict, why.words()),
        NotBegun::Undoing => cannot(&why.words()),
        NotBegun::Ledger(fault) => Refusal::unwritten(&fault),
        NotBegun::Fault(_) | NotBegun::AtTarget(_) => Refusal::new(Code::Internal, why.words()),
    }
}

/// Where it is not known any more which server it was.
fn unexplained(fault: &Fault) -> Issue {
    let code = crate::trouble::code(fault.kind);
    Issue {
        code: code.to_owned(),
        stage: fault.stage.name().to_owned(),
        message: format!("the mail server could not do it ({code})"),
        retryable: fault.kind.retryable(),
        uid: None,
        message_id: None,
    }
}

const LAST_COPY: &str = "the original is no longer where it was, or about to go, or not open to you, so this may be the \
    last copy; remove it by hand if it is not";

fn cannot(why: &str) -> Refusal {
    Refusal::new(Code::Conflict, format!("this cannot be undone: {why}"))
}

/// A policy by its name, and by a digest of what it says.
fn stated(policy: &Policy) -> String {
    let digest = Sha256::digest(format!("{policy:?}").as_bytes());
    let short: String = digest
        .iter()
        .take(8)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    format!("{}@{short}", policy.name())
}
