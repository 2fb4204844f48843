//! `imap_update_message_flags`: sets and takes flags of a message.

use audit::Summary;
use content::Changes;
use ledger::Mark;
use mail::{Flag, Level};
use policy::{Ask, Capabilities, Capability, Deed, Refused};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Refusal;
use crate::args::{Account, Flags, IdempotencyKey, MessageId, Yes, same_account};
use crate::envelope::{Done, Reply, Status};
use crate::pipeline::Ctx;
use crate::tools::changing::{self, Came, Wish};
use crate::tools::{Annotations, Tool, Toolset, Use, shown};
use crate::transact::Told;
use crate::trouble::Issue;

pub(crate) struct UpdateMessageFlags;

#[derive(Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    account_id: Option<Account>,
    message_id: MessageId,
    add_flags: Option<Flags>,
    remove_flags: Option<Flags>,
    /// Needed for \Deleted.
    confirm: Option<Yes>,
    idempotency_key: Option<IdempotencyKey>,
}

impl Args {
    fn add(&self) -> &[Flag] {
        self.add_flags.as_ref().map_or(&[], |flags| &flags.0)
    }

    fn remove(&self) -> &[Flag] {
        self.remove_flags.as_ref().map_or(&[], |flags| &flags.0)
    }

    /// A message so flagged goes when a mail program clears its mailbox.
    fn deletes(&self) -> bool {
        self.add().iter().any(|flag| flag.is("\\Deleted"))
    }

    /// What is left out is the message's own account; that somebody agreed is no part of what is asked for.
    fn in_full(&self) -> Self {
        Self {
            account_id: Some(Account(self.message_id.0.account.clone())),
            confirm: None,
            ..self.clone()
        }
    }
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Updated {
    #[serde(flatten)]
    came: Came,
    account_id: String,
    message_id: String,
    /// Null where they are not known.
    #[schemars(schema_with = "list_or_null")]
    flags: Option<Vec<String>>,
    requested_add_flags: Vec<String>,
    requested_remove_flags: Vec<String>,
    applied_add_flags: bool,
    applied_remove_flags: bool,
}

/// What it is, if it is anything: a schema without a type lets null pass, and strict hosts see no union.
fn list_or_null(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({ "items": { "type": "string" } })
}

impl Reply for Updated {
    fn status(&self) -> Status {
        self.came.status
    }

    fn issues(&self) -> &[Issue] {
        &self.came.issues
    }

    fn shown(&self) -> usize {
        usize::from(self.flags.is_some())
    }

    fn transaction(&self) -> Option<String> {
        self.came.transaction_id.clone()
    }
}

impl Tool for UpdateMessageFlags {
    const NAME: &'static str = "imap_update_message_flags";
    const TITLE: &'static str = "Set or take flags";
    const SUMMARY: &'static str = "Add or remove flags of one message: \\Seen, \\Flagged, \\Answered, \\Draft, \\Deleted, \
        or keywords such as $Forwarded. All of them or none. Adding \\Deleted is deleting: confirm must be true, ask the \
        user first.";
    const TOOLSET: Toolset = Toolset::Imap;
    /// By `\Deleted` messages are lost, so hosts may well ask before it.
    const ANNOTATIONS: Annotations = Annotations {
        destructive: true,
        ..Annotations::MARKS
    };
    const LEAST: Level = Level::Metadata;
    const USE: Use = Use::Any(&[Capability::MarkSeen, Capability::MarkTagged]);
    const UNTRUSTED: &'static [&'static str] = &["flags"];
    type Args = Args;
    type Reply = Updated;

    fn ask(args: &Args) -> Result<Ask, Refusal> {
        let at = &args.message_id.0;
        same_account(args.account_id.as_ref(), at)?;
        if args.add().is_empty() && args.remove().is_empty() {
            return Err(Refusal::invalid("pass add_flags, remove_flags, or both"));
        }
        let both = |flag: &&Flag| args.remove().iter().any(|one| one.is(flag.as_str()));
        if let Some(flag) = args.add().iter().find(both) {
            let message = format!("{} is both added and removed", flag.as_str());
            return Err(Refusal::argument("remove_flags", message));
        }
        let mut all = args.add().iter().chain(args.remove());
        if all.any(|flag| flag.is("\\Recent")) {
            return Err(Refusal::invalid("\\Recent is the server's own to set"));
        }
        Ok(Ask::Change {
            account: at.account.clone(),
            folder: at.folder.clone(),
            deed: Deed::Mark(needed(args.add().iter().chain(args.remove()))),
        })
    }

    fn kept(args: &Args) -> Summary {
        let at = &args.message_id.0;
        Summary::new()
            .account(&at.account)
            .message(at)
            .flags("add_flags", "add_keywords", args.add())
            .flags("remove_flags", "remove_keywords", args.remove())
    }

    async fn question(ctx: &Ctx<'_>, args: &Args) -> Result<Option<String>, Refusal> {
        if !args.deletes() {
            return Ok(None);
        }
        // What would be refused anyway is not asked about.
        check(ctx, args)?;
        ctx.mail()?;
        let key = changing::key::<Self>(args.idempotency_key.as_ref(), &args.in_full());
        if ctx.was_begun(key.as_ref()).await? {
            return Ok(None);
        }
        Ok(Some(format!(
            "Flag {} as \\Deleted? It is gone for good when a mail program clears the mailbox; until then the flag can be \
             taken off again.",
            changing::in_question(&args.message_id.0),
        )))
    }

    async fn run(ctx: Ctx<'_>, args: Args) -> Result<Done<Updated>, Refusal> {
        let at = args.message_id.0.clone();
        check(&ctx, &args)?;
        let mail = ctx.mail()?;
        let key = changing::key::<Self>(args.idempotency_key.as_ref(), &args.in_full());
        let told = match ctx.repeated(key.as_ref()).await? {
            Some(told) => told,
            None => {
                let set = args.add().iter().cloned().map(Mark::Set);
                let take = args.remove().iter().cloned().map(Mark::Take);
                let wish = Wish::marks(set.chain(take).collect(), key);
                changing::change::<Self>(&ctx, &mail, &at, wish).await?
            }
        };
        Ok(updated(&args, &told))
    }
}

/// Flags that no capability gives are the owner's alone, and whoever deletes has to say that it is agreed to.
fn check(ctx: &Ctx<'_>, args: &Args) -> Result<(), Refusal> {
    let mut all = args.add().iter().chain(args.remove());
    if !ctx.policy().is_owner() && all.any(|flag| Capability::for_flag(flag).is_none()) {
        let denial = policy::Denial::of(Refused::ForbiddenSystemFlag);
        return Err(Refusal::denied(denial));
    }
    match (args.deletes(), args.confirm) {
        (true, None) => Err(Refusal::argument(
            "confirm",
            "adding \\Deleted deletes the message; ask the user, then pass confirm: true",
        )),
        _ => Ok(()),
    }
}

/// What it takes; reserved flags take nothing here, and are refused to all but the owner.
fn needed<'f>(flags: impl Iterator<Item = &'f Flag>) -> Capabilities {
    flags.filter_map(Capability::for_flag).collect()
}

fn updated(args: &Args, told: &Told) -> Done<Updated> {
    let spelled = |flags: &[Flag]| flags.iter().map(|flag| flag.as_str().to_owned()).collect();
    let known = told.transaction.as_ref().map(|one| &one.known);
    let after = known.and_then(|known| known.flags_after.as_deref());
    let mut changes = Changes::default();
    let done = told.is_done();
    let data = Updated {
        came: Came::of(told),
        account_id: args.message_id.0.account.to_string(),
        message_id: args.message_id.0.to_string(),
        flags: shown::flags(after.filter(|_| done), &mut changes),
        requested_add_flags: spelled(args.add()),
        requested_remove_flags: spelled(args.remove()),
        applied_add_flags: done && !args.add().is_empty(),
        applied_remove_flags: done && !args.remove().is_empty(),
    };
    let mut what = Vec::new();
    if !args.add().is_empty() {
        what.push(format!("add {}", changing::names(args.add())));
    }
    if !args.remove().is_empty() {
        what.push(format!("remove {}", changing::names(args.remove())));
    }
    let summary = format!("{}: {}", what.join(" and "), told.words());
    let mut done = Done::new(summary, data);
    done.warnings = shown::warnings(changes);
    done
}
