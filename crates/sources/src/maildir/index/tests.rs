//! The index against what a fresh look at the same directories finds.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, UNIX_EPOCH};

use proptest::prelude::*;
use tempfile::TempDir;

use super::super::catalog::Catalog;
use super::super::folders::{Make, Place, Wanted};
use super::super::work::Stop;
use super::*;

fn id(text: &str) -> HeaderId {
    HeaderId::new(text.as_bytes()).unwrap()
}

fn letter(own: &str, names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("<{name}>")).collect();
    format!(
        "Message-ID: <{own}>\nReferences: {}\n\nx\n",
        names.join(" ")
    )
}

struct Store {
    root: TempDir,
    catalog: Catalog,
}

impl Store {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        for folder in ["", ".Sent"] {
            for place in ["cur", "new", "tmp"] {
                fs::create_dir_all(root.path().join(folder).join(place)).unwrap();
            }
        }
        let catalog = Catalog::new(root.path().to_owned());
        Self { root, catalog }
    }

    /// As if it had been written long ago.
    fn put(&self, file: &str, text: &str) {
        let path = self.root.path().join(file);
        fs::write(&path, text).unwrap();
        let file = fs::File::options().write(true).open(path).unwrap();
        file.set_modified(UNIX_EPOCH + Duration::from_secs(1_000_000_000))
            .unwrap();
    }

    /// Which ids each message of the index has or names, of those that are asked for.
    fn found(&self, index: &Index, ids: &[HeaderId]) -> BTreeSet<(String, usize, Role_)> {
        let places = self
            .catalog
            .tree(Wanted::All, &Stop::default())
            .unwrap()
            .places;
        let mut found = BTreeSet::new();
        for place in &places {
            let folder = refreshed(index, &self.catalog, place);
            for (role, name) in [(Role::Own, "own"), (Role::Any, "any")] {
                for (at, id) in ids.iter().enumerate() {
                    let hits = index.with(|conn| looked(conn, id, role)).unwrap();
                    let here = hits.iter().filter(|(number, _)| *number == folder);
                    found.extend(here.map(|(_, key)| {
                        let key = String::from_utf8_lossy(key);
                        (format!("{}/{key}", place.name), at, name)
                    }));
                }
            }
        }
        found
    }
}

type Role_ = &'static str;

/// Folders and keys.
fn looked(conn: &Connection, id: &HeaderId, role: Role) -> Result<Vec<(i64, Vec<u8>)>, Broken> {
    let mut found = Vec::new();
    look(conn, id, role, |hit| {
        found.push((hit.folder, hit.key.to_vec()));
        Ok(Then::More)
    })?;
    Ok(found)
}

fn refreshed(index: &Index, catalog: &Catalog, place: &Place) -> i64 {
    let (stop, progress) = (Stop::default(), Progress::default());
    let folder = index.with(|conn| refresh(conn, catalog, place, &stop, &progress));
    folder.unwrap().id
}

/// How many messages were read.
fn reads(index: &Index, catalog: &Catalog) -> u64 {
    let (stop, progress) = (Stop::default(), Progress::default());
    for place in catalog.tree(Wanted::All, &stop).unwrap().places {
        let folder = index.with(|conn| refresh(conn, catalog, &place, &stop, &progress));
        folder.unwrap();
    }
    progress.so_far().0
}

fn file_index(dir: &Path) -> Index {
    Index::new(Some(dir.join("state/maildir.db")))
}

#[test]
fn only_what_is_new_is_opened() {
    let store = Store::new();
    let dir = tempfile::tempdir().unwrap();
    store.put("cur/1000000001.a:2,S", &letter("a", &[]));
    store.put("new/1000000002.b", &letter("b", &["a"]));
    let read = |index: &Index| reads(index, &store.catalog);
    let index = file_index(dir.path());
    assert_eq!(read(&index), 2);
    assert_eq!(read(&index), 0);
    assert_eq!(read(&file_index(dir.path())), 0, "another process");
    let path = |file: &str| store.root.path().join(file);
    fs::rename(path("new/1000000002.b"), path("cur/1000000002.b:2,RS")).unwrap();
    assert_eq!(read(&index), 0, "flags are no news");
    store.put("cur/1000000003.c:2,", &letter("c", &[]));
    assert_eq!(read(&index), 1);
    // Replaced under its name, as no program should.
    store.put("tmp/x", &letter("d", &[]));
    fs::rename(path("tmp/x"), path("cur/1000000003.c:2,")).unwrap();
    assert_eq!(read(&index), u64::from(cfg!(unix)));
    fs::remove_file(path("cur/1000000001.a:2,S")).unwrap();
    assert_eq!(read(&index), 0);
    let found = store.found(&index, &[id("a"), id("c"), id("d")]);
    let own: Vec<usize> = found
        .iter()
        .filter(|(_, _, role)| *role == "own")
        .map(|(_, at, _)| *at)
        .collect();
    assert_eq!(own, [2]);
}

#[test]
fn a_file_that_is_still_being_written_is_read_again() {
    let store = Store::new();
    let path = store.root.path().join("cur/1000000001.a:2,S");
    fs::write(&path, "Subject: half\n").unwrap();
    let index = Index::new(None);
    assert_eq!(reads(&index, &store.catalog), 1);
    assert_eq!(store.found(&index, &[id("a")]).len(), 0);
    fs::write(&path, letter("a", &[])).unwrap();
    assert_eq!(store.found(&index, &[id("a")]).len(), 2);
    store.put("cur/1000000001.a:2,S", &letter("a", &[]));
    assert_eq!(reads(&index, &store.catalog), 1);
    assert_eq!(reads(&index, &store.catalog), 0);
}

#[test]
fn the_file_is_private() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::new();
    store.put(
        "cur/1000000001.a:2,S",
        &letter("canary-id", &["canary-ref"]),
    );
    let index = file_index(dir.path());
    assert_eq!(reads(&index, &store.catalog), 1);
    let state = dir.path().join("state");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&state), 0o700);
        for entry in fs::read_dir(&state).unwrap() {
            assert_eq!(mode(&entry.unwrap().path()), 0o600);
        }
    }
    for entry in fs::read_dir(&state).unwrap() {
        let octets = fs::read(entry.unwrap().path()).unwrap();
        let holds = octets.windows(6).any(|part| part == b"canary");
        assert!(!holds, "nothing of a message is in it");
    }
}

#[test]
fn a_damaged_or_foreign_file_is_set_aside_and_made_again() {
    let store = Store::new();
    store.put("cur/1000000001.a:2,S", &letter("a", &["b"]));
    let whole = {
        let dir = tempfile::tempdir().unwrap();
        let index = file_index(dir.path());
        reads(&index, &store.catalog);
        drop(index);
        fs::read(dir.path().join("state/maildir.db")).unwrap()
    };
    let database = |sql: &str| {
        let dir = tempfile::tempdir().unwrap();
        let conn = Connection::open(dir.path().join("x")).unwrap();
        conn.execute_batch(sql).unwrap();
        drop(conn);
        fs::read(dir.path().join("x")).unwrap()
    };
    let half = whole[..whole.len() / 2].to_vec();
    let mut scribbled = whole.clone();
    for byte in scribbled.iter_mut().skip(100) {
        *byte ^= 0x5a;
    }
    let newer = "PRAGMA application_id=1836543337; PRAGMA user_version=77";
    let hollow = "PRAGMA application_id=1836543337; PRAGMA user_version=1";
    for (name, octets, aside) in [
        ("none", None, false),
        ("empty", Some(Vec::new()), false),
        ("whole", Some(whole.clone()), false),
        ("text", Some(b"dear diary, ".repeat(100)), true),
        ("half", Some(half), true),
        ("scribbled", Some(scribbled), true),
        ("another's", Some(database("CREATE TABLE theirs (x)")), true),
        ("newer", Some(database(newer)), true),
        ("hollow", Some(database(hollow)), true),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("state/maildir.db");
        fs::create_dir(dir.path().join("state")).unwrap();
        if let Some(octets) = &octets {
            fs::write(&path, octets).unwrap();
        }
        let index = file_index(dir.path());
        let found = store.found(&index, &[id("a"), id("b")]);
        assert_eq!(found.len(), 3, "{name}");
        let there = dir.path().join("state/maildir.db.damaged").exists();
        assert_eq!(there, aside, "{name}");
        drop(index);
        assert_eq!(reads(&file_index(dir.path()), &store.catalog), 0, "{name}");
    }
}

/// Numbers of folders are those of one index: what was begun with another's is not gone on with.
#[test]
fn a_question_that_meets_damage_begins_again() {
    let store = Store::new();
    store.put("cur/1000000001.a:2,S", &letter("a", &[]));
    store.put(".Sent/cur/1000000002.b:2,S", &letter("b", &["a"]));
    let dir = tempfile::tempdir().unwrap();
    let index = file_index(dir.path());
    let sent = Place::new("Sent", store.root.path(), ".Sent", Make::Maildir);
    let places = [Place::inbox(store.root.path()), sent];
    let mut begun = 0;
    let found = index.with(|conn| {
        begun += 1;
        let (stop, progress) = (Stop::default(), Progress::default());
        let mut numbers = BTreeSet::new();
        for place in &places {
            numbers.insert(refresh(conn, &store.catalog, place, &stop, &progress)?.id);
            if begun == 1 {
                return Err(Broken::Foreign);
            }
        }
        let hits = looked(conn, &id("a"), Role::Any)?;
        Ok((numbers.len(), hits.len()))
    });
    assert_eq!((found.unwrap(), begun), ((2, 2), 2));
}

#[test]
fn hits_are_told_one_by_one_until_it_is_enough() {
    let store = Store::new();
    for number in 0..40 {
        let name = format!("cur/{}.a:2,", 1_000_000_000 + number);
        store.put(&name, &letter(&number.to_string(), &["root"]));
    }
    let index = Index::new(None);
    assert_eq!(reads(&index, &store.catalog), 40);
    let told = |wanted: usize| {
        let mut told = Vec::new();
        let done = index.with(|conn| {
            look(conn, &id("root"), Role::Any, |hit| {
                told.push(hit.key.to_vec());
                Ok(match told.len() < wanted {
                    true => Then::More,
                    false => Then::Enough,
                })
            })
        });
        done.unwrap();
        told
    };
    for (wanted, want) in [(1, 1), (7, 7), (40, 40), (41, 40)] {
        let told = told(wanted);
        assert_eq!(told.len(), want);
        assert!(told.is_sorted());
    }
    let stopped = index.with(|conn| {
        look(conn, &id("root"), Role::Any, |_| {
            Err(io::Error::from(io::ErrorKind::Interrupted).into())
        })
    });
    assert_eq!(stopped.unwrap_err().kind, FaultKind::Unreadable);
}

#[test]
fn where_no_file_can_be_written_it_is_in_memory() {
    let store = Store::new();
    store.put("cur/1000000001.a:2,S", &letter("a", &[]));
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("state"), "a file").unwrap();
    let index = file_index(dir.path());
    assert_eq!(store.found(&index, &[id("a")]).len(), 2);
    assert_eq!(reads(&index, &store.catalog), 0);
    assert_eq!(fs::read(dir.path().join("state")).unwrap(), b"a file");
}

#[test]
fn work_that_is_given_up_is_gone_on_with() {
    let store = Store::new();
    for number in 0..50 {
        let name = format!("cur/{}.a:2,", 1_000_000_000 + number);
        store.put(&name, &letter(&number.to_string(), &[]));
    }
    let dir = tempfile::tempdir().unwrap();
    let index = file_index(dir.path());
    // As a crash after some of it leaves it: messages without the word that these are all.
    assert_eq!(reads(&index, &store.catalog), 50);
    let unsaid = "UPDATE folders SET stamps = NULL; DELETE FROM messages WHERE id % 2 = 0;
                  DELETE FROM links WHERE message % 2 = 0";
    index.with(|conn| Ok(conn.execute_batch(unsaid)?)).unwrap();
    drop(index);
    let index = file_index(dir.path());
    assert_eq!(reads(&index, &store.catalog), 25);
    let ids: Vec<HeaderId> = (0..50).map(|number: i32| id(&number.to_string())).collect();
    assert_eq!(store.found(&index, &ids).len(), 100);
}

#[test]
fn several_may_keep_it_at_once() {
    let store = Store::new();
    for number in 0..200 {
        let name = format!("cur/{}.a:2,", 1_000_000_000 + number);
        store.put(&name, &letter(&number.to_string(), &["root"]));
    }
    let dir = tempfile::tempdir().unwrap();
    thread::scope(|scope| {
        // Each with a connection and a view of its own, as processes have them, while mail comes and goes.
        for _ in 0..4 {
            scope.spawn(|| {
                let catalog = Catalog::new(store.root.path().to_owned());
                for _ in 0..10 {
                    reads(&file_index(dir.path()), &catalog);
                }
            });
        }
        scope.spawn(|| {
            for number in 200..300 {
                // Not by a rename, so that half of a file may be seen.
                let name = format!("cur/{}.a:2,", 1_000_000_000 + number);
                let path = store.root.path().join(name);
                fs::write(path, letter(&number.to_string(), &["root"])).unwrap();
                let old = format!("cur/{}.a:2,", 1_000_000_000 + number - 200);
                fs::remove_file(store.root.path().join(old)).unwrap();
            }
        });
    });
    let ids: Vec<HeaderId> = (0..300)
        .map(|number: i32| id(&number.to_string()))
        .collect();
    let kept = store.found(&file_index(dir.path()), &ids);
    let fresh = store.found(&Index::new(None), &ids);
    let missing: Vec<_> = fresh.symmetric_difference(&kept).collect();
    assert_eq!(missing, Vec::<&(String, usize, Role_)>::new());
    assert_eq!(kept.len(), 400);
}

#[cfg(unix)]
#[test]
fn what_cannot_be_read_is_said_and_tried_again() {
    use std::os::unix::fs::PermissionsExt as _;
    let store = Store::new();
    store.put("cur/1000000001.a:2,S", &letter("a", &[]));
    store.put("cur/1000000002.b:2,S", &letter("b", &[]));
    store.put("cur/1000000002.b:2,", &letter("b", &[]));
    let path = store.root.path().join("cur/1000000001.a:2,S");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
    let index = Index::new(None);
    let place = Place::inbox(store.root.path());
    let unread = || {
        let (stop, progress) = (Stop::default(), Progress::default());
        let folder = index.with(|conn| refresh(conn, &store.catalog, &place, &stop, &progress));
        folder.unwrap().unread
    };
    // The superuser reads everything; two files of one number nobody.
    let locked = u64::from(fs::File::open(&path).is_err());
    assert_eq!(unread(), 1 + locked);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    assert_eq!(unread(), 1);
    fs::remove_file(store.root.path().join("cur/1000000002.b:2,")).unwrap();
    assert_eq!(unread(), 0);
}

/// What happens to a store.
#[derive(Clone, Debug)]
enum Change {
    Add(usize, usize, usize),
    Flag(usize),
    Read(usize),
    Move(usize),
    Delete(usize),
    Append(usize, usize),
    Compact,
    Look,
}

fn change() -> impl Strategy<Value = Change> {
    let small = 0..6usize;
    prop_oneof![
        3 => (0..2usize, small.clone(), small.clone()).prop_map(|(f, own, named)| Change::Add(f, own, named)),
        1 => (0..9usize).prop_map(Change::Flag),
        1 => (0..9usize).prop_map(Change::Read),
        1 => (0..9usize).prop_map(Change::Move),
        1 => (0..9usize).prop_map(Change::Delete),
        1 => (small.clone(), small).prop_map(|(own, named)| Change::Append(own, named)),
        1 => Just(Change::Compact),
        3 => Just(Change::Look),
    ]
}

/// All files, in a steady order.
fn files(root: &Path) -> Vec<std::path::PathBuf> {
    let places = ["cur", "new", ".Sent/cur", ".Sent/new"];
    let mut all: Vec<_> = places
        .iter()
        .flat_map(|place| fs::read_dir(root.join(place)).unwrap())
        .map(|entry| entry.unwrap().path())
        .collect();
    all.sort();
    all
}

fn apply(root: &Path, change: &Change, number: usize) {
    use std::io::Write as _;
    let name = |own: &usize| format!("id{own}");
    let pick = |at: &usize| {
        let all = files(root);
        all.get(*at % all.len().max(1)).cloned()
    };
    let unique = |path: &Path| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        name.split(':').next().unwrap().to_owned()
    };
    match change {
        Change::Add(folder, own, named) => {
            let folder = ["new", ".Sent/cur"][*folder];
            let path = root.join(format!("{folder}/{}.M{number}.x", 1_000_000_000 + number));
            fs::write(path, letter(&name(own), &[&name(named)])).unwrap();
        }
        Change::Flag(at) | Change::Read(at) => {
            let Some(path) = pick(at) else { return };
            let folder = path.parent().unwrap().parent().unwrap();
            let flags = if matches!(change, Change::Flag(_)) {
                "F"
            } else {
                "S"
            };
            let to = folder
                .join("cur")
                .join(format!("{}:2,{flags}", unique(&path)));
            fs::rename(&path, to).unwrap();
        }
        Change::Move(at) => {
            let Some(path) = pick(at) else { return };
            fs::rename(&path, root.join(".Sent/cur").join(unique(&path) + ":2,")).unwrap();
        }
        Change::Delete(at) => {
            let Some(path) = pick(at) else { return };
            fs::remove_file(path).unwrap();
        }
        Change::Append(own, named) => {
            let mut file = fs::File::options()
                .create(true)
                .append(true)
                .open(root.join("old"))
                .unwrap();
            let text = letter(&name(own), &[&name(named)]);
            write!(file, "From a Mon Nov  3 10:12:30 2025\n{text}\n").unwrap();
        }
        Change::Compact => {
            let Ok(text) = fs::read_to_string(root.join("old")) else {
                return;
            };
            let second = text
                .match_indices("From a")
                .nth(1)
                .map_or(text.len(), |(at, _)| at);
            fs::write(root.join("old"), text.get(second..).unwrap()).unwrap();
        }
        Change::Look => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// However mail comes, goes and moves, within one step of the clock or not.
    #[test]
    fn it_says_what_a_fresh_look_says(changes in proptest::collection::vec(change(), 1..40)) {
        let store = Store::new();
        let dir = tempfile::tempdir().unwrap();
        let index = file_index(dir.path());
        let ids: Vec<HeaderId> = (0..6).map(|own| id(&format!("id{own}"))).collect();
        for (number, change) in changes.iter().enumerate() {
            apply(store.root.path(), change, number);
            if matches!(change, Change::Look) {
                let fresh = Store { root: tempfile::tempdir().unwrap(), catalog: Catalog::new(store.root.path().to_owned()) };
                prop_assert_eq!(store.found(&index, &ids), fresh.found(&Index::new(None), &ids));
            }
        }
        let fresh = Catalog::new(store.root.path().to_owned());
        let fresh = Store { root: tempfile::tempdir().unwrap(), catalog: fresh };
        prop_assert_eq!(store.found(&index, &ids), fresh.found(&Index::new(None), &ids));
    }
}
