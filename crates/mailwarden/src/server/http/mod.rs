//! MCP over Streamable HTTP, at `/mcp`: one process for all callers, each request with its own proof.
//!
//! Every request passes the gate before anything of it is read. There are no sessions: any replica answers any request.

mod gate;
mod listen;
mod roster;
mod settings;

use std::sync::Arc;

use axum::Router;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};

use super::mcp::{Server, Who};
use super::stopping::told_to_end;
use super::{Served, health};
use crate::draining;
use crate::reload::Reload;
use crate::screen::Screen;
use gate::Gate;
pub(crate) use roster::Roster;
pub(crate) use settings::Settings;

/// Serves until the process is told to end.
pub(crate) async fn run(
    served: Served,
    roster: Arc<Roster>,
    settings: Settings,
    reload: Option<Reload>,
) -> anyhow::Result<&'static str> {
    let gateway = Arc::clone(&served.gateway);
    let draining = served.watched.draining().clone();
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
            told = told_to_end() => {
                draining.begin();
                told
            }
            failed = reloading => failed,
        }
    };
    let ended = listener.serve(router, ending, draining::LONGEST).await;
    recovering.abort();
    // Changes go on although nobody waits for them. What does not end in time is taken up at the next start.
    let _ = tokio::time::timeout(draining.left(), gateway.finish_changes()).await;
    ended.map(|()| "told to end")
}

fn router(served: Served, gate: Gate) -> Router {
    let health = health::routes(served.watched.clone());
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        // The gate has looked at both, for every route.
        .disable_allowed_hosts()
        .with_max_request_body_bytes(settings::MOST_BODY);
    let mcp = StreamableHttpService::new(
        move || Ok(Server::new(served.clone(), Who::EachSays)),
        Arc::new(NeverSessionManager::default()),
        config,
    );
    Router::new()
        .route_service("/mcp", mcp)
        .layer(axum::middleware::from_fn_with_state(gate, gate::pass))
        // Balancers have no token, and are told nothing that one would be needed for.
        .merge(health)
}
