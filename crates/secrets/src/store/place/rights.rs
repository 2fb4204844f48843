//! Whose a file or directory is, and who else may do what with it. Asked of what is open, so that it cannot be exchanged meanwhile.

use std::os::fd::AsFd;
use std::path::Path;

use rustix::fs::{Mode, Stat, fstat};
use rustix::process::geteuid;

use super::{Readers, unreadable};
use crate::store::NoSecret;

/// A directory that nobody but us and root can put anything into.
pub(super) fn of_directory(open: impl AsFd, path: &Path) -> Result<(), NoSecret> {
    let stat = fstat(open).map_err(|errno| unreadable(path, &errno.into()))?;
    let shown = path.display();
    if !is_ours(&stat) {
        return Err(foreign(path));
    }
    match mode(&stat).intersects(Mode::WGRP | Mode::WOTH) {
        false => Ok(()),
        true => Err(NoSecret::new(
            format!("other users can change the directory {shown}, and so what is found there"),
            match is_for_all(&stat) {
                true => format!(
                    "keep secrets in a directory of your own, with mode 0700, and not in {shown}"
                ),
                false => format!("run: chmod go-w {shown}"),
            },
        )),
    }
}

/// Such as `/tmp`: it is meant to be so, and others would miss it.
fn is_for_all(stat: &Stat) -> bool {
    let roots = stat.st_uid == 0 && !geteuid().is_root();
    mode(stat).contains(Mode::SVTX) || roots
}

/// A file that nobody else can change, nor read unless that is allowed.
pub(super) fn of_file(stat: &Stat, path: &Path, readers: Readers) -> Result<(), NoSecret> {
    let shown = path.display();
    if !is_ours(stat) {
        return Err(foreign(path));
    }
    let (forbidden, what, hint) = match readers {
        Readers::Nobody => (Mode::RWXG | Mode::RWXO, "read or changed", "600"),
        Readers::Anybody => (Mode::WGRP | Mode::WOTH, "changed", "go-w"),
    };
    match mode(stat).intersects(forbidden) {
        false => Ok(()),
        true => Err(NoSecret::new(
            format!("{shown} can be {what} by other users"),
            format!("run: chmod {hint} {shown}"),
        )),
    }
}

fn mode(stat: &Stat) -> Mode {
    Mode::from_raw_mode(stat.st_mode)
}

/// Root can do anything here anyhow.
fn is_ours(stat: &Stat) -> bool {
    stat.st_uid == 0 || stat.st_uid == geteuid().as_raw()
}

fn foreign(path: &Path) -> NoSecret {
    let shown = path.display();
    NoSecret::new(
        format!("{shown} belongs to another user, who can change it at will"),
        format!("let the user that runs this program own it: chown USER {shown}"),
    )
}
