//! The child locks itself in, before it reads a byte of an attachment.
//!
//! Each lock is a best effort: what a system does not have is told, and the others still hold. Nothing here can be
//! taken back by the process that did it.

#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
mod calls;
#[cfg(target_os = "linux")]
mod files;
#[cfg(unix)]
mod limits;

use crate::frame::Probe;
use crate::protections::{Protection, State};

/// Everything that this system has, in an order in which each can still be done.
pub(crate) fn lock_in() -> Vec<Protection> {
    let mut found = Vec::new();
    // As long as files can be read.
    #[cfg(unix)]
    let taken = limits::taken();
    #[cfg(target_os = "linux")]
    found.push(protection("file access", files::forbid()));
    #[cfg(unix)]
    found.extend(limits::set(taken));
    // The last, because it forbids what the others need.
    found.push(protection("system calls", restrict_calls()));
    found
}

#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
fn restrict_calls() -> Result<(), String> {
    calls::restrict()
}

#[cfg(not(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
)))]
fn restrict_calls() -> Result<(), String> {
    Err("this system has no filter for them".to_owned())
}

/// Tries what must not work. Who comes back was not stopped by the filter of system calls; something else may still
/// have refused.
pub(crate) fn try_out(probe: Probe) -> State {
    let refused = match probe {
        Probe::Report => return State::InForce,
        Probe::File => std::fs::File::open("/").map(drop),
        Probe::Socket => std::net::UdpSocket::bind("127.0.0.1:0").map(drop),
        Probe::Program => std::process::Command::new("/bin/true").status().map(drop),
    };
    match refused {
        Err(_) => State::InForce,
        Ok(()) => State::Missing("it worked when it was tried".to_owned()),
    }
}

fn protection(name: &str, outcome: Result<(), String>) -> Protection {
    Protection {
        name: name.to_owned(),
        state: match outcome {
            Ok(()) => State::InForce,
            Err(why) => State::Missing(why),
        },
    }
}
