//! Where a message is that is known by its Message-ID: asked of every account that its caller may know of, or of one.

use std::cmp::Reverse;
use std::time::Duration;

use jiff::Timestamp;
use mail::{AccountId, Coverage, FolderName, HeaderId, Level, Stage, Why};
use serde::Serialize;

use super::email::is_open;
use super::together;
use super::turns::{Copies, Named};
use crate::args::{Account, OwnName};
use crate::envelope::{Done, Warning};
use crate::guarded_mail::{GuardedMail, Halt, Kin, Seeking};
use crate::pipeline::Ctx;
use crate::schema::plain_object;
use crate::trouble::Issue;
use crate::{Code, Refusal};

/// So long the others are waited for once an account has it: a server that is dead holds up nobody who asks for mail that
/// lies elsewhere.
const PATIENCE: Duration = Duration::from_secs(3);
/// Of a conversation.
pub(super) const NOT_FOUND: &str = "Email thread not found or thread has no email files";
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

pub(super) fn is_false(value: &bool) -> bool {
    !value
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

    /// Of a message that was found: where it is. Trash and junk are not looked at then; what else was passed over may hold
    /// a copy that came before.
    pub(super) fn found(message: &Copies, coverage: &Coverage) -> Self {
        let mut searched: Vec<FolderName> = Vec::new();
        for copy in std::iter::once(&message.read).chain(&message.others) {
            if !searched.contains(&copy.at().folder) {
                searched.push(copy.at().folder.clone());
            }
        }
        let passed = coverage
            .skipped
            .iter()
            .filter(|one| one.why != Why::Discarded);
        Self::of(&Coverage {
            searched,
            skipped: passed.cloned().collect(),
            as_of: coverage.as_of,
            exhausted: coverage.exhausted,
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

/// How well an account's answer fits the question; the greatest is taken. The message itself is better than one that
/// names it, one that can be read than one that cannot; then the one that came first, as among copies in one account.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Fit {
    has: bool,
    open: bool,
    arrived: Reverse<(bool, Option<Timestamp>)>,
    level: Level,
}

impl Fit {
    fn of(kin: &Kin, id: &HeaderId) -> Option<Self> {
        let fitting = kin.members.iter().filter_map(|known| {
            let links = &known.member.links;
            let has = links.id.as_ref() == Some(id);
            let arrived = known.member.summary.arrived;
            (has || links.all().any(|one| one == id)).then(|| Self {
                has,
                open: is_open(known),
                arrived: Reverse((arrived.is_none(), arrived)),
                level: known.level(),
            })
        });
        fitting.max()
    }
}

/// What came of looking for it.
pub(super) struct Looked<'a> {
    /// Of the account whose answer fits best; of several such, the first as they are configured.
    pub found: Option<Found<'a>>,
    /// Others that have it too.
    pub also: Vec<AccountId>,
    pub issues: Vec<Issue>,
    /// Where it was found, or else of all that was searched.
    pub coverage: Coverage,
    /// The policy may hide messages of an account that was searched.
    pub may_hide: bool,
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
    let asked = accounts.iter().map(async |account| {
        let mail = ctx.mail_of(account);
        let kin = mail.kin(id, seeking).await;
        (mail, kin)
    });
    let found = |(_, kin): &(GuardedMail<'_>, Result<Kin, Halt>)| {
        kin.as_ref()
            .is_ok_and(|kin| Fit::of(kin, id).is_some_and(|fit| fit.has))
    };
    let names: Vec<&AccountId> = accounts.iter().map(|account| account.id()).collect();
    let answers = together::gathered(asked, found, PATIENCE).await;
    let mut looked = Looked::default();
    let mut best: Option<Fit> = None;
    for (name, answer) in names.into_iter().zip(answers) {
        let Some((mail, kin)) = answer else {
            looked.late(name);
            continue;
        };
        looked.may_hide |= mail.may_hide();
        let kin = match kin {
            Ok(kin) => kin,
            Err(halt) => {
                looked.failed(&mail, halt);
                continue;
            }
        };
        let Some(fit) = Fit::of(&kin, id) else {
            looked.searched(kin.coverage);
            continue;
        };
        let own = mail.id().clone();
        if best.is_none_or(|best| fit > best) {
            best = Some(fit);
            let before = looked.found.replace(Found { mail, kin });
            looked
                .also
                .extend(before.map(|found| found.mail.id().clone()));
        } else {
            looked.also.push(own);
        }
    }
    if let Some(found) = &looked.found {
        let whole = looked.coverage.exhausted;
        looked.coverage = found.kin.coverage.clone();
        // An account that could not be asked may have it too, and before.
        looked.coverage.exhausted &= whole || looked.issues.is_empty();
    }
    Ok(looked)
}

impl Default for Looked<'_> {
    fn default() -> Self {
        Self {
            found: None,
            also: Vec::new(),
            issues: Vec::new(),
            coverage: Coverage {
                exhausted: true,
                ..Coverage::default()
            },
            may_hide: false,
        }
    }
}

impl Looked<'_> {
    /// Others had it already, and this one has not answered.
    fn late(&mut self, account: &AccountId) {
        self.coverage.exhausted = false;
        self.issues.push(Issue {
            code: "timeout".to_owned(),
            stage: Stage::Search.name().to_owned(),
            message: format!(
                "{account}: has not answered yet, and another account had the message; ask it alone with account_id"
            ),
            retryable: true,
            uid: None,
            message_id: None,
        });
    }

    fn failed(&mut self, mail: &GuardedMail<'_>, halt: Halt) {
        self.coverage.exhausted = false;
        let issue = match mail.sort(halt) {
            Ok(issue) => Some(issue),
            Err(refusal) => Issue::of_login(&refusal),
        };
        // A source without Message-IDs cannot have it.
        if let Some(mut issue) = issue {
            issue.message = format!("{}: {}", mail.id(), issue.message);
            self.issues.push(issue);
        }
    }

    /// It is not there.
    fn searched(&mut self, coverage: Coverage) {
        self.coverage.exhausted &= coverage.exhausted;
        self.coverage.searched.extend(coverage.searched);
        self.coverage.skipped.extend(coverage.skipped);
    }
}

/// What the audit log keeps of the question: where, and of the id a digest.
pub(super) fn kept(account: Option<&Account>, id: &OwnName) -> audit::Summary {
    let octets = String::from_utf8_lossy(id.0.bytes()).into_owned();
    let summary = audit::Summary::new().digest_if("message_id", Some(octets));
    match account {
        Some(account) => summary.account(&account.0),
        None => summary,
    }
}

/// That there is more under this id than what is shown.
pub(super) fn warn<R>(done: &mut Done<R>, looked: &Looked<'_>, named: &Named) {
    let mut changes = content::Changes::default();
    let others = named.namesakes.iter().take(MOST_NAMED);
    let others: Vec<String> = others
        .map(|other| content::name(&other.read.at().to_string(), &mut changes))
        .collect();
    if !others.is_empty() {
        done.warnings.push(Warning {
            text: "different messages have this Message-ID; the one that came first is taken, and read_thread shows all"
                .to_owned(),
            quote: Some(others.join(", ")),
        });
    }
    for other in &looked.also {
        done.warn(format!("account {other} has this message too"));
    }
}

/// That nobody could look, which is not the same as that nothing is there.
pub(super) fn unsearched(looked: &Looked<'_>) -> Option<String> {
    let issue = looked.issues.first()?;
    let nowhere = looked.coverage.searched.is_empty();
    nowhere.then(|| format!("nothing could be searched: {}", issue.message))
}

/// What may be the matter when nothing was found.
pub(super) fn possible_reasons(looked: &Looked<'_>) -> Vec<String> {
    if unsearched(looked).is_some() {
        return vec!["the mail store could not be reached: see issues".to_owned()];
    }
    let mut reasons = vec![
        "no message here has this Message-ID: check its spelling".to_owned(),
        "the message was deleted, or moved to an account that is not configured here".to_owned(),
    ];
    if looked.may_hide {
        reasons.push("your policy may hide it".to_owned());
    }
    if !looked.coverage.is_complete() {
        let words = "not everything was searched: see coverage and issues";
        reasons.push(words.to_owned());
    }
    reasons
}
