//! The thread that traces a program from its first instruction to its end and carries out the plan. All ptrace calls are
//! made here, as the kernel takes them from no other thread.

use super::shared::Shared;
use super::tracee::{Halved, Streams, Tracee};
use super::{Deed, End, Plan};
use nix::errno::Errno;
use nix::libc;
use nix::sys::ptrace::{self, Options};
use nix::sys::signal::{Signal, kill, killpg};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid, waitpid};
use nix::unistd::Pid;
use std::collections::HashMap;
use std::io;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use std::sync::Arc;
use std::sync::mpsc::{self, SyncSender};
use std::thread::{self, JoinHandle};

/// Our ends of the program's standard streams.
pub(super) struct Pipes {
    pub(super) stdin: Option<ChildStdin>,
    pub(super) stdout: Option<ChildStdout>,
    pub(super) stderr: Option<ChildStderr>,
}

/// Starts a command that stops by itself, and returns when it has become the program.
pub(super) fn start(
    halted: Command,
    plan: Plan,
) -> io::Result<(Pipes, Arc<Shared>, JoinHandle<()>)> {
    let (tell, hear) = mpsc::sync_channel(1);
    let tracer = thread::Builder::new()
        .name("tracer".to_owned())
        .spawn(move || trace(halted, plan, tell))?;
    let started = hear.recv().unwrap_or_else(|_| {
        Err(io::Error::other(
            "it is not there, or may not be executed or traced",
        ))
    });
    let (pipes, shared) = started?;
    Ok((pipes, shared, tracer))
}

type Started = io::Result<(Pipes, Arc<Shared>)>;

struct Tracer {
    plan: Plan,
    shared: Arc<Shared>,
    /// Threads within a system call, with what is due at its end.
    inside: HashMap<Pid, Due>,
    streams: Streams,
    phase: Phase,
}

#[derive(Clone, Copy, Debug)]
enum Due {
    Nothing,
    Death,
    Error(Errno),
}

enum Phase {
    /// It is still the shell that will become the program.
    Starting(SyncSender<Started>, Pipes),
    Running,
    /// It has been killed. Threads may still be heard of.
    Dying,
}

fn trace(mut halted: Command, plan: Plan, tell: SyncSender<Started>) {
    let (pipes, leader) = match seize(&mut halted) {
        Ok(seized) => seized,
        Err(error) => return drop(tell.send(Err(error))),
    };
    let mut tracer = Tracer {
        plan,
        shared: Arc::new(Shared::new(leader)),
        inside: HashMap::new(),
        streams: Streams::of(leader),
        phase: Phase::Starting(tell, pipes),
    };
    let followed = tracer.follow();
    tracer.shared.end(|| match followed {
        Ok(()) => reap(leader),
        Err(error) => {
            abandon(leader);
            Err(error.to_string())
        }
    });
}

/// Starts the command and takes hold of it when it has stopped.
fn seize(halted: &mut Command) -> io::Result<(Pipes, Pid)> {
    let mut child = halted.spawn()?;
    let leader = Pid::from_raw(child.id().cast_signed());
    if let Err(error) = seize_stopped(leader) {
        let _ = child.kill();
        let _ = child.wait();
        return Err(error);
    }
    let Child {
        stdin,
        stdout,
        stderr,
        ..
    } = child;
    let pipes = Pipes {
        stdin,
        stdout,
        stderr,
    };
    Ok((pipes, leader))
}

fn seize_stopped(leader: Pid) -> io::Result<()> {
    match retry(|| waitpid(leader, Some(WaitPidFlag::WUNTRACED)))? {
        WaitStatus::Stopped(..) => {}
        status => {
            return Err(io::Error::other(format!(
                "the shell does not stop: {status:?}"
            )));
        }
    }
    // Without the options for fork and vfork, new processes are never traced; with that for clone, new threads are.
    ptrace::seize(
        leader,
        Options::PTRACE_O_TRACESYSGOOD
            | Options::PTRACE_O_TRACECLONE
            | Options::PTRACE_O_TRACEEXEC
            | Options::PTRACE_O_EXITKILL,
    )?;
    kill(leader, Signal::SIGCONT)?;
    Ok(())
}

impl Tracer {
    /// Handles all that happens until the program has ended and can be reaped.
    fn follow(&mut self) -> io::Result<()> {
        loop {
            // QUIRK: nix has no word for real-time signals and calls their arrival invalid.
            let happened =
                retry(|| waitid(Id::All, ours() | WaitPidFlag::WNOWAIT)).map_err(|errno| {
                    match errno {
                        Errno::EINVAL => io::Error::other("a real-time signal came to the program"),
                        other => other.into(),
                    }
                })?;
            match happened {
                WaitStatus::Exited(thread, _) | WaitStatus::Signaled(thread, ..) => {
                    if thread == self.shared.leader() {
                        return Ok(());
                    }
                    self.inside.remove(&thread);
                    waitpid(thread, Some(WaitPidFlag::WNOHANG | everything()))?;
                }
                stopped => match self.handle(stopped) {
                    // A thread may be killed at any time, by a deed or from without; its end is reported next.
                    Err(error) if is_gone(&error) => {}
                    handled => handled?,
                },
            }
        }
    }

    fn handle(&mut self, stopped: WaitStatus) -> io::Result<()> {
        let Some(thread) = stopped.pid() else {
            return Ok(());
        };
        // Taken only if it is still a stop: ends are looked at before they are reaped.
        let taken = waitid(
            Id::Pid(thread),
            WaitPidFlag::WSTOPPED | WaitPidFlag::WNOHANG | everything(),
        )?;
        match taken {
            WaitStatus::StillAlive => Ok(()),
            WaitStatus::PtraceSyscall(_) => self.at_call(thread),
            WaitStatus::PtraceEvent(_, _, libc::PTRACE_EVENT_EXEC) => {
                self.become_program(thread);
                resume(thread, None)
            }
            // A signal on its way to the program.
            WaitStatus::PtraceEvent(_, signal, 0) | WaitStatus::Stopped(_, signal) => {
                resume(thread, Some(signal))
            }
            // A thread that was born or has given birth, or one of the stops that nobody can listen to.
            _ => resume(thread, None),
        }
    }

    /// A program was loaded: all other threads are gone, and this one is about to leave its call.
    fn become_program(&mut self, thread: Pid) {
        self.inside.clear();
        self.inside.insert(thread, Due::Nothing);
        if !matches!(self.phase, Phase::Starting(..)) {
            return;
        }
        if let Phase::Starting(tell, pipes) = std::mem::replace(&mut self.phase, Phase::Running) {
            let _ = tell.send(Ok((pipes, Arc::clone(&self.shared))));
        }
    }

    fn at_call(&mut self, thread: Pid) -> io::Result<()> {
        match self.inside.remove(&thread) {
            Some(due) => self.leave(thread, due),
            None => {
                let due = self.enter(thread)?;
                self.inside.insert(thread, due);
                resume(thread, None)
            }
        }
    }

    fn enter(&mut self, thread: Pid) -> io::Result<Due> {
        if !matches!(self.phase, Phase::Running) || !self.plan.counting.is_on() {
            return Ok(Due::Nothing);
        }
        let mut tracee = Tracee::new(thread)?;
        if !tracee.is_at_entry() {
            return Err(io::Error::other("ends of calls are taken for beginnings"));
        }
        let Some(call) = tracee.call(&self.plan.watch, &self.streams) else {
            return Ok(Due::Nothing);
        };
        let number = self.shared.note(call);
        let Some(deed) = self.plan.due(number) else {
            return Ok(Due::Nothing);
        };
        self.shared.note_hit(number);
        Ok(match deed {
            Deed::KillAfter => Due::Death,
            Deed::Tear if tracee.halve()? == Halved::Done => Due::Death,
            Deed::Kill | Deed::Tear => {
                tracee.skip()?;
                self.kill();
                Due::Nothing
            }
            Deed::Fail(error, _) => {
                tracee.skip()?;
                Due::Error(*error)
            }
        })
    }

    fn leave(&mut self, thread: Pid, due: Due) -> io::Result<()> {
        match due {
            Due::Nothing => {}
            Due::Death => {
                self.kill();
                return Ok(());
            }
            Due::Error(error) => Tracee::new(thread)?.answer(error)?,
        }
        resume(thread, None)
    }

    fn kill(&mut self) {
        self.phase = Phase::Dying;
        self.shared.kill();
    }
}

impl Drop for Tracer {
    fn drop(&mut self) {
        // Says something only if the tracer panicked; the kernel kills the program then.
        self.shared.end(|| Err("the tracer died".to_owned()));
    }
}

/// Lets a thread go on to its next system call, or to the end of the one it is in.
fn resume(thread: Pid, signal: Option<Signal>) -> io::Result<()> {
    Ok(ptrace::syscall(thread, signal)?)
}

/// Reaps a program that has ended, after what it left running.
fn reap(leader: Pid) -> Result<End, String> {
    let _ = killpg(leader, Signal::SIGKILL);
    match retry(|| waitpid(leader, Some(everything()))) {
        Ok(WaitStatus::Exited(_, code)) => Ok(End::Exited(code)),
        Ok(WaitStatus::Signaled(_, signal, _)) => Ok(End::Killed(signal)),
        other => Err(format!("its end is none: {other:?}")),
    }
}

/// Kills a program that cannot be followed any longer, and all that it left running.
fn abandon(leader: Pid) {
    let _ = kill(leader, Signal::SIGKILL);
    let _ = killpg(leader, Signal::SIGKILL);
    loop {
        match waitpid(None, Some(everything())) {
            Ok(WaitStatus::Exited(thread, _) | WaitStatus::Signaled(thread, ..))
                if thread == leader =>
            {
                return;
            }
            Err(Errno::ECHILD) => return,
            _ => {}
        }
    }
}

/// Threads and processes of ours alike. Children of other threads of this process are theirs to wait for.
fn everything() -> WaitPidFlag {
    WaitPidFlag::__WALL | WaitPidFlag::__WNOTHREAD
}

fn ours() -> WaitPidFlag {
    WaitPidFlag::WEXITED | WaitPidFlag::WSTOPPED | everything()
}

fn retry<T>(mut wait: impl FnMut() -> nix::Result<T>) -> nix::Result<T> {
    loop {
        match wait() {
            Err(Errno::EINTR) => {}
            done => return done,
        }
    }
}

fn is_gone(error: &io::Error) -> bool {
    [libc::ESRCH, libc::ECHILD]
        .map(Some)
        .contains(&error.raw_os_error())
}
