//! The folders in which a question is answered: listed, brought into the index, and told of in the end.

use std::collections::{HashMap, HashSet};
use std::io;

use mail::{
    Coverage, FolderName, HeaderId, Kindred, Member, Skipped, Sought, SpecialUse, Why, Within,
};

use super::super::folders::{Place, Wanted, special_use};
use super::super::index::{self, Broken, Role};
use super::super::stamp::Stamps;
use super::super::visit::Visit;
use super::Ground;

/// Folders that change while others are listed are listed again this often.
const MOST_LISTINGS: usize = 3;

/// What trash and junk are to a question, once they had to be looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Discarded {
    /// Folders like others.
    Searched,
    /// Those where something was found are part of the conversation, and the others are not; all of them where nothing
    /// was found anywhere.
    Joined,
}

pub(super) struct Search<'a> {
    pub(super) ground: Ground<'a>,
    /// By the number that the index gives them.
    pub(super) folders: HashMap<i64, Searched<'a>>,
    /// Not searched yet.
    discarded: Vec<Place>,
    /// Of `folders`, those that are trash or junk.
    joined: HashMap<i64, FolderName>,
    searched: Vec<FolderName>,
    skipped: Vec<Skipped>,
    pub(super) exhausted: bool,
    pub(super) members: Vec<Member>,
    /// Messages that were looked at, whatever came of it.
    pub(super) looked: usize,
    pub(super) most: usize,
    /// There are more messages than may be looked at.
    pub(super) is_full: bool,
    /// Something was listed, and gone when it was to be opened.
    pub(super) lost: bool,
    /// A folder was not as the index had it.
    changed: bool,
}

pub(super) struct Searched<'a> {
    pub(super) visit: Visit<'a>,
    /// What it had when it was looked at.
    pub(super) stamps: Option<Stamps>,
    /// By the keys of its messages.
    pub(super) met: HashMap<Vec<u8>, Met>,
}

/// A message that was looked at. INVARIANT: none is looked at twice, however many of its ids are followed.
pub(super) enum Met {
    /// It is a member, or cannot be one.
    Settled,
    /// It has the digest of an id, and not the id. It may have another.
    Stranger(Box<Member>),
}

impl<'a> Search<'a> {
    pub(super) fn begin(ground: Ground<'a>, sought: &Sought) -> Result<Self, Broken> {
        ground.progress.begin();
        let wanted = match &sought.within {
            Within::All => Wanted::All,
            Within::Only(only) => Wanted::Only(only),
        };
        let mut places = ground.catalog.tree(wanted, ground.stop)?.places;
        match wanted {
            Wanted::All => index::prune(ground.conn, &places)?,
            Wanted::Only(only) => places.retain(|place| only.contains(&place.name)),
        }
        places.sort_by_key(|place| rank(&place.name));
        let is_discarded = |place: &Place| {
            let special_use = special_use(&place.name);
            let thrown = matches!(special_use, Some(SpecialUse::Trash | SpecialUse::Junk));
            thrown && sought.within == Within::All
        };
        let (discarded, places): (Vec<_>, Vec<_>) = places.into_iter().partition(is_discarded);
        let mut search = Self {
            ground,
            folders: HashMap::new(),
            discarded,
            joined: HashMap::new(),
            searched: Vec::new(),
            skipped: Vec::new(),
            exhausted: true,
            members: Vec::new(),
            looked: 0,
            most: sought.effort.messages,
            is_full: false,
            lost: false,
            changed: false,
        };
        // However many there are: what did not change costs a look at its stamps, and what is left out is found by nobody.
        for place in places {
            if search.enter(&place)?.is_some() {
                search.searched.push(place.name);
            }
        }
        search.settle()?;
        Ok(search)
    }

    /// Lists again what changed while other folders were listed: a message may have come from there, and would be in none.
    /// A move within one step of the file system's clock is not seen.
    pub(super) fn settle(&mut self) -> Result<(), Broken> {
        for listings in 0.. {
            // Where all is as the index has it, nothing was moved.
            if !std::mem::take(&mut self.changed) {
                break;
            }
            let folders = self.folders.iter();
            let changed = folders.filter(|(_, one)| one.stamps != Some(one.visit.place().stamps()));
            let changed: Vec<(i64, Place)> = changed
                .map(|(id, one)| (*id, one.visit.place().clone()))
                .collect();
            if listings == MOST_LISTINGS {
                self.exhausted &= changed.is_empty();
                break;
            }
            for (id, place) in changed {
                if self.enter(&place)?.is_none() {
                    self.folders.remove(&id);
                    self.joined.remove(&id);
                    self.searched.retain(|name| *name != place.name);
                }
            }
        }
        Ok(())
    }

    /// Makes a folder part of the search; none if it cannot be read.
    pub(super) fn enter(&mut self, place: &Place) -> Result<Option<i64>, Broken> {
        let ground = &mut self.ground;
        let (catalog, stop) = (ground.catalog, ground.stop);
        let folder = match index::refresh(ground.conn, catalog, place, stop, ground.progress) {
            // One folder that cannot be read hides nothing of the others.
            Err(Broken::Io(error)) if error.kind() != io::ErrorKind::Interrupted => {
                self.skip(&place.name, Why::Failed);
                return Ok(None);
            }
            other => other?,
        };
        self.exhausted &= folder.unread == 0;
        self.changed |= folder.scan.is_some();
        let met = self.folders.remove(&folder.id).map(|before| before.met);
        let searched = Searched {
            visit: Visit::new(catalog, place.clone(), stop).listed(folder.scan),
            stamps: folder.stamps,
            met: met.unwrap_or_default(),
        };
        self.folders.insert(folder.id, searched);
        Ok(Some(folder.id))
    }

    fn skip(&mut self, folder: &FolderName, why: Why) {
        self.skipped.push(Skipped {
            folder: folder.clone(),
            why,
        });
    }

    /// The messages that have the ids.
    pub(super) fn anchors(&mut self, sought: &Sought) -> Result<(), Broken> {
        self.take(&sought.ids, Role::Own)?;
        let nowhere: Vec<HeaderId> = {
            let own = self.members.iter().filter_map(|one| one.links.id.as_ref());
            let own: HashSet<&HeaderId> = own.collect();
            let ids = sought.ids.iter().filter(|id| !own.contains(id));
            ids.cloned().collect()
        };
        if nowhere.is_empty() || self.discarded.is_empty() {
            return Ok(());
        }
        for place in std::mem::take(&mut self.discarded) {
            if let Some(id) = self.enter(&place)? {
                self.joined.insert(id, place.name);
            }
        }
        self.settle()?;
        self.take(&nowhere, Role::Own)
    }

    /// Says what became of trash and junk, and leaves out what is no part of the rest of the search.
    pub(super) fn discard(&mut self, are: Discarded) {
        let joined = std::mem::take(&mut self.joined);
        let mut passed: Vec<FolderName> = Vec::new();
        let mut searched: Vec<FolderName> = Vec::new();
        let is_in = |name: &FolderName| self.members.iter().any(|one| one.at.folder == *name);
        let found: HashSet<FolderName> = joined
            .values()
            .filter(|name| is_in(name))
            .cloned()
            .collect();
        for (id, name) in joined {
            let elsewhere = !found.is_empty() && !found.contains(&name);
            if are == Discarded::Joined && elsewhere {
                self.folders.remove(&id);
                passed.push(name);
            } else {
                searched.push(name);
            }
        }
        passed.extend(self.discarded.drain(..).map(|place| place.name));
        passed.sort();
        searched.sort();
        for name in passed {
            self.skip(&name, Why::Discarded);
        }
        self.searched.append(&mut searched);
    }

    pub(super) fn end(self) -> Kindred {
        Kindred {
            members: self.members,
            coverage: Coverage {
                searched: self.searched,
                skipped: self.skipped,
                as_of: None,
                exhausted: self.exhausted,
            },
        }
    }
}

/// Where conversations are, first.
fn rank(name: &FolderName) -> u8 {
    match special_use(name) {
        _ if name.as_str() == "INBOX" => 0,
        Some(SpecialUse::Sent) => 1,
        Some(SpecialUse::Archive) => 2,
        Some(SpecialUse::All) => 3,
        _ => 4,
    }
}
