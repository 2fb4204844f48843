//! The way of a look that the operator takes, who asks from the command line: decided, recorded and told like any call.

use std::sync::{Arc, Mutex};

use audit::{Ended, Summary};
use mail::Cx;
use policy::{Ask, Policy};

use super::{Begun, Ctx};
use crate::{Caller, Credential, Gateway, Proof, Refusal, Standing, recording};

/// What such a look is called in the audit log.
pub(crate) const POLICY_INSPECT: &str = "policy_inspect";

/// What the operator wants to see, and what the log keeps of it.
pub(crate) struct Look {
    pub ask: Ask,
    pub kept: Summary,
}

/// What was seen, and how many messages or folders that is.
pub(crate) struct Looked<R> {
    pub what: R,
    pub shown: usize,
}

impl Gateway {
    /// INVARIANT: the operator too gets at mail through a permit and an open entry, and is told what is recorded.
    pub(crate) async fn look<R>(
        &self,
        cx: &Cx,
        look: Look,
        work: impl AsyncFnOnce(Ctx<'_>) -> Result<Looked<R>, Refusal>,
    ) -> Result<R, Refusal> {
        let setup = self.setup();
        let caller = Caller::new(
            Caller::OPERATOR,
            format!("cli:{}", std::process::id()),
            Credential::default(),
        );
        let standing = Standing {
            id: Caller::OPERATOR.to_owned(),
            policy: Arc::new(Policy::owner()),
            toolsets: Vec::new(),
            proofs: vec![Proof::default()],
            writes: crate::Writes::Never,
            limits: Arc::default(),
        };
        let begun = Begun::by(&standing);
        let permit = standing.policy.decide(&look.ask);
        let permit = permit.map_err(Refusal::denied)?;
        let asked = recording::operators(&caller, &begun.request_id, look.kept, &permit);
        let opened = self.log.reading(asked).await;
        let entry = opened.map_err(|why| Refusal::unrecorded(&why))?;
        let verdict = Mutex::new(None);
        let ctx = Ctx {
            gateway: self,
            setup: &setup,
            standing: &standing,
            permit,
            verdict: &verdict,
            _entry: &entry,
            caller: &caller,
            request_id: &begun.request_id,
            cx,
            now: begun.now,
        };
        let outcome = work(ctx).await;
        let facts = begun.facts(cx);
        let ended = match &outcome {
            Ok(looked) => Ended {
                shown: u64::try_from(looked.shown).unwrap_or(u64::MAX),
                ..recording::ended("ok", &facts)
            },
            Err(refusal) => recording::refused(refusal, &facts, None),
        };
        // INVARIANT: what happened is durable before anybody is told.
        let receipt = entry.close(ended).await;
        receipt.map_err(|why| Refusal::unrecorded(&why))?;
        outcome.map(|looked| looked.what)
    }
}
