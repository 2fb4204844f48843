//! Replicas that share a server: who is not heard of loses its leases, and a server that dies loses nothing that was said.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use jiff::Timestamp;
use ledger::{
    Asked, Begun, Ending, Filter, Kind, Known, Ledger, LedgerFault, Note, State, StepName,
    StepState,
};
use testkit::{Leaf, Postgres};

use crate::support::{asked, at, begin, connect, server, with_key};

fn step() -> Vec<Note> {
    vec![Note::Step(StepName::Move, StepState::Done, None)]
}

/// As if so much time had passed for everybody who is known.
fn nobody_was_heard_for(server: &Postgres, seconds: u32) {
    let sql =
        format!("UPDATE mailwarden.replicas SET heard = heard - INTERVAL '{seconds} seconds'");
    server.query(&server.url(), &sql);
}

#[tokio::test]
async fn who_is_not_heard_of_loses_its_leases_and_finds_out_at_its_next_note() {
    let server = server();
    let (one, other) = (connect(&server.url()).await, connect(&server.url()).await);
    let (first, second) = (begin(&one, asked()).await, begin(&one, asked()).await);
    assert_eq!(other.claim(&first).await, Err(LedgerFault::Leased));
    assert_eq!(other.claim_due(Timestamp::MAX, 10).await, Ok(Vec::new()));
    // It says so again every three seconds, so this is between two of its beats, or tried once more.
    let claimed = loop {
        nobody_was_heard_for(&server, 60);
        let due = other.next_due().await.unwrap().unwrap();
        assert!(due <= Timestamp::now() + jiff::SignedDuration::from_secs(31));
        match other.claim(&first).await {
            Ok(claimed) => break claimed,
            Err(fault) => assert_eq!(fault, LedgerFault::Leased),
        }
    };
    assert_eq!((claimed.id.clone(), claimed.attempts), (first.clone(), 1));
    assert_eq!(one.write(&first, step()).await, Err(LedgerFault::Leased));
    assert_eq!(other.write(&first, step()).await, Ok(()));
    // What nobody has taken away is still its own.
    assert_eq!(one.write(&second, step()).await, Ok(()));
    drop(one);
    let left = other.claim_due(Timestamp::MAX, 10).await.unwrap();
    assert_eq!(left.len(), 1, "who leaves in order leaves nothing leased");
    let known = server.query(&server.url(), "SELECT count(*) FROM mailwarden.replicas");
    assert_eq!(known, "1");
}

#[tokio::test]
async fn a_lease_that_nobody_waits_for_is_given_back() {
    let server = server();
    let ledger = connect(&server.url()).await;
    let id = begin(&ledger, asked()).await;
    for _ in 0..10 {
        ledger.release(&id);
        let mut unwanted = Box::pin(ledger.claim(&id));
        let once = std::future::poll_fn(|cx| std::task::Poll::Ready(unwanted.as_mut().poll(cx)));
        let _ = once.await;
        drop(unwanted);
        // It is free again as soon as the server has answered the other.
        loop {
            let claimed = ledger.claim_due(Timestamp::MAX, 10).await.unwrap();
            if let [one] = claimed.as_slice() {
                assert_eq!(one.id, id);
                break;
            }
        }
    }
}

#[tokio::test]
async fn several_begin_at_once_and_what_is_not_ours_is_left_alone() {
    let server = server();
    let url = server.url();
    let tasks: Vec<_> = (0..6)
        .map(|_| {
            let url = url.clone();
            tokio::spawn(async move { connect(&url).await })
        })
        .collect();
    for task in tasks {
        begin(&task.await.unwrap(), asked()).await;
    }
    assert_eq!(
        server.query(&url, "SELECT count(*) FROM mailwarden.transactions"),
        "6"
    );

    server.query(&url, "UPDATE mailwarden.version SET number = 1000");
    let newer = Ledger::connect(at(&url)).await.unwrap_err();
    assert!(
        matches!(&newer, LedgerFault::Foreign(why) if why.contains("newer")),
        "{newer}"
    );
    let theirs = server.new_database();
    server.query(
        &theirs,
        "CREATE SCHEMA mailwarden; CREATE TABLE mailwarden.diary (dear text)",
    );
    server.query(&theirs, "GRANT ALL ON SCHEMA mailwarden TO warden");
    let foreign = Ledger::connect(at(&theirs)).await.unwrap_err();
    assert!(matches!(&foreign, LedgerFault::Foreign(_)), "{foreign}");
    let tables = "SELECT count(*) FROM pg_tables WHERE schemaname = 'mailwarden'";
    assert_eq!(server.query(&theirs, tables), "1");

    let strict = server.new_database();
    server.query(&strict, "REVOKE CREATE ON DATABASE mail1 FROM warden");
    let fault = Ledger::connect(at(&strict)).await.unwrap_err();
    assert!(fault.to_string().contains("rights"), "{fault}");
    server.query(&strict, "CREATE SCHEMA mailwarden AUTHORIZATION warden");
    begin(&connect(&strict).await, asked()).await;
}

#[tokio::test]
async fn a_wrong_password_or_a_server_that_is_not_there_is_told_without_secrets() {
    let mut server = server();
    let wrong = ledger::Server::parse(&server.url())
        .unwrap()
        .with_password(&"s3cr3t-canary".into());
    let fault = Ledger::connect(wrong.clone()).await.unwrap_err();
    assert!(
        matches!(&fault, LedgerFault::Unwritable(why) if why.contains("login")),
        "{fault}"
    );
    let without = ledger::Server::parse(&server.url()).unwrap();
    let none = Ledger::connect(without).await.unwrap_err();
    assert!(none.to_string().contains("wants a password"), "{none}");
    server.stop();
    let gone = Ledger::connect(wrong.clone()).await.unwrap_err();
    assert!(
        matches!(&gone, LedgerFault::Unwritable(why) if why.contains("reached")),
        "{gone}"
    );
    for text in [fault.to_string(), gone.to_string(), format!("{wrong:?}")] {
        assert!(!text.contains("canary"), "{text}");
    }
}

#[tokio::test]
async fn over_a_network_the_server_proves_its_name() {
    for (leaf, good) in [
        (Leaf::Good, true),
        (Leaf::WrongHost, false),
        (Leaf::SelfSigned, false),
    ] {
        let server = Postgres::start_with_tls(leaf);
        let roots = server.ca_path();
        let url = format!(
            "{}?sslmode=verify-full&sslrootcert={}",
            server.url(),
            roots.display()
        );
        let entered = Ledger::connect(at(&url)).await;
        match entered {
            Ok(ledger) => {
                begin(&ledger, asked()).await;
                assert!(good, "{leaf:?}");
                let plain = Ledger::connect(at(&server.url())).await.unwrap_err();
                assert!(matches!(plain, LedgerFault::Unwritable(_)), "{plain}");
                let strangers = format!("{}?sslmode=require", server.url());
                let plain = Ledger::connect(at(&strangers)).await.unwrap_err();
                assert!(plain.to_string().contains("certificate"), "{plain}");
            }
            Err(fault) => {
                assert!(!good, "{leaf:?}: {fault}");
                assert!(fault.to_string().contains("certificate"), "{fault}");
            }
        }
    }
}

#[tokio::test]
async fn content_is_gone_from_the_tables_when_it_is_over() {
    let server = server();
    let url = server.url();
    // Nothing that could be packed: it stands there as it is.
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let noise = (0..4000).map(|_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_be_bytes()[3]
    });
    let canary: Bytes = noise.chain(*b"a word that is nowhere else").collect();
    let draft = || Asked {
        kind: Kind::Draft,
        ..asked()
    };
    let ledger = connect(&url).await;
    let mut ids = Vec::new();
    for content in [canary.clone(), Bytes::from("kept ".repeat(1000))] {
        let begun = ledger.begin(draft(), Known::default(), StepName::Append, Some(content));
        let Ok(Begun::New(id)) = begun.await else {
            panic!("it has no key")
        };
        ids.push(id);
    }
    assert_eq!(ledger.content(&ids[0]).await, Ok(Some(canary)));
    assert!(stands_in_tables(&server) > 0, "as long as it is needed");
    let over = vec![Note::Ends(State::Done, Ending::default())];
    ledger.write(&ids[0], over).await.unwrap();
    assert_eq!(ledger.content(&ids[0]).await, Ok(None));
    // It is done from time to time, and when the last one leaves.
    drop(ledger);
    assert_eq!(stands_in_tables(&server), 0);
    let ledger = connect(&url).await;
    assert!(
        ledger.content(&ids[1]).await.unwrap().is_some(),
        "what is not over is kept"
    );
}

fn stands_in_tables(server: &Postgres) -> usize {
    server.query(&server.url(), "CHECKPOINT");
    let base = server.directory().join("base");
    let dirs = std::fs::read_dir(base)
        .unwrap()
        .map(|dir| dir.unwrap().path());
    let files = dirs.flat_map(|dir| std::fs::read_dir(dir).unwrap());
    let found = files.filter(|file| {
        let bytes = std::fs::read(file.as_ref().unwrap().path()).unwrap_or_default();
        bytes
            .windows(20)
            .any(|part| part == b"a word that is nowhe")
    });
    found.count()
}

/// Begins, notes a step and ends, for ever, under a key of its own each time; says what it was told.
async fn work(ledger: Ledger, name: usize, stop: Arc<AtomicBool>) -> Vec<(String, bool)> {
    let mut told = Vec::new();
    for round in 0.. {
        if stop.load(Ordering::SeqCst) {
            break;
        }
        let key = format!("{name}-{round}");
        let begun = ledger
            .begin(with_key(&key, 1), Known::default(), StepName::Move, None)
            .await;
        let mut whole = false;
        match begun {
            Ok(Begun::New(id)) => {
                let notes = vec![
                    Note::Step(StepName::Move, StepState::Done, None),
                    Note::Step(StepName::Confirm, StepState::Done, None),
                ];
                whole = ledger.write(&id, notes).await.is_ok();
                if whole {
                    let over = vec![Note::Ends(State::Done, Ending::default())];
                    whole = ledger.write(&id, over).await.is_ok();
                }
            }
            Ok(other) => panic!("nobody else has this key: {other:?}"),
            Err(LedgerFault::Unwritable(_)) => {}
            Err(other) => panic!("{other}"),
        }
        told.push((key, whole));
    }
    told
}

#[tokio::test]
async fn a_server_that_is_killed_in_the_middle_loses_and_doubles_nothing() {
    let mut server = Postgres::start_durable();
    let url = server.url();
    let ledgers = [connect(&url).await, connect(&url).await];
    let stop = Arc::new(AtomicBool::new(false));
    let workers: Vec<_> = (0..8)
        .map(|name| tokio::spawn(work(ledgers[name % 2].clone(), name, Arc::clone(&stop))))
        .collect();
    let ended = "SELECT count(*) FROM mailwarden.transactions WHERE state = 'done'";
    let count = |server: &Postgres| server.query(&server.url(), ended).parse::<u64>().unwrap();
    let server = tokio::task::spawn_blocking(move || {
        for round in 0..4 {
            // Each time when there is work under way.
            let before = count(&server);
            while count(&server) < before + 40 {}
            match round % 2 {
                0 => {
                    server.kill();
                    server.start();
                }
                _ => server.restart(),
            }
        }
        let before = count(&server);
        while count(&server) < before + 40 {}
        server
    })
    .await
    .unwrap();
    stop.store(true, Ordering::SeqCst);
    let mut whole = 0;
    for worker in workers {
        for (key, said_so) in worker.await.unwrap() {
            let found = ledgers[0].by_key("agent", &key).await.unwrap();
            whole += u64::from(said_so);
            if said_so {
                assert_eq!(
                    found.as_ref().map(|one| one.state),
                    Some(State::Done),
                    "{key}"
                );
            }
            // What was not told may be there or not, but never by half and never twice.
            if let Some(one) = found {
                let steps: Vec<_> = one.steps.iter().map(|step| step.name).collect();
                let noted = [StepName::Move, StepName::Confirm];
                assert!(steps == noted || steps == noted[..1], "{one:?}");
            }
        }
    }
    assert!(whole >= 200, "{whole}");
    assert!(count_of(&server, "replicas") >= 2);
    // Nothing is left that nobody would take up: what was given up is due.
    drop(ledgers);
    let next = connect(&url).await;
    let open = Filter {
        states: vec![State::Open],
        ..Filter::default()
    };
    let open = next.list(open).await.unwrap().len();
    assert_eq!(
        next.claim_due(Timestamp::MAX, 10_000).await.unwrap().len(),
        open
    );
}

fn count_of(server: &Postgres, table: &str) -> u64 {
    let sql = format!("SELECT count(*) FROM mailwarden.{table}");
    server.query(&server.url(), &sql).parse().unwrap()
}
