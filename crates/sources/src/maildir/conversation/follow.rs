//! From an id to the messages that have or name it, and from those to the next ids.
//!
//! Looks at no message twice, and at no more of them than may be part of an answer.

use std::collections::HashSet;
use std::io;

use mail::{AccountId, HeaderId, Member, MessageRef, Snippets, Sought, SourceKind};

use super::super::UIDVALIDITY;
use super::super::index::{self, Broken, Role, Then};
use super::super::message::Loaded;
use super::super::scan::Sharing;
use super::super::visit::Visit;
use super::Ground;
use super::search::{Met, Search};

/// So many ids are followed: what refers to more is no conversation.
const MOST_IDS: usize = 200_000;

impl Search<'_> {
    /// Follows the ids, and those of all that is found by them.
    pub(super) fn close(&mut self, sought: &Sought) -> Result<(), Broken> {
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
    pub(super) fn take(&mut self, ids: &[HeaderId], role: Role) -> Result<(), Broken> {
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
    pub(super) fn unmet(
        &mut self,
        id: &HeaderId,
        role: Role,
    ) -> Result<Vec<(i64, Vec<u8>)>, Broken> {
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
