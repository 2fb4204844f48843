//! Messages by their Message-IDs, and whole conversations, by the index of headers.
//!
//! The index only says where to look: a message is part of an answer when its own header says so.

use std::collections::{HashMap, HashSet};
use std::io;

use mail::{
    AccountId, Coverage, FolderName, HeaderId, Kindred, Member, MessageRef, Skipped, Snippets,
    Sought, SourceKind, SpecialUse, Why, Within,
};
use rusqlite::Connection;

use super::UIDVALIDITY;
use super::catalog::Catalog;
use super::folders::{Place, Wanted, special_use};
use super::index::{self, Broken, Progress, Role, Then};
use super::message::Loaded;
use super::scan::Sharing;
use super::stamp::Stamps;
use super::visit::Visit;
use super::work::Stop;

/// So many ids are followed: what refers to more is no conversation.
const MOST_IDS: usize = 200_000;

/// Folders that change while others are listed are listed again this often.
const MOST_LISTINGS: usize = 3;

/// What a question is answered from.
pub(super) struct Ground<'a> {
    pub(super) account: &'a AccountId,
    pub(super) catalog: &'a Catalog,
    /// The index.
    pub(super) conn: &'a mut Connection,
    pub(super) stop: &'a Stop,
    pub(super) progress: &'a Progress,
}

impl Ground<'_> {
    fn again(&mut self) -> Ground<'_> {
        Ground {
            account: self.account,
            catalog: self.catalog,
            conn: self.conn,
            stop: self.stop,
            progress: self.progress,
        }
    }
}

/// Every copy that has one of the ids. Trash and junk are looked at for those that are nowhere else.
pub(super) fn locate(ground: Ground<'_>, sought: &Sought) -> Result<Kindred, Broken> {
    answered(ground, sought, |search| {
        search.anchors(sought)?;
        search.discard(Discarded::Searched);
        Ok(())
    })
}

/// Everything that has or names one of the ids, and what those have and name in turn. Trash and junk are part of it where
/// one of the ids is there and nowhere else.
pub(super) fn kindred(ground: Ground<'_>, sought: &Sought) -> Result<Kindred, Broken> {
    answered(ground, sought, |search| {
        search.anchors(sought)?;
        search.discard(Discarded::Joined);
        search.close(sought)
    })
}

/// Searches, and once more where something was listed and then gone: it may lie by now in a folder that was listed before.
fn answered(
    mut ground: Ground<'_>,
    sought: &Sought,
    mut ask: impl FnMut(&mut Search<'_>) -> Result<(), Broken>,
) -> Result<Kindred, Broken> {
    let mut search = Search::begin(ground.again(), sought)?;
    ask(&mut search)?;
    if !search.lost {
        return Ok(search.end());
    }
    let mut search = Search::begin(ground, sought)?;
    ask(&mut search)?;
    search.exhausted &= !search.lost;
    Ok(search.end())
}

/// What trash and junk are to a question, once they had to be looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Discarded {
    /// Folders like others.
    Searched,
    /// Those where something was found are part of the conversation, and the others are not; all of them where nothing
    /// was found anywhere.
    Joined,
}

struct Search<'a> {
    ground: Ground<'a>,
    /// By the number that the index gives them.
    folders: HashMap<i64, Searched<'a>>,
    /// Not searched yet.
    discarded: Vec<Place>,
    /// Of `folders`, those that are trash or junk.
    joined: HashMap<i64, FolderName>,
    searched: Vec<FolderName>,
    skipped: Vec<Skipped>,
    exhausted: bool,
    members: Vec<Member>,
    /// Messages that were looked at, whatever came of it.
    looked: usize,
    most: usize,
    /// There are more messages than may be looked at.
    is_full: bool,
    /// Something was listed, and gone when it was to be opened.
    lost: bool,
    /// A folder was not as the index had it.
    changed: bool,
}

struct Searched<'a> {
    visit: Visit<'a>,
    /// What it had when it was looked at.
    stamps: Option<Stamps>,
    /// By the keys of its messages.
    met: HashMap<Vec<u8>, Met>,
}

/// A message that was looked at. INVARIANT: none is looked at twice, however many of its ids are followed.
enum Met {
    /// It is a member, or cannot be one.
    Settled,
    /// It has the digest of an id, and not the id. It may have another.
    Stranger(Box<Member>),
}

impl<'a> Search<'a> {
    fn begin(ground: Ground<'a>, sought: &Sought) -> Result<Self, Broken> {
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
    fn settle(&mut self) -> Result<(), Broken> {
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
    fn enter(&mut self, place: &Place) -> Result<Option<i64>, Broken> {
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
    fn anchors(&mut self, sought: &Sought) -> Result<(), Broken> {
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
    fn discard(&mut self, are: Discarded) {
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

    /// Follows the ids, and those of all that is found by them.
    fn close(&mut self, sought: &Sought) -> Result<(), Broken> {
        let mut seen: HashSet<HeaderId> = HashSet::new();
        let mut next: Vec<HeaderId> = Vec::new();
        let linked = self.members.iter().flat_map(|one| one.links.all());
        for id in sought.ids.iter().chain(linked) {
            if seen.insert(id.clone()) {
                next.push(id.clone());
            }
        }
        while !next.is_empty() && !self.is_full {
            let before = self.members.len();
            self.take(&next, Role::Any)?;
            next.clear();
            for member in self.members.get(before..).unwrap_or_default() {
                self.ground.stop.check()?;
                for id in member.links.all() {
                    if seen.len() >= MOST_IDS {
                        self.exhausted = false;
                    } else if seen.insert(id.clone()) {
                        next.push(id.clone());
                    }
                }
            }
        }
        Ok(())
    }

    /// Adds the messages that have or name one of these ids.
    fn take(&mut self, ids: &[HeaderId], role: Role) -> Result<(), Broken> {
        for id in ids {
            for (folder, key) in self.unmet(id, role)? {
                self.meet(folder, key, id, role)?;
            }
            if self.is_full {
                self.exhausted = false;
                break;
            }
        }
        Ok(())
    }

    /// What has to be looked at for an id, and no more than may be. Nothing is opened while the index is being read: who
    /// writes to it would have to wait.
    fn unmet(&mut self, id: &HeaderId, role: Role) -> Result<Vec<(i64, Vec<u8>)>, Broken> {
        let Ground { conn, stop, .. } = &self.ground;
        let room = self.most.saturating_sub(self.looked);
        let mut unmet = Vec::new();
        stop.check()?;
        index::look(conn, id, role, |hit| {
            stop.check()?;
            let Some(searched) = self.folders.get(&hit.folder) else {
                return Ok(Then::More);
            };
            match searched.met.get(hit.key) {
                Some(Met::Settled) => return Ok(Then::More),
                Some(Met::Stranger(member)) if !is_meant(member, id, role) => {
                    return Ok(Then::More);
                }
                _ => {}
            }
            if unmet.len() >= room {
                self.is_full = true;
                return Ok(Then::Enough);
            }
            unmet.push((hit.folder, hit.key.to_vec()));
            Ok(Then::More)
        })?;
        Ok(unmet)
    }

    /// Looks at a message that may have or name the id.
    fn meet(&mut self, folder: i64, key: Vec<u8>, id: &HeaderId, role: Role) -> Result<(), Broken> {
        let Some(searched) = self.folders.get_mut(&folder) else {
            return Ok(());
        };
        let found = match searched.met.remove(&key) {
            Some(Met::Stranger(member)) => Ok(Some(*member)),
            _ => {
                self.looked += 1;
                member(self.ground.account, &mut searched.visit, &key)
            }
        };
        let met = match found {
            Ok(Some(member)) if is_meant(&member, id, role) => {
                self.members.push(member);
                Met::Settled
            }
            Ok(Some(member)) => Met::Stranger(Box::new(member)),
            Ok(None) => {
                self.lost = true;
                Met::Settled
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Err(error.into()),
            Err(_) => {
                self.exhausted = false;
                Met::Settled
            }
        };
        searched.met.insert(key, met);
        Ok(())
    }

    fn end(self) -> Kindred {
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

/// None when it is gone. INVARIANT: a uid that several files share opens none of them.
fn member(account: &AccountId, visit: &mut Visit<'_>, key: &[u8]) -> io::Result<Option<Member>> {
    let Some(uid) = visit.place().uid(key) else {
        return Ok(None);
    };
    let Some(entry) = visit.entry(uid)? else {
        return Ok(None);
    };
    if entry.sharing == Sharing::Shared {
        return Err(io::ErrorKind::ResourceBusy.into());
    }
    if entry.key() != key {
        return Ok(None);
    }
    let Some(loaded) = visit.shelf.read(&entry, Loaded::read)? else {
        return Ok(None);
    };
    Ok(Some(Member {
        at: MessageRef {
            source: SourceKind::Maildir,
            account: account.clone(),
            folder: visit.place().name.clone(),
            uidvalidity: UIDVALIDITY,
            uid: entry.uid,
        },
        links: loaded.links(),
        summary: loaded.summary(&entry, Snippets::Without),
    }))
}

fn is_meant(member: &Member, id: &HeaderId, role: Role) -> bool {
    match role {
        Role::Own => member.links.id.as_ref() == Some(id),
        Role::Any => member.links.all().any(|one| one == id),
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

#[cfg(test)]
mod tests;
