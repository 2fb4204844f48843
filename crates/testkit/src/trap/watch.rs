//! The calls that a test cares for: kinds, and where. Looks at no process.

use super::call::{Call, Kind, Stream};
use std::path::{Path, PathBuf};

/// A set of calls.
#[derive(Clone, Debug)]
pub struct Watch {
    /// A call that fits any of these counts.
    clauses: Vec<Clause>,
}

#[derive(Clone, Debug)]
struct Clause {
    kinds: Vec<Kind>,
    place: Place,
}

#[derive(Clone, Debug)]
enum Place {
    Anywhere,
    Under(PathBuf),
    Stream(Stream),
}

impl Watch {
    /// Everything that leaves the process or changes a file.
    pub fn all_changes() -> Self {
        Self::of([
            Kind::Write,
            Kind::Sync,
            Kind::Send,
            Kind::Create,
            Kind::Truncate,
            Kind::Rename,
            Kind::Link,
            Kind::Mode,
            Kind::Unlink,
        ])
    }

    /// Calls of these kinds, wherever they go.
    pub fn of(kinds: impl IntoIterator<Item = Kind>) -> Self {
        Self {
            clauses: vec![Clause {
                kinds: kinds.into_iter().collect(),
                place: Place::Anywhere,
            }],
        }
    }

    /// Of these, only those on `directory` or a file below it; of calls with two names, either. It need not be there yet.
    #[must_use]
    pub fn under(self, directory: impl AsRef<Path>) -> Self {
        self.at(&Place::Under(resolve(directory.as_ref())))
    }

    /// Of these, only those that speak on this stream.
    #[must_use]
    pub fn on(self, stream: Stream) -> Self {
        self.at(&Place::Stream(stream))
    }

    /// These and the others.
    #[must_use]
    pub fn or(mut self, other: Self) -> Self {
        self.clauses.extend(other.clauses);
        self
    }

    /// Whether any call of this kind could count, before more is found out about it.
    pub(super) fn names(&self, kind: Kind) -> bool {
        self.clauses
            .iter()
            .any(|clause| clause.kinds.contains(&kind))
    }

    pub(super) fn counts(&self, call: &Call) -> bool {
        self.clauses
            .iter()
            .any(|clause| clause.kinds.contains(&call.kind) && clause.place.holds(call))
    }

    fn at(mut self, place: &Place) -> Self {
        for clause in &mut self.clauses {
            clause.place = place.clone();
        }
        self
    }
}

impl Place {
    fn holds(&self, call: &Call) -> bool {
        match self {
            Self::Anywhere => true,
            Self::Stream(stream) => call.stream == Some(*stream),
            Self::Under(directory) => [&call.path, &call.new_path]
                .into_iter()
                .flatten()
                .any(|path| path.starts_with(directory)),
        }
    }
}

/// The path as the kernel would name it: links on the way are followed, the last part is left as it is, and what is not
/// there yet stays as written.
pub(super) fn resolve(path: &Path) -> PathBuf {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return path.canonicalize().unwrap_or_else(|_| path.to_owned());
    };
    // A bare name has the empty path for a parent.
    let parent = if parent.as_os_str().is_empty() {
        Path::new(".")
    } else {
        parent
    };
    match parent.canonicalize() {
        Ok(parent) => parent.join(name),
        Err(_) => resolve(parent).join(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(kind: Kind, stream: Option<Stream>, path: Option<&str>) -> Call {
        Call {
            kind,
            name: "a call",
            descriptor: None,
            stream,
            path: path.map(PathBuf::from),
            new_path: None,
            length: None,
        }
    }

    #[test]
    fn kinds_places_and_unions() {
        let everywhere = Watch::of([Kind::Write, Kind::Sync]);
        let below = everywhere.clone().under("/no/where");
        let both = below.clone().or(Watch::of([Kind::Send]).on(Stream::Stdout));
        let log = call(Kind::Write, None, Some("/no/where/log"));
        let beside = call(Kind::Write, None, Some("/no/wherever"));
        let reply = call(Kind::Send, Some(Stream::Stdout), None);
        let complaint = call(Kind::Send, Some(Stream::Stderr), None);
        for (watch, counted) in [
            (&everywhere, [true, true, false, false]),
            (&below, [true, false, false, false]),
            (&both, [true, false, true, false]),
        ] {
            assert_eq!(
                [&log, &beside, &reply, &complaint].map(|call| watch.counts(call)),
                counted,
                "{watch:?}"
            );
        }
        assert!(both.names(Kind::Send) && !below.names(Kind::Send));
    }

    #[test]
    fn either_name_of_two_counts() {
        let watch = Watch::of([Kind::Rename]).under("/no/where");
        let moved = Call {
            new_path: Some("/no/where/log".into()),
            ..call(Kind::Rename, None, Some("/else/log"))
        };
        assert!(watch.counts(&moved));
    }

    #[test]
    fn links_on_the_way_are_followed_and_the_last_part_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let real = dir.path().canonicalize().unwrap();
        std::os::unix::fs::symlink(&real, dir.path().join("link")).unwrap();
        for (given, found) in [
            ("link/log", "log"),
            ("link", "link"),
            ("link/new/log", "new/log"),
            ("log", "log"),
        ] {
            assert_eq!(resolve(&dir.path().join(given)), real.join(found));
        }
    }
}
