//! How a call came out, in few words that a table can hold. Judges nothing.

use serde_json::{Value, json};
use testkit::McpClient;
use testkit::mcp::{RequestId, RpcError};

/// What came of one call.
pub(crate) struct Answer {
    /// `-32602 invalid_input {"argument":"confirm"}`, `DENY capability_missing`, `ok done`, `failed read_only undone`.
    pub(crate) words: String,
    /// Of the envelope; null for a protocol error.
    pub(crate) data: Value,
    /// The whole envelope; of a protocol error its data.
    pub(crate) all: Value,
    /// As text, or the error's message.
    pub(crate) text: String,
}

/// Calls a tool, whatever comes of it.
pub(crate) fn ask(client: &mut McpClient, tool: &str, arguments: Value) -> Answer {
    let id = client.send_call(tool, arguments);
    told(client, id)
}

/// The answer to a call that was sent.
pub(crate) fn told(client: &mut McpClient, id: RequestId) -> Answer {
    Answer::of(client.wait(id))
}

impl Answer {
    fn of(came: Result<Value, RpcError>) -> Self {
        match came {
            Err(error) => Self {
                words: refused(&error),
                data: Value::Null,
                all: error.data,
                text: error.message,
            },
            Ok(result) => {
                let all = result["structuredContent"].clone();
                let data = all["data"].clone();
                Self {
                    words: came_out(&data),
                    data,
                    all,
                    text: result["content"][0]["text"].as_str().unwrap().to_owned(),
                }
            }
        }
    }

    /// What the change is called.
    pub(crate) fn id(&self) -> Value {
        let id = &self.data["transaction_id"];
        assert!(id.is_string(), "{}: {}", self.words, self.all);
        id.clone()
    }

    pub(crate) fn has(&self, word: &str) -> bool {
        self.text.contains(word)
    }
}

fn refused(error: &RpcError) -> String {
    let word = error.data["code"].as_str().unwrap_or("-");
    match error.data.get("details") {
        // What was begun, and came to nothing, has a name of its own each time.
        Some(details) if details.get("transaction_id").is_some() => {
            assert_eq!(details["transaction_state"], "undone");
            format!("{} {word}", error.code)
        }
        Some(details) => format!("{} {word} {details}", error.code),
        None => format!("{} {word}", error.code),
    }
}

fn came_out(data: &Value) -> String {
    let word = |name: &str| data[name].as_str().map(str::to_owned);
    if let Some(reason) = word("reason") {
        return format!("{} {reason}", word("decision").unwrap_or_default());
    }
    let issues = data["issues"].as_array().into_iter().flatten();
    let issues = issues.filter_map(|issue| issue["code"].as_str().map(str::to_owned));
    let all = word("status").into_iter().chain(issues);
    let all = all.chain(word("transaction_state"));
    all.collect::<Vec<_>>().join(" ")
}

#[test]
fn words_say_how_it_came_out() {
    let told = |data: Value| {
        let envelope = json!({ "data": data });
        let result = json!({ "structuredContent": envelope, "content": [{ "text": "" }] });
        Answer::of(Ok(result)).words
    };
    let issue = json!([{ "code": "flagged_only" }]);
    for (data, words) in [
        (
            json!({ "decision": "DENY", "reason": "folder_hidden" }),
            "DENY folder_hidden",
        ),
        (
            json!({ "status": "ok", "issues": [], "transaction_state": "done" }),
            "ok done",
        ),
        (
            json!({ "status": "partial", "issues": issue, "transaction_state": "done" }),
            "partial flagged_only done",
        ),
    ] {
        assert_eq!(told(data), words);
    }
}
