//! Apple Mail as a source: a `~/Library/Mail` tree on this machine or a copy of one on any other, read only.
//!
//! Nothing is written, moved or marked in the store, and Mail may run meanwhile. Messages have the numbers that Mail gives
//! them, and where it begins a new database, as people have it do to repair the old one, it numbers them anew: which database
//! an id is of is part of it. Beside the store an index of our own is kept, which can be thrown away at any time.

mod accounts;
mod boxes;
mod copies;
mod database;
mod emlx;
mod envelope;
mod files;
mod headers;
mod hunt;
mod index;
mod kindred;
mod message;
mod page;
mod place;
mod rows;
mod schema;
mod url;
mod visit;
mod whole;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use mail::{
    AccountId, Answer, Choose, Condition, Counts, Cx, Described, Fault, FaultKind, Fetched, Folder,
    FolderName, Folders, Found, Kindred, MailSource, MessageRef, RawMessage, Search, Sifted,
    Snippets, Sought, SourceKind, Stage, Summary, UidSet, UidValidity, Verified, Within, Witness,
};
use tokio::sync::Mutex;

use crate::local::matching::Test;
use crate::local::work::{Stop, off_thread, watched};
use boxes::Mailbox;
use copies::Copies;
use hunt::Hunt;
use visit::Visit;

/// The mail of one account of Apple Mail, or of all of them.
#[derive(Clone)]
pub struct Apple {
    account: AccountId,
    settings: Arc<Settings>,
}

struct Settings {
    root: PathBuf,
    which: Option<String>,
    copies: Copies,
    index: Arc<Mutex<index::Shared>>,
}

impl Apple {
    /// Looks at nothing yet: a store that is missing shows when it is asked for.
    ///
    /// `root` is `~/Library/Mail`, of which the highest `V` directory counts, or one of these. `which` is an account of the
    /// store by UUID, name or address; without it the folders of all accounts are there, each name begun by that of its
    /// account. In `state` an index of Message-IDs is kept; without it, it is built anew by each process.
    pub fn open(
        account: AccountId,
        root: PathBuf,
        which: Option<String>,
        state: Option<PathBuf>,
    ) -> Self {
        let store = crate::home::named(&["apple", &root.display().to_string()]);
        let name = format!("apple-{store}.index");
        let file = state.as_ref().map(|state| state.join(name));
        Self {
            account,
            settings: Arc::new(Settings {
                root,
                which,
                copies: Copies::new(state.as_deref()),
                index: Arc::new(Mutex::new(index::Shared::new(file))),
            }),
        }
    }

    /// Of which database it is shows when that is opened.
    fn check(&self, at: &MessageRef) -> Result<(), Fault> {
        if at.source != SourceKind::Apple || at.account != self.account {
            return Err(Fault::new(FaultKind::NoSuchMessage, Stage::OpenFolder));
        }
        Ok(())
    }

    /// Runs `job` on the store as it is now, off the async threads.
    fn visit<'a, T, F>(&'a self, cx: &'a Cx, stage: Stage, job: F) -> Answer<'a, T>
    where
        T: Send + 'static,
        F: FnOnce(&Visit<'_>) -> Result<T, Fault> + Send + 'static,
    {
        Box::pin(async move {
            cx.enter(stage);
            let settings = Arc::clone(&self.settings);
            off_thread(stage, move |stop| job(&Visit::begin(&settings, stop)?)).await
        })
    }

    /// The same for one message.
    fn message_visit<'a, T, F>(
        &'a self,
        cx: &'a Cx,
        at: &'a MessageRef,
        stage: Stage,
        job: F,
    ) -> Answer<'a, T>
    where
        T: Send + 'static,
        F: FnOnce(&Visit<'_>, &MessageRef) -> Result<T, Fault> + Send + 'static,
    {
        if let Err(fault) = self.check(at) {
            return Box::pin(async { Err(fault) });
        }
        let at = at.clone();
        self.visit(cx, stage, move |visit| {
            visit.check(at.uidvalidity)?;
            job(visit, &at)
        })
    }

    /// Runs `job` with the index. Who waits for it waits here, and holds no thread meanwhile.
    fn hunt<'a>(
        &'a self,
        cx: &'a Cx,
        sought: &'a Sought,
        job: fn(Hunt<'_>, &AccountId) -> Result<Kindred, Fault>,
    ) -> Answer<'a, Kindred> {
        Box::pin(async move {
            cx.enter(Stage::Search);
            // INVARIANT: the index comes first, then the view of the store: none is older than what the index knows.
            let mut index = Arc::clone(&self.settings.index).lock_owned().await;
            let (this, asked) = (self.clone(), sought.clone());
            let work = move |stop: &Stop| {
                let visit = Visit::begin(&this.settings, stop)?;
                index.with(|index| job(Hunt::begin(&visit, index, &asked)?, &this.account))
            };
            // INVARIANT: how much there is to read is told to nobody but who may see all of it.
            match sought.within {
                Within::All => watched(cx, Stage::Search, work).await,
                Within::Only(_) => off_thread(Stage::Search, work).await,
            }
        })
    }
}

impl MailSource for Apple {
    fn describe(&self) -> Described {
        let which = self.settings.which.as_deref().unwrap_or_default();
        Described {
            kind: SourceKind::Apple,
            host: "localhost".to_owned(),
            port: 0,
            secure: true,
            authserv_id: None,
            home: crate::home::named(&["apple", &self.settings.root.display().to_string(), which]),
        }
    }

    fn verify<'a>(&'a self, cx: &'a Cx) -> Answer<'a, Verified> {
        self.visit(cx, Stage::ListFolders, |_| Ok(Verified::default()))
    }

    fn folders<'a>(&'a self, cx: &'a Cx) -> Answer<'a, Folders> {
        self.visit(cx, Stage::ListFolders, |visit| {
            let counts = visit.db.counts()?;
            let boxes = visit.boxes.all.iter();
            Ok(Folders {
                folders: boxes.map(|one| described(one, &counts)).collect(),
                unusable: visit.boxes.unusable,
            })
        })
    }

    fn search<'a>(&'a self, cx: &'a Cx, search: &'a Search) -> Answer<'a, Found> {
        let search = search.clone();
        self.visit(cx, Stage::Search, move |visit| page::find(visit, &search))
    }

    fn sift<'a>(
        &'a self,
        cx: &'a Cx,
        folder: &'a FolderName,
        tests: &'a [Condition],
    ) -> Answer<'a, Sifted> {
        let folder = folder.clone();
        let tests = tests.iter().map(Test::new).collect::<Result<Vec<_>, _>>();
        self.visit(cx, Stage::Search, move |visit| {
            page::sift(visit, &folder, &tests?)
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
        let (folder, uids) = (folder.clone(), uids.clone());
        self.visit(cx, Stage::Fetch, move |visit| {
            visit.check(uidvalidity)?;
            page::summaries(visit, &folder, &uids, snippets)
        })
    }

    fn message<'a>(
        &'a self,
        cx: &'a Cx,
        at: &'a MessageRef,
        choose: Choose<'a>,
    ) -> Answer<'a, Fetched> {
        let load = self.message_visit(cx, at, Stage::Fetch, |visit, at| {
            message::load(visit, &at.folder, at.uid)
        });
        Box::pin(async move {
            let loaded = load.await?;
            let wishes = choose(&loaded.structure);
            Ok(loaded.fetched(&wishes))
        })
    }

    fn raw<'a>(&'a self, cx: &'a Cx, at: &'a MessageRef, max_bytes: u64) -> Answer<'a, RawMessage> {
        self.message_visit(cx, at, Stage::Fetch, move |visit, at| {
            message::raw(visit, &at.folder, at.uid, max_bytes)
        })
    }

    fn messages<'a>(
        &'a self,
        cx: &'a Cx,
        wanted: &'a [MessageRef],
        choose: Choose<'a>,
    ) -> Answer<'a, Vec<Result<Fetched, Fault>>> {
        Box::pin(async move {
            let mut all = Vec::with_capacity(wanted.len());
            while let Some(rest) = wanted.get(all.len()..).filter(|rest| !rest.is_empty()) {
                let checked = rest.iter().map(|at| self.check(at).map(|()| at.clone()));
                let checked: Vec<_> = checked.collect();
                let load = self.visit(cx, Stage::Fetch, |visit| message::load_some(visit, checked));
                for loaded in load.await? {
                    all.push(loaded.map(|loaded| {
                        let wishes = choose(&loaded.structure);
                        loaded.fetched(&wishes)
                    }));
                }
            }
            Ok(all)
        })
    }

    fn locate<'a>(&'a self, cx: &'a Cx, sought: &'a Sought) -> Answer<'a, Kindred> {
        self.hunt(cx, sought, |hunt, account| hunt.locate(account))
    }

    fn kindred<'a>(&'a self, cx: &'a Cx, sought: &'a Sought) -> Answer<'a, Kindred> {
        self.hunt(cx, sought, |hunt, account| hunt.kindred(account))
    }

    fn file<'a>(&'a self, cx: &'a Cx, at: &'a MessageRef) -> Answer<'a, Option<PathBuf>> {
        self.message_visit(cx, at, Stage::Fetch, |visit, at| {
            let row = visit.row(&at.folder, at.uid)?;
            visit.path(&row).map(Some)
        })
    }

    fn look<'a>(
        &'a self,
        cx: &'a Cx,
        at: &'a MessageRef,
        octets: u64,
    ) -> Answer<'a, Option<(Witness, Bytes)>> {
        self.message_visit(
            cx,
            at,
            Stage::Confirm,
            move |visit, at| match message::look(visit, &at.folder, at.uid, octets) {
                Err(fault) if fault.kind == FaultKind::NoSuchMessage => Ok(None),
                other => other.map(Some),
            },
        )
    }

    fn octets<'a>(
        &'a self,
        cx: &'a Cx,
        at: &'a MessageRef,
        from: u64,
        most: u32,
    ) -> Answer<'a, Bytes> {
        self.message_visit(cx, at, Stage::Fetch, move |visit, at| {
            message::octets(visit, &at.folder, at.uid, from, most)
        })
    }
}

fn described(mailbox: &Mailbox, counts: &HashMap<i64, Counts>) -> Folder {
    let none = Counts {
        messages: 0,
        unread: 0,
    };
    Folder {
        name: mailbox.name.clone(),
        delimiter: Some('/'),
        special_use: mailbox.special_use,
        counts: Some(counts.get(&mailbox.row).copied().unwrap_or(none)),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use mail::{Effort, HeaderId};
    use testkit::apple::{AppleStore, Letter};

    use super::*;

    /// Until it waits.
    async fn begun(answer: &mut Answer<'_, Kindred>) {
        tokio::select! {
            biased;
            _ = answer => panic!("it did not wait"),
            () = std::future::ready(()) => {}
        }
    }

    #[test]
    fn who_waits_for_the_index_holds_no_thread_and_may_leave_and_sees_what_came_meanwhile() {
        let mut store = AppleStore::new();
        let inbox = store.folder("INBOX");
        let account = AccountId::new("mac").unwrap();
        let apple = Apple::open(account, store.root(), None, None);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(1)
            .build()
            .unwrap();
        runtime.block_on(async {
            let (cx, sought) = (
                Cx::new(),
                Sought {
                    ids: HeaderId::new(b"new@x").into_iter().collect(),
                    within: Within::All,
                    effort: Effort {
                        folders: 1,
                        rounds: 1,
                        messages: 1,
                    },
                },
            );
            let building = Arc::clone(&apple.settings.index).lock_owned().await;
            let mut leaving = apple.locate(&cx, &sought);
            let mut waiting = apple.locate(&cx, &sought);
            begun(&mut leaving).await;
            begun(&mut waiting).await;
            // The only thread is free for others.
            let folders = tokio::time::timeout(Duration::from_secs(30), apple.folders(&cx));
            assert_eq!(folders.await.unwrap().unwrap().folders.len(), 1);
            drop(leaving);
            store.message(inbox, Letter::new("Message-ID: <new@x>\n\nText.\n"));
            drop(building);
            assert_eq!(waiting.await.unwrap().members.len(), 1);
        });
    }
}
