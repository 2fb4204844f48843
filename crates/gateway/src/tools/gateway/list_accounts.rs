//! `list_accounts`: the accounts that a policy opens, and how many there are besides.

use audit::Summary;
use mail::Level;
use policy::Ask;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Refusal;
use crate::envelope::{Done, Reply};
use crate::pipeline::Ctx;
use crate::tools::{Annotations, Tool, Toolset, standing};

pub(crate) struct ListAccounts;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Accounts {
    accounts: Vec<Account>,
    hidden_accounts_count: usize,
}

#[derive(Serialize, JsonSchema)]
struct Account {
    account_id: String,
    provider: &'static str,
    /// ok, read_only (what was granted lets nothing be changed), needs_rebootstrap (somebody has to log in) or
    /// misconfigured (its token cannot be read).
    status: &'static str,
    /// What whoever runs this does about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    remedy: Option<String>,
}

impl Reply for Accounts {
    fn shown(&self) -> usize {
        self.accounts.len()
    }

    fn hidden(&self) -> u64 {
        u64::try_from(self.hidden_accounts_count).unwrap_or(u64::MAX)
    }
}

impl Tool for ListAccounts {
    const NAME: &'static str = "list_accounts";
    const TITLE: &'static str = "List accounts";
    const SUMMARY: &'static str = "List the mail accounts that are open to you. hidden_accounts_count says how many \
        others there are.";
    const TOOLSET: Toolset = Toolset::Gateway;
    const ANNOTATIONS: Annotations = Annotations::LOCAL;
    const LEAST: Level = Level::None;
    const UNTRUSTED: &'static [&'static str] = &[];
    type Args = Args;
    type Reply = Accounts;

    fn ask(_: &Args) -> Result<Ask, Refusal> {
        Ok(Ask::Accounts)
    }

    fn kept(_: &Args) -> Summary {
        Summary::new()
    }

    async fn run(ctx: Ctx<'_>, _: Args) -> Result<Done<Accounts>, Refusal> {
        let accounts: Vec<Account> = ctx
            .accounts()
            .map(|account| (account, standing::of(account)))
            .map(|(account, told)| Account {
                account_id: account.id().to_string(),
                provider: account.provider().name(),
                status: told.status,
                command: told.command,
                remedy: told.remedy,
            })
            .collect();
        let hidden = ctx.hidden_accounts();
        let summary = format!("{} account(s) open to you, {hidden} hidden", accounts.len());
        Ok(Done::new(
            summary,
            Accounts {
                accounts,
                hidden_accounts_count: hidden,
            },
        ))
    }
}
