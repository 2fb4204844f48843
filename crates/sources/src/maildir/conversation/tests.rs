//! What a search looks at and how often, step by step.

use std::path::PathBuf;
use std::{fs, io};

use mail::{Effort, HeaderId, Within};
use tempfile::TempDir;

use super::super::index::{Index, Role};
use super::*;

const MANY: Effort = Effort {
    folders: 1,
    rounds: 1,
    messages: 1_000,
};

struct Store {
    root: TempDir,
    catalog: Catalog,
    index: Index,
    account: AccountId,
    stop: Stop,
    progress: Progress,
}

impl Store {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        for folder in ["cur", ".Sent/cur"] {
            fs::create_dir_all(root.path().join(folder)).unwrap();
        }
        Self {
            catalog: Catalog::new(root.path().to_owned()),
            root,
            index: Index::new(None),
            account: AccountId::new("home").unwrap(),
            stop: Stop::default(),
            progress: Progress::default(),
        }
    }

    fn path(&self, file: &str) -> PathBuf {
        self.root.path().join(file)
    }

    fn put(&self, file: &str, own: &str, names: &[&str]) {
        let names: Vec<String> = names.iter().map(|name| format!("<{name}>")).collect();
        let names = names.join(" ");
        let text = format!("Message-ID: <{own}>\nReferences: {names}\n\nx\n");
        fs::write(self.path(file), text).unwrap();
    }

    /// Answers from the index.
    fn with<T>(&self, mut work: impl FnMut(Ground<'_>) -> Result<T, Broken>) -> T {
        let done = self.index.with(|conn| {
            work(Ground {
                account: &self.account,
                catalog: &self.catalog,
                conn,
                stop: &self.stop,
                progress: &self.progress,
            })
        });
        done.unwrap()
    }
}

fn id(text: &str) -> HeaderId {
    HeaderId::new(text.as_bytes()).unwrap()
}

fn sought(ids: &[&str], effort: Effort) -> Sought {
    Sought {
        ids: ids.iter().map(|text| id(text)).collect(),
        within: Within::All,
        effort,
    }
}

/// Thirty messages that all name the same thirty ids.
fn crowd() -> (Store, Vec<String>) {
    let store = Store::new();
    let ids: Vec<String> = (0..30).map(|number| format!("n{number}")).collect();
    let names: Vec<&str> = ids.iter().map(String::as_str).collect();
    for number in 0..30 {
        let file = format!("cur/{}.a:2,", 1_000_000_000 + number);
        store.put(&file, &format!("own{number}"), &names);
    }
    (store, ids)
}

#[test]
fn no_more_is_looked_at_than_may_be() {
    let (store, ids) = crowd();
    for (messages, full) in [(0, true), (1, true), (29, true), (30, false), (31, false)] {
        let wanted = sought(&["n0"], Effort { messages, ..MANY });
        store.with(|ground| {
            let mut search = Search::begin(ground, &wanted)?;
            let unmet = search.unmet(&id("n0"), Role::Any)?;
            assert_eq!(unmet.len(), messages.min(30));
            let ids: Vec<HeaderId> = ids.iter().map(|text| id(text)).collect();
            search.take(&ids, Role::Any)?;
            assert_eq!(search.members.len(), messages.min(30));
            assert_eq!((search.is_full, search.exhausted), (full, !full));
            assert_eq!(search.looked, messages.min(30));
            Ok(())
        });
    }
}

#[test]
fn who_waits_no_more_ends_it_also_where_all_is_known() {
    let (store, ids) = crowd();
    let wanted = sought(&["n0"], MANY);
    store.with(|ground| {
        let mut search = Search::begin(ground, &wanted)?;
        search.take(&[id("n0")], Role::Any)?;
        let before = search.looked;
        search.ground.stop.raise();
        for text in &ids {
            let stopped = search.take(&[id(text)], Role::Any);
            assert!(matches!(
                stopped,
                Err(Broken::Io(error)) if error.kind() == io::ErrorKind::Interrupted
            ));
        }
        assert_eq!(search.looked, before);
        Ok(())
    });
}

/// As if all ids had the same digests.
#[test]
fn what_only_seems_to_have_an_id_is_read_once() {
    let (store, ids) = crowd();
    store.put("cur/1100000000.b:2,", "stranger", &["elsewhere"]);
    let wanted = sought(&["n0"], MANY);
    store.with(|ground| {
        let mut search = Search::begin(ground, &wanted)?;
        let everybody = "INSERT OR IGNORE INTO links (hash, message, role)
             SELECT l.hash, m.id, 1 FROM (SELECT DISTINCT hash FROM links) l, messages m";
        search.ground.conn.execute(everybody, [])?;
        for text in &ids {
            search.take(&[id(text)], Role::Any)?;
            assert_eq!((search.members.len(), search.looked), (30, 31), "{text}");
        }
        search.take(&[id("elsewhere")], Role::Any)?;
        assert_eq!((search.members.len(), search.looked), (31, 31));
        assert!(search.exhausted && !search.is_full);
        Ok(())
    });
}

/// Sent is listed after INBOX, and then its message goes elsewhere.
#[test]
fn what_is_moved_after_it_was_listed_is_found_where_it_is_then() {
    let names = ["cur/1000000002.b:2,S", ".Sent/cur/1000000002.b:2,S"];
    for (moves, found, exhausted) in [(0, 2, true), (1, 2, true), (2, 1, false)] {
        let store = Store::new();
        store.put("cur/1000000001.a:2,S", "a", &[]);
        let mut at = moves % 2;
        store.put(names[at], "b", &["a"]);
        let mut left = moves;
        let wanted = sought(&["a"], MANY);
        let answer = store.with(|ground| {
            answered(ground, &wanted, |search| {
                if left > 0 {
                    left -= 1;
                    fs::rename(store.path(names[at]), store.path(names[1 - at])).unwrap();
                    at = 1 - at;
                }
                search.close(&wanted)
            })
        });
        assert_eq!(answer.members.len(), found, "{moves}");
        assert_eq!(answer.coverage.exhausted, exhausted, "{moves}");
    }
}

#[test]
fn what_is_deleted_after_it_was_listed_is_missed_by_nobody() {
    let store = Store::new();
    store.put("cur/1000000001.a:2,S", "a", &[]);
    store.put("cur/1000000002.b:2,S", "b", &["a"]);
    let wanted = sought(&["a"], MANY);
    let mut asked = 0;
    let answer = store.with(|ground| {
        answered(ground, &wanted, |search| {
            asked += 1;
            let _ = fs::remove_file(store.path("cur/1000000002.b:2,S"));
            search.close(&wanted)
        })
    });
    assert_eq!((answer.members.len(), asked), (1, 2));
    assert!(answer.coverage.is_complete());
}

/// INBOX is listed, then a message comes there from Sent, and then Sent is listed.
#[test]
fn what_is_moved_between_two_listings_is_found() {
    let names = [".Sent/cur/1000000002.b:2,S", "cur/1000000002.b:2,S"];
    let store = Store::new();
    store.put("cur/1000000001.a:2,S", "a", &[]);
    store.put(names[0], "b", &["a"]);
    let wanted = sought(&["a"], MANY);
    store.with(|ground| {
        let mut search = Search::begin(ground, &wanted)?;
        search.take(&wanted.ids, Role::Own)?;
        fs::rename(store.path(names[0]), store.path(names[1])).unwrap();
        let named = |name: &str| {
            let mut folders = search.folders.values();
            folders.find(|one| one.visit.place().name.as_str() == name)
        };
        // Until the clock of the file system has moved on since INBOX was listed.
        let inbox = named("INBOX").unwrap();
        while inbox.stamps == Some(inbox.visit.place().stamps()) {
            fs::write(store.path("cur/.x"), "").unwrap();
            fs::remove_file(store.path("cur/.x")).unwrap();
        }
        let sent = named("Sent").unwrap().visit.place().clone();
        search.enter(&sent)?;
        search.settle()?;
        search.close(&wanted)?;
        assert_eq!((search.members.len(), search.lost), (2, false));
        assert!(search.exhausted);
        Ok(())
    });
}
