//! The folders of a Maildir: Maildir++ (`.Sent`, `.A.B`) and nested directories, found by looking.
//!
//! A caller's folder name is compared with what was found here; it never becomes part of a path.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, DirEntry};
use std::io;
use std::path::{Path, PathBuf};

use mail::{Fault, FaultKind, FolderName, SpecialUse, Stage};

use super::work::{Stop, unreadable};

/// Nested directories are followed this deep.
const MOST_DEPTH: usize = 16;
/// Directories looked at before the rest is left out.
const MOST_DIRECTORIES: usize = 20_000;

/// One folder and the directory that holds its `cur/`.
pub(super) struct Place {
    pub(super) name: FolderName,
    pub(super) directory: PathBuf,
}

/// INBOX first, then by name.
#[derive(Default)]
pub(super) struct Tree {
    pub(super) places: Vec<Place>,
    /// Folders that have no name of their own: undecodable, too long, or spelled like another.
    pub(super) unusable: usize,
}

impl Tree {
    pub(super) fn read(root: &Path, stop: &Stop) -> Result<Self, Fault> {
        let mut walk = Walk::default();
        walk.root(root, stop)
            .map_err(unreadable(Stage::ListFolders))?;
        if walk.tree.places.is_empty() {
            let said = "no maildir here";
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

    pub(super) fn directory(root: &Path, name: &FolderName, stop: &Stop) -> Result<PathBuf, Fault> {
        Self::read(root, stop)?
            .places
            .into_iter()
            .find(|place| place.name == *name)
            .map(|place| place.directory)
            .ok_or_else(|| Fault::new(FaultKind::NoSuchFolder, Stage::OpenFolder))
    }
}

const INBOX: &str = "INBOX";

pub(crate) fn special_use(name: &FolderName) -> Option<SpecialUse> {
    crate::local::special::special_use(name.as_str())
}

#[derive(Default)]
struct Walk {
    tree: Tree,
    taken: BTreeSet<FolderName>,
    looked_at: usize,
}

impl Walk {
    fn root(&mut self, root: &Path, stop: &Stop) -> io::Result<()> {
        let below = directories(root)?;
        if is_maildir(root) {
            self.add(Some(INBOX.to_owned()), root.to_owned());
        }
        // Dot folders first: where both layouts spell one name, Maildir++ has it.
        let (dotted, nested): (Vec<_>, Vec<_>) = below.into_iter().partition(is_dotted);
        for entry in dotted {
            stop.check()?;
            let directory = entry.path();
            if self.enter() && is_maildir(&directory) {
                self.add(plus_name(&entry.file_name()), directory);
            }
        }
        self.nested(nested, None, 1, stop)
    }

    /// Directories inside `parent` (a decoded name, or `None` when that has none).
    fn nested(
        &mut self,
        entries: Vec<DirEntry>,
        parent: Option<&str>,
        depth: usize,
        stop: &Stop,
    ) -> io::Result<()> {
        for entry in entries {
            stop.check()?;
            if !self.enter() || depth > MOST_DEPTH {
                self.tree.unusable += 1;
                continue;
            }
            let directory = entry.path();
            let name = decoded(entry.file_name().as_encoded_bytes()).map(|own| match parent {
                Some(parent) => format!("{parent}/{own}"),
                None => own,
            });
            if is_maildir(&directory) {
                self.add(name.clone(), directory.clone());
            }
            let Some(name) = name else { continue };
            // A directory that may not be read hides its own folders, not its neighbours.
            let mut below = directories(&directory).unwrap_or_default();
            below.retain(|entry| !is_dotted(entry));
            self.nested(below, Some(&name), depth + 1, stop)?;
        }
        Ok(())
    }

    fn enter(&mut self) -> bool {
        self.looked_at += 1;
        self.looked_at <= MOST_DIRECTORIES
    }

    fn add(&mut self, name: Option<String>, directory: PathBuf) {
        let name = name.and_then(|name| FolderName::new(name).ok());
        match name.filter(|name| self.taken.insert(name.clone())) {
            Some(name) => self.tree.places.push(Place { name, directory }),
            None => self.tree.unusable += 1,
        }
    }
}

/// The directories in a directory, by name; symbolic links are none, and neither are `cur`, `new` and `tmp`.
fn directories(of: &Path) -> io::Result<Vec<DirEntry>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(of)? {
        let entry = entry?;
        let name = entry.file_name();
        let inner = ["cur", "new", "tmp"].iter().any(|own| name == *own);
        if !inner && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            found.push(entry);
        }
    }
    found.sort_by_key(DirEntry::file_name);
    Ok(found)
}

fn is_dotted(entry: &DirEntry) -> bool {
    entry.file_name().as_encoded_bytes().starts_with(b".")
}

fn is_maildir(directory: &Path) -> bool {
    fs::symlink_metadata(directory.join("cur")).is_ok_and(|cur| cur.is_dir())
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
        let tree = Tree::read(root.path(), &Stop::default()).unwrap();
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
        for name in [
            "../other", "..", ".", "/", "a/../a", ".a", "cur", "/etc", "a/", "A", "a\\..\\a",
        ] {
            let name = FolderName::new(name).unwrap();
            let fault = Tree::directory(&root, &name, &Stop::default()).unwrap_err();
            assert_eq!(fault.kind, FaultKind::NoSuchFolder, "{name}");
        }
        let good = FolderName::new("a").unwrap();
        assert!(Tree::directory(&root, &good, &Stop::default()).is_ok());
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
        let tree = Tree::read(&root, &Stop::default()).unwrap();
        assert_eq!(tree.places.len(), 1);
    }

    #[test]
    fn a_missing_or_empty_root_is_a_fault_without_its_path() {
        let root = tempfile::tempdir().unwrap();
        for (path, said) in [
            (root.path().join("secret-place"), "entity not found"),
            (root.path().to_owned(), "no maildir here"),
        ] {
            let Err(fault) = Tree::read(&path, &Stop::default()) else {
                panic!("read {path:?}");
            };
            assert_eq!(fault.kind, FaultKind::Unreadable);
            assert_eq!(fault.said.unwrap().bytes(), said.as_bytes());
        }
    }

    #[test]
    fn deep_nesting_ends() {
        let deep = format!("{}cur", "d/".repeat(60));
        let (names, unusable) = tree(&["cur", &deep]);
        assert_eq!((names.len(), unusable), (1, 1));
    }
}
