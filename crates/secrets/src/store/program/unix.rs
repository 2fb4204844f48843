//! Running a program as a group of its own, with pipes that never block us.
//!
//! Who ends a group, and when its number is its own, is said in `living.rs`.

use std::ffi::OsStr;
use std::io::{self, Write as _};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, ioctl_fionbio};
use secrecy::zeroize::Zeroizing;

use super::{Ended, Failed, Input, Stderr, living};
use crate::store::text::{MOST, Wiped};

const GLANCE: Duration = Duration::from_millis(5);

pub(super) fn run(
    program: &Path,
    words: &[&OsStr],
    input: Input<'_>,
    stderr: Stderr,
    patience: Duration,
) -> Result<Ended, Failed> {
    let deadline = Instant::now() + patience;
    let mut command = Command::new(program);
    command.args(words).stdout(Stdio::piped()).process_group(0);
    command.stderr(match stderr {
        Stderr::Discarded => Stdio::null(),
        Stderr::Kept => Stdio::piped(),
    });
    for name in super::own_variables() {
        command.env_remove(name);
    }
    let secret = match input {
        Input::Nothing => {
            command.stdin(Stdio::null());
            None
        }
        Input::File(file) => {
            command.stdin(file);
            None
        }
        Input::Secret(secret) => {
            command.stdin(Stdio::piped());
            Some(secret)
        }
    };
    let child = living::begin(&mut command);
    let child = child.map_err(|error| Failed::NotStarted(error.kind()))?;
    let mut group = Group {
        leader: child,
        status: None,
    };
    let feeding = group.leader.stdin.take().zip(secret);
    let mut feed = feeding.map(|(pipe, left)| Feed { pipe, left });
    let mut out = group.leader.stdout.take().map(Drain::new);
    let mut err = group.leader.stderr.take().map(Drain::new);
    for open in [
        feed.as_ref().map(|feed| feed.pipe.as_fd()),
        out.as_ref().map(|out| out.pipe.as_fd()),
        err.as_ref().map(|err| err.pipe.as_fd()),
    ]
    .into_iter()
    .flatten()
    {
        ioctl_fionbio(open, true).map_err(lost)?;
    }
    let (mut stdout, mut stderr) = (Wiped::default(), Wiped::default());
    let mut unread = false;
    while feed.is_some() || out.is_some() || err.is_some() {
        await_any(
            feed.as_ref().map(|feed| feed.pipe.as_fd()),
            [
                out.as_ref().map(|out| out.pipe.as_fd()),
                err.as_ref().map(|err| err.pipe.as_fd()),
            ],
            deadline,
        )?;
        if let Some(one) = &mut feed {
            match one.go_on()? {
                Way::Open => {}
                Way::Done => feed = None,
                Way::Broken => {
                    unread = true;
                    feed = None;
                }
            }
        }
        go_on(&mut out, &mut stdout)?;
        go_on(&mut err, &mut stderr)?;
    }
    let status = group.wait(deadline)?;
    match unread && status.success() {
        true => Err(Failed::Unread),
        false => Ok(Ended {
            status,
            stdout,
            stderr,
        }),
    }
}

/// The program and all that it started.
struct Group {
    leader: Child,
    /// Known once it has been waited for.
    status: Option<ExitStatus>,
}

impl Group {
    fn wait(&mut self, deadline: Instant) -> Result<ExitStatus, Failed> {
        loop {
            match living::ended(&mut self.leader) {
                Ok(Some(status)) => {
                    self.status = Some(status);
                    return Ok(status);
                }
                Ok(None) if Instant::now() < deadline => std::thread::sleep(GLANCE),
                Ok(None) => return Err(Failed::TimedOut),
                Err(error) => return Err(Failed::Lost(error.kind())),
            }
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if self.status.is_none() {
            living::end(&mut self.leader);
        }
    }
}

enum Way {
    Open,
    Done,
    /// The other end is gone.
    Broken,
}

/// What is still to be written.
struct Feed<'a> {
    pipe: ChildStdin,
    left: &'a [u8],
}

impl Feed<'_> {
    fn go_on(&mut self) -> Result<Way, Failed> {
        match self.pipe.write(self.left) {
            Ok(written) => {
                self.left = self.left.get(written..).unwrap_or_default();
                Ok(match self.left.is_empty() {
                    true => Way::Done,
                    false => Way::Open,
                })
            }
            Err(error) => match error.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Ok(Way::Open),
                io::ErrorKind::BrokenPipe => Ok(Way::Broken),
                kind => Err(Failed::Lost(kind)),
            },
        }
    }
}

/// What has been read, in one piece from the beginning.
struct Drain<P> {
    pipe: P,
    bytes: Wiped,
    filled: usize,
}

trait Pipe: io::Read + AsFd {}
impl Pipe for ChildStdout {}
impl Pipe for ChildStderr {}

impl<P: Pipe> Drain<P> {
    fn new(pipe: P) -> Self {
        Self {
            pipe,
            bytes: Zeroizing::new(vec![0; MOST + 1]),
            filled: 0,
        }
    }
}

/// Takes what is there; at its end, everything.
fn go_on<P: Pipe>(drain: &mut Option<Drain<P>>, all: &mut Wiped) -> Result<(), Failed> {
    let Some(one) = drain else {
        return Ok(());
    };
    let room = one.bytes.get_mut(one.filled..).unwrap_or_default();
    if room.is_empty() {
        return Err(Failed::TooMuch);
    }
    match one.pipe.read(room) {
        Ok(0) => {
            one.bytes.truncate(one.filled);
            *all = std::mem::take(&mut one.bytes);
            *drain = None;
        }
        Ok(read) => one.filled += read,
        Err(error) => match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => {}
            kind => return Err(Failed::Lost(kind)),
        },
    }
    Ok(())
}

/// Until something can be done, or time is up.
fn await_any(
    write: Option<BorrowedFd<'_>>,
    read: [Option<BorrowedFd<'_>>; 2],
    deadline: Instant,
) -> Result<(), Failed> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return Err(Failed::TimedOut);
    }
    let read = read.into_iter().flatten();
    let read = read.map(|open| PollFd::from_borrowed_fd(open, PollFlags::IN));
    let write = write.map(|open| PollFd::from_borrowed_fd(open, PollFlags::OUT));
    let mut all: Vec<PollFd<'_>> = read.chain(write).collect();
    let left = Timespec::try_from(left).map_err(|_| Failed::TimedOut)?;
    match poll(&mut all, Some(&left)) {
        // Too early or too late is found out in the next round.
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(errno) => Err(lost(errno)),
    }
}

fn lost(errno: Errno) -> Failed {
    Failed::Lost(io::Error::from(errno).kind())
}
