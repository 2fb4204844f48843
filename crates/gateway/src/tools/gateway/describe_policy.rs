//! `describe_policy`: what the caller may see and do. No rule's pattern, and no word of other callers.

use std::time::Duration;

use audit::Summary;
use mail::{AccountId, Level, Stage};
use policy::{Ask, Mode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::list_folders;
use crate::Refusal;
use crate::envelope::{Done, Reply, Status};
use crate::guarded_mail::GuardedMail;
use crate::pipeline::Ctx;
use crate::tools::threads::together;
use crate::tools::{Annotations, Tool, Toolset};
use crate::trouble::Issue;

/// The version of the names and arguments of the gateway's tools, by semantic versioning.
const TOOL_SET_VERSION: &str = "1.0.0";

/// How long the folders of an account may take to list.
const LISTING_TIMEOUT: Duration = Duration::from_secs(10);

pub(crate) struct DescribePolicy;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Profile {
    status: Status,
    issues: Vec<Issue>,
    caller_id: String,
    policy: String,
    tool_set_version: &'static str,
    accounts: Vec<Account>,
    hidden_accounts_count: usize,
}

#[derive(Serialize, JsonSchema)]
struct Account {
    account_id: String,
    /// The most specific path holds; a folder that none covers is hidden. Without a list every folder is open.
    #[serde(skip_serializing_if = "Option::is_none")]
    folders: Option<Vec<Folder>>,
    /// Absent where the folders cannot be listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    hidden_folders_count: Option<usize>,
}

#[derive(Serialize, JsonSchema)]
struct Folder {
    /// A folder, every folder below one ("INBOX/*"), or every folder ("*").
    path: String,
    mode: &'static str,
    default_visibility: &'static str,
    max_visibility: &'static str,
    /// Single messages may differ from the default.
    depends_on_message: bool,
    rules_count: usize,
    capabilities: Vec<&'static str>,
}

impl Reply for Profile {
    fn status(&self) -> Status {
        self.status
    }

    fn issues(&self) -> &[Issue] {
        &self.issues
    }

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
    const ANNOTATIONS: Annotations = Annotations::READS;
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
        let counts = ctx.accounts();
        let counts = counts.map(|account| count_hidden(ctx.mail_of(account)));
        let counts = together::all(counts).await;
        let mut issues = Vec::new();
        let mut accounts = Vec::new();
        for (account, count) in ctx.accounts().zip(counts) {
            let hidden_folders_count = match count {
                Ok(count) => Some(count),
                Err(issue) => {
                    issues.extend(issue);
                    None
                }
            };
            accounts.push(Account {
                account_id: account.id().to_string(),
                folders: (!policy.is_owner())
                    .then(|| policy.folders(account.id()).map(folder).collect()),
                hidden_folders_count,
            });
        }
        let hidden = ctx.hidden_accounts();
        let summary = format!(
            "policy {}: {} account(s) open to you, {hidden} hidden",
            policy.name(),
            accounts.len()
        );
        Ok(Done::new(
            summary,
            Profile {
                status: match issues.is_empty() {
                    true => Status::Ok,
                    false => Status::Partial,
                },
                issues,
                caller_id: ctx.caller.as_str().to_owned(),
                policy: policy.name().to_owned(),
                tool_set_version: TOOL_SET_VERSION,
                accounts,
                hidden_accounts_count: hidden,
            },
        ))
    }
}

/// How many folders of an account are hidden; no issue, where its login is what is missing.
async fn count_hidden(mail: GuardedMail<'_>) -> Result<usize, Option<Issue>> {
    match tokio::time::timeout(LISTING_TIMEOUT, mail.folders()).await {
        Ok(Ok(found)) => Ok(list_folders::hidden_count(&found)),
        Ok(Err(halt)) => Err(match mail.sort(halt) {
            Ok(issue) => Some(issue),
            Err(refusal) => Issue::of_login(&refusal),
        }),
        Err(_) => Err(Some(late(mail.id()))),
    }
}

fn late(account: &AccountId) -> Issue {
    Issue {
        code: "timeout".to_owned(),
        stage: Stage::ListFolders.name().to_owned(),
        message: format!("the folders of account '{account}' could not be listed in time"),
        retryable: true,
        uid: None,
        message_id: None,
    }
}

fn folder(given: &policy::FolderPolicy) -> Folder {
    Folder {
        path: given.path.to_string(),
        mode: match given.mode {
            Mode::Whitelist => "whitelist",
            Mode::Blacklist => "blacklist",
        },
        default_visibility: given.default.name(),
        max_visibility: given.ceiling().name(),
        depends_on_message: !given.rules.is_empty(),
        rules_count: given.rules.len(),
        capabilities: given.capabilities.iter().map(|one| one.name()).collect(),
    }
}
