//! What every transport needs before it serves: the gateway, and what reads the configuration again.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use audit::{Event, Log};
use gateway::{Caller, Toolset};
use jiff::Timestamp;
use tokio::sync::watch;

use crate::config::{Callers, Config, Problems, identity};
use crate::reload::{self, Fixed, Reload};
use crate::server::{self, Roster, Served, Who};
use crate::wiring::{self, Wires};

/// How a transport ended: what the shell and the audit log are told.
pub(crate) type Ended = anyhow::Result<(ExitCode, &'static str)>;

/// The choices of the command line.
pub(crate) struct Choices<'a> {
    pub directory: Option<&'a Path>,
    pub toolsets: Option<Vec<Toolset>>,
}

/// Serves the caller that the environment names; whoever that is not is not served at all.
pub(crate) async fn stdio(config: Config, choices: Choices<'_>, log: Log) -> Ended {
    let address = format!("stdio:{}", std::process::id());
    let caller = match &config.callers {
        Callers::Owner => Caller::owner(address),
        Callers::Listed(callers) => {
            match identity::of_stdio(callers, std::env::vars_os(), Timestamp::now()) {
                Ok(shown) => {
                    let credential = wiring::credential(shown.token);
                    Caller::new(shown.caller.id.clone(), address, credential)
                }
                Err(nobody) => {
                    log.note(Event::caller_refused(nobody.variable()));
                    return Ok(nobody_to_serve(&Problems::from(nobody)));
                }
            }
        }
    };
    let who = Who::Always(caller);
    let prepared = prepare(config, choices, log, &who, None).await?;
    let why = server::stdio(prepared.served, who, prepared.reload).await;
    prepared.tidying.abort();
    Ok((ExitCode::SUCCESS, why?))
}

/// Serves every caller that proves who it is.
pub(crate) async fn http(
    config: Config,
    choices: Choices<'_>,
    log: Log,
    settings: server::HttpSettings,
) -> Ended {
    let roster = match Roster::of(
        &config.callers,
        config.vouching.as_ref(),
        std::env::vars_os(),
    ) {
        Ok(roster) => Arc::new(roster),
        Err(problems) => {
            log.note(Event::config_refused(problems.variables()));
            return Ok(nobody_to_serve(&problems));
        }
    };
    let shared = Some(Arc::clone(&roster));
    let heard = log.clone();
    let prepared = prepare(config, choices, log, &Who::EachSays, shared).await?;
    let why = server::http(prepared.served, roster, settings, prepared.reload, heard).await;
    prepared.tidying.abort();
    Ok((ExitCode::SUCCESS, why?))
}

fn nobody_to_serve(problems: &Problems) -> (ExitCode, &'static str) {
    crate::complain(&problems.to_string());
    (ExitCode::from(crate::BAD_CONFIGURATION), "nobody to serve")
}

struct Prepared {
    served: Served,
    reload: Option<Reload>,
    tidying: tokio::task::JoinHandle<()>,
}

async fn prepare(
    config: Config,
    choices: Choices<'_>,
    log: Log,
    who: &Who,
    roster: Option<Arc<Roster>>,
) -> anyhow::Result<Prepared> {
    let fixed = Fixed::new(&config);
    let Choices {
        directory,
        toolsets,
    } = choices;
    let version = config.version.unwrap_or_default();
    let changes = config.changes;
    let wires = Wires::default().again(config.accounts);
    wires.look().await;
    let setup = wires.for_callers(&config.callers, toolsets.as_deref(), changes.writes);
    let gateway = wiring::gateway(setup, log.clone())?;
    let gateway = Arc::new(wiring::with_ledger(gateway, &changes));
    let tidying = wiring::keep_spool_tidy();
    let (tools, tools_changed) = watch::channel(0);
    let reload = directory.map(|directory| Reload {
        directory: directory.to_owned(),
        chosen: toolsets,
        writes: changes.writes,
        wires,
        gateway: Arc::clone(&gateway),
        log,
        who: who.clone(),
        roster,
        version,
        fixed,
        tools,
    });
    if reload.is_none() {
        reload::nothing_to_read()?;
    }
    let served = Served {
        gateway,
        errors: config.errors,
        tools: tools_changed,
    };
    Ok(Prepared {
        served,
        reload,
        tidying,
    })
}
