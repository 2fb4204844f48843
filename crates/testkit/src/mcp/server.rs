//! The process behind a conversation: one that we started, or one in a trap. Knows nothing of what is said.

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
use crate::trap::Trapped;
use std::process::{Child, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

/// Whoever holds it kills it before letting it go.
#[derive(Debug)]
pub(super) enum Server {
    Child(Child),
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    Trapped(Trapped),
}

impl Server {
    pub(super) fn pid(&self) -> u32 {
        match self {
            Self::Child(child) => child.id(),
            #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
            Self::Trapped(trapped) => trapped.pid(),
        }
    }

    pub(super) fn kill(&mut self) {
        match self {
            Self::Child(child) => {
                let _ = child.kill();
                let _ = child.wait();
            }
            #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
            Self::Trapped(trapped) => trapped.kill(),
        }
    }

    /// Waits for the end; none if it has not come after `timeout`.
    pub(super) fn wait_exit(&mut self, timeout: Duration) -> Option<ExitStatus> {
        let child = match self {
            Self::Child(child) => child,
            #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
            Self::Trapped(trapped) => {
                return trapped
                    .wait_for(timeout)
                    .map(|outcome| outcome.end.status());
            }
        };
        let deadline = Instant::now() + timeout;
        loop {
            let status = child.try_wait().expect("ask for the program's state");
            if status.is_some() || Instant::now() >= deadline {
                return status;
            }
            thread::sleep(Duration::from_millis(1));
        }
    }
}
