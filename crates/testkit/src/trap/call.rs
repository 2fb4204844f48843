//! One system call as a test sees it: what it is about to do, and to which file. Says nothing of its result.

use std::path::PathBuf;

/// What a call does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Bytes into a file: `write`, `pwrite64`, `writev`, `pwritev`, `pwritev2`, `sendfile`, `splice`, `copy_file_range`.
    Write,
    /// Bytes out of a file: `read`, `pread64`, `readv`, `preadv`, `preadv2`.
    Read,
    /// `fsync`, `fdatasync`, `sync_file_range`, `syncfs`.
    Sync,
    /// `sendto`, `sendmsg`, `sendmmsg`, and what would be a [`Kind::Write`] but goes to a socket or an unnamed pipe.
    Send,
    /// `recvfrom`, `recvmsg`, `recvmmsg`, and what would be a [`Kind::Read`] but comes from a socket.
    Receive,
    /// `open`, `openat`, `openat2` that make no file.
    Open,
    /// `creat`, and `open`, `openat`, `openat2` with `O_CREAT`, whether or not the file is there.
    Create,
    /// `ftruncate`, `truncate`.
    Truncate,
    /// `fallocate`.
    Allocate,
    /// `rename`, `renameat`, `renameat2`.
    Rename,
    /// `link`, `linkat`.
    Link,
    /// `unlink`, `unlinkat`, `rmdir`.
    Unlink,
    /// `mkdir`, `mkdirat`.
    MakeDir,
    /// `chmod`, `fchmod`, `fchmodat`, `fchmodat2`.
    Mode,
    /// `flock`.
    Lock,
}

/// The pipes that a program was started with to speak on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stream {
    Stdout,
    Stderr,
}

/// A system call that counted, as it was when it was begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    pub kind: Kind,
    /// The kernel's name for it.
    pub name: &'static str,
    /// The descriptor it works on, if any.
    pub descriptor: Option<i32>,
    /// The stream it speaks on, whatever the descriptor's number.
    pub stream: Option<Stream>,
    /// The file it works on. None for sockets and pipes.
    pub path: Option<PathBuf>,
    /// The new name, of calls that take two.
    pub new_path: Option<PathBuf>,
    /// The bytes it was asked to move, or the size it was asked to make.
    pub length: Option<u64>,
}
