//! `describe_policy`: what the caller may see and do. No rule's pattern, and no word of other callers.

use audit::Summary;
use mail::Level;
use policy::Ask;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Refusal;
use crate::envelope::{Done, Reply};
use crate::pipeline::Ctx;
use crate::tools::{Annotations, Tool, Toolset};

pub(crate) struct DescribePolicy;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Profile {
    caller_id: String,
    policy: String,
    accounts: Vec<Account>,
    hidden_accounts_count: usize,
}

#[derive(Serialize, JsonSchema)]
struct Account {
    account_id: String,
    /// The most specific path holds; a folder that none covers is hidden. Without a list every folder is open.
    #[serde(skip_serializing_if = "Option::is_none")]
    folders: Option<Vec<Folder>>,
}

#[derive(Serialize, JsonSchema)]
struct Folder {
    /// A folder, every folder below one ("INBOX/*"), or every folder ("*").
    path: String,
    default_visibility: &'static str,
    max_visibility: &'static str,
    /// Single messages may differ from the default.
    depends_on_message: bool,
    capabilities: Vec<&'static str>,
}

impl Reply for Profile {
    fn shown(&self) -> usize {
        self.accounts.len()
    }

    fn hidden(&self) -> u64 {
        u64::try_from(self.hidden_accounts_count).unwrap_or(u64::MAX)
    }
}

impl Tool for DescribePolicy {
    const NAME: &'static str = "describe_policy";
    const TITLE: &'static str = "What may I see and do";
    const SUMMARY: &'static str = "Describe your own policy: accounts, folders, how much of their messages you can see \
        and what you may do there. Visibility rises from NONE over COUNT, METADATA, ENVELOPE, HEADERS and BODY to FULL.";
    const TOOLSET: Toolset = Toolset::Gateway;
    const ANNOTATIONS: Annotations = Annotations::LOCAL;
    const LEAST: Level = Level::None;
    const UNTRUSTED: &'static [&'static str] = &[];
    type Args = Args;
    type Reply = Profile;

    fn ask(_: &Args) -> Result<Ask, Refusal> {
        Ok(Ask::Own)
    }

    fn kept(_: &Args) -> Summary {
        Summary::new()
    }

    async fn run(ctx: Ctx<'_>, _: Args) -> Result<Done<Profile>, Refusal> {
        let policy = ctx.policy();
        let accounts: Vec<Account> = ctx
            .accounts()
            .map(|account| Account {
                account_id: account.id().to_string(),
                folders: (!policy.is_owner())
                    .then(|| policy.folders(account.id()).map(folder).collect()),
            })
            .collect();
        let hidden = ctx.hidden_accounts();
        let summary = format!(
            "policy {}: {} account(s) open to you, {hidden} hidden",
            policy.name(),
            accounts.len()
        );
        Ok(Done::new(
            summary,
            Profile {
                caller_id: ctx.caller.as_str().to_owned(),
                policy: policy.name().to_owned(),
                accounts,
                hidden_accounts_count: hidden,
            },
        ))
    }
}

fn folder(given: &policy::FolderPolicy) -> Folder {
    Folder {
        path: given.path.to_string(),
        default_visibility: given.default.name(),
        max_visibility: given.ceiling().name(),
        depends_on_message: !given.rules.is_empty(),
        capabilities: given.capabilities.iter().map(|one| one.name()).collect(),
    }
}
