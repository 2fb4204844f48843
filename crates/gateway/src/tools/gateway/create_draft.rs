//! `create_draft`: a new message in a folder, for a person to look at and send.

use audit::{Seen, Summary};
use bytes::Bytes;
use content::Draft;
use jiff::Timestamp;
use ledger::{Kind, Place};
use mail::{AccountId, FolderName, Level};
use policy::{Ask, Capability, Deed};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::args::{
    Account, Address, Addresses, HeaderId, IdempotencyKey, Letter, Line, Mailbox, Rfc822,
};
use crate::envelope::{Done, Reply, Status};
use crate::pipeline::Ctx;
use crate::tools::changing::{self, Came};
use crate::tools::{Annotations, Tool, Toolset, Use};
use crate::transact::{Order, Told};
use crate::trouble::Issue;
use crate::{Code, Refusal};

pub(crate) struct CreateDraft;

#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    account_id: Account,
    folder: Mailbox,
    from: Option<Address>,
    to: Option<Addresses>,
    cc: Option<Addresses>,
    bcc: Option<Addresses>,
    subject: Option<Line>,
    /// Plain text.
    #[schemars(required)]
    body: Option<Letter>,
    /// The Message-ID of the message that it answers.
    in_reply_to: Option<HeaderId>,
    idempotency_key: Option<IdempotencyKey>,
    /// A whole message in place of the fields above; accepted and not listed.
    #[schemars(skip)]
    rfc822: Option<Rfc822>,
}

impl Args {
    /// Either a whole message, or the fields of one.
    fn check(&self) -> Result<(), Refusal> {
        let has_fields = self.from.is_some()
            || self.to.is_some()
            || self.cc.is_some()
            || self.bcc.is_some()
            || self.subject.is_some()
            || self.body.is_some()
            || self.in_reply_to.is_some();
        match self.rfc822 {
            Some(_) if has_fields => Err(Refusal::argument(
                "rfc822",
                "rfc822 is a whole message; leave out from, to, cc, bcc, subject, body and in_reply_to",
            )),
            None if self.body.is_none() => Err(Refusal::argument("body", "body is required")),
            _ => Ok(()),
        }
    }

    /// The octets of the draft. `id` is its Message-ID, unless the caller gave one.
    fn octets(&self, id: &str, written: Timestamp) -> Vec<u8> {
        match &self.rfc822 {
            Some(message) => message.0.octets(id, written),
            None => content::draft(&self.draft(), id, written),
        }
    }

    fn draft(&self) -> Draft<'_> {
        Draft {
            from: self.from.as_ref().map(|from| from.0.as_str()),
            to: each(self.to.as_ref()),
            cc: each(self.cc.as_ref()),
            bcc: each(self.bcc.as_ref()),
            subject: self.subject.as_ref().map(|subject| subject.0.as_str()),
            text: self.body.as_ref().map_or("", |body| &body.0),
            in_reply_to: self.in_reply_to.as_ref().map(|id| id.0.as_str()),
        }
    }
}

fn each(addresses: Option<&Addresses>) -> Vec<&str> {
    let each = addresses.into_iter().flat_map(|all| &all.0);
    each.map(|one| one.0.as_str()).collect()
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Drafted {
    #[serde(flatten)]
    came: Came,
    account_id: String,
    folder: String,
    /// Its number there, where that is open to you.
    #[serde(skip_serializing_if = "Option::is_none")]
    uid: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    uidvalidity: Option<u32>,
}

impl Reply for Drafted {
    fn status(&self) -> Status {
        self.came.status
    }

    fn issues(&self) -> &[Issue] {
        &self.came.issues
    }

    fn shown(&self) -> usize {
        usize::from(self.uid.is_some())
    }

    fn seen(&self) -> Option<Seen> {
        Some(Seen {
            uidvalidity: self.uidvalidity?,
            uids: vec![self.uid?],
        })
    }

    fn transaction(&self) -> Option<String> {
        self.came.transaction_id.clone()
    }
}

impl Tool for CreateDraft {
    const NAME: &'static str = "create_draft";
    const TITLE: &'static str = "Write a draft";
    const SUMMARY: &'static str = "Put a draft into a folder, for the user to look at and send; nothing is sent. Needs \
        draft_append in that folder. Pass an idempotency_key to be able to ask again without a second draft.";
    const TOOLSET: Toolset = Toolset::Gateway;
    const ANNOTATIONS: Annotations = Annotations::MOVES;
    const LEAST: Level = Level::None;
    const USE: Use = Use::Any(&[Capability::DraftAppend]);
    const UNTRUSTED: &'static [&'static str] = &[];
    type Args = Args;
    type Reply = Drafted;

    fn ask(args: &Args) -> Result<Ask, Refusal> {
        args.check()?;
        Ok(Ask::Change {
            account: args.account_id.0.clone(),
            folder: args.folder.0.clone(),
            deed: Deed::Draft,
        })
    }

    fn kept(args: &Args) -> Summary {
        let count = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
        let kept = Summary::new()
            .account(&args.account_id.0)
            .folder(&args.folder.0);
        if let Some(message) = &args.rfc822 {
            return kept.number("octets", count(message.0.text().len()));
        }
        let draft = args.draft();
        let people = draft.to.len() + draft.cc.len() + draft.bcc.len();
        kept.number("recipients", count(people))
            .number("octets", count(draft.text.len()))
    }

    async fn run(ctx: Ctx<'_>, args: Args) -> Result<Done<Drafted>, Refusal> {
        let (account, folder) = (args.account_id.0.clone(), args.folder.0.clone());
        let mail = ctx.mail()?;
        let key = changing::key::<Self>(args.idempotency_key.as_ref(), &args);
        let told = match ctx.repeated(key.as_ref()).await? {
            Some(told) => told,
            None => {
                let id = format!("{}@mailwarden.invalid", name()?);
                let octets = args.octets(&id, ctx.now);
                let order = Order {
                    kind: Kind::Draft,
                    source: None,
                    size: None,
                    digest: None,
                    target: Some(Place {
                        account: account.clone(),
                        folder: folder.clone(),
                    }),
                    marks: Vec::new(),
                    content: Some(Bytes::from(octets)),
                    key,
                    undoes: None,
                };
                ctx.change(&mail, Self::NAME, order).await?
            }
        };
        let landed = told
            .landed()
            .filter(|_| ctx.least_visible_of_all() >= Level::Metadata);
        Ok(drafted(&account, &folder, &told, landed.as_ref()))
    }
}

/// Nobody can guess it, so nobody can write a message that seems to be this one.
fn name() -> Result<String, Refusal> {
    let mut chance = [0u8; 16];
    let none = |_| Refusal::new(Code::Internal, "this machine gives no random numbers");
    getrandom::fill(&mut chance).map_err(none)?;
    Ok(chance.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn drafted(
    account: &AccountId,
    folder: &FolderName,
    told: &Told,
    landed: Option<&mail::MessageRef>,
) -> Done<Drafted> {
    let data = Drafted {
        came: Came::of(told),
        account_id: account.to_string(),
        folder: folder.to_string(),
        uid: landed.map(|at| at.uid.0),
        uidvalidity: landed.map(|at| at.uidvalidity.0),
    };
    Done::new(format!("draft in {folder}: {}", told.words()), data)
}
