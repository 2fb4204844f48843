//! Reading the configuration again while calls are under way: all of it, or nothing.

use std::path::PathBuf;
use std::sync::Arc;

use audit::{Event, Keeping, Log};
use gateway::{Gateway, Toolset, Writes};
use tokio::sync::watch;

use crate::config::{self, Config, ErrorStyle, LedgerPlace, Problem, Problems, TextStyle};
use crate::running::Running;
use crate::server::{Roster, Who};
use crate::watched::{Reloaded, Watched};
use crate::wiring::Wires;

/// What is needed to put another configuration in the place of this one.
pub(crate) struct Reload {
    pub directory: PathBuf,
    pub chosen: Option<Vec<Toolset>>,
    pub writes: Writes,
    pub wires: Wires,
    pub gateway: Arc<Gateway>,
    pub log: Log,
    /// Who is served.
    pub who: Who,
    /// By whom tokens are known, where requests bring them.
    pub roster: Option<Arc<Roster>>,
    /// Which contents of the directory are in force.
    pub version: String,
    pub fixed: Fixed,
    pub watched: Watched,
    /// Counts how often the tools of the caller have become others.
    pub tools: watch::Sender<u64>,
}

/// What a process takes from its configuration when it starts, and not again.
pub(crate) struct Fixed {
    errors: ErrorStyle,
    text: TextStyle,
    audit: Keeping,
    audit_directory: Option<PathBuf>,
    ledger: LedgerPlace,
}

impl Fixed {
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            errors: config.errors,
            text: config.text,
            audit: config.audit.clone(),
            audit_directory: config.audit_directory.clone(),
            ledger: config.changes.ledger.clone(),
        }
    }

    /// The settings that another configuration has otherwise, as files call them.
    fn otherwise_in(&self, config: &Config) -> Vec<&'static str> {
        let (before, after) = (&self.audit, &config.audit);
        let (days, next) = (before.retention, after.retention);
        let changed = [
            ("errors", self.errors != config.errors),
            ("text", self.text != config.text),
            (
                match (&self.ledger, &config.changes.ledger) {
                    (LedgerPlace::On(_), _) | (_, LedgerPlace::On(_)) => "ledger",
                    _ => "wal.path",
                },
                self.ledger != config.changes.ledger,
            ),
            (
                "audit.directory",
                self.audit_directory != config.audit_directory,
            ),
            ("audit.hot_days", days.hot_days != next.hot_days),
            ("audit.warm_days", days.warm_days != next.warm_days),
            (
                "audit.delete_after_days",
                days.delete_after_days != next.delete_after_days,
            ),
            (
                "audit.external_root_hook",
                before.root_hook != after.root_hook,
            ),
        ];
        let changed = changed.into_iter().filter(|(_, changed)| *changed);
        changed.map(|(name, _)| name).collect()
    }
}

impl Reload {
    /// Never ends: whenever it is told to, it reads again.
    pub(crate) async fn on_demand(mut self) -> anyhow::Result<&'static str> {
        let mut told = signal()?;
        // Only now: who is known to run may be told at once.
        let begun = Running::begin(&self.directory, self.served_to(), &self.version);
        let mut running = begun.map_err(unknown).ok();
        loop {
            told.told().await;
            let directory = self.directory.clone();
            let read = move || config::read(Some(&directory), std::env::vars_os());
            let read = tokio::task::spawn_blocking(read).await;
            // One path for all that is refused, so that all of it is told and counted.
            let read = read.unwrap_or_else(|error| {
                tracing::error!(%error, "the configuration could not be read again");
                let what = "the configuration could not be read; please report this";
                Err(Problems(vec![Problem::whole(what)]))
            });
            let fitting = read.and_then(|config| self.fits(&config).map(|()| config));
            match fitting {
                Ok(config) => {
                    let left = self.replace(config).await;
                    self.watched.reloaded(Reloaded::InForce, &self.version);
                    if let Some(running) = &mut running {
                        let _ = running.reloaded(&self.version, &left).map_err(unknown);
                    }
                    // Only now: whoever may do less from here on does not have to wait for it.
                    self.wires.look().await;
                }
                Err(problems) => {
                    self.keep(&problems);
                    self.watched.reloaded(Reloaded::Kept, &self.version);
                    if let Some(running) = &mut running {
                        let _ = running.kept(problems.0.len()).map_err(unknown);
                    }
                }
            }
        }
    }

    /// INVARIANT: accounts and callers change in one step; calls under way end as they began.
    ///
    /// What takes a restart is told, here and to whoever asked.
    async fn replace(&mut self, mut config: Config) -> Vec<&'static str> {
        let left = self.fixed.otherwise_in(&config);
        let accounts = config.accounts.iter().map(|account| &account.id);
        let reloaded = Event::config_reloaded(config.version.as_deref(), accounts);
        self.version = config.version.unwrap_or_default();
        let tools = || -> Vec<&str> {
            let Who::Always(caller) = &self.who else {
                return Vec::new();
            };
            let tools = self.gateway.tools(caller);
            tools.into_iter().map(gateway::AnyTool::name).collect()
        };
        let before = tools();
        self.wires.hand_on(&mut config.accounts);
        crate::wiring::record_refreshes(&config.accounts, &self.log);
        self.wires = self.wires.again(config.accounts);
        let setup = self
            .wires
            .for_callers(&config.callers, self.chosen.as_deref(), self.writes)
            .with_uncertain_text(config.uncertain_text);
        self.gateway.replace(setup);
        if let Some(roster) = &self.roster {
            roster.replace(&config.callers, config.vouching.as_ref());
        }
        // Of many, somebody's may be others.
        if before != tools() || matches!(self.who, Who::EachSays) {
            self.tools.send_modify(|count| *count += 1);
        }
        self.log.note(reloaded);
        tracing::info!("the configuration was read again and is in force");
        if !left.is_empty() {
            let names = left.join(", ");
            crate::complain(&format!(
                "{names}: changed, and in force only after a restart of this process"
            ));
        }
        left
    }

    /// Whether what can be read can also be served here.
    fn fits(&self, config: &Config) -> Result<(), Problems> {
        same_tokens(&self.fixed.ledger, &config.changes.ledger)?;
        match &self.roster {
            Some(roster) => roster.fits(&config.callers),
            None => Ok(()),
        }
    }

    /// As `config reload` tells it.
    fn served_to(&self) -> &str {
        match &self.who {
            Who::Always(caller) => caller.as_str(),
            Who::EachSays => "http",
        }
    }

    fn keep(&self, problems: &Problems) {
        self.log.note(problems.event());
        tracing::error!(
            "the configuration was read again and is refused; the one before stays in force"
        );
        crate::complain(&problems.to_string());
    }
}

/// INVARIANT: what is known of tokens stays where it is while the process runs: in two places there would be two locks, and
/// a token would be used up twice.
fn same_tokens(before: &LedgerPlace, after: &LedgerPlace) -> Result<(), Problems> {
    let shared = |place: &LedgerPlace| matches!(place, LedgerPlace::On(_));
    if before == after || !(shared(before) || shared(after)) {
        return Ok(());
    }
    let what = "'ledger' names another server than the one in use, or another login there; start the process anew, since what replicas know of tokens cannot move while it runs";
    Err(Problems(vec![Problem::file(
        "accounts.yaml",
        what.to_owned(),
    )]))
}

/// From here on whoever tells this process to read again hears that there is no directory. The signal alone would end it.
pub(crate) fn nothing_to_read() -> anyhow::Result<()> {
    let mut told = signal()?;
    tokio::spawn(async move {
        loop {
            told.told().await;
            crate::complain(
                "SIGHUP: there is no configuration directory to read again; start anew to change variables",
            );
        }
    });
    Ok(())
}

/// Without its file it is served all the same; only `config reload` does not find it.
fn unknown(error: std::io::Error) {
    tracing::warn!(%error, "`mailwarden config reload` cannot know of this process; send it SIGHUP instead");
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_do_not_move_to_another_server_while_they_are_used() {
        let on = |address: &str, password: Option<&str>| {
            let server = ledger::Server::parse(address).unwrap();
            LedgerPlace::on(server, password.map(Into::into).as_ref())
        };
        let one = || on("postgres://a@localhost/mail", None);
        let file = || LedgerPlace::At("/state/ledger.db".into());
        for (before, after, fits) in [
            (one(), one(), true),
            (file(), LedgerPlace::State, true),
            (one(), on("postgres://a@localhost/other", None), false),
            (one(), on("postgres://a@localhost/mail", Some("new")), false),
            (one(), file(), false),
            (file(), one(), false),
        ] {
            let told = same_tokens(&before, &after);
            assert_eq!(told.is_ok(), fits, "{before:?} {after:?}");
        }
    }
}
