//! What the searches of one flight found in a folder: by whole ids, and by parts of them.
//!
//! It says whose answer is whose, and neither whether it is true nor what becomes of it.

use imap::{Data, SequenceSet};
use mail::Fault;

use super::link::Landed;
use super::needles::Grip;
use super::sift;

/// What a command of a flight is there for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Role {
    Search(Grip),
    /// It tells of what the search before it found.
    Description,
}

/// What was found by whole ids, and by parts of them. `None` where a search has no answer.
pub(super) fn by_tag(landed: &Landed, roles: &[Role]) -> Result<Option<[SequenceSet; 2]>, Fault> {
    let mut found = [SequenceSet::default(), SequenceSet::default()];
    for (grip, all) in [Grip::Whole, Grip::Part].into_iter().zip(&mut found) {
        let own = landed.places.iter().zip(roles);
        let own = own.filter(|(_, role)| **role == Role::Search(grip));
        let own: Vec<_> = own.map(|(place, _)| *place).collect();
        let Some(sets) = sift::by_tag(&landed.data, &own)? else {
            return Ok(None);
        };
        *all = SequenceSet::union_of(&sets);
    }
    Ok(Some(found))
}

/// The same of answers that do not say whose they are: in the order of their searches where there is one for each, else
/// each is taken for that of the search which is over next. Who is mistaken charges another room, and loses nothing.
pub(super) fn by_place(landed: &Landed, roles: &[Role]) -> [SequenceSet; 2] {
    let lines = landed.data.iter().enumerate();
    let lines = lines.filter_map(|(at, data)| match data {
        Data::Search(uids) => Some((at, uids)),
        _ => None,
    });
    let lines: Vec<(usize, &SequenceSet)> = lines.collect();
    let ends = landed.places.iter().map(|place| place.after).zip(roles);
    let mut ends: Vec<(usize, &Role)> = ends.collect();
    // QUIRK: Dovecot may end several searches only when all of them are answered.
    if lines.len() == roles.len() {
        ends = lines.iter().map(|(at, _)| at + 1).zip(roles).collect();
    }
    ends.sort_by_key(|(end, _)| *end);
    // Put together at the end: a server may spread its answer over a hundred thousand lines.
    let (mut whole, mut all) = (Vec::new(), Vec::new());
    for (at, uids) in lines {
        let next = ends.iter().find(|(end, _)| at < *end);
        if next.is_some_and(|(_, role)| **role == Role::Search(Grip::Whole)) {
            whole.extend_from_slice(uids.ranges());
        }
        all.extend_from_slice(uids.ranges());
    }
    [whole, all].map(SequenceSet::from_ranges)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::imap::link::Place;
    use imap::{Command, Connection};

    #[test]
    fn answers_without_a_name_are_told_apart_by_where_they_stand() {
        const ROLES: [Role; 3] = [
            Role::Search(Grip::Whole),
            Role::Search(Grip::Whole),
            Role::Search(Grip::Part),
        ];
        let mut connection = Connection::new(imap::Limits::default());
        let tag = connection.push(&Command::noop());
        for (lines, ends, want) in [
            (&["1", "2", "3"][..], [1, 2, 3], "1,2"),
            // All of them over at last, and the last of them over first.
            (&["1", "2", "3"], [3, 3, 3], "1,2"),
            (&["3", "1"], [2, 2, 1], "1"),
            // What was found by its whole id is that, however else it was found too.
            (&["1", "2", "1,2,3"], [1, 2, 3], "1,2"),
            // Those without matches say nothing; one says it in two lines.
            (&["3"], [0, 0, 1], ""),
            (&["1", "2", "3", "4"], [2, 2, 4], "1,2"),
            (&["1"], [0, 0, 0], ""),
        ] {
            let set = |text: &str| SequenceSet::parse(text.as_bytes()).unwrap();
            let places = ends.map(|after| Place { tag, after });
            let landed = Landed {
                statuses: Vec::new(),
                places: places.to_vec(),
                data: lines.iter().map(|line| Data::Search(set(line))).collect(),
            };
            let [whole, all] = by_place(&landed, &ROLES);
            assert_eq!(whole, set(want), "{lines:?} {ends:?}");
            assert_eq!(all, set(&lines.join(",")), "nothing is lost");
        }
    }
}
