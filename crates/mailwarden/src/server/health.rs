//! `/healthz` and `/readyz`: whether the process lives, and whether it can serve. They ask for no proof, so they tell a
//! stranger nothing but words of a short list.

use axum::Router;
use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use serde_json::{Value, json};

use crate::watched::{Lacking, Watched};

/// To be mounted where load balancers and operators ask.
pub(crate) fn routes(watched: Watched) -> Router {
    Router::new()
        .route("/healthz", get(alive))
        .route("/readyz", get(ready).with_state(watched))
}

/// That somebody answers is the answer.
async fn alive() -> Response {
    told(StatusCode::OK, &json!({ "alive": true }))
}

async fn ready(State(watched): State<Watched>) -> Response {
    let lacking = watched.lacking().await;
    let status = match lacking.is_empty() {
        true => StatusCode::OK,
        false => StatusCode::SERVICE_UNAVAILABLE,
    };
    let names: Vec<&str> = lacking.into_iter().map(Lacking::name).collect();
    told(
        status,
        &json!({ "ready": names.is_empty(), "not_ready": names }),
    )
}

fn told(status: StatusCode, what: &Value) -> Response {
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static("application/json")),
        (CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    (status, headers, format!("{what}\n")).into_response()
}
