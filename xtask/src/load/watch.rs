//! What is seen of the program, of the mail server and of this process, once a second, while the load lasts.

use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::program::{self, Program};
use super::samples::slope;
use super::world::World;

/// So often the mail server is asked who is logged in how often.
const CENSUS: usize = 15;
/// Buffers and caches fill at first.
const SETTLING: usize = 60;
/// From fewer looks than these after that nothing is concluded.
const ENOUGH: usize = 30;

#[derive(Default)]
pub(super) struct Seen {
    pub rss: Vec<f64>,
    pub descriptors: Vec<f64>,
    pub connections: Vec<usize>,
    /// The most that one account had at a time; nothing where the mail server did not tell.
    pub most_of_one: Option<usize>,
    pub seconds: f64,
    pub program: f64,
    pub harness: f64,
    pub dovecot: f64,
    /// Of a minute, before and after.
    pub load: [String; 2],
}

impl Seen {
    /// Until `over`.
    pub(super) fn watch(world: &World, program: &Program, over: &AtomicBool) -> Self {
        let master = master(world);
        let mut seen = Self::default();
        seen.load[0] = load();
        let begun = Instant::now();
        let before = [
            program.processor(),
            program::processor_of(std::process::id()),
            program::processor_of_group(master),
        ];
        let mut round = 0;
        while !over.load(Ordering::Relaxed) {
            let sight = program.look();
            seen.rss.push(sight.rss as f64);
            seen.descriptors.push(sight.descriptors as f64);
            seen.connections
                .push(program::connections_to(world.dovecot.port()));
            if round % CENSUS == 0 {
                seen.most_of_one = seen.most_of_one.max(most_of_one(world));
            }
            round += 1;
            let next = begun + Duration::from_secs(1) * u32::try_from(round).unwrap_or(u32::MAX);
            while Instant::now() < next && !over.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(50));
            }
        }
        seen.seconds = begun.elapsed().as_secs_f64();
        seen.program = program.processor() - before[0];
        seen.harness = program::processor_of(std::process::id()) - before[1];
        seen.dovecot = program::processor_of_group(master) - before[2];
        seen.load[1] = load();
        seen
    }

    /// Octets a second; nothing where it was not looked for long enough to tell.
    pub(super) fn rss_slope(&self) -> Option<f64> {
        settled(&self.rss)
    }

    pub(super) fn descriptor_slope(&self) -> Option<f64> {
        settled(&self.descriptors)
    }
}

fn settled(values: &[f64]) -> Option<f64> {
    let rest = values.get(SETTLING..).unwrap_or_default();
    (rest.len() >= ENOUGH).then(|| slope(rest))
}

pub(crate) fn load() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().unwrap_or_default().to_owned()
}

pub(super) fn master(world: &World) -> u32 {
    let text = std::fs::read_to_string(world.dovecot.dir().join("run/master.pid"));
    text.ok()
        .and_then(|text| text.trim().parse().ok())
        .unwrap_or_default()
}

fn most_of_one(world: &World) -> Option<usize> {
    let told = Command::new("doveadm")
        .arg("-c")
        .arg(world.dovecot.dir().join("dovecot.conf"))
        .arg("who")
        .output();
    let told = told.map(|told| told.stdout).unwrap_or_default();
    let told = String::from_utf8_lossy(&told);
    let counts = told
        .lines()
        .filter_map(|line| line.split_whitespace().nth(1)?.parse().ok());
    counts.max()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_look_tells_nothing_of_growth() {
        let seen = |seconds| Seen {
            rss: vec![1.0; seconds],
            ..Seen::default()
        };
        assert_eq!(seen(0).rss_slope(), None);
        assert_eq!(seen(SETTLING + ENOUGH - 1).rss_slope(), None);
        assert_eq!(seen(SETTLING + ENOUGH).rss_slope(), Some(0.0));
    }
}
