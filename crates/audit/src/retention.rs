//! How long days are kept: plain at first, then compressed, then no more. Each step is recorded.

use std::fs::{self, File};
use std::io::{self, Read, Write as _};
use std::path::Path;

use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use sha2::{Digest as _, Sha256};

use crate::event::Event;
use crate::line::Line;
use crate::status::Unavailable;
use crate::{Day, DayFile, Form, Hash, files};

/// Days count from the day in a file's name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Retention {
    /// Days that stay plain.
    pub hot_days: u32,
    /// Days after those that are kept compressed.
    pub warm_days: u32,
    /// The age at which a day is deleted; never before the warm days are over.
    pub delete_after_days: u32,
}

impl Default for Retention {
    fn default() -> Self {
        Self {
            hot_days: 90,
            warm_days: 275,
            delete_after_days: 365,
        }
    }
}

/// After so many days without a record, nothing is deleted on the first day that has one.
const LONG_GAP: i64 = 31;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step {
    Keep,
    Compress,
    Delete,
}

impl Retention {
    fn step(&self, file: &DayFile, today: Day) -> Step {
        let age = today.since(file.day);
        let hot = i64::from(self.hot_days);
        let all = (hot + i64::from(self.warm_days)).max(i64::from(self.delete_after_days));
        match file.form {
            _ if age > all => Step::Delete,
            Form::Plain if age > hot => Step::Compress,
            _ => Step::Keep,
        }
    }

    /// Does what is due. What cannot be done is recorded, and tried again the next time; what cannot be recorded is not
    /// done.
    pub(crate) fn run(
        &self,
        dir: &Path,
        files: &[DayFile],
        record: &dyn Fn(Event) -> Result<(), Unavailable>,
    ) -> Result<(), Unavailable> {
        // INVARIANT: the newest file is where the chain ends; it stays. Its day is today, whatever a clock says.
        let Some((newest, older)) = files.split_last() else {
            return Ok(());
        };
        let today = newest.day;
        // A clock that has leapt makes everything look old. Unless it is wrong for a whole day, that costs nothing.
        let leapt = older
            .last()
            .is_none_or(|before| today.since(before.day) > LONG_GAP);
        for file in older.iter().filter(|file| !files::is_empty(file)) {
            let step = match (self.step(file, today), file.form) {
                (Step::Delete, Form::Plain) if leapt => Step::Compress,
                (Step::Delete, Form::Gzip) if leapt => Step::Keep,
                (step, _) => step,
            };
            match take(step, dir, file, record) {
                Ok(()) => {}
                Err(Hindrance::Log(why)) => return Err(why),
                Err(Hindrance::Disk(error)) => {
                    let why = Unavailable::from(&error).to_string();
                    let name = file.path.file_name().unwrap_or_default();
                    tracing::warn!(file = %name.to_string_lossy(), why, "a day of the audit log cannot be aged");
                    record(Event::retention_failed(file.day, &why))?;
                    // A day that must stay keeps those behind it: days are deleted in their order.
                    return Ok(());
                }
            }
        }
        Ok(())
    }
}

/// Why a step was not taken.
enum Hindrance {
    Disk(io::Error),
    Log(Unavailable),
}

impl From<io::Error> for Hindrance {
    fn from(error: io::Error) -> Self {
        Self::Disk(error)
    }
}

impl From<Unavailable> for Hindrance {
    fn from(why: Unavailable) -> Self {
        Self::Log(why)
    }
}

/// INVARIANT: what is gone is recorded before it is gone. A deletion that nobody can explain looks like tampering.
fn take(
    step: Step,
    dir: &Path,
    file: &DayFile,
    record: &dyn Fn(Event) -> Result<(), Unavailable>,
) -> Result<(), Hindrance> {
    match step {
        Step::Keep => {}
        Step::Compress => {
            let (bytes, sha256) = compress(dir, file)?;
            record(Event::compressed(file.day, bytes, &sha256))?;
            remove(&file.path)?;
            files::sync_dir(dir)?;
        }
        Step::Delete => {
            let (seq, hash) = last_record(file)?;
            record(Event::deleted(file.day, seq, &hash))?;
            delete(dir, file)?;
        }
    }
    Ok(())
}

/// Puts a compressed day beside the plain one, after reading it back.
fn compress(dir: &Path, file: &DayFile) -> io::Result<(u64, Hash)> {
    let packed = tempfile::Builder::new()
        .prefix(files::COMPRESSING)
        .tempfile_in(dir)?;
    let mut plain = File::open(&file.path)?;
    let mut encoder = GzEncoder::new(io::BufWriter::new(packed.as_file()), Compression::default());
    let (bytes, sha256) = copy(&mut plain, |chunk| encoder.write_all(chunk))?;
    encoder.finish()?.flush()?;
    packed.as_file().sync_all()?;
    let (_, read_back) = copy(&mut MultiGzDecoder::new(File::open(packed.path())?), |_| {
        Ok(())
    })?;
    if read_back != sha256 {
        return Err(io::Error::other("the compressed day reads otherwise"));
    }
    files::seal(packed.as_file())?;
    packed
        .persist(file.day.gzip(dir))
        .map_err(|error| error.error)?;
    files::sync_dir(dir)?;
    Ok((bytes, sha256))
}

fn copy(
    from: &mut impl Read,
    mut to: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<(u64, Hash)> {
    let mut chunk = vec![0u8; 64 * 1024];
    let mut hash = Sha256::new();
    let mut bytes = 0;
    loop {
        let read = from.read(&mut chunk)?;
        let Some(part @ [_, ..]) = chunk.get(..read) else {
            return Ok((bytes, Hash::from_bytes(hash.finalize().into())));
        };
        hash.update(part);
        to(part)?;
        bytes += u64::try_from(read).unwrap_or(u64::MAX);
    }
}

fn delete(dir: &Path, file: &DayFile) -> io::Result<()> {
    // A day may be there in both forms when the process was killed between the two steps of compressing.
    for path in [
        file.day.file(dir),
        file.day.gzip(dir),
        file.day.checkpoint(dir),
    ] {
        remove(&path)?;
    }
    files::delete_set_aside(dir, file.day)?;
    files::sync_dir(dir)
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Number and hash of a day's last record. Only the last line has to stay in memory.
fn last_record(file: &DayFile) -> io::Result<(u64, Hash)> {
    let opened = File::open(&file.path)?;
    let mut tail = Vec::new();
    let mut keep = |chunk: &[u8]| {
        tail.extend_from_slice(chunk);
        // The line before the last one ends the part that matters.
        let body = tail.strip_suffix(b"\n").unwrap_or(&tail);
        if let Some(at) = memchr::memrchr(b'\n', body) {
            tail.drain(..=at);
        }
        Ok(())
    };
    match file.form {
        Form::Plain => copy(&mut { opened }, &mut keep)?,
        Form::Gzip => copy(&mut MultiGzDecoder::new(opened), &mut keep)?,
    };
    let text = tail.strip_suffix(b"\n").unwrap_or(&tail);
    let line = Line::parse(text)
        .map_err(|_| io::Error::other("the day does not end with a record; please look at it"))?;
    Ok((line.seq, line.hash))
}
