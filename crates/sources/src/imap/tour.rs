//! Flights over several folders: each is opened on the way, asked, and left for the next.
//!
//! It knows where the words about one folder end and those about the next begin, and nothing of what they mean. Folders are
//! opened by `EXAMINE` and always anew, so that whatever is seen is as the folder is.

use imap::{Command, Data};
use mail::{Cx, Fault, FaultKind, FolderName, Stage, Uid, UidValidity};

use super::faults;
use super::folder_words;
use super::gmail::names;
use super::link::{Landed, Place};
use super::response_limits::{self, Bounds};
use super::session::{Pace, Session};

/// Octets of one flight: as much as fits into the buffers between here and there, while nobody reads.
const MOST_OCTETS: u64 = 48 << 10;

/// A folder, and what is asked in it.
pub(super) struct Stop<'a> {
    pub folder: &'a FolderName,
    pub commands: Vec<Command>,
}

/// What a folder answered.
#[derive(Debug)]
pub(super) struct Visit {
    pub uidvalidity: UidValidity,
    /// What came after it was opened is at or beyond this; absent where the server does not say.
    pub next: Option<Uid>,
    /// So many messages it held at any time of the visit, at most.
    pub most: u64,
    /// The statuses are those of the commands asked, and are not judged.
    pub landed: Landed,
}

impl Visit {
    /// What a search of the folder may have found.
    pub(super) fn bounds(&self) -> Bounds {
        let data = self.landed.data.iter();
        let came = data.filter(|one| matches!(one, Data::Exists(_))).count() > 0;
        Bounds {
            messages: self.most,
            next: self.next.filter(|_| !came).map(|next| next.0),
        }
    }
}

/// One for each stop, in order; a folder that could not be opened is no reason to leave the others out.
pub(super) type Visits = Vec<Result<Visit, Fault>>;

pub(super) async fn tour(
    session: &mut Session,
    cx: &Cx,
    stops: &[Stop<'_>],
    pace: Pace,
) -> Result<Visits, Fault> {
    let visits = go(session, cx, stops, pace).await?;
    let missing = |one: &Result<Visit, Fault>| match one {
        Err(fault) => fault.kind == FaultKind::NoSuchFolder,
        Ok(_) => false,
    };
    match visits.iter().any(missing) && names::mend(session, cx, FaultKind::NoSuchFolder).await {
        true => go(session, cx, stops, pace).await,
        false => Ok(visits),
    }
}

async fn go(
    session: &mut Session,
    cx: &Cx,
    stops: &[Stop<'_>],
    pace: Pace,
) -> Result<Visits, Fault> {
    let mut visits = Vec::with_capacity(stops.len());
    let mut rest = stops;
    while !rest.is_empty() {
        let together = match session.folders_mingle {
            true => 1,
            false => fitting(rest),
        };
        let (stops, later) = rest.split_at(together.clamp(1, rest.len()));
        let landed = fly(session, cx, stops, pace).await?;
        match (split(landed, stops), stops.len()) {
            (Some(told), _) => {
                visits.extend(told);
                rest = later;
            }
            (None, 1) => {
                let said = "the server's answers stand where no answer can";
                return Err(Fault::saying(FaultKind::Protocol, cx.stage(), said));
            }
            // QUIRK: a server that opens the next folder before it is done with this one.
            (None, _) => session.folders_mingle = true,
        }
    }
    Ok(visits)
}

async fn fly(
    session: &mut Session,
    cx: &Cx,
    stops: &[Stop<'_>],
    pace: Pace,
) -> Result<Landed, Fault> {
    let mut flight = Vec::new();
    for stop in stops {
        let open = Command::examine(&session.names.wire(stop.folder));
        flight.push(open.map_err(|_| Fault::new(FaultKind::NoSuchFolder, Stage::OpenFolder))?);
        flight.extend(stop.commands.iter().cloned());
    }
    // Whatever was open is so no longer, and what will be is not worth knowing.
    session.leave();
    session.ask(cx, flight, pace).await
}

/// How many of the first stops go into one flight.
fn fitting(stops: &[Stop<'_>]) -> usize {
    let mut octets = 0;
    let fits = stops.iter().take_while(|stop| {
        let own = stop.commands.iter().map(Command::octets);
        octets += own.sum::<u64>() + 64;
        octets <= MOST_OCTETS
    });
    fits.count()
}

/// None where it cannot be told which answer is about which folder: an `EXAMINE` is over only after all that was asked
/// before it, and before all that is asked after it (RFC 3501 section 5.5).
fn split(landed: Landed, stops: &[Stop<'_>]) -> Option<Visits> {
    let mut outcomes = landed.statuses.into_iter().zip(landed.places);
    let mut data = landed.data.into_iter();
    let mut taken = 0;
    let mut visits = Vec::with_capacity(stops.len());
    for stop in stops {
        let (opening, begin) = outcomes.next()?;
        let (mut statuses, mut places) = (Vec::new(), Vec::new());
        for _ in &stop.commands {
            let (status, place) = outcomes.next()?;
            let after = place.after.checked_sub(begin.after)?;
            statuses.push(status);
            places.push(Place { after, ..place });
        }
        let length = places.iter().map(|place| place.after).max().unwrap_or(0);
        let prelude: Vec<Data> = data
            .by_ref()
            .take(begin.after.checked_sub(taken)?)
            .collect();
        let told: Vec<Data> = data.by_ref().take(length).collect();
        taken = begin.after + length;
        visits.push(match opening.is_ok() {
            true => visit(&prelude, statuses, places, told),
            false => Err(faults::folder_refused(&opening)),
        });
    }
    Some(visits)
}

fn visit(
    prelude: &[Data],
    statuses: Vec<imap::Status>,
    places: Vec<Place>,
    data: Vec<Data>,
) -> Result<Visit, Fault> {
    let uidvalidity = folder_words::uidvalidity(prelude)?;
    folder_words::check_exists(prelude)?;
    let mut later = data.iter().filter_map(folder_words::uidvalidity_of);
    if later.any(|told| told != Some(uidvalidity)) {
        return Err(Fault::new(FaultKind::Conflict, Stage::OpenFolder));
    }
    let held = response_limits::most(0, &only_counts(prelude));
    let most = response_limits::most(u32::try_from(held).unwrap_or(u32::MAX), &data);
    Ok(Visit {
        uidvalidity,
        next: folder_words::uidnext(prelude).map(Uid),
        most,
        landed: Landed {
            statuses,
            places,
            data,
        },
    })
}

/// What was said of the number of messages before the folder was open; what went, went from another
/// one.
fn only_counts(prelude: &[Data]) -> Vec<Data> {
    let counts = prelude.iter().filter(|one| matches!(one, Data::Exists(_)));
    counts.cloned().collect()
}
