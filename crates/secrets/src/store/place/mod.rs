//! A directory with secrets in it: what lies beneath is found without ever leaving it, and taken only where nobody else could have put
//! it. What stands in the files is others' business.

#[cfg(not(unix))]
mod elsewhere;
#[cfg(unix)]
mod find;
#[cfg(unix)]
mod rights;
#[cfg(unix)]
mod unix;

use std::fs::File;
use std::io;
use std::path::Path;

#[cfg(not(unix))]
pub(super) use elsewhere::Place;
#[cfg(unix)]
pub(super) use unix::Place;

use super::NoSecret;

/// Who besides the owner may read a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Readers {
    Nobody,
    /// What is encrypted may be seen.
    Anybody,
}

/// A file that the operator named by its whole path. The links on the way are the operator's too.
pub(super) fn file(path: &Path, readers: Readers) -> Result<File, NoSecret> {
    let real = std::fs::canonicalize(path).map_err(|error| unreadable(path, &error))?;
    let (Some(above), Some(name)) = (real.parent(), real.file_name().and_then(|n| n.to_str()))
    else {
        return Err(irregular(path));
    };
    let found = Place::open(above)?.file(&[name], readers)?;
    found.ok_or_else(|| unreadable(path, &io::ErrorKind::NotFound.into()))
}

pub(super) fn missing(path: &Path) -> NoSecret {
    unreadable(path, &io::ErrorKind::NotFound.into())
}

fn unreadable(path: &Path, error: &io::Error) -> NoSecret {
    let shown = path.display();
    match error.kind() {
        io::ErrorKind::NotFound => NoSecret::absent(
            format!("there is no file {shown}"),
            "write the secret into it, and nothing else: one line",
        ),
        kind => NoSecret::new(
            format!("the file {shown} cannot be read: {kind}"),
            "let the user that runs this program own it",
        ),
    }
}

fn unwritable(path: &Path, error: &io::Error) -> NoSecret {
    NoSecret::new(
        format!("{} cannot be written: {}", path.display(), error.kind()),
        "let the user that runs this program write there",
    )
}

fn irregular(path: &Path) -> NoSecret {
    NoSecret::new(
        format!("{} is not a regular file", path.display()),
        "put a file there that holds the secret",
    )
}

fn leads_out(path: &Path) -> NoSecret {
    NoSecret::new(
        format!(
            "{} is a link that leads out of the secret store",
            path.display()
        ),
        "put the file itself there",
    )
}

/// Why the store itself cannot be opened.
fn no_store(root: &Path, error: &io::Error) -> NoSecret {
    let root = root.display();
    let what = match error.kind() {
        io::ErrorKind::NotFound => format!("there is no secret store {root}"),
        kind => format!("the secret store {root} cannot be read: {kind}"),
    };
    NoSecret::new(
        what,
        "make the directory, with mode 0700, or correct the path",
    )
}

#[cfg(unix)]
#[cfg(test)]
mod tests;
