//! Keeps what is in memory out of files and away from other processes: secrets are there, and mail.

/// No core file is written of this process, and no other process of the same user can read its memory (Linux).
///
/// What cannot be set is left as it is: the process serves all the same, and a warning says so.
#[cfg(target_os = "linux")]
pub(crate) fn apply() {
    use rustix::process::{DumpableBehavior, Resource, Rlimit, set_dumpable_behavior, setrlimit};
    if is_traced_by_a_test() {
        return;
    }
    let none = Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    let limited = setrlimit(Resource::Core, none);
    let undumpable = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    if let Err(error) = limited.and(undumpable) {
        tracing::warn!(%error, "core files of this process cannot be switched off");
    }
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn apply() {}

/// A test that reads the memory of its own child, in builds for tests.
#[cfg(target_os = "linux")]
fn is_traced_by_a_test() -> bool {
    cfg!(debug_assertions) && std::env::var_os("TESTKIT_TRACEABLE").is_some()
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use rustix::process::{DumpableBehavior, Resource, dumpable_behavior, getrlimit};

    #[test]
    fn hardened_process_leaves_no_core_file() {
        super::apply();
        assert_eq!(dumpable_behavior().unwrap(), DumpableBehavior::NotDumpable);
        let limit = getrlimit(Resource::Core);
        assert_eq!((limit.current, limit.maximum), (Some(0), Some(0)));
    }
}
