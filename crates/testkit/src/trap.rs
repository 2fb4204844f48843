//! A program under ptrace, killed, torn or lied to at the n-th system call that a test cares for. Knows nothing of what
//! the program is; Linux on `x86_64` only.
//!
//! ```no_run
//! # use testkit::{McpClient, trap::{Deed, Kind, Plan, Stream, Trapped, Watch}};
//! # fn program() -> std::process::Command { std::process::Command::new("mailwarden") }
//! let watch = Watch::of([Kind::Write, Kind::Sync])
//!     .under("/the/audit/folder")
//!     .or(Watch::of([Kind::Send]).on(Stream::Stdout));
//! for nth in 1.. {
//!     let plan = Plan::at(nth, watch.clone(), Deed::Kill);
//!     let mut mcp = McpClient::over(Trapped::spawn(program(), plan));
//!     let _ = mcp.try_initialize();
//!     mcp.close_stdin();
//!     mcp.await_silence();
//!     // What is in the folder now must account for every request in `mcp.answered()`.
//!     if mcp.trapped().expect("a trap").wait().hit().is_none() {
//!         break; // there are no more calls to die at
//!     }
//! }
//! ```
//!
//! All threads of the program are watched. A call counts when a thread begins it; one that another thread is in the middle
//! of when the program dies may or may not have its effect, as in life. Processes that the program starts are let go at
//! birth: they are neither counted nor hit, and they are killed when the program ends, as it leads a group of its own.
//!
//! QUIRK: nix has no `PTRACE_LISTEN`, so a stop signal does not hold a trapped program, and no real-time signals, so one
//! of those ends the run with a panic that says so. Every other signal reaches the program.

mod call;
mod launch;
mod shared;
mod syscalls;
mod tracee;
mod tracer;
mod watch;

pub use call::{Call, Kind, Stream};
pub use nix::errno::Errno;
pub use nix::sys::signal::Signal;
pub use watch::Watch;

use shared::Shared;
use std::os::unix::process::ExitStatusExt;
use std::process::{ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// How long a program may take to end before the test counts as broken (a loaded machine is slow, not broken).
const PATIENCE: Duration = Duration::from_secs(60);

/// Which calls count, and what happens at one of them.
#[derive(Clone, Debug)]
pub struct Plan {
    watch: Watch,
    /// At which counted call, from 1.
    deed: Option<(usize, Deed)>,
    /// Calls that begin while it is off do not count.
    counting: Switch,
}

/// What is done to the program at a counted call.
#[derive(Clone, Debug)]
pub enum Deed {
    /// SIGKILL before the call is executed.
    Kill,
    /// The call is executed; SIGKILL before the program sees its result.
    KillAfter,
    /// The first half of the bytes is written or sent, rounded down; SIGKILL before the program sees the result. A call
    /// that carries no bytes is not executed at all.
    Tear,
    /// The call is not executed and returns this error.
    Fail(Errno, Span),
}

/// How long calls go on failing.
#[derive(Clone, Debug)]
pub enum Span {
    /// The n-th call only.
    Once,
    /// The n-th call and all after it.
    Onwards,
    /// From the n-th call on, those that come while the switch is on.
    While(Switch),
}

/// Turns failures, or counting, on and off while the program runs. Clones are the same switch.
#[derive(Clone, Debug)]
pub struct Switch(Arc<AtomicBool>);

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Exited(i32),
    Killed(Signal),
}

/// What there is to say when a program has ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    pub end: End,
    /// The calls at which something was done, in their order. Empty if the n-th never came.
    pub hits: Vec<Call>,
    /// All calls that counted, in the order in which they were begun.
    pub seen: Vec<Call>,
}

/// A program in the trap. Dropping it kills the program and what it started.
#[derive(Debug)]
pub struct Trapped {
    pub stdin: Option<ChildStdin>,
    pub stdout: Option<ChildStdout>,
    pub stderr: Option<ChildStderr>,
    shared: Arc<Shared>,
    tracer: Option<JoinHandle<()>>,
}

impl Plan {
    /// Only counts: a dry run that tells how many calls there are to hit.
    pub fn count(watch: Watch) -> Self {
        Self {
            watch,
            deed: None,
            counting: Switch::turned_on(),
        }
    }

    /// Does `deed` at the `nth` counted call, from 1, over all threads in the order in which they begin their calls.
    pub fn at(nth: usize, watch: Watch, deed: Deed) -> Self {
        assert!(nth > 0, "calls are counted from 1");
        Self {
            watch,
            deed: Some((nth, deed)),
            counting: Switch::turned_on(),
        }
    }

    /// Counts only calls that begin while the switch is on: those of one request, and not those of the start.
    #[must_use]
    pub fn counting(mut self, switch: &Switch) -> Self {
        self.counting = switch.clone();
        self
    }

    /// What is to be done at this call.
    fn due(&self, number: usize) -> Option<&Deed> {
        let (nth, deed) = self.deed.as_ref()?;
        let due = match deed {
            Deed::Kill | Deed::KillAfter | Deed::Tear | Deed::Fail(_, Span::Once) => number == *nth,
            Deed::Fail(_, Span::Onwards) => number >= *nth,
            Deed::Fail(_, Span::While(switch)) => number >= *nth && switch.is_on(),
        };
        due.then_some(deed)
    }
}

impl Switch {
    pub fn turned_on() -> Self {
        Self(Arc::new(AtomicBool::new(true)))
    }

    pub fn turned_off() -> Self {
        Self(Arc::new(AtomicBool::new(false)))
    }

    pub fn on(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    pub fn off(&self) {
        self.0.store(false, Ordering::SeqCst);
    }

    fn is_on(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}

impl End {
    /// The same as the standard library says it.
    pub fn status(self) -> ExitStatus {
        ExitStatus::from_raw(match self {
            Self::Exited(code) => code << 8,
            Self::Killed(signal) => signal as i32,
        })
    }
}

impl Outcome {
    /// The first call at which something was done.
    pub fn hit(&self) -> Option<&Call> {
        self.hits.first()
    }
}

impl Trapped {
    /// Starts the program with pipes for its three standard streams, and returns when its first instruction is next.
    /// Panics when it cannot be started.
    ///
    /// Of the command, the program, arguments, variables and folder are taken over, all that can be read back from it.
    pub fn spawn(command: Command, plan: Plan) -> Self {
        let (pipes, shared, tracer) = tracer::start(launch::halted(&command), plan)
            .unwrap_or_else(|why| panic!("cannot start {command:?} in the trap: {why}"));
        Self {
            stdin: pipes.stdin,
            stdout: pipes.stdout,
            stderr: pipes.stderr,
            shared,
            tracer: Some(tracer),
        }
    }

    pub fn pid(&self) -> u32 {
        self.shared.leader().as_raw().unsigned_abs()
    }

    /// Waits for the program to end; panics if it does not within a minute.
    pub fn wait(&self) -> Outcome {
        self.wait_for(PATIENCE).unwrap_or_else(|| {
            panic!(
                "the program has not ended in {PATIENCE:?}; calls: {:#?}",
                self.seen()
            )
        })
    }

    /// Waits for the program to end; none if it still runs after `limit`.
    pub fn wait_for(&self, limit: Duration) -> Option<Outcome> {
        self.shared.wait(limit)
    }

    /// Calls that counted so far, in the order in which they were begun.
    pub fn seen(&self) -> Vec<Call> {
        self.shared.seen()
    }

    /// Calls at which something was done so far.
    pub fn hits(&self) -> Vec<Call> {
        self.shared.hits()
    }

    /// Kills the program and waits until it is gone. One that has ended stays as it ended.
    pub fn kill(&self) {
        self.shared.kill();
        self.shared.settle(PATIENCE);
    }
}

impl Drop for Trapped {
    fn drop(&mut self) {
        self.shared.kill();
        if let Some(tracer) = self.tracer.take() {
            let _ = tracer.join();
        }
    }
}
