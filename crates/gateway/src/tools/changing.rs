//! What tools that change something have in common: the key of a request, flags as arguments, and what they answer.

use ledger::{Key, Kind, Mark, Place};
use mail::{AccountId, Flag, FolderName, MessageRef};
use policy::Target;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::args::IdempotencyKey;
use crate::envelope::Status;
use crate::guarded_mail::{Beside, GuardedMail};
use crate::pipeline::Ctx;
use crate::tools::Tool;
use crate::transact::{Order, Told};
use crate::trouble::{Issue, NextAction};
use crate::{Code, Refusal};

/// How a change came out, in every answer of a tool that makes one.
#[derive(Serialize, JsonSchema)]
pub(in crate::tools) struct Came {
    pub(in crate::tools) status: Status,
    pub(in crate::tools) issues: Vec<Issue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_action: Option<NextAction>,
    /// What the change is called; undo_transaction and get_transaction_status take it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::tools) transaction_id: Option<String>,
    /// done, undone (nothing is changed), unknown, or needs_operator.
    #[serde(skip_serializing_if = "Option::is_none")]
    transaction_state: Option<&'static str>,
    /// true, where the same was asked for before under its key: that is told, and nothing is changed again.
    #[serde(skip_serializing_if = "Option::is_none")]
    repeated: Option<bool>,
    /// The transaction that has put it back since, or is about to.
    #[serde(skip_serializing_if = "Option::is_none")]
    undone_by: Option<String>,
}

impl Came {
    pub(in crate::tools) fn of(told: &Told) -> Self {
        Self {
            status: told.status,
            issues: told.issues.clone(),
            next_action: next(told),
            transaction_id: told.id(),
            transaction_state: told.state(),
            repeated: told.repeated.then_some(true),
            undone_by: told.undone_by(),
        }
    }
}

/// What is not known is asked for, never tried again.
pub(in crate::tools) fn next(told: &Told) -> Option<NextAction> {
    let id = told.id().filter(|_| told.state() == Some("unknown"))?;
    Some(NextAction::new(
        "Wait a little, then ask what became of it; do not make the change in another way",
        "get_transaction_status",
        json!({ "transaction_id": id }),
    ))
}

/// What a caller calls its request, and a digest of what it asks for.
///
/// INVARIANT: what is left out and what is spelled out are the same request, so these are arguments `in_full`.
pub(in crate::tools) fn key<T: Tool>(
    named: Option<&IdempotencyKey>,
    in_full: &T::Args,
) -> Option<Key>
where
    T::Args: Serialize,
{
    let mut arguments = json!(in_full);
    if let Value::Object(map) = &mut arguments {
        map.retain(|name, value| name != "idempotency_key" && !value.is_null());
    }
    let said = format!("{}\n{arguments}", T::NAME);
    Some(Key {
        name: named?.0.clone(),
        arguments: Sha256::digest(said.as_bytes()).into(),
    })
}

/// What is to be done with one message.
pub(in crate::tools) struct Wish {
    pub kind: Kind,
    pub target: Option<Place>,
    pub marks: Vec<Mark>,
    pub key: Option<Key>,
}

impl Wish {
    pub(in crate::tools) fn marks(marks: Vec<Mark>, key: Option<Key>) -> Self {
        Self {
            kind: Kind::Flags,
            target: None,
            marks,
            key,
        }
    }

    pub(in crate::tools) fn takes(kind: Kind, target: &Target, key: Option<Key>) -> Self {
        Self {
            kind,
            target: Some(Place {
                account: target.account.clone(),
                folder: target.folder.clone(),
            }),
            marks: Vec::new(),
            key,
        }
    }
}

/// Judges the message, writes down what is wished for, and does it.
pub(in crate::tools) async fn change<'a, T: Tool>(
    ctx: &Ctx<'a>,
    mail: &GuardedMail<'a>,
    at: &MessageRef,
    wish: Wish,
) -> Result<Told, Refusal> {
    // Whoever is not the owner was told that no such account is open to them.
    if let Some(target) = &wish.target
        && ctx.account(&target.account).is_none()
    {
        let message = format!(
            "the destination account '{}' is not configured; list the accounts for those that are",
            target.account
        );
        return Err(Refusal::new(Code::NotFound, message));
    }
    let target = wish.target.as_ref();
    let beside = match beside(ctx, mail, at, target, &wish.marks).await? {
        Ok(beside) => beside,
        Err(issue) => return Ok(Told::not_begun(issue)),
    };
    let subject = match mail.judge_change(at, &beside).await {
        Ok(subject) => subject,
        Err(halt) => return Ok(Told::not_begun(mail.sort(halt)?)),
    };
    let order = Order {
        kind: wish.kind,
        source: Some(subject.at),
        size: subject.size,
        digest: None,
        target: wish.target,
        marks: wish.marks,
        content: None,
        key: wish.key,
        undoes: None,
    };
    ctx.change(mail, T::NAME, order).await
}

/// Where a message comes to stand besides its target, or why that cannot be known.
pub(in crate::tools) async fn beside<'a>(
    ctx: &Ctx<'a>,
    mail: &GuardedMail<'a>,
    at: &MessageRef,
    target: Option<&Place>,
    marks: &[Mark],
) -> Result<Result<Beside, Issue>, Refusal> {
    let account = target.map_or(&at.account, |target| &target.account);
    let Some(there) = ctx.account(account) else {
        return Err(Refusal::denied(policy::Denial::absent()));
    };
    let gets = marks.iter().filter_map(|mark| match mark {
        Mark::Set(flag) => Some(flag),
        Mark::Take(_) => None,
    });
    let gets: Vec<&Flag> = gets.collect();
    match mail.beside(at, there, &gets).await {
        Ok(beside) => Ok(Ok(beside)),
        Err(fault) => mail.sort_at(there, fault).map(Err),
    }
}

/// A message cannot go where it is.
pub(in crate::tools) fn elsewhere(
    at: (&AccountId, &FolderName),
    target: &Target,
    argument: &str,
) -> Result<(), Refusal> {
    match at == (&target.account, &target.folder) {
        true => Err(Refusal::argument(
            argument,
            "the message is in that mailbox already; name another one",
        )),
        false => Ok(()),
    }
}

/// A message, for a person who is asked about it.
///
/// INVARIANT: no word of the message itself, which a stranger wrote and nobody has looked at.
pub(in crate::tools) fn in_question(at: &MessageRef) -> String {
    format!(
        "message {} of the mailbox '{}' in the account '{}'",
        at.uid.0,
        said(at.folder.as_str()),
        said(at.account.as_str()),
    )
}

/// A name that whoever calls may have made up.
pub(in crate::tools) fn said(name: &str) -> String {
    content::name(name, &mut content::Changes::default()).replace('\'', "\u{2019}")
}

/// Flags for people.
pub(in crate::tools) fn names(flags: &[Flag]) -> String {
    let names: Vec<&str> = flags.iter().map(Flag::as_str).collect();
    names.join(", ")
}

/// Whether a caller is told where a message came to lie.
///
/// INVARIANT: the number of a message in a folder tells how many came there before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Landing {
    Shown,
    Hidden,
}

impl Landing {
    pub(in crate::tools) fn of(self, told: &Told) -> Option<MessageRef> {
        match self {
            Self::Shown => told.landed(),
            Self::Hidden => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_leave_their_quotes_in_a_question() {
        for (name, shown) in [
            ("INBOX", "INBOX"),
            ("Entw\u{fc}rfe/2026", "Entw\u{fc}rfe/2026"),
            ("x'? Yes, agreed. 'y", "x\u{2019}? Yes, agreed. \u{2019}y"),
        ] {
            assert_eq!(said(name), shown);
        }
        let hostile = said("a\u{202e}b\nc\u{200b}d");
        assert!(
            hostile
                .chars()
                .all(|c| !c.is_control() && c != '\u{202e}' && c != '\u{200b}')
        );
        assert!(said(&"x".repeat(10_000)).chars().count() <= 1_000);
    }
}
