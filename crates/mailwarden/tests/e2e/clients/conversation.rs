//! What a host does in a day: look around, search, page on, mark, wait, be refused, read a resource.

use serde_json::{Value, json};
use testkit::clients::{Era, Errands, Way};

/// Panics at the first surprise.
pub(super) fn converse(client: &mut Errands, era: Era, way: &Way) {
    let met = client.run(&json!({ "do": "connect" })).unwrap();
    assert_eq!(met["revision"], era.revision(), "{met}");
    assert_eq!(met["capabilities"]["tools"]["listChanged"], true, "{met}");

    let listed = client.run(&json!({ "do": "tools" })).unwrap();
    let tools = listed["tools"].as_array().unwrap();
    for name in ["search", "fetch_body", "mark_seen"] {
        assert!(tools.contains(&json!(name)), "{listed}");
    }

    let first = data(call(client, "search", inbox("work", json!({ "limit": 2 }))));
    assert_eq!(first["uids"], json!([5, 4]), "{first}");
    let more = json!({ "limit": 2, "cursor": first["next_cursor"] });
    let second = data(call(client, "search", inbox("work", more)));
    assert_eq!(second["uids"], json!([3, 2]), "{second}");

    mark(client, way);
    wait(client);
    be_refused(client);

    let uri = format!(
        "imap://work/mailbox/INBOX/message/{}/1",
        first["uidvalidity"]
    );
    let read = client.run(&json!({ "do": "read", "uri": uri })).unwrap();
    let content = &read["contents"][0];
    assert_eq!(content["mimeType"], "application/json", "{read}");
    assert!(
        content["text"].as_str().unwrap().contains("Invoice 7"),
        "{read}"
    );
}

/// A change under a key of its own is made once, however often it is asked for.
fn mark(client: &mut Errands, way: &Way) {
    let key = match way {
        Way::Http { .. } => "over-http",
        Way::Stdio { .. } => "over-stdio",
    };
    let arguments = inbox("work", json!({ "uid": 1, "idempotency_key": key }));
    let done = data(call(client, "mark_seen", arguments.clone()));
    assert_eq!(done["transaction_state"], "done", "{done}");
    let again = data(call(client, "mark_seen", arguments));
    assert_eq!(again["transaction_id"], done["transaction_id"], "{again}");
    assert_eq!(again["repeated"], true, "{again}");
}

/// A call that lasts is told about while it lasts, which over HTTP takes a stream.
fn wait(client: &mut Errands) {
    let errand = json!({
        "do": "call", "name": "search", "progress": true,
        "arguments": inbox("home", json!({ "limit": 1 })),
    });
    let waited = client.run(&errand).unwrap();
    let heard = waited["progress"].as_array().unwrap();
    assert!(!heard.is_empty(), "{waited}");
    assert!(heard[0]["progress"].as_f64().unwrap() > 0.0, "{waited}");
    assert_eq!(data(waited)["uids"], json!([5]));
}

fn be_refused(client: &mut Errands) {
    let hidden = json!({ "account_id": "work", "folder": "Invoices", "uid": 1 });
    let denied = call(client, "fetch_body", hidden);
    assert_eq!(denied["isError"], true, "{denied}");
    assert_eq!(
        denied["structuredContent"]["data"]["decision"], "DENY",
        "{denied}"
    );

    let wrong = inbox("work", json!({ "limit": 5_000 }));
    let errand = json!({ "do": "call", "name": "search", "arguments": wrong });
    let error = client.run(&errand).unwrap_err();
    assert_eq!(error["code"], -32602, "{error}");
    assert_eq!(error["data"]["details"]["argument"], "limit", "{error}");
}

fn call(client: &mut Errands, name: &str, arguments: Value) -> Value {
    let errand = json!({ "do": "call", "name": name, "arguments": arguments });
    let result = client.run(&errand);
    result.unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn data(mut result: Value) -> Value {
    assert_ne!(result["isError"], true, "{result}");
    result["structuredContent"]["data"].take()
}

fn inbox(account: &str, more: Value) -> Value {
    let mut arguments = json!({ "account_id": account, "folder": "INBOX" });
    for (key, value) in more.as_object().unwrap() {
        arguments[key] = value.clone();
    }
    arguments
}
