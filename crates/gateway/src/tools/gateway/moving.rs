//! What `move` and `copy` of the gateway share: which message, where to, and what they answer.

use audit::{Seen, Summary};
use ledger::Kind;
use policy::Target;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::which::{Number, Placed, Which};
use crate::Refusal;
use crate::args::{Account, IdempotencyKey, Mailbox};
use crate::envelope::{Done, Reply, Status};
use crate::pipeline::Ctx;
use crate::tools::Tool;
use crate::tools::changing::{self, Came, Landing, Wish};
use crate::transact::Told;
use crate::trouble::Issue;

#[derive(Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    account_id: Account,
    folder: Mailbox,
    /// From search.
    uid: Number,
    /// From the same search: refused when the folder was rebuilt since.
    uidvalidity: Option<Number>,
    target_folder: Mailbox,
    /// The message's own account if left out.
    target_account_id: Option<Account>,
    idempotency_key: Option<IdempotencyKey>,
}

impl Args {
    pub(super) fn which(&self) -> Which {
        Which {
            account_id: self.account_id.clone(),
            folder: self.folder.clone(),
            uid: self.uid,
            uidvalidity: self.uidvalidity,
        }
    }

    /// Somewhere else than where it is.
    pub(super) fn target(&self) -> Result<Target, Refusal> {
        let account = self.target_account_id.as_ref().unwrap_or(&self.account_id);
        let target = Target {
            account: account.0.clone(),
            folder: self.target_folder.0.clone(),
        };
        let at = (&self.account_id.0, &self.folder.0);
        changing::elsewhere(at, &target, "target_folder")?;
        Ok(target)
    }

    /// What is left out is the message's own account.
    fn in_full(&self) -> Self {
        let account = self.target_account_id.as_ref().unwrap_or(&self.account_id);
        Self {
            target_account_id: Some(account.clone()),
            ..self.clone()
        }
    }

    pub(super) fn kept(&self) -> Summary {
        let account = self.target_account_id.as_ref().unwrap_or(&self.account_id);
        self.which()
            .kept()
            .target(&account.0, &self.target_folder.0)
    }
}

/// Does it, or says what became of it when it was asked for before.
pub(super) async fn carry<T: Tool<Args = Args>>(
    ctx: Ctx<'_>,
    args: Args,
    kind: Kind,
) -> Result<Done<Moved>, Refusal> {
    let (target, which) = (args.target()?, args.which());
    let mail = ctx.mail()?;
    let key = changing::key::<T>(args.idempotency_key.as_ref(), &args.in_full());
    let told = match ctx.repeated(key.as_ref()).await? {
        Some(told) => told,
        None => {
            let located = mail.locate(&which.folder.0, which.generation(), which.uid());
            match located.await {
                Ok(at) => {
                    let wish = Wish::takes(kind, &target, key);
                    changing::change::<T>(&ctx, &mail, &at, wish).await?
                }
                Err(halt) => Told::not_begun(mail.sort(halt)?),
            }
        }
    };
    let summary = format!("{} to {}: {}", T::NAME, target.folder, told.words());
    let data = Moved::of(&which, &target, &told, ctx.shows_landing());
    Ok(Done::new(summary, data))
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Moved {
    #[serde(flatten)]
    came: Came,
    #[serde(flatten)]
    at: Placed,
    target_account_id: String,
    target_folder: String,
    /// Its number there, where that is open to you.
    #[serde(skip_serializing_if = "Option::is_none")]
    new_uid: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    new_uidvalidity: Option<u32>,
}

impl Moved {
    fn of(which: &Which, target: &Target, told: &Told, shows: Landing) -> Self {
        let landed = shows.of(told);
        Self {
            came: Came::of(told),
            at: told
                .source()
                .map_or_else(|| Placed::asked(which), Placed::at),
            target_account_id: target.account.to_string(),
            target_folder: target.folder.to_string(),
            new_uid: landed.as_ref().map(|at| at.uid.0),
            new_uidvalidity: landed.as_ref().map(|at| at.uidvalidity.0),
        }
    }
}

impl Reply for Moved {
    fn status(&self) -> Status {
        self.came.status
    }

    fn issues(&self) -> &[Issue] {
        &self.came.issues
    }

    fn shown(&self) -> usize {
        usize::from(self.new_uid.is_some())
    }

    fn seen(&self) -> Option<Seen> {
        self.at.seen()
    }

    fn transaction(&self) -> Option<String> {
        self.came.transaction_id.clone()
    }
}
