//! The little that survives a restart: the key that seals cursors, made once per installation, and the places of the audit
//! log and the ledger.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use gateway::CursorKey;

const FILE: &str = "cursor.key";

/// The installation's key; one for this process alone when there is nowhere to keep it.
pub(crate) fn cursor_key() -> anyhow::Result<CursorKey> {
    let kept = directory()
        .ok_or_else(|| io::Error::other("no home directory"))
        .and_then(|dir| kept(&dir));
    match kept {
        Ok(key) => Ok(CursorKey::new(key)),
        Err(error) => {
            tracing::warn!(%error, "no state directory: cursors will not outlive this process");
            Ok(CursorKey::new(fresh()?))
        }
    }
}

/// Where changes to mail are written down, when no configuration directory says otherwise.
pub(crate) fn ledger() -> Option<PathBuf> {
    directory().map(|state| state.join("ledger.db"))
}

/// Where the audit log is, when nothing else is said.
pub(crate) fn audit_directory() -> Option<PathBuf> {
    directory().map(|state| state.join("audit"))
}

/// Where local stores keep what they know of Message-IDs. It can be made anew at any time.
pub(crate) fn index_directory() -> Option<PathBuf> {
    directory().map(|state| state.join("index"))
}

/// Where messages become files, for those who want a path.
pub(crate) fn spool_directory() -> Option<PathBuf> {
    directory().map(|state| state.join("messages"))
}

/// Where is kept what is known of tokens between two starts.
pub(crate) fn oauth_directory() -> Option<PathBuf> {
    directory().map(|state| state.join("oauth"))
}

pub(crate) fn directory() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    if let Some(given) = set("MAILWARDEN_STATE_DIR") {
        return Some(PathBuf::from(given));
    }
    if let Some(state) = set("XDG_STATE_HOME") {
        return Some(PathBuf::from(state).join("mailwarden"));
    }
    set("HOME").map(|home| PathBuf::from(home).join(".local/state/mailwarden"))
}

fn fresh() -> io::Result<[u8; 32]> {
    let mut key = [0u8; 32];
    getrandom::fill(&mut key).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(key)
}

/// Reads the key, or makes it. Two processes that start at once end up with the same one.
fn kept(dir: &Path) -> io::Result<[u8; 32]> {
    let path = dir.join(FILE);
    if let Some(key) = read(&path)? {
        return Ok(key);
    }
    create_private_dir(dir)?;
    let key = fresh()?;
    let mut file = tempfile::NamedTempFile::new_in(dir)?;
    file.write_all(&key)?;
    file.as_file().sync_all()?;
    match file.persist_noclobber(&path) {
        Ok(_) => Ok(key),
        Err(_) => read(&path)?.ok_or_else(|| io::Error::other("the cursor key is damaged")),
    }
}

fn read(path: &Path) -> io::Result<Option<[u8; 32]>> {
    match fs::read(path) {
        Ok(bytes) => match <[u8; 32]>::try_from(bytes.as_slice()) {
            Ok(key) => Ok(Some(key)),
            Err(_) => Err(io::Error::other(
                "the cursor key is damaged; remove it to get a new one",
            )),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(unix)]
pub(crate) fn create_private_dir(dir: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(dir)
}

#[cfg(not(unix))]
pub(crate) fn create_private_dir(dir: &Path) -> io::Result<()> {
    fs::create_dir_all(dir)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_is_made_once_and_is_private() {
        let dir = tempfile::tempdir().unwrap();
        let state = dir.path().join("state");
        let key = kept(&state).unwrap();
        assert_eq!(kept(&state).unwrap(), key);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = fs::metadata(state.join(FILE)).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
    }

    #[test]
    fn a_damaged_key_is_not_used() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join(FILE), b"short").unwrap();
        assert!(kept(dir.path()).is_err());
    }
}
