//! One record after the other: each whole, in its place, behind the one before it, and right in what it states.

use std::path::Path;

use super::checkpoints::{Compared, From};
use super::days::Spot;
use super::explain::{Break, Doubt, Known, broken};
use super::fault::{Cause, Fault, Wrong};
use super::lines::Piece;
use super::next::{Chain, Whole, after};
use super::stated::Stated;
use super::torn::{self, Kept};
use super::verify::Notice;
use crate::event::{DAY_CLOSED, DAY_OPENED, LOG_CUT};
use crate::{Day, DayFile, Hash, Line, Peaks};

/// What a hostile log can make us remember.
const MOST_NOTICES: usize = 100;

pub(super) struct Check<'a> {
    dir: &'a Path,
    files: &'a [DayFile],
    /// The last file that holds anything: its end is where the log is being written.
    newest: usize,
    /// Whether the beginning may lie behind us.
    begins: Begins,
    tree: Peaks,
    /// The hash of the record before.
    head: Hash,
    position: Position,
    last: Option<Spot>,
    /// The first record, the hash before it, and whether it is known why nothing stands before it.
    first: Option<First>,
    /// Smallest first.
    checkpoints: &'a [Compared],
    /// How many of them are behind us, and which one was right last.
    passed: usize,
    agreed: u64,
    pub(super) checked: usize,
    /// A checkpoint that was given and ends before the first record, unless one that was given is right.
    behind: Option<Fault>,
    pub(super) notices: Vec<Notice>,
}

/// Where reading starts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Begins {
    /// With the oldest day that is there.
    Oldest,
    /// With a later one: what it states about the records before it is believed.
    Later,
}

/// Within a file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Position {
    Fresh,
    Open,
    Closed,
}

struct First {
    seq: u64,
    prev: Hash,
    spot: Spot,
    explained: bool,
}

impl<'a> Check<'a> {
    pub(super) fn new(
        dir: &'a Path,
        files: &'a [DayFile],
        begins: Begins,
        checkpoints: &'a [Compared],
    ) -> Self {
        let holds = |file: &DayFile| file.path.metadata().is_ok_and(|data| data.len() > 0);
        Self {
            dir,
            files,
            newest: files.iter().rposition(holds).unwrap_or_default(),
            begins,
            tree: Peaks::default(),
            head: Hash::ZERO,
            position: Position::Fresh,
            last: None,
            first: None,
            checkpoints,
            passed: 0,
            agreed: 0,
            checked: 0,
            behind: None,
            notices: Vec::new(),
        }
    }

    pub(super) fn tree(&self) -> &Peaks {
        &self.tree
    }

    pub(super) fn head(&self) -> Hash {
        self.head
    }

    pub(super) fn first(&self) -> Option<u64> {
        self.first.as_ref().map(|first| first.seq)
    }

    pub(super) fn piece(&mut self, piece: Piece<'_>, spot: Spot) -> Result<(), Box<Break>> {
        match piece {
            Piece::Line(line) => self.line(line, spot),
            Piece::TooLong => Err(broken(spot, None, Wrong::TooLong)),
            Piece::Tail(tail) => self.tail(tail, spot),
        }
    }

    fn line(&mut self, bytes: &[u8], spot: Spot) -> Result<(), Box<Break>> {
        let line = match Line::parse(bytes) {
            Ok(line) if line.is_whole() => line,
            Ok(line) => return Err(broken(spot, Some(line.seq), Wrong::Hash).holding(bytes)),
            Err(why) => return Err(broken(spot, None, why.into()).holding(bytes)),
        };
        if self.first.is_none() {
            self.begin(&line, bytes, spot)?;
        }
        let here = |wrong, doubt| {
            Box::new(Break {
                spot: Some(spot),
                found: Some(line.seq),
                wrong,
                doubt,
            })
        };
        if line.seq != self.tree.size() {
            let jumped = line.event == LOG_CUT && line.seq > self.tree.size();
            return Err(match jumped {
                true => here(
                    Wrong::CutWhileWriting,
                    Doubt::Known(Cause::Missing(line.seq)),
                ),
                false => here(Wrong::Place, Doubt::Other(Whole::of(&line))),
            });
        }
        if line.prev != self.head {
            return Err(here(Wrong::Prev, Doubt::Prev(Whole::of(&line))));
        }
        self.place(&line, spot)
            .map_err(|(wrong, cause)| here(wrong, Doubt::Known(cause)))?;
        self.states(&line, bytes)
            .map_err(|(wrong, cause)| here(wrong, Doubt::Known(cause)))?;
        self.tree.push(line.hash);
        self.head = line.hash;
        self.last = Some(spot);
        self.compare()
    }

    /// The first record that is read: 0, or one that opens a day and states what stood before it.
    fn begin(&mut self, line: &Line<'_>, bytes: &[u8], spot: Spot) -> Result<(), Box<Break>> {
        let stated = match line.event {
            DAY_OPENED => Stated::of(line.event, bytes),
            _ => None,
        };
        let from = match stated {
            Some(Stated::Tree(tree)) if tree.size() == line.seq => tree,
            _ => Peaks::default(),
        };
        if from.size() > 0 {
            // Of two that open the day, the right one is the one that is gone on from.
            if let [Some(next), Some(then)] = after(self.files, spot)
                && next.opens_same_file()
                && then.prev == next.hash
            {
                return Err(broken(spot, Some(line.seq), Wrong::Place));
            }
            (self.tree, self.head) = (from, line.prev);
        }
        if self.tree.size() != line.seq {
            return Err(Box::new(Break {
                spot: Some(spot),
                found: Some(line.seq),
                wrong: Wrong::Place,
                doubt: Doubt::First(Whole::of(line)),
            }));
        }
        self.first = Some(First {
            seq: line.seq,
            prev: line.prev,
            spot,
            explained: line.seq == 0 || self.begins == Begins::Later,
        });
        self.agreed = line.seq;
        for before in self.checkpoints {
            let (name, size) = (before.name.clone(), before.checkpoint.size);
            if size >= line.seq {
                break;
            }
            self.passed += 1;
            if before.from == From::Elsewhere {
                let name = name.clone();
                self.behind = Some(Fault {
                    expected: None,
                    found: None,
                    at: None,
                    wrong: Wrong::Behind { name, size },
                    cause: Cause::Incomparable,
                });
            }
            self.notice(Notice::NotCovered { name, size });
        }
        self.compare()
    }

    /// Whether a record of this kind may stand here in its file.
    fn place(&mut self, line: &Line<'_>, spot: Spot) -> Result<(), (Wrong, Cause)> {
        let opens = line.event == DAY_OPENED;
        match self.position {
            Position::Fresh if !opens => {
                return Err((Wrong::NotOpened(line.event.to_owned()), Cause::OutOfOrder));
            }
            Position::Fresh => {
                // A clock that was set back opens a day before it has come; nothing opens one that is over.
                let opened = line.ts.get(..10).and_then(Day::parse);
                let file = self.files.get(spot.file).map(|file| file.day);
                if opened.is_none() || opened > file {
                    return Err((Wrong::OtherDay, Cause::Elsewhere));
                }
            }
            Position::Open if opens => return Err((Wrong::OpenedAgain, Cause::OutOfOrder)),
            Position::Open => {}
            Position::Closed => return Err((Wrong::AfterClosed, Cause::OutOfOrder)),
        }
        self.position = match line.event {
            DAY_CLOSED => Position::Closed,
            _ => Position::Open,
        };
        Ok(())
    }

    fn states(&mut self, line: &Line<'_>, bytes: &[u8]) -> Result<(), (Wrong, Cause)> {
        let stated = Stated::of(line.event, bytes).ok_or((Wrong::Unclear, Cause::Rewritten))?;
        let right = match stated {
            Stated::Nothing => true,
            // The log itself says that there were records which are gone.
            Stated::Tree(_) if line.event == LOG_CUT => {
                return Err((Wrong::CutWhileWriting, Cause::Cut));
            }
            Stated::Tree(tree) => tree == self.tree,
            Stated::Root { size, root } => size == self.tree.size() && root == self.tree.root(),
            Stated::Torn {
                kept_as,
                bytes,
                sha256,
            } => return self.kept(line.seq, kept_as, bytes, sha256),
            Stated::Deleted { day, last, hash } => {
                self.deleted(line.seq, &day, last, hash);
                true
            }
        };
        match right {
            true => Ok(()),
            false => Err((Wrong::Tree, Cause::Rewritten)),
        }
    }

    fn kept(
        &mut self,
        seq: u64,
        name: String,
        bytes: u64,
        sha256: Hash,
    ) -> Result<(), (Wrong, Cause)> {
        match torn::look(self.dir, &name, bytes, sha256) {
            Kept::Same => self.notice(Notice::Torn { seq, name, bytes }),
            Kept::Gone => self.notice(Notice::TornGone { seq, name }),
            Kept::Changed => return Err((Wrong::KeptChanged(name), Cause::Elsewhere)),
            Kept::Records(count) => {
                return Err((Wrong::KeptRecords(name, count), Cause::Inserted));
            }
        }
        Ok(())
    }

    /// INVARIANT: a beginning is only explained by a record of the chain that names the very record that stood before it.
    fn deleted(&mut self, seq: u64, day: &str, last: u64, hash: Hash) {
        let Some(first) = &mut self.first else { return };
        if !first.explained && last.checked_add(1) == Some(first.seq) && hash == first.prev {
            first.explained = true;
            self.notice(Notice::Deleted {
                seq,
                last,
                day: day.to_owned(),
            });
        }
    }

    /// What stands behind the last line feed.
    fn tail(&mut self, tail: &[u8], spot: Spot) -> Result<(), Box<Break>> {
        let whole = |bytes: &[u8]| {
            Line::parse(bytes)
                .ok()
                .filter(Line::is_whole)
                .map(|line| line.seq)
        };
        if spot.file < self.newest {
            return Err(broken(spot, whole(tail), Wrong::Unended));
        }
        // A write that was torn leaves less than a record, never more.
        let (_, before) = tail.split_last().unwrap_or((&0, &[]));
        if let Some(seq) = whole(before) {
            return Err(broken(spot, Some(seq), Wrong::Overlong));
        }
        let bytes = tail.len() as u64;
        self.notice(Notice::Tail { bytes });
        Ok(())
    }

    /// A file was read to its end, which is at this line.
    pub(super) fn end(&mut self, spot: Spot) -> Result<(), Box<Break>> {
        let position = std::mem::replace(&mut self.position, Position::Fresh);
        match position {
            Position::Open if spot.file < self.newest => Err(Box::new(Break {
                spot: Some(Spot {
                    line: spot.line + 1,
                    ..spot
                }),
                found: None,
                wrong: Wrong::NotClosed,
                doubt: Doubt::Known(self.missing_after(spot)),
            })),
            Position::Fresh if self.started() => {
                self.notice(Notice::Empty { file: spot.file });
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Whether there was a record.
    pub(super) fn started(&self) -> bool {
        self.first.is_some()
    }

    fn missing_after(&self, spot: Spot) -> Cause {
        match after(self.files, spot) {
            [Some(next), _] if next.seq > self.tree.size() => Cause::Missing(next.seq),
            _ => Cause::OutOfOrder,
        }
    }

    pub(super) fn unreadable(&self, spot: Spot, error: &std::io::Error) -> Box<Break> {
        Box::new(Break {
            spot: Some(spot),
            found: None,
            wrong: Wrong::Unreadable(error.to_string()),
            doubt: Doubt::Known(Cause::Changed),
        })
    }

    /// Compares with the checkpoints that cover just the records so far.
    fn compare(&mut self) -> Result<(), Box<Break>> {
        while let Some(compared) = self.checkpoints.get(self.passed) {
            let stated = &compared.checkpoint;
            if stated.size != self.tree.size() {
                break;
            }
            if stated.root != self.tree.root() {
                let last = stated.size.saturating_sub(1);
                let name = compared.name.clone();
                return Err(Box::new(Break {
                    spot: None,
                    found: None,
                    wrong: Wrong::Root { name, last },
                    doubt: Doubt::Known(Cause::Rewritten),
                }));
            }
            self.passed += 1;
            self.checked += 1;
            self.agreed = stated.size;
            if compared.from == From::Elsewhere {
                self.behind = None;
            }
        }
        Ok(())
    }

    /// The whole log was read, and no record of it is bad.
    pub(super) fn finish(&mut self, spot: Spot) -> Option<Fault> {
        if let Some(first) = self.first.as_ref().filter(|first| !first.explained) {
            return Some(Fault {
                expected: Some(0),
                found: Some(first.seq),
                at: Some(super::days::name(self.files, first.spot)),
                wrong: Wrong::Beginning(first.seq),
                cause: Cause::Missing(first.seq),
            });
        }
        let Some(Compared {
            name,
            checkpoint: stated,
            ..
        }) = self.checkpoints.get(self.passed)
        else {
            // INVARIANT: who gave a checkpoint is not told that all is well by a log that has nothing to do with it.
            return self.behind.take();
        };
        let line = self.last.map_or(1, |last| last.line + 1);
        let file = self.last.map_or(spot.file, |last| last.file);
        Some(Fault {
            expected: Some(self.tree.size()),
            found: None,
            at: Some(super::days::name(self.files, Spot { file, line })),
            wrong: Wrong::Short {
                name: name.clone(),
                size: stated.size,
            },
            cause: Cause::Cut,
        })
    }

    /// Says what happened.
    pub(super) fn explain(&mut self, found: Box<Break>) -> Fault {
        if let Some(first) = self.first.as_ref().filter(|first| !first.explained) {
            let first = first.seq;
            self.notice(Notice::Unexplained { first });
        }
        let known = Known {
            files: self.files,
            chain: Chain {
                next: self.tree.size(),
                head: self.head,
            },
            begins: self.begins,
            started: self.first.is_some(),
            last: self.last,
            agreed: self.agreed,
        };
        found.explain(&known)
    }

    fn notice(&mut self, notice: Notice) {
        if self.notices.len() < MOST_NOTICES {
            self.notices.push(notice);
        }
    }
}
