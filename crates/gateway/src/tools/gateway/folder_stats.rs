//! `folder_stats`: how many messages of a folder have which visibility.

use audit::Summary;
use mail::Level;
use policy::Ask;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::Refusal;
use crate::args::{Account, Mailbox};
use crate::envelope::{Done, Reply, Status};
use crate::guarded_mail::Tally;
use crate::pipeline::Ctx;
use crate::tools::{Annotations, Tool, Toolset};
use crate::trouble::{Issue, NextAction};

pub(crate) struct FolderStats;

#[derive(Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    account_id: Account,
    folder: Mailbox,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Stats {
    status: Status,
    issues: Vec<Issue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_action: Option<NextAction>,
    account_id: String,
    folder: String,
    /// Those that search can find: METADATA or more.
    visible_count: u64,
    by_visibility: Map<String, Value>,
    /// The others: NONE and COUNT.
    hidden_count: u64,
}

impl Reply for Stats {
    fn status(&self) -> Status {
        self.status
    }

    fn issues(&self) -> &[Issue] {
        &self.issues
    }

    fn shown(&self) -> usize {
        usize::try_from(self.visible_count).unwrap_or(usize::MAX)
    }

    fn hidden(&self) -> u64 {
        self.hidden_count
    }
}

impl Tool for FolderStats {
    const NAME: &'static str = "folder_stats";
    const TITLE: &'static str = "Count a folder's messages";
    const SUMMARY: &'static str = "Count the messages of a folder by how much of each you can see: NONE, COUNT, \
        METADATA, ENVELOPE, HEADERS, BODY or FULL. hidden_count is the number of messages that search does not find: \
        those of NONE and COUNT.";
    const TOOLSET: Toolset = Toolset::Gateway;
    const ANNOTATIONS: Annotations = Annotations::READS;
    const LEAST: Level = Level::Count;
    const UNTRUSTED: &'static [&'static str] = &[];
    type Args = Args;
    type Reply = Stats;

    fn ask(args: &Args) -> Result<Ask, Refusal> {
        Ok(Ask::Messages {
            account: args.account_id.0.clone(),
            folder: args.folder.0.clone(),
            level: Level::Count,
        })
    }

    fn kept(args: &Args) -> Summary {
        Summary::new()
            .account(&args.account_id.0)
            .folder(&args.folder.0)
    }

    async fn run(ctx: Ctx<'_>, args: Args) -> Result<Done<Stats>, Refusal> {
        let mail = ctx.mail()?;
        let (tally, issues) = match mail.tally(&args.folder.0).await {
            Ok(tally) => (tally, Vec::new()),
            Err(halt) => (Tally::default(), vec![mail.sort(halt)?]),
        };
        let hidden = tally.hidden();
        let visible = tally.total() - hidden;
        let summary = match issues.first() {
            None => format!("{visible} message(s) open to you, {hidden} hidden"),
            Some(issue) => format!("the folder could not be counted: {}", issue.message),
        };
        Ok(Done::new(
            summary,
            Stats {
                status: match issues.is_empty() {
                    true => Status::Ok,
                    false => Status::Failed,
                },
                next_action: issues
                    .first()
                    .map(|issue| NextAction::again::<Self>(issue, &args)),
                issues,
                account_id: args.account_id.0.to_string(),
                folder: args.folder.0.to_string(),
                visible_count: visible,
                by_visibility: Level::ALL
                    .into_iter()
                    .map(|level| (level.name().to_owned(), json!(tally.at(level))))
                    .collect(),
                hidden_count: hidden,
            },
        ))
    }
}
