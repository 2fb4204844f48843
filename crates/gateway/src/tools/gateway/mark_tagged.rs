//! `mark_tagged`: keywords of a message, and its star.

use audit::Summary;
use ledger::Mark;
use mail::{Fault, FaultKind, Flag, Level, Stage};
use policy::{Ask, Capabilities, Capability, Deed};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::marked::Marked;
use super::which::{Number, Which};
use crate::Refusal;
use crate::args::{Account, Flags, IdempotencyKey, Mailbox};
use crate::envelope::Done;
use crate::pipeline::Ctx;
use crate::tools::changing::{self, Wish};
use crate::tools::{Annotations, Tool, Toolset, Use};
use crate::transact::Told;

pub(crate) struct MarkTagged;

#[derive(Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    account_id: Account,
    folder: Mailbox,
    /// From search.
    uid: Number,
    /// From the same search: refused when the folder was rebuilt since.
    uidvalidity: Option<Number>,
    /// Keywords such as $Forwarded, and \Flagged.
    tags: Flags,
    /// replace takes off all others.
    #[schemars(extend("default" = "add"))]
    action: Option<Action>,
    idempotency_key: Option<IdempotencyKey>,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Action {
    Add,
    Remove,
    Replace,
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

    /// What is left out is `add`.
    fn in_full(&self) -> Self {
        Self {
            action: Some(self.action.unwrap_or(Action::Add)),
            ..self.clone()
        }
    }

    fn marks(&self, action: Action, current: &[Flag]) -> Vec<Mark> {
        let tags = self.tags.0.iter();
        let wanted = |flag: &Flag| tags.clone().any(|tag| tag.is(flag.as_str()));
        match action {
            Action::Add => tags.cloned().map(Mark::Set).collect(),
            Action::Remove => tags.cloned().map(Mark::Take).collect(),
            Action::Replace => {
                let others = current.iter().filter(|flag| is_tag(flag) && !wanted(flag));
                let taken = others.cloned().map(Mark::Take);
                tags.clone().cloned().map(Mark::Set).chain(taken).collect()
            }
        }
    }
}

/// INVARIANT: `\Seen` has a tool of its own, and all other system flags are nobody's, however they are spelled.
fn is_tag(flag: &Flag) -> bool {
    Capability::for_flag(flag) == Some(Capability::MarkTagged)
}

impl Tool for MarkTagged {
    const NAME: &'static str = "mark_tagged";
    const TITLE: &'static str = "Tag a message";
    const SUMMARY: &'static str = "Add, remove or replace the keywords of one message, and \\Flagged (its star). replace \
        takes off all others. System flags are refused. Needs mark_tagged in its folder.";
    const TOOLSET: Toolset = Toolset::Gateway;
    const ANNOTATIONS: Annotations = Annotations::MARKS;
    const LEAST: Level = Level::Metadata;
    const USE: Use = Use::Any(&[Capability::MarkTagged]);
    const UNTRUSTED: &'static [&'static str] = &["flags"];
    type Args = Args;
    type Reply = Marked;

    fn ask(args: &Args) -> Result<Ask, Refusal> {
        let needed = Capabilities::NONE.with(Capability::MarkTagged);
        Ok(args.which().changing(Deed::Mark(needed)))
    }

    fn kept(args: &Args) -> Summary {
        args.which().kept().flags("tags", "keywords", &args.tags.0)
    }

    async fn run(ctx: Ctx<'_>, args: Args) -> Result<Done<Marked>, Refusal> {
        if !args.tags.0.iter().all(is_tag) {
            return Err(Refusal::not_a_tag());
        }
        let which = args.which();
        let action = args.action.unwrap_or(Action::Add);
        let what = match action {
            Action::Add => "add tags",
            Action::Remove => "remove tags",
            Action::Replace => "replace tags",
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
        let mut current = Vec::new();
        if action == Action::Replace {
            let generation = Some(at.uidvalidity);
            let seen = mail.summary(&at.folder, generation, at.uid, Level::Metadata);
            match seen.await {
                Ok((_, summary, _)) if summary.flags.is_some() => {
                    current = summary.flags.unwrap_or_default();
                }
                // INVARIANT: flags that were not told are not no flags.
                Ok(_) => {
                    let fault = Fault::new(FaultKind::Protocol, Stage::Fetch);
                    let told = Told::not_begun(mail.sort(fault.into())?);
                    return Ok(Marked::of(what, &at, &told));
                }
                Err(halt) => {
                    let told = Told::not_begun(mail.sort(halt)?);
                    return Ok(Marked::of(what, &at, &told));
                }
            }
        }
        let wish = Wish::marks(args.marks(action, &current), key);
        let told = changing::change::<Self>(&ctx, &mail, &at, wish).await?;
        Ok(Marked::of(what, &at, &told))
    }
}
