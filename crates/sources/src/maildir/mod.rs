//! Maildir as a source: Maildir++ and nested directories on this machine, read only.
//!
//! Nothing is written, moved or marked here, and nothing is remembered between calls: every answer is what
//! lies on disk now. Numbers for messages come from file names, so they survive a restart and a new machine.

mod folders;
mod matching;
mod message;
mod name;
mod octets;
mod open;
mod page;
mod scan;
mod sift;

pub(crate) use folders::special_use;

use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use mail::{
    AccountId, Answer, Choose, Condition, Counts, Cx, Described, Fault, FaultKind, Fetched, Folder,
    FolderName, Folders, Found, MailSource, MessageRef, RawMessage, Search, Sifted, Snippets,
    SourceKind, Stage, Summary, UidSet, UidValidity, Verified, Witness,
};

use crate::local::work;
use folders::Tree;
use matching::Test;
use work::{Stop, off_thread};

/// File names do not come back with another meaning, so there is one generation.
const UIDVALIDITY: UidValidity = UidValidity(1);

/// The mail of one account in a Maildir.
#[derive(Clone, Debug)]
pub struct Maildir {
    account: AccountId,
    root: Arc<PathBuf>,
}

impl Maildir {
    /// Looks at nothing yet: a root that is missing shows when it is asked for.
    pub fn open(account: AccountId, root: PathBuf) -> Self {
        Self {
            account,
            root: Arc::new(root),
        }
    }

    fn check(&self, at: &MessageRef) -> Result<(), Fault> {
        if at.source != SourceKind::Maildir || at.account != self.account {
            return Err(Fault::new(FaultKind::NoSuchMessage, Stage::OpenFolder));
        }
        generation(at.uidvalidity)
    }
}

impl MailSource for Maildir {
    fn describe(&self) -> Described {
        Described {
            kind: SourceKind::Maildir,
            host: "localhost".to_owned(),
            port: 0,
            secure: true,
            authserv_id: None,
            home: crate::home::named(&["maildir", &self.root.display().to_string()]),
        }
    }

    fn verify<'a>(&'a self, cx: &'a Cx) -> Answer<'a, Verified> {
        Box::pin(async move {
            cx.enter(Stage::ListFolders);
            let root = Arc::clone(&self.root);
            off_thread(Stage::ListFolders, move |stop| Tree::read(&root, stop)).await?;
            Ok(Verified::default())
        })
    }

    fn folders<'a>(&'a self, cx: &'a Cx) -> Answer<'a, Folders> {
        Box::pin(async move {
            cx.enter(Stage::ListFolders);
            let root = Arc::clone(&self.root);
            off_thread(Stage::ListFolders, move |stop| {
                let tree = Tree::read(&root, stop)?;
                Ok(Folders {
                    folders: tree.places.iter().map(|at| described(at, stop)).collect(),
                    unusable: tree.unusable,
                })
            })
            .await
        })
    }

    fn search<'a>(&'a self, cx: &'a Cx, search: &'a Search) -> Answer<'a, Found> {
        Box::pin(async move {
            cx.enter(Stage::Search);
            if let Some(below) = search.below {
                generation(below.uidvalidity)?;
            }
            let root = Arc::clone(&self.root);
            let search = search.clone();
            off_thread(Stage::Search, move |stop| page::find(&root, &search, stop)).await
        })
    }

    fn sift<'a>(
        &'a self,
        cx: &'a Cx,
        folder: &'a FolderName,
        tests: &'a [Condition],
    ) -> Answer<'a, Sifted> {
        Box::pin(async move {
            cx.enter(Stage::Search);
            let root = Arc::clone(&self.root);
            let folder = folder.clone();
            let tests = tests.iter().map(Test::new).collect::<Result<Vec<_>, _>>()?;
            off_thread(Stage::Search, move |stop| {
                sift::sift(&root, &folder, &tests, stop)
            })
            .await
        })
    }

    fn summaries<'a>(
        &'a self,
        cx: &'a Cx,
        folder: &'a FolderName,
        uidvalidity: UidValidity,
        uids: &'a UidSet,
        snippets: Snippets,
    ) -> Answer<'a, Vec<Summary>> {
        Box::pin(async move {
            generation(uidvalidity)?;
            cx.enter(Stage::Fetch);
            let root = Arc::clone(&self.root);
            let (folder, uids) = (folder.clone(), uids.clone());
            off_thread(Stage::Fetch, move |stop| {
                sift::summaries(&root, &folder, &uids, snippets, stop)
            })
            .await
        })
    }

    fn message<'a>(
        &'a self,
        cx: &'a Cx,
        at: &'a MessageRef,
        choose: Choose<'a>,
    ) -> Answer<'a, Fetched> {
        Box::pin(async move {
            self.check(at)?;
            cx.enter(Stage::Fetch);
            let root = Arc::clone(&self.root);
            let (folder, uid) = (at.folder.clone(), at.uid);
            let loaded = off_thread(Stage::Fetch, move |stop| {
                message::load(&root, &folder, uid, stop)
            })
            .await?;
            let wishes = choose(&loaded.structure);
            Ok(loaded.fetched(&wishes))
        })
    }

    fn raw<'a>(&'a self, cx: &'a Cx, at: &'a MessageRef, max_bytes: u64) -> Answer<'a, RawMessage> {
        Box::pin(async move {
            self.check(at)?;
            cx.enter(Stage::Fetch);
            let root = Arc::clone(&self.root);
            let (folder, uid) = (at.folder.clone(), at.uid);
            off_thread(Stage::Fetch, move |stop| {
                message::raw(&root, &folder, uid, max_bytes, stop)
            })
            .await
        })
    }

    fn look<'a>(
        &'a self,
        cx: &'a Cx,
        at: &'a MessageRef,
        octets: u64,
    ) -> Answer<'a, Option<(Witness, Bytes)>> {
        Box::pin(async move {
            self.check(at)?;
            cx.enter(Stage::Confirm);
            let root = Arc::clone(&self.root);
            let (folder, uid) = (at.folder.clone(), at.uid);
            let looked = off_thread(Stage::Confirm, move |stop| {
                octets::look(&root, &folder, uid, octets, stop)
            });
            match looked.await {
                Err(fault) if fault.kind == FaultKind::NoSuchMessage => Ok(None),
                other => other.map(Some),
            }
        })
    }

    fn octets<'a>(
        &'a self,
        cx: &'a Cx,
        at: &'a MessageRef,
        from: u64,
        most: u32,
    ) -> Answer<'a, Bytes> {
        Box::pin(async move {
            self.check(at)?;
            cx.enter(Stage::Fetch);
            let root = Arc::clone(&self.root);
            let (folder, uid) = (at.folder.clone(), at.uid);
            off_thread(Stage::Fetch, move |stop| {
                octets::octets(&root, &folder, uid, from, most, stop)
            })
            .await
        })
    }
}

fn generation(uidvalidity: UidValidity) -> Result<(), Fault> {
    if uidvalidity != UIDVALIDITY {
        return Err(Fault::new(FaultKind::Conflict, Stage::OpenFolder));
    }
    Ok(())
}

fn described(place: &folders::Place, stop: &Stop) -> Folder {
    let counts = scan::scan(&place.directory, stop).ok().map(|scan| Counts {
        messages: count(scan.entries.len()),
        unread: count(scan.entries.iter().filter(|e| e.is_unread()).count()),
    });
    Folder {
        name: place.name.clone(),
        delimiter: Some('/'),
        special_use: folders::special_use(&place.name),
        counts,
    }
}

fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
