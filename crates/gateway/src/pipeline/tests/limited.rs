//! Callers with limits, on a real log: who is refused, what is told, and how few records a flood makes.

use std::collections::BTreeMap;
use std::time::Duration;

use policy::{Capabilities, FolderPolicy, Mode, Policy};

use super::*;
use crate::limits::{Limits, Measure, Rate};
use crate::{Admitted, Crowd, Pace, Places, Writes};

const BOT: &str = "bot";

fn calls(per_minute: u32, burst: u32) -> Measure {
    Measure {
        calls: Some(Rate { per_minute, burst }),
        ..Measure::default()
    }
}

fn own(own: Measure) -> Limits {
    Limits {
        own,
        ..Limits::default()
    }
}

/// A policy that shows this account alone.
fn shows(account: &str) -> Policy {
    let folder = FolderPolicy {
        path: policy::FolderPattern::parse("INBOX").unwrap(),
        mode: Mode::Blacklist,
        default: Level::Body,
        rules: Vec::new(),
        capabilities: Capabilities::NONE,
    };
    let account = AccountId::new(account).unwrap();
    Policy::new("some", vec![(account, vec![folder])]).unwrap()
}

/// The same world, with one caller more.
fn limited(limits: Limits, policy: Policy) -> World {
    let world = World::new();
    let setup = world.gateway.setup();
    let mut accounts = setup.accounts().to_vec();
    let source: Arc<dyn MailSource> = world.witness.clone();
    let hidden = AccountId::new("hidden").unwrap();
    accounts.push(Account::new(hidden, source, crate::Provider::Standard));
    let standing = Standing {
        id: BOT.to_owned(),
        policy: Arc::new(policy),
        toolsets: Toolset::ALL.to_vec(),
        proofs: vec![crate::setup::Proof::default()],
        writes: Writes::Allowed,
        limits: Arc::new(limits),
    };
    world.gateway.replace(Setup::new(accounts, vec![standing]));
    world
}

/// The only place is taken until this is dropped.
async fn full_house() -> (World, Admitted) {
    let mut world = limited(Limits::default(), Policy::owner());
    let gateway = Arc::into_inner(world.gateway).unwrap();
    world.gateway = Arc::new(gateway.with_places(Crowd::Many, Places::Fixed(1)));
    let setup = world.gateway.setup();
    let standing = setup.standing(&bot()).unwrap();
    let taken = world
        .gateway
        .admit(standing, None, std::time::Instant::now());
    let held = taken.await.ok().unwrap();
    (world, held)
}

fn bot() -> Caller {
    Caller::new(BOT, "test:1", Credential::default())
}

async fn make(gateway: &Gateway, tool: &str, arguments: Value) -> Outcome {
    let (caller, cx) = (bot(), Cx::new());
    let Value::Object(arguments) = arguments else {
        unreachable!()
    };
    let call = Call {
        caller: &caller,
        tool,
        arguments,
        asking: Asking::Cannot,
        cx: &cx,
    };
    gateway.call(call).await
}

async fn who(gateway: &Gateway) -> Outcome {
    make(gateway, "get_caller_identity", json!({})).await
}

fn is_answered(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Answered(_))
}

fn refused(outcome: Outcome) -> Value {
    match outcome {
        Outcome::Refused(refused) => refused.data,
        Outcome::Answered(answered) => panic!("answered: {}", answered.text),
    }
}

#[tokio::test]
async fn more_calls_than_a_burst_are_refused_and_told_when_to_come_back() {
    let world = limited(own(calls(6, 3)), Policy::owner());
    assert_eq!(world.gateway.pace_of(&bot()), Pace::Open);
    for left in [2, 1, 0] {
        let answer = who(&world.gateway).await;
        let stands = meta(&answer)["rate_limit"].clone();
        assert_eq!(stands["limit"], 3);
        assert_eq!(stands["remaining"], left);
        assert_eq!(stands["retry_after_seconds"], Value::Null);
        assert!(
            stands
                .as_object()
                .unwrap()
                .contains_key("retry_after_seconds")
        );
    }
    let data = refused(who(&world.gateway).await);
    assert_eq!(data["code"], "rate_limited");
    assert_eq!(
        data["details"],
        json!({ "retry_after_seconds": 10, "limit": "calls_per_minute", "scope": "caller" })
    );
    assert_eq!(data["meta"]["rate_limit"]["retry_after_seconds"], 10);
    assert_eq!(data["meta"]["rate_limit"]["remaining"], 0);
    let Pace::Wait(wait) = world.gateway.pace_of(&bot()) else {
        panic!("it is known to be empty");
    };
    assert!(wait > Duration::from_secs(8) && wait <= Duration::from_secs(10));
    let another = Caller::new("another", "test:1", Credential::default());
    assert_eq!(world.gateway.pace_of(&another), Pace::Open);
}

/// Whoever looks before a request is read refuses as it would be refused further in, and it is counted the same.
#[tokio::test]
async fn excess_that_is_known_is_refused_alike_wherever_it_is_seen() {
    let world = limited(own(calls(6, 1)), Policy::owner());
    let known = async || {
        let (caller, cx) = (bot(), Cx::new());
        let tool = "get_caller_identity";
        let refusing = world.gateway.refuse_known_excess(&caller, &cx, tool);
        refusing.await.map(|refused| refused.data)
    };
    assert!(known().await.is_none());
    assert!(is_answered(&who(&world.gateway).await));
    let plain = |mut data: Value| {
        let meta = data["meta"].take();
        let stands = &meta["rate_limit"];
        json!([
            data,
            stands["limit"],
            stands["remaining"],
            stands["retry_after_seconds"]
        ])
    };
    let early = plain(known().await.unwrap());
    assert_eq!(early[0]["code"], "rate_limited");
    assert_eq!(early, plain(refused(who(&world.gateway).await)));
    // Both are of one kind: the first has a record of its own.
    let kind = crate::limits::excess::Kind {
        caller: BOT.to_owned(),
        tool: "get_caller_identity",
        reason: "rate_limited",
    };
    assert_eq!(world.gateway.turnstile.excess.so_far(&kind), Some(1));
}

#[tokio::test]
async fn what_names_no_tool_and_what_is_no_call_counts_too() {
    let world = limited(own(calls(1, 3)), Policy::owner());
    let _ = make(&world.gateway, "no_such_tool", json!({})).await;
    let _ = make(&world.gateway, "list_folders", json!({ "nonsense": 1 })).await;
    let malformed = world
        .gateway
        .refuse_malformed(&bot(), &Cx::new(), "x")
        .await;
    assert_eq!(malformed.data["code"], "invalid_input");
    assert_eq!(refused(who(&world.gateway).await)["code"], "rate_limited");
    let malformed = world
        .gateway
        .refuse_malformed(&bot(), &Cx::new(), "x")
        .await;
    assert_eq!(malformed.data["code"], "rate_limited");
}

#[tokio::test]
async fn a_tools_limit_is_that_tools_alone() {
    let limits = Limits {
        tools: BTreeMap::from([("describe_policy".to_owned(), calls(1, 1))]),
        ..Limits::default()
    };
    let world = limited(limits, Policy::owner());
    assert!(is_answered(
        &make(&world.gateway, "describe_policy", json!({})).await
    ));
    let data = refused(make(&world.gateway, "describe_policy", json!({})).await);
    assert_eq!(data["details"]["scope"], "tool");
    assert!(is_answered(&who(&world.gateway).await));
}

#[tokio::test]
async fn answers_are_weighed_and_who_owes_waits() {
    let measure = Measure {
        bytes_per_hour: Some(100),
        ..Measure::default()
    };
    let world = limited(own(measure), Policy::owner());
    let answer = who(&world.gateway).await;
    assert_eq!(
        meta(&answer)["rate_limit"]["remaining"],
        0,
        "already charged"
    );
    let data = refused(who(&world.gateway).await);
    assert_eq!(data["details"]["limit"], "bytes_per_hour");
    assert!(data["details"]["retry_after_seconds"].as_u64().unwrap() > 3_600);
}

/// INVARIANT of noninterference: of an account that is hidden nobody learns whether it has limits.
#[tokio::test]
async fn a_limit_of_a_hidden_account_changes_no_answer() {
    let accounts = |names: &[&str]| Limits {
        accounts: names
            .iter()
            .map(|name| (AccountId::new(*name).unwrap(), calls(1, 1)))
            .collect(),
        ..Limits::default()
    };
    let folders = |account: &str| json!({ "account_id": account });
    let (with, without) = (
        limited(accounts(&["hidden"]), shows("default")),
        limited(Limits::default(), shows("default")),
    );
    for world in [&with, &without] {
        for _ in 0..3 {
            let mut data = refused(make(&world.gateway, "list_folders", folders("hidden")).await);
            data.as_object_mut().unwrap().remove("meta");
            assert_eq!(
                data,
                json!({ "decision": "DENY", "reason": "account_hidden" })
            );
        }
        // What looks in all accounts looks in none that is hidden.
        let everywhere = json!({ "message_id": "<nobody@example.com>" });
        for _ in 0..3 {
            let outcome = make(&world.gateway, "read_email", everywhere.clone()).await;
            assert_ne!(code(Some(outcome)), "rate_limited");
        }
    }
    let shown = limited(accounts(&["default"]), shows("default"));
    let _ = make(&shown.gateway, "list_folders", folders("default")).await;
    let data = refused(make(&shown.gateway, "list_folders", folders("default")).await);
    assert_eq!(data["details"]["scope"], "account");
    let everywhere = json!({ "message_id": "<nobody@example.com>" });
    let data = refused(make(&shown.gateway, "read_email", everywhere).await);
    assert_eq!(
        data["details"]["scope"], "account",
        "another way is no way around"
    );
}

#[tokio::test]
async fn as_many_at_a_time_as_there_may_be_and_a_place_is_free_when_a_call_is_dropped() {
    let measure = Measure {
        concurrent: Some(1),
        ..Measure::default()
    };
    let world = limited(own(measure), Policy::owner());
    let setup = world.gateway.setup();
    let standing = setup.standing(&bot()).unwrap();
    let held = world
        .gateway
        .admit(standing, None, std::time::Instant::now())
        .await
        .ok()
        .unwrap();
    let data = refused(who(&world.gateway).await);
    assert_eq!(data["details"]["limit"], "concurrent");
    drop(held);
    assert!(is_answered(&who(&world.gateway).await));
}

#[tokio::test]
async fn a_flood_makes_two_records_and_every_answer_one() {
    let world = limited(own(calls(1, 2)), Policy::owner());
    for _ in 0..2 {
        assert!(is_answered(&who(&world.gateway).await));
    }
    let begun = std::time::Instant::now();
    let first = refused(who(&world.gateway).await);
    assert!(
        first["meta"].get("receipt").is_some(),
        "the first has a record of its own"
    );
    // Names of the caller's choice make no records of their own either.
    let names = (0..50).map(|number| format!("made_up_{number}"));
    let names = std::iter::repeat_n("get_caller_identity".to_owned(), 99).chain(names);
    let mut flood = tokio::task::JoinSet::new();
    for name in names {
        let gateway = Arc::clone(&world.gateway);
        flood.spawn(async move {
            let data = refused(make(&gateway, &name, json!({})).await);
            let waited = begun.elapsed() >= HELD_BACK;
            (data["meta"].get("receipt").is_some(), waited)
        });
    }
    let answers = flood.join_all().await;
    let recorded = answers.iter().filter(|(recorded, _)| *recorded);
    assert_eq!(recorded.count(), 1, "and the first with another name");
    let held_back = answers.iter().filter(|(_, waited)| *waited);
    assert!(held_back.count() >= 148, "the others are told later");
    world.gateway.record_excess();
    world.log.close("test").await;
    let records = world.records();
    let of = |event: &str| -> Vec<&Value> {
        let records = records.iter().filter(|one| one["event"] == event);
        records.collect()
    };
    let results: Vec<_> = of("call").iter().map(|one| one["result"].clone()).collect();
    assert_eq!(results, ["ok", "ok", "rate_limited", "rate_limited"]);
    let mut counted: Vec<_> = of("throttled")
        .iter()
        .map(|one| {
            (
                one["tool"].clone(),
                one["reason"].clone(),
                one["count"].clone(),
            )
        })
        .collect();
    counted.sort_by_key(|one| one.0.to_string());
    assert_eq!(
        counted,
        [
            (json!("(unknown)"), json!("rate_limited"), json!(49)),
            (
                json!("get_caller_identity"),
                json!("rate_limited"),
                json!(99)
            ),
        ]
    );
}

/// The clock is the test's: a minute passes at once.
#[tokio::test(start_paused = true)]
async fn what_was_counted_is_recorded_when_the_minute_is_over() {
    let log = Log::open(Settings::new(None));
    let excess = crate::limits::excess::Excess::new(log);
    use crate::limits::excess::{Kind, Recorded};
    let kind = Kind {
        caller: BOT.to_owned(),
        tool: "search",
        reason: "rate_limited",
    };
    assert_eq!(excess.one_more(kind.clone()), Recorded::Singly);
    assert_eq!(excess.one_more(kind.clone()), Recorded::Counted);
    tokio::time::sleep(Duration::from_secs(59)).await;
    assert_eq!(excess.one_more(kind.clone()), Recorded::Counted);
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(excess.one_more(kind), Recorded::Singly);
}

/// Nobody is let in while the only place is taken: a call that nobody waits for any more is recorded, and not made.
#[tokio::test]
async fn a_call_given_up_at_the_door_is_recorded() {
    let (world, held) = full_house().await;
    let gateway = &world.gateway;
    for _ in 0..3 {
        let waits = tokio::spawn({
            let gateway = Arc::clone(gateway);
            async move { who(&gateway).await }
        });
        tokio::task::yield_now().await;
        waits.abort();
        assert!(waits.await.is_err());
    }
    drop(held);
    assert!(is_answered(&who(gateway).await));
    gateway.record_excess();
    world.log.close("test").await;
    let records = records(&world.witness.dir);
    let told: Vec<_> = records
        .iter()
        .filter(|one| ["call", "throttled"].contains(&one["event"].as_str().unwrap()))
        .map(|one| (one["reason"].clone(), one["count"].clone()))
        .collect();
    assert_eq!(told[0], (json!("cancelled"), Value::Null));
    assert_eq!(told.last().unwrap(), &(json!("cancelled"), json!(2)));
    assert_eq!(told.len(), 3);
}

/// A change goes on to its end whoever leaves; but one that has not begun when its caller leaves is not begun.
#[tokio::test]
async fn a_change_whose_caller_leaves_before_its_turn_is_not_made() {
    let (world, held) = full_house().await;
    let gateway = &world.gateway;
    let waits = tokio::spawn({
        let gateway = Arc::clone(gateway);
        async move {
            let (caller, cx) = (bot(), Arc::new(Cx::new()));
            let arguments = json!({ "message_id": "imap:default:INBOX:1:1", "confirm": true });
            let Value::Object(arguments) = arguments else {
                unreachable!()
            };
            let tool = "imap_delete_message";
            gateway
                .call_to_the_end(&caller, tool, arguments, Asking::Cannot, &cx)
                .await
        }
    });
    while gateway.load().waiting == 0 {
        tokio::task::yield_now().await;
    }
    waits.abort();
    assert!(waits.await.is_err());
    gateway.finish_changes().await;
    assert_eq!(gateway.load().waiting, 0);
    drop(held);
    world.log.close("test").await;
    let records = records(&world.witness.dir);
    let told: Vec<_> = records
        .iter()
        .filter(|one| one["tool"] == "imap_delete_message")
        .map(|one| (one["event"].clone(), one["result"].clone()))
        .collect();
    assert_eq!(told, [(json!("call"), json!("cancelled"))]);
}

/// Among others a call that finds no place is told so in time, and that is recorded.
#[tokio::test]
async fn who_finds_no_place_in_time_is_told_when_to_come_back() {
    let (world, held) = full_house().await;
    let gateway = &world.gateway;
    let data = refused(who(gateway).await);
    assert_eq!(data["code"], "overloaded");
    assert!(data["details"]["retry_after_seconds"].as_u64().unwrap() >= 1);
    assert!(data["meta"]["receipt"].is_object(), "{data}");
    drop(held);
    assert!(is_answered(&who(gateway).await));
    assert_eq!(gateway.load().under_way, 0);
}

/// Whose queue is full is known before its call is read: it is refused at the door as it would be further in, and recorded.
#[tokio::test]
async fn who_has_too_many_waiting_is_refused_before_its_call_is_read() {
    let (world, held) = full_house().await;
    let gateway = &world.gateway;
    assert_eq!(gateway.pace_of(&bot()), Pace::Open);
    let waiting: Vec<_> = (0..32)
        .map(|_| {
            let gateway = Arc::clone(gateway);
            tokio::spawn(async move { who(&gateway).await })
        })
        .collect();
    while gateway.load().waiting < 32 {
        tokio::task::yield_now().await;
    }
    assert!(matches!(gateway.pace_of(&bot()), Pace::Wait(_)));
    let (caller, cx) = (bot(), Cx::new());
    let refused = gateway.refuse_known_excess(&caller, &cx, "list_folders");
    assert_eq!(gateway.turn_away_at_once(&caller, "list_folders"), None);
    let data = refused.await.unwrap().data;
    assert_eq!(data["code"], "overloaded");
    assert!(data["details"]["retry_after_seconds"].as_u64().unwrap() >= 1);
    assert!(data["meta"]["receipt"].is_object(), "{data}");
    // Those that come after the first are counted.
    for _ in 0..3 {
        let wait = gateway.turn_away_at_once(&caller, "list_folders");
        assert_eq!(wait, Some(Duration::ZERO));
    }
    drop(held);
    for one in waiting {
        one.await.unwrap();
    }
    assert_eq!(gateway.pace_of(&bot()), Pace::Open);
    assert_eq!(gateway.turn_away_at_once(&caller, "list_folders"), None);
    gateway.record_excess();
    world.log.close("test").await;
    let records = records(&world.witness.dir);
    let counted = records.iter().find(|one| one["event"] == "throttled");
    assert_eq!(counted.unwrap()["count"], 3);
}
