//! Tools of the tests' own on a real log: what is durable when a tool begins, and what happens when nothing can be.

mod asking;
mod limited;

use std::fs;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use audit::Settings;
use mail::{
    Answer, Choose, Described, Fault, FaultKind, Fetched, Folders, Found, MailSource, MessageRef,
    RawMessage, Search, SourceKind, Spelling, Stage, Verified,
};
use policy::Ask;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tempfile::TempDir;

use super::*;
use crate::envelope::Done;
use crate::envelope::Reply;
use crate::tools::{Annotations, Toolset};

/// What the tests' tools do once they have asked their source.
trait Manner: Send + Sync + 'static {
    const READ_ONLY: bool;

    fn end() -> impl Future<Output = Result<Done<Nothing>, Refusal>> + Send;
}

struct Reads;
struct Changes;
struct Falls<const READ_ONLY: bool>;
struct Refuses;
struct Stays;

impl Manner for Reads {
    const READ_ONLY: bool = true;

    async fn end() -> Result<Done<Nothing>, Refusal> {
        Ok(Done::new("read", Nothing {}))
    }
}

impl Manner for Changes {
    const READ_ONLY: bool = false;

    async fn end() -> Result<Done<Nothing>, Refusal> {
        Ok(Done::new("changed", Nothing {}))
    }
}

impl<const READ_ONLY: bool> Manner for Falls<READ_ONLY> {
    const READ_ONLY: bool = READ_ONLY;

    async fn end() -> Result<Done<Nothing>, Refusal> {
        panic!("a fault of the tool's own")
    }
}

impl Manner for Refuses {
    const READ_ONLY: bool = false;

    async fn end() -> Result<Done<Nothing>, Refusal> {
        Err(Refusal::new(Code::Conflict, "zanzibar"))
    }
}

impl Manner for Stays {
    const READ_ONLY: bool = false;

    async fn end() -> Result<Done<Nothing>, Refusal> {
        std::future::pending().await
    }
}

/// A tool that asks its source once and ends in that manner.
struct Made<M>(PhantomData<M>);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Wanted {
    account_id: crate::args::Account,
    #[serde(default)]
    folder: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct Nothing {}

impl Reply for Nothing {
    fn shown(&self) -> usize {
        7
    }
}

impl<M: Manner> Tool for Made<M> {
    const NAME: &'static str = "test_tool";
    const TITLE: &'static str = "A tool of the tests";
    const SUMMARY: &'static str = "Does what a test wants.";
    const TOOLSET: Toolset = Toolset::Imap;
    const LEAST: mail::Level = mail::Level::None;
    const ANNOTATIONS: Annotations = Annotations {
        read_only: M::READ_ONLY,
        destructive: !M::READ_ONLY,
        idempotent: false,
        open_world: true,
    };
    const UNTRUSTED: &'static [&'static str] = &[];
    type Args = Wanted;
    type Reply = Nothing;

    fn ask(args: &Wanted) -> Result<Ask, Refusal> {
        let account = args.account_id.0.clone();
        Ok(Ask::Folders { account })
    }

    fn kept(args: &Wanted) -> audit::Summary {
        audit::Summary::new().account(&args.account_id.0)
    }

    async fn run(ctx: Ctx<'_>, args: Wanted) -> Result<Done<Nothing>, Refusal> {
        assert_ne!(args.folder.as_deref(), Some(BY_ANOTHER_NAME));
        let _ = ctx.mail()?.folders().await;
        M::end().await
    }
}

/// A source that remembers, for each question, what the log held when it was asked.
struct Witness {
    dir: PathBuf,
    seen: Mutex<Vec<Vec<Value>>>,
}

impl Witness {
    fn asked(&self) -> usize {
        self.seen.lock().unwrap().len()
    }
}

/// What a folder is called by who does not know its one name, which whoever has listed the folders does.
const BY_ANOTHER_NAME: &str = "Papierkorb";

impl MailSource for Witness {
    fn spelled(&self, folder: &mail::FolderName) -> Spelling {
        match (folder.as_str(), self.asked()) {
            (BY_ANOTHER_NAME, 0) => Spelling::Unlisted,
            (BY_ANOTHER_NAME, _) => Spelling::Known(mail::FolderName::new("Trash").unwrap()),
            _ => Spelling::Known(folder.clone()),
        }
    }

    fn describe(&self) -> Described {
        Described {
            kind: SourceKind::Imap,
            host: "localhost".to_owned(),
            port: 0,
            secure: true,
            authserv_id: None,
            home: String::new(),
        }
    }

    fn folders<'a>(&'a self, cx: &'a Cx) -> Answer<'a, Folders> {
        cx.count_round_trip();
        self.seen.lock().unwrap().push(records(&self.dir));
        Box::pin(async { Ok(Folders::default()) })
    }

    fn verify<'a>(&'a self, _: &'a Cx) -> Answer<'a, Verified> {
        unasked()
    }

    fn search<'a>(&'a self, _: &'a Cx, _: &'a Search) -> Answer<'a, Found> {
        unasked()
    }

    fn sift<'a>(
        &'a self,
        _: &'a Cx,
        _: &'a mail::FolderName,
        _: &'a [mail::Condition],
    ) -> Answer<'a, mail::Sifted> {
        panic!("not asked by these tests")
    }
    fn summaries<'a>(
        &'a self,
        _: &'a Cx,
        _: &'a mail::FolderName,
        _: mail::UidValidity,
        _: &'a mail::UidSet,
        _: mail::Snippets,
    ) -> Answer<'a, Vec<mail::Summary>> {
        panic!("not asked by these tests")
    }
    fn message<'a>(&'a self, _: &'a Cx, _: &'a MessageRef, _: Choose<'a>) -> Answer<'a, Fetched> {
        unasked()
    }

    fn raw<'a>(&'a self, _: &'a Cx, _: &'a MessageRef, _: u64) -> Answer<'a, RawMessage> {
        unasked()
    }
}

fn unasked<'a, T: Send + 'a>() -> Answer<'a, T> {
    Box::pin(async { Err(Fault::new(FaultKind::Unreadable, Stage::Start)) })
}

/// What was said to the log so far, without what it says of its own days.
fn records(dir: &Path) -> Vec<Value> {
    let files = audit::days(dir).unwrap_or_default();
    let texts = files
        .iter()
        .map(|file| fs::read_to_string(&file.path).unwrap());
    let text: String = texts.collect();
    let parsed = text.lines().map(|line| serde_json::from_str(line).unwrap());
    parsed
        .filter(|record: &Value| !record["event"].as_str().unwrap().starts_with("day_"))
        .collect()
}

/// A gateway over one witness, and the place of its log.
struct World {
    gateway: Arc<Gateway>,
    witness: Arc<Witness>,
    log: Log,
    place: TempDir,
}

impl World {
    fn new() -> Self {
        let place = tempfile::tempdir().unwrap();
        let dir = place.path().join("state/audit");
        let log = Log::open(Settings::new(Some(dir.clone())));
        let witness = Arc::new(Witness {
            dir,
            seen: Mutex::default(),
        });
        let source: Arc<dyn MailSource> = witness.clone();
        let id = AccountId::new("default").unwrap();
        let account = Account::new(id, source, crate::Provider::Standard);
        let setup = Setup::owner(vec![account], vec![Toolset::Imap]);
        let gateway = Gateway::new(setup, CursorKey::new([7; 32]), log.clone());
        Self {
            gateway: Arc::new(gateway),
            witness,
            log,
            place,
        }
    }

    /// One whose log has a file where its directory would be.
    fn without_a_log() -> Self {
        let world = Self::new();
        fs::write(world.obstacle(), "no directory").unwrap();
        world
    }

    fn obstacle(&self) -> PathBuf {
        self.place.path().join("state")
    }

    fn records(&self) -> Vec<Value> {
        records(&self.witness.dir)
    }

    /// Calls the tool in a task of its own, as a transport does; none when it fell.
    async fn call<M: Manner>(&self) -> Option<Outcome> {
        let gateway = Arc::clone(&self.gateway);
        tokio::spawn(async move { call::<M>(&gateway).await })
            .await
            .ok()
    }
}

async fn call<M: Manner>(gateway: &Gateway) -> Outcome {
    ask::<M>(gateway, "default", Asking::Cannot).await
}

async fn ask<M: Manner>(gateway: &Gateway, account: &str, asking: Asking) -> Outcome {
    say::<M>(gateway, json!({ "account_id": account }), asking).await
}

async fn say<M: Manner>(gateway: &Gateway, arguments: Value, asking: Asking) -> Outcome {
    let (caller, cx) = (Caller::owner("test:1"), Cx::new());
    let Value::Object(arguments) = arguments else {
        unreachable!()
    };
    let call = Call {
        caller: &caller,
        tool: Made::<M>::NAME,
        arguments,
        asking,
        cx: &cx,
    };
    let setup = gateway.setup();
    let standing = setup.standing(&caller).unwrap();
    let admitted = gateway
        .admit(standing, None, std::time::Instant::now())
        .await
        .ok()
        .unwrap();
    pass::<Made<M>>(gateway, &setup, standing, call, &admitted).await
}

fn code(outcome: Option<Outcome>) -> &'static str {
    match outcome {
        Some(Outcome::Answered(_)) => "answered",
        Some(Outcome::Refused(refused)) => {
            assert_eq!(refused.data["code"], refused.refusal.code.name());
            refused.refusal.code.name()
        }
        None => "fell",
    }
}

fn meta(outcome: &Outcome) -> Value {
    match outcome {
        Outcome::Answered(answered) => answered.structured["meta"].clone(),
        Outcome::Refused(refused) => refused.data["meta"].clone(),
    }
}

#[tokio::test]
async fn a_tool_that_changes_something_finds_its_intent_on_disk_and_its_outcome_is_there_before_the_answer()
 {
    let world = World::new();
    for round in 0..3 {
        let outcome = world.call::<Changes>().await.unwrap();
        let records = world.records();
        let [intent, ended] = &records[round * 2..] else {
            panic!("{records:#?}")
        };
        let seen = world.witness.seen.lock().unwrap()[round].clone();
        assert_eq!(seen.last(), Some(intent));
        assert_eq!(seen.len(), round * 2 + 1);
        assert_eq!(
            (&intent["event"], &ended["event"]),
            (&json!("intent"), &json!("outcome"))
        );
        assert_eq!(intent["caller_id"], "owner");
        assert_eq!(intent["caller_addr"], "test:1");
        assert_eq!(intent["arguments"], json!({ "account": "default" }));
        assert_eq!(
            (&intent["decision"], &intent["tool"]),
            (&json!("ALLOW"), &json!("test_tool"))
        );
        assert_eq!(intent["result"], "pending");
        assert_eq!(ended["intent"], intent["seq"]);
        assert_eq!(ended["request_id"], intent["request_id"]);
        assert_eq!(
            (&ended["result"], &ended["shown"]),
            (&json!("ok"), &json!(7))
        );
        assert_eq!(ended["round_trips"], 1);
        let meta = meta(&outcome);
        assert_eq!(meta["request_id"], intent["request_id"]);
        assert_eq!(meta["receipt"]["seq"], ended["seq"]);
        assert_eq!(meta["receipt"]["leaf_hash"], ended["hash"]);
        assert_eq!(code(Some(outcome)), "answered");
    }
}

#[tokio::test]
async fn a_tool_that_only_reads_leaves_one_record_before_the_answer() {
    let world = World::new();
    let outcome = world.call::<Reads>().await.unwrap();
    let records = world.records();
    assert_eq!(records.len(), 1);
    assert_eq!(records[0]["event"], "call");
    assert_eq!(meta(&outcome)["receipt"]["seq"], records[0]["seq"]);
    assert_eq!(*world.witness.seen.lock().unwrap(), [Vec::<Value>::new()]);
}

#[tokio::test]
async fn every_intent_has_its_outcome_however_the_tool_ends() {
    let world = World::new();
    assert_eq!(code(world.call::<Refuses>().await), "conflict");
    assert_eq!(code(world.call::<Falls<false>>().await), "fell");
    assert_eq!(code(world.call::<Falls<true>>().await), "fell");
    let gateway = Arc::clone(&world.gateway);
    let running = tokio::spawn(async move { call::<Stays>(&gateway).await });
    while world.witness.asked() < 4 {
        tokio::task::yield_now().await;
    }
    running.abort();
    assert!(running.await.is_err());
    // One more is left undone when the log is closed.
    let gateway = Arc::clone(&world.gateway);
    let running = tokio::spawn(async move { call::<Stays>(&gateway).await });
    while world.witness.asked() < 5 {
        tokio::task::yield_now().await;
    }
    world.log.close("test").await;
    running.abort();
    let records = world.records();
    let told: Vec<(&str, &str)> = records
        .iter()
        .map(|record| {
            (
                record["event"].as_str().unwrap(),
                record["result"].as_str().unwrap_or("-"),
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            ("intent", "pending"),
            ("outcome", "conflict"),
            ("intent", "pending"),
            ("outcome", "internal"),
            ("call", "internal"),
            ("intent", "pending"),
            ("outcome", "cancelled"),
            ("intent", "pending"),
            ("outcome", "abandoned"),
            ("stop", "ok"),
        ]
    );
    for (intent, outcome) in [(0, 1), (2, 3), (5, 6), (7, 8)] {
        assert_eq!(records[outcome]["intent"], records[intent]["seq"]);
        assert_eq!(
            records[outcome]["request_id"],
            records[intent]["request_id"]
        );
    }
    let all = json!(records).to_string();
    assert!(
        !all.contains("zanzibar") && !all.contains("fault of the tool"),
        "{all}"
    );
    // After the last word nothing is done any more.
    assert_eq!(code(world.call::<Changes>().await), "audit_unavailable");
    assert_eq!(world.witness.asked(), 5);
}

#[tokio::test]
async fn a_call_that_is_cancelled_while_its_intent_is_written_is_said_to_be() {
    let world = World::new();
    assert_eq!(code(world.call::<Changes>().await), "answered");
    // Another process is at it, so that the intent has to wait.
    let lock = fs::File::open(world.witness.dir.join("lock")).unwrap();
    lock.lock().unwrap();
    let gateway = Arc::clone(&world.gateway);
    tokio::select! {
        biased;
        _ = call::<Changes>(&gateway) => panic!("nobody can have written its intent"),
        () = tokio::task::yield_now() => {}
    }
    lock.unlock().unwrap();
    assert_eq!(code(world.call::<Changes>().await), "answered");
    world.log.close("test").await;
    let records = world.records();
    let of = |event: &str| -> Vec<&Value> {
        records
            .iter()
            .filter(|record| record["event"] == event)
            .collect()
    };
    let (intents, outcomes) = (of("intent"), of("outcome"));
    // The request is the same in both.
    let results: Vec<&Value> = intents
        .iter()
        .map(|intent| {
            let of_it = outcomes
                .iter()
                .find(|outcome| outcome["request_id"] == intent["request_id"]);
            &of_it.expect("an outcome")["result"]
        })
        .collect();
    assert_eq!(results, ["ok", "cancelled", "ok"]);
    assert_eq!(outcomes.len(), 3);
    assert_eq!(world.witness.asked(), 2);
}

#[tokio::test]
async fn other_names_of_a_folder_are_found_out_once_the_intent_is_on_disk() {
    let arguments = || json!({ "account_id": "default", "folder": BY_ANOTHER_NAME });
    let world = World::without_a_log();
    let outcome = say::<Changes>(&world.gateway, arguments(), Asking::Cannot).await;
    assert_eq!(code(Some(outcome)), "audit_unavailable");
    assert_eq!(world.witness.asked(), 0);
    let world = World::new();
    // The names, and what the tool itself asks; then they are known.
    for (asked, events) in [(2, &["intent"][..]), (3, &["intent", "outcome", "intent"])] {
        let outcome = say::<Changes>(&world.gateway, arguments(), Asking::Cannot).await;
        assert_eq!(code(Some(outcome)), "answered");
        assert_eq!(world.witness.asked(), asked);
        let seen = world.witness.seen.lock().unwrap().last().unwrap().clone();
        let heard: Vec<&Value> = seen.iter().map(|record| &record["event"]).collect();
        assert_eq!(heard, events);
    }
    assert_eq!(world.witness.seen.lock().unwrap()[0].len(), 1);
}

#[tokio::test]
async fn without_a_log_a_tool_that_changes_something_never_runs() {
    let world = World::without_a_log();
    for _ in 0..3 {
        assert_eq!(code(world.call::<Changes>().await), "audit_unavailable");
    }
    assert_eq!(world.witness.asked(), 0);
    fs::remove_file(world.obstacle()).unwrap();
    assert_eq!(code(world.call::<Changes>().await), "answered");
    let records = world.records();
    assert_eq!(records[0]["event"], "interrupted");
    assert_eq!(records[0]["withheld"], 3);
    // What was meant to be done and was not is told, and cannot be taken for something that was.
    let unsaid: Vec<&Value> = records
        .iter()
        .filter(|record| record["withheld"] == true)
        .collect();
    assert_eq!(unsaid.len(), 3, "{records:#?}");
    assert_eq!(world.witness.asked(), 1);
}

#[tokio::test]
async fn without_a_log_the_answer_of_a_tool_that_reads_is_withheld_and_it_is_not_run_again() {
    let world = World::without_a_log();
    for _ in 0..3 {
        let outcome = world.call::<Reads>().await.unwrap();
        assert_eq!(meta(&outcome).get("receipt"), None);
        let Outcome::Refused(refused) = &outcome else {
            panic!("an answer without a record")
        };
        let told = refused.as_answer().structured.to_string();
        let place = world.place.path().to_str().unwrap();
        assert!(!told.contains(place), "{told}");
        assert_eq!(code(Some(outcome)), "audit_unavailable");
        assert_eq!(world.witness.asked(), 1);
    }
    fs::remove_file(world.obstacle()).unwrap();
    assert_eq!(code(world.call::<Reads>().await), "answered");
    let records = world.records();
    let events: Vec<&str> = records
        .iter()
        .map(|record| record["event"].as_str().unwrap())
        .collect();
    assert_eq!(events, ["interrupted", "call", "call"]);
    assert_eq!(
        (&records[0]["withheld"], &records[0]["turned_away"]),
        (&json!(1), &json!(2))
    );
    assert_eq!(records[1]["withheld"], true);
    assert_eq!(records[2].get("withheld"), None);
    assert_eq!(world.witness.asked(), 2);
}

#[tokio::test]
async fn the_operator_is_recorded_like_any_caller_or_sees_nothing() {
    let (account, cx) = (AccountId::new("default").unwrap(), Cx::new());
    let world = World::new();
    let found = world.gateway.inspect_folders(&cx, &account).await.unwrap();
    assert_eq!((found.folders.len(), found.unusable), (0, 0));
    let records = world.records();
    let [call] = records.as_slice() else {
        panic!("{records:#?}")
    };
    for (field, want) in [
        ("event", json!("call")),
        ("caller_id", json!("operator")),
        ("tool", json!("policy_inspect")),
        ("arguments", json!({ "account": "default" })),
        ("decision", json!("ALLOW")),
        ("result", json!("ok")),
        ("round_trips", json!(1)),
    ] {
        assert_eq!(call[field], want, "{field}");
    }
    let nowhere = AccountId::new("other").unwrap();
    let refused = world.gateway.inspect_folders(&cx, &nowhere).await;
    assert_eq!(refused.unwrap_err().code, Code::NotFound);
    assert_eq!(world.records()[1]["result"], "not_found");
    assert_eq!(world.witness.asked(), 1);

    let world = World::without_a_log();
    for _ in 0..2 {
        let refused = world.gateway.inspect_folders(&cx, &account).await;
        assert_eq!(refused.unwrap_err().code, Code::AuditUnavailable);
        assert_eq!(world.witness.asked(), 1);
    }
}
