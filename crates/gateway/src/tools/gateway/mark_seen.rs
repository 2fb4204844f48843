//! `mark_seen`: marks a message as read, or as unread.

use audit::Summary;
use ledger::Mark;
use mail::{Flag, Level};
use policy::{Ask, Capabilities, Capability, Deed};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::marked::Marked;
use super::which::{Number, Which};
use crate::Refusal;
use crate::args::{Account, IdempotencyKey, Mailbox};
use crate::envelope::Done;
use crate::pipeline::Ctx;
use crate::tools::changing::{self, Wish};
use crate::tools::{Annotations, Tool, Toolset, Use};
use crate::transact::Told;

pub(crate) struct MarkSeen;

#[derive(Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    account_id: Account,
    folder: Mailbox,
    /// From search.
    uid: Number,
    /// From the same search: refused when the folder was rebuilt since.
    uidvalidity: Option<Number>,
    /// false marks it as unread.
    #[schemars(extend("default" = true))]
    seen: Option<bool>,
    idempotency_key: Option<IdempotencyKey>,
}

impl Args {
    fn which(&self) -> Which {
        Which {
            account_id: self.account_id.clone(),
            folder: self.folder.clone(),
            uid: self.uid,
            uidvalidity: self.uidvalidity,
        }
    }

    /// What is left out is `true`.
    fn in_full(&self) -> Self {
        Self {
            seen: Some(self.seen.unwrap_or(true)),
            ..self.clone()
        }
    }
}

impl Tool for MarkSeen {
    const NAME: &'static str = "mark_seen";
    const TITLE: &'static str = "Mark as read or unread";
    const SUMMARY: &'static str =
        "Mark one message as read, or with seen: false as unread. Needs mark_seen in its folder.";
    const TOOLSET: Toolset = Toolset::Gateway;
    const ANNOTATIONS: Annotations = Annotations::MARKS;
    const LEAST: Level = Level::Metadata;
    const USE: Use = Use::Any(&[Capability::MarkSeen]);
    const UNTRUSTED: &'static [&'static str] = &["flags"];
    type Args = Args;
    type Reply = Marked;

    fn ask(args: &Args) -> Result<Ask, Refusal> {
        let needed = Capabilities::NONE.with(Capability::MarkSeen);
        Ok(args.which().changing(Deed::Mark(needed)))
    }

    fn kept(args: &Args) -> Summary {
        args.which().kept().switch_if("seen", args.seen)
    }

    async fn run(ctx: Ctx<'_>, args: Args) -> Result<Done<Marked>, Refusal> {
        let which = args.which();
        let (flag, seen) = (Flag::new("\\Seen"), args.seen.unwrap_or(true));
        let (mark, what) = match seen {
            true => (Mark::Set(flag), "mark as read"),
            false => (Mark::Take(flag), "mark as unread"),
        };
        let mail = ctx.mail()?;
        let key = changing::key::<Self>(args.idempotency_key.as_ref(), &args.in_full());
        if let Some(told) = ctx.repeated(key.as_ref()).await? {
            return Ok(Marked::again(what, &which, &told));
        }
        let located = mail.locate(&which.folder.0, which.generation(), which.uid());
        let at = match located.await {
            Ok(at) => at,
            Err(halt) => {
                let told = Told::not_begun(mail.sort(halt)?);
                return Ok(Marked::again(what, &which, &told));
            }
        };
        let wish = Wish::marks(vec![mark], key);
        let told = changing::change::<Self>(&ctx, &mail, &at, wish).await?;
        Ok(Marked::of(what, &at, &told))
    }
}
