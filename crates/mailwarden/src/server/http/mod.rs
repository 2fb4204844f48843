//! MCP over Streamable HTTP, at `/mcp`: one process for all callers, each request with its own proof.
//!
//! Every request passes the gate before anything of it is read. Unless sessions are allowed there are none: any replica
//! answers any request.

mod alone;
mod answers;
mod asides;
mod body;
mod doors;
mod gate;
mod listen;
mod metadata;
mod names;
mod passed;
mod refusals;
mod roster;
mod sessions;
mod settings;
mod steady;
mod streams;
mod tls;
mod told;

use std::io;
use std::sync::Arc;

use audit::Log;
use gateway::Caller;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::sync::watch;

use super::mcp::{Server, Who};
use super::stopping::Signals;
use super::{Answering, Served};
use crate::reload::Reload;
use crate::screen::Screen;
use body::Room;
use gate::Gate;
use listen::Listener;
use refusals::Refusals;
pub(crate) use roster::Roster;
use sessions::Sessions;
pub(crate) use settings::Settings;

/// Serves until the process is told to end.
pub(crate) async fn run(
    served: Served,
    roster: Arc<Roster>,
    settings: Settings,
    reload: Option<Reload>,
    log: Log,
) -> anyhow::Result<&'static str> {
    let gateway = Arc::clone(&served.gateway);
    let draining = served.watched.draining().clone();
    let reloaded = served.tools.clone();
    let listener = Listener::bind(&settings).await?;
    let (end, ending) = watch::channel(());
    let sessions = Sessions::new(settings.sessions);
    let answering = answering(&served);
    let gate = Arc::new(Gate {
        gateway: Arc::clone(&gateway),
        watched: served.watched.clone(),
        names: settings.names.clone(),
        roster: Arc::clone(&roster),
        refusals: Refusals::new(log, served.watched.clone()),
        calls: Server::new(served.clone(), Who::EachSays),
        mcp: service(
            answering.clone(),
            &sessions,
            Form::Json,
            sessions.are_allowed(),
        ),
        mcp_events: service(
            answering.clone(),
            &sessions,
            Form::Events,
            sessions.are_allowed(),
        ),
        sessionless: service(answering.clone(), &sessions, Form::Json, false),
        sessionless_events: service(answering, &sessions, Form::Events, false),
        sessions: Arc::clone(&sessions),
        room: Room::new(),
        streams: Arc::default(),
        reloaded: reloaded.clone(),
        ending: ending.clone(),
    });
    let mut signals = Signals::listen()?;
    let recovering = tokio::spawn(Arc::clone(&gateway).recover());
    let certificate = listener.tls();
    let (scheme, address) = (settings.scheme(), listener.address());
    let serving = tokio::spawn(listener.serve(Arc::clone(&gate), ending));
    Screen::new().line(format!("listening on {scheme}://{address}/mcp"));
    let told = tokio::select! {
        () = signals.told() => Ok(()),
        failed = reloading(reload) => failed,
        () = gate.refusals.keep_telling() => Ok(()),
        () = fresh(certificate, reloaded.clone()) => Ok(()),
        () = ending_sessions(&sessions, &roster, reloaded) => Ok(()),
    };
    draining.begin();
    // Whoever waits for a ledger that is away has to be told so before the connections end.
    if let Some(ledger) = gateway.ledger() {
        ledger.end_within(draining.left() / 2);
    }
    let _ = end.send(());
    drop(end);
    recovering.abort();
    let last = async {
        let _ = serving.await;
        // Changes go on although nobody waits for them. What does not end in time is taken up at the next start.
        gateway.finish_changes().await;
    };
    tokio::select! {
        _ = tokio::time::timeout(draining.left(), last) => {}
        // Whoever says it twice means now.
        () = signals.told() => {}
    }
    gate.refusals.tell();
    told.map(|()| "told to end")
}

/// How answers travel where nothing else decides.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Json,
    Events,
}

/// Makes whoever answers one request, or those of one session.
fn answering(
    served: &Served,
) -> impl Fn() -> io::Result<Answering> + Clone + Send + Sync + 'static {
    let served = served.clone();
    #[cfg(feature = "conformance-fixtures")]
    let fixtures = super::fixtures::Shared::new();
    move || {
        let server = Server::new(served.clone(), Who::EachSays);
        #[cfg(feature = "conformance-fixtures")]
        let server = fixtures.before(server);
        Ok(server)
    }
}

fn service(
    answering: impl Fn() -> io::Result<Answering> + Send + Sync + 'static,
    sessions: &Arc<Sessions>,
    form: Form,
    with_sessions: bool,
) -> StreamableHttpService<Answering, Sessions> {
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(with_sessions)
        .with_json_response(form == Form::Json)
        // The gate has looked at both, for every route, and at the length.
        .disable_allowed_hosts()
        .with_max_request_body_bytes(body::MOST);
    StreamableHttpService::new(answering, Arc::clone(sessions), config)
}

/// Never ends well.
async fn reloading(reload: Option<Reload>) -> anyhow::Result<()> {
    match reload {
        Some(reload) => reload.on_demand().await.map(|_| ()),
        None => std::future::pending().await,
    }
}

/// Never ends.
async fn fresh(certificate: Option<Arc<tls::Tls>>, reloaded: watch::Receiver<u64>) {
    match certificate {
        Some(certificate) => certificate.keep_fresh(reloaded).await,
        None => std::future::pending().await,
    }
}

/// Never ends: who is no caller any more after a reload has no session either.
async fn ending_sessions(sessions: &Sessions, roster: &Roster, mut reloaded: watch::Receiver<u64>) {
    while reloaded.changed().await.is_ok() {
        let known = |caller: &Caller| roster.serves(caller.as_str());
        sessions.end_unless(known).await;
    }
    std::future::pending().await
}
