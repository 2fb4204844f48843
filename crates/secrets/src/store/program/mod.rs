//! Other programs that are asked for secrets: found, started without a shell, bounded in time and output, ended with all they started.
//!
//! What they say on stderr is never shown: it may hold anything.

#[cfg(any(not(unix), test))]
mod elsewhere;
#[cfg(unix)]
mod living;
#[cfg(unix)]
mod unix;

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;

#[cfg(not(unix))]
use elsewhere::run;
#[cfg(unix)]
pub use living::end_programs;
#[cfg(unix)]
use unix::run;

use super::NoSecret;
use super::text::Wiped;

/// As long as a program may take, with all that it asks a person.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// A program that is there, under the name that it was asked for by.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Program {
    path: PathBuf,
    name: String,
    patience: Duration,
}

/// What a program is given to read.
#[derive(Debug)]
pub(super) enum Input<'a> {
    Nothing,
    File(File),
    /// Over a pipe. Never an argument: everybody sees those.
    Secret(&'a [u8]),
}

/// What becomes of its stderr.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stderr {
    Discarded,
    /// To be looked at, not to be shown.
    Kept,
}

/// A program that came to its end by itself.
#[derive(Debug)]
pub(super) struct Ended {
    pub status: ExitStatus,
    pub stdout: Wiped,
    pub stderr: Wiped,
}

/// Why it did not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Failed {
    NotStarted(io::ErrorKind),
    TimedOut,
    TooMuch,
    /// It ended well, but did not read all that it was given.
    Unread,
    Lost(io::ErrorKind),
}

impl Program {
    /// A whole path, or a name that is looked for in `search`, the value of `PATH`.
    pub(super) fn find(name: &str, search: Option<&OsStr>) -> Result<Self, NoSecret> {
        let asked = Path::new(name);
        let path = match asked.components().count() {
            _ if asked.is_absolute() => is_program(asked).then(|| asked.to_owned()),
            1 if !name.contains(std::path::is_separator) => {
                let places = search.into_iter().flat_map(std::env::split_paths);
                // An empty place is the current directory, which anybody may have chosen.
                let whole = places.filter(|place| place.is_absolute());
                let mut paths = whole.flat_map(|place| candidates(&place, name));
                paths.find(|path| is_program(path))
            }
            _ => {
                return Err(NoSecret::new(
                    "this program is named by a path that does not begin at the root",
                    "write the whole path, or a name alone, which is looked for in PATH",
                ));
            }
        };
        // Only the last part: a whole path could be anything that was written there by mistake.
        let name = asked.file_name().unwrap_or_default().to_string_lossy();
        let path = path.ok_or_else(|| {
            NoSecret::new(
                match asked.is_absolute() {
                    true => "there is no such program: nothing that can be run has this path",
                    false => {
                        "there is no such program: nothing in PATH that can be run has this name"
                    }
                },
                "install it, or write its whole path",
            )
        })?;
        Ok(Self {
            path,
            name: name.into_owned(),
            patience: PATIENCE,
        })
    }

    /// What it is called in messages.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Runs it to its end, however it ends.
    pub(super) fn run(
        &self,
        words: &[impl AsRef<OsStr>],
        input: Input<'_>,
        stderr: Stderr,
    ) -> Result<Ended, NoSecret> {
        let words: Vec<&OsStr> = words.iter().map(AsRef::as_ref).collect();
        run(&self.path, &words, input, stderr, self.patience).map_err(|failed| self.told(failed))
    }

    fn told(&self, failed: Failed) -> NoSecret {
        let name = &self.name;
        match failed {
            Failed::NotStarted(kind) => NoSecret::new(
                format!("{name} could not be started: {kind}"),
                "see whether the user that runs this program may run it",
            ),
            Failed::TimedOut => NoSecret::timed_out(
                format!(
                    "{name} took more than {} seconds and was ended",
                    self.patience.as_secs()
                ),
                "run it by hand and see what it waits for: a locked store has to be unlocked before",
            ),
            Failed::TooMuch => NoSecret::new(
                format!("{name} printed more than 64 kB"),
                "a secret is one line; let it print nothing else",
            ),
            Failed::Unread => NoSecret::new(
                format!("{name} ended without reading the secret that it was given to keep"),
                "let it read the secret from its standard input",
            ),
            Failed::Lost(kind) => NoSecret::new(
                format!("what {name} printed could not be read: {kind}"),
                "try again",
            ),
        }
    }

    /// Tests do not wait as long as people do.
    #[cfg(test)]
    pub(super) fn within(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }
}

/// How it ended, for a message.
pub(super) fn how(status: ExitStatus) -> String {
    match status.code() {
        Some(code) => format!("ended with status {code}"),
        None => "was ended by a signal".to_owned(),
    }
}

/// Variables of ours that are set. Other programs are given none of them: secrets stand there.
pub fn own_variables() -> impl Iterator<Item = OsString> {
    let names = std::env::vars_os().map(|(name, _)| name);
    names.filter(|name| is_ours(name))
}

fn is_ours(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    let ours = [
        "MAIL_IMAP_",
        "MAIL_MAILDIR_",
        "MAIL_APPLE_",
        "MAILWARDEN_",
        "IMAP_MCP_",
    ];
    ours.iter().any(|ours| name.starts_with(ours))
}

/// Programs are not followed here: each is ended by whoever waits for it.
#[cfg(not(unix))]
pub fn end_programs() {}

#[cfg(unix)]
fn candidates(place: &Path, name: &str) -> [PathBuf; 1] {
    [place.join(name)]
}

#[cfg(unix)]
fn is_program(path: &Path) -> bool {
    use rustix::fs::{Access, AtFlags, CWD, accessat};
    path.is_file() && accessat(CWD, path, Access::EXEC_OK, AtFlags::EACCESS).is_ok()
}

#[cfg(not(unix))]
fn candidates(place: &Path, name: &str) -> [PathBuf; 2] {
    [place.join(format!("{name}.exe")), place.join(name)]
}

#[cfg(not(unix))]
fn is_program(path: &Path) -> bool {
    path.is_file()
}

#[cfg(unix)]
#[cfg(test)]
mod tests;
