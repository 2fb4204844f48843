//! `mailwarden tx`: changes to mail as transactions, for whoever answers for them.
//!
//! Listing and showing read the ledger and nothing else, also beside a running server.

mod list;
mod resolve;
mod retry;
mod show;
mod told;
mod undo;

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use gateway::{Gateway, Writes};
use ledger::{Filter, Ledger, LedgerFault, State, Transaction, TransactionId};

use crate::cli::{Tx, TxVerb, Verb};
use crate::config::{self, Config, LedgerPlace};
use crate::screen::Screen;
use crate::wiring;

pub(crate) fn run(
    verb: &Verb,
    wanted: &Tx,
    directory: Option<&Path>,
    screen: Screen,
) -> anyhow::Result<ExitCode> {
    let form = match wanted.json {
        true => Form::Json,
        false => Form::Words,
    };
    match &wanted.verb {
        TxVerb::List { all, caller } => {
            let states = match all {
                true => Vec::new(),
                false => unfinished().states,
            };
            let filter = Filter {
                caller: caller.clone(),
                states,
                limit: 0,
            };
            crate::in_runtime(list::run(directory, filter, form, screen))
        }
        TxVerb::Show { id } => crate::in_runtime(show::run(directory, id, form, screen)),
        TxVerb::Resolve(wanted) => {
            let verb = verb.recorded_as().unwrap_or_default();
            crate::in_runtime(resolve::run(directory, wanted, verb, form, screen))
        }
        TxVerb::Retry { id } => crate::with_config(verb, directory, async |config, log| {
            let gateway = changing(config, log).await?;
            let code = retry::run(&gateway, id, form, screen).await?;
            Ok((code, "done"))
        }),
        TxVerb::Undo { id } => crate::with_config(verb, directory, async |config, log| {
            let gateway = changing(config, log).await?;
            let code = undo::run(&gateway, id, form, screen).await?;
            Ok((code, "done"))
        }),
    }
}

/// Those that are not at their end.
pub(crate) fn unfinished() -> Filter {
    Filter {
        states: vec![State::Open, State::NeedsOperator],
        ..Filter::default()
    }
}

/// How many of these wait for a person.
pub(crate) fn to_decide(transactions: &[Transaction]) -> usize {
    let waiting = transactions.iter();
    waiting
        .filter(|one| one.state == State::NeedsOperator)
        .count()
}

/// How an answer is printed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Form {
    Words,
    Json,
}

/// The ledger as it is; `None` where nothing was ever changed.
async fn existing(directory: Option<&Path>) -> anyhow::Result<Option<Ledger>> {
    at(&place(directory)?).await
}

fn place(directory: Option<&Path>) -> anyhow::Result<LedgerPlace> {
    let place = config::ledger_place(directory)
        .context("the configuration does not tell where changes are written down")?;
    if place == LedgerPlace::Nowhere {
        bail!(
            "accounts.yaml has no `wal` section and no `ledger`, so every change is refused and there are no transactions"
        )
    }
    Ok(place)
}

async fn at(place: &LedgerPlace) -> anyhow::Result<Option<Ledger>> {
    match place.exists() {
        true => open(place).await.map(Some),
        false => Ok(None),
    }
}

async fn open(place: &LedgerPlace) -> anyhow::Result<Ledger> {
    let opened = place.open().await;
    let opened = opened.context("there is no home directory; set MAILWARDEN_STATE_DIR")?;
    opened.with_context(|| place.to_string())
}

/// The operator's gateway, with the ledger of the configuration.
///
/// INVARIANT: the gate is for agents. Who closes it because of what one of them did can still put that right; `--read-only`
/// is said to this very command, and is the only thing that keeps it from changing mail.
async fn changing(config: Config, log: audit::Log) -> anyhow::Result<Gateway> {
    let changes = config.changes.clone();
    if changes.writes != Writes::Allowed {
        crate::complain(
            "agents may change nothing now (MAIL_IMAP_WRITE_ENABLED); this is your own command, so it is carried out",
        );
    }
    if changes.ledger == LedgerPlace::Nowhere {
        bail!("the configuration has no place where changes are written down");
    }
    let ledger = open(&changes.ledger).await?;
    let gateway = wiring::owners_gateway(config, log)?;
    Ok(gateway.with_ledger(ledger, changes.deletes, changes.settle))
}

fn parsed(id: &str) -> anyhow::Result<TransactionId> {
    TransactionId::parse(id)
        .with_context(|| "this is no transaction's name; `mailwarden tx list --all` shows them")
}

fn unknown(fault: &LedgerFault) -> anyhow::Error {
    let hint = match fault {
        LedgerFault::Unknown => "; `mailwarden tx list --all` shows those there are",
        LedgerFault::Leased => "; wait for it, or end that process",
        LedgerFault::Over => "; `mailwarden tx show` tells how it came out",
        LedgerFault::UnderWay => "; `mailwarden tx retry` goes on with it now",
        LedgerFault::Unwritable(_)
        | LedgerFault::Away { .. }
        | LedgerFault::Foreign(_)
        | LedgerFault::Taken
        | LedgerFault::LockLost => "",
    };
    anyhow::anyhow!("{fault}{hint}")
}
