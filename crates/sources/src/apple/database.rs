//! Apple's own database, opened so that Mail never notices: read only, the rows of its log seen, nothing left beside it.

use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use mail::{Fault, FaultKind, Stage, UidValidity};
use rusqlite::{Connection, ErrorCode, OpenFlags};
use sha2::{Digest as _, Sha256};

use super::copies::{Copied, Copies};
use super::place::{INDEX, Place, faulted};
use super::schema::Schema;
use crate::local::work::Stop;

/// How long we wait for whoever writes.
const PATIENCE: Duration = Duration::from_secs(3);
/// INVARIANT: never `immutable`, which would not see what only the log holds. And the index of the log is not ours: it is neither
/// made where Mail has quit a moment ago, nor mended where Mail has crashed.
pub(super) const READ_ONLY: &str = "mode=ro&readonly_shm=1";
/// A store that changes while it is copied is copied again so often.
const MOST_TRIES: usize = 4;

/// One view of the store: what is committed later is not in it.
pub(super) struct Database {
    pub(super) conn: Connection,
    pub(super) schema: Schema,
    /// Tells this state of the file from others.
    pub(super) stamp: Stamp,
    _copy: Option<Arc<Copied>>,
}

/// What the file and its log look like from outside.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Stamp {
    file: Option<Seen>,
    log: Option<Seen>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Seen {
    inode: u64,
    born: Option<SystemTime>,
    length: u64,
    changed: Option<SystemTime>,
}

impl Database {
    pub(super) fn open(place: &Place, copies: &Copies, stop: &Stop) -> Result<Self, Fault> {
        copies.sweep();
        let path = place.index();
        for _ in 0..MOST_TRIES {
            let stamp = Stamp::of(&path);
            if stamp.file.is_none() {
                return Err(unopened(place));
            }
            // Whoever has the log open has its index there. Without it SQLite would make one, in a directory that is Mail's:
            // then nobody writes, and a copy is as good.
            let (at, copy) = if seen(&beside(&path, "-shm")).is_some() {
                (path.clone(), None)
            } else {
                let Some(copy) = copies.of(place, &stamp, stop)? else {
                    continue;
                };
                (copy.database(), Some(copy))
            };
            let opened = connect(&at, &copy).and_then(|conn| {
                let schema = Schema::read(&conn)?;
                Ok((conn, schema))
            });
            match opened {
                // Mail may have begun a new one a moment ago: what was opened is what was looked at, or is opened again.
                Ok(_)
                    if copy.is_none()
                        && Stamp::of(&path).file_spelled() != stamp.file_spelled() => {}
                Ok((conn, schema)) => {
                    schema.check()?;
                    return Ok(Self {
                        conn,
                        schema,
                        stamp,
                        _copy: copy,
                    });
                }
                // Mail may have quit a moment ago, and taken the index of the log with it, or is about to mend that.
                Err(error) if is_shaken(&error) && copy.is_none() => {
                    permitted(place)?;
                }
                Err(error) => return Err(fault(Stage::OpenFolder)(error)),
            }
        }
        let why = "the store changes faster than it can be read";
        Err(Fault::saying(FaultKind::Busy, Stage::OpenFolder, why))
    }
}

impl Stamp {
    pub(super) fn of(path: &Path) -> Self {
        Self {
            file: seen(path),
            log: seen(&beside(path, "-wal")),
        }
    }

    /// Tells the file from others, however it changes: the number alone may be given to another one when it is gone.
    pub(super) fn file_spelled(&self) -> String {
        self.file.as_ref().map_or_else(String::new, |seen| {
            format!("{}.{}", seen.inode, nanos(seen.born))
        })
    }

    /// The same as a number that goes into ids; never 0 (RFC 9051 section 2.3.1.1). A store that was moved or restored has
    /// another one, though its messages have kept theirs: then ids are refused that would have meant the same.
    pub(super) fn generation(&self) -> UidValidity {
        let sum = Sha256::digest(self.file_spelled());
        let number = sum.iter().take(4).fold(0, |number: u32, octet| {
            number.wrapping_shl(8) | u32::from(*octet)
        });
        UidValidity(number.max(1))
    }

    /// For a file of ours that outlives this process.
    pub(super) fn spelled(&self) -> String {
        let spell = |seen: &Option<Seen>| {
            seen.as_ref().map_or_else(String::new, |seen| {
                format!("{}.{}.{}", seen.inode, seen.length, nanos(seen.changed))
            })
        };
        format!("{}/{}", spell(&self.file), spell(&self.log))
    }
}

/// Since 1970; 0 where the system does not say.
fn nanos(at: Option<SystemTime>) -> u128 {
    let since = at.map(|at| at.duration_since(SystemTime::UNIX_EPOCH));
    since.and_then(Result::ok).map_or(0, |at| at.as_nanos())
}

/// A regular file, or none.
pub(super) fn seen(path: &Path) -> Option<Seen> {
    let data = fs::symlink_metadata(path).ok().filter(Metadata::is_file)?;
    #[cfg(unix)]
    let inode = std::os::unix::fs::MetadataExt::ino(&data);
    #[cfg(not(unix))]
    let inode = 0;
    Some(Seen {
        inode,
        born: data.created().ok(),
        length: data.len(),
        changed: data.modified().ok(),
    })
}

pub(super) fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

/// Why there is no index to open.
fn unopened(place: &Place) -> Fault {
    match permitted(place) {
        Err(fault) => fault,
        Ok(()) => Fault::saying(
            FaultKind::NoStore,
            Stage::OpenFolder,
            "there is no Envelope Index",
        ),
    }
}

/// Whether the system lets us read it at all. Opened by a handle of ours only where SQLite has none.
fn permitted(place: &Place) -> Result<(), Fault> {
    let path = Path::new(super::place::DATA).join(INDEX);
    match place.beneath.file(&path) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            Err(faulted(Stage::OpenFolder)(error))
        }
        _ => Ok(()),
    }
}

fn connect(path: &Path, copy: &Option<Arc<Copied>>) -> rusqlite::Result<Connection> {
    let access = match copy {
        // Its log is recovered where it is ours.
        Some(_) => OpenFlags::SQLITE_OPEN_READ_WRITE,
        None => OpenFlags::SQLITE_OPEN_READ_ONLY,
    };
    let flags = access | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = match copy {
        Some(_) => Connection::open_with_flags(path, flags)?,
        None => {
            let flags = flags | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NOFOLLOW;
            Connection::open_with_flags(uri(path, READ_ONLY), flags)?
        }
    };
    conn.busy_timeout(PATIENCE)?;
    conn.pragma_update(None, "query_only", true)?;
    // Functions in views and triggers of a file that is not ours do nothing here.
    conn.pragma_update(None, "trusted_schema", false)?;
    conn.execute_batch("BEGIN")?;
    conn.query_row("SELECT count(*) FROM sqlite_master", [], |_| Ok(()))?;
    Ok(conn)
}

/// How SQLite is told to open a file.
pub(super) fn uri(path: &Path, how: &str) -> String {
    let octet = |byte: &u8| match byte {
        b'/' | b'.' | b'-' | b'_' => char::from(*byte).to_string(),
        letter if letter.is_ascii_alphanumeric() => char::from(*letter).to_string(),
        other => format!("%{other:02x}"),
    };
    let path: String = path
        .as_os_str()
        .as_encoded_bytes()
        .iter()
        .map(octet)
        .collect();
    format!("file:{path}?{how}")
}

fn is_shaken(error: &rusqlite::Error) -> bool {
    matches!(
        code(error),
        Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly)
    )
}

fn code(error: &rusqlite::Error) -> Option<ErrorCode> {
    error.sqlite_error_code()
}

/// What SQLite said, without values of rows.
pub(super) fn fault(stage: Stage) -> impl Fn(rusqlite::Error) -> Fault {
    move |error| {
        let (kind, why) = match code(&error) {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                (FaultKind::Busy, "somebody else has the store locked")
            }
            Some(ErrorCode::PermissionDenied | ErrorCode::AuthorizationForStatementDenied) => {
                (FaultKind::NoPermission, "the store may not be read")
            }
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => (
                FaultKind::Unreadable,
                "the Envelope Index is damaged or only half there",
            ),
            _ => (FaultKind::Unreadable, "the Envelope Index cannot be read"),
        };
        Fault::saying(kind, stage, why)
    }
}

#[cfg(test)]
mod tests {
    use testkit::apple::{AppleStore, Letter};

    use super::*;

    #[test]
    fn the_index_of_the_log_is_not_made_where_mail_has_quit() {
        let mut store = AppleStore::new();
        store.quit();
        let failed = connect(&store.database(), &None).unwrap_err();
        assert!(is_shaken(&failed), "{failed:?}");
        assert_eq!(seen(&beside(&store.database(), "-shm")), None);
    }

    #[test]
    fn what_mail_left_when_it_crashed_is_read_as_it_is() {
        let mut store = AppleStore::new();
        let inbox = store.folder("INBOX");
        store.message(inbox, Letter::new("Subject: x\n\nx\n"));
        // Elsewhere nobody has it open.
        let crashed = tempfile::tempdir().unwrap();
        let database = crashed.path().join(INDEX);
        for ending in ["", "-wal", "-shm"] {
            fs::copy(beside(&store.database(), ending), beside(&database, ending)).unwrap();
        }
        let index = || fs::read(beside(&database, "-shm")).unwrap();
        let before = index();
        let conn = connect(&database, &None).unwrap();
        let count = conn.query_row("SELECT count(*) FROM messages", [], |row| row.get(0));
        assert_eq!(count, Ok(1_i64));
        drop(conn);
        assert!(index() == before);
    }
}
