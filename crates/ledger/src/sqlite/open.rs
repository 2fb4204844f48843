//! Opens the file: makes it whole or not at all, knows its own from others', brings it up to date.

use std::io;
use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use super::schema::{APPLICATION, MIGRATIONS};
use crate::{LedgerFault, files};

/// How long one process waits for another that writes.
const PATIENCE: Duration = Duration::from_secs(10);

/// Opens or makes it. A file that is not ours, or newer than this program, is left as it is.
pub(crate) fn open(path: &Path) -> Result<Connection, LedgerFault> {
    if !path.try_exists()? {
        make(path)?;
    }
    recognize(path)?;
    files::make_private(path)?;
    let mut conn = connect(path)?;
    migrate(&mut conn)?;
    Ok(conn)
}

/// What was removed still stands in the write-ahead log; this takes it away. Not done where somebody is reading.
pub(crate) fn cut_log(conn: &Connection) -> Cut {
    let cut = || -> rusqlite::Result<i64> {
        conn.busy_timeout(Duration::ZERO)?;
        conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))
    };
    let cut = cut();
    let patient = conn.busy_timeout(PATIENCE);
    match (cut, patient) {
        (Ok(0), Ok(())) => Cut::Done,
        _ => Cut::NotNow,
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Cut {
    Done,
    NotNow,
}

/// A new file gets its name when it is whole, so that no process ever meets half of one.
fn make(path: &Path) -> Result<(), LedgerFault> {
    let dir = match path.parent() {
        Some(dir) if !dir.as_os_str().is_empty() => dir,
        _ => Path::new("."),
    };
    files::create_private_dir(dir)?;
    refuse_orphan(path)?;
    let file = tempfile::Builder::new()
        .prefix(".new-ledger-")
        .tempfile_in(dir)?;
    file.as_file().sync_all()?;
    // QUIRK: a process that closes any handle of a file loses its POSIX locks on it, those of SQLite too. So there is no
    // handle but SQLite's once the file can be found, here and wherever it is looked at.
    let file = file.into_temp_path();
    let mut conn = connect(&file)?;
    conn.pragma_update(None, "application_id", APPLICATION)?;
    migrate(&mut conn)?;
    conn.close().map_err(|(_, error)| error)?;
    match file.persist_noclobber(path) {
        Ok(_) => {}
        // Another process was faster; its file is as good.
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => return Ok(()),
        Err(error) => return Err(error.error.into()),
    }
    Ok(files::sync_dir(dir)?)
}

/// QUIRK: SQLite takes a log that bears the file's name for the file's own, and mixes it into a new one.
fn refuse_orphan(path: &Path) -> Result<(), LedgerFault> {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    // In this order: another process that makes the file now has it there before its log.
    if Path::new(&log).try_exists()? && !path.try_exists()? {
        return Err(LedgerFault::Foreign(format!(
            "{} is gone, and what was written to it last stands beside it, in {}; put the file back, or move that one \
             away as well",
            path.display(),
            Path::new(&log).display()
        )));
    }
    Ok(())
}

/// Looks at what the file says of itself, and at nothing beside it: SQLite would else begin by mending.
fn recognize(path: &Path) -> Result<(), LedgerFault> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
    let says = |name: &str| -> rusqlite::Result<i32> {
        let conn = Connection::open_with_flags(as_it_is(path), flags)?;
        // QUIRK: a checkpoint that is under way, or whose process was killed, leaves a file that says to be longer than it
        // is; the log beside it makes it whole. Only in this mode does SQLite not take it for a damaged one.
        conn.pragma_update(None, "writable_schema", true)?;
        conn.pragma_query_value(None, name, |row| row.get(0))
    };
    let not_ours = |why: &str| {
        Err(LedgerFault::Foreign(format!(
            "{} {why}; move it away, or give another path",
            path.display()
        )))
    };
    match (says("application_id"), says("user_version")) {
        (Ok(APPLICATION), Ok(version)) if version <= latest() => Ok(()),
        (Ok(APPLICATION), Ok(_)) => not_ours("was written by a newer version of this program"),
        (Ok(_), Ok(_)) => not_ours("is no ledger of this program"),
        (Err(error), _) | (_, Err(error)) => match LedgerFault::from(error) {
            LedgerFault::Foreign(_) => not_ours("is no SQLite database, or a damaged one"),
            fault => Err(fault),
        },
    }
}

/// The name by which SQLite reads a file as if nothing could change it, without locks, logs and journals.
fn as_it_is(path: &Path) -> String {
    let path = path.as_os_str().as_encoded_bytes();
    let octet = |byte: &u8| match byte {
        b'/' | b'.' | b'-' | b'_' => char::from(*byte).to_string(),
        letter if letter.is_ascii_alphanumeric() => char::from(*letter).to_string(),
        other => format!("%{other:02x}"),
    };
    let path: String = path.iter().map(octet).collect();
    format!("file:{path}?immutable=1")
}

fn connect(path: &Path) -> Result<Connection, LedgerFault> {
    // Without SQLITE_OPEN_CREATE: a file that vanishes now is an error, not an empty ledger.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(path, flags)?;
    conn.busy_timeout(PATIENCE)?;
    let mode: String =
        conn.pragma_update_and_check(None, "journal_mode", "wal", |row| row.get(0))?;
    if mode != "wal" {
        return Err(LedgerFault::Unwritable(format!(
            "its file system has no shared memory for SQLite (journal mode {mode}); give a path on a local disk"
        )));
    }
    // Every commit is on disk when it returns.
    conn.pragma_update(None, "synchronous", "full")?;
    conn.pragma_update(None, "foreign_keys", true)?;
    conn.pragma_update(None, "secure_delete", true)?;
    // A database that somebody else could write to is no place for functions and triggers of theirs.
    conn.pragma_update(None, "trusted_schema", false)?;
    Ok(conn)
}

/// Begins to write even where nothing is to be done: a file that cannot be written shows it now.
fn migrate(conn: &mut Connection) -> Result<(), LedgerFault> {
    let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let version: i32 = tx.pragma_query_value(None, "user_version", |row| row.get(0))?;
    if version > latest() {
        return Err(LedgerFault::Foreign(
            "it was written by a newer version of this program; use that one".to_owned(),
        ));
    }
    let known = usize::try_from(version).unwrap_or_default();
    for migration in MIGRATIONS.iter().skip(known) {
        tx.execute_batch(migration)?;
    }
    if version < latest() {
        tx.pragma_update(None, "user_version", latest())?;
    }
    Ok(tx.commit()?)
}

fn latest() -> i32 {
    i32::try_from(MIGRATIONS.len()).unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// The newest state of the first page that stands in a log.
    fn first_page(log: &[u8]) -> Vec<u8> {
        let number = |at: usize| u32::from_be_bytes(log[at..at + 4].try_into().unwrap());
        let size = number(8) as usize;
        let mut frames = (32..log.len()).step_by(24 + size);
        let newest = frames.rfind(|frame| number(*frame) == 1).unwrap();
        log[newest + 24..newest + 24 + size].to_vec()
    }

    #[test]
    fn a_checkpoint_that_never_ended_damages_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let place = |name: &str| dir.path().join(name);
        let conn = open(&place("ledger.db")).unwrap();
        conn.execute_batch(
            "PRAGMA wal_checkpoint(TRUNCATE); PRAGMA wal_autocheckpoint = 0; CREATE TABLE more (text);",
        )
        .unwrap();
        for _ in 0..50 {
            let long = "x".repeat(9_000);
            conn.execute("INSERT INTO more VALUES (?1)", [long])
                .unwrap();
        }
        // As a process leaves it that is killed when it has written the first page back.
        let log = fs::read(place("ledger.db-wal")).unwrap();
        let mut file = fs::read(place("ledger.db")).unwrap();
        let first = first_page(&log);
        file[..first.len()].copy_from_slice(&first);
        fs::write(place("killed.db"), file).unwrap();
        fs::write(place("killed.db-wal"), log).unwrap();
        let found = open(&place("killed.db")).unwrap();
        let rows: i64 = found
            .query_row("SELECT count(*) FROM more", [], |row| row.get(0))
            .unwrap();
        assert_eq!(rows, 50);
    }

    #[test]
    fn a_file_is_made_once_private_and_as_it_should_be() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("state/ledger.db");
        drop(open(&path).unwrap());
        let conn = open(&path).unwrap();
        let value = |name: &str| {
            conn.pragma_query_value(None, name, |row| row.get::<_, rusqlite::types::Value>(0))
                .unwrap()
        };
        use rusqlite::types::Value::{Integer, Text};
        for (name, want) in [
            ("journal_mode", Text("wal".to_owned())),
            ("synchronous", Integer(2)),
            ("foreign_keys", Integer(1)),
            ("secure_delete", Integer(1)),
            ("trusted_schema", Integer(0)),
            ("busy_timeout", Integer(10_000)),
            ("application_id", Integer(i64::from(APPLICATION))),
            ("user_version", Integer(i64::from(latest()))),
        ] {
            assert_eq!(value(name), want, "{name}");
        }
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
            assert_eq!(mode(&path), 0o600);
            assert_eq!(mode(path.parent().unwrap()), 0o700);
            drop(conn);
            fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
            drop(open(&path).unwrap());
            assert_eq!(mode(&path), 0o600, "it is private again");
        }
        let left: Vec<_> = fs::read_dir(path.parent().unwrap())
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert_eq!(left, ["ledger.db"], "nothing else is left");
    }

    #[test]
    fn what_is_not_ours_is_not_touched() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("other.db");
        let database = |sql: &str| {
            let conn = Connection::open(&path).unwrap();
            conn.execute_batch(sql).unwrap();
            drop(conn);
            let bytes = fs::read(&path).unwrap();
            fs::remove_file(&path).unwrap();
            bytes
        };
        let newer = format!("PRAGMA application_id={APPLICATION}; PRAGMA user_version=1000");
        let foreign = "PRAGMA application_id=7; CREATE TABLE theirs (x)";
        for (name, bytes) in [
            ("empty", Vec::new()),
            ("short", b"SQLite format 3\0".to_vec()),
            ("zeros", vec![0; 8192]),
            ("text", b"dear diary, ".repeat(100)),
            ("nobody's", database("CREATE TABLE theirs (x)")),
            ("another's", database(foreign)),
            ("newer", database(&newer)),
        ] {
            fs::write(&path, &bytes).unwrap();
            let fault = open(&path).unwrap_err();
            assert!(matches!(fault, LedgerFault::Foreign(_)), "{name}: {fault}");
            assert_eq!(fs::read(&path).unwrap(), bytes, "{name}");
            assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "{name}");
        }
    }

    #[test]
    fn a_file_of_an_earlier_version_becomes_one_of_today() {
        for version in 1..latest() {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("ledger.db");
            let old = Connection::open(&path).unwrap();
            for migration in &MIGRATIONS[..usize::try_from(version).unwrap()] {
                old.execute_batch(migration).unwrap();
            }
            old.pragma_update(None, "application_id", APPLICATION)
                .unwrap();
            old.pragma_update(None, "user_version", version).unwrap();
            let row = "INSERT INTO transactions (id, kind, caller, tool, request_id, policy, marks, state, began, attempts,
                           target_home, target_folder, landed_uidvalidity, landed_uid)
                       VALUES ('a', 'move', 'b', 'c', 'd', 'e', '[]', 'open', '2026-01-01', 0, 'f', 'g', 7, 42);
                       INSERT INTO steps VALUES ('a', 1, 'move', 'intended', '2026-01-01', NULL)";
            old.execute_batch(row).unwrap();
            drop(old);
            let conn = open(&path).unwrap();
            let now: i32 = conn
                .pragma_query_value(None, "user_version", |row| row.get(0))
                .unwrap();
            assert_eq!(now, latest());
            let kept = "SELECT store_id IS NULL AND source_id IS NULL AND end_of_all_next IS NULL AND landed_uid = 42
                            AND (SELECT count(*) FROM steps) = 1
                        FROM transactions WHERE id = 'a' AND state = 'open'";
            let kept = conn.query_row(kept, [], |row| row.get::<_, bool>(0));
            assert!(kept.unwrap(), "{version}");
        }
    }

    #[test]
    fn a_path_may_have_any_name() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["a b", "50%41?mode=ro#x", "Büro", "file:x", "a&b=c"] {
            let path = dir.path().join(name).join("ledger.db");
            drop(open(&path).unwrap());
            drop(open(&path).unwrap());
            assert!(path.exists(), "{name}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn opening_it_again_takes_no_lock_from_those_who_have_it_open() {
        use std::os::unix::fs::MetadataExt as _;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ledger.db");
        let first = open(&path).unwrap();
        let file = format!(":{} ", fs::metadata(&path).unwrap().ino());
        let locked = || {
            let locks = fs::read_to_string("/proc/locks").unwrap();
            let mut ours = locks.lines().filter(|line| line.contains(&file));
            ours.any(|line| line.contains("POSIX"))
        };
        assert!(locked());
        let second = open(&path).unwrap();
        assert!(locked(), "others must see that it is in use");
        drop((first, second));
        assert!(!locked());
    }

    #[test]
    fn many_may_open_it_at_once() {
        for _ in 0..20 {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("ledger.db");
            std::thread::scope(|scope| {
                let openings: Vec<_> = (0..8).map(|_| scope.spawn(|| open(&path))).collect();
                for opening in openings {
                    opening.join().unwrap().unwrap();
                }
            });
            assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
        }
    }
}
