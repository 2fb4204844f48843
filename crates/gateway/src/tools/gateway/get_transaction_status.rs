//! `get_transaction_status`: what became of one of the caller's own changes.
//!
//! It reads the ledger and nothing else, so it is there also while nothing may be changed.

use audit::Summary;
use content::Changes;
use ledger::{Mark, State, Transaction};
use mail::{Flag, Level};
use policy::{Ask, Capability};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Refusal;
use crate::args::{IdempotencyKey, Transaction as Id};
use crate::envelope::{Done, Reply};
use crate::pipeline::Ctx;
use crate::schema::plain_object;
use crate::tools::changing::{self, Landing};
use crate::tools::{Annotations, Tool, Toolset, Use, shown};
use crate::transact::{self, Work};
use crate::trouble::NextAction;

pub(crate) struct GetTransactionStatus;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    transaction_id: Option<Id>,
    /// Of the call.
    idempotency_key: Option<IdempotencyKey>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Shown {
    transaction_id: String,
    kind: &'static str,
    /// done, undone (nothing is changed), unknown (it is being found out), or needs_operator.
    transaction_state: &'static str,
    /// Since when it is so.
    since: String,
    change: Change,
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
    undoable: bool,
    /// How it can be put back, or why not.
    #[serde(skip_serializing_if = "Option::is_none")]
    undo: Option<String>,
    /// What a person has to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    operator_action: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_action: Option<NextAction>,
}

// What is in them is told by their names, and every client would load it.
plain_object!(Change, Step);

#[derive(Serialize)]
struct Step {
    name: &'static str,
    state: &'static str,
}

/// What was to be changed: which message, and where to or how.
#[derive(Default, Serialize)]
struct Change {
    #[serde(skip_serializing_if = "Option::is_none")]
    message_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    target_account_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    target_mailbox: Option<String>,
    /// Where it lies since, where that is open to you.
    #[serde(skip_serializing_if = "Option::is_none")]
    new_message_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    add_flags: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    remove_flags: Option<Vec<String>>,
    /// The transaction that this one undoes.
    #[serde(skip_serializing_if = "Option::is_none")]
    undoes: Option<String>,
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
    const SUMMARY: &'static str = "What became of one of your own changes, by transaction_id or idempotency_key: done, undone \
        (nothing is changed), unknown (ask again later) or needs_operator (tell the user operator_action). Also what was \
        changed, and how to undo it.";
    const TOOLSET: Toolset = Toolset::Gateway;
    const ALSO: Option<Toolset> = Some(Toolset::Imap);
    const ANNOTATIONS: Annotations = Annotations::LOCAL;
    const LEAST: Level = Level::None;
    const USE: Use = Use::Any(&Capability::ALL);
    const UNTRUSTED: &'static [&'static str] = &["change"];
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
        let found = ctx.located(found).await;
        let told = ctx.told_again(Work::resumed(found.clone())).await;
        let (words, next_action) = match &told {
            Ok(told) => (told.words(), changing::next(told)),
            Err(refusal) => (format!("not done: {refusal}; nothing is changed"), None),
        };
        let mut changes = Changes::default();
        let data = Shown {
            next_action,
            ..Shown::of(&ctx, &found, &mut changes)
        };
        let summary = format!("{}: {words}", data.kind);
        let mut done = Done::new(summary, data);
        done.warnings = shown::warnings(changes);
        Ok(done)
    }
}

impl Shown {
    fn of(ctx: &Ctx<'_>, found: &Transaction, changes: &mut Changes) -> Self {
        let id = &found.id;
        let back = transact::inverse(found);
        let each = found.steps.iter().map(|step| Step {
            name: step.name.name(),
            state: step.state.name(),
        });
        let last = found.steps.last().map(|step| step.at);
        let since = found.ended.or(last).unwrap_or(found.began);
        Self {
            transaction_id: id.to_string(),
            kind: found.asked.kind.name(),
            transaction_state: transact::state(found),
            since: since.to_string(),
            change: Change::of(ctx, found, changes),
            steps: each.collect(),
            began: found.began.to_string(),
            ended: found.ended.map(|ended| ended.to_string()),
            code: found.ending.as_ref().and_then(|ending| ending.code.clone()),
            undone_by: found.undone_by.as_ref().map(ToString::to_string),
            undoable: back.is_ok(),
            undo: match (back, found.state) {
                (Ok(_), _) if ctx.may_undo() => {
                    Some("undo_transaction with this transaction_id puts it back".to_owned())
                }
                (Ok(_), _) => Some(format!(
                    "whoever runs this puts it back with `mailwarden tx undo {id}`"
                )),
                (Err(why), State::Done) => Some(format!("it cannot be undone: {why}")),
                (Err(_), _) => None,
            },
            operator_action: (found.state == State::NeedsOperator).then(|| {
                format!(
                    "look at `mailwarden tx show {id}` and into the mailboxes, then have it tried again with `mailwarden \
                     tx retry {id}`, or say how it came out with `mailwarden tx resolve {id} --as done` (or undone)"
                )
            }),
            next_action: None,
        }
    }
}

impl Change {
    /// INVARIANT: a caller is told no number that the change itself did not tell it: an undoing begins where the message
    /// came to lie.
    fn of(ctx: &Ctx<'_>, found: &Transaction, changes: &mut Changes) -> Self {
        let asked = &found.asked;
        let source = asked.source.as_ref().filter(|at| {
            let named_it = asked.undoes.is_none();
            named_it || ctx.shows_numbers_in(&at.account, &at.folder) == Landing::Shown
        });
        let target = asked.target.as_ref();
        let landed = target
            .filter(|to| ctx.shows_numbers_in(&to.account, &to.folder) == Landing::Shown)
            .and_then(|_| transact::landed(found));
        let mut flags = |wanted: fn(&Mark) -> Option<&Flag>| {
            let some: Vec<Flag> = asked.marks.iter().filter_map(wanted).cloned().collect();
            shown::flags(
                Some(&some)
                    .filter(|some| !some.is_empty())
                    .map(Vec::as_slice),
                changes,
            )
        };
        Self {
            add_flags: flags(|mark| match mark {
                Mark::Set(flag) => Some(flag),
                Mark::Take(_) => None,
            }),
            remove_flags: flags(|mark| match mark {
                Mark::Take(flag) => Some(flag),
                Mark::Set(_) => None,
            }),
            message_id: source.map(ToString::to_string),
            target_account_id: target.map(|to| to.account.to_string()),
            target_mailbox: target.map(|to| content::name(to.folder.as_str(), changes)),
            new_message_id: landed.map(|at| at.to_string()),
            undoes: asked.undoes.as_ref().map(ToString::to_string),
        }
    }
}
