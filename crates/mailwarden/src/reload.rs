//! Reading the configuration again while calls are under way: all of it, or nothing.

use std::path::PathBuf;
use std::sync::Arc;

use audit::{Event, Log};
use gateway::{Gateway, Toolset};

use crate::config::{self, Config, Problems};
use crate::wiring::Wires;

/// What is needed to put another configuration in the place of this one.
pub(crate) struct Reload {
    pub directory: PathBuf,
    pub chosen: Option<Vec<Toolset>>,
    pub wires: Wires,
    pub gateway: Arc<Gateway>,
    pub log: Log,
}

impl Reload {
    /// Never ends: whenever it is told to, it reads again.
    pub(crate) async fn on_demand(mut self) -> anyhow::Result<&'static str> {
        let mut told = signal()?;
        loop {
            told.told().await;
            let directory = self.directory.clone();
            let read = move || config::read(Some(&directory), std::env::vars_os());
            let read = tokio::task::spawn_blocking(read).await;
            match read {
                Ok(Ok(config)) => self.replace(config),
                Ok(Err(problems)) => self.keep(&problems),
                Err(error) => tracing::error!(%error, "the configuration could not be read again"),
            }
        }
    }

    /// INVARIANT: accounts and callers change in one step; calls under way end as they began.
    fn replace(&mut self, config: Config) {
        let accounts = config.accounts.iter().map(|account| &account.id);
        let reloaded = Event::config_reloaded(config.version.as_deref(), accounts);
        self.wires = self.wires.again(config.accounts);
        let setup = self
            .wires
            .for_callers(&config.callers, self.chosen.as_deref());
        self.gateway.replace(setup);
        self.log.note(reloaded);
        tracing::info!("the configuration was read again and is in force");
    }

    fn keep(&self, problems: &Problems) {
        self.log.note(Event::config_refused(problems.variables()));
        tracing::error!(
            "the configuration was read again and is refused; the one before stays in force"
        );
        crate::complain(&problems.to_string());
    }
}

/// Whatever tells this process to read its configuration again.
#[cfg(unix)]
struct Told(tokio::signal::unix::Signal);

#[cfg(unix)]
fn signal() -> anyhow::Result<Told> {
    use tokio::signal::unix::{SignalKind, signal};
    Ok(Told(signal(SignalKind::hangup())?))
}

#[cfg(unix)]
impl Told {
    async fn told(&mut self) {
        if self.0.recv().await.is_none() {
            std::future::pending::<()>().await;
        }
    }
}

/// There is no such signal here.
#[cfg(not(unix))]
struct Told;

#[cfg(not(unix))]
fn signal() -> anyhow::Result<Told> {
    Ok(Told)
}

#[cfg(not(unix))]
impl Told {
    async fn told(&mut self) {
        std::future::pending::<()>().await;
    }
}
