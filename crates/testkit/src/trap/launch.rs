//! A command that stops before the program's first instruction, so that a tracer can take hold of it. Starts nothing.

use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

/// Stops itself, and becomes the program when it is let go on. `PTRACE_TRACEME` in the child would need unsafe code.
const SCRIPT: &str = r#"kill -STOP $$; exec "$0" "$@""#;

/// The same program, arguments, variables and folder behind a shell that stops first; pipes for the three standard
/// streams, and a process group of its own.
pub(super) fn halted(command: &Command) -> Command {
    // A cleared environment shows in nothing but this, and must not be lost without a word.
    let shown = format!("{command:?}");
    assert!(
        !shown.starts_with("env -i") && !shown.contains(" && env -i"),
        "env_clear cannot be carried over into the trap: {shown}"
    );
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", SCRIPT]).arg(command.get_program());
    shell.args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    // Its memory is read here, which the system refuses of a process that is locked up.
    shell.env("TESTKIT_TRACEABLE", "1");
    if let Some(directory) = command.get_current_dir() {
        shell.current_dir(directory);
    }
    shell
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    shell
}
