//! MCP over stdin and stdout, for one caller: whoever started this process.

use gateway::{Caller, Gateway};
use rmcp::ServiceExt as _;
use rmcp::transport::io::stdio_pipes;

use super::mcp::Server;
use crate::config::ErrorStyle;

/// Serves until the client closes stdin or the process is told to end.
pub(crate) async fn run(gateway: Gateway, errors: ErrorStyle) -> anyhow::Result<()> {
    let server = Server::new(gateway, Caller::owner(), errors);
    let serving = async {
        let running = match server.serve(stdio_pipes()).await {
            Ok(running) => running,
            // A client that leaves before it said anything is no error.
            Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
            Err(error) => return Err(anyhow::Error::new(error)),
        };
        running.waiting().await?;
        Ok(())
    };
    tokio::select! {
        outcome = serving => outcome,
        outcome = told_to_end() => outcome,
    }
}

#[cfg(unix)]
async fn told_to_end() -> anyhow::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut term = signal(SignalKind::terminate())?;
    let mut int = signal(SignalKind::interrupt())?;
    tokio::select! {
        _ = term.recv() => {}
        _ = int.recv() => {}
    }
    Ok(())
}

#[cfg(not(unix))]
async fn told_to_end() -> anyhow::Result<()> {
    tokio::signal::ctrl_c().await?;
    Ok(())
}
