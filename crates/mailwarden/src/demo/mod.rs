//! `mailwarden demo`: the real server on the built-in sample mailbox, called by a real MCP client.
//!
//! Only headings are written here; everything else on the screen comes out of the server's answers.

mod client;
mod connect;
mod naive;
mod page;
mod record;
mod story;
mod teller;
mod width;

use anyhow::Context as _;

use crate::sample;
use crate::screen::Screen;
use client::Client;
use page::Page;

/// Ends with how to connect one's own mail. Leaves nothing behind, also when it is interrupted.
pub(crate) async fn run(screen: Screen) -> anyhow::Result<()> {
    tokio::select! {
        // Listening for signals begins before there is anything to clean up.
        biased;
        interrupted = told_to_end() => interrupted,
        shown = show(Page::new(screen)) => shown,
    }
}

/// The mailbox and the server's state live in a directory that goes with this future, after the server.
async fn show(page: Page) -> anyhow::Result<()> {
    let program = std::env::current_exe().context("the path of this program is not known")?;
    let dir = tempfile::Builder::new()
        .prefix("mailwarden-demo-")
        .tempdir()
        .context("no directory for the sample mailbox")?;
    let mailbox = dir.path().join("mail");
    let messages = sample::write_to(&mailbox).context("the sample mailbox cannot be written")?;
    let state = dir.path().join("state");
    let mut client = Client::start(&program, &mailbox, &state).await?;
    page.opening(&client, messages);
    let told = async {
        story::tell(&client, &page).await?;
        record::show(&page, &program, &state).await
    };
    let told = told.await;
    let ended = client.end().await;
    told.and(ended)?;
    connect::show(&page, &program);
    dir.close()
        .context("the sample mailbox cannot be removed again")
}

/// Fails once someone wants this to stop.
async fn told_to_end() -> anyhow::Result<()> {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let mut term = signal(SignalKind::terminate())?;
        crate::signals::take_over();
        tokio::select! {
            pressed = tokio::signal::ctrl_c() => pressed?,
            _ = term.recv() => {}
        }
    }
    #[cfg(not(unix))]
    tokio::signal::ctrl_c().await?;
    anyhow::bail!("interrupted")
}
