//! Maildir as a source: Maildir++ and nested directories on this machine, read only.
//!
//! Nothing is written, moved or marked here, and nothing is remembered between calls: every answer is what
//! lies on disk now. Numbers for messages come from file names, so they survive a restart and a new machine.

mod folders;
mod matching;
mod message;
mod name;
mod open;
mod page;
mod scan;
mod work;

use std::path::PathBuf;
use std::sync::Arc;

use mail::{
    AccountId, Answer, Choose, Counts, Cx, Described, Fault, FaultKind, Fetched, Folder, Folders,
    Found, MailSource, MessageRef, RawMessage, Search, SourceKind, Stage, UidValidity, Verified,
};

use folders::Tree;
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
        _: &'a Cx,
        _: &'a mail::FolderName,
        _: &'a [mail::Condition],
    ) -> Answer<'a, mail::Sifted> {
        Box::pin(async { Err(Fault::new(mail::FaultKind::Rejected, Stage::Search)) })
    }

    fn summaries<'a>(
        &'a self,
        _: &'a Cx,
        _: &'a mail::FolderName,
        _: mail::UidValidity,
        _: &'a mail::UidSet,
        _: mail::Snippets,
    ) -> Answer<'a, Vec<mail::Summary>> {
        Box::pin(async { Err(Fault::new(mail::FaultKind::Rejected, Stage::Fetch)) })
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
