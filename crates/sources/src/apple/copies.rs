//! Private copies of Apple's database, for as long as nobody has it open: SQLite would leave files beside the original.
//!
//! They lie in the state directory where there is one, and else where the system keeps what is temporary. What a process that
//! was killed leaves behind in the state directory is swept by the next one.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, Once, PoisonError};
use std::time::Duration;

use mail::{Fault, Stage};
use tempfile::TempDir;

use super::database::{Stamp, beside, seen};
use super::index::private_directory;
use super::place::{DATA, INDEX, Place, faulted};
use crate::local::work::Stop;

/// In the state directory.
const BELOW: &str = "apple-copies";
const PREFIX: &str = "copy-";
/// Held by the process that a copy belongs to as long as it lives.
const LOCK: &str = "lock";
/// Between pieces it is asked whether the answer is still wanted.
const PIECE: u64 = 1 << 20;
/// So often whoever waits for a copy asks the same.
const TICK: Duration = Duration::from_millis(50);
/// A sweeper may take a room for an empty one before it is held.
const MOST_TRIES: usize = 8;
/// Leftovers that are looked at.
const MOST_SWEPT: usize = 1_000;

/// A copy that only we can read, with the state it is of.
pub(super) struct Copied {
    room: Room,
    of: Stamp,
}

/// The last copy, as long as the store is the same.
pub(super) struct Copies {
    below: Option<PathBuf>,
    swept: Once,
    turn: Mutex<Turn>,
    ended: Condvar,
}

#[derive(Default)]
struct Turn {
    last: Option<Arc<Copied>>,
    at_work: AtWork,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
enum AtWork {
    #[default]
    Nobody,
    Somebody,
}

/// A directory of our own, gone when dropped.
struct Room {
    directory: TempDir,
    _held: Option<File>,
}

/// Ends a turn, whatever came of it.
struct Ending<'a>(&'a Copies);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.turn().at_work = AtWork::Nobody;
        self.0.ended.notify_all();
    }
}

impl Copied {
    pub(super) fn database(&self) -> PathBuf {
        self.room.directory.path().join(INDEX)
    }
}

impl Copies {
    pub(super) fn new(state: Option<&Path>) -> Self {
        Self {
            below: state.map(|state| state.join(BELOW)),
            swept: Once::new(),
            turn: Mutex::default(),
            ended: Condvar::new(),
        }
    }

    /// Once for each process: what others have left behind.
    pub(super) fn sweep(&self) {
        if let Some(below) = &self.below {
            self.swept.call_once(|| sweep(below));
        }
    }

    /// None where the store changed meanwhile. One copies, and no lock is held over that; the others wait for the copy, each as
    /// long as somebody waits for it.
    pub(super) fn of(
        &self,
        place: &Place,
        stamp: &Stamp,
        stop: &Stop,
    ) -> Result<Option<Arc<Copied>>, Fault> {
        let told = faulted(Stage::OpenFolder);
        let mut turn = self.turn();
        loop {
            if let Some(copy) = turn.last.as_ref().filter(|copy| copy.of == *stamp) {
                return Ok(Some(Arc::clone(copy)));
            }
            if turn.at_work == AtWork::Nobody {
                break;
            }
            stop.check().map_err(&told)?;
            let waited = self.ended.wait_timeout(turn, TICK);
            turn = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        turn.at_work = AtWork::Somebody;
        let old = turn.last.take();
        drop(turn);
        let _ending = Ending(self);
        drop(old);
        let room = self.copy(place, stop).map_err(&told)?;
        let path = place.index();
        let running = seen(&beside(&path, "-shm")).is_some();
        if Stamp::of(&path) != *stamp || running {
            return Ok(None);
        }
        let copy = Arc::new(Copied {
            room,
            of: stamp.clone(),
        });
        self.turn().last = Some(Arc::clone(&copy));
        Ok(Some(copy))
    }

    fn copy(&self, place: &Place, stop: &Stop) -> io::Result<Room> {
        let room = self.room()?;
        for ending in ["", "-wal", "-journal"] {
            let name = format!("{INDEX}{ending}");
            let (from, _) = match place.beneath.file(&Path::new(DATA).join(&name)) {
                Err(error) if error.kind() == io::ErrorKind::NotFound && !ending.is_empty() => {
                    continue;
                }
                other => other?,
            };
            pour(from, File::create(room.directory.path().join(&name))?, stop)?;
        }
        Ok(room)
    }

    fn room(&self) -> io::Result<Room> {
        let kept = self.below.as_deref().map(held_room);
        match kept {
            Some(Ok(room)) => return Ok(room),
            Some(Err(error)) => {
                let kind = error.kind();
                tracing::warn!(%kind, "a private copy cannot be made in the state directory");
            }
            None => {}
        }
        Ok(Room {
            directory: private("mailwarden-", &std::env::temp_dir())?,
            _held: None,
        })
    }

    fn turn(&self) -> MutexGuard<'_, Turn> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn pour(from: impl Read, mut to: impl Write, stop: &Stop) -> io::Result<()> {
    let mut from = from;
    loop {
        stop.check()?;
        if io::copy(&mut (&mut from).take(PIECE), &mut to)? == 0 {
            return Ok(());
        }
    }
}

/// QUIRK: what `tempfile` makes is as open as the process says, where nothing else is said.
fn private(prefix: &str, below: &Path) -> io::Result<TempDir> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(prefix);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        builder.permissions(fs::Permissions::from_mode(0o700));
    }
    builder.tempdir_in(below)
}

/// INVARIANT: nothing of the store is put into a room before that is held, and what is held is not swept.
fn held_room(below: &Path) -> io::Result<Room> {
    private_directory(below)?;
    for _ in 0..MOST_TRIES {
        let directory = private(PREFIX, below)?;
        let lock = directory.path().join(LOCK);
        let held = match File::create_new(&lock) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            other => other?,
        };
        if held.try_lock().is_ok() && seen(&lock).is_some() {
            return Ok(Room {
                directory,
                _held: Some(held),
            });
        }
    }
    Err(io::ErrorKind::ResourceBusy.into())
}

/// What cannot be removed stays for the next one.
fn sweep(below: &Path) {
    let Ok(inside) = fs::read_dir(below) else {
        return;
    };
    for entry in inside.flatten().take(MOST_SWEPT) {
        let is_ours = entry.file_name().to_string_lossy().starts_with(PREFIX);
        if !is_ours || !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        match File::open(entry.path().join(LOCK)) {
            // Whoever holds it lives.
            Ok(held) if held.try_lock().is_ok() => {
                let _ = fs::remove_dir_all(entry.path());
            }
            Ok(_) => {}
            // Not held yet, or never: it is removed as long as it is empty.
            Err(_) => {
                let _ = fs::remove_dir(entry.path());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use testkit::apple::AppleStore;

    use super::*;
    use crate::local::work::off_thread;

    /// What came of work that nobody waits for any more.
    fn abandoned<F>(work: F) -> Result<(), io::ErrorKind>
    where
        F: FnOnce(&Stop) -> io::Result<()> + Send + 'static,
    {
        let (tell, told) = mpsc::channel();
        let (begin, begun) = tokio::sync::oneshot::channel();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        runtime.block_on(async {
            let working = off_thread(Stage::OpenFolder, move |stop| {
                let _ = begin.send(());
                let _ = tell.send(work(stop).map_err(|error| error.kind()));
                Ok(())
            });
            tokio::select! {
                _ = working => panic!("nobody waited"),
                _ = begun => {}
            }
        });
        told.recv_timeout(Duration::from_secs(30)).unwrap()
    }

    #[cfg(unix)]
    #[test]
    fn rooms_are_private_wherever_they_are() {
        use std::os::unix::fs::PermissionsExt as _;
        let state = tempfile::tempdir().unwrap();
        for below in [None, Some(state.path())] {
            let room = Copies::new(below).room().unwrap();
            let mode = fs::metadata(room.directory.path()).unwrap().permissions();
            assert_eq!(mode.mode() & 0o777, 0o700, "{below:?}");
        }
    }

    #[test]
    fn a_copy_that_nobody_waits_for_ends_early() {
        let ended = abandoned(|stop| pour(io::repeat(7), io::sink(), stop));
        assert_eq!(ended, Err(io::ErrorKind::Interrupted));
    }

    #[test]
    fn who_waits_for_the_copy_of_another_may_leave() {
        let mut store = AppleStore::new();
        store.quit();
        let place = Place::find(&store.root()).unwrap();
        let copies = Copies::new(None);
        copies.turn().at_work = AtWork::Somebody;
        let stamp = Stamp::of(&place.index());
        let ended = abandoned(move |stop| match copies.of(&place, &stamp, stop) {
            Ok(_) => Ok(()),
            Err(_) => Err(stop.check().unwrap_err()),
        });
        assert_eq!(ended, Err(io::ErrorKind::Interrupted));
    }

    #[test]
    fn what_a_killed_process_left_is_swept_and_what_is_held_stays() {
        let state = tempfile::tempdir().unwrap();
        let below = state.path().join(BELOW);
        let living = held_room(&below).unwrap();
        let copy = |name: &str| {
            let room = below.join(name);
            fs::create_dir_all(&room).unwrap();
            fs::write(room.join(INDEX), "mail").unwrap();
            room
        };
        let dead = copy("copy-dead");
        fs::write(dead.join(LOCK), "").unwrap();
        let strange = copy("elsewhere");
        let empty = below.join("copy-empty");
        fs::create_dir(&empty).unwrap();
        Copies::new(Some(state.path())).sweep();
        for (path, there) in [
            (living.directory.path(), true),
            (&strange, true),
            (&dead, false),
            (&empty, false),
        ] {
            assert_eq!(path.exists(), there, "{path:?}");
        }
    }
}
