//! The database as it may be met: with its log, without, locked, broken, forbidden, of a make that nobody knows.

use std::fs;
use std::path::Path;

use mail::{FaultKind, MailSource as _};
use testkit::apple::{ACCOUNT, AppleStore, Cases, Generation, Letter, rows};

use super::Reader;

/// Everything below a directory: names, sizes, times.
fn tree(root: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut waiting = vec![root.to_owned()];
    while let Some(directory) = waiting.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let entry = entry.unwrap();
            let data = entry.metadata().unwrap();
            if data.is_dir() {
                waiting.push(entry.path());
            }
            let changed = data.modified().unwrap();
            // The index of the log is shared memory: readers note there how far they read.
            let shared = entry.file_name().to_string_lossy().ends_with("-shm");
            let changed = (!shared).then_some(changed);
            found.push(format!("{:?} {} {changed:?}", entry.path(), data.len()));
        }
    }
    found.sort();
    found
}

#[tokio::test]
async fn rows_that_only_the_log_holds_are_seen_and_nothing_is_touched() {
    for generation in Generation::ALL {
        let mut cases = Cases::new(generation);
        let which = match generation {
            Generation::Ancient => format!("anna@{ACCOUNT}@mail.example"),
            _ => ACCOUNT.to_owned(),
        };
        // Running, with a log.
        let before = tree(&cases.store.root());
        let reader = Reader::new(cases.store.root(), Some(&which));
        assert!(reader.rows("INBOX").await.contains(&rows::QUESTION));
        assert_eq!(tree(&cases.store.root()), before);
        // A backup of that: the log without its index.
        let backup = cases.store.backup();
        let before = tree(backup.path());
        let reader = Reader::new(backup.path().to_owned(), Some(&which));
        for _ in 0..2 {
            assert!(reader.rows("INBOX").await.contains(&rows::QUESTION));
        }
        assert!(
            reader
                .text("INBOX", rows::QUESTION)
                .await
                .contains("question@x")
        );
        assert_eq!(tree(backup.path()), before);
        // Mail has quit.
        cases.store.quit();
        let before = tree(&cases.store.root());
        let reader = Reader::new(cases.store.version(), Some(&which));
        assert!(reader.rows("INBOX").await.contains(&rows::QUESTION));
        assert_eq!(tree(&cases.store.root()), before);
        // And runs again.
        cases.store.start();
        cases
            .store
            .message(cases.inbox, Letter::new("Subject: new\n\nx\n").row(5_000));
        assert!(reader.rows("INBOX").await.contains(&5_000));
    }
}

#[tokio::test]
async fn a_copy_lies_in_the_state_directory_as_long_as_it_is_needed() {
    let mut cases = Cases::new(Generation::Modern);
    let state = tempfile::tempdir().unwrap();
    let copies = || {
        let copies = fs::read_dir(state.path().join("apple-copies"));
        copies.map_or(0, Iterator::count)
    };
    let reader = Reader::keeping(
        cases.store.root(),
        Some(ACCOUNT),
        Some(state.path().to_owned()),
    );
    reader.rows("INBOX").await;
    assert_eq!(copies(), 0);
    cases.store.quit();
    for _ in 0..2 {
        assert!(reader.rows("INBOX").await.contains(&rows::QUESTION));
        assert_eq!(copies(), 1);
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let below = state.path().join("apple-copies");
        let copy = fs::read_dir(&below).unwrap().next().unwrap().unwrap();
        for path in [below, copy.path()] {
            let mode = fs::metadata(&path).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o700, "{path:?}");
        }
    }
    drop(reader);
    assert_eq!(copies(), 0);
}

#[tokio::test]
async fn a_writer_is_not_waited_for_and_never_hindered() {
    let mut cases = Cases::new(Generation::Modern);
    let reader = Reader::new(cases.store.root(), Some(ACCOUNT));
    cases
        .store
        .sql("BEGIN EXCLUSIVE; UPDATE messages SET flags = flags | 16");
    assert!(reader.rows("INBOX").await.contains(&rows::QUESTION));
    cases.store.sql("ROLLBACK");
    // A writer that shares with nobody keeps no index of the log: what is on disk is copied.
    cases.store.quit();
    let alone = rusqlite::Connection::open(cases.store.database()).unwrap();
    alone
        .execute_batch("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; UPDATE messages SET size = 1; COMMIT")
        .unwrap();
    assert!(reader.rows("INBOX").await.contains(&rows::QUESTION));
}

#[tokio::test]
async fn a_lock_that_stays_is_said() {
    let cases = Cases::new(Generation::Modern);
    let reader = Reader::new(cases.store.root(), Some(ACCOUNT));
    let alone = rusqlite::Connection::open(cases.store.database()).unwrap();
    // Back from the log to a journal, which a lock keeps everyone else out of; the index of the log is left behind.
    drop(cases.store.backup());
    let shm = cases.store.database().with_file_name("Envelope Index-shm");
    let mut cases = cases;
    cases.store.quit();
    alone
        .execute_batch(
            "PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE; UPDATE messages SET size = 1",
        )
        .unwrap();
    fs::write(&shm, [0; 32_768]).unwrap();
    let fault = reader.source.verify(&reader.cx).await.unwrap_err();
    assert_eq!(fault.kind, FaultKind::Busy);
    assert!(fault.kind.retryable());
}

#[tokio::test]
async fn what_is_broken_is_a_fault_and_never_an_empty_store() {
    let mut cases = Cases::new(Generation::Modern);
    cases.store.quit();
    let database = cases.store.database();
    let bytes = fs::read(&database).unwrap();
    for (name, broken) in [
        ("half", bytes[..bytes.len() / 2].to_vec()),
        ("its first page", bytes[..4_096].to_vec()),
        ("less than that", bytes[..50].to_vec()),
        ("zeros", vec![0; 8_192]),
        ("text", b"dear diary, ".repeat(1_000)),
    ] {
        fs::write(&database, &broken).unwrap();
        let reader = Reader::new(cases.store.root(), Some(ACCOUNT));
        let fault = reader.source.folders(&reader.cx).await.unwrap_err();
        assert_eq!(fault.kind, FaultKind::Unreadable, "{name}: {fault:?}");
    }
    fs::write(&database, b"").unwrap();
    let reader = Reader::new(cases.store.root(), Some(ACCOUNT));
    let fault = reader.source.folders(&reader.cx).await.unwrap_err();
    assert_eq!(fault.kind, FaultKind::UnknownStore);
}

#[tokio::test]
async fn a_log_that_ends_early_tells_as_much_as_is_whole() {
    let cases = Cases::new(Generation::Modern);
    let backup = cases.store.backup();
    let log = backup.path().join("V10/MailData/Envelope Index-wal");
    let bytes = fs::read(&log).unwrap();
    for length in [0, 10, 32, 5_000, bytes.len() / 2, bytes.len() - 1] {
        fs::write(&log, &bytes[..length]).unwrap();
        let reader = Reader::new(backup.path().to_owned(), Some(ACCOUNT));
        assert!(reader.rows("INBOX").await.contains(&218), "{length}");
    }
}

#[tokio::test]
async fn a_make_that_nobody_knows_is_said_with_its_columns() {
    let store = AppleStore::new();
    store.sql("ALTER TABLE messages RENAME COLUMN mailbox TO postbox");
    let reader = Reader::new(store.root(), None);
    let fault = reader.source.verify(&reader.cx).await.unwrap_err();
    assert_eq!(fault.kind, FaultKind::UnknownStore);
    let said = String::from_utf8(fault.said.unwrap().bytes().to_vec()).unwrap();
    assert!(
        said.contains("messages has no column mailbox") && said.contains("postbox"),
        "{said}"
    );
}

#[tokio::test]
async fn a_store_that_is_missing_is_said_without_its_path() {
    let home = tempfile::tempdir().unwrap();
    let missing = home.path().join("secret-place");
    fs::create_dir_all(home.path().join("empty/V10/MailData")).unwrap();
    fs::write(home.path().join("file"), "").unwrap();
    for root in [
        missing,
        home.path().join("empty"),
        home.path().join("file"),
        home.path().to_owned(),
    ] {
        let reader = Reader::new(root.clone(), None);
        let fault = reader.source.verify(&reader.cx).await.unwrap_err();
        assert_eq!(fault.kind, FaultKind::NoStore, "{root:?}");
        let said = String::from_utf8(fault.said.unwrap().bytes().to_vec()).unwrap();
        assert!(!said.contains("secret"), "{said}");
    }
}

#[tokio::test]
async fn the_highest_version_counts() {
    let cases = Cases::new(Generation::Modern);
    for older in ["V2", "V9", "V11"] {
        fs::create_dir_all(cases.store.root().join(older).join("MailData")).unwrap();
    }
    fs::write(
        cases.store.root().join("V9/MailData/Envelope Index"),
        "stale",
    )
    .unwrap();
    let reader = Reader::new(cases.store.root(), Some(ACCOUNT));
    assert!(reader.rows("INBOX").await.contains(&218));
}

#[tokio::test]
async fn dates_that_count_from_2001_are_understood() {
    let mut store = AppleStore::new();
    let inbox = store.folder("INBOX");
    store.message(
        inbox,
        Letter::new("Subject: x\n\nx\n").received(700_000_000),
    );
    let reader = Reader::new(store.root(), Some(ACCOUNT));
    let found = reader.list("INBOX").await;
    let arrived = found.summaries[0].arrived.unwrap().as_second();
    assert_eq!(arrived, 700_000_000 + 978_307_200);
}

/// As somebody who may not read it: this test runs itself once more as nobody where it runs as root.
#[cfg(unix)]
#[tokio::test]
async fn what_may_not_be_read_is_said_and_a_directory_that_may_not_be_written_to_is_fine() {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    use std::os::unix::process::CommandExt as _;
    const AGAIN: &str = "MAILWARDEN_TEST_AS_NOBODY";
    let home = tempfile::tempdir().unwrap();
    let root = fs::metadata(home.path()).unwrap().uid() == 0;
    if root && std::env::var_os(AGAIN).is_none() {
        fs::set_permissions(home.path(), fs::Permissions::from_mode(0o777)).unwrap();
        let exe = home.path().join("tests");
        fs::copy(std::env::current_exe().unwrap(), &exe).unwrap();
        let name = "apple::open::what_may_not_be_read_is_said_and_a_directory_that_may_not_be_written_to_is_fine";
        let done = std::process::Command::new(&exe)
            .args([name, "--exact", "--nocapture"])
            .env(AGAIN, "1")
            .env("TMPDIR", home.path())
            .current_dir("/")
            .uid(65_534)
            .gid(65_534)
            .status()
            .unwrap();
        assert!(done.success());
        return;
    }
    let mut cases = Cases::new(Generation::Modern);
    let modes = |path: &Path, mode: u32| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    let data = cases.store.version().join("MailData");
    let backup = cases.store.backup();
    let copied = backup.path().join("V10/MailData");
    for directory in [&data, &copied] {
        modes(directory, 0o500);
        let root = directory
            .parent()
            .and_then(Path::parent)
            .unwrap()
            .to_owned();
        let reader = Reader::new(root, Some(ACCOUNT));
        assert!(reader.rows("INBOX").await.contains(&rows::QUESTION));
        modes(directory, 0o700);
    }
    let reader = Reader::new(cases.store.root(), Some(ACCOUNT));
    let root = cases.store.root();
    let database = cases.store.database();
    // SQLite would take the handle that Mail of this process has open.
    cases.store.quit();
    for (path, mode) in [(&root, 0o700), (&data, 0o700), (&database, 0o600)] {
        modes(path, 0);
        let answer = reader.source.verify(&reader.cx).await;
        modes(path, mode);
        let kind = answer.map_err(|fault| fault.kind);
        assert_eq!(kind, Err(FaultKind::NoPermission), "{path:?}");
    }
    cases.store.start();
    let file = cases
        .store
        .directory(cases.inbox)
        .join("Data/Messages/218.emlx");
    modes(&file, 0);
    let fault = reader.raw("INBOX", 218).await.err().unwrap();
    assert_eq!(fault.kind, FaultKind::NoPermission);
}
