//! Answers in one piece: refusals, in few words, with what a client may make of them, and what a call came to.

use std::convert::Infallible;
use std::time::Duration;

use axum::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ALLOW, CONNECTION, CONTENT_TYPE,
    RETRY_AFTER, VARY, WWW_AUTHENTICATE,
};
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode};
use bytes::Bytes;
use gateway::{Code, Refused};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full};
use rmcp::model::ServerJsonRpcMessage;
use serde_json::{Value, json};

pub(super) type Answer = Response<BoxBody<Bytes, Infallible>>;

/// As further in: INTERNAL_ERROR of JSON-RPC where we have no room, INVALID_REQUEST where a caller has used up its own.
const OVERLOADED: i64 = -32603;
const RATE_LIMITED: i64 = -32600;

pub(super) fn plain(status: StatusCode, words: &'static str) -> Answer {
    whole(status, "text/plain; charset=utf-8", words)
}

/// The same, and then we hang up: what else came with the request is not read.
pub(super) fn refusal(status: StatusCode, words: &'static str) -> Answer {
    let mut answer = plain(status, words);
    let close = HeaderValue::from_static("close");
    answer.headers_mut().insert(CONNECTION, close);
    answer
}

pub(super) fn json(status: StatusCode, value: &serde_json::Value) -> Answer {
    whole(status, "application/json", value.to_string())
}

/// What the protocol says in answer to a call.
pub(super) fn message(message: &ServerJsonRpcMessage) -> Answer {
    match serde_json::to_vec(message) {
        Ok(body) => whole(StatusCode::OK, "application/json", body),
        Err(_) => fell(StatusCode::INTERNAL_SERVER_ERROR),
    }
}

/// Something of ours fell over.
pub(super) fn fell(status: StatusCode) -> Answer {
    plain(status, "this could not be served\n")
}

pub(super) fn not_found() -> Answer {
    refusal(StatusCode::NOT_FOUND, "")
}

pub(super) fn method_not_allowed(allowed: &'static str) -> Answer {
    let mut answer = refusal(StatusCode::METHOD_NOT_ALLOWED, "");
    let allowed = HeaderValue::from_static(allowed);
    answer.headers_mut().insert(ALLOW, allowed);
    answer
}

/// Who could not say who it is hears how that is done, and not what was wrong.
pub(super) fn challenge(status: StatusCode, challenge: &str) -> Answer {
    let words = match status {
        StatusCode::FORBIDDEN => "this token does not reach so far\n",
        _ => "bring a token: Authorization: Bearer ...\n",
    };
    let mut answer = refusal(status, words);
    if let Ok(challenge) = HeaderValue::from_str(challenge) {
        answer.headers_mut().insert(WWW_AUTHENTICATE, challenge);
    }
    answer
}

/// There is no room for it now; nothing was done. What else came with the request is not read.
pub(super) fn busy(after: Duration) -> Answer {
    let mut answer = crowded(&Value::Null, after);
    let close = HeaderValue::from_static("close");
    answer.headers_mut().insert(CONNECTION, close);
    answer
}

/// The same on a connection that is kept. It is made thousands of times a second where somebody asks for that.
pub(super) fn crowded(id: &Value, after: Duration) -> Answer {
    let seconds = after.as_secs_f64().ceil().max(1.0) as u64;
    let error = format!(
        r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{OVERLOADED},"message":"there is too much to do right now; try again later","data":{{"code":"overloaded","details":{{"retry_after_seconds":{seconds}}}}}}}}}"#
    );
    let mut answer = whole(
        StatusCode::SERVICE_UNAVAILABLE,
        "application/json",
        error.into_bytes(),
    );
    answer
        .headers_mut()
        .insert(RETRY_AFTER, HeaderValue::from(seconds));
    answer
}

/// A call that there is no room for, refused as it is further in; and when to come back.
pub(super) fn excess(id: &Value, refused: &Refused) -> Answer {
    let (status, code) = match refused.refusal.code {
        Code::Overloaded => (StatusCode::SERVICE_UNAVAILABLE, OVERLOADED),
        _ => (StatusCode::TOO_MANY_REQUESTS, RATE_LIMITED),
    };
    let error = json!({
        "jsonrpc": "2.0",
        "id": id,
        "error": {
            "code": code,
            "message": refused.refusal.to_string(),
            "data": refused.data,
        },
    });
    let mut answer = json(status, &error);
    let after = refused.data.pointer("/details/retry_after_seconds");
    let after = HeaderValue::from(after.and_then(Value::as_u64).unwrap_or(1));
    answer.headers_mut().insert(RETRY_AFTER, after);
    answer
}

/// Not JSON, or no message of JSON-RPC.
pub(super) fn unreadable() -> Answer {
    let error = json!({
        "jsonrpc": "2.0",
        "id": null,
        "error": { "code": -32700, "message": "send one JSON-RPC message" },
    });
    json(StatusCode::BAD_REQUEST, &error)
}

/// What a page of a listed origin may ask and read (Fetch, section 3.2).
pub(super) fn preflight() -> Answer {
    let mut answer = plain(StatusCode::NO_CONTENT, "");
    let headers = answer.headers_mut();
    let words = [
        (ACCESS_CONTROL_ALLOW_METHODS, "POST, GET, DELETE"),
        (
            ACCESS_CONTROL_ALLOW_HEADERS,
            "authorization, content-type, accept, mcp-protocol-version, mcp-session-id, mcp-method, mcp-name, last-event-id",
        ),
        (ACCESS_CONTROL_MAX_AGE, "600"),
    ];
    for (name, value) in words {
        headers.insert(name, HeaderValue::from_static(value));
    }
    answer
}

pub(super) fn readable_by(origin: HeaderValue, headers: &mut HeaderMap) {
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(VARY, HeaderValue::from_static("origin"));
    headers.insert(
        ACCESS_CONTROL_EXPOSE_HEADERS,
        HeaderValue::from_static("mcp-session-id, www-authenticate, retry-after"),
    );
}

fn whole(status: StatusCode, kind: &'static str, body: impl Into<Bytes>) -> Answer {
    let body: Bytes = body.into();
    let empty = body.is_empty();
    let mut answer = Response::new(Full::new(body).boxed());
    *answer.status_mut() = status;
    if !empty {
        let kind = HeaderValue::from_static(kind);
        answer.headers_mut().insert(CONTENT_TYPE, kind);
    }
    answer
}
