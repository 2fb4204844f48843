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

const ALIVE: &str = "/healthz";
const READY: &str = "/readyz";

/// To be mounted where operators ask.
pub(crate) fn routes(watched: Watched) -> Router {
    let answer = |path: &'static str| {
        get(async move |State(watched): State<Watched>| {
            let (status, said) = of(path, &watched).await;
            told(status, &said)
        })
    };
    Router::new()
        .route(ALIVE, answer(ALIVE))
        .route(READY, answer(READY))
        .with_state(watched)
}

pub(crate) fn is_asked(path: &str) -> bool {
    [ALIVE, READY].contains(&path)
}

/// What is said there. That somebody answers is the answer to the first.
pub(crate) async fn of(path: &str, watched: &Watched) -> (StatusCode, Value) {
    if path == ALIVE {
        return (StatusCode::OK, json!({ "alive": true }));
    }
    let lacking = watched.lacking().await;
    let status = match lacking.is_empty() {
        true => StatusCode::OK,
        false => StatusCode::SERVICE_UNAVAILABLE,
    };
    let names: Vec<&str> = lacking.into_iter().map(Lacking::name).collect();
    (
        status,
        json!({ "ready": names.is_empty(), "not_ready": names }),
    )
}

fn told(status: StatusCode, what: &Value) -> Response {
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static("application/json")),
        (CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    (status, headers, format!("{what}\n")).into_response()
}
