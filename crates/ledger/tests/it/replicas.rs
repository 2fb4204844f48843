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

pub(crate) fn step() -> Vec<Note> {
    vec![Note::Step(StepName::Move, StepState::Done, None)]
}

/// As if those that work on something had not been heard of for a minute, while the others were all the while.
pub(crate) fn who_works_is_not_heard(server: &Postgres) {
    let sql = "UPDATE mailwarden.replicas SET since = since - INTERVAL '1 minute', heard = CASE
        WHEN name IN (SELECT lease_owner FROM mailwarden.transactions) THEN heard - INTERVAL '1 minute' ELSE heard END";
    server.query(&server.url(), sql);
}

/// As if the server had been gone for a minute: nobody was heard.
fn nobody_is_heard(server: &Postgres) {
    let sql = "UPDATE mailwarden.replicas SET heard = heard - INTERVAL '1 minute', since = since - INTERVAL '1 minute'";
    server.query(&server.url(), sql);
}

fn server_is_up_for_long(server: &Postgres) -> bool {
    let sql = "SELECT pg_postmaster_start_time() < now() - INTERVAL '15 seconds'";
    server.query(&server.url(), sql) == "t"
}

#[tokio::test]
async fn an_outage_makes_nobody_dead() {
    let mut server = server();
    let (one, other) = (connect(&server.url()).await, connect(&server.url()).await);
    let lease = begin(&one, asked()).await;
    let lock = one.try_lock("tokens").await.unwrap();
    assert!(lock.is_some());
    // A server that has just begun has heard nobody.
    server.restart();
    who_works_is_not_heard(&server);
    assert_eq!(other.claim(lease.id()).await, Err(LedgerFault::Leased));
    assert!(other.try_lock("tokens").await.unwrap().is_none());
    // Nor does one that was cut off itself: it has to hear of nobody first, and only then for long enough.
    while !server_is_up_for_long(&server) {
        assert_eq!(other.claim(lease.id()).await, Err(LedgerFault::Leased));
    }
    for _ in 0..5 {
        nobody_is_heard(&server);
        assert_eq!(other.claim(lease.id()).await, Err(LedgerFault::Leased));
        assert!(other.try_lock("tokens").await.unwrap().is_none());
    }
    assert_eq!(one.write(&lease, step()).await, Ok(()));
}

#[tokio::test]
async fn a_server_that_is_away_for_long_is_not_asked_until_it_is_back() {
    let mut server = server();
    let ledger = connect(&server.url()).await;
    let lease = begin(&ledger, asked()).await;
    assert_eq!(ledger.present(), Ok(()));
    server.stop();
    // By its beats alone.
    while ledger.present().is_ok() {
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    let is_away = |fault: LedgerFault| matches!(fault, LedgerFault::Away { .. });
    let new = with_key("k", 1);
    let begun = ledger.begin(new.clone(), Known::default(), StepName::Move, None);
    assert!(is_away(begun.await.unwrap_err()));
    assert!(is_away(ledger.by_key("agent", "k").await.unwrap_err()));
    assert!(is_away(ledger.claim(lease.id()).await.unwrap_err()));
    assert!(is_away(ledger.try_lock("tokens").await.unwrap_err()));
    // What was done is told to nobody else, so it is tried all the same, and holds if the server comes back in time.
    let written = tokio::spawn({
        let (ledger, lease) = (ledger.clone(), lease.clone());
        async move { ledger.write(&lease, step()).await }
    });
    tokio::task::yield_now().await;
    server.start();
    assert_eq!(written.await.unwrap(), Ok(()));
    while ledger.present().is_err() {
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    begin(&ledger, new).await;
}

#[tokio::test]
async fn who_is_not_heard_of_loses_its_leases_and_finds_out_at_its_next_note() {
    let server = server();
    let (one, other) = (connect(&server.url()).await, connect(&server.url()).await);
    let (first, second) = (begin(&one, asked()).await, begin(&one, asked()).await);
    assert_eq!(other.claim(first.id()).await, Err(LedgerFault::Leased));
    assert_eq!(other.claim_due(Timestamp::MAX, 10).await, Ok(Vec::new()));
    // It says so again every three seconds, so this is between two of its beats, or tried once more.
    let claimed = loop {
        who_works_is_not_heard(&server);
        let due = other.next_due().await.unwrap().unwrap();
        assert!(due <= Timestamp::now() + jiff::SignedDuration::from_secs(31));
        match other.claim(first.id()).await {
            Ok(claimed) => break claimed,
            Err(fault) => assert_eq!(fault, LedgerFault::Leased),
        }
    };
    let taken = &claimed.transaction;
    assert_eq!((&taken.id, taken.attempts), (first.id(), 1));
    assert_eq!(one.write(&first, step()).await, Err(LedgerFault::Leased));
    assert_eq!(other.write(&claimed.lease, step()).await, Ok(()));
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
    let lease = begin(&ledger, asked()).await;
    let id = lease.id().clone();
    let mut held = lease;
    for _ in 0..10 {
        ledger.release(&held);
        let mut unwanted = Box::pin(ledger.claim(&id));
        let once = std::future::poll_fn(|cx| std::task::Poll::Ready(unwanted.as_mut().poll(cx)));
        let _ = once.await;
        drop(unwanted);
        // It is free again as soon as the server has answered the other.
        loop {
            let claimed = ledger.claim_due(Timestamp::MAX, 10).await.unwrap();
            if let [one] = claimed.as_slice() {
                assert_eq!(one.lease.id(), &id);
                held = one.lease.clone();
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
        matches!(&gone, LedgerFault::Away { why, .. } if why.contains("connect")),
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
        let Ok(Begun::New(lease)) = begun.await else {
            panic!("it has no key")
        };
        ids.push(lease);
    }
    assert_eq!(ledger.content(ids[0].id()).await, Ok(Some(canary)));
    assert!(stands_in_tables(&server) > 0, "as long as it is needed");
    let over = vec![Note::Ends(State::Done, Ending::default())];
    ledger.write(&ids[0], over).await.unwrap();
    assert_eq!(ledger.content(ids[0].id()).await, Ok(None));
    // It is done from time to time, and when the last one leaves.
    drop(ledger);
    assert_eq!(stands_in_tables(&server), 0);
    let ledger = connect(&url).await;
    assert!(
        ledger.content(ids[1].id()).await.unwrap().is_some(),
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
            Ok(Begun::New(lease)) => {
                let notes = vec![
                    Note::Step(StepName::Move, StepState::Done, None),
                    Note::Step(StepName::Confirm, StepState::Done, None),
                ];
                whole = ledger.write(&lease, notes).await.is_ok();
                if whole {
                    let over = vec![Note::Ends(State::Done, Ending::default())];
                    whole = ledger.write(&lease, over).await.is_ok();
                }
            }
            Ok(other) => panic!("nobody else has this key: {other:?}"),
            Err(LedgerFault::Away { .. }) => {}
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

/// Beginning is slower than anybody waits for, and holds all the same.
const SLOW: &str = "
CREATE FUNCTION mailwarden.slow() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN PERFORM pg_sleep(CASE TG_NAME WHEN 'at_once' THEN 4 ELSE 8 END); RETURN NEW; END $$;
CREATE TRIGGER at_once BEFORE INSERT ON mailwarden.transactions FOR EACH ROW EXECUTE FUNCTION mailwarden.slow();
CREATE CONSTRAINT TRIGGER at_its_end AFTER INSERT ON mailwarden.transactions DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION mailwarden.slow();";

#[tokio::test]
async fn a_beginning_that_was_refused_is_never_carried_out() {
    let server = server();
    let url = server.url();
    let (one, other) = (connect(&url).await, connect(&url).await);
    server.query(&url, SLOW);
    let begun = one.begin(with_key("k", 1), Known::default(), StepName::Move, None);
    let begun = begun.await;
    assert!(matches!(begun, Err(LedgerFault::Away { .. })), "{begun:?}");
    let ended = loop {
        for ledger in [&one, &other] {
            assert_eq!(ledger.claim_due(Timestamp::MAX, 10).await, Ok(Vec::new()));
        }
        let all = other.list(Filter::default()).await.unwrap();
        if let Some(ended) = all.into_iter().find(|one| one.state != State::Open) {
            break ended;
        }
    };
    assert_eq!((ended.state, ended.asked.key), (State::Undone, None));
    server.query(&url, "DROP FUNCTION mailwarden.slow CASCADE");
    begin(&other, with_key("k", 1)).await;
}

#[tokio::test]
async fn a_replica_whose_clock_is_wrong_sees_every_time_by_its_own() {
    let server = server();
    let minutes = |minutes: i64| jiff::SignedDuration::from_mins(minutes);
    let wrong = at(&server.url()).with_wrong_clock(move || Timestamp::now() + minutes(10));
    let (right, wrong) = (
        connect(&server.url()).await,
        Ledger::connect(wrong).await.unwrap(),
    );
    let near = |one: Timestamp, other: Timestamp| one.duration_since(other).abs() < minutes(5);
    let lease = begin(&wrong, asked()).await;
    wrong.write(&lease, step()).await.unwrap();
    let over = vec![Note::Ends(State::Done, Ending::default())];
    wrong.write(&lease, over).await.unwrap();
    for (ledger, now) in [
        (&right, Timestamp::now()),
        (&wrong, Timestamp::now() + minutes(10)),
    ] {
        let seen = ledger.get(lease.id()).await.unwrap().unwrap();
        assert!(near(seen.began, now) && near(seen.ended.unwrap(), now));
        assert!(seen.steps.iter().all(|step| near(step.at, now)));
        // By its own clock it ended a moment ago.
        assert_eq!(ledger.forget_before(now - minutes(5)).await, Ok(0));
    }
    let now = Timestamp::now() + minutes(10);
    assert_eq!(wrong.forget_before(now + minutes(5)).await, Ok(1));
    let lease = begin(&right, asked()).await;
    let later = Timestamp::now() + minutes(3);
    right.write(&lease, vec![Note::Later(later)]).await.unwrap();
    let due = wrong.next_due().await.unwrap().unwrap();
    assert!(due > now && near(due, now + minutes(3)), "{due}");
}

#[tokio::test]
async fn a_message_is_taken_away_once_whatever_the_database_has_for_a_default() {
    let server = server();
    let url = server.url();
    server.query(
        &url,
        "ALTER ROLE warden SET default_transaction_isolation = 'repeatable read'",
    );
    server.query(
        &url,
        "ALTER ROLE warden SET default_transaction_read_only = on",
    );
    let (one, other) = (connect(&url).await, connect(&url).await);
    for uid in 1..=40 {
        let source = mail::MessageRef::parse(&format!("imap:default:INBOX:7:{uid}")).unwrap();
        let asked = || Asked {
            source: Some(source.clone()),
            source_home: Some("home".to_owned()),
            ..asked()
        };
        let begin = |ledger: &Ledger| {
            let (ledger, asked) = (ledger.clone(), asked());
            async move {
                let begun = ledger.begin(asked, Known::default(), StepName::Move, None);
                begun.await.unwrap()
            }
        };
        let begun = tokio::join!(begin(&one), begin(&other));
        assert!(
            matches!(
                begun,
                (Begun::New(_), Begun::Leaving) | (Begun::Leaving, Begun::New(_))
            ),
            "{begun:?}"
        );
    }
}

#[tokio::test]
async fn a_lock_that_lands_when_nobody_waits_for_it_is_given_back() {
    let server = server();
    let url = server.url();
    let (one, other) = (connect(&url).await, connect(&url).await);
    let held = one.try_lock("a").await.unwrap().unwrap();
    let row = "SELECT holder || ' ' || turn FROM mailwarden.locks";
    let landed = server.query(&url, row);
    let (holder, turn) = landed.split_once(' ').unwrap();
    drop(held);
    while !server.query(&url, row).is_empty() {}
    // What an attempt does that was given up, and that the server comes to only now.
    let late = format!("INSERT INTO mailwarden.locks VALUES ('a', '{holder}', '{turn}')");
    server.query(&url, &late);
    while other.try_lock("a").await.unwrap().is_none() {}
}

#[tokio::test]
async fn a_note_that_the_server_comes_to_late_follows_nothing() {
    let server = server();
    let url = server.url();
    let ledger = connect(&url).await;
    let lease = begin(&ledger, asked()).await;
    let late = "SELECT mailwarden.hold(id, lease_owner, ARRAY[id]) FROM mailwarden.transactions";
    server.query(&url, late);
    ledger.write(&lease, step()).await.unwrap();
    let refused = "DO $$ BEGIN PERFORM mailwarden.hold(id, lease_owner, ARRAY[id]) FROM mailwarden.transactions;
            RAISE 'it was held'; EXCEPTION WHEN SQLSTATE 'MW001' THEN NULL; END $$";
    server.query(&url, refused);
    ledger.write(&lease, step()).await.unwrap();
    ledger.release(&lease);
    let claimed = ledger.claim(lease.id()).await.unwrap();
    ledger.write(&claimed.lease, step()).await.unwrap();
}

#[tokio::test]
async fn who_runs_already_goes_on_when_a_newer_version_adds_a_column() {
    let server = server();
    let ledger = connect(&server.url()).await;
    let lease = begin(&ledger, asked()).await;
    assert!(ledger.get(lease.id()).await.unwrap().is_some());
    let newer = "ALTER TABLE mailwarden.transactions ADD COLUMN newer TEXT";
    server.query(&server.url(), newer);
    assert!(ledger.get(lease.id()).await.unwrap().is_some());
    ledger.release(&lease);
    assert!(ledger.claim(lease.id()).await.is_ok());
}
