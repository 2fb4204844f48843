//! Which messages have or name which Message-IDs: an index of headers, kept in a private file or in memory.
//!
//! It holds names of files and digests of ids, and nothing of what mail says. It is a hint: whatever it answers is looked up
//! in the message itself, and when the file is lost or damaged it is made again.

mod file;
mod refresh;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::{fmt, io};

use mail::{Fault, FaultKind, HeaderId, Stage};
use rusqlite::{Connection, ErrorCode};
use sha2::{Digest as _, Sha256};
use tokio::sync::{Mutex, OwnedMutexGuard};

use file::Identity;
pub(super) use refresh::{prune, refresh};

use super::work::unreadable;

/// A damaged file is set aside this often in one call.
const MOST_ATTEMPTS: usize = 3;

pub(super) struct Index {
    path: Option<PathBuf>,
    book: Arc<Mutex<Option<Book>>>,
}

/// The index in the hands of one question, from its beginning to its end: numbers of folders mean the same all the while, and
/// what was listed stays what is looked up. The next question waits as long; what may be looked at bounds that.
pub(super) struct Claim {
    path: Option<PathBuf>,
    book: OwnedMutexGuard<Option<Book>>,
}

struct Book {
    conn: Connection,
    kept: Kept,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kept {
    File(Option<Identity>),
    Memory,
}

/// Why something could not be done with it.
#[derive(Debug)]
pub(super) enum Broken {
    Sql(rusqlite::Error),
    /// It is not ours, or of another version.
    Foreign,
    Io(io::Error),
    /// Something else, and nothing about the index.
    Elsewhere(Fault),
}

/// How far it got, for whoever waits.
#[derive(Default)]
pub(super) struct Progress {
    done: AtomicU64,
    total: AtomicU64,
}

/// A message that may have or name an id.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Hit<'a> {
    /// As [`Folder::id`].
    pub(super) folder: i64,
    pub(super) key: &'a [u8],
}

/// Whether there is anything to be told after a hit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Then {
    More,
    Enough,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Role {
    /// It has the id.
    Own,
    /// It has or names it.
    Any,
}

impl Index {
    pub(super) fn new(path: Option<PathBuf>) -> Self {
        Self {
            path,
            book: Arc::default(),
        }
    }

    /// Waits until nobody else has it. No thread waits with it, and who gives up is not waited for by the next.
    pub(super) async fn claim(&self) -> Claim {
        Claim {
            path: self.path.clone(),
            book: Arc::clone(&self.book).lock_owned().await,
        }
    }

    #[cfg(test)]
    pub(super) fn with<T>(
        &self,
        work: impl FnMut(&mut Connection) -> Result<T, Broken>,
    ) -> Result<T, Fault> {
        let mut claim = Claim {
            path: self.path.clone(),
            book: Arc::clone(&self.book).blocking_lock_owned(),
        };
        claim.with(work)
    }
}

impl Claim {
    /// Does something with it. What is damaged is set aside and the work begun again; where no file can be written it goes on
    /// in memory.
    pub(super) fn with<T>(
        &mut self,
        mut work: impl FnMut(&mut Connection) -> Result<T, Broken>,
    ) -> Result<T, Fault> {
        for _ in 0..MOST_ATTEMPTS {
            let mut book = match self.book.take() {
                Some(book) => book,
                None => self.open()?,
            };
            let done = work(&mut book.conn);
            let broken = match done {
                Err(broken @ (Broken::Sql(_) | Broken::Foreign)) => broken,
                done => {
                    *self.book = Some(book);
                    return done.map_err(|broken| fault(&broken));
                }
            };
            match (book.kept, &self.path) {
                (Kept::File(identity), Some(path)) if broken.is_damage() => {
                    drop(book);
                    file::set_aside(path, identity);
                }
                (Kept::File(_), _) => {
                    tracing::warn!(%broken, "an index cannot be written, and is kept in memory");
                    *self.book = Some(in_memory()?);
                }
                (Kept::Memory, _) => return Err(fault(&broken)),
            }
        }
        // Whoever damages it does so all the time: then without a file.
        let book = self.book.insert(in_memory()?);
        work(&mut book.conn).map_err(|broken| fault(&broken))
    }

    fn open(&self) -> Result<Book, Fault> {
        let Some(path) = &self.path else {
            return in_memory();
        };
        for _ in 0..MOST_ATTEMPTS {
            match file::open(path) {
                Ok((conn, identity)) => {
                    let kept = Kept::File(identity);
                    return Ok(Book { conn, kept });
                }
                Err(broken) if broken.is_damage() => file::set_aside(path, file::identity(path)),
                Err(broken) => {
                    tracing::warn!(%broken, "an index cannot be opened, and is kept in memory");
                    return in_memory();
                }
            }
        }
        in_memory()
    }
}

impl fmt::Debug for Index {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Index").field("path", &self.path).finish()
    }
}

fn in_memory() -> Result<Book, Fault> {
    let conn = file::in_memory().map_err(|broken| fault(&broken))?;
    let kept = Kept::Memory;
    Ok(Book { conn, kept })
}

/// Tells of the messages that may have an id, or that may have or name it, in the order of folders and keys. None of them is
/// kept here: there may be as many as there is mail.
pub(super) fn look(
    conn: &Connection,
    id: &HeaderId,
    role: Role,
    mut tell: impl FnMut(Hit<'_>) -> Result<Then, Broken>,
) -> Result<(), Broken> {
    let least = match role {
        Role::Own => OWN,
        Role::Any => NAMED,
    };
    let mut statement = conn.prepare_cached(
        "SELECT m.folder, m.key FROM links l JOIN messages m ON m.id = l.message
         WHERE l.hash = ?1 AND l.role >= ?2 ORDER BY m.folder, m.key",
    )?;
    let mut rows = statement.query((hash(id), least))?;
    while let Some(row) = rows.next()? {
        let key = row.get_ref(1)?.as_blob();
        let hit = Hit {
            folder: row.get(0)?,
            key: key.map_err(rusqlite::Error::from)?,
        };
        if tell(hit)? == Then::Enough {
            break;
        }
    }
    Ok(())
}

const NAMED: i64 = 0;
const OWN: i64 = 1;

/// The first octets of a digest. Others may have the same: what is found by it is looked up in the message.
fn hash(id: &HeaderId) -> i64 {
    let digest = Sha256::digest(id.bytes());
    let octets = digest.iter().take(8);
    octets.fold(0i64, |number, octet| {
        number.wrapping_shl(8) | i64::from(*octet)
    })
}

impl Broken {
    fn is_damage(&self) -> bool {
        match self {
            Self::Sql(error) => {
                let code = error.sqlite_error_code();
                matches!(
                    code,
                    Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)
                ) || !matches!(error, rusqlite::Error::SqliteFailure(..))
                    // A table that is missing, or of another shape.
                    || code == Some(ErrorCode::Unknown)
            }
            Self::Foreign => true,
            Self::Io(_) | Self::Elsewhere(_) => false,
        }
    }
}

impl From<rusqlite::Error> for Broken {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}

impl From<io::Error> for Broken {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<Fault> for Broken {
    fn from(fault: Fault) -> Self {
        Self::Elsewhere(fault)
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // The code alone: texts may hold paths.
            Self::Sql(error) => match error.sqlite_error_code() {
                Some(code) => write!(f, "{code:?}"),
                None => f.write_str("unexpected content"),
            },
            Self::Foreign => f.write_str("not an index of this version"),
            Self::Io(error) => write!(f, "{}", error.kind()),
            Self::Elsewhere(fault) => write!(f, "{:?}", fault.kind),
        }
    }
}

fn fault(broken: &Broken) -> Fault {
    match broken {
        Broken::Elsewhere(fault) => return fault.clone(),
        Broken::Io(error) => return unreadable(Stage::Index)(error.kind().into()),
        Broken::Sql(_) | Broken::Foreign => {}
    }
    let said = format!("the index of headers cannot be used: {broken}");
    Fault::saying(FaultKind::Unreadable, Stage::Index, said)
}

impl Progress {
    /// Nothing is done yet, or all of it has to be done again.
    pub(super) fn begin(&self) {
        self.done.store(0, Ordering::Relaxed);
        self.total.store(0, Ordering::Relaxed);
    }

    /// What is done, and of how much.
    pub(super) fn so_far(&self) -> (u64, u64) {
        let done = self.done.load(Ordering::Relaxed);
        (done, self.total.load(Ordering::Relaxed))
    }

    pub(super) fn expect(&self, more: usize) {
        self.total.fetch_add(wide(more), Ordering::Relaxed);
    }

    pub(super) fn did(&self, more: usize) {
        self.done.fetch_add(wide(more), Ordering::Relaxed);
    }
}

fn wide(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
