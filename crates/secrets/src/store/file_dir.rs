//! Secrets as files of a directory, one line in each: `secret://a/b` is the file `a/b`. Nothing is encrypted here.

use std::path::{Path, PathBuf};

use secrecy::SecretString;

use super::place::{self, Place, Readers};
use super::{NoSecret, text};
use crate::SecretRef;

/// A directory of plain files.
#[derive(PartialEq, Eq, Debug)]
pub struct FileDir {
    path: PathBuf,
}

impl FileDir {
    /// It is looked at when a secret is asked for.
    pub fn new(path: PathBuf) -> Self {
        Self { path }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn read(&self, wanted: &SecretRef) -> Result<SecretString, NoSecret> {
        let place = Place::open(&self.path)?;
        let names = names(wanted);
        let path = place.path(&names);
        let file = place.file(&names, Readers::Nobody)?;
        secret_of(file.ok_or_else(|| place::missing(&path))?, &path)
    }

    pub(super) fn write(&self, which: &SecretRef, secret: &SecretString) -> Result<(), NoSecret> {
        let line = text::line_of(secret)?;
        Place::open(&self.path)?.replace(&names(which), &line)
    }

    pub(super) fn writable(&self, which: &SecretRef) -> Result<(), NoSecret> {
        Place::open(&self.path)?.replaceable(&names(which))
    }
}

/// The secret in a file that stands alone, by its whole path. It has to be as private as one in a store.
pub fn read_file(path: &Path) -> Result<SecretString, NoSecret> {
    secret_of(place::file(path, Readers::Nobody)?, path)
}

fn names(reference: &SecretRef) -> Vec<&str> {
    reference.names().iter().map(String::as_str).collect()
}

fn secret_of(file: std::fs::File, path: &Path) -> Result<SecretString, NoSecret> {
    let shown = path.display().to_string();
    let bytes = text::all_of(file).map_err(|error| {
        NoSecret::new(
            format!("the file {shown} cannot be read: {}", error.kind()),
            "look whether its disk is well",
        )
    })?;
    text::whole(&bytes.ok_or_else(|| text::too_large(&shown))?, &shown)
}
