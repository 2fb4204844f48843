//! `undo_transaction`: puts back one of the caller's own changes.

use audit::Summary;
use mail::Level;
use policy::{Ask, Capability, Deed};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Refusal;
use crate::args::{IdempotencyKey, Transaction};
use crate::envelope::{Done, Reply, Status};
use crate::pipeline::Ctx;
use crate::tools::changing::{self, Came};
use crate::tools::{Annotations, Tool, Toolset, Use};
use crate::transact::Told;
use crate::trouble::Issue;

pub(crate) struct UndoTransaction;

#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    transaction_id: Transaction,
    idempotency_key: Option<IdempotencyKey>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct PutBack {
    #[serde(flatten)]
    came: Came,
    undone_transaction_id: String,
    /// Where the message is again, if it was moved and that is open to you.
    #[serde(skip_serializing_if = "Option::is_none")]
    new_message_id: Option<String>,
}

impl Reply for PutBack {
    fn status(&self) -> Status {
        self.came.status
    }

    fn issues(&self) -> &[Issue] {
        &self.came.issues
    }

    fn shown(&self) -> usize {
        usize::from(self.new_message_id.is_some())
    }

    fn transaction(&self) -> Option<String> {
        self.came.transaction_id.clone()
    }
}

impl Tool for UndoTransaction {
    const NAME: &'static str = "undo_transaction";
    const TITLE: &'static str = "Undo a change";
    const SUMMARY: &'static str = "Put back one of your own changes: flags are restored, a moved or deleted message goes \
        back to where it was, a copy or draft is removed.";
    const TOOLSET: Toolset = Toolset::Imap;
    const ANNOTATIONS: Annotations = Annotations::MOVES;
    const LEAST: Level = Level::None;
    const USE: Use = Use::Any(&Capability::ALL);
    const UNTRUSTED: &'static [&'static str] = &[];
    type Args = Args;
    type Reply = PutBack;

    fn ask(_: &Args) -> Result<Ask, Refusal> {
        Ok(Ask::Own)
    }

    fn kept(args: &Args) -> Summary {
        Summary::new().transaction(args.transaction_id.0.as_str())
    }

    async fn run(ctx: Ctx<'_>, args: Args) -> Result<Done<PutBack>, Refusal> {
        let key = changing::key::<Self>(args.idempotency_key.as_ref(), &args);
        if let Some(told) = ctx.repeated(key.as_ref()).await? {
            return Ok(put_back(&ctx, &args, &told));
        }
        let back = ctx.inverse(&args.transaction_id.0).await?;
        let permit = ctx.permitted(&back.ask)?;
        if let Some(issue) = ctx.check_remains(&back).await? {
            return Ok(put_back(&ctx, &args, &Told::not_begun(issue)));
        }
        let mail = ctx.mail_under(&permit)?;
        let mut order = back.order;
        order.key = key;
        if let Some(at) = &order.source
            && matches!(permit.deed(), Some(Deed::Mark(_) | Deed::Move(_)))
        {
            let target = order.target.as_ref();
            let issue = match changing::beside(&ctx, &mail, at, target, &order.marks).await? {
                Ok(beside) => match mail.judge_change(at, &beside).await {
                    Ok(_) => None,
                    Err(halt) => Some(mail.sort(halt)?),
                },
                Err(issue) => Some(issue),
            };
            if let Some(issue) = issue {
                return Ok(put_back(&ctx, &args, &Told::not_begun(issue)));
            }
        }
        let told = ctx.change(&mail, Self::NAME, order).await?;
        Ok(put_back(&ctx, &args, &told))
    }
}

fn put_back(ctx: &Ctx<'_>, args: &Args, told: &Told) -> Done<PutBack> {
    let landed = ctx.shows_landing_of(told).of(told);
    let data = PutBack {
        came: Came::of(told),
        undone_transaction_id: args.transaction_id.0.to_string(),
        new_message_id: landed.map(|at| at.to_string()),
    };
    Done::new(format!("undo: {}", told.words()), data)
}
