//! `tx undo`: what a transaction changed is put back, by another one.

use std::process::ExitCode;

use anyhow::anyhow;
use gateway::{Gateway, NotUndone};
use ledger::State;

use super::{Form, parsed, show, unknown};
use crate::screen::Screen;

/// Fails where it is not put back, or not known to be.
pub(super) async fn run(
    gateway: &Gateway,
    id: &str,
    form: Form,
    screen: Screen,
) -> anyhow::Result<ExitCode> {
    let came = gateway.undo_as_operator(&parsed(id)?).await;
    let came = came.map_err(|why| match why {
        NotUndone::Ledger(fault) => unknown(&fault).context("nothing is undone"),
        NotUndone::Refused(why) => anyhow!("this cannot be undone: {why}"),
    })?;
    show::print(&came, form, screen);
    Ok(match came.state {
        State::Done => ExitCode::SUCCESS,
        State::Open | State::Undone | State::NeedsOperator => ExitCode::FAILURE,
    })
}
