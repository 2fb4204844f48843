//! MCP over Streamable HTTP, at `/mcp`: one process for all callers, each request with its own proof.
//!
//! Every request passes the gate before anything of it is read. There are no sessions: any replica answers any request.

mod gate;
mod listen;
mod roster;
mod settings;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
#[cfg(feature = "conformance-fixtures")]
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager as Sessions;
#[cfg(not(feature = "conformance-fixtures"))]
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager as Sessions;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};

use super::Served;
use super::mcp::{Server, Who};
use super::stopping::told_to_end;
use crate::reload::Reload;
use crate::screen::Screen;
use gate::Gate;
pub(crate) use roster::Roster;
pub(crate) use settings::Settings;

/// Calls under way when the process is told to end get this long.
const DRAIN: Duration = Duration::from_secs(10);

/// Serves until the process is told to end.
pub(crate) async fn run(
    served: Served,
    roster: Arc<Roster>,
    settings: Settings,
    reload: Option<Reload>,
) -> anyhow::Result<&'static str> {
    let gateway = Arc::clone(&served.gateway);
    let listener = listen::Listener::bind(&settings).await?;
    let address = listener.address();
    let gate = Gate::new(roster, &settings, address);
    let router = router(served, gate);
    let recovering = tokio::spawn(Arc::clone(&gateway).recover());
    Screen::new().line(format!("listening on http://{address}/mcp"));
    let reloading = async {
        match reload {
            Some(reload) => reload.on_demand().await.map(|_| ()),
            None => std::future::pending().await,
        }
    };
    let ending = async {
        tokio::select! {
            told = told_to_end() => told,
            failed = reloading => failed,
        }
    };
    let ended = listener.serve(router, ending, DRAIN).await;
    recovering.abort();
    // Changes go on although nobody waits for them. What does not end in time is taken up at the next start.
    let _ = tokio::time::timeout(DRAIN, gateway.finish_changes()).await;
    ended.map(|()| "told to end")
}

fn router(served: Served, gate: Gate) -> Router {
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(cfg!(feature = "conformance-fixtures"))
        .with_json_response(true)
        // The gate has looked at both, for every route.
        .disable_allowed_hosts()
        .with_max_request_body_bytes(settings::MOST_BODY);
    #[cfg(feature = "conformance-fixtures")]
    let fixtures = super::fixtures::Shared::new();
    let answering = move || {
        let server = Server::new(served.clone(), Who::EachSays);
        #[cfg(feature = "conformance-fixtures")]
        let server = fixtures.before(server);
        Ok(server)
    };
    let mcp = StreamableHttpService::new(answering, Arc::new(Sessions::default()), config);
    Router::new()
        .route_service("/mcp", mcp)
        .layer(axum::middleware::from_fn_with_state(gate, gate::pass))
}
