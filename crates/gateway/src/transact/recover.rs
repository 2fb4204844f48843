//! What a crash, a cut or a dead server left open is brought to its end, in the background and with patience.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use ledger::{Answered, Claimed, LedgerFault, State, StepState, TransactionId};
use mail::Cx;

use super::Desk;
use super::drive::Manner;
use super::plan::{self, Next};
use super::work::Work;
use crate::setup::Setup;

/// Other processes may leave something behind that nobody is told of.
const LOOK_AGAIN: Duration = Duration::from_secs(20);
/// What ended longer ago is forgotten: it can be undone, and asked for by its key, for so long.
const REMEMBERED: SignedDuration = SignedDuration::from_hours(24 * 30);

impl Desk {
    /// What is due, and from now on this process's to end.
    pub(crate) async fn due(
        &self,
        setup: &Setup,
        most: usize,
    ) -> Result<Vec<Claimed>, LedgerFault> {
        // INVARIANT: what was begun in another mailbox, under whatever name, is not this process's business.
        self.ledger.serve(&setup.homes());
        self.ledger.claim_due(Timestamp::now(), most).await
    }

    /// As far as it goes now.
    pub(crate) async fn resume(
        &self,
        setup: &Setup,
        cx: &Cx,
        claimed: Claimed,
    ) -> Result<Work, LedgerFault> {
        let (work, written) = self.go_on(setup, cx, claimed).await;
        written.map(|()| work)
    }

    /// The same, and whether how far it went could be written down.
    pub(super) async fn go_on(
        &self,
        setup: &Setup,
        cx: &Cx,
        claimed: Claimed,
    ) -> (Work, Result<(), LedgerFault>) {
        let mut work = Work::resumed(claimed.transaction);
        let manner = match claimed.answered {
            Answered::Yes => Manner::Recovering,
            Answered::Unknown => Manner::Clearing,
        };
        let lease = &claimed.lease;
        let written = self.drive(setup, cx, manner, lease, &mut work).await;
        (work, written)
    }

    /// Until something may be due.
    pub(crate) async fn rest(&self) {
        let next = self.ledger.next_due().await.ok().flatten();
        let wait = next.map(|next| next.duration_since(Timestamp::now()));
        let wait = wait.map(|wait| Duration::try_from(wait).unwrap_or(Duration::ZERO));
        let wait = wait
            .unwrap_or(LOOK_AGAIN)
            .clamp(Duration::from_millis(50), LOOK_AGAIN);
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            () = self.left_open.notified() => {}
        }
    }

    pub(crate) async fn forget_the_old(&self) -> Result<u64, LedgerFault> {
        self.ledger
            .forget_before(Timestamp::now() - REMEMBERED)
            .await
    }

    /// By the operator's will, whatever was said of it.
    pub(crate) async fn take_up_again(
        &self,
        setup: &Setup,
        cx: &Cx,
        id: &TransactionId,
    ) -> Result<Work, LedgerFault> {
        let claimed = self.ledger.reopen(id).await?;
        let mut work = Work::resumed(claimed.transaction);
        work.transaction.state = State::Open;
        if let Next::End(State::NeedsOperator, _) = plan::next(&work.transaction) {
            // What could not be done may have been meanwhile, or can be now.
            let stuck = plan::stuck(&work.transaction);
            work.step(stuck, StepState::Intended, None);
        }
        let (manner, lease) = (Manner::Insisting, &claimed.lease);
        self.drive(setup, cx, manner, lease, &mut work).await?;
        Ok(work)
    }
}
