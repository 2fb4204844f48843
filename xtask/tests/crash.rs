//! The short form of `cargo xtask crash`: nothing is done at a server that the log does not know of.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::process::Command;

#[test]
fn whatever_was_done_or_told_is_in_the_log() -> Result<(), String> {
    let output = Command::new(env!("CARGO_BIN_EXE_xtask"))
        .args(["crash", "--short"])
        .output()
        .map_err(|error| error.to_string())?;
    eprintln!("{}", String::from_utf8_lossy(&output.stdout));
    match output.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}
