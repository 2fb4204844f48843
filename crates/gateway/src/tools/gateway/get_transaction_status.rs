//! `get_transaction_status`: what became of one of the caller's own changes.

use audit::Summary;
use ledger::{State, Transaction, TransactionId};
use mail::Level;
use policy::{Ask, Capability};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Refusal;
use crate::args::{IdempotencyKey, Transaction as Id};
use crate::envelope::{Done, Reply};
use crate::pipeline::Ctx;
use crate::tools::{Annotations, Tool, Toolset, Use};
use crate::transact;

pub(crate) struct GetTransactionStatus;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    transaction_id: Option<Id>,
    /// Of the call that made the change, where its answer never came.
    idempotency_key: Option<IdempotencyKey>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Shown {
    transaction_id: String,
    kind: &'static str,
    /// done, undone (nothing is changed), unknown (it is being found out), or needs_operator.
    transaction_state: &'static str,
    steps: Vec<Step>,
    began: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended: Option<String>,
    /// What went wrong, or was not kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<String>,
    /// The transaction that put it back, or is about to.
    #[serde(skip_serializing_if = "Option::is_none")]
    undone_by: Option<String>,
    /// Whether undo_transaction can put it back.
    undoable: bool,
    /// Why not.
    #[serde(skip_serializing_if = "Option::is_none")]
    not_undoable_because: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct Step {
    name: &'static str,
    state: &'static str,
}

impl Reply for Shown {
    fn shown(&self) -> usize {
        0
    }

    fn transaction(&self) -> Option<String> {
        Some(self.transaction_id.clone())
    }
}

impl Tool for GetTransactionStatus {
    const NAME: &'static str = "get_transaction_status";
    const TITLE: &'static str = "Ask what became of a change";
    const SUMMARY: &'static str = "What became of one of your own changes, by its transaction_id or by the idempotency_key \
        of the call: done, undone (nothing is changed), unknown (it is still being found out: ask again later) or \
        needs_operator (tell the user).";
    const TOOLSET: Toolset = Toolset::Gateway;
    const ALSO: Option<Toolset> = Some(Toolset::Imap);
    const ANNOTATIONS: Annotations = Annotations::LOCAL;
    const LEAST: Level = Level::None;
    const USE: Use = Use::Any(&Capability::ALL);
    const UNTRUSTED: &'static [&'static str] = &[];
    type Args = Args;
    type Reply = Shown;

    fn ask(args: &Args) -> Result<Ask, Refusal> {
        match (&args.transaction_id, &args.idempotency_key) {
            (Some(_), None) | (None, Some(_)) => Ok(Ask::Own),
            _ => Err(Refusal::invalid(
                "pass either transaction_id or idempotency_key",
            )),
        }
    }

    fn kept(args: &Args) -> Summary {
        match &args.transaction_id {
            Some(id) => Summary::new().transaction(id.0.as_str()),
            None => Summary::new(),
        }
    }

    async fn run(ctx: Ctx<'_>, args: Args) -> Result<Done<Shown>, Refusal> {
        let found = match (args.transaction_id, args.idempotency_key) {
            (Some(id), _) => ctx.own_transaction(&id.0).await?,
            (None, Some(key)) => ctx.own_transaction_by_key(&key.0).await?,
            (None, None) => None,
        };
        let found = found.ok_or_else(Refusal::no_such_transaction)?;
        let data = Shown::of(&found);
        let back = match &found.undone_by {
            Some(back) => since(back, ctx.own_transaction(back).await?.as_ref()),
            None => String::new(),
        };
        let summary = format!("{}: {}{back}", data.kind, data.transaction_state);
        Ok(Done::new(summary, data))
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

impl Shown {
    fn of(found: &Transaction) -> Self {
        let back = transact::inverse(found);
        let each = found.steps.iter().map(|step| Step {
            name: step.name.name(),
            state: step.state.name(),
        });
        let ending = found.ending.as_ref();
        Self {
            transaction_id: found.id.to_string(),
            kind: found.asked.kind.name(),
            transaction_state: transact::state(found),
            steps: each.collect(),
            began: found.began.to_string(),
            ended: found.ended.map(|ended| ended.to_string()),
            code: ending.and_then(|ending| ending.code.clone()),
            undone_by: found.undone_by.as_ref().map(ToString::to_string),
            undoable: back.is_ok(),
            not_undoable_because: match found.state {
                State::Done => back.err().map(|why| why.to_string()),
                _ => None,
            },
        }
    }
}
