//! What the operating system knows of this process. Where it does not tell, nothing is said.

use std::fs;
use std::time::Duration;

use gateway::Strain;

/// So many file descriptors are counted; a process that has more is in other trouble.
const MOST_FILES: usize = 1 << 20;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Process {
    pub(crate) resident_bytes: u64,
    pub(crate) open_files: u64,
}

impl Process {
    /// From `/proc`, on Linux.
    pub(crate) fn now() -> Option<Self> {
        let status = fs::read_to_string("/proc/self/status").ok()?;
        let files = fs::read_dir("/proc/self/fd").ok()?.take(MOST_FILES).count();
        Some(Self {
            resident_bytes: resident(&status)?,
            // One of them is the look itself.
            open_files: u64::try_from(files).ok()?.saturating_sub(1),
        })
    }
}

fn resident(status: &str) -> Option<u64> {
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kilobytes.checked_mul(1024)
}

/// How long its threads ran, and how long they waited for a processor, of all that there are now.
pub(crate) fn strain() -> Option<Strain> {
    let mut strain = Strain::default();
    for thread in fs::read_dir("/proc/self/task").ok()? {
        let Ok(thread) = thread else { continue };
        // A thread may end while it is looked at.
        let Ok(told) = fs::read_to_string(thread.path().join("schedstat")) else {
            continue;
        };
        let (ran, waited) = times(&told)?;
        strain.ran += ran;
        strain.waited += waited;
    }
    Some(strain)
}

/// Nanoseconds on a processor and in line for one, and how often it had one.
fn times(told: &str) -> Option<(Duration, Duration)> {
    let mut numbers = told.split_whitespace().map(str::parse);
    let mut next = || numbers.next()?.ok().map(Duration::from_nanos);
    next().zip(next())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read_in_bytes() {
        let status = "Name:\tmailwarden\nVmPeak:\t  900 kB\nVmRSS:\t   123 kB\n";
        assert_eq!(resident(status), Some(123 * 1024));
        assert_eq!(resident("Name:\tx\n"), None);
        assert_eq!(resident("VmRSS:\t many\n"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_process_has_memory_and_files() {
        let now = Process::now().unwrap();
        assert!(
            now.resident_bytes > 1 << 20 && now.open_files >= 3,
            "{now:?}"
        );
    }
    #[test]
    fn times_of_a_thread_are_read() {
        let (ran, waited) = (Duration::from_nanos(12), Duration::from_nanos(34));
        assert_eq!(times("12 34 5\n"), Some((ran, waited)));
        assert_eq!(times("12\n"), None);
        assert_eq!(times("\n"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn threads_of_this_process_have_run() {
        let before = strain().unwrap();
        let mut sum = 0u64;
        while strain().unwrap().ran <= before.ran {
            sum = std::hint::black_box(sum + 1);
        }
    }
}
