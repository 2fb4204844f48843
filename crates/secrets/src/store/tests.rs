//! What holds for every store, and what the tests of each have in common.

use super::*;

/// Where programs are, for tests.
pub(super) const SEARCH: &str = "/usr/local/bin:/usr/bin:/bin";

pub(super) fn reference() -> SecretRef {
    SecretRef::parse("secret://accounts/work/password", "").unwrap()
}

pub(super) fn words(all: &[&str]) -> Vec<String> {
    all.iter().map(|word| (*word).to_owned()).collect()
}

/// An executable script. Another process writes it: whoever holds a file open for writing while a program is started elsewhere in
/// this process could not start it.
#[cfg(unix)]
pub(super) fn script(path: &std::path::Path, text: &str) {
    let mut write = std::process::Command::new("sh");
    write.args([
        "-c",
        "printf '%s' \"$1\" > \"$2\" && chmod 700 \"$2\"",
        "sh",
    ]);
    let written = write.arg(format!("#!/bin/sh\n{text}\n")).arg(path).status();
    assert!(written.unwrap().success());
}

#[test]
fn what_cannot_be_written_says_so_before_it_is_tried() {
    let secret = SecretString::from("canary-4711");
    for (store, says) in [
        (Store::None, "no secret_store"),
        (
            Store::EnvVar(Variables::new([])),
            "env_var secret store cannot keep",
        ),
    ] {
        let told = store.writable(&reference()).unwrap_err();
        assert!(told.what.contains(says), "{told}");
        assert_eq!(store.write(&reference(), &secret), Err(told));
        assert!(store.is_same(&store));
    }
    assert!(!Store::None.is_same(&Store::EnvVar(Variables::new([]))));
}
