//! Maildir as a source: Maildir++, nested directories and mbox files on this machine, read only.
//!
//! Nothing is written, moved or marked here. What is remembered between calls is looked at again before it is used: every
//! answer is what lies on disk now. Numbers for messages come from file names, or from what
//! a message is where many lie in one file, so they survive a restart and a new machine.
//!
//! A number has 32 bits, so two messages of a large folder may have the same. INVARIANT: while both are there it opens neither.
//! When one of them is deleted it opens the other: nothing is written down of what was there before. What
//! comes is judged as the message that it is, so nobody sees more than he may.

mod catalog;
mod conversation;
mod folders;
mod index;
mod matching;
mod mbox;
mod message;
mod name;
mod octets;
mod open;
mod page;
mod scan;
mod sift;
mod sizes;
mod stamp;
mod visit;

pub(crate) use folders::special_use;

use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use mail::{
    AccountId, Answer, Choose, Condition, Counts, Cx, Described, Fault, FaultKind, Fetched, Folder,
    FolderName, Folders, Found, Kindred, MailSource, MessageRef, RawMessage, Search, Sifted,
    Snippets, Sought, SourceKind, Stage, Summary, UidSet, UidValidity, Verified, Witness,
};

use crate::local::work;
use catalog::Catalog;
use conversation::Ground;
use folders::Wanted;
use index::{Broken, Index, Progress};
use matching::Test;
use work::{Stop, off_thread, off_thread_telling};

/// File names do not come back with another meaning, so there is one generation.
const UIDVALIDITY: UidValidity = UidValidity(1);

/// The mail of one account in a Maildir.
#[derive(Clone, Debug)]
pub struct Maildir {
    account: AccountId,
    catalog: Arc<Catalog>,
    index: Arc<Index>,
}

impl Maildir {
    /// Looks at nothing yet: a root that is missing shows when it is asked for.
    pub fn open(account: AccountId, root: PathBuf) -> Self {
        Self {
            account,
            catalog: Arc::new(Catalog::new(root)),
            index: Arc::new(Index::new(None)),
        }
    }

    /// Keeps the index of headers in a private file in this directory. Others may keep theirs there too: other accounts, and
    /// other processes with this one. Without it the index is in memory, and made anew by each process.
    pub fn with_index(self, directory: PathBuf) -> Self {
        let file = directory.join(format!("maildir-{}.db", self.describe().home));
        Self {
            index: Arc::new(Index::new(Some(file))),
            ..self
        }
    }

    /// Answers from the index, which may have to be made first. It is begun again where the index turns out to be damaged.
    async fn indexed(
        &self,
        cx: &Cx,
        sought: &Sought,
        answer: fn(Ground<'_>, &Sought) -> Result<Kindred, Broken>,
    ) -> Result<Kindred, Fault> {
        cx.enter(Stage::Index);
        // Before a thread is taken: another may be at it for long.
        let mut claim = self.index.claim().await;
        let progress = Arc::new(Progress::default());
        let (source, sought, counted) = (self.clone(), sought.clone(), Arc::clone(&progress));
        let job = move |stop: &Stop| {
            claim.with(|conn| {
                let ground = Ground {
                    account: &source.account,
                    catalog: &source.catalog,
                    conn,
                    stop,
                    progress: &counted,
                };
                answer(ground, &sought)
            })
        };
        off_thread_telling(Stage::Index, job, || {
            let (done, total) = progress.so_far();
            cx.count(done, total);
        })
        .await
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
            home: crate::home::named(&["maildir", &self.catalog.root.display().to_string()]),
        }
    }

    fn verify<'a>(&'a self, cx: &'a Cx) -> Answer<'a, Verified> {
        Box::pin(async move {
            cx.enter(Stage::ListFolders);
            let catalog = Arc::clone(&self.catalog);
            off_thread(Stage::ListFolders, move |stop| {
                catalog.tree(Wanted::All, stop)
            })
            .await?;
            Ok(Verified::default())
        })
    }

    fn folders<'a>(&'a self, cx: &'a Cx) -> Answer<'a, Folders> {
        Box::pin(async move {
            cx.enter(Stage::ListFolders);
            let catalog = Arc::clone(&self.catalog);
            off_thread(Stage::ListFolders, move |stop| {
                let tree = catalog.tree(Wanted::All, stop)?;
                Ok(Folders {
                    folders: tree
                        .places
                        .iter()
                        .map(|at| described(&catalog, at, stop))
                        .collect(),
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
            let catalog = Arc::clone(&self.catalog);
            let search = search.clone();
            off_thread(Stage::Search, move |stop| {
                page::find(&catalog, &search, stop)
            })
            .await
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
            let catalog = Arc::clone(&self.catalog);
            let folder = folder.clone();
            let tests = tests.iter().map(Test::new).collect::<Result<Vec<_>, _>>()?;
            off_thread(Stage::Search, move |stop| {
                sift::sift(&catalog, &folder, &tests, stop)
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
            let catalog = Arc::clone(&self.catalog);
            let (folder, uids) = (folder.clone(), uids.clone());
            off_thread(Stage::Fetch, move |stop| {
                sift::summaries(&catalog, &folder, &uids, snippets, stop)
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
            let catalog = Arc::clone(&self.catalog);
            let (folder, uid) = (at.folder.clone(), at.uid);
            let loaded = off_thread(Stage::Fetch, move |stop| {
                message::load(&catalog, &folder, uid, stop)
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
            let catalog = Arc::clone(&self.catalog);
            let (folder, uid) = (at.folder.clone(), at.uid);
            off_thread(Stage::Fetch, move |stop| {
                message::raw(&catalog, &folder, uid, max_bytes, stop)
            })
            .await
        })
    }

    fn messages<'a>(
        &'a self,
        cx: &'a Cx,
        wanted: &'a [MessageRef],
        choose: Choose<'a>,
    ) -> Answer<'a, Vec<Result<Fetched, Fault>>> {
        Box::pin(async move {
            cx.enter(Stage::Fetch);
            let mut all = Vec::with_capacity(wanted.len());
            while let Some(rest) = wanted.get(all.len()..).filter(|rest| !rest.is_empty()) {
                let checked = rest.iter().map(|at| self.check(at).map(|()| at.clone()));
                let checked: Vec<Result<MessageRef, Fault>> = checked.collect();
                let catalog = Arc::clone(&self.catalog);
                let some = off_thread(Stage::Fetch, move |stop| {
                    message::load_some(&catalog, checked, stop)
                });
                all.extend(some.await?.into_iter().map(|loaded| {
                    let loaded = loaded?;
                    let wishes = choose(&loaded.structure);
                    Ok(loaded.fetched(&wishes))
                }));
            }
            Ok(all)
        })
    }

    fn locate<'a>(&'a self, cx: &'a Cx, sought: &'a Sought) -> Answer<'a, Kindred> {
        Box::pin(self.indexed(cx, sought, conversation::locate))
    }

    fn kindred<'a>(&'a self, cx: &'a Cx, sought: &'a Sought) -> Answer<'a, Kindred> {
        Box::pin(self.indexed(cx, sought, conversation::kindred))
    }

    fn file<'a>(&'a self, cx: &'a Cx, at: &'a MessageRef) -> Answer<'a, Option<PathBuf>> {
        Box::pin(async move {
            self.check(at)?;
            cx.enter(Stage::Fetch);
            let catalog = Arc::clone(&self.catalog);
            let (folder, uid) = (at.folder.clone(), at.uid);
            off_thread(Stage::Fetch, move |stop| {
                message::file(&catalog, &folder, uid, stop)
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
            let catalog = Arc::clone(&self.catalog);
            let (folder, uid) = (at.folder.clone(), at.uid);
            let looked = off_thread(Stage::Confirm, move |stop| {
                octets::look(&catalog, &folder, uid, octets, stop)
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
            let catalog = Arc::clone(&self.catalog);
            let (folder, uid) = (at.folder.clone(), at.uid);
            off_thread(Stage::Fetch, move |stop| {
                octets::octets(&catalog, &folder, uid, from, most, stop)
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

fn described(catalog: &Catalog, place: &folders::Place, stop: &Stop) -> Folder {
    let counts = catalog.scan(place, stop).ok().map(|scan| Counts {
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
