//! Where secrets are kept: one store for an installation, of one of several kinds.

mod command;
mod file_dir;
mod gpg_file;
mod keyring;
mod place;
mod program;
mod text;
mod variables;

use secrecy::SecretString;

pub use command::{Command, CommandLine};
pub use file_dir::{FileDir, read_file};
pub use gpg_file::GpgFile;
pub use keyring::Keyring;
pub(crate) use program::PATIENCE as PROGRAM;
pub use program::{end_programs, own_variables};
pub use variables::Variables;

use crate::SecretRef;

/// A place that `secret://` references lead to.
#[derive(Debug)]
pub enum Store {
    /// None is configured.
    None,
    FileDir(FileDir),
    EnvVar(Variables),
    GpgFile(GpgFile),
    Keyring(Keyring),
    Command(Command),
}

/// Why there is no secret, or why it could not be kept, and what to do. INVARIANT: no part of a secret is in it.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{what}; {hint}")]
pub struct NoSecret {
    pub what: String,
    pub hint: String,
    why: Why,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Why {
    /// The store is in order, as far as can be told, and has no such secret.
    Absent,
    /// It may have none, or be out of order: programs say no more than that they failed.
    Unclear,
    /// Somebody was waited for in vain.
    TimedOut,
    Other,
}

impl NoSecret {
    pub fn new(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            hint: hint.into(),
            why: Why::Other,
        }
    }

    pub(crate) fn timed_out(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            why: Why::TimedOut,
            ..Self::new(what, hint)
        }
    }

    pub(crate) fn absent(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            why: Why::Absent,
            ..Self::new(what, hint)
        }
    }

    fn unclear(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            why: Why::Unclear,
            ..Self::new(what, hint)
        }
    }

    /// Nobody has put it there yet.
    pub(crate) fn is_absent(&self) -> bool {
        self.why == Why::Absent
    }

    /// Perhaps nobody has put it there yet.
    pub(crate) fn may_be_absent(&self) -> bool {
        matches!(self.why, Why::Absent | Why::Unclear)
    }

    /// Whoever asks for another secret would probably wait as long again.
    pub fn is_timeout(&self) -> bool {
        self.why == Why::TimedOut
    }
}

impl Store {
    /// May run a program and wait for it: not for an async thread.
    pub fn read(&self, wanted: &SecretRef) -> Result<SecretString, NoSecret> {
        match self {
            Self::None => Err(no_store()),
            Self::FileDir(files) => files.read(wanted),
            Self::EnvVar(variables) => variables.read(wanted),
            Self::GpgFile(files) => files.read(wanted),
            Self::Keyring(keyring) => keyring.read(wanted),
            Self::Command(command) => command.read(wanted),
        }
    }

    /// Replaces a secret, wholly or not at all; it is on disk when this returns, as far as that is ours to say.
    pub fn write(&self, which: &SecretRef, secret: &SecretString) -> Result<(), NoSecret> {
        match self {
            Self::None => Err(no_store()),
            Self::FileDir(files) => files.write(which, secret),
            Self::EnvVar(_) => Err(variables::read_only()),
            Self::GpgFile(files) => files.write(which, secret),
            Self::Keyring(keyring) => keyring.write(which, secret),
            Self::Command(command) => command.write(which, secret),
        }
    }

    /// Whether a secret could be kept here; changes nothing.
    pub fn writable(&self, which: &SecretRef) -> Result<(), NoSecret> {
        match self {
            Self::None => Err(no_store()),
            Self::FileDir(files) => files.writable(which),
            Self::EnvVar(_) => Err(variables::read_only()),
            Self::GpgFile(files) => files.writable(which),
            Self::Keyring(_) => Ok(()),
            Self::Command(command) => command.writable(),
        }
    }

    /// Whether the other leads to the same secrets.
    pub fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::None, Self::None) => true,
            (Self::FileDir(one), Self::FileDir(other)) => one == other,
            (Self::EnvVar(one), Self::EnvVar(other)) => one.is_same(other),
            (Self::GpgFile(one), Self::GpgFile(other)) => one == other,
            (Self::Keyring(one), Self::Keyring(other)) => one == other,
            (Self::Command(one), Self::Command(other)) => one == other,
            _ => false,
        }
    }

    /// Whether asking it runs a program, which may ask a person.
    pub fn runs_programs(&self) -> bool {
        match self {
            Self::None | Self::FileDir(_) | Self::EnvVar(_) => false,
            Self::GpgFile(_) | Self::Keyring(_) | Self::Command(_) => true,
        }
    }

    /// Whether nothing could ever be kept here, as it is configured.
    pub fn is_read_only(&self) -> bool {
        match self {
            Self::None | Self::EnvVar(_) => true,
            Self::FileDir(_) | Self::Keyring(_) => false,
            Self::GpgFile(files) => files.is_read_only(),
            Self::Command(command) => command.writable().is_err(),
        }
    }

    /// Tells it from other stores, without a secret.
    pub(crate) fn place(&self) -> String {
        match self {
            Self::None => "none".to_owned(),
            Self::FileDir(files) => format!("file_dir {}", files.path().display()),
            Self::EnvVar(_) => "env_var".to_owned(),
            Self::GpgFile(files) => format!("gpg_file {}", files.path().display()),
            Self::Keyring(_) => "keyring".to_owned(),
            Self::Command(command) => format!("command {}", command.words().join("\0")),
        }
    }

    /// Whether another process of the same user, with another environment or in another session, may find other secrets here.
    pub fn is_of_this_environment(&self) -> bool {
        match self {
            Self::None | Self::FileDir(_) => false,
            Self::EnvVar(_) | Self::GpgFile(_) | Self::Keyring(_) | Self::Command(_) => true,
        }
    }
}

fn no_store() -> NoSecret {
    NoSecret::new(
        "there is no secret_store that this could lead to",
        "add a secret_store to accounts.yaml, such as { backend: file_dir, path: /etc/mailwarden/secrets }",
    )
}

#[cfg(test)]
mod tests;
