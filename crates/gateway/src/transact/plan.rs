//! What a transaction does next, from what is written of it and nothing else. Pure, so that a process that begins anew
//! decides as the one that fell would have.

use ledger::{Ending, Kind, State, StepName, StepState, Transaction};
use mail::{AccountId, Landing};

/// Why a step that was refused may be taken again: it is known not to have happened.
pub(super) const NOT_DONE: &str = "not_done";
/// The same, but some of it has happened: it may not be left so.
pub(super) const HALF_DONE: &str = "half_done";
/// The server has no MOVE.
pub(super) const NOT_OFFERED: &str = "not_offered";
/// A copy may have been made twice, and which of the two is ours cannot be told.
pub(super) const MAYBE_TWICE: &str = "maybe_twice";
/// Removed as far as the server can: flagged `\Deleted`.
pub(super) const FLAGGED_ONLY: &str = "flagged_only";

/// It is in the trash: the store lets nothing be removed further than that.
pub(super) const IN_TRASH: &str = "in_trash";

/// It was in the target before already, under a label that it had; whoever undoes it leaves it there.
pub(super) const WAS_THERE: &str = "was_there";

/// Half of a move was done, the rest refused, and the half is put back.
pub(super) const PUT_BACK: &str = "put_back";

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Next {
    Take(StepName),
    /// It may have happened.
    FindOut(StepName),
    End(State, Ending),
}

pub(super) fn next(transaction: &Transaction) -> Next {
    let thinned = last(transaction, StepName::Thin);
    // Which copy is the one that was made comes before anything else that is done with it.
    if let Some((StepState::Intended | StepState::Unknown, _)) = thinned {
        return Next::FindOut(StepName::Thin);
    }
    let mut code = None;
    for step in route(transaction).iter().copied() {
        match last(transaction, step) {
            None | Some((StepState::Refused, Some(NOT_DONE | HALF_DONE))) => {
                return Next::Take(step);
            }
            // Nothing is missing where it was before.
            Some((StepState::Done, Some(WAS_THERE))) => {}
            Some((StepState::Done, why)) => code = why.map(str::to_owned).or(code),
            Some((StepState::Intended | StepState::Unknown, _)) => return Next::FindOut(step),
            Some((StepState::Refused, why)) => {
                let code = why.unwrap_or("refused");
                if was_half_done(transaction, step) {
                    return half_done(code);
                }
                return match has_left_a_copy(transaction) {
                    true => withdraw(transaction, code),
                    false => ends(State::Undone, code),
                };
            }
        }
    }
    if let Some((StepState::Refused, why)) = thinned {
        code = code.or(why.map(str::to_owned));
    }
    let ending = Ending { code, words: None };
    Next::End(State::Done, ending)
}

/// The steps that make up the change, as far as what is known of the server goes.
fn route(transaction: &Transaction) -> &'static [StepName] {
    let asked = &transaction.asked;
    let moving = match last(transaction, StepName::Move) {
        Some((StepState::Refused, Some(NOT_OFFERED))) => Moving::ByCopy,
        _ => Moving::AtOnce,
    };
    let from = asked.source.as_ref().map(|at| &at.account);
    let to = asked.target.as_ref().map(|target| &target.account);
    steps(asked.kind, from, to, moving)
}

/// Of a change that has not begun.
pub(super) fn first(kind: Kind, from: Option<&AccountId>, to: Option<&AccountId>) -> StepName {
    let steps = steps(kind, from, to, Moving::AtOnce);
    steps.first().copied().unwrap_or(StepName::Confirm)
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Moving {
    AtOnce,
    /// The server has no MOVE.
    ByCopy,
}

fn steps(
    kind: Kind,
    from: Option<&AccountId>,
    to: Option<&AccountId>,
    moving: Moving,
) -> &'static [StepName] {
    let within = from == to;
    match (kind, to.is_some(), moving) {
        (Kind::Flags, ..) => &[StepName::Mark],
        (Kind::Copy, ..) if within => &[StepName::Copy],
        (Kind::Copy, ..) => &[StepName::Append, StepName::Confirm],
        (Kind::Move | Kind::Delete, false, _) => &[StepName::Remove],
        (Kind::Move | Kind::Delete, true, Moving::AtOnce) if within => &[StepName::Move],
        (Kind::Move | Kind::Delete, true, Moving::ByCopy) if within => {
            &[StepName::Copy, StepName::Remove]
        }
        (Kind::Move | Kind::Delete, true, _) => {
            &[StepName::Append, StepName::Confirm, StepName::Remove]
        }
        (Kind::Draft, ..) => &[StepName::Append],
    }
}

/// How the last attempt at a step came out.
pub(super) fn last(transaction: &Transaction, step: StepName) -> Option<(StepState, Option<&str>)> {
    let mut backwards = transaction.steps.iter().rev();
    let record = backwards.find(|record| record.name == step)?;
    Some((record.state, record.why.as_deref()))
}

/// Whether something stands in the target by now that was not there before.
pub(super) fn has_left_a_copy(transaction: &Transaction) -> bool {
    let copied = [StepName::Copy, StepName::Append];
    copied
        .into_iter()
        .any(|step| matches!(last(transaction, step), Some((StepState::Done, _))))
}

/// Whether it lies in the target as it did before, under a label that it had. What was said of it at the first attempt counts,
/// and otherwise where it lies: what came to it later would have put the label on itself.
pub(super) fn was_there(transaction: &Transaction) -> bool {
    let mut steps = transaction.steps.iter();
    let known = &transaction.known;
    let is_old = |landing| known.store_id.is_some() && !is_beyond(transaction, landing);
    steps.any(|step| step.why.as_deref() == Some(WAS_THERE)) || known.landed.is_some_and(is_old)
}

/// Whether something lies where the target had not come to when this began.
pub(super) fn is_beyond(transaction: &Transaction, landing: Landing) -> bool {
    transaction.asked.horizon.is_none_or(|horizon| {
        horizon.uidvalidity != landing.uidvalidity || landing.uid >= horizon.next
    })
}

/// Whether a message goes from one account to another.
pub(super) fn crosses(transaction: &Transaction) -> bool {
    let asked = &transaction.asked;
    let from = asked.source.as_ref().map(|at| &at.account);
    let to = asked.target.as_ref().map(|target| &target.account);
    from.is_some() && to.is_some() && from != to
}

/// Whether two accounts are one mailbox of a store that keeps a message once: what was added is what it was added from.
pub(super) fn is_one_message(transaction: &Transaction) -> bool {
    let (asked, known) = (&transaction.asked, &transaction.known);
    let same_home = asked.source_home.is_some() && asked.source_home == asked.target_home;
    crosses(transaction)
        && known.store_id.is_some()
        && (same_home || known.source_id == known.store_id)
}

/// The step that is tried again for a person to whom the rest was left.
pub(super) fn stuck(transaction: &Transaction) -> StepName {
    let is_refused =
        |step: &StepName| matches!(last(transaction, *step), Some((StepState::Refused, _)));
    let refused = route(transaction).iter().copied().find(is_refused);
    let itself =
        |step: &StepName| was_half_done(transaction, *step) || !has_left_a_copy(transaction);
    refused.filter(itself).unwrap_or(StepName::Withdraw)
}

/// Whether a step was found to have happened in part, or may have.
pub(super) fn was_half_done(transaction: &Transaction, step: StepName) -> bool {
    let mut steps = transaction.steps.iter();
    steps.any(|record| record.name == step && record.why.as_deref() == Some(HALF_DONE))
}

/// The same of any step.
pub(super) fn has_half_done(transaction: &Transaction) -> bool {
    let mut steps = transaction.steps.iter();
    steps.any(|record| record.why.as_deref() == Some(HALF_DONE))
}

fn half_done(because: &str) -> Next {
    Next::End(
        State::NeedsOperator,
        Ending {
            code: Some(because.to_owned()),
            words: Some(
                "some of its flags were changed and the rest was refused: look at the message's flags (\\Deleted among \
                 them), put them right, then resolve this as done or undone"
                    .to_owned(),
            ),
        },
    )
}

/// Puts back what was done, because it cannot go on.
fn withdraw(transaction: &Transaction, because: &str) -> Next {
    match last(transaction, StepName::Withdraw) {
        None | Some((StepState::Refused, Some(NOT_DONE | HALF_DONE))) => {
            Next::Take(StepName::Withdraw)
        }
        Some((StepState::Intended | StepState::Unknown, _)) => Next::FindOut(StepName::Withdraw),
        // Where a server cannot remove one message alone, flagged is as far as it goes; it is said.
        Some((StepState::Done, why)) => ends(State::Undone, why.unwrap_or(because)),
        Some((StepState::Refused, _)) => Next::End(
            State::NeedsOperator,
            Ending {
                code: Some(because.to_owned()),
                words: Some(
                    "the message stands in the target, could not be removed from its source, and the copy could not \
                     be taken back: remove one of the two by hand, then resolve this as done or undone"
                        .to_owned(),
                ),
            },
        ),
    }
}

fn ends(state: State, code: &str) -> Next {
    let ending = Ending {
        code: Some(code.to_owned()),
        words: None,
    };
    Next::End(state, ending)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transact::tests::transaction;
    use ledger::StepRecord;
    use mail::{Horizon, Uid, UidValidity};

    /// `Move:refused:not_offered Copy:done`
    fn written(kind: Kind, shape: &str, steps: &str) -> Transaction {
        let mut made = transaction(kind, shape);
        for step in steps.split_whitespace() {
            let mut parts = step.split(':');
            let mut word = || parts.next();
            made.steps.push(StepRecord {
                name: StepName::from_name(word().unwrap()).unwrap(),
                state: StepState::from_name(word().unwrap()).unwrap(),
                at: jiff::Timestamp::UNIX_EPOCH,
                why: word().map(str::to_owned),
            });
        }
        made
    }

    fn said(next: Next) -> String {
        match next {
            Next::Take(step) => format!("take {}", step.name()),
            Next::FindOut(step) => format!("find out {}", step.name()),
            Next::End(state, ending) => {
                let code = ending.code.map(|code| format!(" {code}"));
                format!("{}{}", state.name(), code.unwrap_or_default())
            }
        }
    }

    #[test]
    fn every_history_has_one_way_on() {
        use Kind::{Copy, Delete, Draft, Flags, Move};
        for (kind, shape, steps, want) in [
            (Flags, "one", "", "take mark"),
            (Flags, "one", "mark:intended", "find out mark"),
            (Flags, "one", "mark:unknown", "find out mark"),
            (Flags, "one", "mark:done", "done"),
            (Flags, "one", "mark:refused:not_done", "take mark"),
            (Flags, "one", "mark:refused:read_only", "undone read_only"),
            (Flags, "one", "mark:refused:half_done", "take mark"),
            (
                Flags,
                "one",
                "mark:refused:half_done mark:refused:read_only",
                "needs_operator read_only",
            ),
            (Flags, "one", "mark:refused:half_done mark:done", "done"),
            (Copy, "within", "", "take copy"),
            (Copy, "within", "copy:done", "done"),
            (Copy, "within", "copy:done:was_there", "done"),
            (Copy, "within", "copy:unknown", "find out copy"),
            (
                Copy,
                "within",
                "copy:refused:over_quota",
                "undone over_quota",
            ),
            (Copy, "across", "", "take append"),
            (Copy, "across", "append:done", "take confirm"),
            (Copy, "across", "append:done confirm:done", "done"),
            // INVARIANT: a copy never has anything to do with its source again.
            (
                Copy,
                "across",
                "append:done confirm:refused:copy_differs",
                "take withdraw",
            ),
            (
                Copy,
                "across",
                "append:done confirm:refused:copy_differs withdraw:done",
                "undone copy_differs",
            ),
            (Move, "within", "", "take move"),
            (Move, "within", "move:done", "done"),
            (Move, "within", "move:refused:not_offered", "take copy"),
            (Move, "within", "move:refused:read_only", "undone read_only"),
            (
                Move,
                "within",
                "move:refused:not_offered copy:done",
                "take remove",
            ),
            (
                Move,
                "within",
                "move:refused:not_offered copy:done remove:done:flagged_only",
                "done flagged_only",
            ),
            (
                Move,
                "within",
                "move:refused:not_offered copy:done remove:refused:server_refused",
                "take withdraw",
            ),
            (Move, "across", "append:done confirm:done", "take remove"),
            (
                Move,
                "across",
                "append:done confirm:done remove:unknown",
                "find out remove",
            ),
            (
                Move,
                "across",
                "append:done confirm:done remove:refused:not_done",
                "take remove",
            ),
            (
                Move,
                "across",
                "append:done confirm:done remove:done",
                "done",
            ),
            (
                Move,
                "across",
                "append:done confirm:done remove:refused:read_only withdraw:unknown",
                "find out withdraw",
            ),
            (
                Move,
                "across",
                "append:done confirm:done remove:refused:read_only withdraw:refused:read_only",
                "needs_operator read_only",
            ),
            (
                Move,
                "across",
                "append:done confirm:done remove:refused:read_only withdraw:done:flagged_only",
                "undone flagged_only",
            ),
            // A copy that is flagged and not gone yet is nothing for a person to decide.
            (
                Move,
                "across",
                "append:done confirm:done remove:refused:read_only withdraw:refused:half_done",
                "take withdraw",
            ),
            (
                Move,
                "across",
                "append:done confirm:done remove:refused:half_done remove:refused:read_only",
                "needs_operator read_only",
            ),
            // The original went before the copy could be taken back.
            (
                Move,
                "across",
                "append:done confirm:done remove:refused:not_found withdraw:refused:original_gone remove:done",
                "done",
            ),
            // That one of two copies went is not that the other did.
            (
                Move,
                "across",
                "append:refused:not_done append:done thin:done:7:42 confirm:done remove:refused:read_only",
                "take withdraw",
            ),
            (
                Copy,
                "within",
                "copy:done thin:intended:7:42",
                "find out thin",
            ),
            (Copy, "within", "copy:done thin:unknown", "find out thin"),
            (Copy, "within", "copy:done thin:done", "done"),
            (
                Copy,
                "within",
                "copy:done thin:refused:maybe_twice",
                "done maybe_twice",
            ),
            (Delete, "within", "", "take move"),
            (Delete, "one", "", "take remove"),
            (Delete, "one", "remove:done", "done"),
            (Draft, "new", "", "take append"),
            (Draft, "new", "append:done", "done"),
        ] {
            let got = said(next(&written(kind, shape, steps)));
            assert_eq!(got, want, "{kind:?} {shape}: {steps}");
        }
    }

    #[test]
    fn what_was_left_to_a_person_is_tried_again_where_it_stuck() {
        use Kind::{Flags, Move};
        for (kind, shape, steps, want) in [
            (
                Flags,
                "one",
                "mark:refused:half_done mark:refused:read_only",
                StepName::Mark,
            ),
            (
                Move,
                "across",
                "append:done confirm:done remove:refused:half_done remove:refused:read_only",
                StepName::Remove,
            ),
            (
                Move,
                "across",
                "append:done confirm:done remove:refused:read_only withdraw:refused:read_only",
                StepName::Withdraw,
            ),
        ] {
            let mut stuck_there = written(kind, shape, steps);
            assert_eq!(stuck(&stuck_there), want, "{steps}");
            stuck_there.steps.push(StepRecord {
                name: want,
                state: StepState::Intended,
                at: jiff::Timestamp::UNIX_EPOCH,
                why: None,
            });
            assert_eq!(next(&stuck_there), Next::FindOut(want), "{steps}");
        }
    }

    #[test]
    fn what_lay_there_before_and_what_is_one_message_is_told_by_what_is_written() {
        use Kind::{Copy, Move};
        let landing = |uid| Landing {
            uidvalidity: UidValidity(7),
            uid: Uid(uid),
        };
        let end = Horizon {
            uidvalidity: UidValidity(7),
            next: Uid(40),
        };
        // What each store calls it, where it lies, what the step said; whether it was there, and whether it is one.
        for (kind, shape, ids, landed, steps, was, one) in [
            (
                Move,
                "within",
                (None, Some(1)),
                Some(39),
                "move:done",
                true,
                false,
            ),
            (
                Move,
                "within",
                (None, Some(1)),
                Some(40),
                "move:done",
                false,
                false,
            ),
            (
                Move,
                "within",
                (None, Some(1)),
                None,
                "move:done",
                false,
                false,
            ),
            (
                Move,
                "within",
                (None, Some(1)),
                None,
                "move:done:was_there",
                true,
                false,
            ),
            // A server without names of its own that says a number from before has said nothing.
            (
                Move,
                "within",
                (None, None),
                Some(39),
                "move:done",
                false,
                false,
            ),
            (
                Copy,
                "across",
                (None, Some(1)),
                Some(39),
                "append:done",
                true,
                false,
            ),
            (
                Copy,
                "across",
                (Some(2), Some(1)),
                Some(40),
                "append:done",
                false,
                false,
            ),
            (
                Copy,
                "across",
                (Some(1), Some(1)),
                Some(40),
                "append:done",
                false,
                true,
            ),
            (
                Copy,
                "across",
                (Some(1), None),
                Some(40),
                "append:done",
                false,
                false,
            ),
            (
                Copy,
                "across",
                (None, None),
                Some(40),
                "append:done",
                false,
                false,
            ),
        ] {
            let mut made = written(kind, shape, steps);
            made.asked.horizon = Some(end);
            (made.known.source_id, made.known.store_id) = ids;
            made.known.landed = landed.map(landing);
            let what = format!("{kind:?} {shape} {ids:?} {landed:?} {steps}");
            assert_eq!(was_there(&made), was, "{what}");
            assert_eq!(is_one_message(&made), one, "{what}");
            let home = Some("home".to_owned());
            (made.asked.source_home, made.asked.target_home) = (home.clone(), home);
            let by_home = one || shape == "across" && ids.1.is_some();
            assert_eq!(is_one_message(&made), by_home, "{what}");
        }
    }
}
