//! The parent's side: one child for each attachment, bounded in number, time and output.
//!
//! A crash, a hang or a bomb costs that attachment its text and nothing else. No child is used twice.

use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use mail::{ExtractFault, ExtractJob, ExtractedText, Extracting, Extractor};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, Command};
use tokio::sync::Semaphore;

use crate::formats::{MAX_BYTES, MAX_CHARS};
use crate::frame::{MAX_LINE, MAX_REASONS_BYTES, Probe, Reply, Request};
use crate::protections::{Protection, Protections, State};

#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// For one attachment, from the start of its child.
    pub wall: Duration,
    /// Children at a time; further attachments wait for their turn.
    pub at_once: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            wall: Duration::from_secs(5),
            at_once: 2,
        }
    }
}

/// The allocator takes addresses ahead, by itself a gigabyte: more than a child may have, and what it has before it is bounded
/// nobody takes away. So much at a time leaves the bound in force.
const ARENA: (&str, &str) = ("MIMALLOC_ARENA_RESERVE", "64MiB");

/// Starts the program that calls [`crate::worker::run`].
pub struct Runner {
    program: PathBuf,
    argument: String,
    limits: Limits,
    places: Semaphore,
}

impl Runner {
    /// `argument` is what makes the program a worker.
    pub fn new(program: impl Into<PathBuf>, argument: impl Into<String>, limits: Limits) -> Self {
        Self {
            program: program.into(),
            argument: argument.into(),
            limits,
            places: Semaphore::new(limits.at_once.max(1)),
        }
    }

    /// What holds a child in on this system: as one says, and as others show that try to get out.
    pub async fn protections(&self) -> Result<Protections, ExtractFault> {
        let applied = match self.ask(Request::Probe(Probe::Report), &[], 0).await? {
            Ended::Replied(Reply::Probed(applied)) => applied,
            _ => return Err(ExtractFault::Unavailable),
        };
        let mut proven = Vec::new();
        for (probe, name) in [
            (Probe::File, "no files"),
            (Probe::Socket, "no network"),
            (Probe::Program, "no programs"),
        ] {
            let state = match self.ask(Request::Probe(probe), &[], 0).await? {
                Ended::Replied(Reply::Probed(tried)) => tried
                    .into_iter()
                    .next()
                    .map_or_else(unknown, |tried| tried.state),
                // Killed in the attempt.
                Ended::Died(status) if died_of_a_call(status) => State::InForce,
                Ended::Replied(_) | Ended::Died(_) => unknown(),
            };
            proven.push(Protection {
                name: name.to_owned(),
                state,
            });
        }
        Ok(Protections { applied, proven })
    }

    async fn extract(&self, job: ExtractJob) -> Result<ExtractedText, ExtractFault> {
        if job.bytes.len() > MAX_BYTES {
            return Err(ExtractFault::TooLarge);
        }
        let max_chars = job.max_chars.min(MAX_CHARS);
        let request = Request::Extract {
            format: job.format,
            max_chars,
            length: job.bytes.len(),
        };
        match self.ask(request, &job.bytes, max_chars).await? {
            Ended::Replied(Reply::Text(text)) => Ok(text),
            Ended::Replied(Reply::Fault(fault)) => Err(fault),
            Ended::Replied(Reply::Probed(_)) => Err(ExtractFault::Crashed),
            Ended::Died(status) => {
                // How it died, never what of.
                tracing::warn!(format = job.format.name(), %status, "an attachment's reader died");
                Err(died_of_time(status))
            }
        }
    }

    async fn ask(
        &self,
        request: Request,
        bytes: &[u8],
        max_chars: usize,
    ) -> Result<Ended, ExtractFault> {
        let _place = self
            .places
            .acquire()
            .await
            .map_err(|_| ExtractFault::Unavailable)?;
        let mut child = self.start()?;
        let talk = converse(&mut child, &request, bytes, max_chars);
        match tokio::time::timeout(self.limits.wall, talk).await {
            Ok(ended) => ended,
            Err(_) => {
                // Gone before its place is given away.
                let _ = child.kill().await;
                Err(ExtractFault::TimedOut)
            }
        }
    }

    fn start(&self) -> Result<Child, ExtractFault> {
        // INVARIANT: the child inherits nothing: no variables but ours, no folder, no open file but its pipes.
        let started = Command::new(&self.program)
            .arg(&self.argument)
            .env_clear()
            .env(ARENA.0, ARENA.1)
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn();
        started.map_err(|error| {
            tracing::warn!(kind = %error.kind(), "the reader of attachments cannot be started");
            ExtractFault::Unavailable
        })
    }
}

impl Extractor for Runner {
    fn text<'a>(&'a self, job: ExtractJob) -> Extracting<'a> {
        Box::pin(self.extract(job))
    }
}

enum Ended {
    Replied(Reply),
    Died(ExitStatus),
}

async fn converse(
    child: &mut Child,
    request: &Request,
    bytes: &[u8],
    max_chars: usize,
) -> Result<Ended, ExtractFault> {
    let (Some(mut input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(ExtractFault::Unavailable);
    };
    let ask = async {
        // A child that died does not listen; its end says more than this error.
        if input.write_all(request.line().as_bytes()).await.is_ok() {
            let _ = input.write_all(bytes).await;
        }
        drop(input);
    };
    // A character has at most four bytes; findings of a probe are few lines.
    let most = 4 * max_chars + MAX_LINE + MAX_REASONS_BYTES + 4_096;
    let mut reply = Vec::new();
    let mut bounded = output.take(most as u64 + 1);
    let hear = bounded.read_to_end(&mut reply);
    let ((), heard) = tokio::join!(ask, hear);
    if heard.is_err() || reply.len() > most {
        let _ = child.kill().await;
        return Err(ExtractFault::Crashed);
    }
    let status = child.wait().await.map_err(|_| ExtractFault::Crashed)?;
    if !status.success() {
        return Ok(Ended::Died(status));
    }
    Reply::parse(&reply, max_chars)
        .map(Ended::Replied)
        .ok_or(ExtractFault::Crashed)
}

fn unknown() -> State {
    State::Missing("the child that tried gave no answer".to_owned())
}

#[cfg(target_os = "linux")]
fn died_of_a_call(status: ExitStatus) -> bool {
    use std::os::unix::process::ExitStatusExt as _;
    status.signal() == Some(rustix::process::Signal::SYS.as_raw())
}

#[cfg(not(target_os = "linux"))]
fn died_of_a_call(_status: ExitStatus) -> bool {
    false
}

/// Out of its processor time, or crashed. Out of memory is a crash too: the two look the same from here.
#[cfg(unix)]
fn died_of_time(status: ExitStatus) -> ExtractFault {
    use std::os::unix::process::ExitStatusExt as _;
    let signal = status.signal();
    let out_of_time = [
        rustix::process::Signal::XCPU.as_raw(),
        rustix::process::Signal::KILL.as_raw(),
    ];
    if signal.is_some_and(|signal| out_of_time.contains(&signal)) {
        ExtractFault::TimedOut
    } else {
        ExtractFault::Crashed
    }
}

#[cfg(not(unix))]
fn died_of_time(_status: ExitStatus) -> ExtractFault {
    ExtractFault::Crashed
}
