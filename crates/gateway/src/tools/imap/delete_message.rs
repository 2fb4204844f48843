//! `imap_delete_message`: into the trash where there is one, else for good.

use audit::Summary;
use ledger::{Kind, Place};
use mail::{Fault, Level};
use policy::{Ask, Deed};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Refusal;
use crate::args::{Account, IdempotencyKey, MessageId, Yes, same_account};
use crate::envelope::{Done, Reply, Status};
use crate::guarded_mail::Halt;
use crate::pipeline::{Ctx, Deletes};
use crate::tools::changing::{self, Came, Wish};
use crate::tools::{Annotations, Tool, Toolset, Use};
use crate::transact::Told;
use crate::trouble::Issue;

pub(crate) struct DeleteMessage;

#[derive(Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    account_id: Option<Account>,
    message_id: MessageId,
    /// true, once the user has agreed.
    confirm: Yes,
    idempotency_key: Option<IdempotencyKey>,
}

impl Args {
    /// What is left out is the message's own account.
    fn in_full(&self) -> Self {
        Self {
            account_id: Some(Account(self.message_id.0.account.clone())),
            ..self.clone()
        }
    }
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Deleted {
    #[serde(flatten)]
    came: Came,
    account_id: String,
    mailbox: String,
    message_id: String,
    /// Where it went; absent where it is gone for good.
    #[serde(skip_serializing_if = "Option::is_none")]
    trash_mailbox: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    new_message_id: Option<String>,
    steps_attempted: usize,
    steps_succeeded: usize,
}

impl Reply for Deleted {
    fn status(&self) -> Status {
        self.came.status
    }

    fn issues(&self) -> &[Issue] {
        &self.came.issues
    }

    fn shown(&self) -> usize {
        0
    }

    fn transaction(&self) -> Option<String> {
        self.came.transaction_id.clone()
    }
}

impl Tool for DeleteMessage {
    const NAME: &'static str = "imap_delete_message";
    const TITLE: &'static str = "Delete a message";
    const SUMMARY: &'static str = "Delete one message: it goes to the trash, and undo_transaction takes it back; what is in \
        the trash already, or has none to go to, is gone for good. confirm must be true: ask the user first.";
    const TOOLSET: Toolset = Toolset::Imap;
    const ANNOTATIONS: Annotations = Annotations::DELETES;
    const LEAST: Level = Level::Metadata;
    const USE: Use = Use::Owner;
    const UNTRUSTED: &'static [&'static str] = &[];
    type Args = Args;
    type Reply = Deleted;

    fn ask(args: &Args) -> Result<Ask, Refusal> {
        let at = &args.message_id.0;
        same_account(args.account_id.as_ref(), at)?;
        Ok(Ask::Change {
            account: at.account.clone(),
            folder: at.folder.clone(),
            deed: Deed::Delete,
        })
    }

    fn kept(args: &Args) -> Summary {
        let at = &args.message_id.0;
        Summary::new().account(&at.account).message(at)
    }

    async fn question(ctx: &Ctx<'_>, args: &Args) -> Result<Option<String>, Refusal> {
        // What cannot be done for want of an account is not asked about.
        ctx.mail()?;
        let key = changing::key::<Self>(args.idempotency_key.as_ref(), &args.in_full());
        if ctx.was_begun(key.as_ref()).await? {
            return Ok(None);
        }
        let becomes = match trash(ctx, args).await? {
            Ok(Some(trash)) => format!(
                "It goes to '{}' and can be taken back from there.",
                changing::said(trash.folder.as_str())
            ),
            Ok(None) => "It is gone for good: it cannot be taken back.".to_owned(),
            Err(_) => "It goes to the trash if there is one, else it is gone for good.".to_owned(),
        };
        let message = changing::in_question(&args.message_id.0);
        Ok(Some(format!("Delete {message}? {becomes}")))
    }

    async fn run(ctx: Ctx<'_>, args: Args) -> Result<Done<Deleted>, Refusal> {
        let at = args.message_id.0.clone();
        let mail = ctx.mail()?;
        let key = changing::key::<Self>(args.idempotency_key.as_ref(), &args.in_full());
        let told = match ctx.repeated(key.as_ref()).await? {
            Some(told) => told,
            None => match trash(&ctx, &args).await? {
                Ok(target) => {
                    let wish = Wish {
                        kind: Kind::Delete,
                        target,
                        marks: Vec::new(),
                        key,
                    };
                    changing::change::<Self>(&ctx, &mail, &at, wish).await?
                }
                Err(fault) => Told::not_begun(mail.sort(Halt::Fault(fault))?),
            },
        };
        Ok(deleted(&args, &told))
    }
}

/// Where it goes: nowhere, if it is in the trash already or there is none.
async fn trash(ctx: &Ctx<'_>, args: &Args) -> Result<Result<Option<Place>, Fault>, Refusal> {
    let at = &args.message_id.0;
    let account = match ctx.deletes()? {
        Deletes::ToTrash => ctx.account(&at.account),
        Deletes::ForGood => None,
    };
    let Some(account) = account else {
        return Ok(Ok(None));
    };
    let place = |folder| Place {
        account: at.account.clone(),
        folder,
    };
    let found = account.trash(ctx.cx).await;
    Ok(found.map(|trash| trash.filter(|trash| *trash != at.folder).map(place)))
}

fn deleted(args: &Args, told: &Told) -> Done<Deleted> {
    let at = &args.message_id.0;
    let target = told
        .transaction
        .as_ref()
        .and_then(|one| one.asked.target.as_ref());
    let data = Deleted {
        came: Came::of(told),
        account_id: at.account.to_string(),
        mailbox: at.folder.to_string(),
        message_id: at.to_string(),
        trash_mailbox: target.map(|target| target.folder.to_string()),
        new_message_id: told.landed().map(|at| at.to_string()),
        steps_attempted: told.attempted(),
        steps_succeeded: told.succeeded(),
    };
    let what = match (&told.transaction, target) {
        (_, Some(target)) => format!("delete (to {})", target.folder),
        (Some(_), None) => "delete for good".to_owned(),
        // Where it would have gone may not even be known.
        (None, None) => "delete".to_owned(),
    };
    Done::new(format!("{what}: {}", told.words()), data)
}
