//! The file of an index: made private, recognized, and set aside when it is no good.

use std::fs::{self, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use super::Broken;

/// `PRAGMA application_id`: "mwmi".
const APPLICATION: i32 = 0x6d77_6d69;
/// Another one is set aside: there is nothing in it that cannot be read again.
const VERSION: i32 = 1;
/// How long one process waits for another that writes.
const PATIENCE: Duration = Duration::from_secs(10);

const TABLES: &str = "
CREATE TABLE folders (
    id     INTEGER PRIMARY KEY,
    path   BLOB NOT NULL UNIQUE,
    -- As long as the folder has these, all of it is here.
    stamps BLOB
) STRICT;
CREATE TABLE messages (
    id     INTEGER PRIMARY KEY,
    folder INTEGER NOT NULL,
    key    BLOB NOT NULL,
    inode  INTEGER NOT NULL,
    -- Digests of what it has and names; none where it could not be read.
    ids    BLOB,
    UNIQUE (folder, key)
) STRICT;
CREATE INDEX messages_unread ON messages (folder) WHERE ids IS NULL;
CREATE TABLE links (
    hash    INTEGER NOT NULL,
    message INTEGER NOT NULL,
    role    INTEGER NOT NULL,
    PRIMARY KEY (hash, message)
) STRICT, WITHOUT ROWID;
";

/// Which file it is, whatever its name.
pub(super) type Identity = (u64, u64);

/// Opens or makes it.
pub(super) fn open(path: &Path) -> Result<(Connection, Option<Identity>), Broken> {
    make(path)?;
    // Without SQLITE_OPEN_CREATE: what SQLite makes would not be private.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut conn = Connection::open_with_flags(path, flags)?;
    let identity = identity(path);
    conn.busy_timeout(PATIENCE)?;
    // Where there is no shared memory the journal stays as it is: slower, and as good.
    conn.pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(()))?;
    // What a crash of the machine takes away is read again.
    conn.pragma_update(None, "synchronous", "normal")?;
    settle(&mut conn)?;
    Ok((conn, identity))
}

pub(super) fn in_memory() -> Result<Connection, Broken> {
    let mut conn = Connection::open_in_memory()?;
    settle(&mut conn)?;
    Ok(conn)
}

#[cfg(unix)]
pub(super) fn identity(path: &Path) -> Option<Identity> {
    use std::os::unix::fs::MetadataExt as _;
    let data = fs::symlink_metadata(path).ok()?;
    Some((data.dev(), data.ino()))
}

#[cfg(not(unix))]
pub(super) fn identity(_: &Path) -> Option<Identity> {
    None
}

/// Gives the file another name, unless another process did so and made a new one.
pub(super) fn set_aside(path: &Path, damaged: Option<Identity>) {
    if identity(path) != damaged {
        return;
    }
    // QUIRK: SQLite takes a log that bears the file's name for the file's own. So the log goes first.
    for beside in ["-wal", "-shm"] {
        let _ = fs::remove_file(named(path, beside));
    }
    let aside = named(path, ".damaged");
    let renamed = fs::rename(path, &aside).or_else(|_| fs::remove_file(path));
    match renamed {
        Ok(()) => tracing::warn!("a damaged index was set aside, and is made again"),
        Err(error) => tracing::warn!(kind = %error.kind(), "a damaged index cannot be moved away"),
    }
}

fn named(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    PathBuf::from(name)
}

/// An empty file is a database without tables: a crash here leaves nothing that would have to be mended.
fn make(path: &Path) -> io::Result<()> {
    if let Some(directory) = path.parent() {
        let mut builder = fs::DirBuilder::new();
        #[cfg(unix)]
        {
            use std::os::unix::fs::DirBuilderExt as _;
            builder.mode(0o700);
        }
        builder.recursive(true).create(directory)?;
    }
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    match options.open(path) {
        Ok(_) => Ok(()),
        // QUIRK: a process that closes any handle of a file loses its locks on it, those of SQLite too. So what is there is
        // not opened.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => make_private(path),
        Err(error) => Err(error),
    }
}

/// A file that was copied or restored may have become readable for others.
fn make_private(path: &Path) -> io::Result<()> {
    let data = fs::symlink_metadata(path)?;
    if !data.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        if data.permissions().mode() & 0o077 != 0 {
            fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
        }
    }
    Ok(())
}

fn settle(conn: &mut Connection) -> Result<(), Broken> {
    conn.pragma_update(None, "trusted_schema", false)?;
    conn.pragma_update(None, "temp_store", "memory")?;
    conn.pragma_update(None, "cache_size", -32 * 1024)?;
    let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let says = |name: &str| tx.pragma_query_value(None, name, |row| row.get::<_, i32>(0));
    match (says("application_id")?, says("user_version")?) {
        (APPLICATION, VERSION) => {}
        (0, 0) => {
            let tables: i64 =
                tx.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
            if tables > 0 {
                return Err(Broken::Foreign);
            }
            tx.execute_batch(TABLES)?;
            tx.pragma_update(None, "application_id", APPLICATION)?;
            tx.pragma_update(None, "user_version", VERSION)?;
        }
        _ => return Err(Broken::Foreign),
    }
    Ok(tx.commit()?)
}
