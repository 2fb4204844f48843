//! A transaction as a person or a program reads it.
//!
//! Names of folders, flags and callers come from elsewhere: nothing of them steers a terminal.

use jiff::Timestamp;
use ledger::{Kind, Mark, State, StepRecord, Transaction};
use serde_json::{Value, json};

use crate::audit::safe;
use crate::screen::Screen;

pub(super) fn object(one: &Transaction) -> Value {
    let asked = &one.asked;
    let known = &one.known;
    let time = |at: Option<Timestamp>| at.map(|at| at.to_string());
    let flags = |flags: &Option<Vec<mail::Flag>>| {
        let flags = flags.as_ref();
        flags.map(|all| {
            all.iter()
                .map(|flag| flag.as_str().to_owned())
                .collect::<Vec<_>>()
        })
    };
    json!({
        "transaction_id": one.id.as_str(),
        "state": one.state.name(),
        "kind": asked.kind.name(),
        "caller_id": asked.caller,
        "tool": asked.tool,
        "request_id": asked.request_id,
        "policy": asked.policy,
        "source": asked.source.as_ref().map(ToString::to_string),
        "target": asked.target.as_ref().map(|place| json!({
            "account": place.account.as_str(),
            "folder": place.folder.as_str(),
        })),
        "marks": asked.marks.iter().map(mark).collect::<Vec<_>>(),
        "idempotency_key": asked.key.as_ref().map(|key| &key.name),
        "size": known.size,
        "sha256": known.digest.map(|digest| hex(&digest.sha256)),
        "sha256_octets": known.digest.map(|digest| digest.octets),
        "message_id_header": known.message_id,
        "flags_before": flags(&known.flags),
        "flags_after": flags(&known.flags_after),
        "arrived": time(known.arrived),
        "landed": known.landed.map(|landed| json!({
            "uidvalidity": landed.uidvalidity.0,
            "uid": landed.uid.0,
        })),
        "steps": one.steps.iter().map(step).collect::<Vec<_>>(),
        "code": one.ending.as_ref().and_then(|ending| ending.code.as_ref()),
        "words": one.ending.as_ref().and_then(|ending| ending.words.as_ref()),
        "began": one.began.to_string(),
        "ended": time(one.ended),
        "attempts": one.attempts,
        "next_try": time(one.next_try),
        "undoes": asked.undoes.as_ref().map(ToString::to_string),
        "undone_by": one.undone_by.as_ref().map(ToString::to_string),
    })
}

fn step(step: &StepRecord) -> Value {
    json!({
        "name": step.name.name(),
        "state": step.state.name(),
        "at": step.at.to_string(),
        "why": step.why,
    })
}

/// All of it, a line for each thing that there is to say.
pub(super) fn lines(one: &Transaction, screen: Screen) -> Vec<String> {
    let asked = &one.asked;
    let known = &one.known;
    let mut lines = vec![format!(
        "{} {} {}",
        screen.bold(&one.id),
        asked.kind.name(),
        state(one.state, screen)
    )];
    let mut say = |name: &str, what: Option<String>| {
        if let Some(what) = what.filter(|what| !what.is_empty()) {
            lines.push(format!(
                "  {} {}",
                screen.dim(format!("{name:<12}")),
                safe(&what)
            ));
        }
    };
    say("what", Some(what(one)));
    say(
        "caller",
        Some(format!(
            "{} by {}, policy {}",
            asked.caller, asked.tool, asked.policy
        )),
    );
    say("request", Some(asked.request_id.clone()));
    say("key", asked.key.as_ref().map(|key| key.name.clone()));
    say("size", known.size.map(|size| format!("{size} octets")));
    say(
        "sha256",
        known
            .digest
            .map(|digest| match Some(digest.octets) == known.size {
                true => hex(&digest.sha256),
                false => format!(
                    "{} of the first {} octets",
                    hex(&digest.sha256),
                    digest.octets
                ),
            }),
    );
    say("message-id", known.message_id.clone());
    let flags = |flags: &Option<Vec<mail::Flag>>| {
        let words = flags.as_ref()?.iter().map(mail::Flag::as_str);
        let words: Vec<&str> = words.collect();
        Some(match words.is_empty() {
            true => "none".to_owned(),
            false => words.join(" "),
        })
    };
    say("flags before", flags(&known.flags));
    say("flags after", flags(&known.flags_after));
    say("arrived", known.arrived.map(time));
    say(
        "now at",
        known.landed.map(|landed| {
            format!(
                "uid {} (uidvalidity {})",
                landed.uid.0, landed.uidvalidity.0
            )
        }),
    );
    say("began", Some(time(one.began)));
    say("ended", one.ended.map(time));
    say(
        "taken up",
        (one.attempts > 0).then(|| format!("{} times since", one.attempts)),
    );
    say("next try", one.next_try.map(time));
    say("undoes", asked.undoes.as_ref().map(ToString::to_string));
    say("undone by", one.undone_by.as_ref().map(ToString::to_string));
    for step in &one.steps {
        let why = step.why.as_ref().map(|why| format!(": {why}"));
        let line = format!(
            "{} {} {}{}",
            time(step.at),
            step.name.name(),
            step.state.name(),
            why.unwrap_or_default()
        );
        say("step", Some(line));
    }
    let ending = one.ending.clone().unwrap_or_default();
    say("came to", ending.code);
    say("told", ending.words);
    lines.push(hint(one));
    lines
}

/// What a person can do about it.
fn hint(one: &Transaction) -> String {
    let id = &one.id;
    match one.state {
        State::NeedsOperator => format!(
            "Look into the mailboxes, then `mailwarden tx retry {id}` to have it tried again, or\n\
             `mailwarden tx resolve {id} --as done` (or undone) to say how it came out."
        ),
        State::Open => format!(
            "It goes on by itself where a server runs that may change mail; `mailwarden tx retry {id}` goes on with it now."
        ),
        State::Done => match (&one.undone_by, &one.asked.undoes) {
            (Some(by), _) => format!("It is put back, or being put back, by {by}."),
            (None, Some(undoes)) => format!("What {undoes} changed is put back."),
            (None, None) => {
                format!("`mailwarden tx undo {id}` puts it back, if that is still possible.")
            }
        },
        State::Undone => match &one.asked.undoes {
            Some(undoes) => format!("Nothing is put back: what {undoes} changed is as it was."),
            None if is_code(one, "flagged_only") => {
                "Nothing is changed by it, but that a copy is left flagged \\Deleted.".to_owned()
            }
            None => "Nothing is changed by it.".to_owned(),
        },
    }
}

fn is_code(one: &Transaction, code: &str) -> bool {
    let ending = one.ending.as_ref();
    ending.and_then(|ending| ending.code.as_deref()) == Some(code)
}

/// What it does, in a line.
pub(super) fn what(one: &Transaction) -> String {
    let asked = &one.asked;
    let source = asked.source.as_ref().map(ToString::to_string);
    let target = asked.target.as_ref();
    let target = target.map(|place| format!("{} / {}", place.account, place.folder));
    let marks: Vec<String> = asked.marks.iter().map(mark).collect();
    match (asked.kind, source, target) {
        (Kind::Flags, Some(source), _) => format!("{source}: {}", marks.join(" ")),
        (_, Some(source), Some(target)) => format!("{source} to {target}"),
        (Kind::Delete, Some(source), None) => format!("{source} for good"),
        (_, Some(source), None) => source,
        (_, None, Some(target)) => format!("a new message in {target}"),
        (_, None, None) => String::new(),
    }
}

/// The same for a list, where it also says what belongs together.
pub(super) fn listed(one: &Transaction) -> String {
    let undoes = one.asked.undoes.as_ref().map(|id| format!("undoes {id}"));
    let undone = one.undone_by.as_ref().map(|id| format!("undone by {id}"));
    let words: Vec<String> = [Some(what(one)), undoes, undone]
        .into_iter()
        .flatten()
        .collect();
    words.join(", ")
}

pub(super) fn state(state: State, screen: Screen) -> String {
    let name = state.name();
    match state {
        State::Done => screen.good(name),
        State::Open => screen.warn(name),
        State::NeedsOperator => screen.bad(name),
        State::Undone => screen.dim(name),
    }
}

/// To the second, as the audit log is shown.
pub(super) fn time(at: Timestamp) -> String {
    let text: String = at.to_string().chars().take(19).collect();
    text.replace('T', " ")
}

fn mark(mark: &Mark) -> String {
    match mark {
        Mark::Set(flag) => format!("+{}", flag.as_str()),
        Mark::Take(flag) => format!("-{}", flag.as_str()),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
