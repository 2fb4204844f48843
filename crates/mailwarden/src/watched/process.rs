//! What the operating system knows of this process. Where it does not tell, nothing is said.

use std::fs;

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
}
