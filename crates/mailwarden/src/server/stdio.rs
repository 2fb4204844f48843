//! MCP over stdin and stdout, for one caller: whoever started this process.

mod line_reader;

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use rmcp::model::ProtocolVersion;
use rmcp::service::ServerInitializeError;
use rmcp::transport::io::stdio_pipes;
use rmcp::{Peer, RoleServer, ServiceExt as _};
use tokio::io::{AsyncRead, ReadBuf};
use tokio::sync::{Notify, watch};

use line_reader::Lines;

use super::Served;
use super::mcp::{Server, Who};
use super::stopping::Signals;
use crate::reload::Reload;

/// Calls under way when the client hangs up get this long to finish.
const GRACE: Duration = Duration::from_millis(1_500);

/// Serves until the client closes stdin or the process is told to end, and says which of the two it was.
pub(crate) async fn run(
    served: Served,
    who: Who,
    reload: Option<Reload>,
) -> anyhow::Result<&'static str> {
    let tools = served.tools.clone();
    let gateway = Arc::clone(&served.gateway);
    let draining = served.watched.draining().clone();
    let mut signals = Signals::listen()?;
    let recovering = tokio::spawn(Arc::clone(&gateway).recover());
    let server = Server::new(served, who);
    let (stdin, stdout) = stdio_pipes();
    let hung_up = Arc::new(Notify::new());
    let stdin = Watched {
        inner: stdin,
        hung_up: Arc::clone(&hung_up),
    };
    let serving = async {
        let lines = Lines::new(stdin, stdout, server.clone());
        let running = match server.serve(lines).await {
            Ok(running) => running,
            // A client that leaves before it said anything is no error.
            Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(HUNG_UP),
            Err(error) => return Err(anyhow::Error::new(error)),
        };
        let peer = running.peer().clone();
        tokio::select! {
            ended = running.waiting() => ended?,
            () = tell_of_tools(&peer, tools) => return Ok(HUNG_UP),
        };
        Ok(HUNG_UP)
    };
    let abandoned = async {
        hung_up.notified().await;
        tokio::time::sleep(GRACE).await;
        Ok(HUNG_UP)
    };
    let reloading = async {
        match reload {
            Some(reload) => reload.on_demand().await,
            None => std::future::pending().await,
        }
    };
    let outcome = tokio::select! {
        outcome = serving => outcome,
        outcome = abandoned => return outcome,
        () = signals.told() => {
            draining.begin();
            Ok("told to end")
        }
        outcome = reloading => outcome,
    };
    recovering.abort();
    // Changes go on although nobody waits for them. What does not end in time is taken up at the next start.
    let _ = tokio::time::timeout(GRACE, gateway.finish_changes()).await;
    outcome
}

/// Never ends. Clients of the revision of 2026-07-28 ask for this themselves, by `subscriptions/listen`.
async fn tell_of_tools(peer: &Peer<RoleServer>, mut tools: watch::Receiver<u64>) {
    let modern = peer
        .peer_info()
        .is_none_or(|info| info.protocol_version >= ProtocolVersion::V_2026_07_28);
    while !modern && tools.changed().await.is_ok() {
        // A client that hangs up is noticed elsewhere.
        let _ = peer.notify_tool_list_changed().await;
    }
    std::future::pending().await
}

const HUNG_UP: &str = "the client hung up";

/// Stdin, telling when it ends: the protocol library would wait longer for calls under way than we may.
struct Watched<R> {
    inner: R,
    hung_up: Arc<Notify>,
}

impl<R: AsyncRead + Unpin> AsyncRead for Watched<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.inner).poll_read(cx, buffer);
        if polled.is_ready() && buffer.filled().len() == before && buffer.remaining() > 0 {
            self.hung_up.notify_one();
        }
        polled
    }
}
