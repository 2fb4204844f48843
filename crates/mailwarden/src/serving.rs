//! What every transport needs before it serves: the gateway, and what reads the configuration again.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use audit::{Event, Log};
use gateway::{Caller, Crowd, Places, Toolset, Watch, Writes};
use jiff::Timestamp;
use tokio::sync::watch;

use crate::config::{Callers, Config, LedgerPlace, Problems, identity};
use crate::metrics::{self, Metrics};
use crate::reload::{self, Fixed, Reload};
use crate::server::{self, Roster, Served, Who};
use crate::watched::{Changes, Serving, Watched, strain};
use crate::wiring::{self, Wires};

/// How a transport ended: what the shell and the audit log are told.
pub(crate) type Ended = anyhow::Result<(ExitCode, &'static str)>;

/// The choices of the command line.
pub(crate) struct Choices<'a> {
    pub directory: Option<&'a Path>,
    pub toolsets: Option<Vec<Toolset>>,
    /// Where to serve metrics.
    pub metrics: Option<metrics::Address>,
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
    let gateway = Arc::clone(&prepared.served.gateway);
    let why = server::stdio(prepared.served, who, prepared.reload).await;
    gateway.record_excess();
    prepared.beside.end();
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
            log.note(problems.event());
            return Ok(nobody_to_serve(&problems));
        }
    };
    let shared = Some(Arc::clone(&roster));
    let heard = log.clone();
    let prepared = prepare(config, choices, log, &Who::EachSays, shared).await?;
    let gateway = Arc::clone(&prepared.served.gateway);
    let why = server::http(prepared.served, roster, settings, prepared.reload, heard).await;
    gateway.record_excess();
    prepared.beside.end();
    Ok((ExitCode::SUCCESS, why?))
}

fn nobody_to_serve(problems: &Problems) -> (ExitCode, &'static str) {
    crate::complain(&problems.to_string());
    (ExitCode::from(crate::BAD_CONFIGURATION), "nobody to serve")
}

/// Whoever wants to know of calls.
struct All(Vec<Arc<dyn Watch>>);

impl Watch for All {
    fn ended(&self, call: &gateway::Ended<'_>) {
        self.0.iter().for_each(|watch| watch.ended(call));
    }
}

struct Prepared {
    served: Served,
    reload: Option<Reload>,
    beside: Beside,
}

/// What goes on beside the calls, and ends with them.
#[derive(Default)]
struct Beside {
    tasks: Vec<tokio::task::JoinHandle<()>>,
    #[cfg(feature = "otel")]
    traces: Option<Arc<crate::traces::Traces>>,
}

impl Beside {
    fn end(&self) {
        self.tasks.iter().for_each(tokio::task::JoinHandle::abort);
        #[cfg(feature = "otel")]
        self.traces.iter().for_each(|traces| traces.finish());
    }
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
        metrics,
    } = choices;
    let version = config.version.unwrap_or_default();
    let changes = config.changes;
    let watched = Watched::new(log.clone(), &version);
    let counting = Arc::new(Metrics::new());
    let mut beside = Beside::default();
    if let Some(address) = metrics {
        beside
            .tasks
            .push(metrics::serve(address, Arc::clone(&counting), watched.clone()).await?);
    }
    let wires = Wires::default().again(config.accounts);
    wires.look().await;
    let setup = wires
        .for_callers(&config.callers, toolsets.as_deref(), changes.writes)
        .with_uncertain_text(config.uncertain_text);
    let gateway = wiring::gateway_with_ledger(setup, log.clone(), &changes).await?;
    let crowd = match who {
        Who::Always(_) => Crowd::One,
        Who::EachSays => Crowd::Many,
    };
    let places = config.calls_at_once.map(Places::Fixed);
    let places = places.unwrap_or(Places::Usual(strain));
    let gateway = gateway.with_places(crowd, places);
    let mut watches: Vec<Arc<dyn Watch>> = Vec::new();
    if metrics.is_some() {
        watches.push(counting);
    }
    #[cfg(feature = "otel")]
    if let Some(traces) = crate::traces::Traces::wanted()? {
        let traces = Arc::new(traces);
        watches.push(Arc::clone(&traces) as Arc<dyn Watch>);
        beside.traces = Some(traces);
    }
    let gateway = Arc::new(match watches.is_empty() {
        false => gateway.with_watch(Arc::new(All(watches))),
        true => gateway,
    });
    watched.serves(Serving {
        gateway: Arc::clone(&gateway),
        counted: wires.counted(),
        changes: match changes.writes == Writes::Allowed && changes.ledger != LedgerPlace::Nowhere {
            true => Changes::Wanted,
            false => Changes::NotWanted,
        },
    });
    beside.tasks.push(wiring::keep_spool_tidy());
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
        watched: watched.clone(),
        tools,
    });
    if reload.is_none() {
        reload::nothing_to_read()?;
    }
    let served = Served {
        gateway,
        errors: config.errors,
        text: config.text,
        tools: tools_changed,
        watched,
    };
    Ok(Prepared {
        served,
        reload,
        beside,
    })
}
