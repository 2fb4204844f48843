//! Many who read in one folder at once: each gets its own message, in few flights, whoever gives up meanwhile.

use std::sync::Arc;

use bytes::Bytes;
use mail::{Cx, Fault, MailSource as _, Uid, Witness};
use sha2::{Digest as _, Sha256};
use sources::imap::ImapSource;
use testkit::proxy::Refusal;
use tokio::task::JoinHandle;

use crate::ground::{Ground, message};

/// Delivered beside the four that are there.
const MORE: u32 = 36;
const ALL: u64 = 256 << 10;

/// The number of every message, and one that nobody has.
fn numbers() -> impl Iterator<Item = u32> {
    (1..=4 + MORE).chain([4_000])
}

fn crowded() -> (Ground, Arc<ImapSource>, Vec<mail::MessageRef>) {
    let ground = Ground::new();
    let more = (5..=4 + MORE).map(message);
    ground.server.deliver_many("alice", "INBOX", more);
    let first = ground.at("INBOX", 1);
    let all = numbers().map(|uid| mail::MessageRef {
        uid: Uid(uid),
        ..first.clone()
    });
    let all = all.collect();
    let source = Arc::new(ImapSource::new(
        crate::account(),
        crate::settings(ground.proxy.port()),
    ));
    (ground, source, all)
}

type Reading = Result<Option<(Witness, Bytes)>, Fault>;

/// All of them at once, each by a caller of its own, who has waited for the server.
fn read(
    ground: &Ground,
    source: &Arc<ImapSource>,
    all: Vec<mail::MessageRef>,
) -> Vec<JoinHandle<(u32, Reading)>> {
    let ask = |at: mail::MessageRef| {
        let source = Arc::clone(source);
        async move {
            let cx = Cx::new();
            let read = source.read(&cx, &at, ALL).await;
            assert!(cx.round_trips() > 0);
            (at.uid.0, read)
        }
    };
    let all = all.into_iter();
    all.map(|at| ground.runtime.spawn(ask(at))).collect()
}

#[test]
fn everybody_gets_what_was_asked_for_and_the_server_is_asked_seldom() {
    let (ground, source, all) = crowded();
    ground.proxy.reset_stats();
    for one in read(&ground, &source, all) {
        let (uid, read) = ground.runtime.block_on(one).unwrap();
        let read = read.unwrap();
        if uid == 4_000 {
            assert_eq!(read, None);
            continue;
        }
        let (witness, octets) = read.unwrap();
        let raw = message(uid).raw;
        assert_eq!(octets, raw, "{uid}");
        let digest = witness.digest.unwrap();
        assert_eq!(
            digest.sha256,
            <[u8; 32]>::from(Sha256::digest(&raw)),
            "{uid}"
        );
    }
    let sent = ground.proxy.commands();
    let fetches = sent
        .iter()
        .filter(|line| line.contains("UID FETCH"))
        .count();
    assert!(fetches < 20, "{fetches} for {}: {sent:?}", 5 + MORE);
}

#[test]
fn who_gives_up_keeps_nobody_waiting() {
    let (ground, source, all) = crowded();
    // The first to come is the one who asks the server, and every third gives up at once.
    let asked = read(&ground, &source, all);
    asked.iter().step_by(3).for_each(|one| one.abort());
    for (place, one) in asked.into_iter().enumerate() {
        match ground.runtime.block_on(one) {
            Ok((_, read)) => assert_eq!(read.unwrap().is_some(), place < 40, "{place}"),
            Err(gone) => assert!(gone.is_cancelled() && place % 3 == 0, "{place}"),
        }
    }
}

#[test]
fn what_a_server_refuses_to_tell_of_many_it_is_asked_of_each() {
    let (ground, source, all) = crowded();
    // Whatever is asked of several messages at once.
    let several = |line: &str| line.contains("UID FETCH") && line.contains([',', ':']);
    for _ in 0..40 {
        ground.proxy.refuse_command(Refusal::No, several);
    }
    for one in read(&ground, &source, all) {
        let (uid, read) = ground.runtime.block_on(one).unwrap();
        let read = read.unwrap_or_else(|fault| panic!("{uid}: {fault}"));
        assert_eq!(read.is_some(), uid != 4_000, "{uid}");
    }
    let sent = ground.proxy.commands();
    assert!(sent.iter().any(|line| several(line)), "{sent:?}");
}
