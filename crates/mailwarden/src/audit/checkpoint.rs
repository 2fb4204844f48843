//! `audit checkpoint`: the newest signed checkpoint, to be kept where who can write the log cannot.

use std::process::ExitCode;

use anyhow::Context as _;
use serde_json::json;

use super::logs::Log;
use super::page::{Form, Page};

pub(super) fn run(log: &Log, page: &mut Page) -> anyhow::Result<ExitCode> {
    let dir = log.dir.as_path();
    let nowhere = || format!("there is no audit log in {}", dir.display());
    let key = audit::verifier(dir).with_context(nowhere)?;
    let found = audit::read::newest(dir, &key)?;
    let (signed, checkpoint) =
        found.context("the log has no checkpoint that its key has signed")?;
    match page.form {
        Form::Human => page.line(signed.note.trim_end())?,
        Form::Json => page.line(json!({
            "origin": checkpoint.origin,
            "tree_size": checkpoint.size,
            "root": checkpoint.root.to_string(),
            "key": key.to_string(),
            "note": signed.note,
        }))?,
    }
    Ok(ExitCode::SUCCESS)
}
