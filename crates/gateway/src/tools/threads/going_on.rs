//! Where a long answer goes on: sealed, bound to whoever asked and to what was asked, and not for ever.

use jiff::SignedDuration;
use mail::{AccountId, HeaderId, MessageRef};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::Refusal;
use crate::args::Cursor;
use crate::guarded_mail::Known;
use crate::pipeline::Ctx;

const LIFETIME: SignedDuration = SignedDuration::from_hours(24);

/// What a cursor of these tools is for; said again with every use.
pub(super) struct About<'a> {
    pub tool: &'static str,
    pub id: &'a HeaderId,
    pub account: Option<&'a AccountId>,
}

/// Where the text of a message goes on.
#[derive(Serialize, Deserialize)]
pub(super) struct Rest {
    at: String,
    size: Option<u64>,
    pub offset: usize,
    pub way: Way,
}

/// By what a message is found again.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) enum Way {
    /// Its own id.
    Id,
    /// The id of another one of its conversation: it has none.
    Kin,
}

impl Rest {
    pub(super) fn of(known: &Known, offset: usize, way: Way) -> Self {
        Self {
            at: known.at().to_string(),
            size: known.member.summary.size,
            offset,
            way,
        }
    }

    pub(super) fn account(&self) -> Option<AccountId> {
        MessageRef::parse(&self.at).ok().map(|at| at.account)
    }

    /// INVARIANT: a text goes on in the very message in which it began.
    pub(super) fn is_of(&self, known: &Known) -> bool {
        known.at().to_string() == self.at && known.member.summary.size == self.size
    }
}

/// How much follows, where anything is known of it.
pub(super) fn left(chars: usize) -> Option<usize> {
    Some(chars).filter(|chars| *chars > 0)
}

pub(super) fn moved() -> Refusal {
    Refusal::argument(
        "cursor",
        "the message of this cursor is not where it was, or is another one now; call again without cursor",
    )
}

impl About<'_> {
    /// NUL stands in none of them, so no two purposes look the same.
    fn purpose(&self, caller: &str) -> Vec<u8> {
        let account = self.account.map(AccountId::as_str).unwrap_or_default();
        let mut purpose = ["threads 2", caller, self.tool, account, ""]
            .join("\0")
            .into_bytes();
        purpose.extend_from_slice(self.id.bytes());
        purpose
    }

    /// None where there is no randomness: then the rest cannot be had by a cursor.
    pub(super) fn seal(&self, ctx: &Ctx<'_>, place: &impl Serialize) -> Option<String> {
        let expires = ctx.now.checked_add(LIFETIME).ok()?.as_second();
        let plain = serde_json::to_vec(&(expires, place)).ok()?;
        ctx.cursor_key()
            .enclose(&plain, &self.purpose(ctx.caller.as_str()))
    }

    pub(super) fn open<P: DeserializeOwned>(
        &self,
        ctx: &Ctx<'_>,
        token: &Cursor,
    ) -> Result<P, Refusal> {
        let foreign = || {
            Refusal::argument(
                "cursor",
                "cursor does not belong to this call; use the next_cursor of an answer to the same call",
            )
        };
        let plain = ctx
            .cursor_key()
            .disclose(&token.0, &self.purpose(ctx.caller.as_str()));
        let plain = plain.ok_or_else(foreign)?;
        let (expires, place): (i64, P) = serde_json::from_slice(&plain).map_err(|_| foreign())?;
        match ctx.now.as_second() > expires {
            true => Err(Refusal::argument(
                "cursor",
                "cursor has expired; call again without it",
            )),
            false => Ok(place),
        }
    }
}
