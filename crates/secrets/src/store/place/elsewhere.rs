//! The same where files have no owner and no mode that we know of: links are followed, and must end inside.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use super::{Readers, irregular, leads_out, no_store, unreadable, unwritable};
use crate::store::NoSecret;

/// A directory.
#[derive(Debug)]
pub(in crate::store) struct Place {
    named: PathBuf,
    real: PathBuf,
}

impl Place {
    pub(in crate::store) fn open(named: &Path) -> Result<Self, NoSecret> {
        let real = fs::canonicalize(named).map_err(|error| no_store(named, &error))?;
        Ok(Self {
            named: named.to_owned(),
            real,
        })
    }

    /// `None`: there is none.
    pub(in crate::store) fn file(
        &self,
        names: &[&str],
        _: Readers,
    ) -> Result<Option<File>, NoSecret> {
        let path = self.path(names);
        let Some(real) = self.inside(&path)? else {
            return Ok(None);
        };
        let open = File::open(real).map_err(|error| unreadable(&path, &error))?;
        Ok(Some(open))
    }

    pub(in crate::store) fn replaceable(&self, names: &[&str]) -> Result<(), NoSecret> {
        self.inside(&self.path(names)).map(|_| ())
    }

    pub(in crate::store) fn replace(&self, names: &[&str], bytes: &[u8]) -> Result<(), NoSecret> {
        let path = self.path(names);
        let failed = |error: io::Error| unwritable(&path, &error);
        let target = self.inside(&path)?.unwrap_or_else(|| path.clone());
        let above = target.parent().unwrap_or(&self.real);
        fs::create_dir_all(above).map_err(failed)?;
        if !fs::canonicalize(above)
            .map_err(failed)?
            .starts_with(&self.real)
        {
            return Err(leads_out(&path));
        }
        let mut random = [0; 8];
        getrandom::fill(&mut random).map_err(|error| failed(io::Error::other(error)))?;
        let new = above.join(format!(".{:016x}.new", u64::from_ne_bytes(random)));
        let written = write(&new, bytes).and_then(|()| fs::rename(&new, &target));
        written.map_err(|error| {
            let _ = fs::remove_file(&new);
            failed(error)
        })
    }

    pub(in crate::store) fn path(&self, names: &[&str]) -> PathBuf {
        self.named.join(names.iter().collect::<PathBuf>())
    }

    /// The file without links, if there is one.
    fn inside(&self, path: &Path) -> Result<Option<PathBuf>, NoSecret> {
        let real = match fs::canonicalize(path) {
            Ok(real) => real,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(unreadable(path, &error)),
        };
        match real.is_file() {
            _ if !real.starts_with(&self.real) => Err(leads_out(path)),
            true => Ok(Some(real)),
            false => Err(irregular(path)),
        }
    }
}

fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::create_new(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}
