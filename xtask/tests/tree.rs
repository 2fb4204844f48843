//! The tree as it is: tidy, and its made documents current. `cargo xtask` says the same at more leisure.

use std::process::Command;

#[test]
fn the_tree_is_tidy() -> Result<(), String> {
    xtask(&["tidy"])
}

#[test]
fn docs_are_current() -> Result<(), String> {
    xtask(&["docs", "--check"])
}

fn xtask(words: &[&str]) -> Result<(), String> {
    let output = Command::new(env!("CARGO_BIN_EXE_xtask"))
        .args(words)
        .output()
        .map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(());
    }
    Err(String::from_utf8_lossy(&output.stderr).into_owned())
}
