//! The last chapter: what the audit log says of all that was done here.

use std::path::Path;

use anyhow::{Context as _, ensure};
use tokio::process::Command;

use super::page::Page;

/// Asks this very program, as an operator would.
pub(super) async fn show(page: &Page, program: &Path, state: &Path) -> anyhow::Result<()> {
    page.heading("All of it is on record, and the record can be verified");
    let log = state.join("audit");
    for words in [&["tail", "-n", "6"][..], &["verify"]] {
        page.tinted(&format!("$ mailwarden audit {}", words.join(" ")), |text| {
            page.screen.good(text)
        });
        let output = Command::new(program)
            .arg("audit")
            .args(words)
            .arg("--dir")
            .arg(&log)
            .env("COLUMNS", page.room().to_string())
            .output()
            .await
            .context("the audit log cannot be read")?;
        ensure!(output.status.success(), "the audit log cannot be verified");
        let said = String::from_utf8_lossy(&output.stdout);
        // Where the log is matters to nobody: it is gone when the demo is over.
        let lines = said.lines().filter(|line| !line.starts_with("log "));
        lines
            .filter(|line| !line.is_empty())
            .for_each(|line| page.note(line));
    }
    Ok(())
}
