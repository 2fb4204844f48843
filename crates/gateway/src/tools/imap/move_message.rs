//! `imap_move_message`: takes a message to another mailbox of its account.

use audit::Summary;
use ledger::Kind;
use mail::Level;
use policy::{Ask, Capability, Deed, Target};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::transferred::Moved;
use crate::Refusal;
use crate::args::{Account, IdempotencyKey, Mailbox, MessageId, same_account};
use crate::envelope::Done;
use crate::pipeline::Ctx;
use crate::tools::changing::{self, Wish};
use crate::tools::{Annotations, Tool, Toolset, Use};

pub(crate) struct MoveMessage;

#[derive(Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    account_id: Option<Account>,
    message_id: MessageId,
    destination_mailbox: Mailbox,
    idempotency_key: Option<IdempotencyKey>,
}

impl Args {
    fn target(&self) -> Target {
        Target {
            account: self.message_id.0.account.clone(),
            folder: self.destination_mailbox.0.clone(),
        }
    }

    /// What is left out is the message's own account.
    fn in_full(&self) -> Self {
        Self {
            account_id: Some(Account(self.message_id.0.account.clone())),
            ..self.clone()
        }
    }
}

impl Tool for MoveMessage {
    const NAME: &'static str = "imap_move_message";
    const TITLE: &'static str = "Move a message";
    const SUMMARY: &'static str =
        "Move one message to another mailbox of its account. new_message_id names it there.";
    const TOOLSET: Toolset = Toolset::Imap;
    const ANNOTATIONS: Annotations = Annotations::MOVES;
    const LEAST: Level = Level::Metadata;
    const USE: Use = Use::All(&[Capability::MoveOut, Capability::AcceptIncoming]);
    const UNTRUSTED: &'static [&'static str] = &[];
    type Args = Args;
    type Reply = Moved;

    fn ask(args: &Args) -> Result<Ask, Refusal> {
        let at = &args.message_id.0;
        same_account(args.account_id.as_ref(), at)?;
        let target = args.target();
        changing::elsewhere((&at.account, &at.folder), &target, "destination_mailbox")?;
        Ok(Ask::Change {
            account: at.account.clone(),
            folder: at.folder.clone(),
            deed: Deed::Move(target),
        })
    }

    fn kept(args: &Args) -> Summary {
        super::transferred::kept(&args.message_id.0, &args.target())
    }

    async fn run(ctx: Ctx<'_>, args: Args) -> Result<Done<Moved>, Refusal> {
        let (at, target) = (args.message_id.0.clone(), args.target());
        let mail = ctx.mail()?;
        let key = changing::key::<Self>(args.idempotency_key.as_ref(), &args.in_full());
        let told = match ctx.repeated(key.as_ref()).await? {
            Some(told) => told,
            None => {
                let wish = Wish::takes(Kind::Move, &target, key);
                changing::change::<Self>(&ctx, &mail, &at, wish).await?
            }
        };
        let summary = format!("move to {}: {}", target.folder, told.words());
        let shows = ctx.shows_landing();
        let data = Moved::of(&at, &target, &told, shows);
        Ok(Done::new(summary, data))
    }
}
