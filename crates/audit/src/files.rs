//! What the log asks of the file system: private files, whole files, files that are still where they were.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;
use std::time::Duration;

use crate::{Day, DayFile, Form, day};
#[cfg(unix)]
use crate::{book, keeper, keys};

/// A new file that only its owner may read.
pub(crate) fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    options
}

pub(crate) fn create_private_dir(dir: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt as _;
        builder.mode(0o700);
    }
    builder.recursive(true).create(dir)?;
    #[cfg(unix)]
    make_private(dir);
    Ok(())
}

/// Takes the rights of others away from a directory that was there before. A directory of another
/// user, or with other
/// files than those of a log, keeps its mode, and the log reports it.
#[cfg(unix)]
fn make_private(dir: &Path) {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    let Ok(about) = fs::metadata(dir) else { return };
    if about.mode() & 0o077 == 0 {
        return;
    }
    let is_ours = about.uid() == rustix::process::geteuid().as_raw();
    let private = fs::Permissions::from_mode(0o700);
    let mode = format!("{:04o}", about.mode() & 0o7777);
    let dir_shown = dir.display();
    if !holds_only_a_log(dir) {
        tracing::warn!(
            dir = %dir_shown,
            mode,
            "the audit directory is open to other users and also holds other files, so its mode was left; \
             give the log a directory of its own, with mode 0700"
        );
    } else if is_ours && fs::set_permissions(dir, private).is_ok() {
        tracing::warn!(dir = %dir_shown, mode, "the audit directory was open to other users; its mode is 0700 now");
    } else {
        tracing::warn!(dir = %dir_shown, mode, "the audit directory is open to other users; set its mode to 0700");
    }
}

/// Whether a directory is empty, or each entry is a file that a log writes. False where the
/// directory cannot be read.
#[cfg(unix)]
fn holds_only_a_log(dir: &Path) -> bool {
    let is_of_a_log = |entry: io::Result<fs::DirEntry>| {
        entry.is_ok_and(|entry| {
            let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
            is_file && entry.file_name().to_str().is_some_and(is_name_in_a_log)
        })
    };
    fs::read_dir(dir).is_ok_and(|mut entries| entries.all(is_of_a_log))
}

/// Whether a log gives this name to a file.
#[cfg(unix)]
fn is_name_in_a_log(name: &str) -> bool {
    const NAMES: [&str; 7] = [
        book::LOCK,
        book::CHECKPOINT,
        keeper::LOCK,
        keeper::SENT,
        keys::SIGNING,
        keys::DIGEST,
        keys::PUBLIC,
    ];
    let is_temporary = name.starts_with(NEW) || name.starts_with(COMPRESSING);
    NAMES.contains(&name) || is_temporary || day::is_file_of_a_day(name)
}

/// Whether a path still leads to an open file.
#[cfg(unix)]
pub(crate) fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let identity = |metadata: fs::Metadata| (metadata.dev(), metadata.ino());
    match (file.metadata(), fs::metadata(path)) {
        (Ok(open), Ok(there)) => identity(open) == identity(there),
        _ => false,
    }
}

/// Elsewhere open files cannot be taken away.
#[cfg(not(unix))]
pub(crate) fn is_at(_: &File, path: &Path) -> bool {
    path.exists()
}

/// From now on nobody writes to it.
pub(crate) fn seal(file: &File) -> io::Result<()> {
    let mut permissions = file.metadata()?.permissions();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        permissions.set_mode(0o400);
    }
    #[cfg(not(unix))]
    permissions.set_readonly(true);
    file.set_permissions(permissions)
}

/// Names in a directory are durable once the directory is.
pub(crate) fn sync_dir(dir: &Path) -> io::Result<()> {
    #[cfg(unix)]
    File::open(dir)?.sync_all()?;
    Ok(())
}

/// What files are called before they are whole.
const NEW: &str = ".new-";
pub(crate) const COMPRESSING: &str = ".compressing-";
/// A file that is still new after so long has lost its process.
const FORSAKEN: Duration = Duration::from_secs(3_600);

/// Removes what killed processes left half-way. Only the keeper compresses, so only it knows that nobody does; other new
/// files may be somebody's.
pub(crate) fn sweep(dir: &Path) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let begins = |prefix: &str| name.as_encoded_bytes().starts_with(prefix.as_bytes());
        let age = || entry.metadata().ok()?.modified().ok()?.elapsed().ok();
        if begins(COMPRESSING) || (begins(NEW) && age() > Some(FORSAKEN)) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// A file that gets its name when it is whole.
pub(crate) fn new_file(dir: &Path) -> io::Result<tempfile::NamedTempFile> {
    tempfile::Builder::new().prefix(NEW).tempfile_in(dir)
}

/// A file with these bytes on disk, which only wants its name.
pub(crate) fn whole(dir: &Path, bytes: &[u8]) -> io::Result<tempfile::NamedTempFile> {
    let mut file = new_file(dir)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    Ok(file)
}

/// Puts a whole file in the place of another.
pub(crate) fn replace(dir: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
    whole(dir, bytes)?
        .persist(path)
        .map_err(|error| error.error)?;
    sync_dir(dir)
}

/// What is behind the day in the name of what was set aside; a number follows.
pub(crate) const TORN: &str = "torn-";
/// What was set aside has this behind its name until a record tells of it.
pub(crate) const UNSAID: &str = ".unsaid";

/// Keeps bytes that are no record, under the first free name.
pub(crate) fn set_aside(dir: &Path, day: Day, bytes: &[u8]) -> io::Result<()> {
    let file = whole(dir, bytes)?;
    seal(file.as_file())?;
    let free = (1u32..)
        .map(|number| format!("{day}.{TORN}{number}"))
        .find(|name| !dir.join(name).exists() && !dir.join(format!("{name}{UNSAID}")).exists())
        .ok_or_else(|| io::Error::other("no name is left for what was torn"))?;
    file.persist(dir.join(format!("{free}{UNSAID}")))
        .map_err(|error| error.error)?;
    sync_dir(dir)
}

/// A day's file without a record was left by a process that was killed, or put there by somebody: it says nothing.
pub(crate) fn is_empty(file: &DayFile) -> bool {
    let empty = || fs::metadata(&file.path).is_ok_and(|data| data.len() == 0);
    file.form == Form::Plain && empty()
}

/// Removes such files, except that of the day that is about to be opened.
pub(crate) fn remove_empty_days(dir: &Path, except: Day) -> io::Result<()> {
    for file in day::days(dir)? {
        if file.day != except && is_empty(&file) {
            fs::remove_file(&file.path)?;
        }
    }
    Ok(())
}

/// What was set aside is kept no longer than its day.
pub(crate) fn delete_set_aside(dir: &Path, day: Day) -> io::Result<()> {
    let prefix = format!("{day}.{TORN}");
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let name = entry.file_name();
        if name.as_encoded_bytes().starts_with(prefix.as_bytes()) {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// What was set aside and is not told yet: the names it will have, and the bytes.
pub(crate) fn unsaid(dir: &Path) -> io::Result<Vec<(String, Vec<u8>)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let name = entry.file_name();
        if let Some(name) = name.to_str().and_then(|name| name.strip_suffix(UNSAID)) {
            found.push((name.to_owned(), fs::read(entry.path())?));
        }
    }
    found.sort();
    Ok(found)
}

/// A record tells of it now. If this fails, another record will tell of it once more.
pub(crate) fn said(dir: &Path, name: &str) {
    let _ = fs::rename(dir.join(format!("{name}{UNSAID}")), dir.join(name));
}

/// A file that processes lock.
pub(crate) fn lock(dir: &Path, name: &str) -> io::Result<File> {
    private()
        .create(true)
        .truncate(false)
        .write(true)
        .open(dir.join(name))
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    /// The mode of a directory that was there with mode 0755 and these files.
    fn mode_with(names: &[&str]) -> u32 {
        let above = tempfile::tempdir().unwrap();
        let dir = above.path().join("audit");
        fs::create_dir(&dir).unwrap();
        fs::set_permissions(&dir, fs::Permissions::from_mode(0o755)).unwrap();
        for name in names {
            match name.strip_suffix('/') {
                Some(name) => fs::create_dir(dir.join(name)).unwrap(),
                None => fs::write(dir.join(name), "").unwrap(),
            }
        }
        create_private_dir(&dir).unwrap();
        fs::metadata(&dir).unwrap().permissions().mode() & 0o7777
    }

    #[test]
    fn directory_of_a_log_becomes_private() {
        let files = [
            "2026-11-15.jsonl",
            "2026-08-01.jsonl.gz",
            "2026-11-14.checkpoint",
            "2026-11-14.torn-1",
            "2026-11-15.torn-12.unsaid",
            "checkpoint",
            "log.pub",
            "signing.key",
            "digest.key",
            "lock",
            "keeper.lock",
            "root-sent",
            ".new-Ab12",
            ".compressing-Ab12",
        ];
        assert_eq!(mode_with(&files), 0o700);
        assert_eq!(mode_with(&[]), 0o700);
    }

    #[test]
    fn directory_with_other_files_keeps_its_mode() {
        for other in [
            "syslog",
            ".bashrc",
            "2026-11-15.log",
            "2026-11-15",
            "2026-11-15.torn-",
            "2026-11-15.torn-x",
            "mail/",
            "checkpoint/",
        ] {
            assert_eq!(mode_with(&[other]), 0o755, "{other}");
            assert_eq!(mode_with(&["lock", other]), 0o755, "{other}");
        }
    }
}
