//! `list_folders`: the folders of an account that a policy opens, and how many there are besides.

use audit::Summary;
use mail::Level;
use policy::Ask;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Refusal;
use crate::args::Account;
use crate::envelope::{Done, Reply, Status};
use crate::guarded_mail::Visible;
use crate::pipeline::Ctx;
use crate::tools::shown::has_safe_name;
use crate::tools::{Annotations, Tool, Toolset};
use crate::trouble::{Issue, NextAction};

pub(crate) struct ListFolders;

#[derive(Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    account_id: Account,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Folders {
    status: Status,
    issues: Vec<Issue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_action: Option<NextAction>,
    account_id: String,
    folders: Vec<Folder>,
    hidden_folders_count: usize,
}

#[derive(Serialize, JsonSchema)]
struct Folder {
    path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    special_use: Option<&'static str>,
    /// The most that a message can show here.
    max_visibility: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    capabilities: Vec<&'static str>,
}

impl Reply for Folders {
    fn status(&self) -> Status {
        self.status
    }

    fn issues(&self) -> &[Issue] {
        &self.issues
    }

    fn shown(&self) -> usize {
        self.folders.len()
    }

    fn hidden(&self) -> u64 {
        u64::try_from(self.hidden_folders_count).unwrap_or(u64::MAX)
    }
}

impl Tool for ListFolders {
    const NAME: &'static str = "list_folders";
    const TITLE: &'static str = "List folders";
    const SUMMARY: &'static str = "List the folders of an account that are open to you, with the most you can see of a \
        message in each and what you may do there. Paths are exact: pass them on as they are. hidden_folders_count says \
        how many others there are.";
    const TOOLSET: Toolset = Toolset::Gateway;
    const ANNOTATIONS: Annotations = Annotations::READS;
    const LEAST: Level = Level::Count;
    const UNTRUSTED: &'static [&'static str] = &["folders"];
    type Args = Args;
    type Reply = Folders;

    fn ask(args: &Args) -> Result<Ask, Refusal> {
        Ok(Ask::Folders {
            account: args.account_id.0.clone(),
        })
    }

    fn kept(args: &Args) -> Summary {
        Summary::new().account(&args.account_id.0)
    }

    async fn run(ctx: Ctx<'_>, args: Args) -> Result<Done<Folders>, Refusal> {
        let account = args.account_id.0.clone();
        let mail = ctx.mail()?;
        let found = match mail.folders().await {
            Ok(found) => found,
            Err(halt) => {
                let issue = mail.sort(halt)?;
                let summary = format!("folders could not be listed: {}", issue.message);
                return Ok(Done::new(
                    summary,
                    Folders {
                        status: Status::Failed,
                        next_action: Some(NextAction::again::<Self>(&issue, &args)),
                        issues: vec![issue],
                        account_id: account.to_string(),
                        folders: Vec::new(),
                        hidden_folders_count: 0,
                    },
                ));
            }
        };
        let policy = ctx.policy();
        let hidden = hidden_count(&found);
        let named = found.folders.iter().filter(|folder| has_safe_name(folder));
        let folders: Vec<Folder> = named
            .map(|folder| {
                let given = policy.folder(&account, &folder.name);
                let capabilities = given.map(|given| given.capabilities).unwrap_or_default();
                Folder {
                    path: folder.name.to_string(),
                    special_use: folder.special_use.map(mail::SpecialUse::as_str),
                    max_visibility: given
                        .map_or(policy.ceiling(), |given| given.ceiling())
                        .name(),
                    capabilities: capabilities.iter().map(|one| one.name()).collect(),
                }
            })
            .collect();
        let summary = format!("{} folder(s) open to you, {hidden} hidden", folders.len());
        Ok(Done::new(
            summary,
            Folders {
                status: Status::Ok,
                issues: Vec::new(),
                next_action: None,
                account_id: account.to_string(),
                folders,
                hidden_folders_count: hidden,
            },
        ))
    }
}

/// How many folders there are besides those that are listed.
pub(super) fn hidden_count(found: &Visible) -> usize {
    let unsafe_names = found.folders.iter().filter(|folder| !has_safe_name(folder));
    found.hidden + found.unusable + unsafe_names.count()
}
