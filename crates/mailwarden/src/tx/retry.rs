//! `tx retry`: a transaction is taken up again, from where its steps and the mailboxes say it is.

use std::process::ExitCode;

use gateway::Gateway;
use ledger::State;

use super::{Form, parsed, show, unknown};
use crate::screen::Screen;

/// Fails where it is still not at its end.
pub(super) async fn run(
    gateway: &Gateway,
    id: &str,
    form: Form,
    screen: Screen,
) -> anyhow::Result<ExitCode> {
    let came = gateway.retry_transaction(&parsed(id)?).await;
    let came = came.map_err(|fault| unknown(&fault))?;
    show::print(&came, form, screen);
    Ok(match came.state {
        State::Done | State::Undone => ExitCode::SUCCESS,
        State::Open | State::NeedsOperator => ExitCode::FAILURE,
    })
}
