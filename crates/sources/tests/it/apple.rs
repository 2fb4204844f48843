//! Apple Mail through its seam, against stores made for each test, in all generations of the schema.

mod absent;
mod conversations;
mod files;
mod folders;
mod generations;
mod hidden;
mod open;
mod real;
mod safety;

use std::path::PathBuf;

use mail::{
    AccountId, Cx, Effort, Fault, Fetched, FolderName, Found, HeaderId, Kindred, MailSource as _,
    MessageRef, PartWish, Query, RawMessage, Search, Section, Snippets, Sought, SourceKind,
    Structure, Uid, UidValidity, Urgency, Within,
};
use sources::apple::Apple;

/// A source, and how tests ask it.
struct Reader {
    source: Apple,
    cx: Cx,
}

fn folder(name: &str) -> FolderName {
    FolderName::new(name).unwrap()
}

fn id(text: &str) -> HeaderId {
    HeaderId::new(text.as_bytes()).unwrap()
}

fn listing(name: &str, limit: usize) -> Search {
    Search {
        folder: folder(name),
        query: Query::default(),
        below: None,
        limit,
        snippets: Snippets::Without,
        most_matches: 100_000,
    }
}

fn sought(ids: &[&str]) -> Sought {
    Sought {
        ids: ids.iter().map(|text| id(text)).collect(),
        within: Within::All,
        effort: Effort {
            folders: 100,
            rounds: 100,
            messages: 10_000,
        },
    }
}

/// Where members lie: `folder:row`, in order.
fn places(kindred: &Kindred) -> Vec<String> {
    let place = |at: &MessageRef| format!("{}:{}", at.folder, at.uid.0);
    let mut found: Vec<String> = kindred.members.iter().map(|one| place(&one.at)).collect();
    found.sort();
    found
}

impl Reader {
    fn new(root: PathBuf, which: Option<&str>) -> Self {
        Self::keeping(root, which, None)
    }

    fn keeping(root: PathBuf, which: Option<&str>, state: Option<PathBuf>) -> Self {
        let account = AccountId::new("mac").unwrap();
        Self {
            source: Apple::open(account, root, which.map(str::to_owned), state),
            cx: Cx::new(),
        }
    }

    async fn names(&self) -> Vec<String> {
        let folders = self.source.folders(&self.cx).await.unwrap().folders;
        folders.iter().map(|one| one.name.to_string()).collect()
    }

    async fn list(&self, name: &str) -> Found {
        self.source
            .search(&self.cx, &listing(name, 10_000))
            .await
            .unwrap()
    }

    async fn rows(&self, name: &str) -> Vec<i64> {
        let found = self.list(name).await;
        found
            .summaries
            .iter()
            .map(|one| i64::from(one.uid.0))
            .collect()
    }

    /// Of the database as it is now.
    async fn at(&self, name: &str, row: i64) -> MessageRef {
        let folders = self.source.folders(&self.cx).await.unwrap().folders;
        let any = listing(folders[0].name.as_str(), 1);
        let found = self.source.search(&self.cx, &any).await.unwrap();
        MessageRef {
            source: SourceKind::Apple,
            account: AccountId::new("mac").unwrap(),
            folder: folder(name),
            uidvalidity: UidValidity(found.uidvalidity),
            uid: Uid(u32::try_from(row).unwrap()),
        }
    }

    async fn raw(&self, name: &str, row: i64) -> Result<RawMessage, Fault> {
        let at = self.at(name, row).await;
        self.source.raw(&self.cx, &at, u64::MAX).await
    }

    async fn text(&self, name: &str, row: i64) -> String {
        let raw = self.raw(name, row).await.unwrap();
        assert_eq!(raw.size, raw.bytes.len() as u64);
        String::from_utf8_lossy(&raw.bytes).into_owned()
    }

    /// With all parts.
    async fn message(&self, name: &str, row: i64) -> Result<Fetched, Fault> {
        let choose = |structure: &Structure| {
            let wish = |section: &Section| PartWish {
                section: section.clone(),
                max_bytes: u64::MAX,
                urgency: Urgency::Needed,
            };
            structure
                .leaves
                .iter()
                .map(|leaf| wish(&leaf.section))
                .collect()
        };
        let at = self.at(name, row).await;
        self.source.message(&self.cx, &at, &choose).await
    }

    async fn locate(&self, ids: &[&str]) -> Kindred {
        self.source.locate(&self.cx, &sought(ids)).await.unwrap()
    }

    async fn kindred(&self, ids: &[&str]) -> Kindred {
        self.source.kindred(&self.cx, &sought(ids)).await.unwrap()
    }
}
