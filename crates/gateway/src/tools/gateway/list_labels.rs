//! `list_labels`: the labels of a Gmail account that a policy opens.

use audit::Summary;
use mail::Level;
use policy::Ask;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Refusal;
use crate::args::Account;
use crate::envelope::{Done, Reply, Status};
use crate::pipeline::Ctx;
use crate::setup::Provider;
use crate::tools::shown::has_safe_name;
use crate::tools::{Annotations, Tool, Toolset};
use crate::trouble::{Issue, NextAction};

pub(crate) struct ListLabels;

#[derive(Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    account_id: Account,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Labels {
    status: Status,
    issues: Vec<Issue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_action: Option<NextAction>,
    account_id: String,
    labels: Vec<Label>,
    hidden_labels_count: usize,
}

#[derive(Serialize, JsonSchema)]
struct Label {
    name: String,
    flags: Vec<String>,
}

impl Reply for Labels {
    fn status(&self) -> Status {
        self.status
    }

    fn issues(&self) -> &[Issue] {
        &self.issues
    }

    fn shown(&self) -> usize {
        self.labels.len()
    }

    fn hidden(&self) -> u64 {
        u64::try_from(self.hidden_labels_count).unwrap_or(u64::MAX)
    }
}

impl Tool for ListLabels {
    const NAME: &'static str = "list_labels";
    const TITLE: &'static str = "List labels";
    const SUMMARY: &'static str = "Gmail only: list the labels of an account that are open to you, with their flags. \
        For other accounts use list_folders.";
    const TOOLSET: Toolset = Toolset::Gateway;
    const ANNOTATIONS: Annotations = Annotations::READS;
    const LEAST: Level = Level::Count;
    const PROVIDER: Option<Provider> = Some(Provider::Google);
    const UNTRUSTED: &'static [&'static str] = &["labels"];
    type Args = Args;
    type Reply = Labels;

    fn ask(args: &Args) -> Result<Ask, Refusal> {
        Ok(Ask::Folders {
            account: args.account_id.0.clone(),
        })
    }

    fn kept(args: &Args) -> Summary {
        Summary::new().account(&args.account_id.0)
    }

    async fn run(ctx: Ctx<'_>, args: Args) -> Result<Done<Labels>, Refusal> {
        let account = args.account_id.0.clone();
        let mail = ctx.mail()?;
        if mail.provider() != Provider::Google {
            return Err(Refusal::not_for_provider());
        }
        let (found, issues) = match mail.folders().await {
            Ok(found) => (Some(found), Vec::new()),
            Err(halt) => (None, vec![mail.sort(halt)?]),
        };
        let all = found.as_ref().map_or(0, |found| found.folders.len());
        let folders = found.iter().flat_map(|found| &found.folders);
        let labels: Vec<Label> = folders
            .filter(|folder| has_safe_name(folder))
            .map(|folder| Label {
                name: folder.name.to_string(),
                flags: folder
                    .special_use
                    .iter()
                    .map(|one| format!("\\{}", one.as_str()))
                    .collect(),
            })
            .collect();
        let besides = found
            .as_ref()
            .map_or(0, |found| found.hidden + found.unusable);
        let hidden = besides + all - labels.len();
        let summary = match issues.first() {
            None => format!("{} label(s) open to you, {hidden} hidden", labels.len()),
            Some(issue) => format!("labels could not be listed: {}", issue.message),
        };
        Ok(Done::new(
            summary,
            Labels {
                status: match issues.is_empty() {
                    true => Status::Ok,
                    false => Status::Failed,
                },
                next_action: issues
                    .first()
                    .map(|issue| NextAction::again::<Self>(issue, &args)),
                issues,
                account_id: account.to_string(),
                labels,
                hidden_labels_count: hidden,
            },
        ))
    }
}
