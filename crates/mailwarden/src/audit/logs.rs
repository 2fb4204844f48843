//! Which logs are meant: each is a directory, with a name to tell it by and an id of its own.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use audit::LogId;

/// More subdirectories are no logs of replicas.
const MOST: usize = 10_000;

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Log {
    pub(super) dir: PathBuf,
    /// Its directory's, where no other has that name too.
    pub(super) name: String,
    /// Unknown where it has no public key beside it.
    pub(super) id: Option<LogId>,
}

/// At least one.
#[derive(Debug)]
pub(super) struct Logs(Vec<Log>);

impl Logs {
    /// The log of each directory, and those of its subdirectories. Where there is none at all, the directory stands for
    /// itself: who reads it says what is missing.
    pub(super) fn find(dirs: &[PathBuf], only: Option<&str>) -> anyhow::Result<Self> {
        let mut found: Vec<PathBuf> = Vec::new();
        for dir in dirs {
            let within =
                within(dir).with_context(|| format!("{} cannot be read", dir.display()))?;
            let several = !within.is_empty();
            if !several || is_log(dir) {
                found.push(dir.clone());
            }
            found.extend(within);
        }
        // The same directory, said twice, is one log.
        let mut seen = Vec::new();
        found.retain(|dir| {
            let real = fs::canonicalize(dir).unwrap_or_else(|_| dir.clone());
            let new = !seen.contains(&real);
            seen.push(real);
            new
        });
        let mut logs: Vec<Log> = named(found);
        if let Some(only) = only {
            let names = list(&logs);
            logs.retain(|log| {
                log.name == only || log.id.as_ref().is_some_and(|id| id.as_str() == only)
            });
            anyhow::ensure!(
                !logs.is_empty(),
                "there is no log '{only}' here; there is {names}"
            );
        }
        Ok(Self(logs))
    }

    pub(super) fn all(&self) -> &[Log] {
        &self.0
    }

    /// How records are told apart: by nothing, where there is but one log.
    pub(super) fn label<'a>(&self, log: &'a Log) -> Option<&'a Log> {
        (self.0.len() > 1).then_some(log)
    }

    /// The one that is meant, for what can be about one only.
    pub(super) fn single(&self) -> anyhow::Result<&Log> {
        match self.0.as_slice() {
            [log] => Ok(log),
            several => anyhow::bail!(
                "there are several logs here; say which one is meant with --log: {}",
                list(several)
            ),
        }
    }
}

/// The names of the logs in a directory that has none of its own: those of replicas. None where it cannot be read.
pub(crate) fn replicas(dir: &Path) -> Vec<String> {
    let found = match is_log(dir) {
        true => Vec::new(),
        false => within(dir).unwrap_or_default(),
    };
    let names = named(found).into_iter();
    names.map(|log| super::safe(&log.name)).collect()
}

fn list(logs: &[Log]) -> String {
    let names: Vec<String> = logs.iter().map(|log| super::safe(&log.name)).collect();
    names.join(", ")
}

fn named(dirs: Vec<PathBuf>) -> Vec<Log> {
    let short = |dir: &Path| {
        let whole = || dir.display().to_string();
        dir.file_name()
            .map_or_else(whole, |name| name.to_string_lossy().into_owned())
    };
    let names: Vec<String> = dirs.iter().map(|dir| short(dir)).collect();
    let once = |name: &String| names.iter().filter(|other| *other == name).count() == 1;
    let logs = dirs.iter().zip(&names).map(|(dir, name)| Log {
        dir: dir.clone(),
        name: match once(name) {
            true => name.clone(),
            false => dir.display().to_string(),
        },
        id: audit::verifier(dir).ok().map(|key| key.log_id()),
    });
    logs.collect()
}

/// The logs one level below, by name.
fn within(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut found = Vec::new();
    for entry in entries.take(MOST) {
        let path = entry?.path();
        if path.is_dir() && is_log(&path) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// A directory with days, or with the key of a log whose days are gone: that has to be noticed.
fn is_log(dir: &Path) -> bool {
    audit::verifier(dir).is_ok() || audit::days(dir).is_ok_and(|days| !days.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn day(dir: &Path) {
        fs::create_dir_all(dir).unwrap();
        fs::write(dir.join("2026-11-15.jsonl"), "").unwrap();
    }

    fn names(dirs: &[PathBuf]) -> Vec<String> {
        let logs = Logs::find(dirs, None).unwrap();
        logs.all().iter().map(|log| log.name.clone()).collect()
    }

    #[test]
    fn a_directory_stands_for_itself_and_for_what_is_in_it() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        assert_eq!(names(&[at("none")]), ["none"]);
        for name in ["all/b", "all/a", "other/a"] {
            day(&at(name));
        }
        fs::create_dir(at("all/empty")).unwrap();
        assert_eq!(names(&[at("all")]), ["a", "b"]);
        assert_eq!(names(&[at("all/a")]), ["a"]);
        assert_eq!(
            names(&[at("all"), at("all/b"), at("all/../all/a")]),
            ["a", "b"]
        );
        day(&at("all"));
        assert_eq!(names(&[at("all")]), ["all", "a", "b"]);
        // Two of one name are told by their whole paths.
        let both = names(&[at("all/a"), at("other")]);
        assert!(both.iter().all(|name| name.ends_with("/a")), "{both:?}");
    }

    #[test]
    fn one_is_chosen_by_its_name() {
        let dir = tempfile::tempdir().unwrap();
        day(&dir.path().join("a"));
        day(&dir.path().join("b"));
        let dirs = [dir.path().to_owned()];
        assert_eq!(
            Logs::find(&dirs, Some("b")).unwrap().single().unwrap().name,
            "b"
        );
        let several = Logs::find(&dirs, None)
            .unwrap()
            .single()
            .unwrap_err()
            .to_string();
        assert!(several.contains("--log: a, b"), "{several}");
        let none = Logs::find(&dirs, Some("c")).unwrap_err().to_string();
        assert!(
            none.contains("there is no log 'c' here; there is a, b"),
            "{none}"
        );
    }
}
