//! docs/replicas-under-fire.md and the same on the screen: what was done to the replicas, what was counted, what held.
//! Leaves nothing out.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

use super::{Found, Wanted};
use crate::load::{GOALS, Spread, goal, machine, spread, spreads};

const PAGE: &str = "docs/replicas-under-fire.md";
const HEAD: &str = "\
# Replicas under fire

<!-- Made by `cargo xtask replicas --write`; edit the code, not this file. -->

Two replicas of the release build share a PostgreSQL ([replicas](replicas.md)); each has its own audit log. Clients ask them by turns and stay with none: who
cannot be connected to is passed over, and what broke off, or is not known, is asked for again of the other, a change under the same
`idempotency_key`. Writers mark, move, copy, draft and undo, in an account and between accounts; several share an account and copy the
same messages to the same place, and each knows what must become of what it asked for. Readers page through a folder that nobody changes, each page by the cursor of the other replica. Meanwhile one replica after the
other is killed (SIGKILL) and started again at once, and PostgreSQL is restarted. In the end both replicas are ended in order, one more is
started for what is still open, and then everything is compared: every message of every folder by plain IMAP (number, flags, size) with
what was answered, every answer's receipt with the records of both logs, the ledger with what clients were told. Agents with a policy cannot delete, so nothing is deleted here.
";

/// The page, or what is told on the screen.
pub(super) fn text(wanted: &Wanted, found: &Found) -> String {
    let told = &found.told;
    let mut out = format!(
        "## {} writers and {} readers for {:.0} s\n\n{}\n\n{} kills, one every {} s; PostgreSQL restarted {}; a killed replica listened again after {:.1} s at most. \
         The last change was known {:.0} s after clients stopped asking for new ones.\n",
        wanted.writers,
        wanted.readers,
        wanted.lasting.as_secs_f64(),
        machine([&found.load[0], &found.load[1]]),
        found.kills,
        wanted.between.as_secs(),
        match found.restarts {
            1 => "once".to_owned(),
            times => format!("{times} times"),
        },
        found.slowest.as_secs_f64(),
        found.settled_after.as_secs_f64()
    );
    out.push_str(GOALS);
    let mut none = |what: &str, of: String, faults: usize| {
        goal(
            &mut out,
            what,
            &format!("{faults} ({of})"),
            "none",
            faults == 0,
        );
    };
    let wrong = &found.wrong;
    let messages = format!("{} messages compared", found.messages);
    none(
        "messages lost, doubled or not as they were told",
        messages,
        wrong.mail.len(),
    );
    let changes = format!(
        "{} changes done, {} not done",
        told.changes(),
        told.undone.values().sum::<usize>()
    );
    none(
        "changes without an end, or with a wrong one",
        changes,
        wrong.clients.len(),
    );
    let states: Vec<String> = found
        .left
        .states
        .iter()
        .map(|(state, count)| format!("{count} {state}"))
        .collect();
    let states = format!(
        "{}; {} were open when both had ended",
        states.join(", "),
        found.left.open
    );
    none(
        "transactions left open, or done unknown to clients",
        states,
        wrong.ledger.len(),
    );
    let pages = format!(
        "{} pages, {} by the other's cursor, {} walks to the end",
        told.read.len(),
        told.handed_over,
        told.walks
    );
    none(
        "pages that failed, skipped or repeated",
        pages,
        wrong.pages.len(),
    );
    let receipts = format!(
        "{} receipts, {} records in {} logs",
        told.heard.receipts.len(),
        found.records,
        found.logs
    );
    none(
        "receipts in no log, in two or of another call",
        receipts,
        wrong.receipts.len(),
    );
    let without: usize = told.heard.without.values().sum();
    none(
        "answers without a receipt that should have one",
        format!("{without} in all"),
        wrong.unrecorded.len(),
    );
    none(
        "logs that do not verify",
        format!("{} logs", found.logs),
        wrong.logs.len(),
    );
    let drained = found.left.drained.iter().flatten();
    let drained: Vec<String> = drained
        .map(|took| format!("{:.1} s", took.as_secs_f64()))
        .collect();
    none(
        "replicas that did not end in order",
        format!("after {}", drained.join(", ")),
        wrong.ends.len(),
    );
    let _ = writeln!(
        out,
        "\n{} calls ({:.0} a second), {} answered, {} cut off by a kill, {} connections refused. {} changes were asked for more than once, \
         {} times in all.",
        told.heard.asked,
        told.heard.asked as f64 / wanted.lasting.as_secs_f64(),
        told.heard.answered,
        told.heard.broken,
        told.heard.refused,
        told.again,
        told.repeats
    );
    let rows: [(&str, Spread); 2] = [
        ("a change, until it is known", spread(told.settled.clone())),
        ("a page", spread(told.read.clone())),
    ];
    spreads(
        &mut out,
        rows.into_iter().map(|(name, row)| (name.to_owned(), row)),
    );
    out.push_str(
        "\nA copy or draft whose answer was lost with its replica is answered as unknown, and \
         not made again while the server may still come to it (a minute): these take longest.\n",
    );
    counts(
        &mut out,
        "changes done",
        told.done.iter().map(|(kind, count)| (*kind, *count)),
    );
    list(&mut out, "changes not done, and why", &told.undone);
    list(
        &mut out,
        "answers after which a change was asked for again",
        &told.waits,
    );
    list(&mut out, "answers without a receipt", &told.heard.without);
    out
}

pub(super) fn write(text: &str) -> Result<(), String> {
    fs::write(PAGE, format!("{HEAD}\n{text}")).map_err(|error| format!("{PAGE}: {error}"))
}

fn list(out: &mut String, what: &str, all: &BTreeMap<String, usize>) {
    counts(
        out,
        what,
        all.iter().map(|(says, count)| (says.as_str(), *count)),
    );
}

fn counts<'a>(out: &mut String, what: &str, rows: impl Iterator<Item = (&'a str, usize)>) {
    let rows: Vec<String> = rows
        .map(|(name, count)| format!("| {name} | {count} |\n"))
        .collect();
    if !rows.is_empty() {
        let _ = write!(out, "\n| {what} | |\n|---|--:|\n{}", rows.concat());
    }
}
