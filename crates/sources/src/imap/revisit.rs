//! A look at a conversation that was gathered before: one flight over all folders that were searched then.
//!
//! It searches nothing. Where anything is not as it was it says no more than that.

use imap::Status;
use mail::{Cx, Fault, FolderName, Stage};

use super::closure::Found;
use super::describe;
use super::gatherings::{Edge, Gathering};
use super::hunt::Hunt;
use super::session::{Pace, Session};
use super::summaries;
use super::tour::{Stop, tour};

/// All of its messages as they are now. None where something has come to one of the folders since, or one of them is gone.
pub(super) async fn revisit(
    hunt: &Hunt<'_>,
    session: &mut Session,
    cx: &Cx,
    folders: &[FolderName],
    known: &Gathering,
) -> Result<Option<Vec<Found>>, Fault> {
    let spots = known.spots();
    if spots.len() != folders.len() {
        return Ok(None);
    }
    cx.enter(Stage::Fetch);
    let items = describe::tied_items(session.capabilities());
    let stops = folders.iter().zip(&spots).map(|(folder, (_, uids))| Stop {
        folder,
        commands: summaries::commands(uids, &items),
    });
    let stops: Vec<Stop<'_>> = stops.collect();
    let visits = tour(session, cx, &stops, Pace::Prompt).await?;
    let mut all = Vec::new();
    for ((folder, (edge, uids)), visit) in folders.iter().zip(spots).zip(visits) {
        let still = visit.ok().filter(|visit| {
            edge.is_still(Edge::of(visit)) && visit.landed.statuses.iter().all(Status::is_ok)
        });
        let Some(visit) = still else {
            return Ok(None);
        };
        let described = describe::told_of(visit.landed.data, &uids);
        all.extend(hunt.bring_in(folder, visit.uidvalidity, described));
    }
    Ok(Some(all))
}
