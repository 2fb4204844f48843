//! Where a message is that is known by its Message-ID: asked of every account that its caller may know of, or of one.

use std::future::poll_fn;
use std::task::Poll;

use mail::{AccountId, Coverage, FolderName, HeaderId};
use serde::Serialize;

use super::email::written;
use crate::args::{Account, OwnName};
use crate::guarded_mail::{GuardedMail, Kin, Known, Seeking};
use crate::pipeline::Ctx;
use crate::schema::plain_object;
use crate::trouble::Issue;
use crate::{Code, Refusal};

/// Names of folders that are listed; beyond it they are counted.
const MOST_NAMED: usize = 30;

plain_object!(Covered);

/// What stands behind an answer: where was looked, where not, and whether that was everywhere.
#[derive(Clone, Serialize)]
pub(super) struct Covered {
    folders_searched: Vec<String>,
    #[serde(skip_serializing_if = "is_zero")]
    more_searched: usize,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    folders_skipped: Vec<Skipped>,
    #[serde(skip_serializing_if = "is_zero")]
    more_skipped: usize,
    /// What came later is not in it; absent where the store itself was asked just now.
    #[serde(skip_serializing_if = "Option::is_none")]
    as_of: Option<String>,
    complete: bool,
}

#[derive(Clone, Serialize)]
struct Skipped {
    mailbox: String,
    reason: &'static str,
}

pub(super) fn is_zero(count: &usize) -> bool {
    *count == 0
}

impl Covered {
    pub(super) fn of(coverage: &Coverage) -> Self {
        let mut changes = content::Changes::default();
        let mut name = |folder: &FolderName| content::name(folder.as_str(), &mut changes);
        // Every store has an order of its own, and it means nothing here.
        let mut searched: Vec<&FolderName> = coverage.searched.iter().collect();
        searched.sort_by_key(|folder| rank(folder));
        let searched = searched.into_iter().take(MOST_NAMED);
        let folders_searched = searched.map(&mut name).collect();
        let mut skipped: Vec<&mail::Skipped> = coverage.skipped.iter().collect();
        skipped.sort_by_key(|one| rank(&one.folder));
        let skipped = skipped.into_iter().take(MOST_NAMED);
        let folders_skipped = skipped.map(|one| Skipped {
            mailbox: name(&one.folder),
            reason: one.why.name(),
        });
        Self {
            folders_searched,
            folders_skipped: folders_skipped.collect(),
            more_searched: coverage.searched.len().saturating_sub(MOST_NAMED),
            more_skipped: coverage.skipped.len().saturating_sub(MOST_NAMED),
            as_of: coverage.as_of.map(|time| time.to_string()),
            complete: coverage.is_complete(),
        }
    }

    /// Of a message that was found: where it is. How far its store looked for further copies says nothing about it.
    pub(super) fn found(copies: &[&Known]) -> Self {
        let mut searched: Vec<FolderName> = Vec::new();
        for copy in copies {
            if !searched.contains(&copy.at().folder) {
                searched.push(copy.at().folder.clone());
            }
        }
        Self::of(&Coverage {
            searched,
            exhausted: true,
            ..Coverage::default()
        })
    }
}

/// The inbox, and then by name.
fn rank(folder: &FolderName) -> (bool, &str) {
    (folder.as_str() != "INBOX", folder.as_str())
}

/// What was found in one account.
pub(super) struct Found<'a> {
    pub mail: GuardedMail<'a>,
    pub kin: Kin,
}

impl Found<'_> {
    /// The copies that have this id, the one with most to see first.
    pub(super) fn copies(&self, id: &HeaderId) -> Vec<&Known> {
        let own = |known: &&Known| known.member.links.id.as_ref() == Some(id);
        let mut copies: Vec<&Known> = self.kin.members.iter().filter(own).collect();
        copies.sort_by_key(|known| std::cmp::Reverse(known.level()));
        copies
    }
}

/// What came of looking for it.
pub(super) struct Looked<'a> {
    /// Of the first account that has it, as they are configured.
    pub found: Option<Found<'a>>,
    /// Others that have it too.
    pub also: Vec<AccountId>,
    pub issues: Vec<Issue>,
    /// Where it was found, or else of all that was searched.
    pub coverage: Coverage,
}

/// Asks the account that was named, or all at once.
pub(super) async fn look<'c>(
    ctx: &'c Ctx<'_>,
    account: Option<&AccountId>,
    id: &HeaderId,
    seeking: Seeking,
) -> Result<Looked<'c>, Refusal> {
    let wanted = |one: &&crate::setup::Account| account.is_none_or(|id| one.id() == id);
    let accounts: Vec<_> = ctx.accounts().filter(wanted).collect();
    if let Some(name) = account.filter(|_| accounts.is_empty()) {
        let words = format!(
            "account '{name}' is not configured; leave account_id out to search all of them"
        );
        return Err(Refusal::new(Code::NotFound, words));
    }
    let asked = accounts.into_iter().map(async |account| {
        let mail = ctx.mail_of(account);
        let kin = mail.kin(id, seeking).await;
        (mail, kin)
    });
    let mut looked = Looked {
        found: None,
        also: Vec::new(),
        issues: Vec::new(),
        coverage: Coverage {
            exhausted: true,
            ..Coverage::default()
        },
    };
    for (mail, kin) in all(asked).await {
        let kin = match kin {
            Ok(kin) => kin,
            Err(halt) => {
                looked.coverage.exhausted = false;
                // A source without Message-IDs cannot have it.
                if let Ok(mut issue) = mail.sort(halt) {
                    issue.message = format!("{}: {}", mail.id(), issue.message);
                    looked.issues.push(issue);
                }
                continue;
            }
        };
        let names_it = kin
            .members
            .iter()
            .any(|known| known.member.links.all().any(|one| one == id));
        match &looked.found {
            Some(_) if names_it => looked.also.push(mail.id().clone()),
            None if names_it => {
                looked.coverage = kin.coverage.clone();
                looked.found = Some(Found { mail, kin });
            }
            Some(_) => {}
            None => {
                looked.coverage.exhausted &= kin.coverage.exhausted;
                looked.coverage.searched.extend(kin.coverage.searched);
                looked.coverage.skipped.extend(kin.coverage.skipped);
            }
        }
    }
    Ok(looked)
}

/// All of them at once, in their order.
async fn all<F: Future>(futures: impl Iterator<Item = F>) -> Vec<F::Output> {
    let mut pending: Vec<_> = futures.map(|future| (Box::pin(future), None)).collect();
    poll_fn(move |task| {
        let mut ready = true;
        for (future, out) in pending.iter_mut().filter(|(_, out)| out.is_none()) {
            match future.as_mut().poll(task) {
                Poll::Ready(came) => *out = Some(came),
                Poll::Pending => ready = false,
            }
        }
        match ready {
            true => Poll::Ready(
                pending
                    .iter_mut()
                    .filter_map(|(_, out)| out.take())
                    .collect(),
            ),
            false => Poll::Pending,
        }
    })
    .await
}

/// What the audit log keeps of the question: where, and of the id a digest.
pub(super) fn kept(account: Option<&Account>, id: &OwnName) -> audit::Summary {
    let summary = audit::Summary::new().digest_if("message_id", Some(written(&id.0)));
    match account {
        Some(account) => summary.account(&account.0),
        None => summary,
    }
}

/// What may be the matter when nothing was found.
pub(super) fn possible_reasons(looked: &Looked<'_>) -> Vec<String> {
    let mut reasons = vec![
        "no message here has this Message-ID: check its spelling".to_owned(),
        "the message was deleted, or moved to an account that is not configured here".to_owned(),
    ];
    if !looked.coverage.is_complete() {
        let words = "not everything was searched: see coverage and issues";
        reasons.push(words.to_owned());
    }
    reasons
}
