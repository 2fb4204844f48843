//! Which processes serve which configuration directory, so that all of them can be told to read it again.
//!
//! Each has a file of its own, `run/<pid>.json` in the state directory, and holds a lock on it as long as it lives: a file
//! that is not locked is what a killed process left behind.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::state;

const DIRECTORY: &str = "run";
const NEW: &str = ".new-";
/// More is no file of ours.
const MOST: u64 = 64 << 10;

/// What is known of a process.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Run {
    pub pid: u32,
    /// Where the number means this process: empty where there is only one such place.
    pub namespace: String,
    pub directory: PathBuf,
    pub caller: String,
    /// Which contents of the directory are in force.
    pub version: String,
    /// How often it has read the directory, with whatever outcome.
    pub generation: u64,
    pub outcome: Outcome,
    /// Settings that are other ones in the directory, and come into force with a restart.
    pub left: Vec<String>,
}

/// How the last reading came out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Outcome {
    InForce,
    /// So many problems: what was in force before stays so.
    Kept(u64),
}

/// This process, as long as it serves.
#[derive(Debug)]
pub(crate) struct Running {
    run: Run,
    at: PathBuf,
    /// Never read: it holds the lock.
    _held: File,
}

impl Running {
    pub(crate) fn begin(directory: &Path, caller: &str, version: &str) -> io::Result<Self> {
        let at = place().ok_or_else(|| io::Error::other("there is no state directory"))?;
        state::create_private_dir(&at)?;
        // Clears what was left behind.
        let _ = all_in(&at);
        let run = Run {
            pid: std::process::id(),
            namespace: namespace(),
            directory: fs::canonicalize(directory)?,
            caller: caller.to_owned(),
            version: version.to_owned(),
            generation: 1,
            outcome: Outcome::InForce,
            left: Vec::new(),
        };
        let held = write(&at, &run)?;
        Ok(Self {
            run,
            at,
            _held: held,
        })
    }

    pub(crate) fn reloaded(&mut self, version: &str, left: &[&str]) -> io::Result<()> {
        self.run.version = version.to_owned();
        self.run.left = left.iter().map(|name| (*name).to_owned()).collect();
        self.say(Outcome::InForce)
    }

    pub(crate) fn kept(&mut self, problems: usize) -> io::Result<()> {
        self.say(Outcome::Kept(u64::try_from(problems).unwrap_or(u64::MAX)))
    }

    fn say(&mut self, outcome: Outcome) -> io::Result<()> {
        self.run.generation += 1;
        self.run.outcome = outcome;
        self._held = write(&self.at, &self.run)?;
        Ok(())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = fs::remove_file(self.at.join(name(self.run.pid)));
    }
}

/// The processes of this installation that live. What others left behind is removed.
pub(crate) fn all() -> io::Result<Vec<Run>> {
    match place() {
        Some(at) => all_in(&at),
        None => Ok(Vec::new()),
    }
}

/// One of them, as it is now.
pub(crate) fn of(pid: u32) -> Option<Run> {
    living(&place()?.join(name(pid)))
}

fn place() -> Option<PathBuf> {
    state::directory().map(|state| state.join(DIRECTORY))
}

fn name(pid: u32) -> String {
    format!("{pid}.json")
}

fn all_in(at: &Path) -> io::Result<Vec<Run>> {
    let entries = match fs::read_dir(at) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut runs: Vec<Run> = entries
        .flatten()
        .filter_map(|entry| living(&entry.path()))
        .collect();
    runs.sort_by_key(|run| run.pid);
    Ok(runs)
}

/// What stands in a file that is locked; one that is not is removed.
fn living(path: &Path) -> Option<Run> {
    let name = path.file_name()?.to_str()?;
    let of_ours = name.starts_with(NEW)
        || name
            .strip_suffix(".json")
            .is_some_and(|pid| pid.bytes().all(|byte| byte.is_ascii_digit()));
    if !of_ours {
        return None;
    }
    let mut file = locked(path)?;
    let mut text = String::new();
    (&mut file).take(MOST).read_to_string(&mut text).ok()?;
    let run = Run::parse(&text)?;
    (name == self::name(run.pid)).then_some(run)
}

/// The file that a living process holds the lock of; one that nobody holds is removed.
fn locked(path: &Path) -> Option<File> {
    loop {
        let file = File::open(path).ok()?;
        match file.try_lock_shared() {
            Err(TryLockError::WouldBlock) => return Some(file),
            Err(TryLockError::Error(_)) => return None,
            // INVARIANT: a living process holds the lock of the file that its name leads to, so this one's is gone.
            Ok(()) if is_at(&file, path) => {
                let _ = fs::remove_file(path);
                return None;
            }
            // Another took its place meanwhile.
            Ok(()) => {}
        }
    }
}

/// Whether a path still leads to an open file.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let identity = |metadata: fs::Metadata| (metadata.dev(), metadata.ino());
    match (file.metadata(), fs::metadata(path)) {
        (Ok(open), Ok(there)) => identity(open) == identity(there),
        _ => false,
    }
}

#[cfg(not(unix))]
fn is_at(_: &File, path: &Path) -> bool {
    path.exists()
}

/// The file gets its name when it is whole and locked, so that nobody ever finds it otherwise.
fn write(at: &Path, run: &Run) -> io::Result<File> {
    // Whoever clears up just then may take a file away that has no lock yet.
    let again = |_: io::Error| try_write(at, run);
    try_write(at, run).or_else(again).or_else(again)
}

fn try_write(at: &Path, run: &Run) -> io::Result<File> {
    let mut file = tempfile::Builder::new().prefix(NEW).tempfile_in(at)?;
    file.as_file().try_lock()?;
    file.write_all(run.text().as_bytes())?;
    let kept = file.persist(at.join(name(run.pid)));
    kept.map_err(|error| error.error)
}

/// Process numbers of one container mean nothing in another.
fn namespace() -> String {
    let link = fs::read_link("/proc/self/ns/pid");
    link.map_or_else(
        |_| String::new(),
        |link| link.to_string_lossy().into_owned(),
    )
}

impl Run {
    /// Whether its number means that process here.
    pub(crate) fn is_here(&self) -> bool {
        self.namespace == namespace()
    }

    fn text(&self) -> String {
        let (outcome, problems) = match self.outcome {
            Outcome::InForce => ("in_force", 0),
            Outcome::Kept(problems) => ("kept", problems),
        };
        let object = json!({
            "pid": self.pid,
            "namespace": self.namespace,
            "config_dir": self.directory.to_string_lossy(),
            "caller_id": self.caller,
            "version": self.version,
            "generation": self.generation,
            "outcome": outcome,
            "problems": problems,
            "after_restart": self.left,
        });
        format!("{object}\n")
    }

    fn parse(text: &str) -> Option<Self> {
        let object: Value = serde_json::from_str(text).ok()?;
        let word = |name: &str| Some(object.get(name)?.as_str()?.to_owned());
        let number = |name: &str| object.get(name)?.as_u64();
        Some(Self {
            pid: u32::try_from(number("pid")?).ok()?,
            namespace: word("namespace")?,
            directory: PathBuf::from(word("config_dir")?),
            caller: word("caller_id")?,
            version: word("version")?,
            generation: number("generation")?,
            outcome: match word("outcome")?.as_str() {
                "in_force" => Outcome::InForce,
                "kept" => Outcome::Kept(number("problems")?),
                _ => return None,
            },
            left: object.get("after_restart").map_or_else(Vec::new, words),
        })
    }
}

fn words(list: &Value) -> Vec<String> {
    let words = list.as_array().into_iter().flatten();
    words
        .filter_map(|word| Some(word.as_str()?.to_owned()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(pid: u32) -> Run {
        Run {
            pid,
            namespace: String::new(),
            directory: PathBuf::from("/etc/mail"),
            caller: "agent".to_owned(),
            version: "0011".to_owned(),
            generation: 3,
            outcome: Outcome::Kept(2),
            left: vec!["audit.directory".to_owned()],
        }
    }

    #[test]
    fn what_is_locked_lives_and_the_rest_is_cleared() {
        let dir = tempfile::tempdir().unwrap();
        let at = dir.path();
        assert_eq!(all_in(&at.join("none")).unwrap(), []);
        let held = write(at, &run(7)).unwrap();
        drop(write(at, &run(8)).unwrap());
        fs::write(at.join(".new-torn"), "{").unwrap();
        fs::write(at.join("note.txt"), "not ours").unwrap();
        // Under another's name nobody is believed.
        let other = write(at, &run(9)).unwrap();
        fs::rename(at.join("9.json"), at.join("10.json")).unwrap();
        assert_eq!(all_in(at).unwrap(), [run(7)]);
        let mut names: Vec<_> = fs::read_dir(at)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort_unstable();
        assert_eq!(names, ["10.json", "7.json", "note.txt"]);
        drop((held, other));
        assert_eq!(all_in(at).unwrap(), []);
    }

    #[test]
    fn a_new_file_takes_the_place_of_the_old_and_is_locked_too() {
        let dir = tempfile::tempdir().unwrap();
        let first = write(dir.path(), &run(7)).unwrap();
        let next = Run {
            generation: 4,
            outcome: Outcome::InForce,
            ..run(7)
        };
        let second = write(dir.path(), &next).unwrap();
        drop(first);
        assert_eq!(all_in(dir.path()).unwrap(), [next]);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = second.metadata().unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
        drop(second);
    }
}
