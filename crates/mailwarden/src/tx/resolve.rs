//! `tx resolve`: a person says how a transaction came out that nobody else could tell.
//!
//! It changes no mail, and takes nothing out of the hands of who is still at it: only what was left to a person. Who
//! looked into the mailboxes knows more than the program can find out.

use std::path::Path;
use std::process::ExitCode;

use anyhow::Context as _;
use audit::Event;
use ledger::{Ending, Ledger, LedgerFault, Note, State, TransactionId};

use super::{Form, existing, parsed, show, unknown};
use crate::cli::{Resolution, TxResolve};
use crate::screen::Screen;
use crate::{config, wiring};

/// What such an end is called.
const CODE: &str = "resolved_by_operator";

pub(super) async fn run(
    directory: Option<&Path>,
    wanted: &TxResolve,
    verb: &'static str,
    form: Form,
    screen: Screen,
) -> anyhow::Result<ExitCode> {
    let id = parsed(&wanted.id)?;
    let ledger = existing(directory)
        .await?
        .ok_or_else(|| unknown(&LedgerFault::Unknown))?;
    let place = config::log_directory(directory)
        .context("the configuration does not tell where the audit log is")?;
    crate::beside::enter_as_command(place.as_deref()).map_err(anyhow::Error::msg)?;
    let log = wiring::log(None, place, verb);
    let outcome = resolve(&ledger, &log, &id, wanted).await;
    let why = match &outcome {
        Ok(()) => "done",
        Err(_) => "it failed",
    };
    log.close(why).await;
    outcome?;
    let came = ledger.get(&id).await;
    let came = came.and_then(|came| came.ok_or(LedgerFault::Unknown));
    show::print(&came.map_err(|fault| unknown(&fault))?, form, screen);
    Ok(ExitCode::SUCCESS)
}

/// INVARIANT: what cannot be recorded is not done. What is not done is left as it was.
async fn resolve(
    ledger: &Ledger,
    log: &audit::Log,
    id: &TransactionId,
    wanted: &TxResolve,
) -> anyhow::Result<()> {
    let before = ledger.get(id).await.map_err(|fault| unknown(&fault))?;
    let before = before.ok_or_else(|| unknown(&LedgerFault::Unknown))?;
    // INVARIANT: what may still be carried out is not said to be over. From here on nobody else works on it.
    let taken = ledger.take_to_decide(id).await;
    let lease = taken.map_err(|fault| not_left(&fault, id))?.lease;
    let state = match wanted.came {
        Resolution::Done => State::Done,
        Resolution::Undone => State::Undone,
    };
    let resolved = Event::transaction_resolved(id.as_str(), state.name());
    if let Err(why) = log.append(resolved).await {
        let as_it_was = Note::Ends(before.state, before.ending.unwrap_or_default());
        if ledger.write(&lease, vec![as_it_was]).await.is_err() {
            ledger.release(&lease);
        }
        return Err(anyhow::anyhow!(
            "it cannot be recorded, so nothing is decided: {why}"
        ));
    }
    let ending = Ending {
        code: Some(CODE.to_owned()),
        words: wanted.note.clone(),
    };
    let written = ledger.write(&lease, vec![Note::Ends(state, ending)]).await;
    if written.is_err() {
        ledger.release(&lease);
    }
    written
        .map_err(|fault| unknown(&fault))
        .context("nothing is decided; try again when that is mended")
}

/// Why it is not for a person to decide.
fn not_left(fault: &LedgerFault, id: &TransactionId) -> anyhow::Error {
    match fault {
        LedgerFault::Leased | LedgerFault::UnderWay => anyhow::anyhow!(
            "{fault}, so there is nothing to decide yet: it goes on by itself, and `mailwarden tx retry {id}` goes on with \
             it now. Only what is left to you (needs_operator) can be resolved"
        ),
        other => unknown(other),
    }
}
