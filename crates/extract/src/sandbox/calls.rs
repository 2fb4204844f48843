//! The few system calls that reading bytes and making text needs; any other kills the process.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};

/// Pipes that are open, memory, locks, signals of its own, time, randomness, and the end.
const ALLOWED: [i64; 24] = [
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_write,
    libc::SYS_writev,
    libc::SYS_close,
    libc::SYS_brk,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_madvise,
    libc::SYS_futex,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sigaltstack,
    libc::SYS_restart_syscall,
    libc::SYS_clock_gettime,
    libc::SYS_gettimeofday,
    libc::SYS_getrandom,
    libc::SYS_sched_yield,
    libc::SYS_sched_getaffinity,
    libc::SYS_getpid,
    libc::SYS_gettid,
    libc::SYS_exit,
    libc::SYS_exit_group,
];

pub(super) fn restrict() -> Result<(), String> {
    let program = filter().map_err(|error| error.to_string())?;
    seccompiler::apply_filter_all_threads(&program).map_err(|error| error.to_string())
}

fn filter() -> Result<BpfProgram, seccompiler::BackendError> {
    let arch = TargetArch::try_from(std::env::consts::ARCH)?;
    // No condition: with any arguments.
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
        ALLOWED.iter().map(|call| (*call, Vec::new())).collect();
    // A process that aborts sends a signal to itself, and to nobody else.
    rules.insert(libc::SYS_tgkill, vec![to_self()?]);
    // The allocator gives its memory a name.
    rules.insert(libc::SYS_prctl, vec![naming_memory()?]);
    // No memory becomes code.
    rules.insert(libc::SYS_mmap, vec![not_executable()?]);
    rules.insert(libc::SYS_mprotect, vec![not_executable()?]);
    SeccompFilter::new(
        rules,
        SeccompAction::KillProcess,
        SeccompAction::Allow,
        arch,
    )?
    .try_into()
}

fn to_self() -> Result<SeccompRule, seccompiler::BackendError> {
    let own = SeccompCondition::new(
        0,
        SeccompCmpArgLen::Dword,
        SeccompCmpOp::Eq,
        u64::from(std::process::id()),
    )?;
    SeccompRule::new(vec![own])
}

fn naming_memory() -> Result<SeccompRule, seccompiler::BackendError> {
    let naming = SeccompCondition::new(
        0,
        SeccompCmpArgLen::Dword,
        SeccompCmpOp::Eq,
        u64::from(libc::PR_SET_VMA.unsigned_abs()),
    )?;
    SeccompRule::new(vec![naming])
}

fn not_executable() -> Result<SeccompRule, seccompiler::BackendError> {
    let executable = u64::from(libc::PROT_EXEC.unsigned_abs());
    let without = SeccompCondition::new(
        2,
        SeccompCmpArgLen::Dword,
        SeccompCmpOp::MaskedEq(executable),
        0,
    )?;
    SeccompRule::new(vec![without])
}
