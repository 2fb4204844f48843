//! One thread that stands at a system call: what it is about to do, and changing that. Decides nothing.

use super::call::{Call, Kind, Stream};
use super::syscalls::{self, Flags, Name, Object, Shape, Size};
use super::watch::{Watch, resolve};
use nix::errno::Errno;
use nix::libc::{self, user_regs_struct};
use nix::sys::ptrace;
use nix::unistd::Pid;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// No system call: a thread that is made to ask for it gets none.
const NO_CALL: u64 = u64::MAX;
/// Bounds what is read of a program's memory: `PATH_MAX`, `IOV_MAX`.
const LONGEST_PATH: usize = 4096;
const MOST_PIECES: u64 = 1024;
/// An `iovec` is an address and a length.
const PIECE: u64 = 16;
/// Where a `msghdr` has the address and the number of its `iovec`s.
const MESSAGE_ARRAY: u64 = 16;
const MESSAGE_COUNT: u64 = 24;

#[derive(Debug)]
pub(super) struct Tracee {
    thread: Pid,
    registers: user_regs_struct,
}

/// What the kernel calls the pipes that a program was started with.
#[derive(Debug, Default)]
pub(super) struct Streams(Vec<(PathBuf, Stream)>);

/// Whether a call could be cut in two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Halved {
    Done,
    /// It carries no bytes.
    Nothing,
}

/// An `iovec` array.
struct Pieces {
    address: u64,
    lengths: Vec<u64>,
}

impl Tracee {
    pub(super) fn new(thread: Pid) -> Result<Self, Errno> {
        let registers = ptrace::getregs(thread)?;
        Ok(Self { thread, registers })
    }

    /// Whether the thread stands before a call: the kernel presets the result so.
    pub(super) fn is_at_entry(&self) -> bool {
        self.registers.rax == result_of(Errno::ENOSYS)
    }

    /// The call that the thread is about to do, if it is one that counts.
    pub(super) fn call(&self, watch: &Watch, streams: &Streams) -> Option<Call> {
        let shape = self.shape()?;
        if !shape.kinds().any(|kind| watch.names(kind)) {
            return None;
        }
        let mut call = Call {
            kind: shape.kind,
            name: shape.name,
            descriptor: None,
            stream: None,
            path: None,
            new_path: None,
            length: self.length(shape),
        };
        match shape.object {
            Object::Descriptor(position) => {
                let descriptor = self.descriptor(position);
                call.descriptor = Some(descriptor);
                self.look_at(descriptor, streams, &mut call)?;
            }
            Object::Path(name) => call.path = self.path(name),
            Object::Paths(old, new) => {
                call.path = self.path(old);
                call.new_path = self.path(new);
            }
        }
        if shape.flags().is_some_and(|flags| self.creates(flags)) {
            call.kind = Kind::Create;
        }
        watch.counts(&call).then_some(call)
    }

    /// Makes the thread do no call at all.
    pub(super) fn skip(&mut self) -> Result<(), Errno> {
        self.registers.orig_rax = NO_CALL;
        ptrace::setregs(self.thread, self.registers)
    }

    /// Makes the thread, which stands after a call, see this error for a result.
    pub(super) fn answer(&mut self, error: Errno) -> Result<(), Errno> {
        self.registers.rax = result_of(error);
        ptrace::setregs(self.thread, self.registers)
    }

    /// Makes the call move half of its bytes, rounded down.
    pub(super) fn halve(&mut self) -> io::Result<Halved> {
        match self.shape().map_or(Size::None, |shape| shape.size) {
            Size::None | Size::Whole(_) => return Ok(Halved::Nothing),
            Size::Bytes(position) => {
                let half = self.argument(position) / 2;
                self.set_argument(position, half);
            }
            Size::Vector { array, count } => {
                let pieces = self.pieces(self.argument(array), self.argument(count))?;
                let left = self.cut(&pieces)?;
                self.set_argument(count, left);
            }
            Size::Message(position) => {
                let message = self.argument(position);
                let pieces = self.message(message)?;
                let left = self.cut(&pieces)?;
                self.write(message + MESSAGE_COUNT, left)?;
            }
        }
        ptrace::setregs(self.thread, self.registers)?;
        Ok(Halved::Done)
    }

    fn shape(&self) -> Option<&'static Shape> {
        syscalls::shape(self.registers.orig_rax)
    }

    fn length(&self, shape: &Shape) -> Option<u64> {
        let pieces = match shape.size {
            Size::None => return None,
            Size::Bytes(position) | Size::Whole(position) => return Some(self.argument(position)),
            Size::Vector { array, count } => {
                self.pieces(self.argument(array), self.argument(count))
            }
            Size::Message(position) => self.message(self.argument(position)),
        };
        Some(pieces.ok()?.lengths.iter().sum())
    }

    /// Fills in what a descriptor is; none if calls on it are of no kind.
    fn look_at(&self, descriptor: i32, streams: &Streams, call: &mut Call) -> Option<()> {
        let target = link(self.thread, &format!("fd/{descriptor}"))?;
        if target.is_absolute() {
            call.path = Some(target);
            return Some(());
        }
        let name = target.to_str()?;
        let is_socket = name.starts_with("socket:");
        let speaks = is_socket || name.starts_with("pipe:");
        match call.kind {
            Kind::Read | Kind::Receive if is_socket => call.kind = Kind::Receive,
            Kind::Write | Kind::Send if speaks => {
                call.kind = Kind::Send;
                call.stream = streams.find(&target);
            }
            // What is left has no name: eventfd and its kin, with which threads wake each other.
            _ => return None,
        }
        Some(())
    }

    fn creates(&self, flags: Flags) -> bool {
        let flags = match flags {
            Flags::Creating => return true,
            Flags::Argument(position) => self.argument(position),
            Flags::How(position) => self.read(self.argument(position)).unwrap_or_default(),
        };
        flags & u64::from(libc::O_CREAT.unsigned_abs()) != 0
    }

    fn path(&self, name: Name) -> Option<PathBuf> {
        let given = self.text(self.argument(name.path)).ok()?;
        // What the program calls itself would be us.
        if let Ok(rest) = given.strip_prefix("/proc/self") {
            return self.proc(rest).canonicalize().ok();
        }
        let base = match name.base.map(|position| self.descriptor(position)) {
            None | Some(libc::AT_FDCWD) => link(self.thread, "cwd")?,
            Some(descriptor) => link(self.thread, &format!("fd/{descriptor}"))?,
        };
        Some(match given.as_os_str().is_empty() {
            true => base,
            false => resolve(&base.join(given)),
        })
    }

    fn descriptor(&self, position: usize) -> i32 {
        // The kernel, too, looks at the lower half only.
        self.argument(position) as i32
    }

    fn argument(&self, position: usize) -> u64 {
        let registers = &self.registers;
        [
            registers.rdi,
            registers.rsi,
            registers.rdx,
            registers.r10,
            registers.r8,
            registers.r9,
        ][position]
    }

    fn set_argument(&mut self, position: usize, value: u64) {
        let registers = &mut self.registers;
        *[
            &mut registers.rdi,
            &mut registers.rsi,
            &mut registers.rdx,
            &mut registers.r10,
            &mut registers.r8,
            &mut registers.r9,
        ][position] = value;
    }

    fn message(&self, address: u64) -> io::Result<Pieces> {
        let array = self.read(address + MESSAGE_ARRAY)?;
        let count = self.read(address + MESSAGE_COUNT)?;
        self.pieces(array, count)
    }

    fn pieces(&self, address: u64, count: u64) -> io::Result<Pieces> {
        let lengths = (0..count.min(MOST_PIECES))
            .map(|piece| self.read(address + piece * PIECE + 8))
            .collect::<io::Result<_>>()?;
        Ok(Pieces { address, lengths })
    }

    /// Shortens the piece in which the half ends, and tells how many pieces are left.
    fn cut(&self, pieces: &Pieces) -> io::Result<u64> {
        let mut wanted = pieces.lengths.iter().sum::<u64>() / 2;
        for (number, length) in (0..).zip(&pieces.lengths) {
            if wanted <= *length {
                self.write(pieces.address + number * PIECE + 8, wanted)?;
                return Ok(number + 1);
            }
            wanted -= length;
        }
        Ok(0)
    }

    fn text(&self, address: u64) -> io::Result<PathBuf> {
        let memory = File::open(self.proc("mem"))?;
        let mut text = vec![0; LONGEST_PATH];
        // What is mapped may end before the longest path does.
        let length = memory.read_at(&mut text, address)?;
        text.truncate(length);
        let end = text.iter().position(|octet| *octet == 0);
        text.truncate(end.ok_or(io::ErrorKind::InvalidData)?);
        Ok(OsString::from_vec(text).into())
    }

    fn read(&self, address: u64) -> io::Result<u64> {
        let mut word = [0; 8];
        File::open(self.proc("mem"))?.read_exact_at(&mut word, address)?;
        Ok(u64::from_ne_bytes(word))
    }

    fn write(&self, address: u64, word: u64) -> io::Result<()> {
        let memory = File::options().write(true).open(self.proc("mem"))?;
        memory.write_all_at(&word.to_ne_bytes(), address)
    }

    fn proc(&self, name: impl AsRef<Path>) -> PathBuf {
        proc(self.thread, name)
    }
}

impl Streams {
    /// The streams of a program that has not yet run.
    pub(super) fn of(program: Pid) -> Self {
        let streams = [("fd/1", Stream::Stdout), ("fd/2", Stream::Stderr)];
        let named = streams.map(|(name, stream)| Some((link(program, name)?, stream)));
        Self(named.into_iter().flatten().collect())
    }

    fn find(&self, pipe: &Path) -> Option<Stream> {
        let found = self.0.iter().find(|(name, _)| name == pipe);
        found.map(|(_, stream)| *stream)
    }
}

fn link(thread: Pid, name: &str) -> Option<PathBuf> {
    proc(thread, name).read_link().ok()
}

fn proc(thread: Pid, name: impl AsRef<Path>) -> PathBuf {
    Path::new("/proc").join(thread.to_string()).join(name)
}

/// How the kernel returns an error.
fn result_of(error: Errno) -> u64 {
    i64::from(-(error as i32)).cast_unsigned()
}
