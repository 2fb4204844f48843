//! One call's view of the store: where it lies, its database as it is now, its folders, and how its messages are read.

use std::io::{self, Read as _};
use std::path::PathBuf;

use bytes::Bytes;
use content::Completeness;
use mail::{
    Envelope, Fault, FaultKind, FolderName, Links, Snippets, Stage, Summary, SummaryHeader, Uid,
    UidValidity,
};

use super::Settings;
use super::accounts::Accounts;
use super::boxes::{Boxes, Mailbox};
use super::database::Database;
use super::files::Files;
use super::place::{Place, faulted};
use super::rows::Row;
use super::whole::Whole;
use crate::local::loaded::{Loaded, MOST_HEADER, Marks};
use crate::local::work::Stop;

/// Of most headers this is all.
const BEGINNING: u64 = 16 << 10;

pub(super) struct Visit<'a> {
    pub(super) place: Place,
    pub(super) db: Database,
    pub(super) boxes: Boxes,
    /// What numbers of messages mean: another database may have given them to others.
    pub(super) generation: UidValidity,
    pub(super) stop: &'a Stop,
}

impl<'a> Visit<'a> {
    pub(super) fn begin(settings: &Settings, stop: &'a Stop) -> Result<Self, Fault> {
        let place = Place::find(&settings.root)?;
        let db = Database::open(&place, &settings.copies, stop)?;
        let accounts = Accounts::read(place.accounts().as_deref());
        let boxes = Boxes::read(&db, &accounts, settings.which.as_deref())?;
        Ok(Self {
            place,
            generation: db.stamp.generation(),
            db,
            boxes,
            stop,
        })
    }

    /// Whether a number is of this database.
    pub(super) fn check(&self, uidvalidity: UidValidity) -> Result<(), Fault> {
        match uidvalidity == self.generation {
            true => Ok(()),
            false => Err(Fault::new(FaultKind::Conflict, Stage::OpenFolder)),
        }
    }

    pub(super) fn files(&self) -> Files<'_> {
        Files::new(&self.place, &self.boxes, self.stop)
    }

    /// The messages of a folder, the newest first.
    pub(super) fn rows(&self, folder: &FolderName) -> Result<Vec<Row>, Fault> {
        let mailbox = self.boxes.named(folder)?;
        self.db.rows_of(mailbox.row, self.stop)
    }

    /// A message of a folder: one that lies in it, or that a label shows there.
    pub(super) fn row(&self, folder: &FolderName, uid: Uid) -> Result<Row, Fault> {
        let mailbox = self.boxes.named(folder)?;
        let none = || Fault::new(FaultKind::NoSuchMessage, Stage::Fetch);
        let row = self.db.row(uid, self.stop)?.ok_or_else(none)?;
        let shown = row.mailbox == mailbox.row || self.db.labels(uid)?.contains(&mailbox.row);
        shown.then_some(row).ok_or_else(none)
    }

    /// The folders that show a message.
    pub(super) fn folders_of(&self, row: &Row) -> Result<Vec<&Mailbox>, Fault> {
        let mut rows = self.db.labels(row.uid)?;
        rows.push(row.mailbox);
        rows.sort_unstable();
        rows.dedup();
        Ok(rows
            .into_iter()
            .filter_map(|row| self.boxes.of_row(row))
            .collect())
    }

    /// Where a message lies, as the operator spells it. It names the mailbox that has the file: of a message that a label shows
    /// that is another folder than the one it was asked for in, and maybe one that the caller does not see. So it is for those
    /// alone who may have all of the message; the gateway asks for no other.
    pub(super) fn path(&self, row: &Row) -> Result<PathBuf, Fault> {
        let filed = self.files().open(row).map_err(read_fault)?;
        let filed = filed.ok_or_else(not_downloaded)?;
        Ok(self.place.version.join(filed.path))
    }

    /// A line for a message, from its file or, where there is none, from the database.
    pub(super) fn summary(
        &self,
        files: &mut Files<'_>,
        row: &Row,
        snippets: Snippets,
    ) -> io::Result<Summary> {
        match files.load(row)? {
            Some(loaded) => Ok(loaded.line(row.uid, row.order().0, snippets)),
            None => Ok(self.described(row)),
        }
    }

    /// What the database says of a message's header.
    pub(super) fn envelope(&self, row: &Row) -> Envelope {
        self.db.envelope(row.uid)
    }

    /// What the database says of a message whose file is not here.
    pub(super) fn described(&self, row: &Row) -> Summary {
        Summary {
            store_id: None,
            uid: row.uid,
            order: row.order().0,
            flags: Some(row.flags()),
            arrived: row.arrived(),
            size: row.size(),
            header: Some(SummaryHeader::Database(self.envelope(row))),
            structure: None,
            text: None,
        }
    }
}

impl Files<'_> {
    /// All of a message that is here. None where nothing was downloaded.
    pub(super) fn whole(&mut self, row: &Row) -> io::Result<Option<Whole>> {
        let filed = self.open(row)?;
        filed
            .map(|filed| Whole::read(self.beneath, filed, row.uid.0))
            .transpose()
    }

    pub(super) fn load(&mut self, row: &Row) -> io::Result<Option<Loaded>> {
        let Some(whole) = self.whole(row)? else {
            return Ok(None);
        };
        let marks = Marks {
            flags: row.flags(),
            arrived: row.arrived(),
            size: u64::try_from(whole.bytes.len()).unwrap_or(u64::MAX),
        };
        let mut loaded = Loaded::new(&whole.bytes, marks, Completeness::Complete);
        for (section, length) in whole.missing {
            let mut leaves = loaded.structure.leaves.iter_mut();
            if let Some(leaf) = leaves.find(|leaf| leaf.section == section) {
                leaf.octets = length;
            }
            loaded.not_downloaded.push(section);
        }
        Ok(Some(loaded))
    }

    /// What a message calls itself and whom it names.
    pub(super) fn links(&mut self, row: &Row) -> io::Result<Option<Links>> {
        Ok(self.header(row)?.map(|header| content::links(&header)))
    }

    /// The header, from the beginning of the file alone, as far as it fits.
    pub(super) fn header(&mut self, row: &Row) -> io::Result<Option<Bytes>> {
        let Some(mut filed) = self.open(row)? else {
            return Ok(None);
        };
        let mut bytes = Vec::new();
        let most = u64::try_from(MOST_HEADER).unwrap_or(u64::MAX);
        let mut end = None;
        for more in [BEGINNING, most] {
            (&mut filed.file).take(more).read_to_end(&mut bytes)?;
            end = header_end(&bytes);
            if end.is_some() {
                break;
            }
        }
        // The count in front is no field.
        let count = bytes.iter().take(64).position(|byte| *byte == b'\n');
        let begin = count.ok_or(io::ErrorKind::InvalidData)? + 1;
        let end = end.unwrap_or(bytes.len()).max(begin);
        Ok(Some(Bytes::from(bytes).slice(begin..end)))
    }
}

/// Behind the first empty line.
fn header_end(bytes: &[u8]) -> Option<usize> {
    let ends = [&b"\n\n"[..], b"\n\r\n"].into_iter();
    let ends = ends.filter_map(|end| {
        let at = bytes.windows(end.len()).position(|at| at == end)?;
        Some(at + end.len())
    });
    ends.min()
}

pub(super) fn not_downloaded() -> Fault {
    Fault::new(FaultKind::NotDownloaded, Stage::Fetch)
}

/// Why a message could not be read.
pub(super) fn read_fault(error: io::Error) -> Fault {
    let (kind, why) = match error.kind() {
        io::ErrorKind::FileTooLarge => (FaultKind::TooLarge, "the message is too large"),
        io::ErrorKind::InvalidData => (
            FaultKind::Unreadable,
            "the file is no message of Apple Mail, or only half of one",
        ),
        _ => return faulted(Stage::Fetch)(error),
    };
    Fault::saying(kind, Stage::Fetch, why)
}
