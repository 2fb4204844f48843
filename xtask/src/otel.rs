//! `cargo xtask otel`: lints and tests the program with the feature that sends traces. It builds a good deal, so `./test`
//! leaves it out.

use std::process::Command;

pub(crate) fn check() -> Result<String, String> {
    let feature = ["-p", "mailwarden", "--features", "otel"];
    run(&[
        &["clippy"],
        &feature[..],
        &["--bins", "--test", "otel", "--", "-D", "warnings"],
    ]
    .concat())?;
    run(&[&["test"], &feature[..], &["--test", "otel"]].concat())?;
    Ok("traces: good".to_owned())
}

fn run(words: &[&str]) -> Result<(), String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let ran = Command::new(cargo).args(words).status();
    match ran {
        Ok(status) if status.success() => Ok(()),
        Ok(_) => Err(format!("cargo {} failed", words.join(" "))),
        Err(error) => Err(format!("cargo could not be started: {error}")),
    }
}
