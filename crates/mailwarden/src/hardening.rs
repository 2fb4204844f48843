//! Keeps what is in memory out of files and away from other processes: secrets are there, and mail.

/// Forbids core files of this process. On Linux no other process of the same user can read its memory either.
///
/// What cannot be set is left as it is: the process serves all the same, and a warning says so.
#[cfg(unix)]
pub(crate) fn apply() {
    if is_traced_by_a_test() {
        return;
    }
    if let Err(error) = forbid_core_files() {
        tracing::warn!(%error, "core files of this process cannot be switched off");
    }
    #[cfg(target_os = "linux")]
    if let Err(error) = forbid_reading_memory() {
        tracing::warn!(%error, "other processes of this user can read the memory of this process");
    }
}

#[cfg(not(unix))]
pub(crate) fn apply() {}

#[cfg(unix)]
fn forbid_core_files() -> rustix::io::Result<()> {
    use rustix::process::{Resource, Rlimit, setrlimit};
    let none = Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    setrlimit(Resource::Core, none)
}

#[cfg(target_os = "linux")]
fn forbid_reading_memory() -> rustix::io::Result<()> {
    use rustix::process::{DumpableBehavior, set_dumpable_behavior};
    set_dumpable_behavior(DumpableBehavior::NotDumpable)
}

/// A test that reads the memory of its own child, in builds for tests.
#[cfg(unix)]
fn is_traced_by_a_test() -> bool {
    cfg!(debug_assertions) && std::env::var_os("TESTKIT_TRACEABLE").is_some()
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    #[test]
    fn hardened_process_leaves_no_core_file() {
        use rustix::process::{Resource, getrlimit};
        super::apply();
        let limit = getrlimit(Resource::Core);
        assert_eq!((limit.current, limit.maximum), (Some(0), Some(0)));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn hardened_process_memory_is_not_dumpable() {
        use rustix::process::{DumpableBehavior, dumpable_behavior};
        super::apply();
        assert_eq!(dumpable_behavior().unwrap(), DumpableBehavior::NotDumpable);
    }
}
