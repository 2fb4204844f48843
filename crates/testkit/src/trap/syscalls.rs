//! The system calls that can count: what each does, and which of its arguments say to what and how much. Numbers are
//! those of `x86_64`.

use super::call::Kind;
use nix::libc::{self, c_long};

/// One system call's shape. Numbers in it are positions of arguments, from 0.
#[derive(Debug)]
pub(super) struct Shape {
    pub(super) number: c_long,
    pub(super) name: &'static str,
    /// Writes may turn out to be sends, reads receipts, and opens creations.
    pub(super) kind: Kind,
    pub(super) object: Object,
    pub(super) size: Size,
}

/// What a call works on.
#[derive(Clone, Copy, Debug)]
pub(super) enum Object {
    Descriptor(usize),
    Path(Name),
    Paths(Name, Name),
}

/// A path argument.
#[derive(Clone, Copy, Debug)]
pub(super) struct Name {
    /// The descriptor that a relative path begins at; the working directory if there is none.
    pub(super) base: Option<usize>,
    pub(super) path: usize,
}

/// How much a call moves.
#[derive(Clone, Copy, Debug)]
pub(super) enum Size {
    None,
    /// A number of bytes.
    Bytes(usize),
    /// A length that is no number of bytes to be moved, so that no half of it can be.
    Whole(usize),
    /// An array of `iovec`, and how many there are.
    Vector {
        array: usize,
        count: usize,
    },
    /// A `msghdr`.
    Message(usize),
}

/// Where an open call has its flags.
#[derive(Clone, Copy, Debug)]
pub(super) enum Flags {
    Argument(usize),
    /// In the first word of an `open_how`.
    How(usize),
    /// As if `O_CREAT` were given.
    Creating,
}

pub(super) fn shape(number: u64) -> Option<&'static Shape> {
    let number = c_long::try_from(number).ok()?;
    SHAPES.iter().find(|shape| shape.number == number)
}

impl Shape {
    pub(super) fn flags(&self) -> Option<Flags> {
        match self.number {
            libc::SYS_open => Some(Flags::Argument(1)),
            libc::SYS_openat => Some(Flags::Argument(2)),
            libc::SYS_openat2 => Some(Flags::How(2)),
            libc::SYS_creat => Some(Flags::Creating),
            _ => None,
        }
    }

    /// The kinds that a call of this shape may turn out to be.
    pub(super) fn kinds(&self) -> impl Iterator<Item = Kind> {
        let otherwise = match self.kind {
            Kind::Write => Some(Kind::Send),
            Kind::Read => Some(Kind::Receive),
            Kind::Open => Some(Kind::Create),
            _ => None,
        };
        [self.kind].into_iter().chain(otherwise)
    }
}

const fn row(number: c_long, name: &'static str, kind: Kind, object: Object, size: Size) -> Shape {
    Shape {
        number,
        name,
        kind,
        object,
        size,
    }
}

const fn fd(position: usize) -> Object {
    Object::Descriptor(position)
}

const fn named(path: usize) -> Name {
    Name { base: None, path }
}

const fn below(base: usize) -> Name {
    Name {
        base: Some(base),
        path: base + 1,
    }
}

const fn path(position: usize) -> Object {
    Object::Path(named(position))
}

const fn path_at(base: usize) -> Object {
    Object::Path(below(base))
}

const TWO: Object = Object::Paths(named(0), named(1));
const TWO_AT: Object = Object::Paths(below(0), below(2));
const VECTOR: Size = Size::Vector { array: 1, count: 2 };

#[rustfmt::skip]
static SHAPES: &[Shape] = &[
    row(libc::SYS_write, "write", Kind::Write, fd(0), Size::Bytes(2)),
    row(libc::SYS_pwrite64, "pwrite64", Kind::Write, fd(0), Size::Bytes(2)),
    row(libc::SYS_writev, "writev", Kind::Write, fd(0), VECTOR),
    row(libc::SYS_pwritev, "pwritev", Kind::Write, fd(0), VECTOR),
    row(libc::SYS_pwritev2, "pwritev2", Kind::Write, fd(0), VECTOR),
    row(libc::SYS_sendfile, "sendfile", Kind::Write, fd(0), Size::Bytes(3)),
    row(libc::SYS_splice, "splice", Kind::Write, fd(2), Size::Bytes(4)),
    row(libc::SYS_copy_file_range, "copy_file_range", Kind::Write, fd(2), Size::Bytes(4)),
    row(libc::SYS_read, "read", Kind::Read, fd(0), Size::Whole(2)),
    row(libc::SYS_pread64, "pread64", Kind::Read, fd(0), Size::Whole(2)),
    row(libc::SYS_readv, "readv", Kind::Read, fd(0), Size::None),
    row(libc::SYS_preadv, "preadv", Kind::Read, fd(0), Size::None),
    row(libc::SYS_preadv2, "preadv2", Kind::Read, fd(0), Size::None),
    row(libc::SYS_fsync, "fsync", Kind::Sync, fd(0), Size::None),
    row(libc::SYS_fdatasync, "fdatasync", Kind::Sync, fd(0), Size::None),
    row(libc::SYS_sync_file_range, "sync_file_range", Kind::Sync, fd(0), Size::Whole(2)),
    row(libc::SYS_syncfs, "syncfs", Kind::Sync, fd(0), Size::None),
    row(libc::SYS_sendto, "sendto", Kind::Send, fd(0), Size::Bytes(2)),
    row(libc::SYS_sendmsg, "sendmsg", Kind::Send, fd(0), Size::Message(1)),
    row(libc::SYS_sendmmsg, "sendmmsg", Kind::Send, fd(0), Size::None),
    row(libc::SYS_recvfrom, "recvfrom", Kind::Receive, fd(0), Size::Whole(2)),
    row(libc::SYS_recvmsg, "recvmsg", Kind::Receive, fd(0), Size::None),
    row(libc::SYS_recvmmsg, "recvmmsg", Kind::Receive, fd(0), Size::None),
    row(libc::SYS_open, "open", Kind::Open, path(0), Size::None),
    row(libc::SYS_openat, "openat", Kind::Open, path_at(0), Size::None),
    row(libc::SYS_openat2, "openat2", Kind::Open, path_at(0), Size::None),
    row(libc::SYS_creat, "creat", Kind::Open, path(0), Size::None),
    row(libc::SYS_ftruncate, "ftruncate", Kind::Truncate, fd(0), Size::Whole(1)),
    row(libc::SYS_truncate, "truncate", Kind::Truncate, path(0), Size::Whole(1)),
    row(libc::SYS_fallocate, "fallocate", Kind::Allocate, fd(0), Size::Whole(3)),
    row(libc::SYS_rename, "rename", Kind::Rename, TWO, Size::None),
    row(libc::SYS_renameat, "renameat", Kind::Rename, TWO_AT, Size::None),
    row(libc::SYS_renameat2, "renameat2", Kind::Rename, TWO_AT, Size::None),
    row(libc::SYS_link, "link", Kind::Link, TWO, Size::None),
    row(libc::SYS_linkat, "linkat", Kind::Link, TWO_AT, Size::None),
    row(libc::SYS_unlink, "unlink", Kind::Unlink, path(0), Size::None),
    row(libc::SYS_unlinkat, "unlinkat", Kind::Unlink, path_at(0), Size::None),
    row(libc::SYS_rmdir, "rmdir", Kind::Unlink, path(0), Size::None),
    row(libc::SYS_mkdir, "mkdir", Kind::MakeDir, path(0), Size::None),
    row(libc::SYS_mkdirat, "mkdirat", Kind::MakeDir, path_at(0), Size::None),
    row(libc::SYS_chmod, "chmod", Kind::Mode, path(0), Size::None),
    row(libc::SYS_fchmod, "fchmod", Kind::Mode, fd(0), Size::None),
    row(libc::SYS_fchmodat, "fchmodat", Kind::Mode, path_at(0), Size::None),
    row(libc::SYS_fchmodat2, "fchmodat2", Kind::Mode, path_at(0), Size::None),
    row(libc::SYS_flock, "flock", Kind::Lock, fd(0), Size::None),
];
