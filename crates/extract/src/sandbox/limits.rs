//! Limits of the process: memory, processor time, files, and its ties to others.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::protection;
use crate::protections::Protection;

/// Address space, and with it memory.
#[cfg(not(target_os = "macos"))]
const MEMORY: u64 = 512 * 1024 * 1024;
/// Seconds; the parent's clock is stricter, this one holds without a parent.
const PROCESSOR: u64 = 10;
/// stdin, stdout and stderr are open; nothing else can be.
const OPEN_FILES: u64 = 3;

/// Octets of addresses that the process has by now; none where the system does not tell.
pub(super) fn taken() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let size = status
        .lines()
        .find_map(|line| line.strip_prefix("VmSize:"))?;
    let kilobytes: u64 = size.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kilobytes.checked_mul(1_024)
}

pub(super) fn set(taken: Option<u64>) -> Vec<Protection> {
    let mut found = vec![
        protection("processor time", limit(Resource::Cpu, PROCESSOR)),
        protection("open files", limit(Resource::Nofile, OPEN_FILES)),
        protection("file writing", limit(Resource::Fsize, 0)),
        protection("core dumps", limit(Resource::Core, 0)),
    ];
    // QUIRK: macOS takes a limit of address space and does not heed it.
    #[cfg(not(target_os = "macos"))]
    found.push(protection("memory", bound(taken)));
    #[cfg(target_os = "macos")]
    let _ = taken;
    #[cfg(target_os = "macos")]
    found.push(protection(
        "memory",
        Err("this system does not limit it".to_owned()),
    ));
    #[cfg(target_os = "linux")]
    found.extend(ties());
    found
}

/// INVARIANT: what was taken before is not bounded by it.
#[cfg(not(target_os = "macos"))]
fn bound(taken: Option<u64>) -> Result<(), String> {
    limit(Resource::As, MEMORY)?;
    match taken.filter(|taken| *taken > MEMORY) {
        Some(taken) => Err(format!("{taken} octets of addresses were taken before")),
        None => Ok(()),
    }
}

fn limit(resource: Resource, most: u64) -> Result<(), String> {
    // A limit that is lower already stays: raising it may be forbidden.
    let most = getrlimit(resource)
        .maximum
        .map_or(most, |maximum| maximum.min(most));
    let wanted = Rlimit {
        current: Some(most),
        maximum: Some(most),
    };
    setrlimit(resource, wanted).map_err(|error| error.to_string())
}

/// Who may look into the process, what it may become, and with whom it ends.
#[cfg(target_os = "linux")]
fn ties() -> Vec<Protection> {
    use rustix::process::{
        DumpableBehavior, Signal, set_dumpable_behavior, set_parent_process_death_signal,
    };
    let said = |outcome: rustix::io::Result<()>| outcome.map_err(|error| error.to_string());
    vec![
        protection(
            "no inspection",
            said(set_dumpable_behavior(DumpableBehavior::NotDumpable)),
        ),
        protection(
            "no new privileges",
            said(rustix::thread::set_no_new_privs(true)),
        ),
        // The signal comes when the thread that started us ends. That thread waits for us, or belongs to a runtime
        // that lives as long as the program.
        protection(
            "ends with its parent",
            said(set_parent_process_death_signal(Some(Signal::KILL))),
        ),
    ]
}
