//! Entries, outages, days that end, and processes that do.

use std::fs;

use audit::{Ended, Event, Health};

use crate::bench::{Bench, asked, until};

#[tokio::test]
async fn a_read_is_one_record_and_its_receipt_points_at_it() {
    let bench = Bench::new();
    let log = bench.log();
    let entry = log.reading(asked("req_1")).await.unwrap();
    let receipt = entry.close(Ended::of("ok")).await.unwrap();
    let records = bench.records();
    let record = &records[usize::try_from(receipt.seq).unwrap()];
    assert_eq!(record["event"], "call");
    assert_eq!(record["request_id"], "req_1");
    assert_eq!(record["hash"], receipt.leaf_hash.to_string());
    assert!(
        record["arguments"]["query"]
            .as_str()
            .unwrap()
            .starts_with("hmac:")
    );
    let verifier = audit::verifier(&bench.dir()).unwrap();
    assert_eq!(verifier.log_id(), receipt.log_id);
    assert!(matches!(log.health(), Health::Good { records, .. } if records == receipt.seq + 1));
}

#[tokio::test]
async fn the_intent_of_a_change_is_durable_before_it_is_tried() {
    let bench = Bench::new();
    let log = bench.log();
    let entry = log.changing(asked("req_1")).await.unwrap();
    let intents = bench.named("intent");
    assert_eq!(intents.len(), 1);
    assert!(bench.named("outcome").is_empty());
    entry.close(Ended::of("ok")).await.unwrap();
    let outcomes = bench.named("outcome");
    assert_eq!(outcomes[0]["intent"], intents[0]["seq"]);
    assert_eq!(outcomes[0]["request_id"], "req_1");
}

#[tokio::test]
async fn audit_directory_open_to_others_is_tightened() {
    use std::os::unix::fs::PermissionsExt as _;
    for mode in [0o755, 0o770, 0o777] {
        let bench = Bench::new();
        std::fs::create_dir(bench.dir()).unwrap();
        let open = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(bench.dir(), open).unwrap();
        let log = bench.log();
        log.append(Event::start("0", "test")).await.unwrap();
        log.close("test").await;
        let now = std::fs::metadata(bench.dir()).unwrap().permissions();
        assert_eq!(now.mode() & 0o7777, 0o700, "{mode:o}");
    }
}

#[tokio::test]
async fn no_call_ends_unsaid() {
    let bench = Bench::new();
    let log = bench.log();
    drop(log.reading(asked("dropped")).await.unwrap());
    let reading = log.reading(asked("left reading")).await.unwrap();
    let changing = log.changing(asked("left changing")).await.unwrap();
    log.close("test").await;
    // After the end nobody is answered, so nobody can be told what is not recorded.
    assert!(reading.close(Ended::of("ok")).await.is_err());
    drop(changing);
    assert!(log.append(Event::stop("again")).await.is_err());
    // Nor does anything begin that would reach a mail store and leave no record.
    assert!(log.reading(asked("late")).await.is_err());
    assert!(log.changing(asked("late")).await.is_err());
    until("its end is seen", || {
        matches!(log.health(), Health::Bad(_)).then_some(())
    });
    let ends: Vec<(String, String)> = bench
        .records()
        .iter()
        .filter(|record| ["call", "outcome"].contains(&record["event"].as_str().unwrap()))
        .map(|record| {
            (
                record["request_id"].to_string(),
                record["result"].to_string(),
            )
        })
        .collect();
    let mut expected = [
        ("dropped", "cancelled"),
        ("left reading", "abandoned"),
        ("left changing", "abandoned"),
    ]
    .map(|(request, result)| (format!("{request:?}"), format!("{result:?}")));
    expected.sort();
    let mut ends = ends;
    ends.sort();
    assert_eq!(ends, expected);
    assert_eq!(bench.records().last().unwrap()["event"], "stop");
}

#[tokio::test]
async fn calls_at_once_share_one_chain_and_get_their_own_receipts() {
    let bench = Bench::new();
    let log = bench.log();
    let calls = (0..200).map(|number| {
        let log = log.clone();
        tokio::spawn(async move {
            let request = format!("req_{number}");
            let entry = log.reading(asked(&request)).await.unwrap();
            (request, entry.close(Ended::of("ok")).await.unwrap())
        })
    });
    let calls: Vec<_> = calls.collect();
    let mut receipts = Vec::new();
    for call in calls {
        receipts.push(call.await.unwrap());
    }
    let records = bench.records();
    for (request, receipt) in receipts {
        let record = &records[usize::try_from(receipt.seq).unwrap()];
        assert_eq!(record["request_id"], request);
        assert_eq!(record["hash"], receipt.leaf_hash.to_string());
    }
}

#[tokio::test]
async fn an_outage_refuses_heals_and_is_told() {
    let bench = Bench::new();
    fs::write(bench.dir(), "in the way").unwrap();
    let log = bench.log();
    log.note(Event::start("0", "test"));
    // The first one finds out, having run; the second one is turned away before it does.
    let entry = log.reading(asked("first")).await;
    if let Ok(entry) = entry {
        entry.close(Ended::of("ok")).await.unwrap_err();
    }
    let why = log.reading(asked("second")).await.err().unwrap();
    assert!(
        !why.to_string().contains(bench.tmp.path().to_str().unwrap()),
        "{why}"
    );
    assert!(log.changing(asked("third")).await.is_err());
    assert!(matches!(log.health(), Health::Bad(_)));
    fs::remove_file(bench.dir()).unwrap();
    let entry = log.reading(asked("fourth")).await.unwrap();
    entry.close(Ended::of("ok")).await.unwrap();
    let records = bench.records();
    let of = |request: &str| {
        records
            .iter()
            .find(|record| record["request_id"] == request)
    };
    assert!(of("fourth").unwrap().get("withheld").is_none());
    assert_eq!(of("third").unwrap()["withheld"], true);
    assert!(of("second").is_none(), "it was never begun");
    assert_eq!(
        bench.named("start").len(),
        1,
        "what was said meanwhile is not lost"
    );
    let gaps = bench.named("interrupted");
    assert_eq!(gaps.len(), 1);
    assert!(gaps[0]["turned_away"].as_u64().unwrap() >= 1);
    assert!(matches!(log.health(), Health::Good { .. }));
}

#[tokio::test]
async fn the_log_is_well_again_without_a_call() {
    let bench = Bench::new();
    fs::write(bench.dir(), "in the way").unwrap();
    let log = bench.log();
    assert!(log.changing(asked("first")).await.is_err());
    fs::remove_file(bench.dir()).unwrap();
    until("it is well", || {
        matches!(log.health(), Health::Good { .. }).then_some(())
    });
    let intents = bench.named("intent");
    assert_eq!(intents[0]["withheld"], true);
    assert_eq!(intents[0]["happened_at"], "2026-11-15T12:00:00.000000Z");
    // Nothing was done about it, and that is said too.
    let outcomes = until("its outcome", || {
        let outcomes = bench.named("outcome");
        (!outcomes.is_empty()).then_some(outcomes)
    });
    assert_eq!(outcomes[0]["request_id"], intents[0]["request_id"]);
    assert_eq!(outcomes[0]["result"], "audit_unavailable");
}

#[tokio::test]
async fn nowhere_to_write_is_an_outage_too() {
    let bench = Bench::new();
    let log = audit::Log::open(audit::Settings {
        dir: None,
        ..bench.settings.clone()
    });
    let why = log.append(Event::start("0", "test")).await.unwrap_err();
    assert!(why.to_string().contains("MAILWARDEN_STATE_DIR"), "{why}");
}

#[tokio::test]
async fn a_day_ends_while_nobody_calls() {
    let bench = Bench::new();
    let log = bench.log();
    log.append(Event::start("0", "test")).await.unwrap();
    bench.hands.set("2026-11-16T00:00:00Z");
    until("the next day", || {
        bench.dir().join("2026-11-16.jsonl").exists().then_some(())
    });
    until("its first record", || {
        (bench.named("day_opened").len() == 2).then_some(())
    });
    assert_eq!(bench.named("day_closed").len(), 1);
    log.close("test").await;
    let note = fs::read_to_string(bench.dir().join("checkpoint")).unwrap();
    let verifier = audit::verifier(&bench.dir()).unwrap();
    let signed = audit::Checkpoint::open(&note, &verifier).unwrap();
    assert_eq!(signed.size as usize, bench.records().len());
}

/// As a process does that stands still, or a disk that hangs.
#[tokio::test]
async fn calls_wait_before_they_begin_while_the_log_does_not_answer() {
    let bench = Bench::new();
    let log = bench.log();
    log.append(Event::start("0", "test")).await.unwrap();
    let lock = fs::File::open(bench.dir().join("lock")).unwrap();
    lock.lock().unwrap();
    // Time passes as soon as all wait for it.
    tokio::time::pause();
    let first = log.reading(asked("finds out")).await.unwrap();
    assert!(first.close(Ended::of("ok")).await.is_err());
    assert!(matches!(log.health(), Health::Bad(_)));
    assert!(log.reading(asked("does not begin")).await.is_err());
    tokio::time::resume();
    lock.unlock().unwrap();
    let entry = log.reading(asked("goes on")).await.unwrap();
    entry.close(Ended::of("ok")).await.unwrap();
    let calls = bench.named("call");
    let told: Vec<_> = calls
        .iter()
        .map(|call| (call["request_id"].as_str(), call["result"].as_str()))
        .collect();
    let expected = [
        ("finds out", "ok"),
        ("finds out", "audit_unavailable"),
        ("goes on", "ok"),
    ]
    .map(|(request, result)| (Some(request), Some(result)));
    assert_eq!(told, expected);
}

/// What waits is counted until it is durable, also over an outage.
#[tokio::test]
async fn the_lag_is_what_is_not_yet_durable() {
    let bench = Bench::new();
    let log = bench.log();
    log.append(Event::start("0", "test")).await.unwrap();
    assert_eq!(log.lag(), audit::Lag::default());
    log.probe().await.unwrap();
    let lock = fs::File::open(bench.dir().join("lock")).unwrap();
    lock.lock().unwrap();
    log.note(Event::start("1", "test"));
    log.note(Event::start("2", "test"));
    let lag = log.lag();
    assert_eq!((lag.waiting, lag.oldest.is_some()), (2, true));
    lock.unlock().unwrap();
    until("nothing waits", || (log.lag().waiting == 0).then_some(()));
    assert_eq!(log.lag().oldest, None);
    // A directory that is gone, and a file in its place.
    let aside = bench.dir().with_extension("aside");
    fs::rename(bench.dir(), &aside).unwrap();
    fs::write(bench.dir(), "no directory").unwrap();
    log.append(Event::start("3", "test")).await.unwrap_err();
    assert!(log.probe().await.is_err());
    let lag = log.lag();
    assert!(lag.waiting >= 1 && lag.failures >= 1, "{lag:?}");
    fs::remove_file(bench.dir()).unwrap();
    fs::rename(&aside, bench.dir()).unwrap();
    log.probe().await.unwrap();
    assert_eq!((log.lag().waiting, log.lag().oldest), (0, None));
}
