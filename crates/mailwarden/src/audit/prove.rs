//! `audit prove`: a proof for one record, for whoever has the log's public key.

use std::process::ExitCode;

use super::logs::Log;
use super::page::{Form, Page};

pub(super) fn run(log: &Log, seq: u64, page: &mut Page) -> anyhow::Result<ExitCode> {
    let document = audit::proof::prove(&log.dir, seq)?;
    page.line(match page.form {
        Form::Json => document.to_string(),
        Form::Human => format!("{document:#}"),
    })?;
    Ok(ExitCode::SUCCESS)
}
