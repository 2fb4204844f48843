//! The lines of several days, one after the other.

use std::cell::Cell;
use std::io;
use std::path::Path;
use std::rc::Rc;

use super::lines::{Lines, Piece};
use crate::{Day, DayFile, Form};

/// Where a piece stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct At {
    /// The name of the file.
    pub file: String,
    /// The first is 1.
    pub line: u64,
}

/// The same without a name: of which file, and in which line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Spot {
    pub(crate) file: usize,
    pub(crate) line: u64,
}

/// What was found next.
#[derive(Debug)]
pub enum Read<'a> {
    /// A file begins.
    Day(&'a DayFile),
    Piece(Piece<'a>),
    /// The file cannot be read from here on; the next one is gone on with.
    Unreadable(io::Error),
}

pub struct Days {
    files: Vec<DayFile>,
    /// How many of the files were opened.
    opened: usize,
    lines: Option<Lines<Box<dyn io::Read>>>,
    number: u64,
    taken: Rc<Cell<u64>>,
}

impl Days {
    /// The days of a directory that are not before `since` and not after `until`.
    pub fn of(dir: &Path, since: Option<Day>, until: Option<Day>) -> io::Result<Self> {
        let mut files = crate::days(dir)?;
        files.retain(|file| {
            since.is_none_or(|day| file.day >= day) && until.is_none_or(|day| file.day <= day)
        });
        Ok(Self::new(files))
    }

    pub fn new(files: Vec<DayFile>) -> Self {
        Self {
            files,
            opened: 0,
            lines: None,
            number: 0,
            taken: Rc::default(),
        }
    }

    pub fn files(&self) -> &[DayFile] {
        &self.files
    }

    /// How many bytes there are on the disk, as far as can be told.
    pub fn bytes(&self) -> u64 {
        let sizes = self.files.iter().map(|file| file.path.metadata());
        sizes.flatten().map(|data| data.len()).sum()
    }

    /// How many of them were read.
    pub fn taken(&self) -> u64 {
        self.taken.get()
    }

    /// Where the piece stands that was given out last.
    pub fn at(&self) -> At {
        name(&self.files, self.spot())
    }

    pub(crate) fn spot(&self) -> Spot {
        Spot {
            file: self.opened.saturating_sub(1),
            line: self.number,
        }
    }

    /// Goes on to what comes next.
    pub fn advance(&mut self) -> Option<Read<'_>> {
        let moved = match &mut self.lines {
            Some(lines) => lines.advance(),
            None => Ok(false),
        };
        match moved {
            Ok(true) => {
                self.number += 1;
                self.lines.as_ref().map(|lines| Read::Piece(lines.piece()))
            }
            Ok(false) => self.open(),
            Err(error) => {
                self.number += 1;
                self.lines = None;
                Some(Read::Unreadable(error))
            }
        }
    }

    fn open(&mut self) -> Option<Read<'_>> {
        self.lines = None;
        let file = self.files.get_mut(self.opened)?;
        self.opened += 1;
        self.number = 0;
        match open(file, &self.taken) {
            Ok(lines) => {
                self.lines = Some(lines);
                Some(Read::Day(file))
            }
            Err(error) => Some(Read::Unreadable(error)),
        }
    }
}

pub(crate) fn name(files: &[DayFile], spot: Spot) -> At {
    let path = files.get(spot.file).map(|file| &file.path);
    let name = path.and_then(|path| path.file_name()).unwrap_or_default();
    At {
        file: name.to_string_lossy().into_owned(),
        line: spot.line,
    }
}

/// Opens a day. Between listing and opening it may have been compressed.
fn open(file: &mut DayFile, taken: &Rc<Cell<u64>>) -> io::Result<Lines<Box<dyn io::Read>>> {
    let opened = Lines::open(file, Rc::clone(taken));
    match (opened, file.form, file.path.parent()) {
        (Err(error), Form::Plain, Some(dir)) if error.kind() == io::ErrorKind::NotFound => {
            file.path = file.day.gzip(dir);
            file.form = Form::Gzip;
            Lines::open(file, Rc::clone(taken))
        }
        (opened, ..) => opened,
    }
}
