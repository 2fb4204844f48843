//! A law over all tools: of what a caller writes, only accounts, folders and message ids get into the audit log.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests stop at the first surprise"
)]

use std::fs;
use std::path::Path;
use std::sync::Arc;

use audit::{Log, Settings};
use gateway::{ALL, AnyTool, Call, Caller, CursorKey, Gateway};
use mail::{
    AccountId, Answer, Choose, Cx, Described, Fault, FaultKind, Fetched, Folders, Found,
    MailSource, MessageRef, RawMessage, Search, SourceKind, Stage, Verified,
};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// A source that has nothing.
struct Empty;

impl MailSource for Empty {
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

    fn verify<'a>(&'a self, _: &'a Cx) -> Answer<'a, Verified> {
        Box::pin(async { Ok(Verified::default()) })
    }

    fn folders<'a>(&'a self, _: &'a Cx) -> Answer<'a, Folders> {
        Box::pin(async { Ok(Folders::default()) })
    }

    fn search<'a>(&'a self, _: &'a Cx, _: &'a Search) -> Answer<'a, Found> {
        Box::pin(async { Ok(Found::default()) })
    }

    fn sift<'a>(
        &'a self,
        _: &'a Cx,
        _: &'a mail::FolderName,
        tests: &'a [mail::Condition],
    ) -> Answer<'a, mail::Sifted> {
        Box::pin(async {
            Ok(mail::Sifted {
                uidvalidity: mail::UidValidity(1),
                sets: vec![mail::UidSet::default(); tests.len()],
                order: mail::Order::ByUid,
            })
        })
    }
    fn summaries<'a>(
        &'a self,
        _: &'a Cx,
        _: &'a mail::FolderName,
        _: mail::UidValidity,
        _: &'a mail::UidSet,
        _: mail::Snippets,
    ) -> Answer<'a, Vec<mail::Summary>> {
        Box::pin(async { Ok(Vec::new()) })
    }
    fn message<'a>(&'a self, _: &'a Cx, _: &'a MessageRef, _: Choose<'a>) -> Answer<'a, Fetched> {
        Box::pin(async { Err(Fault::new(FaultKind::NoSuchMessage, Stage::Fetch)) })
    }

    fn raw<'a>(&'a self, _: &'a Cx, _: &'a MessageRef, _: u64) -> Answer<'a, RawMessage> {
        Box::pin(async { Err(Fault::new(FaultKind::NoSuchMessage, Stage::Fetch)) })
    }
}

/// Long enough to stand nowhere by chance.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z]{14,24}",
        "[a-zA-Z0-9 .,:/@<>()=+-]{16,60}",
        "[a-z]{14}[\\PC]{4,30}",
        "[a-z]{14}\"[a-z]{3}\\\\",
    ]
}

/// A value that a field's schema allows, or text where it is not.
fn value(name: &str, schema: &Value) -> BoxedStrategy<Value> {
    let fitting = match (schema["type"].as_str().unwrap(), name) {
        ("object", _) => objects(schema.clone()).prop_map(Value::Object).boxed(),
        ("integer", "size_gt" | "size_lt") => (0u64..1 << 40).prop_map(Value::from).boxed(),
        ("string", "from" | "to") => "[a-z]{14,20}@[a-z]{8}[.]example"
            .prop_map(Value::from)
            .boxed(),
        ("string", "from_domain") => "[a-z]{14,20}[.]example".prop_map(Value::from).boxed(),
        ("string", "newer_than" | "older_than") => {
            "[1-9][0-9]{0,2}[smhdw]".prop_map(Value::from).boxed()
        }
        ("string", "part_id") => "[1-9]([.][1-9]){0,2}".prop_map(Value::from).boxed(),
        ("string", "name" | "keyword") => "[a-zA-Z]{14,20}".prop_map(Value::from).boxed(),
        ("array", "to" | "cc" | "bcc") => {
            let address = "[a-z]{14,20}@[a-z]{8}[.]example";
            proptest::collection::vec(address, 0..3)
                .prop_map(Value::from)
                .boxed()
        }
        ("array", _) => {
            let flag = prop_oneof![Just("\\Seen".to_owned()), "[a-z]{14,20}"];
            proptest::collection::vec(flag, 1..4)
                .prop_map(Value::from)
                .boxed()
        }
        ("boolean", "confirm") => Just(json!(true)).boxed(),
        ("string", "action") => Just(json!("replace")).boxed(),
        ("string", "view") => Just(json!("full")).boxed(),
        ("string", "idempotency_key") => "[a-z]{14,20}".prop_map(Value::from).boxed(),
        ("string", "in_reply_to") => "<[a-z]{14,20}@[a-z]{8}[.]example>"
            .prop_map(Value::from)
            .boxed(),
        ("string", "transaction_id") => "tx_[0-9]{26}".prop_map(Value::from).boxed(),
        ("boolean", _) => any::<bool>().prop_map(Value::from).boxed(),
        ("integer", _) => {
            let bound = |key: &str| schema[key].as_u64().unwrap();
            (bound("minimum")..=bound("maximum"))
                .prop_map(Value::from)
                .boxed()
        }
        ("string", "account_id") => "[a-z]{14,20}".prop_map(Value::from).boxed(),
        // What a header calls it, for the tools that take that.
        ("string", "message_id") if schema["maxLength"] == 1000 => {
            "<[a-z]{14,20}@[a-z]{8}[.]example>"
                .prop_map(Value::from)
                .boxed()
        }
        ("string", "message_id") => "[a-z]{14,20}"
            .prop_map(|folder| json!(format!("imap:default:{folder}:1:1")))
            .boxed(),
        ("string", _) if schema["format"] == "date" => Just(json!("2024-02-29")).boxed(),
        ("string", _) => text().prop_map(Value::from).boxed(),
        other => panic!("{name}: no values for {other:?}"),
    };
    // Now and then what is not allowed at all.
    prop_oneof![6 => fitting, 1 => text().prop_map(Value::from)].boxed()
}

/// Arguments for a tool: all that it requires, some of the others, and now and then one that it does not have.
fn arguments(tool: &'static dyn AnyTool) -> impl Strategy<Value = Map<String, Value>> {
    objects(Value::Object(tool.input_schema()))
}

/// An object that fits a schema, or nearly.
fn objects(schema: Value) -> impl Strategy<Value = Map<String, Value>> {
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    let properties = schema["properties"].as_object().unwrap().clone();
    let fields: Vec<_> = properties
        .iter()
        .map(|(name, schema)| {
            let odds = if required.contains(&json!(name)) {
                0.95
            } else {
                0.3
            };
            let name = name.clone();
            proptest::option::weighted(
                odds,
                value(&name, schema).prop_map(move |value| (name.clone(), value)),
            )
        })
        .collect();
    let stray = proptest::option::weighted(0.1, (text(), text().prop_map(Value::from)));
    (fields, stray).prop_map(|(fields, stray)| fields.into_iter().flatten().chain(stray).collect())
}

/// Every argument, those inside objects too.
fn flatten(map: &Map<String, Value>, into: &mut Vec<(String, Value)>) {
    for (name, value) in map {
        match value {
            Value::Object(inner) => flatten(inner, into),
            other => into.push((name.clone(), other.clone())),
        }
    }
}

/// The lines of the last call, one or two, and the record among them that holds its arguments.
fn last_call(dir: &Path) -> (String, Value) {
    let newest = audit::days(dir).unwrap().pop().unwrap();
    let text = fs::read_to_string(newest.path).unwrap();
    // What the log says of itself may stand between them.
    let calls = text
        .lines()
        .rev()
        .filter(|line| line.contains("\"request_id\""));
    let lines: Vec<&str> = calls.take(2).collect();
    let read = |line: &str| -> Value { serde_json::from_str(line).unwrap() };
    let last = read(lines[0]);
    match last["event"] == "outcome" {
        true => (lines.join("\n"), read(lines[1])),
        false => (lines[0].to_owned(), last),
    }
}

const KEPT_WHOLE: [&str; 6] = [
    "account",
    "folder",
    "message_id",
    "target_account",
    "target_folder",
    "transaction",
];

/// What may stand in `arguments`, by its name.
fn assert_is_kept_well(name: &str, value: &Value, given: &Map<String, Value>) {
    let is_digest = |text: &str| {
        let hex = text.strip_prefix("hmac:").unwrap_or_default();
        hex.len() == 32 && hex.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    match (name, value) {
        ("account" | "folder" | "message_id", Value::String(_)) => {}
        ("target_account" | "target_folder", Value::String(_)) => {}
        ("transaction", _) => assert_eq!(*value, given["transaction_id"]),
        ("add_flags" | "remove_flags" | "tags", Value::Array(flags)) => {
            assert!(flags.iter().all(|flag| flag == "\\seen"), "{value}");
        }
        (_, Value::Number(_) | Value::Bool(_)) => {}
        ("part_id", _) => assert_eq!(*value, given[name]),
        ("start_date" | "end_date", _) => assert_eq!(*value, given[name]),
        ("since" | "before", _) => assert_eq!(*value, given["criteria"][name]),
        (_, Value::String(text)) => assert!(is_digest(text), "{name}: {text}"),
        other => panic!("{other:?} is kept"),
    }
}

#[test]
fn no_words_of_a_caller_get_into_the_log_by_any_tool() {
    let place = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let log = Log::open(Settings::new(Some(place.path().to_owned())));
    let source: Arc<dyn MailSource> = Arc::new(Empty);
    let id = AccountId::new("default").unwrap();
    let account = gateway::Account::new(id, source, gateway::Provider::Google);
    let setup = gateway::Setup::owner(vec![account], gateway::Toolset::ALL.to_vec());
    let ledger = ledger::Ledger::open(&place.path().join("ledger.db")).unwrap();
    let setup = setup.with_writes(gateway::Writes::Allowed);
    let gateway = Gateway::new(setup, CursorKey::new([7; 32]), log).with_ledger(
        ledger,
        gateway::Deletes::ToTrash,
        std::time::Duration::ZERO,
    );
    let caller = Caller::owner("test:1");
    for tool in ALL {
        let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
            cases: 120,
            failure_persistence: None,
            ..ProptestConfig::default()
        });
        let checked = runner.run(&arguments(*tool), |given| {
            let cx = Cx::new();
            runtime.block_on(gateway.call(Call {
                caller: &caller,
                tool: tool.name(),
                arguments: given.clone(),
                asking: gateway::Asking::Cannot,
                cx: &cx,
            }));
            let (line, record) = last_call(place.path());
            prop_assert_eq!(&record["tool"], tool.name());
            let kept = record["arguments"].as_object().unwrap();
            for (name, value) in kept {
                assert_is_kept_well(name, value, &given);
            }
            let kept_whole = KEPT_WHOLE.map(|name| kept.get(name).cloned());
            let rest = {
                let mut record = record.clone();
                for name in KEPT_WHOLE {
                    record["arguments"].as_object_mut().unwrap().remove(name);
                }
                record.to_string()
            };
            let mut names = tool.input_schema()["properties"].clone();
            let inner = [
                "/criteria/properties",
                "/criteria/properties/header/properties",
            ];
            for inner in inner
                .map(|path| names.pointer(path).cloned())
                .into_iter()
                .flatten()
            {
                names
                    .as_object_mut()
                    .unwrap()
                    .extend(inner.as_object().unwrap().clone());
            }
            let mut all: Vec<(String, Value)> = Vec::new();
            flatten(&given, &mut all);
            for (name, value) in &all {
                prop_assert!(names.get(name).is_some() || !line.contains(name.as_str()));
                let Some(words) = value.as_str().filter(|words| words.len() > 10) else {
                    continue;
                };
                let spelled = value.to_string();
                let spelled = spelled.trim_matches('"');
                prop_assert!(
                    !rest.contains(words) && !rest.contains(spelled),
                    "{name} in {rest}"
                );
                // Where something is kept whole, it is what was meant for that place.
                let places = [
                    "account_id",
                    "mailbox",
                    "folder",
                    "message_id",
                    "destination_account_id",
                    "destination_mailbox",
                    "target_account_id",
                    "target_folder",
                    "transaction_id",
                ];
                let belongs = places.contains(&name.as_str());
                let found = kept_whole
                    .iter()
                    .flatten()
                    .any(|kept| kept.to_string().contains(spelled));
                prop_assert!(belongs || !found, "{name} in {line}");
            }
            Ok(())
        });
        checked.unwrap_or_else(|failed| panic!("{}: {failed}", tool.name()));
    }
    // The law is worth something: most of it was said of calls that were let through.
    let days = audit::days(place.path()).unwrap().into_iter();
    let text: String = days
        .map(|day| fs::read_to_string(day.path).unwrap())
        .collect();
    for tool in ALL {
        let let_through = text
            .lines()
            .filter(|line| line.contains(tool.name()) && line.contains("\"ALLOW\""));
        assert!(let_through.count() > 10, "{}", tool.name());
    }
    assert!(text.contains("hmac:"));
}
