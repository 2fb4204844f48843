//! The inverse of a change that is done: what would put things back, or why nothing can.

use ledger::{Kind, Mark, Place, State, Transaction, TransactionId};
use mail::{Flag, MessageRef};
use policy::{Ask, Capability, Deed, Target};

use super::work::Work;
use super::{Order, plan};

/// What puts a change back.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Inverse {
    pub order: Order,
    /// What its caller has to be permitted.
    pub ask: Ask,
    /// INVARIANT: the last copy of a message is never removed. This one has to be there still.
    pub remains: Option<MessageRef>,
}

/// Why something cannot be undone.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub(crate) enum NoInverse {
    #[error("it is still under way; ask for it again later, and undo it when it is done")]
    Open,
    #[error(
        "what became of it is for a person to say first; tell the user to look at `mailwarden tx show {0}`"
    )]
    Undecided(TransactionId),
    #[error("it was not done, so there is nothing to undo")]
    NotDone,
    #[error("it has been undone already, or is being undone, by {0}")]
    Already(TransactionId),
    #[error("it changed nothing, so there is nothing to undo")]
    Nothing,
    #[error("the message was deleted for good; only a backup of its server may have it")]
    ForGood,
    #[error("the message is in its account's trash: find it there, and move it back")]
    InTrash,
    #[error(
        "the server did not tell where the message lies now; look for it and move it back by hand"
    )]
    Nowhere,
    #[error(
        "the server could only flag the original as \\Deleted; take that flag off and delete the copy by hand"
    )]
    HalfMoved,
    #[error("what its flags were before is not known; set them by hand")]
    FlagsUnknown,
}

pub(crate) fn inverse(done: &Transaction) -> Result<Inverse, NoInverse> {
    match done.state {
        State::Open => return Err(NoInverse::Open),
        State::NeedsOperator => return Err(NoInverse::Undecided(done.id.clone())),
        State::Undone => return Err(NoInverse::NotDone),
        State::Done => {}
    }
    if let Some(by) = &done.undone_by {
        return Err(NoInverse::Already(by.clone()));
    }
    let landed = Work::resumed(done.clone()).landed();
    let asked = &done.asked;
    match (asked.kind, &asked.source, &asked.target) {
        (Kind::Flags, Some(at), _) => flags_back(done, at),
        (Kind::Move | Kind::Delete, Some(_), Some(_)) if is_only_flagged(done) => {
            Err(NoInverse::HalfMoved)
        }
        (Kind::Move | Kind::Delete, Some(at), Some(_)) => {
            let now = landed.ok_or(NoInverse::Nowhere)?;
            Ok(match plan::was_there(done) {
                true => copy_back(done, now, at),
                false => move_back(done, now, at),
            })
        }
        (Kind::Delete, Some(at), None) if is_only_flagged(done) => Ok(unflag(done, at)),
        (Kind::Delete, _, None) if ends_with(done, plan::IN_TRASH) => Err(NoInverse::InTrash),
        (Kind::Move | Kind::Delete, _, None) => Err(NoInverse::ForGood),
        (Kind::Copy, Some(_), _) if plan::was_there(done) => Err(NoInverse::Nothing),
        (Kind::Copy, Some(at), _) => {
            let copy = landed.ok_or(NoInverse::Nowhere)?;
            let by = Capability::AcceptIncoming;
            Ok(take_away(done, copy, by, Some(at.clone())))
        }
        (Kind::Draft, _, _) => {
            let draft = landed.ok_or(NoInverse::Nowhere)?;
            Ok(take_away(done, draft, Capability::DraftAppend, None))
        }
        _ => Err(NoInverse::Nothing),
    }
}

fn is_only_flagged(done: &Transaction) -> bool {
    ends_with(done, plan::FLAGGED_ONLY)
}

fn ends_with(done: &Transaction, word: &str) -> bool {
    let code = done.ending.as_ref().and_then(|end| end.code.as_deref());
    code == Some(word)
}

/// Only what it changed: flags that others set since stay.
fn flags_back(done: &Transaction, at: &MessageRef) -> Result<Inverse, NoInverse> {
    let before = done.known.flags.as_ref().ok_or(NoInverse::FlagsUnknown)?;
    let had = |flag: &Flag| before.iter().any(|one| one.is(flag.as_str()));
    let marks: Vec<Mark> = done
        .asked
        .marks
        .iter()
        .filter_map(|mark| match mark {
            Mark::Set(flag) => (!had(flag)).then(|| Mark::Take(flag.clone())),
            Mark::Take(flag) => had(flag).then(|| Mark::Set(flag.clone())),
        })
        .collect();
    if marks.is_empty() {
        return Err(NoInverse::Nothing);
    }
    Ok(marking(done, at, marks))
}

fn unflag(done: &Transaction, at: &MessageRef) -> Inverse {
    marking(done, at, vec![Mark::Take(Flag::new("\\Deleted"))])
}

fn marking(done: &Transaction, at: &MessageRef, marks: Vec<Mark>) -> Inverse {
    let needed = marks.iter().map(|mark| match mark {
        Mark::Set(flag) | Mark::Take(flag) => Capability::for_flag(flag),
    });
    let needed: Option<_> = needed.collect();
    Inverse {
        ask: asking(at, needed.map_or(Deed::Delete, Deed::Mark)),
        order: Order {
            marks,
            ..order(done, Kind::Flags, at.clone())
        },
        remains: None,
    }
}

fn move_back(done: &Transaction, now: MessageRef, before: &MessageRef) -> Inverse {
    let target = Target {
        account: before.account.clone(),
        folder: before.folder.clone(),
    };
    // Whoever may delete may take it back.
    let deed = match done.asked.kind {
        Kind::Delete => Deed::Delete,
        _ => Deed::Move(target),
    };
    Inverse {
        ask: asking(&now, deed),
        order: Order {
            target: Some(Place {
                account: before.account.clone(),
                folder: before.folder.clone(),
            }),
            ..order(done, Kind::Move, now)
        },
        remains: None,
    }
}

/// Puts it back where it was, and leaves it where it is.
fn copy_back(done: &Transaction, now: MessageRef, before: &MessageRef) -> Inverse {
    let back = move_back(done, now.clone(), before);
    let target = Target {
        account: before.account.clone(),
        folder: before.folder.clone(),
    };
    let deed = match done.asked.kind {
        Kind::Delete => Deed::Delete,
        _ => Deed::Copy(target),
    };
    Inverse {
        ask: asking(&now, deed),
        order: Order {
            kind: Kind::Copy,
            ..back.order
        },
        remains: None,
    }
}

fn take_away(
    done: &Transaction,
    at: MessageRef,
    by: Capability,
    remains: Option<MessageRef>,
) -> Inverse {
    Inverse {
        ask: asking(&at, Deed::Withdraw(by)),
        order: order(done, Kind::Delete, at),
        remains,
    }
}

fn asking(at: &MessageRef, deed: Deed) -> Ask {
    Ask::Change {
        account: at.account.clone(),
        folder: at.folder.clone(),
        deed,
    }
}

fn order(done: &Transaction, kind: Kind, source: MessageRef) -> Order {
    Order {
        kind,
        source: Some(source),
        size: done.known.size,
        digest: done.known.digest,
        target: None,
        marks: Vec::new(),
        content: None,
        key: None,
        undoes: Some(done.id.clone()),
    }
}
