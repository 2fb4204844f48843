//! Changes to mail, each a transaction: planned, written down, carried out, written down again.
//!
//! `plan` says what comes next, `drive` does it, `lookup` finds out what came of a step whose answer was lost, `stream`
//! takes messages from one account to another, `recover` goes on with what a crash left, `undo` knows the inverse and
//! `told` what a caller hears of it. `across`, `given_up`, `origin`, `withdrawal` and `thinning` are
//! parts of `drive`.

mod across;
mod drive;
mod given_up;
mod lookup;
mod origin;
mod plan;
mod recover;
mod stream;
mod thinning;
mod told;
mod undo;
mod withdrawal;
mod work;

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use audit::Log;
use bytes::Bytes;
use jiff::Timestamp;
use ledger::{
    Asked, Begun, Key, Kind, Known, Lease, Ledger, LedgerFault, Mark, Place, State, StepName,
    StepRecord, StepState, Transaction, TransactionId,
};
use mail::{
    AccountId, Cx, Digest, Fault, FaultKind, Horizon, Keeping, MailSource, MessageRef, Stage,
    Witness,
};
use tokio::sync::{Notify, RwLock, watch};

use crate::knowledge::lock;
use crate::setup::{Account, Setup};
use crate::trouble::code;

use drive::{Driver, Manner};

pub(crate) use drive::is_verdict;
pub(crate) use told::{Told, landed, state, tell};
pub(crate) use undo::{Inverse, inverse};
pub(crate) use withdrawal::is_kept;
pub(crate) use work::Work;

/// How long somebody who asks again waits for the first to come to its end.
const PATIENCE: Duration = Duration::from_secs(30);
/// Another process may be at it, which nobody is told of.
const LOOK_AGAIN: Duration = Duration::from_millis(250);

/// What all changes of a process share.
pub(crate) struct Desk {
    pub ledger: Ledger,
    log: Log,
    turns: Turns,
    /// How long a server may take to come to a command whose connection is gone.
    settle: Duration,
    /// Something was left for later.
    left_open: Notify,
    /// Counts what came to an end.
    ended: watch::Sender<u64>,
}

/// Who puts something into a folder, and who looks for it there.
#[derive(Default)]
struct Turns(Mutex<HashMap<Place, Arc<RwLock<()>>>>);

impl Turns {
    fn of(&self, place: &Place) -> Arc<RwLock<()>> {
        let mut turns = lock(&self.0);
        // Nobody waits for those.
        turns.retain(|_, turn| Arc::strong_count(turn) > 1);
        Arc::clone(turns.entry(place.clone()).or_default())
    }
}

/// A lease, given back however the work under it ends: also by a fall.
struct Held<'a> {
    ledger: &'a Ledger,
    lease: &'a Lease,
    ended: Ended,
}

/// Whether what was written last has ended a lease.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Ended {
    NotYet,
    ByWriting,
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        if self.ended == Ended::NotYet {
            self.ledger.release(self.lease);
        }
    }
}

/// What a caller wants done, judged and permitted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Order {
    pub kind: Kind,
    pub source: Option<MessageRef>,
    /// What the message was judged to be: nothing is done to another.
    pub size: Option<u64>,
    /// And what it says.
    pub digest: Option<Digest>,
    pub target: Option<Place>,
    pub marks: Vec<Mark>,
    /// Of a draft.
    pub content: Option<Bytes>,
    pub key: Option<Key>,
    pub undoes: Option<TransactionId>,
}

/// Who wants it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Orderer {
    pub caller: String,
    pub tool: &'static str,
    pub request_id: String,
    pub policy: String,
}

/// Why nothing was begun.
#[derive(Debug)]
pub(crate) enum NotBegun {
    Fault(Fault),
    /// Where the message was to go.
    AtTarget(Fault),
    Ledger(LedgerFault),
    /// The key stands for another request.
    Conflict,
    /// Another change is taking the message away.
    Leaving,
    /// Somebody else is undoing it.
    Undoing,
}

impl NotBegun {
    /// For the operator.
    pub(crate) fn words(&self) -> String {
        match self {
            Self::Fault(fault) if drive::is_verdict(fault.kind) => format!(
                "the message is no longer where it was put ({}); look for it, and put it back by hand",
                code(fault.kind)
            ),
            Self::AtTarget(fault) if drive::is_verdict(fault.kind) => format!(
                "the mailbox that it would go back to cannot be used ({}); look with `mailwarden check`, or put it back by \
                 hand",
                code(fault.kind)
            ),
            Self::Fault(fault) | Self::AtTarget(fault) => format!(
                "the mail server could not be asked ({}); look with `mailwarden check`, then try again",
                code(fault.kind)
            ),
            Self::Ledger(fault) => fault.to_string(),
            Self::Conflict => "the key stands for another request".to_owned(),
            Self::Leaving => {
                "another change that is not at its end is moving or deleting this message; ask again later".to_owned()
            }
            Self::Undoing => "it is being undone already; look at `mailwarden tx list`".to_owned(),
        }
    }
}

impl From<LedgerFault> for NotBegun {
    fn from(fault: LedgerFault) -> Self {
        Self::Ledger(fault)
    }
}

impl Desk {
    pub(crate) fn new(ledger: Ledger, log: Log, settle: Duration) -> Self {
        Self {
            ledger,
            log,
            settle,
            turns: Turns::default(),
            left_open: Notify::new(),
            ended: watch::Sender::new(0),
        }
    }

    /// What became of the same request before, once that is known.
    pub(crate) async fn repeated(
        &self,
        setup: &Setup,
        cx: &Cx,
        caller: &str,
        key: &Key,
    ) -> Result<Option<Work>, NotBegun> {
        let Some(found) = self.ledger.by_key(caller, &key.name).await? else {
            return Ok(None);
        };
        let same = found
            .asked
            .key
            .as_ref()
            .is_some_and(|known| known.arguments == key.arguments);
        match same && is_here(setup, &found) {
            true => self.await_again(setup, cx, found).await.map(Some),
            false => Err(NotBegun::Conflict),
        }
    }

    /// The end of what an earlier call has begun.
    async fn await_again(
        &self,
        setup: &Setup,
        cx: &Cx,
        found: Transaction,
    ) -> Result<Work, NotBegun> {
        let mut work = self.await_end(setup, cx, found).await?;
        work.repeated = true;
        Ok(work)
    }

    /// Goes on with it if nobody else does.
    async fn await_end(
        &self,
        setup: &Setup,
        cx: &Cx,
        mut found: Transaction,
    ) -> Result<Work, NotBegun> {
        let until = tokio::time::Instant::now() + PATIENCE;
        let mut ended = self.ended.subscribe();
        while found.state == State::Open && tokio::time::Instant::now() < until {
            match self.ledger.claim(&found.id).await {
                Ok(claimed) => {
                    let (mut work, written) = self.go_on(setup, cx, claimed).await;
                    unless_written(&mut work, written);
                    return Ok(work);
                }
                // Somebody else is at it, or has just ended it.
                Err(LedgerFault::Leased | LedgerFault::Over) => {}
                Err(fault) => return Err(fault.into()),
            }
            let _ = tokio::time::timeout(LOOK_AGAIN, ended.changed()).await;
            let now = self.ledger.get(&found.id).await?;
            found = now.ok_or(NotBegun::Ledger(LedgerFault::Unknown))?;
        }
        Ok(Work::resumed(found))
    }

    /// Writes it down and brings it to its end, or as far as it goes now.
    pub(crate) async fn carry_out(
        &self,
        setup: &Setup,
        cx: &Cx,
        orderer: Orderer,
        order: Order,
    ) -> Result<Work, NotBegun> {
        let (horizon, seen) = tokio::join!(
            self.horizon(setup, cx, &order),
            self.first_look(setup, cx, &order)
        );
        let (horizon, end_of_all) = horizon.map_err(NotBegun::AtTarget)?;
        let (witness, beginning) = seen.map_err(NotBegun::Fault)?;
        let store_id = self.name_of(setup, cx, &order).await;
        let known = Known {
            end_of_all,
            store_id: store_id.map_err(NotBegun::Fault)?,
            ..known(&order, witness)
        };
        let caller = orderer.caller.clone();
        let first = first_step(&order);
        let home = |account: &AccountId| Some(setup.account(account)?.home().to_owned());
        let asked = Asked {
            source_home: order.source.as_ref().and_then(|at| home(&at.account)),
            target_home: order.target.as_ref().and_then(|to| home(&to.account)),
            kind: order.kind,
            caller: orderer.caller,
            tool: orderer.tool.to_owned(),
            request_id: orderer.request_id,
            policy: orderer.policy,
            source: order.source,
            target: order.target,
            horizon,
            marks: order.marks,
            key: order.key,
            undoes: order.undoes,
        };
        let content = order.content.clone();
        let begun = self
            .ledger
            .begin(asked.clone(), known.clone(), first, content)
            .await?;
        let (lease, mut work) = match begun {
            Begun::New(lease) => {
                let begun = transaction(lease.id().clone(), asked, known, first);
                (lease, Work::begun(begun, order.content.or(beginning)))
            }
            Begun::Known(found) if found.asked.caller != caller => return Err(NotBegun::Undoing),
            Begun::Known(found) if !is_here(setup, &found) => return Err(NotBegun::Conflict),
            Begun::Known(found) if asked.key.is_some() && found.asked.key == asked.key => {
                return self.await_again(setup, cx, *found).await;
            }
            Begun::Known(found) => return self.await_end(setup, cx, *found).await,
            Begun::Conflict => return Err(NotBegun::Conflict),
            Begun::Leaving => return Err(NotBegun::Leaving),
        };
        let manner = Manner::Called;
        let written = self.drive(setup, cx, manner, &lease, &mut work).await;
        unless_written(&mut work, written);
        Ok(work)
    }

    /// For another time.
    pub(crate) async fn put_off(&self, lease: &Lease) {
        let later = Timestamp::now() + jiff::SignedDuration::from_secs(10);
        let notes = vec![ledger::Note::Later(later)];
        if self.ledger.write(lease, notes).await.is_err() {
            self.ledger.release(lease);
        }
    }

    async fn drive(
        &self,
        setup: &Setup,
        cx: &Cx,
        manner: Manner,
        lease: &Lease,
        work: &mut Work,
    ) -> Result<(), LedgerFault> {
        let mut held = Held {
            ledger: &self.ledger,
            lease,
            ended: Ended::NotYet,
        };
        let driver = Driver {
            desk: self,
            setup,
            cx,
            manner,
            lease,
        };
        let came = driver.run(work).await;
        if came.is_ok() {
            held.ended = Ended::ByWriting;
        }
        drop(held);
        if came.is_err() {
            // Whoever comes to it finds out how far it got.
            self.left_open.notify_one();
        }
        self.ended
            .send_modify(|count| *count = count.wrapping_add(1));
        came
    }

    /// Where the target ends, and where the folder does that holds all, if something is added there.
    async fn horizon(
        &self,
        setup: &Setup,
        cx: &Cx,
        order: &Order,
    ) -> Result<(Option<Horizon>, Option<Horizon>), Fault> {
        let Some(target) = &order.target else {
            return Ok((None, None));
        };
        let source = setup.account(&target.account).map(Account::source);
        let source = source.ok_or(Fault::new(FaultKind::NoSuchTarget, Stage::Start))?;
        let horizon = match source.horizon(cx, &target.folder).await {
            Err(fault) if fault.kind == FaultKind::NoSuchFolder => Err(Fault {
                kind: FaultKind::NoSuchTarget,
                ..fault
            }),
            horizon => horizon,
        };
        let horizon = horizon?;
        let end_of_all = match first_step(order) {
            StepName::Append => source.end_of_all(cx).await?,
            _ => None,
        };
        Ok((Some(horizon), end_of_all))
    }

    /// The same, with the number that its store did not tell when it came to lie there, as far as it is to be found.
    pub(crate) async fn located(
        &self,
        setup: &Setup,
        cx: &Cx,
        mut done: Transaction,
    ) -> Transaction {
        let known = &done.known;
        let Some((id, place)) = known.store_id.zip(done.asked.target.as_ref()) else {
            return done;
        };
        if done.state != State::Done || known.landed.is_some() || !is_here(setup, &done) {
            return done;
        }
        if let Some(account) = setup.account(&place.account)
            && let Ok(landed) = account.source().standing(cx, &place.folder, id).await
        {
            done.known.landed = landed;
        }
        done
    }

    /// What its store calls a message that another folder of its account is to hold, or none: whatever becomes of this process,
    /// it is found again by that.
    async fn name_of(&self, setup: &Setup, cx: &Cx, order: &Order) -> Result<Option<u64>, Fault> {
        let stays = |at: &&MessageRef| match &order.target {
            Some(target) => target.account == at.account,
            None => order.kind == Kind::Delete && order.undoes.is_none(),
        };
        let Some(at) = order.source.as_ref().filter(stays) else {
            return Ok(None);
        };
        let source = setup.account(&at.account).map(Account::source);
        let labels = |source: &&dyn MailSource| source.keeping() == Some(Keeping::Labels);
        let Some(source) = source.filter(labels) else {
            return Ok(None);
        };
        let seen = source.look(cx, at, 0).await?;
        Ok(seen.and_then(|(seen, _)| seen.store_id))
    }

    /// What goes to another account is read anyway; then it is known before it is written down.
    async fn first_look(
        &self,
        setup: &Setup,
        cx: &Cx,
        order: &Order,
    ) -> Result<(Option<Witness>, Option<Bytes>), Fault> {
        let crosses = |at: &&MessageRef| {
            let target = order.target.as_ref();
            target.is_some_and(|target| target.account != at.account)
        };
        let Some(at) = order.source.as_ref().filter(crosses) else {
            return Ok((None, None));
        };
        let absent = || Fault::new(FaultKind::NoSuchMessage, Stage::Fetch);
        let account = setup.account(&at.account).ok_or_else(absent)?;
        let source = account.source();
        let at = source.anchored(cx, at).await?;
        let looked = source.read(cx, &at, u64::from(stream::PIECE)).await?;
        let (witness, beginning) = looked.ok_or_else(absent)?;
        match order.size.is_none() || order.size == witness.size {
            true => Ok((Some(witness), Some(beginning))),
            false => Err(Fault::new(FaultKind::AnotherMessage, Stage::Fetch)),
        }
    }
}

/// INVARIANT: a transaction is about mailboxes, and accounts are only their names: those of another process, or of
/// yesterday, may stand for others.
pub(crate) fn is_here(setup: &Setup, transaction: &Transaction) -> bool {
    let asked = &transaction.asked;
    let is_same = |account: Option<&AccountId>, home: Option<&String>| match (account, home) {
        (Some(account), Some(home)) => setup.account(account).map(Account::home) == Some(home),
        _ => true,
    };
    let source = asked.source.as_ref().map(|at| &at.account);
    let target = asked.target.as_ref().map(|to| &to.account);
    is_same(source, asked.source_home.as_ref()) && is_same(target, asked.target_home.as_ref())
}

fn known(order: &Order, witness: Option<Witness>) -> Known {
    let witness = witness.unwrap_or_default();
    let digest = order.content.as_deref().map(stream::of_bytes);
    Known {
        size: digest.map(|all| all.octets).or(witness.size).or(order.size),
        digest: digest.or(order.digest).or(witness.digest),
        message_id: witness.message_id,
        flags: witness.flags,
        arrived: witness.arrived.or(digest.map(|_| Timestamp::now())),
        // Only of what goes to another account anything is known by now.
        source_id: witness.store_id,
        ..Known::default()
    }
}

fn transaction(id: TransactionId, asked: Asked, known: Known, first: StepName) -> Transaction {
    let now = Timestamp::now();
    Transaction {
        id,
        asked,
        known,
        steps: vec![StepRecord {
            name: first,
            state: StepState::Intended,
            at: now,
            why: None,
        }],
        state: State::Open,
        ending: None,
        began: now,
        ended: None,
        attempts: 0,
        next_try: None,
        undone_by: None,
    }
}

/// As `plan` says of a transaction without any step.
fn first_step(order: &Order) -> StepName {
    plan::first(
        order.kind,
        order.source.as_ref().map(|at| &at.account),
        order.target.as_ref().map(|target| &target.account),
    )
}

/// INVARIANT: what is not written down is not said to be done, and not to be left undone either.
fn unless_written(work: &mut Work, written: Result<(), LedgerFault>) {
    if let Err(fault) = written {
        tracing::error!(%fault, id = %work.transaction.id, "how a change came out cannot be written down");
        work.forget_the_end();
    }
}

#[cfg(test)]
pub(crate) mod tests;
