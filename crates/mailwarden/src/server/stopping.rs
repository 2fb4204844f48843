//! When the system, or a person at a terminal, wants this process to end.

#[cfg(unix)]
pub(super) async fn told_to_end() -> anyhow::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut term = signal(SignalKind::terminate())?;
    let mut int = signal(SignalKind::interrupt())?;
    crate::signals::take_over();
    tokio::select! {
        _ = term.recv() => {}
        _ = int.recv() => {}
    }
    Ok(())
}

#[cfg(not(unix))]
pub(super) async fn told_to_end() -> anyhow::Result<()> {
    tokio::signal::ctrl_c().await?;
    Ok(())
}
