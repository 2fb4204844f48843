//! Reading who names whom in a few small folders: one flight over all of them, from where the last one ended.

use imap::command::Item;
use imap::{Command, SequenceSet, Status};
use mail::{Cx, Fault, FolderName, Stage, Uid, UidSet};

use super::gatherings::Edge;
use super::lineages::{Lineages, Row};
use super::session::{Pace, Session};
use super::tour::{Stop, Visit, tour};
use super::{convert, describe};

/// What could not be read is searched, as ever.
pub(super) async fn read(
    session: &mut Session,
    cx: &Cx,
    lineages: &Lineages,
    folders: &[FolderName],
) -> Result<(), Fault> {
    cx.enter(Stage::Search);
    let items = describe::links_items();
    let from: Vec<Uid> = folders
        .iter()
        .map(|one| lineages.unread_from(one))
        .collect();
    let stops = folders.iter().zip(&from).map(|(folder, from)| Stop {
        folder,
        commands: vec![command(*from, &items)],
    });
    let stops: Vec<Stop<'_>> = stops.collect();
    let visits = tour(session, cx, &stops, Pace::Prompt).await?;
    for ((folder, from), visit) in folders.iter().zip(from).zip(visits) {
        let read = visit.ok().and_then(|visit| rows(visit, from));
        match read {
            Some((edge, rows)) => lineages.read(folder, from, edge, &rows),
            None => lineages.give_up(std::slice::from_ref(folder)),
        }
    }
    Ok(())
}

fn command(from: Uid, items: &[Item]) -> Command {
    Command::uid_fetch(&SequenceSet::range(from.0, u32::MAX), items)
}

/// None where something was not told.
fn rows(visit: Visit, from: Uid) -> Option<(Edge, Vec<Row>)> {
    let edge = Edge::of(&visit)?;
    let landed = visit.landed;
    let whole = landed.statuses.iter().all(Status::is_ok)
        && !landed.data.iter().any(convert::is_unreadable_fetch);
    let wanted = match edge.next().0.checked_sub(1) {
        Some(last) => UidSet::range(from, Uid(last)),
        None => UidSet::default(),
    };
    let told = describe::told_of(landed.data, &wanted);
    let rows = told
        .iter()
        .map(|(uid, fetch)| (Uid(*uid), describe::links(fetch)));
    whole.then(|| (edge, rows.collect()))
}
