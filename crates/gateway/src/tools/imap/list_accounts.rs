//! `imap_list_accounts`: which accounts are configured, without their secrets.

use audit::Summary;
use mail::Level;
use policy::Ask;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::Refusal;
use crate::envelope::{Done, Reply};
use crate::pipeline::Ctx;
use crate::tools::{Annotations, Tool, Toolset, standing};
use crate::trouble::NextAction;

const MOST: usize = 50;

pub(crate) struct ListAccounts;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Accounts {
    accounts: Vec<Account>,
    next_action: NextAction,
}

#[derive(Serialize, JsonSchema)]
struct Account {
    account_id: String,
    host: String,
    port: u16,
    secure: bool,
    // Absent where all is well.
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<String>,
}

impl Reply for Accounts {
    fn shown(&self) -> usize {
        self.accounts.len()
    }
}

impl Tool for ListAccounts {
    const NAME: &'static str = "imap_list_accounts";
    const TITLE: &'static str = "List mail accounts";
    const SUMMARY: &'static str = "List the mail accounts. Start here when you know no account_id.";
    const TOOLSET: Toolset = Toolset::Imap;
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
        let total = ctx.accounts().count();
        let accounts: Vec<Account> = ctx
            .accounts()
            .take(MOST)
            .map(|account| (account, account.describe(), standing::of(account)))
            .map(|(account, at, told)| Account {
                account_id: account.id().to_string(),
                host: content::name(&at.host, &mut content::Changes::default()),
                port: at.port,
                secure: at.secure,
                status: Some(told.status).filter(|status| *status != standing::OK),
                command: told.command,
            })
            .collect();
        let first = accounts
            .first()
            .map_or("default", |account| account.account_id.as_str());
        let next_action = NextAction::new(
            "List the mailboxes of an account",
            "imap_list_mailboxes",
            json!({ "account_id": first }),
        );
        let summary = format!("{} account(s) configured", total);
        let mut done = Done::new(
            summary,
            Accounts {
                accounts,
                next_action,
            },
        );
        if total > MOST {
            done.warn(format!(
                "only the first {MOST} of {total} accounts are listed"
            ));
        }
        Ok(done)
    }
}
