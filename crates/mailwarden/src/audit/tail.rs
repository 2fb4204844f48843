//! `audit tail`: the newest records, and those that are being written.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use audit::read::{Days, MOST, Piece, Read};
use audit::{DayFile, Form, Line};

use super::logs::{Log, Logs};
use super::page::Page;
use super::record::{self, Unread};
use super::span::Span;

/// How often is looked for more.
const PAUSE: Duration = Duration::from_millis(200);
const BLOCK: usize = 1 << 16;

pub(super) fn run(logs: &Logs, count: usize, page: &mut Page) -> anyhow::Result<ExitCode> {
    let mut unread = Unread::default();
    let mut found = Vec::new();
    for log in logs.all() {
        found.push((log, newest(&files(&log.dir)?, count)?));
    }
    for (log, line) in last_of_all(found, count) {
        if !record::print(&line, logs.label(log), page)? {
            unread.line();
        }
    }
    page.flush()?;
    Ok(unread.complain())
}

/// Goes on until it is ended, or nobody reads. Logs that begin meanwhile are not looked for.
pub(super) fn follow(logs: &Logs, count: usize, page: &mut Page) -> anyhow::Result<ExitCode> {
    // Where to go on is fixed first: what is written meanwhile comes later, and nothing comes twice.
    let mut followed = Vec::new();
    let mut found = Vec::new();
    for log in logs.all() {
        let files = files(&log.dir)?;
        if let Some(file) = files.last() {
            let at = Follow::end_of(file)?;
            found.push((log, before(&files, at.offset, count)?));
            followed.push((log, at));
        }
    }
    for (log, line) in last_of_all(found, count) {
        record::print(&line, logs.label(log), page)?;
    }
    loop {
        page.flush()?;
        let mut rests = true;
        for (log, at) in &mut followed {
            rests &= !at.step(&log.dir, logs.label(log), page)?;
        }
        if rests {
            std::thread::sleep(PAUSE);
        }
    }
}

/// The newest of all logs, by time; each log's own order is kept.
fn last_of_all(found: Vec<(&Log, VecDeque<Vec<u8>>)>, count: usize) -> VecDeque<(&Log, Vec<u8>)> {
    let mut logs = found;
    let mut merged = VecDeque::new();
    let next = |logs: &[(&Log, VecDeque<Vec<u8>>)]| {
        let heads = logs.iter().enumerate();
        // What is no record has no time, and is told of at once.
        let ts = |line: &[u8]| Line::parse(line).map_or(String::new(), |line| line.ts.to_owned());
        let heads = heads.filter_map(|(n, (_, lines))| Some((ts(lines.front()?), n)));
        heads.min().map(|(_, n)| n)
    };
    while let Some((log, lines)) = next(&logs).and_then(|n| logs.get_mut(n)) {
        if let Some(line) = lines.pop_front() {
            merged.push_back((*log, line));
        }
        if merged.len() > count {
            merged.pop_front();
        }
    }
    merged
}

fn files(dir: &Path) -> anyhow::Result<Vec<DayFile>> {
    Ok(Span::new(None, None).days(dir)?.files().to_vec())
}

fn next_day(dir: &Path, current: &DayFile) -> io::Result<Option<DayFile>> {
    let days = audit::days(dir)?;
    Ok(days.into_iter().find(|file| file.day > current.day))
}

/// The newest lines, oldest first.
fn newest(files: &[DayFile], count: usize) -> io::Result<VecDeque<Vec<u8>>> {
    before(files, u64::MAX, count)
}

/// The same, of what stands before a place in the newest file.
fn before(files: &[DayFile], end: u64, count: usize) -> io::Result<VecDeque<Vec<u8>>> {
    let mut found: VecDeque<Vec<u8>> = VecDeque::new();
    let mut end = end;
    for file in files.iter().rev() {
        let missing = count.saturating_sub(found.len());
        if missing == 0 {
            break;
        }
        let mut lines = match file.form {
            Form::Plain => last_of_plain(file, end, missing)?,
            Form::Gzip => last_of(file, missing),
        };
        lines.append(&mut found);
        found = lines;
        end = u64::MAX;
    }
    Ok(found)
}

/// Reads backwards until there are enough line feeds.
fn last_of_plain(file: &DayFile, end: u64, count: usize) -> io::Result<VecDeque<Vec<u8>>> {
    let mut open = File::open(&file.path)?;
    let end = open.metadata()?.len().min(end);
    let (mut from, mut feeds) = (end, 0);
    let mut block = vec![0; BLOCK];
    while from > 0 && feeds <= count {
        let step = from.min(BLOCK as u64);
        from -= step;
        open.seek(SeekFrom::Start(from))?;
        let part = block
            .get_mut(..usize::try_from(step).unwrap_or(BLOCK))
            .unwrap_or_default();
        open.read_exact(part)?;
        feeds += memchr::memchr_iter(b'\n', part).count();
    }
    open.seek(SeekFrom::Start(from))?;
    let mut lines = audit::read::Lines::new(open.take(end - from));
    let mut found = VecDeque::new();
    while lines.advance()? {
        if let Piece::Line(line) = lines.piece() {
            keep(&mut found, line, count);
        }
    }
    Ok(found)
}

fn last_of(file: &DayFile, count: usize) -> VecDeque<Vec<u8>> {
    let mut days = Days::new(vec![file.clone()]);
    let mut found = VecDeque::new();
    while let Some(read) = days.advance() {
        if let Read::Piece(Piece::Line(line)) = read {
            keep(&mut found, line, count);
        }
    }
    found
}

fn keep(found: &mut VecDeque<Vec<u8>>, line: &[u8], count: usize) {
    found.push_back(line.to_vec());
    if found.len() > count {
        found.pop_front();
    }
}

/// A place in a day that is being written.
struct Follow {
    file: DayFile,
    /// Behind the last line feed.
    offset: u64,
}

impl Follow {
    fn begin(file: DayFile) -> Self {
        Self { file, offset: 0 }
    }

    fn end_of(file: &DayFile) -> io::Result<Self> {
        let offset = match file.form {
            Form::Plain => {
                let last = last_feed(&file.path)?;
                last.map_or(0, |at| at + 1)
            }
            // A day that is compressed is not written to.
            Form::Gzip => u64::MAX,
        };
        Ok(Self {
            file: file.clone(),
            offset,
        })
    }

    /// Prints what is new, and goes on to the next day. False when there was nothing.
    fn step(&mut self, dir: &Path, label: Option<&Log>, page: &mut Page) -> io::Result<bool> {
        if self.more(label, page)? {
            return Ok(true);
        }
        let Some(next) = next_day(dir, &self.file)? else {
            return Ok(false);
        };
        // What was still written into the old day comes first.
        while self.more(label, page)? {}
        *self = Self::begin(next);
        Ok(true)
    }

    /// Prints what was written since, as far as it is whole lines. False when there was nothing.
    fn more(&mut self, label: Option<&Log>, page: &mut Page) -> io::Result<bool> {
        if self.file.form == Form::Gzip {
            return Ok(false);
        }
        let mut open = match File::open(&self.file.path) {
            Ok(open) => open,
            // Compressed or deleted, long after it was written.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(error),
        };
        if open.metadata()?.len() <= self.offset {
            return Ok(false);
        }
        open.seek(SeekFrom::Start(self.offset))?;
        let mut block = Vec::new();
        // As much as the longest record, so that there is always a line feed.
        open.take(MOST as u64 + 1).read_to_end(&mut block)?;
        let Some(end) = memchr::memrchr(b'\n', &block) else {
            return Ok(false);
        };
        let whole = block.get(..end).unwrap_or_default();
        for line in whole.split(|byte| *byte == b'\n') {
            record::print(line, label, page)?;
        }
        self.offset += end as u64 + 1;
        Ok(true)
    }
}

/// Where the last line feed of a file stands.
fn last_feed(path: &Path) -> io::Result<Option<u64>> {
    let mut open = File::open(path)?;
    let mut from = open.metadata()?.len();
    let mut block = vec![0; BLOCK];
    while from > 0 {
        let step = from.min(BLOCK as u64);
        from -= step;
        open.seek(SeekFrom::Start(from))?;
        let part = block
            .get_mut(..usize::try_from(step).unwrap_or(BLOCK))
            .unwrap_or_default();
        open.read_exact(part)?;
        if let Some(at) = memchr::memrchr(b'\n', part) {
            return Ok(Some(from + at as u64));
        }
    }
    Ok(None)
}
