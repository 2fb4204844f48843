//! `imap_copy_message`: another copy of a message, in the same account or in another one.

use audit::Summary;
use ledger::Kind;
use mail::Level;
use policy::{Ask, Capability, Deed, Target};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::transferred::Copied;
use crate::Refusal;
use crate::args::{Account, IdempotencyKey, Mailbox, MessageId, same_account};
use crate::envelope::Done;
use crate::pipeline::Ctx;
use crate::tools::changing::{self, Wish};
use crate::tools::{Annotations, Tool, Toolset, Use};

pub(crate) struct CopyMessage;

#[derive(Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// Of the message.
    account_id: Option<Account>,
    message_id: MessageId,
    destination_mailbox: Mailbox,
    /// The message's own account if left out.
    destination_account_id: Option<Account>,
    idempotency_key: Option<IdempotencyKey>,
}

impl Args {
    fn target(&self) -> Target {
        let own = &self.message_id.0.account;
        let account = self.destination_account_id.as_ref();
        Target {
            account: account.map_or(own, |account| &account.0).clone(),
            folder: self.destination_mailbox.0.clone(),
        }
    }

    /// What is left out is the message's own account.
    fn in_full(&self) -> Self {
        Self {
            account_id: Some(Account(self.message_id.0.account.clone())),
            destination_account_id: Some(Account(self.target().account)),
            ..self.clone()
        }
    }
}

impl Tool for CopyMessage {
    const NAME: &'static str = "imap_copy_message";
    const TITLE: &'static str = "Copy a message";
    const SUMMARY: &'static str = "Copy one message to another mailbox, of the same or of another account, with its flags \
        and its date. new_message_id names the copy.";
    const TOOLSET: Toolset = Toolset::Imap;
    const ANNOTATIONS: Annotations = Annotations::MOVES;
    const LEAST: Level = Level::Metadata;
    const USE: Use = Use::Any(&[Capability::AcceptIncoming]);
    const UNTRUSTED: &'static [&'static str] = &[];
    type Args = Args;
    type Reply = Copied;

    fn ask(args: &Args) -> Result<Ask, Refusal> {
        let at = &args.message_id.0;
        same_account(args.account_id.as_ref(), at)?;
        let target = args.target();
        changing::elsewhere((&at.account, &at.folder), &target, "destination_mailbox")?;
        Ok(Ask::Change {
            account: at.account.clone(),
            folder: at.folder.clone(),
            deed: Deed::Copy(target),
        })
    }

    fn kept(args: &Args) -> Summary {
        super::transferred::kept(&args.message_id.0, &args.target())
    }

    async fn run(ctx: Ctx<'_>, args: Args) -> Result<Done<Copied>, Refusal> {
        let (at, target) = (args.message_id.0.clone(), args.target());
        let mail = ctx.mail()?;
        let key = changing::key::<Self>(args.idempotency_key.as_ref(), &args.in_full());
        let told = match ctx.repeated(key.as_ref()).await? {
            Some(told) => told,
            None => {
                let wish = Wish::takes(Kind::Copy, &target, key);
                changing::change::<Self>(&ctx, &mail, &at, wish).await?
            }
        };
        let summary = format!("copy to {}: {}", target.folder, told.words());
        let shows = ctx.shows_landing();
        let data = Copied::of(&at, &target, &told, shows);
        Ok(Done::new(summary, data))
    }
}
