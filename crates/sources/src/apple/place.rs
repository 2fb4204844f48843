//! Where the store lies: the highest `V` directory below `~/Library/Mail`, or the one that was named.
//!
//! Nothing outside of it is looked at, but for one file: the names of accounts, `~/Library/Accounts/Accounts4.sqlite`, and that
//! only where the store lies in a directory that is called `Library`.

use std::io;
use std::path::{Path, PathBuf};

use mail::{Fault, FaultKind, Stage};

use crate::local::beneath::{Beneath, Kind};

/// Below the directory of a version.
pub(super) const DATA: &str = "MailData";
pub(super) const INDEX: &str = "Envelope Index";
const LIBRARY: &str = "Library";

/// A version's directory, and how to open what lies in it.
pub(super) struct Place {
    pub(super) beneath: Beneath,
    /// As the operator spells it.
    pub(super) version: PathBuf,
}

impl Place {
    pub(super) fn find(root: &Path) -> Result<Self, Fault> {
        let above = Beneath::open(root).map_err(missing)?;
        let named = above.list(Path::new("")).map_err(missing)?;
        let holds_data = named
            .iter()
            .any(|one| one.name == DATA && one.kind == Kind::Directory);
        if holds_data {
            return Ok(Self {
                beneath: above,
                version: root.to_owned(),
            });
        }
        let versions = named.iter().filter(|one| one.kind == Kind::Directory);
        let highest = versions
            .filter_map(|one| Some((number(one.name.to_str()?)?, &one.name)))
            .filter(|(_, name)| has_index(&above, Path::new(name)))
            .max()
            .ok_or_else(|| nowhere("there is no V directory with an Envelope Index in it"))?;
        let beneath = above.below(Path::new(highest.1)).map_err(missing)?;
        Ok(Self {
            beneath,
            version: root.join(highest.1),
        })
    }

    /// By SQLite, which wants a path; no part of it is a link.
    pub(super) fn index(&self) -> PathBuf {
        self.beneath.root().join(DATA).join(INDEX)
    }

    /// Where the system keeps the names of accounts: beside `Mail`. A copy of a store that lies elsewhere has none: what is
    /// beside that is somebody else's.
    pub(super) fn accounts(&self) -> Option<PathBuf> {
        let library = self.beneath.root().parent()?.parent()?;
        let is_library = library.file_name().is_some_and(|name| name == LIBRARY);
        is_library.then(|| library.join("Accounts/Accounts4.sqlite"))
    }
}

/// A version that may not be read is one all the same: what is wrong with it shows when it is opened.
fn has_index(above: &Beneath, version: &Path) -> bool {
    match above.list(&version.join(DATA)) {
        Ok(named) => named.iter().any(|one| one.name == INDEX),
        Err(error) => error.kind() == io::ErrorKind::PermissionDenied,
    }
}

/// `V10` is 10.
fn number(name: &str) -> Option<u32> {
    let digits = name.strip_prefix('V')?;
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|_| plain)
}

fn missing(error: io::Error) -> Fault {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
            nowhere("the directory is not there")
        }
        _ => faulted(Stage::OpenFolder)(error),
    }
}

fn nowhere(why: &str) -> Fault {
    Fault::saying(FaultKind::NoStore, Stage::OpenFolder, why)
}

/// What the system said, without the path: that belongs to the operator.
pub(super) fn faulted(stage: Stage) -> impl Fn(io::Error) -> Fault {
    move |error| {
        let kind = match error.kind() {
            io::ErrorKind::PermissionDenied => FaultKind::NoPermission,
            _ => FaultKind::Unreadable,
        };
        Fault::saying(kind, stage, error.kind().to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_have_numbers() {
        for (name, want) in [
            ("V10", Some(10)),
            ("V2", Some(2)),
            ("V", None),
            ("V1a", None),
            ("V+1", None),
            ("v9", None),
            ("V99999999999", None),
        ] {
            assert_eq!(number(name), want, "{name}");
        }
    }

    #[test]
    fn refusals_of_the_system_have_their_own_name() {
        for (error, kind) in [
            (io::ErrorKind::PermissionDenied, FaultKind::NoPermission),
            (io::ErrorKind::NotFound, FaultKind::NoStore),
            (io::ErrorKind::NotADirectory, FaultKind::NoStore),
            (io::ErrorKind::Other, FaultKind::Unreadable),
        ] {
            assert_eq!(missing(error.into()).kind, kind);
        }
    }
}
