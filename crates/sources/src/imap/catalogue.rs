//! The folders of an account, remembered for a moment, and the order in which a message is looked for in them.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use mail::{Cx, Fault, Folder, FolderName, Folders, Keeping, SpecialUse, Within};

use super::folders::ListFolders;
use super::job::Job as _;
use super::session::Session;
use super::sightings::Sightings;

/// A list that is older is asked for again: there may be other folders by now.
const TRUSTED: Duration = Duration::from_secs(30);

#[derive(Default)]
pub(super) struct Catalogue(Mutex<Option<(Instant, Arc<Folders>)>>);

impl Catalogue {
    /// INVARIANT: where there is a folder that was not known, no search before was one of all folders.
    pub(super) fn keep(&self, folders: &Arc<Folders>, sightings: &Sightings) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let before = kept.replace((Instant::now(), Arc::clone(folders)));
        drop(kept);
        if before.is_some_and(|(_, before)| has_others(folders, &before)) {
            sightings.doubt_all();
        }
    }

    /// As they are, or were a moment ago.
    pub(super) async fn read(
        &self,
        session: &mut Session,
        cx: &Cx,
        sightings: &Sightings,
    ) -> Result<Arc<Folders>, Fault> {
        if let Some(folders) = self.remembered() {
            return Ok(folders);
        }
        let folders = Arc::new(ListFolders::Names.run(session, cx).await?);
        self.keep(&folders, sightings);
        Ok(folders)
    }

    fn remembered(&self) -> Option<Arc<Folders>> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (since, folders) = kept.as_ref()?;
        (since.elapsed() < TRUSTED).then(|| Arc::clone(folders))
    }
}

fn has_others(now: &Folders, before: &Folders) -> bool {
    let known: HashSet<&FolderName> = before.folders.iter().map(|one| &one.name).collect();
    let mut names = now.folders.iter().map(|one| &one.name);
    names.any(|name| !known.contains(name))
}

/// Where to look, the likeliest first.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(super) struct Places {
    /// Inbox, sent, archive, all.
    pub first: Vec<FolderName>,
    pub rest: Vec<FolderName>,
    /// Trash and junk.
    pub discarded: Vec<FolderName>,
    /// There are folders that cannot be opened by any name.
    pub nameless: bool,
}

impl Places {
    pub(super) fn of(folders: &Folders, within: &Within, keeping: Keeping) -> Self {
        let allowed = |folder: &&Folder| match within {
            Within::All => true,
            Within::Only(names) => names.contains(&folder.name),
        };
        let told = |wanted: SpecialUse| {
            // INVARIANT: what may not be searched changes nothing.
            let uses = folders.folders.iter().filter(allowed);
            let mut uses = uses.map(|folder| folder.special_use);
            uses.any(|told| told == Some(wanted))
        };
        // QUIRK: servers that do not say what a folder is for, and clients that go by its name.
        let purpose = |folder: &Folder| {
            let named = crate::maildir::special_use(&folder.name);
            folder.special_use.or(named.filter(|named| !told(*named)))
        };
        let mut ranked: Vec<(Rank, &Folder)> = folders
            .folders
            .iter()
            .filter(allowed)
            .map(|folder| (Rank::of(folder, purpose(folder)), folder))
            .collect();
        let all_of_them = ranked.iter().any(|(rank, _)| *rank == Rank::All);
        if keeping == Keeping::Labels && all_of_them && *within == Within::All {
            ranked.retain(|(rank, _)| matches!(rank, Rank::All | Rank::Discarded));
        }
        ranked.sort_by_key(|(rank, _)| *rank);
        let mut places = Self {
            nameless: *within == Within::All && folders.unusable > 0,
            ..Self::default()
        };
        for (rank, folder) in ranked {
            let list = match rank {
                Rank::Inbox | Rank::Sent | Rank::Archive | Rank::All => &mut places.first,
                Rank::Other | Rank::Drafts | Rank::View => &mut places.rest,
                Rank::Discarded if *within == Within::All => &mut places.discarded,
                Rank::Discarded => &mut places.rest,
            };
            list.push(folder.name.clone());
        }
        places
    }
}

/// How likely a message of a conversation lies there.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Rank {
    Inbox,
    Sent,
    Archive,
    All,
    Other,
    Drafts,
    /// Shows what lies elsewhere.
    View,
    Discarded,
}

impl Rank {
    fn of(folder: &Folder, purpose: Option<SpecialUse>) -> Self {
        if folder.name.as_str() == "INBOX" {
            return Self::Inbox;
        }
        match purpose {
            Some(SpecialUse::Sent) => Self::Sent,
            Some(SpecialUse::Archive) => Self::Archive,
            Some(SpecialUse::All) => Self::All,
            Some(SpecialUse::Drafts) => Self::Drafts,
            Some(SpecialUse::Flagged | SpecialUse::Important) => Self::View,
            Some(SpecialUse::Junk | SpecialUse::Trash) => Self::Discarded,
            None => Self::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folders(names: &[(&str, Option<SpecialUse>)]) -> Folders {
        let each = names.iter().map(|(name, special_use)| Folder {
            name: FolderName::new(*name).unwrap(),
            delimiter: Some('/'),
            special_use: *special_use,
            counts: None,
        });
        Folders {
            folders: each.collect(),
            unusable: 0,
        }
    }

    fn shown(names: &[FolderName]) -> String {
        let names: Vec<&str> = names.iter().map(FolderName::as_str).collect();
        names.join(",")
    }

    #[test]
    fn the_likeliest_come_first_and_what_was_thrown_away_last() {
        use SpecialUse::{All, Archive, Flagged, Junk, Sent, Trash};
        let told = [
            ("x", None),
            ("Spam", None),
            ("Müll", Some(Junk)),
            ("Trash", Some(Trash)),
            ("Starred", Some(Flagged)),
            ("A", Some(Archive)),
            ("Gesendet", Some(Sent)),
            ("inbox", None),
            ("Everything", Some(All)),
        ];
        let untold = [
            ("Sent Items", None),
            ("Deleted Items", None),
            ("INBOX", None),
            ("x", None),
        ];
        for (names, keeping, want) in [
            (
                &told[..],
                Keeping::Apart,
                [
                    "INBOX,Gesendet,A,Everything",
                    "x,Spam,Starred",
                    "Müll,Trash",
                ],
            ),
            (&told[..], Keeping::Labels, ["Everything", "", "Müll,Trash"]),
            (
                &untold[..],
                Keeping::Labels,
                ["INBOX,Sent Items", "x", "Deleted Items"],
            ),
        ] {
            let places = Places::of(&folders(names), &Within::All, keeping);
            let got = [&places.first, &places.rest, &places.discarded].map(|list| shown(list));
            assert_eq!(got, want);
        }
        let only = ["INBOX", "x", "Trash", "nowhere"].map(|name| FolderName::new(name).unwrap());
        let places = Places::of(
            &folders(&told),
            &Within::Only(only.to_vec()),
            Keeping::Labels,
        );
        let got = [&places.first, &places.rest, &places.discarded].map(|list| shown(list));
        assert_eq!(got, ["INBOX", "x,Trash", ""]);
        // Which folder is for what is said by those alone that may be searched.
        let hidden = [("Sent Items", None), ("x", None), ("Secret", Some(Sent))];
        let only = ["x", "Sent Items"].map(|name| FolderName::new(name).unwrap());
        for there in [&hidden[..], &hidden[..2]] {
            let within = Within::Only(only.to_vec());
            let places = Places::of(&folders(there), &within, Keeping::Apart);
            assert_eq!(
                (shown(&places.first), shown(&places.rest)),
                ("Sent Items".to_owned(), "x".to_owned())
            );
        }
    }
}
