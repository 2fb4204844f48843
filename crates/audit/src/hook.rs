//! Hands the root of the tree to the operator's program: started without a shell, with a time limit.

use std::io::Write as _;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use crate::Peaks;

const PATIENCE: Duration = Duration::from_secs(30);
const GLANCE: Duration = Duration::from_millis(20);

/// The program gets the number of records and the root as arguments and the signed checkpoint on stdin. It has to exit
/// with 0.
pub(crate) fn run(program: &Path, tree: &Peaks, note: &str) -> Result<(), String> {
    // It needs none of our secrets.
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut child = Command::new(program)
        .env_clear()
        .env("PATH", path)
        .arg(tree.size().to_string())
        .arg(tree.root().to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("it could not be started: {}", error.kind()))?;
    if let Some(mut stdin) = child.stdin.take() {
        // A program that does not care to read it may still succeed.
        let _ = stdin.write_all(note.as_bytes());
    }
    match wait(child) {
        Some(status) if status.success() => Ok(()),
        Some(status) => Err(status.to_string()),
        None => Err(format!("it took more than {} s", PATIENCE.as_secs())),
    }
}

/// None when it had to be ended.
fn wait(mut child: Child) -> Option<ExitStatus> {
    let begun = Instant::now();
    while begun.elapsed() < PATIENCE {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status),
            Ok(None) => std::thread::sleep(GLANCE),
            Err(_) => break,
        }
    }
    let _ = child.kill();
    let _ = child.wait();
    None
}
