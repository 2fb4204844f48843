//! Hands the root of the tree to the operator's program: started without a shell, with a time limit.

#[cfg(not(unix))]
use std::io;
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
    let mut command = Command::new(program);
    command
        .env_clear()
        .env("PATH", path)
        .arg(tree.size().to_string())
        .arg(tree.root().to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut child = spawn(&mut command)
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

/// None when it had to be ended. Whatever it started ends with it.
#[cfg(unix)]
fn wait(mut child: Child) -> Option<ExitStatus> {
    let begun = Instant::now();
    let mut ended = false;
    while !ended && begun.elapsed() < PATIENCE {
        match group::has_ended(&child) {
            Ok(true) => ended = true,
            Ok(false) => std::thread::sleep(GLANCE),
            Err(_) => break,
        }
    }
    group::end(&child);
    let status = child.wait().ok();
    status.filter(|_| ended)
}

/// None when it had to be ended.
#[cfg(not(unix))]
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

#[cfg(not(unix))]
fn spawn(command: &mut Command) -> io::Result<Child> {
    command.spawn()
}

#[cfg(unix)]
use group::spawn;

/// Ends the programs that run now, with all that they started; none is started from here on. For a
/// process that is about
/// to end.
pub fn end_hooks() {
    #[cfg(unix)]
    group::end_all();
}

/// The program leads a process group of its own, so that nothing it started outlives it.
#[cfg(unix)]
mod group {
    use std::io;
    use std::os::unix::process::CommandExt as _;
    use std::process::{Child, Command};
    use std::sync::{Mutex, MutexGuard, PoisonError};

    use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

    /// INVARIANT: a group is signalled only while it is listed here, and its leader is reaped only
    /// after that: so its
    /// number is still its own.
    static RUNNING: Mutex<Running> = Mutex::new(Running {
        groups: Vec::new(),
        ending: false,
    });

    struct Running {
        groups: Vec<Pid>,
        ending: bool,
    }

    fn running() -> MutexGuard<'static, Running> {
        RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn spawn(command: &mut Command) -> io::Result<Child> {
        let mut running = running();
        if running.ending {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let child = command.process_group(0).spawn()?;
        running.groups.push(Pid::from_child(&child));
        Ok(child)
    }

    /// Whether the leader has ended. It is not reaped, so its group keeps its number.
    pub(super) fn has_ended(leader: &Child) -> io::Result<bool> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        Ok(waitid(WaitId::Pid(Pid::from_child(leader)), options)?.is_some())
    }

    pub(super) fn end(leader: &Child) {
        let mut running = running();
        let group = Pid::from_child(leader);
        let _ = kill_process_group(group, Signal::KILL);
        running.groups.retain(|one| *one != group);
    }

    pub(super) fn end_all() {
        let mut running = running();
        running.ending = true;
        for group in &running.groups {
            let _ = kill_process_group(*group, Signal::KILL);
        }
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;

    /// A program that leaves a child behind, which writes its number into a file.
    fn script(dir: &Path, end: &str) -> std::path::PathBuf {
        use std::os::unix::fs::PermissionsExt as _;
        let path = dir.join("hook");
        let text = format!(
            "#!/bin/sh\nhere=$(dirname \"$0\")\nsleep 600 &\necho $! > \"$here/pid\"\n{end}\n"
        );
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    fn is_running(pid: &str) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
        // A zombie has ended; who reaps it is the system's business.
        stat.is_ok_and(|stat| !stat.contains(") Z "))
    }

    fn ends(pid: &str) {
        let begun = Instant::now();
        while is_running(pid) {
            assert!(begun.elapsed() < PATIENCE, "{pid} still runs");
            std::thread::sleep(GLANCE);
        }
    }

    /// One test: the second half ends every hook of this process.
    #[test]
    fn hook_children_end_with_hook_and_with_process() {
        children_end_with_the_hook();
        group_ends_with_the_process();
    }

    fn children_end_with_the_hook() {
        let dir = tempfile::tempdir().unwrap();
        let program = script(dir.path(), "exit 0");
        assert_eq!(run(&program, &Peaks::default(), "note"), Ok(()));
        ends(&std::fs::read_to_string(dir.path().join("pid")).unwrap());
    }

    fn group_ends_with_the_process() {
        let dir = tempfile::tempdir().unwrap();
        let program = script(dir.path(), "wait");
        let waits = std::thread::spawn(move || run(&program, &Peaks::default(), "note"));
        let pid = dir.path().join("pid");
        let started = Instant::now();
        let child = loop {
            match std::fs::read_to_string(&pid) {
                Ok(text) if text.ends_with('\n') => break text,
                _ => assert!(started.elapsed() < PATIENCE, "it does not start"),
            }
            std::thread::sleep(GLANCE);
        };
        end_hooks();
        assert!(waits.join().unwrap().is_err());
        ends(&child);
        // None begins after that.
        let late = run(Path::new("/bin/true"), &Peaks::default(), "note");
        assert!(late.is_err());
    }
}
