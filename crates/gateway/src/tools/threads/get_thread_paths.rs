//! `get_thread_paths`: the files of a whole conversation, the oldest first.

use audit::Summary;
use mail::{Level, MessageRef};
use policy::Ask;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::email::written;
use super::finding::{self, Covered, NOT_FOUND};
use super::paths;
use super::together;
use super::turns::{self, Turn};
use crate::Refusal;
use crate::args::{Account, OwnName};
use crate::envelope::{Done, Reply, Status};
use crate::guarded_mail::{GuardedMail, Seeking};
use crate::pipeline::Ctx;
use crate::tools::{Annotations, Tool, Toolset};
use crate::trouble::Issue;

/// So many are fetched side by side.
const AT_ONCE: usize = 32;
/// More files are not written in one call.
const MOST: usize = 200;

pub(crate) struct GetThreadPaths;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// Any Message-ID of it, brackets optional.
    message_id: OwnName,
    /// All accounts when left out.
    account_id: Option<Account>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Located {
    status: Status,
    issues: Vec<Issue>,
    message_id: String,
    thread_size: usize,
    file_paths: Vec<String>,
    /// Your policy may hide other messages of it.
    #[serde(skip_serializing_if = "finding::is_false", default)]
    may_hide: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    possible_reasons: Vec<String>,
    coverage: Covered,
    /// For the audit log; so is the next.
    #[serde(skip)]
    hidden: usize,
    /// Whose files these are.
    #[serde(skip)]
    given: Vec<MessageRef>,
}

impl Reply for Located {
    fn status(&self) -> Status {
        self.status
    }

    fn issues(&self) -> &[Issue] {
        &self.issues
    }

    fn shown(&self) -> usize {
        self.file_paths.len()
    }

    fn messages(&self) -> Vec<MessageRef> {
        self.given.clone()
    }

    fn hidden(&self) -> u64 {
        u64::try_from(self.hidden).unwrap_or(u64::MAX)
    }
}

impl Tool for GetThreadPaths {
    const NAME: &'static str = "get_thread_paths";
    const TITLE: &'static str = "Find the files of a conversation";
    const SUMMARY: &'static str = "File paths of all messages of a conversation, the oldest first, by the RFC \
        Message-ID of any of them. Copies in several folders are one file.";
    const TOOLSET: Toolset = Toolset::Threads;
    const ANNOTATIONS: Annotations = Annotations::READS;
    const LEAST: Level = Level::Full;
    const UNTRUSTED: &'static [&'static str] = &["message_id", "coverage"];
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
        let mut looked = finding::look(&ctx, account, id, Seeking::Kindred).await?;
        let mut data = Located {
            status: Status::Failed,
            issues: looked.issues.clone(),
            message_id: written(id),
            thread_size: 0,
            file_paths: Vec::new(),
            may_hide: looked.may_hide,
            hidden: 0,
            error: Some(NOT_FOUND.to_owned()),
            possible_reasons: Vec::new(),
            coverage: Covered::of(&looked.coverage),
            given: Vec::new(),
        };
        let Some(found) = looked.found.take() else {
            let error = finding::unsearched(&looked).unwrap_or_else(|| NOT_FOUND.to_owned());
            data.error = Some(error.clone());
            data.possible_reasons = finding::possible_reasons(&looked);
            return Ok(Done::new(error, data));
        };
        let (mail, members, own) = (found.mail, found.kin.members, id.clone());
        let conversation = ctx.render(move || turns::of(members, &own)).await?;
        data.thread_size = conversation.turns.len();
        data.hidden = found.kin.hidden;
        data.may_hide = found.kin.may_hide;
        let turns = conversation.turns.iter().take(MOST);
        let turns: Vec<&Turn> = turns.collect();
        for some in turns.chunks(AT_ONCE) {
            let came = files_of(&ctx, &mail, some).await;
            let stop = came
                .iter()
                .filter_map(|one| one.as_ref().err())
                .any(paths::is_ours);
            for came in came {
                match came {
                    Ok((at, path)) => {
                        data.given.push(at);
                        data.file_paths.push(path);
                    }
                    Err(issue) => data.issues.push(issue),
                }
            }
            if stop {
                break;
            }
        }
        let (whole, files) = (data.thread_size, data.file_paths.len());
        data.status = match (files, whole == files && data.issues.is_empty()) {
            (0, _) => Status::Failed,
            (_, true) => Status::Ok,
            (_, false) => Status::Partial,
        };
        if files > 0 {
            data.error = None;
        }
        let said = |count: usize, what: &str| match count {
            1 => format!("1 {what}"),
            count => format!("{count} {what}s"),
        };
        let summary = format!("{} of {}", said(files, "file"), said(whole, "message"));
        let mut done = Done::new(summary, data);
        if whole > MOST {
            done.warn(format!(
                "the files of the oldest {MOST} messages are given; read_thread reads all of them"
            ));
        }
        Ok(done)
    }
}

/// One that may not be had, or is gone, does not keep the others back. What has to be fetched is asked for at one moment, so
/// that it travels together.
async fn files_of(
    ctx: &Ctx<'_>,
    mail: &GuardedMail<'_>,
    turns: &[&Turn],
) -> Vec<Result<(MessageRef, String), Issue>> {
    let at_hand = turns.iter().map(async |turn| {
        let Some(known) = turn.copies.whole() else {
            return Err(paths::withheld());
        };
        let given = paths::at_hand(ctx, mail, known).await;
        let path = given.unwrap_or_else(|refusal| Err(paths::refused(&refusal)))?;
        Ok((known, path))
    });
    let fetched = together::all(at_hand).await.into_iter();
    let fetched = fetched.map(async |found| {
        let (known, path) = found?;
        let path = match path {
            Some(path) => path,
            None => {
                let given = paths::fetched(ctx, mail, known).await;
                given.unwrap_or_else(|refusal| Err(paths::refused(&refusal)))?
            }
        };
        Ok((known.at().clone(), path))
    });
    let came = together::all(fetched).await.into_iter().zip(turns);
    came.map(|(came, turn)| {
        came.map_err(|issue| Issue {
            message_id: Some(turn.copies.read.at().to_string()),
            ..issue
        })
    })
    .collect()
}
