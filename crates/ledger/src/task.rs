//! One request to the writer: what it does, what came of it, and who waits for that.

use tokio::sync::oneshot;

use crate::shared::Locked;
use crate::writer::{Desk, Job};
use crate::{Begun, Claimed, Lease, LedgerFault};

type Answer<T> = Result<T, LedgerFault>;

pub(crate) struct Task<T, F> {
    work: Option<F>,
    outcome: Option<Answer<T>>,
    reply: oneshot::Sender<Answer<T>>,
}

/// Answers with which this process gets leases.
pub(crate) trait Leases {
    fn leases(&self) -> Vec<Lease>;
}

/// The answer, which comes when it is on disk.
pub(crate) struct Waiting<T>(oneshot::Receiver<Answer<T>>);

impl<T: Leases> Waiting<T> {
    pub(crate) fn new(answer: oneshot::Receiver<Answer<T>>) -> Self {
        Self(answer)
    }

    /// A caller who stops waiting gives back what it would have got.
    pub(crate) async fn received(self, release: &(dyn Fn(Lease) + Sync)) -> Answer<T> {
        let mut waiting = Unwanted {
            answer: self.0,
            release,
        };
        let answer = (&mut waiting.answer).await;
        answer.unwrap_or_else(|_| Err(gone()))
    }
}

struct Unwanted<'a, T: Leases> {
    answer: oneshot::Receiver<Answer<T>>,
    release: &'a (dyn Fn(Lease) + Sync),
}

impl<T: Leases> Drop for Unwanted<'_, T> {
    fn drop(&mut self) {
        self.answer.close();
        if let Ok(Ok(unwanted)) = self.answer.try_recv() {
            unwanted.leases().into_iter().for_each(self.release);
        }
    }
}

pub(crate) fn gone() -> LedgerFault {
    LedgerFault::Unwritable("its thread has ended; start the program again".to_owned())
}

impl<T, F> Task<T, F> {
    pub(crate) fn new(work: F) -> (Self, Waiting<T>) {
        let (reply, answer) = oneshot::channel();
        let task = Self {
            work: Some(work),
            outcome: None,
            reply,
        };
        (task, Waiting(answer))
    }
}

impl<T, F> Job for Task<T, F>
where
    T: Leases + Send,
    F: FnOnce(&Desk<'_>) -> Answer<T> + Send,
{
    fn run(&mut self, desk: &Desk<'_>) -> Result<(), LedgerFault> {
        let Some(work) = self.work.take() else {
            return Ok(());
        };
        let outcome = work(desk);
        let done = outcome.as_ref().map(|_| ()).map_err(Clone::clone);
        self.outcome = Some(outcome);
        done
    }

    fn answer(self: Box<Self>, written: Result<(), LedgerFault>) -> Vec<Lease> {
        let never = || Err(LedgerFault::Unwritable("it was not tried".to_owned()));
        // What went wrong with this one tells more than what became of all.
        let answer = match (self.outcome, written) {
            (None | Some(Ok(_)), Err(fault)) => Err(fault),
            (outcome, _) => outcome.unwrap_or_else(never),
        };
        match self.reply.send(answer) {
            Ok(()) | Err(Err(_)) => Vec::new(),
            Err(Ok(unwanted)) => unwanted.leases(),
        }
    }
}

impl Leases for Begun {
    fn leases(&self) -> Vec<Lease> {
        match self {
            Self::New(lease) => vec![lease.clone()],
            Self::Known(_) | Self::Conflict | Self::Leaving => Vec::new(),
        }
    }
}

impl Leases for Claimed {
    fn leases(&self) -> Vec<Lease> {
        vec![self.lease.clone()]
    }
}

impl Leases for Vec<Claimed> {
    fn leases(&self) -> Vec<Lease> {
        self.iter().map(|one| one.lease.clone()).collect()
    }
}

impl Leases for () {
    fn leases(&self) -> Vec<Lease> {
        Vec::new()
    }
}

impl Leases for u64 {
    fn leases(&self) -> Vec<Lease> {
        Vec::new()
    }
}

impl Leases for Vec<u8> {
    fn leases(&self) -> Vec<Lease> {
        Vec::new()
    }
}

impl Leases for Locked {
    fn leases(&self) -> Vec<Lease> {
        Vec::new()
    }
}
