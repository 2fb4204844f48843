//! `get_email_path`: the file that a message lies in, by its Message-ID.

use audit::Summary;
use mail::{Level, MessageRef};
use policy::Ask;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::email::written;
use super::finding::{self, Covered, Looked};
use super::paths;
use super::turns;
use crate::Refusal;
use crate::args::{Account, OwnName};
use crate::envelope::{Done, Reply, Status};
use crate::guarded_mail::Seeking;
use crate::pipeline::Ctx;
use crate::tools::{Annotations, Tool, Toolset};
use crate::trouble::Issue;

pub(crate) struct GetEmailPath;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// RFC Message-ID, brackets optional.
    message_id: OwnName,
    /// All accounts when left out.
    account_id: Option<Account>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Located {
    status: Status,
    issues: Vec<Issue>,
    message_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    file_path: Option<String>,
    /// For the other tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    /// Other copies.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    also_in: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    possible_reasons: Vec<String>,
    coverage: Covered,
}

impl Reply for Located {
    fn status(&self) -> Status {
        self.status
    }

    fn issues(&self) -> &[Issue] {
        &self.issues
    }

    fn shown(&self) -> usize {
        usize::from(self.file_path.is_some())
    }

    fn messages(&self) -> Vec<MessageRef> {
        let given = self.id.iter().filter(|_| self.file_path.is_some());
        given.filter_map(|id| MessageRef::parse(id).ok()).collect()
    }
}

impl Tool for GetEmailPath {
    const NAME: &'static str = "get_email_path";
    const TITLE: &'static str = "Find a message's file";
    const SUMMARY: &'static str = "The path of a message's file, by its RFC Message-ID: the store's own for local \
        mail, a private copy for IMAP.";
    const TOOLSET: Toolset = Toolset::Threads;
    const ANNOTATIONS: Annotations = Annotations::READS;
    const LEAST: Level = Level::Full;
    const UNTRUSTED: &'static [&'static str] = &["message_id", "id", "also_in", "coverage"];
    type Args = Args;
    type Reply = Located;

    fn ask(args: &Args) -> Result<Ask, Refusal> {
        Ok(Ask::Wherever {
            account: args.account_id.as_ref().map(|account| account.0.clone()),
            level: Level::Full,
        })
    }

    fn kept(args: &Args) -> Summary {
        finding::kept(args.account_id.as_ref(), &args.message_id)
    }

    async fn run(ctx: Ctx<'_>, args: Args) -> Result<Done<Located>, Refusal> {
        let (id, account) = (
            &args.message_id.0,
            args.account_id.as_ref().map(|one| &one.0),
        );
        let mut looked = finding::look(&ctx, account, id, Seeking::Themselves).await?;
        let found = looked.found.take();
        let found =
            found.and_then(|found| Some((found.mail, turns::named(found.kin.members, id)?)));
        let Some((mail, named)) = found else {
            return Ok(absent(id, &looked));
        };
        // Where none may be had whole, the refusal tells of the one that would be read.
        let known = named.message.whole().unwrap_or(&named.message.read);
        let came = paths::path(&ctx, &mail, known).await?;
        let mut issues = looked.issues.clone();
        let (file_path, error) = match came {
            Ok(path) => (Some(path), None),
            Err(issue) => {
                let error = issue.message.clone();
                issues.insert(0, issue);
                (None, Some(error))
            }
        };
        let status = match (&file_path, issues.is_empty()) {
            (None, _) => Status::Failed,
            (Some(_), true) => Status::Ok,
            (Some(_), false) => Status::Partial,
        };
        let summary = match &error {
            None => "the message's file is found".to_owned(),
            Some(error) => format!("the message is known, and its file cannot be given: {error}"),
        };
        let all = named.message.others.iter().chain([&named.message.read]);
        let others = all.filter(|other| other.at() != known.at());
        let mut done = Done::new(
            summary,
            Located {
                status,
                issues,
                message_id: written(id),
                file_path,
                id: Some(known.at().to_string()),
                also_in: others.map(|other| other.at().to_string()).collect(),
                error,
                possible_reasons: Vec::new(),
                coverage: Covered::found(&named.message, &looked.coverage),
            },
        );
        finding::warn(&mut done, &looked, &named);
        Ok(done)
    }
}

fn absent(id: &mail::HeaderId, looked: &Looked<'_>) -> Done<Located> {
    let error = finding::unsearched(looked).unwrap_or_else(|| "Email file not found".to_owned());
    Done::new(
        error.clone(),
        Located {
            status: Status::Failed,
            issues: looked.issues.clone(),
            message_id: written(id),
            file_path: None,
            id: None,
            also_in: Vec::new(),
            error: Some(error),
            possible_reasons: finding::possible_reasons(looked),
            coverage: Covered::of(&looked.coverage),
        },
    )
}
