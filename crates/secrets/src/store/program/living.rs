//! The programs that run for us, so that none outlives us: they are in groups of their own, which no signal to us reaches.
//!
//! INVARIANT: a group is signalled only while it is listed here, under the lock, and its leader is waited for only when it is
//! listed no longer: so its number is still its own.

use std::io;
use std::process::{Child, Command, ExitStatus};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::process::{Pid, Signal, kill_process_group};

static LIVING: Mutex<Living> = Mutex::new(Living {
    groups: Vec::new(),
    stage: Stage::Running,
});

struct Living {
    groups: Vec<Pid>,
    stage: Stage,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Running,
    /// Nobody is begun any more.
    Ending,
}

/// Ends every program that runs for us, and all that they started. From here on none is begun: this process is about to end.
pub fn end_programs() {
    let mut living = living();
    living.stage = Stage::Ending;
    for group in &living.groups {
        let _ = kill_process_group(*group, Signal::KILL);
    }
}

/// The leader of a new group.
pub(super) fn begin(command: &mut Command) -> io::Result<Child> {
    let mut living = living();
    if living.stage == Stage::Ending {
        return Err(io::ErrorKind::Interrupted.into());
    }
    let child = command.spawn()?;
    living.groups.push(Pid::from_child(&child));
    Ok(child)
}

/// How it has ended, if it has; then nobody signals it any more. Nobody can meanwhile: the lock is held.
pub(super) fn ended(leader: &mut Child) -> io::Result<Option<ExitStatus>> {
    let mut living = living();
    let status = leader.try_wait()?;
    if status.is_some() {
        living.forget(leader);
    }
    Ok(status)
}

/// Ends one group, and waits for its leader.
pub(super) fn end(leader: &mut Child) {
    {
        let mut living = living();
        let _ = kill_process_group(Pid::from_child(leader), Signal::KILL);
        living.forget(leader);
    }
    let _ = leader.wait();
}

impl Living {
    fn forget(&mut self, leader: &Child) {
        let gone = Pid::from_child(leader);
        self.groups.retain(|group| *group != gone);
    }
}

fn living() -> MutexGuard<'static, Living> {
    LIVING.lock().unwrap_or_else(PoisonError::into_inner)
}
