//! Machines that share what is known of tokens, each with a secret store of its own.

use std::io;
use std::path::Path;
use std::sync::Arc;

use super::grant;
use super::store::Imagined;
use super::tearing::Bench;
use crate::oauth::records::{Directory, HeldLock, Reach, Records, Stamp};
use crate::oauth::tokens::{NoToken, Tokens};

/// A directory that stands for what replicas share.
#[derive(Debug)]
struct Together(Directory);

impl Records for Together {
    fn read(&self, name: &str) -> io::Result<Option<Vec<u8>>> {
        self.0.read(name)
    }

    fn replace(&self, name: &str, octets: &[u8]) -> io::Result<()> {
        self.0.replace(name, octets)
    }

    fn try_lock(&self, name: &str) -> io::Result<Option<HeldLock>> {
        self.0.try_lock(name)
    }

    fn stamp(&self, name: &str) -> Option<Stamp> {
        self.0.stamp(name)
    }

    fn reach(&self) -> Reach {
        Reach::Replicas
    }

    fn place(&self) -> String {
        self.0.place()
    }
}

impl Bench {
    /// One more replica, whose store holds this.
    fn replica(&self, held: &str) -> Arc<Tokens> {
        let store = Imagined::holding(Some(held));
        let tokens = super::tokens(grant(&self.provider.issuer), &store, self.dir.path());
        tokens.sharing(Arc::new(Together(Directory(self.shared()))))
    }

    fn shared(&self) -> std::path::PathBuf {
        self.dir.path().join("shared")
    }
}

fn the_record(dir: &Path) -> std::path::PathBuf {
    let mut files = std::fs::read_dir(dir).unwrap().map(|it| it.unwrap().path());
    let record = files.find(|path| path.extension().is_some_and(|it| it == "json"));
    record.unwrap()
}

#[tokio::test]
async fn a_record_that_cannot_be_read_is_left_as_it_is() {
    let bench = Bench::new().await;
    let first = bench.replica("refresh-secret-1");
    first.access().await.unwrap();
    let record = the_record(&bench.shared());
    let whole = std::fs::read_to_string(&record).unwrap();
    let newer = whole.replace("\"version\": 1", "\"version\": 2");
    assert_ne!(whole, newer);
    for text in [newer.as_str(), "half"] {
        std::fs::write(&record, text).unwrap();
        let said = bench.replica("refresh-secret-1").access().await;
        assert!(matches!(said, Err(NoToken::Unavailable { .. })), "{said:?}");
        assert_eq!(std::fs::read_to_string(&record).unwrap(), text);
    }
    assert_eq!(bench.provider.refreshes(), 1);
}

#[tokio::test]
async fn a_store_that_is_older_than_the_last_login_destroys_nothing() {
    let bench = Bench::new().await;
    bench.replica("refresh-secret-1").access().await.unwrap();
    let record = the_record(&bench.shared());
    let before = std::fs::read_to_string(&record).unwrap();
    let said = bench.replica("refresh-secret-0").access().await;
    assert!(
        matches!(&said, Err(NoToken::Misconfigured { said }) if said.contains("older")),
        "{said:?}"
    );
    assert_eq!(std::fs::read_to_string(&record).unwrap(), before);
    assert_eq!(bench.provider.refreshes(), 1);
    // The others go on with what stands there.
    bench.replica("refresh-secret-1").access().await.unwrap();
    assert_eq!(bench.provider.refreshes(), 2);
}

#[tokio::test]
async fn what_replicas_share_is_told_in_words_for_replicas() {
    let bench = Bench::new().await;
    let tokens = bench.replica("refresh-secret-1");
    tokens.access().await.unwrap();
    assert_eq!(tokens.concern().await, None, "so it is meant to be");
    // Nobody can reach it: a lock that is a directory.
    let lock = the_record(&bench.shared()).with_extension("lock");
    std::fs::remove_file(&lock).unwrap();
    std::fs::create_dir(&lock).unwrap();
    let said = bench.replica("refresh-secret-1").access().await;
    assert!(
        matches!(&said, Err(NoToken::Unavailable { said }) if said.contains("replicas")),
        "{said:?}"
    );
}
