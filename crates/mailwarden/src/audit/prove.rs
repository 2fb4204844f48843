//! `audit prove`: a proof for one record, for whoever has the log's public key.

use std::path::Path;
use std::process::ExitCode;

use super::page::{Form, Page};

pub(super) fn run(dir: &Path, seq: u64, page: &mut Page) -> anyhow::Result<ExitCode> {
    let document = audit::proof::prove(dir, seq)?;
    page.line(match page.form {
        Form::Json => document.to_string(),
        Form::Human => format!("{document:#}"),
    })?;
    Ok(ExitCode::SUCCESS)
}
