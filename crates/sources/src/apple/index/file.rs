//! The file of an index: private, recognized, and made anew where it is absent, broken or of another make.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

/// Tells our file from others', and this make from the next: "MWai", and a number.
const APPLICATION: i32 = 0x4d57_6169;
const MAKE: i32 = 1;
/// How long one process waits for another that builds.
const PATIENCE: Duration = Duration::from_secs(30);

const TABLES: &str = "
    CREATE TABLE store (one INTEGER PRIMARY KEY CHECK (one = 1), file TEXT NOT NULL, high INTEGER NOT NULL,
        stamp TEXT NOT NULL);
    -- A message that has or names an id, by the hash of the id.
    CREATE TABLE has (hash INTEGER NOT NULL, row INTEGER NOT NULL, PRIMARY KEY (hash, row)) WITHOUT ROWID;
    CREATE TABLE named (hash INTEGER NOT NULL, row INTEGER NOT NULL, PRIMARY KEY (hash, row)) WITHOUT ROWID;
    -- Messages whose header was read.
    CREATE TABLE headers (row INTEGER PRIMARY KEY);";

/// The file, made or made anew. It is private, and so is its directory.
pub(super) fn kept(file: &Path) -> io::Result<Connection> {
    let directory = file.parent().ok_or(io::ErrorKind::InvalidInput)?;
    private_directory(directory)?;
    let told = |error: rusqlite::Error| io::Error::other(error.to_string());
    match recognized(file) {
        Ok(conn) => return Ok(conn),
        Err(error) if busy(&error) => return Err(told(error)),
        // Absent, broken, or of another make.
        Err(_) => {}
    }
    discard(file)?;
    // It gets its name when it is whole, so that no process meets half of one.
    let new = tempfile::Builder::new()
        .prefix(".new-index-")
        .tempfile_in(directory)?;
    let new = new.into_temp_path();
    let conn = Connection::open(&new).map_err(told)?;
    make(&conn).map_err(told)?;
    conn.close().map_err(|(_, error)| told(error))?;
    match new.persist_noclobber(file) {
        Err(error) if error.error.kind() != io::ErrorKind::AlreadyExists => return Err(error.error),
        _ => {}
    }
    recognized(file).map_err(told)
}

/// Others that have it open notice, and make it anew.
pub(super) fn discard(file: &Path) -> io::Result<()> {
    for ending in ["", "-journal", "-wal", "-shm"] {
        let mut path = file.as_os_str().to_owned();
        path.push(ending);
        match fs::remove_file(PathBuf::from(path)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

pub(super) fn in_memory() -> rusqlite::Result<Connection> {
    let conn = Connection::open_in_memory()?;
    make(&conn)?;
    Ok(conn)
}

pub(super) fn busy(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{DatabaseBusy, DatabaseLocked};
    matches!(
        error.sqlite_error_code(),
        Some(DatabaseBusy | DatabaseLocked)
    )
}

/// Ours, of this make, and not broken as far as a glance tells.
fn recognized(file: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(file, flags)?;
    conn.busy_timeout(PATIENCE)?;
    // It can be built again: what a crash of the machine takes away is not missed.
    conn.pragma_update(None, "synchronous", "off")?;
    conn.pragma_update(None, "trusted_schema", false)?;
    let number = |name: &str| conn.pragma_query_value(None, name, |row| row.get::<_, i32>(0));
    let ours = number("application_id")? == APPLICATION && number("user_version")? == MAKE;
    let broken = || rusqlite::Error::InvalidQuery;
    if !ours {
        return Err(broken());
    }
    let check: String = conn.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    match check.as_str() {
        "ok" => Ok(conn),
        _ => Err(broken()),
    }
}

fn make(conn: &Connection) -> rusqlite::Result<()> {
    conn.pragma_update(None, "application_id", APPLICATION)?;
    conn.pragma_update(None, "user_version", MAKE)?;
    conn.execute_batch(TABLES)
}

pub(in crate::apple) fn private_directory(directory: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt as _;
        builder.mode(0o700);
    }
    builder.recursive(true).create(directory)
}
