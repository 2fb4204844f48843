//! What the numbers were taken on, as far as it explains them; nothing that names the machine or its owner.

use std::fmt;
use std::process::Command;

pub(crate) struct Machine {
    pub cores: usize,
    pub memory_gib: u64,
    pub kernel: String,
    pub dovecot: String,
    pub date: String,
    /// Over the last minute, before the first measurement.
    pub load: String,
}

impl Machine {
    pub(crate) fn look() -> Self {
        Self {
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            memory_gib: memory_gib(),
            kernel: first_word(&file("/proc/sys/kernel/osrelease"), '-'),
            dovecot: dovecot_version(),
            date: jiff::Timestamp::now().strftime("%Y-%m-%d").to_string(),
            load: load(),
        }
    }
}

/// One line, to be written when all is measured: the load of now stands in it.
impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            cores,
            memory_gib,
            kernel,
            dovecot,
            date,
            load: before,
        } = self;
        write!(
            f,
            "{date}; {cores} cores, {memory_gib} GiB, Linux {kernel}, Dovecot {dovecot}; load average {before} before \
             and {} after.",
            load()
        )
    }
}

fn load() -> String {
    first_word(&file("/proc/loadavg"), ' ')
}

fn memory_gib() -> u64 {
    let info = file("/proc/meminfo");
    let total = info.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kib = total.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or_default().div_ceil(1 << 20)
}

fn dovecot_version() -> String {
    let ask = |program: &str| Command::new(program).arg("--version").output();
    let output = ask("dovecot")
        .or_else(|_| ask("/usr/sbin/dovecot"))
        .expect("run dovecot");
    first_word(&String::from_utf8_lossy(&output.stdout), ' ')
}

fn file(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

fn first_word(text: &str, end: char) -> String {
    text.trim().split(end).next().unwrap_or_default().to_owned()
}
