//! A server process and everything it forks, as one group that starts, freezes and dies together. Knows no protocol.

use crate::ports::LOOPBACK;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use std::fs::File;
use std::io::Read;
use std::net::TcpStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// How long anything a server does may take before the fixture counts as broken (a loaded machine is slow, not broken).
const PATIENCE: Duration = Duration::from_secs(30);

const CONSOLE: &str = "console.log";

/// A running server. Dropping it kills the whole group at once.
#[derive(Debug)]
pub(crate) struct ServerProcess {
    leader: Child,
    watchdog: Child,
    group: Pid,
}

impl ServerProcess {
    /// Starts `command` as the leader of its own process group.
    ///
    /// A watchdog shell holds the other end of a pipe: should this process die without running destructors (a timeout's
    /// SIGKILL), the pipe closes and the shell kills the group and removes `scratch`. What the server prints goes to
    /// `scratch/console.log`.
    pub(crate) fn spawn(mut command: Command, scratch: &Path) -> Self {
        let console = File::create(scratch.join(CONSOLE)).expect("make the console log");
        let console_too = console.try_clone().expect("share the console log");
        command
            .stdin(Stdio::null())
            .stdout(console)
            .stderr(console_too)
            .process_group(0);
        let leader = command
            .spawn()
            .unwrap_or_else(|e| panic!("cannot start {command:?}: {e}"));
        let group = Pid::from_child(&leader);
        let watchdog = Command::new("sh")
            .args([
                "-c",
                r#"read -r _; kill -s KILL -- "-$1"; rm -rf -- "$2""#,
                "watchdog",
            ])
            .arg(group.as_raw_nonzero().to_string())
            .arg(scratch)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .expect("start the watchdog shell");
        Self {
            leader,
            watchdog,
            group,
        }
    }

    /// Waits until the server greets on `port`, or panics with what `log` has to say.
    pub(crate) fn await_greeting(&mut self, port: u16, log: impl Fn() -> String) {
        self.await_ready(|| greets(port), log);
    }

    /// Waits until the server is `ready`, or panics with what `log` has to say.
    pub(crate) fn await_ready(&mut self, ready: impl Fn() -> bool, log: impl Fn() -> String) {
        let deadline = Instant::now() + PATIENCE;
        while !ready() {
            if let Ok(Some(status)) = self.leader.try_wait() {
                panic!("server exited at start ({status}); its log:\n{}", log());
            }
            assert!(
                Instant::now() < deadline,
                "server does not get ready; its log:\n{}",
                log()
            );
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// To the leader alone, which is to end the others by itself.
    pub(crate) fn signal_leader(&mut self, signal: Signal) {
        if let Ok(None) = self.leader.try_wait() {
            let _ = kill_process(self.group, signal);
        }
    }

    /// Waits for the leader to end by itself; none if it still runs after `limit`.
    pub(crate) fn await_exit(&mut self, limit: Duration) -> Option<ExitStatus> {
        let deadline = Instant::now() + limit;
        loop {
            let status = self.leader.try_wait().expect("ask for the leader's state");
            if status.is_some() || Instant::now() >= deadline {
                return status;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Kills every process of the group and returns when none is left: a crash.
    pub(crate) fn kill(&mut self) {
        // The watchdog goes first: the group's number may be given away once its leader is reaped.
        let _ = self.watchdog.kill();
        let _ = self.watchdog.wait();
        if matches!(self.leader.try_wait(), Ok(Some(_))) && self.states().is_empty() {
            return;
        }
        let _ = kill_process_group(self.group, Signal::KILL);
        let _ = self.leader.wait();
        self.await_states(|states| states.is_empty());
    }

    /// Freezes the group: connections stay open and nothing answers.
    ///
    /// A process that is just starting another one cannot stop before that one runs, which it won't when it is
    /// stopped first: then all go on for a moment and are stopped again.
    pub(crate) fn pause(&self) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            kill_process_group(self.group, Signal::STOP).expect("stop the server's processes");
            let try_until = Instant::now() + Duration::from_millis(200);
            while Instant::now() < try_until {
                if self.states().iter().all(|s| *s == 'T') {
                    return;
                }
                std::thread::sleep(Duration::from_millis(1));
            }
            assert!(
                Instant::now() < deadline,
                "process group {} does not stop",
                self.group
            );
            self.resume();
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    pub(crate) fn resume(&self) {
        kill_process_group(self.group, Signal::CONT).expect("continue the server's processes");
    }

    fn await_states(&self, settled: impl Fn(&[char]) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !settled(&self.states()) {
            assert!(
                Instant::now() < deadline,
                "process group {} does not settle",
                self.group
            );
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// State letters of the group's processes, zombies left out: they hold no sockets, and an orphan may wait long
    /// for PID 1 to reap it.
    fn states(&self) -> Vec<char> {
        let processes = std::fs::read_dir("/proc").expect("list /proc");
        processes
            .filter_map(|entry| std::fs::read_to_string(entry.ok()?.path().join("stat")).ok())
            .filter_map(|stat| {
                // pid (name, which may hold anything) state parent group …
                let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
                let state = fields.next()?.chars().next()?;
                let group: i32 = fields.nth(1)?.parse().ok()?;
                (group == self.group.as_raw_nonzero().get() && !"ZX".contains(state))
                    .then_some(state)
            })
            .collect()
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        self.kill();
    }
}

fn greets(port: u16) -> bool {
    let Ok(mut stream) = TcpStream::connect((LOOPBACK, port)) else {
        return false;
    };
    stream
        .set_read_timeout(Some(PATIENCE))
        .expect("set a read timeout");
    matches!(stream.read(&mut [0; 64]), Ok(n) if n > 0)
}

/// What a server printed, and wrote to the other files named.
pub(crate) fn read_logs(scratch: &Path, others: &[&str]) -> String {
    let names = std::iter::once(&CONSOLE).chain(others);
    let texts = names.map(|name| std::fs::read(scratch.join(name)).unwrap_or_default());
    String::from_utf8_lossy(&texts.collect::<Vec<_>>().concat()).into_owned()
}

/// A scratch directory straight under /tmp: a unix socket's path may have 107 bytes.
pub(crate) fn scratch_dir() -> TempDir {
    tempfile::Builder::new()
        .prefix("tk")
        .tempdir_in("/tmp")
        .expect("make a scratch directory")
}

/// Whether this process may switch users, which the servers' set-up depends on.
pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group_of_two() -> (ServerProcess, TempDir) {
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 600 & sleep 600"]);
        let dir = scratch_dir();
        let process = ServerProcess::spawn(command, dir.path());
        process.await_states(|states| states.len() == 3);
        (process, dir)
    }

    #[test]
    fn killing_takes_the_whole_group() {
        let (mut process, _dir) = group_of_two();
        process.kill();
        assert_eq!(process.states(), []);
        process.kill();
    }

    #[test]
    fn pausing_stops_every_process_and_resuming_lets_them_run() {
        let (process, _dir) = group_of_two();
        process.pause();
        assert_eq!(process.states(), ['T', 'T', 'T']);
        process.resume();
        process.await_states(|states| states.iter().all(|s| *s != 'T'));
    }

    #[test]
    fn watchdog_kills_the_group_when_its_pipe_closes() {
        let (mut process, dir) = group_of_two();
        drop(process.watchdog.stdin.take());
        let _ = process.watchdog.wait();
        process.await_states(|states| states.is_empty());
        assert!(!dir.path().exists());
    }
}
