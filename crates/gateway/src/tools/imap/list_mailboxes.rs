//! `imap_list_mailboxes`: the folders of an account, with what they are for and how full they are.

use audit::Summary;
use mail::{AccountId, Folder, Level};
use policy::Ask;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::Refusal;
use crate::args::Account;
use crate::envelope::{Done, Reply, Status};
use crate::pipeline::Ctx;
use crate::schema::plain_object;
use crate::tools::shown::has_safe_name;
use crate::tools::{Annotations, Tool, Toolset};
use crate::trouble::{Issue, NextAction};

const MOST: usize = 200;

// Their names say what they are, and every client would pay for the definitions.
plain_object!(Mailbox);

pub(crate) struct ListMailboxes;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    #[serde(default)]
    #[schemars(extend("default" = "default"))]
    account_id: Account,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Mailboxes {
    status: Status,
    issues: Vec<Issue>,
    next_action: NextAction,
    account_id: String,
    mailboxes: Vec<Mailbox>,
}

#[derive(Serialize)]
struct Mailbox {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    delimiter: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    special_use: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    messages: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unread: Option<u64>,
}

impl Reply for Mailboxes {
    fn status(&self) -> Status {
        self.status
    }

    fn issues(&self) -> &[Issue] {
        &self.issues
    }

    fn shown(&self) -> usize {
        self.mailboxes.len()
    }
}

impl Tool for ListMailboxes {
    const NAME: &'static str = "imap_list_mailboxes";
    const TITLE: &'static str = "List mailboxes";
    const SUMMARY: &'static str = "List the mailboxes (folders) of an account with their purpose (special_use: sent, \
        drafts, trash, junk, archive, …) and, where the server tells, message and unread counts. Names are exact: \
        pass them on as they are.";
    const TOOLSET: Toolset = Toolset::Imap;
    const ANNOTATIONS: Annotations = Annotations::READS;
    const LEAST: Level = Level::Count;
    const UNTRUSTED: &'static [&'static str] = &["mailboxes"];
    type Args = Args;
    type Reply = Mailboxes;

    fn ask(args: &Args) -> Result<Ask, Refusal> {
        Ok(Ask::Folders {
            account: args.account_id.0.clone(),
        })
    }

    fn kept(args: &Args) -> Summary {
        Summary::new().account(&args.account_id.0)
    }

    async fn run(ctx: Ctx<'_>, args: Args) -> Result<Done<Mailboxes>, Refusal> {
        let account = args.account_id.0;
        let mail = ctx.mail()?;
        let found = match mail.counted_folders().await {
            Ok(found) => found,
            Err(halt) => return Ok(failed(&account, mail.sort(halt)?)),
        };
        let all = found.folders.len();
        let named: Vec<Folder> = found.folders.into_iter().filter(has_safe_name).collect();
        let total = named.len();
        let unusable = found.unusable + all - total;
        let mailboxes: Vec<Mailbox> = named.into_iter().take(MOST).map(mailbox).collect();
        let inbox = mailboxes
            .iter()
            .find(|m| m.name == "INBOX")
            .or(mailboxes.first());
        let name = inbox.map_or("INBOX", |mailbox| mailbox.name.as_str());
        let next_action = NextAction::new(
            "List the newest messages of a mailbox",
            "imap_search_messages",
            json!({ "account_id": account.as_str(), "mailbox": name }),
        );
        let data = Mailboxes {
            status: Status::Ok,
            issues: Vec::new(),
            next_action,
            account_id: account.to_string(),
            mailboxes,
        };
        let mut done = Done::new(format!("{total} mailbox(es)"), data);
        if total > MOST {
            done.warn(format!(
                "only the first {MOST} of {total} mailboxes are listed"
            ));
        }
        if unusable > 0 {
            done.warn(format!(
                "{} mailbox(es) have names that are not valid or not safe to show, and are left out",
                unusable
            ));
        }
        Ok(done)
    }
}

fn mailbox(folder: Folder) -> Mailbox {
    Mailbox {
        name: folder.name.to_string(),
        delimiter: folder
            .delimiter
            .filter(char::is_ascii_graphic)
            .map(String::from),
        special_use: folder.special_use.map(mail::SpecialUse::as_str),
        messages: folder.counts.map(|counts| counts.messages),
        unread: folder.counts.map(|counts| counts.unread),
    }
}

fn failed(account: &AccountId, issue: Issue) -> Done<Mailboxes> {
    let summary = format!("mailboxes could not be listed: {}", issue.message);
    let data = Mailboxes {
        status: Status::Failed,
        next_action: NextAction::after(&issue, account),
        issues: vec![issue],
        account_id: account.to_string(),
        mailboxes: Vec::new(),
    };
    Done::new(summary, data)
}
