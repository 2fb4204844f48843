//! The short way of a call: read here and answered in one piece, where the protocol library would add nothing but its machinery.
//!
//! It is for calls as most are: of the revision of 2026-07-28, answered by JSON, of a tool that changes nothing, without a wish
//! to hear how it goes. It judges nobody: what is not exactly as it should be goes the long way, and is refused there.

use std::borrow::Cow;

use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, HeaderName};
use gateway::AnyTool;
use rmcp::model::{ClientCapabilities, RequestId};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Map, Value};

use super::gate::{ASKS, NAMES, SESSION};
use crate::server::mcp::Alone;

const REVISION: &str = "2026-07-28";
const SPEAKS: &str = "mcp-protocol-version";
const CALL: &str = "tools/call";
/// Arguments may be said in the head too (SEP-2243), and then have to agree.
const ARGUMENTS: &str = "mcp-param-";

/// INVARIANT: nothing is left out of these: a field that is not known here may mean something further in.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Message<'a> {
    #[serde(borrow)]
    jsonrpc: Cow<'a, str>,
    id: RequestId,
    #[serde(borrow)]
    method: Cow<'a, str>,
    params: Params<'a>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Params<'a> {
    name: String,
    #[serde(default)]
    arguments: Map<String, Value>,
    #[serde(borrow, rename = "_meta")]
    meta: Meta<'a>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Meta<'a> {
    #[serde(borrow, rename = "io.modelcontextprotocol/protocolVersion")]
    revision: Cow<'a, str>,
    #[serde(rename = "io.modelcontextprotocol/clientCapabilities")]
    _can: ClientCapabilities,
    #[serde(rename = "io.modelcontextprotocol/clientInfo")]
    _client: Option<IgnoredAny>,
    traceparent: Option<String>,
    #[serde(rename = "tracestate")]
    _tracestate: Option<IgnoredAny>,
    #[serde(rename = "baggage")]
    _baggage: Option<IgnoredAny>,
}

/// None for what goes the long way.
pub(super) fn read(headers: &HeaderMap, body: &[u8]) -> Option<Alone> {
    let named = one(headers, NAMES)?;
    let plain = one(headers, SPEAKS)? == REVISION
        && one(headers, ASKS)? == CALL
        && one(headers, CONTENT_TYPE.as_str())? == "application/json"
        && !headers.contains_key(SESSION)
        && !headers.keys().any(says_an_argument);
    if !plain || !changes_nothing(named) {
        return None;
    }
    let message: Message<'_> = serde_json::from_slice(body).ok()?;
    let Message {
        jsonrpc,
        id,
        method,
        params,
    } = message;
    let agrees = jsonrpc == "2.0"
        && method == CALL
        && params.name == named
        && params.meta.revision == REVISION;
    agrees.then_some(Alone {
        id,
        tool: params.name,
        arguments: params.arguments,
        traceparent: params.meta.traceparent,
    })
}

/// What a header says that is there once.
fn one<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    let mut said = headers.get_all(name).iter();
    match (said.next(), said.next()) {
        (Some(one), None) => one.to_str().ok(),
        _ => None,
    }
}

fn says_an_argument(name: &HeaderName) -> bool {
    name.as_str().starts_with(ARGUMENTS)
}

fn changes_nothing(tool: &str) -> bool {
    let known = gateway::ALL.iter().find(|one| one.name() == tool);
    known.is_some_and(|one| AnyTool::annotations(*one).read_only)
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;
    use serde_json::json;

    use super::*;

    fn head() -> HeaderMap {
        let words = [
            (SPEAKS, REVISION),
            (ASKS, CALL),
            (NAMES, "search"),
            ("content-type", "application/json"),
        ];
        let each = words.map(|(name, word)| {
            let name = HeaderName::from_static(name);
            (name, HeaderValue::from_static(word))
        });
        HeaderMap::from_iter(each)
    }

    fn message() -> Value {
        json!({
            "jsonrpc": "2.0", "id": 7, "method": "tools/call",
            "params": {
                "name": "search", "arguments": { "folder": "INBOX" },
                "_meta": {
                    "io.modelcontextprotocol/protocolVersion": REVISION,
                    "io.modelcontextprotocol/clientInfo": { "name": "a", "version": "1" },
                    "io.modelcontextprotocol/clientCapabilities": { "elicitation": {} },
                },
            },
        })
    }

    fn reads(headers: &HeaderMap, message: &Value) -> bool {
        read(headers, message.to_string().as_bytes()).is_some()
    }

    #[test]
    fn a_call_as_most_are_is_read_here() {
        let call = read(&head(), message().to_string().as_bytes()).unwrap();
        assert_eq!(call.id, RequestId::Number(7));
        assert_eq!(call.tool, "search");
        assert_eq!(call.arguments["folder"], "INBOX");
        let mut traced = message();
        traced["params"]["_meta"]["traceparent"] = json!("00-1-2-01");
        let call = read(&head(), traced.to_string().as_bytes()).unwrap();
        assert_eq!(call.traceparent.as_deref(), Some("00-1-2-01"));
    }

    #[test]
    fn what_is_otherwise_in_any_way_goes_the_long_way() {
        let meta = "/params/_meta";
        for (at, key, value) in [
            ("", "jsonrpc", json!("1.0")),
            ("", "method", json!("tools/list")),
            ("", "id", json!(null)),
            ("", "other", json!(1)),
            ("/params", "name", json!("list_folders")),
            ("/params", "arguments", json!([])),
            ("/params", "requestState", json!("x")),
            ("/params", "inputResponses", json!({})),
            ("/params", "task", json!({})),
            (meta, "progressToken", json!(1)),
            (meta, "other", json!(1)),
            (
                meta,
                "io.modelcontextprotocol/protocolVersion",
                json!("2025-11-25"),
            ),
            (
                meta,
                "io.modelcontextprotocol/clientCapabilities",
                json!([1]),
            ),
            (meta, "io.modelcontextprotocol/subscriptionId", json!("x")),
        ] {
            let mut other = message();
            other.pointer_mut(at).unwrap()[key] = value;
            assert!(!reads(&head(), &other), "{at} {key}");
        }
        let mut bare = message();
        bare["params"].as_object_mut().unwrap().remove("_meta");
        assert!(!reads(&head(), &bare));
        let twice = message()
            .to_string()
            .replacen("\"id\":7", "\"id\":7,\"id\":8", 1);
        assert!(read(&head(), twice.as_bytes()).is_none());
        let batch = json!([message()]);
        assert!(!reads(&head(), &batch));
    }

    #[test]
    fn and_so_does_a_head_that_says_more_or_less() {
        for name in [SPEAKS, ASKS, NAMES, "content-type"] {
            let mut less = head();
            less.remove(name);
            assert!(!reads(&less, &message()), "{name}");
            let mut twice = head();
            let word = twice[name].clone();
            twice.append(HeaderName::from_static(name), word);
            assert!(!reads(&twice, &message()), "{name}");
        }
        for (name, word) in [
            (SESSION, "x"),
            ("mcp-param-folder", "INBOX"),
            (SPEAKS, "2025-11-25"),
            (NAMES, "list_folders"),
            ("content-type", "application/json; charset=latin1"),
        ] {
            let mut more = head();
            more.insert(
                HeaderName::from_static(name),
                HeaderValue::from_static(word),
            );
            assert!(!reads(&more, &message()), "{name}");
        }
    }

    /// Nobody is asked on this way, and nothing goes on when its caller has left.
    #[test]
    fn what_may_change_something_goes_the_long_way() {
        for tool in gateway::ALL {
            let mut headers = head();
            headers.insert(NAMES, HeaderValue::from_static(tool.name()));
            let mut call = message();
            call["params"]["name"] = json!(tool.name());
            let reading = tool.annotations().read_only;
            assert_eq!(reads(&headers, &call), reading, "{}", tool.name());
        }
    }
}
