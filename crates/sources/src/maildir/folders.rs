//! The folders of an account: Maildir++ (`.Sent`, `.A.B`), nested directories and mbox files, found by looking.
//!
//! A caller's folder name is compared with what was found here; it never becomes part of a path.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use mail::{Fault, FaultKind, FolderName, SpecialUse, Stage, Uid};

use super::mbox;
use super::name::Name;
use super::scan::{self, Scan};
use super::stamp::Stamps;
use super::work::{Stop, unreadable};
use crate::local::beneath::{Beneath, Kind};

/// Nested directories are followed this deep.
const MOST_DEPTH: usize = 16;
/// Directories looked at before the rest is left out.
const MOST_DIRECTORIES: usize = 20_000;

/// One folder and where it lies.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) name: FolderName,
    /// What it was found in. INVARIANT: everything of a folder is looked at, listed and opened from here, by a way without
    /// links, so that nobody leads us out by putting one where a directory was.
    pub(super) store: Arc<Beneath>,
    /// In the store.
    pub(super) path: PathBuf,
    pub(super) make: Make,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Make {
    /// A directory that holds a `cur/`.
    Maildir,
    /// A file.
    Mbox,
}

impl Place {
    #[cfg(test)]
    pub(super) fn new(name: &str, root: &Path, path: &str, make: Make) -> Self {
        Self {
            name: FolderName::new(name).unwrap(),
            store: Arc::new(Beneath::open(root).unwrap()),
            path: path.into(),
            make,
        }
    }

    #[cfg(test)]
    pub(super) fn inbox(root: &Path) -> Self {
        Self::new(INBOX, root, "", Make::Maildir)
    }

    pub(super) fn stamps(&self) -> Stamps {
        match self.make {
            Make::Maildir => self
                .directory()
                .map_or(Stamps([None, None]), |folder| scan::stamps(&folder)),
            Make::Mbox => mbox::stamps(&self.store, &self.path),
        }
    }

    /// The number of the message that has this key.
    pub(super) fn uid(&self, key: &[u8]) -> Option<Uid> {
        match self.make {
            Make::Maildir => Some(Name::parse(key)?.uid()),
            Make::Mbox => Some(mbox::uid(key.try_into().ok()?)),
        }
    }

    pub(super) fn read(&self, stop: &Stop) -> io::Result<Scan> {
        match self.make {
            Make::Maildir => scan::scan(&self.directory()?, stop),
            Make::Mbox => mbox::scan(&self.store, &self.path, stop),
        }
    }

    /// Of a folder that is one.
    pub(super) fn directory(&self) -> io::Result<Beneath> {
        self.store.below(&self.path)
    }
}

/// INBOX first, then by name.
#[derive(Default)]
pub(super) struct Tree {
    pub(super) places: Vec<Place>,
    /// Folders that have no name of their own: undecodable, too long, or spelled like another.
    pub(super) unusable: usize,
}

/// Which files are looked into, to see whether they are folders.
#[derive(Clone, Copy, Default)]
pub(super) enum Wanted<'a> {
    #[default]
    All,
    /// Those that would have one of these names.
    Only(&'a [FolderName]),
}

impl Tree {
    pub(super) fn read(root: &Path, wanted: Wanted<'_>, stop: &Stop) -> Result<Self, Fault> {
        let walk = Walk::through(root, wanted, stop);
        let walk = walk.map_err(unreadable(Stage::ListFolders))?;
        if walk.tree.places.is_empty() && walk.passed == 0 {
            let said = "no maildir or mbox here";
            return Err(Fault::saying(
                FaultKind::Unreadable,
                Stage::ListFolders,
                said,
            ));
        }
        let mut tree = walk.tree;
        tree.places.sort_by(|a, b| {
            (a.name.as_str() != INBOX, &a.name).cmp(&(b.name.as_str() != INBOX, &b.name))
        });
        Ok(tree)
    }
}

const INBOX: &str = "INBOX";

pub(crate) fn special_use(name: &FolderName) -> Option<SpecialUse> {
    crate::local::special::special_use(name.as_str())
}

struct Walk<'a> {
    store: Arc<Beneath>,
    wanted: Wanted<'a>,
    tree: Tree,
    taken: BTreeSet<FolderName>,
    looked_at: usize,
    /// Files that may be mbox files, with the names that they would have.
    files: Vec<(Option<String>, PathBuf)>,
    /// Of those, how many nobody wanted.
    passed: usize,
}

impl<'a> Walk<'a> {
    /// The root may be reached by links, whether it is a directory or a file: the operator named it.
    fn through(root: &Path, wanted: Wanted<'a>, stop: &Stop) -> io::Result<Self> {
        let root = fs::canonicalize(root)?;
        let alone = match (fs::metadata(&root)?.is_file(), root.parent()) {
            (true, Some(above)) => root.file_name().map(|name| (above, Path::new(name))),
            _ => None,
        };
        let store = Beneath::open(alone.map_or(root.as_path(), |(above, _)| above))?;
        let mut walk = Self {
            store: Arc::new(store),
            wanted,
            tree: Tree::default(),
            taken: BTreeSet::new(),
            looked_at: 0,
            files: Vec::new(),
            passed: 0,
        };
        match alone {
            Some((_, file)) => walk.file(file)?,
            None => walk.root(stop)?,
        }
        Ok(walk)
    }

    fn root(&mut self, stop: &Stop) -> io::Result<()> {
        let root = Path::new("");
        let below = Inside::read(&self.store, root)?;
        if self.is_maildir(root) {
            self.add(Some(INBOX.to_owned()), root.to_owned(), Make::Maildir);
        }
        // Dot folders first: where both layouts spell one name, Maildir++ has it.
        let (dotted, nested): (Vec<_>, Vec<_>) = below
            .directories
            .into_iter()
            .partition(|name| is_dotted(name));
        for name in dotted {
            stop.check()?;
            let directory = PathBuf::from(&name);
            if self.enter() && self.is_maildir(&directory) {
                self.add(plus_name(&name), directory, Make::Maildir);
            }
        }
        self.gather(root, below.files, None);
        self.nested(root, nested, None, 1, stop)?;
        self.mboxes(stop)
    }

    /// An account that is one file: INBOX, even where nothing is in it.
    fn file(&mut self, file: &Path) -> io::Result<()> {
        let (_, data) = self.store.file(file)?;
        if data.len() == 0 || mbox::is_mbox(&self.store, file) {
            self.add(Some(INBOX.to_owned()), file.to_owned(), Make::Mbox);
        }
        Ok(())
    }

    fn is_maildir(&self, directory: &Path) -> bool {
        let cur = self.store.look(&directory.join("cur"));
        cur.is_ok_and(|cur| cur.kind == Kind::Directory)
    }

    fn gather(&mut self, directory: &Path, files: Vec<OsString>, parent: Option<&str>) {
        for file in files {
            let name = file_name(&file).map(|own| below(parent, own));
            self.files.push((name, directory.join(file)));
        }
    }

    /// Last of all, so that a directory has a name before a file has it. Such a file is called `Sent (mbox)`.
    fn mboxes(&mut self, stop: &Stop) -> io::Result<()> {
        for (name, path) in std::mem::take(&mut self.files) {
            stop.check()?;
            let is_taken = |name: &String| {
                FolderName::new(name.clone()).is_ok_and(|name| self.taken.contains(&name))
            };
            let name = name.map(|name| match is_taken(&name) {
                true => format!("{name} (mbox)"),
                false => name,
            });
            if !self.is_wanted(name.as_deref()) {
                self.passed += 1;
            } else if self.enter() && mbox::is_mbox(&self.store, &path) {
                self.add(name, path, Make::Mbox);
            }
        }
        Ok(())
    }

    /// Directories inside one whose decoded name is `parent`, or that has none.
    fn nested(
        &mut self,
        above: &Path,
        names: Vec<OsString>,
        parent: Option<&str>,
        depth: usize,
        stop: &Stop,
    ) -> io::Result<()> {
        for own in names {
            stop.check()?;
            if !self.enter() || depth > MOST_DEPTH {
                self.tree.unusable += 1;
                continue;
            }
            let directory = above.join(&own);
            let name = decoded(own.as_encoded_bytes()).map(|own| below(parent, own));
            if self.is_maildir(&directory) {
                self.add(name.clone(), directory.clone(), Make::Maildir);
            }
            let Some(name) = name else { continue };
            // A directory that may not be read hides its own folders, not its neighbours.
            let mut inside = Inside::read(&self.store, &directory).unwrap_or_default();
            inside.directories.retain(|name| !is_dotted(name));
            self.gather(&directory, inside.files, Some(&name));
            self.nested(&directory, inside.directories, Some(&name), depth + 1, stop)?;
        }
        Ok(())
    }

    fn is_wanted(&self, name: Option<&str>) -> bool {
        match self.wanted {
            Wanted::All => true,
            Wanted::Only(names) => name
                .and_then(|name| FolderName::new(name).ok())
                .is_some_and(|name| names.contains(&name)),
        }
    }

    fn enter(&mut self) -> bool {
        self.looked_at += 1;
        self.looked_at <= MOST_DIRECTORIES
    }

    fn add(&mut self, name: Option<String>, path: PathBuf, make: Make) {
        let name = name.and_then(|name| FolderName::new(name).ok());
        match name.filter(|name| self.taken.insert(name.clone())) {
            Some(name) => self.tree.places.push(Place {
                name,
                store: Arc::clone(&self.store),
                path,
                make,
            }),
            None => self.tree.unusable += 1,
        }
    }
}

/// What lies in a directory, by name. Symbolic links are neither, `cur`, `new` and `tmp` are no folders, and files that
/// begin with a dot are other programs' own.
#[derive(Default)]
struct Inside {
    directories: Vec<OsString>,
    files: Vec<OsString>,
}

impl Inside {
    fn read(store: &Beneath, directory: &Path) -> io::Result<Self> {
        let mut inside = Self::default();
        for named in store.list(directory)? {
            let is_own = ["cur", "new", "tmp"].iter().any(|own| named.name == *own);
            match named.kind {
                Kind::Directory if !is_own => inside.directories.push(named.name),
                Kind::File if !is_dotted(&named.name) => inside.files.push(named.name),
                _ => {}
            }
        }
        Ok(inside)
    }
}

fn below(parent: Option<&str>, own: String) -> String {
    match parent {
        Some(parent) => format!("{parent}/{own}"),
        None => own,
    }
}

fn is_dotted(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b".")
}

/// `.Projekte.&ANw-bersicht` is `Projekte/Übersicht`.
fn plus_name(file: &OsStr) -> Option<String> {
    let parts: Option<Vec<String>> = file
        .as_encoded_bytes()
        .strip_prefix(b".")?
        .split(|b| *b == b'.')
        .map(decoded)
        .collect();
    Some(parts?.join("/"))
}

/// QUIRK: files are named by people and by programs that know no modified UTF-7, so that what is none is plain text.
fn file_name(file: &OsStr) -> Option<String> {
    let name = file.as_encoded_bytes();
    decoded(name).or_else(|| Some(std::str::from_utf8(name).ok()?.to_owned()))
}

/// One part of a folder's name, from modified UTF-7.
fn decoded(part: &[u8]) -> Option<String> {
    if part.is_empty() {
        return None;
    }
    ::imap::utf7::decode(part).or_else(|| {
        // QUIRK: some programs write names in plain UTF-8. Without an `&` the two cannot be confused.
        let plain = std::str::from_utf8(part).ok()?;
        (!plain.is_ascii() && !plain.contains('&')).then(|| plain.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(directories: &[&str]) -> (Vec<String>, usize) {
        let root = tempfile::tempdir().unwrap();
        for directory in directories {
            fs::create_dir_all(root.path().join(directory)).unwrap();
        }
        let tree = Tree::read(root.path(), Wanted::All, &Stop::default()).unwrap();
        let names = tree.places.iter().map(|p| p.name.to_string()).collect();
        (names, tree.unusable)
    }

    #[test]
    fn folders_of_both_layouts() {
        for (directories, names, unusable) in [
            (vec!["cur"], vec!["INBOX"], 0),
            (
                vec![
                    "cur",
                    ".Sent/cur",
                    ".Projekte.&ANw-bersicht/cur",
                    ".Archiv.2026/cur",
                ],
                vec!["INBOX", "Archiv/2026", "Projekte/Übersicht", "Sent"],
                0,
            ),
            // Without a `cur` a directory is no folder, but folders may lie below it.
            (
                vec!["cur", ".notmuch", "work/sent/cur"],
                vec!["INBOX", "work/sent"],
                0,
            ),
            (
                vec!["INBOX/cur", "Entw&APw-rfe/cur"],
                vec!["INBOX", "Entwürfe"],
                0,
            ),
            (
                vec!["inbox/cur", "Entwürfe/cur"],
                vec!["INBOX", "Entwürfe"],
                0,
            ),
            // Two directories of one name: the dot folder has it.
            (
                vec!["cur", ".Sent/cur", "Sent/cur"],
                vec!["INBOX", "Sent"],
                1,
            ),
            (vec!["cur", "INBOX/cur"], vec!["INBOX"], 1),
            (
                vec!["cur", ".B&APw-ro/cur", ".Büro/cur"],
                vec!["INBOX", "Büro"],
                1,
            ),
            // Names that decode to nothing.
            (
                vec![
                    "cur",
                    ".R&D/cur",
                    ".&AGE-/cur",
                    "..x/cur",
                    ".x./cur",
                    ".a\tb/cur",
                    ".R&-D/cur",
                ],
                vec!["INBOX", "R&D"],
                5,
            ),
            (vec!["cur", ".a/b/cur", "a/.b/cur"], vec!["INBOX"], 0),
        ] {
            let want = (names.iter().map(|n| (*n).to_owned()).collect(), unusable);
            assert_eq!(tree(&directories), want, "{directories:?}");
        }
    }

    #[test]
    fn a_caller_cannot_point_outside() {
        let outer = tempfile::tempdir().unwrap();
        let root = outer.path().join("mail");
        for directory in ["mail/cur", "mail/.a/cur", "other/cur"] {
            fs::create_dir_all(outer.path().join(directory)).unwrap();
        }
        let catalog = super::super::catalog::Catalog::new(root);
        for name in [
            "../other", "..", ".", "/", "a/../a", ".a", "cur", "/etc", "a/", "A", "a\\..\\a",
        ] {
            let name = FolderName::new(name).unwrap();
            let fault = catalog.place(&name, &Stop::default()).unwrap_err();
            assert_eq!(fault.kind, FaultKind::NoSuchFolder, "{name}");
        }
        let good = FolderName::new("a").unwrap();
        assert!(catalog.place(&good, &Stop::default()).is_ok());
    }

    #[cfg(unix)]
    #[test]
    fn symbolic_links_are_no_folders() {
        use std::os::unix::fs::symlink;
        let outer = tempfile::tempdir().unwrap();
        let root = outer.path().join("mail");
        fs::create_dir_all(root.join("cur")).unwrap();
        fs::create_dir_all(root.join(".half")).unwrap();
        fs::create_dir_all(outer.path().join("other/cur")).unwrap();
        symlink(outer.path().join("other"), root.join(".Linked")).unwrap();
        symlink(outer.path().join("other"), root.join("linked")).unwrap();
        symlink(outer.path().join("other/cur"), root.join(".half/cur")).unwrap();
        let tree = Tree::read(&root, Wanted::All, &Stop::default()).unwrap();
        assert_eq!(tree.places.len(), 1);
    }

    #[test]
    fn a_missing_or_empty_root_is_a_fault_without_its_path() {
        let root = tempfile::tempdir().unwrap();
        for (path, said) in [
            (root.path().join("secret-place"), "entity not found"),
            (root.path().to_owned(), "no maildir or mbox here"),
        ] {
            let Err(fault) = Tree::read(&path, Wanted::All, &Stop::default()) else {
                panic!("read {path:?}");
            };
            assert_eq!(fault.kind, FaultKind::Unreadable);
            assert_eq!(fault.said.unwrap().bytes(), said.as_bytes());
        }
    }

    #[test]
    fn a_file_that_nobody_wants_is_not_opened() {
        let root = tempfile::tempdir().unwrap();
        let from = "From a@b Mon Nov  3 10:12:30 2025\n";
        for file in ["a", "b"] {
            fs::write(root.path().join(file), from).unwrap();
        }
        fn names(root: &Path, wanted: Wanted<'_>) -> Vec<String> {
            let tree = Tree::read(root, wanted, &Stop::default()).unwrap();
            tree.places.iter().map(|p| p.name.to_string()).collect()
        }
        let root = root.path();
        let folder = |name: &str| FolderName::new(name).unwrap();
        assert_eq!(names(root, Wanted::All), ["a", "b"]);
        assert_eq!(names(root, Wanted::Only(&[folder("b")])), ["b"]);
        assert!(names(root, Wanted::Only(&[folder("c")])).is_empty());
    }

    #[test]
    fn deep_nesting_ends() {
        let deep = format!("{}cur", "d/".repeat(60));
        let (names, unusable) = tree(&["cur", &deep]);
        assert_eq!((names.len(), unusable), (1, 1));
    }
}
