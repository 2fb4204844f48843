//! `/healthz` and `/readyz`: whether the process lives, and whether it can serve. They ask for no proof, so they tell a
//! stranger nothing but words of a short list.

use axum::Router;
use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use serde_json::{Value, json};

use crate::watched::{Changing, Lacking, Watched};

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
    if !lacking.is_empty() {
        let names: Vec<&str> = lacking.into_iter().map(Lacking::name).collect();
        let said = json!({ "ready": false, "not_ready": names });
        return (StatusCode::SERVICE_UNAVAILABLE, said);
    }
    (StatusCode::OK, ready(watched.changing().await))
}

/// Reading is served, and this is said of changes.
fn ready(changing: Changing) -> Value {
    match changing {
        Changing::Available => json!({ "ready": true, "not_ready": [], "changes": "available" }),
        Changing::NotOffered => {
            json!({ "ready": true, "not_ready": [], "changes": "not_offered" })
        }
        Changing::Unavailable => json!({
            "ready": true, "not_ready": [], "changes": "unavailable",
            "because": "the ledger does not answer: changes are refused, and reading goes on",
        }),
    }
}

fn told(status: StatusCode, what: &Value) -> Response {
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static("application/json")),
        (CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    (status, headers, format!("{what}\n")).into_response()
}
