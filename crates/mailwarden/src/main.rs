//! mailwarden: one program between agents and mail. This file reads the command line and starts what it says.

mod audit;
mod beside;
mod check;
mod cli;
mod config;
mod demo;
mod draining;
mod hardening;
mod login;
mod logs;
mod metrics;
mod network_disk;
mod policy_verbs;
mod probe;
mod reload;
mod replica;
mod running;
mod sample;
mod screen;
mod server;
mod serving;
mod shared_ledger;
mod signals;
mod state;
mod table;
#[cfg(feature = "otel")]
mod traces;
mod tx;
mod watched;
mod wiring;

use std::ffi::OsString;
use std::io::IsTerminal as _;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use ::audit::{Event, Log};
use clap::{CommandFactory as _, Parser as _};
use gateway::Writes;

use cli::{Cli, Transport, Verb};
use config::Problems;
use screen::Screen;
use serving::Choices;

/// Answers are made of many small strings, on all threads at once: the system's allocator took a third of the time of a search.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// A configuration that cannot be used.
const BAD_CONFIGURATION: u8 = 2;

/// So much longer an exit takes at most where a token is being refreshed: torn off, that may cost somebody a login.
const LANDING: Duration = Duration::from_secs(4);

fn main() -> ExitCode {
    let status = run();
    signals::give_way();
    status
}

fn run() -> ExitCode {
    let cli = Cli::parse_from(words(std::env::args_os()));
    let verb = match (cli.verb, cli.transport) {
        (Some(verb), _) => verb,
        (None, Some(Transport::Stdio)) => Verb::Stdio,
        (None, Some(Transport::Http)) => Verb::Http(cli.http),
        // Started by a client, not by a person.
        (None, None) if !std::io::stdin().is_terminal() => Verb::Stdio,
        (None, None) => {
            Screen::new().line(Cli::command().render_help());
            return ExitCode::SUCCESS;
        }
    };
    if verb != Verb::ExtractWorker
        && let Err(problem) = logs::start(cli.log_format)
    {
        return refuse(
            &Problems(vec![config::Problem::whole(problem)]),
            config::directory(cli.config_dir.as_deref()).as_deref(),
            &verb,
        );
    }
    // A worker locks itself in, and holds no secret.
    if verb != Verb::ExtractWorker {
        hardening::apply();
    }
    if verb != Verb::ExtractWorker
        && let Err(error) = signals::listen()
    {
        complain(&format!("signals cannot be listened for: {error:#}"));
        return ExitCode::FAILURE;
    }
    let directory = config::directory(cli.config_dir.as_deref());
    let directory = directory.as_deref();
    if let Err(problems) = replica::choose(cli.replica.as_deref()) {
        return refuse(&problems, directory, &verb);
    }
    let toolsets = match config::toolsets(cli.toolsets.as_deref(), std::env::vars_os()) {
        Ok(toolsets) => toolsets,
        Err(problems) => return refuse(&problems, directory, &verb),
    };
    let metrics = match metrics::Address::chosen(cli.metrics_addr.as_deref()) {
        Ok(metrics) => metrics,
        Err(problems) => return refuse(&problems, directory, &verb),
    };
    let choices = |toolsets| Choices {
        directory,
        toolsets,
        metrics,
    };
    let outcome = match &verb {
        Verb::Stdio => with_config(&verb, directory, async |mut config, log| {
            if cli.read_only {
                config.changes.writes = Writes::Never;
            }
            serving::stdio(config, choices(toolsets), log).await
        }),
        Verb::Http(wanted) => match wanted.settings(std::env::vars_os()) {
            Ok(settings) => with_config(&verb, directory, async |mut config, log| {
                if cli.read_only {
                    config.changes.writes = Writes::Never;
                }
                serving::http(config, choices(toolsets), log, settings).await
            }),
            Err(problems) => return refuse(&problems, directory, &verb),
        },
        Verb::Check => with_config(&verb, directory, async |mut config, log| {
            if cli.read_only {
                config.changes.writes = Writes::Never;
            }
            let changes = config.changes.clone();
            let unavailable = config.unavailable.clone();
            let place = config.audit_directory.clone();
            let records = check::Records {
                log: log.clone(),
                place: place.or_else(state::audit_directory).map(replica::log_in),
            };
            wiring::look(&config.accounts).await;
            let tokens = wiring::tokens(&config.accounts);
            let gateway = wiring::owners_gateway(config, log)?;
            let extractor = wiring::extractor();
            let works = check::run(
                gateway,
                &records,
                &changes,
                &extractor,
                directory,
                Screen::new(),
            )
            .await;
            check::concerns(&tokens, Screen::new()).await;
            let works = check::all_available(&unavailable, Screen::new()) && works;
            let code = match works {
                true => ExitCode::SUCCESS,
                false => ExitCode::FAILURE,
            };
            Ok((code, "done"))
        }),
        Verb::Demo => in_runtime(async {
            demo::run(Screen::new()).await?;
            Ok(ExitCode::SUCCESS)
        }),
        Verb::Audit(wanted) => audit::run(wanted, directory, Screen::new()),
        Verb::Config(wanted) => config::verb::run(wanted, cli.config_dir.as_deref(), Screen::new()),
        Verb::Policy(wanted) => policy_verbs::run(&verb, wanted, directory, Screen::new()),
        Verb::Tx(wanted) if cli.read_only && wanted.verb.changes_mail() => Err(anyhow::anyhow!(
            "--read-only: this would change mail, so nothing is done; leave it out to have it done"
        )),
        Verb::Tx(wanted) => tx::run(&verb, wanted, directory, Screen::new()),
        Verb::Login(_) if directory.is_none() => Err(anyhow::anyhow!(
            "accounts that are logged in to stand in a configuration directory; name it by --config-dir or IMAP_MCP_CONFIG_DIR"
        )),
        Verb::Login(wanted) => with_config(&verb, directory, async |config, log| {
            login::run(wanted, &config, &log, Screen::new()).await
        }),
        Verb::Probe { url } => return probe::run(url),
        // INVARIANT: an attachment is read in a process that holds nothing else: no log, no configuration, no runtime.
        Verb::ExtractWorker => return extract::worker::run(),
    };
    outcome.unwrap_or_else(|error| {
        complain(&format!("{error:#}"));
        ExitCode::FAILURE
    })
}

/// What was typed; under its other name the program can do one thing only, and that is not typed.
fn words(typed: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut words: Vec<OsString> = typed.collect();
    let called = words.first().map(Path::new).and_then(Path::file_stem);
    if called.is_some_and(|name| name == login::ALONE) {
        words.insert(1, "login".into());
    }
    words
}

/// Every problem of the configuration is one line on stderr and a name in the audit log, and nothing starts.
fn with_config(
    verb: &Verb,
    directory: Option<&Path>,
    work: impl AsyncFnOnce(config::Config, Log) -> anyhow::Result<(ExitCode, &'static str)>,
) -> anyhow::Result<ExitCode> {
    match config::read(directory, std::env::vars_os()) {
        // INVARIANT: no record and no token is written where two machines could write at once without seeing each other.
        Ok(config) if let Err(why) = wiring::is_on_this_machine(&config) => {
            complain(&why);
            Ok(ExitCode::from(BAD_CONFIGURATION))
        }
        Ok(config) if let Err(why) = beside::enter(verb, config.audit_directory.as_deref()) => {
            complain(&why);
            Ok(ExitCode::FAILURE)
        }
        Ok(config) => in_threads(verb.threads(), async {
            let log = wiring::log(
                Some(config.audit.clone()),
                config.audit_directory.clone(),
                verb.recorded_as().unwrap_or_default(),
            );
            let loaded = Event::config_loaded(
                config.version.as_deref(),
                config.accounts.iter().map(|account| &account.id),
            );
            // INVARIANT: nobody is answered before the start is on disk. Where that cannot be, each call is refused and told why.
            log.say(loaded).await;
            wiring::record_refreshes(&config.accounts, &log);
            let outcome = work(config, log.clone()).await;
            // INVARIANT: all that comes after the last call shares what is left; whoever started us kills us after that.
            secrets::finish_refreshes(LANDING.min(draining::left())).await;
            log.close(outcome.as_ref().map_or("it failed", |(_, why)| why))
                .await;
            outcome.map(|(code, _)| code)
        }),
        Err(problems) => Ok(refuse(&problems, directory, verb)),
    }
}

/// Says what is wrong, here and in the audit log of a verb that is recorded there.
fn refuse(problems: &Problems, directory: Option<&Path>, verb: &Verb) -> ExitCode {
    complain(&problems.to_string());
    match (verb, verb.recorded_as()) {
        // Whoever serves writes its own log, wherever that is.
        (Verb::Stdio | Verb::Http(_), Some(name)) => record(problems, directory, name),
        (_, Some(name)) => record_refusal(problems, directory, name),
        (_, None) => {}
    }
    ExitCode::from(BAD_CONFIGURATION)
}

/// By a command beside whoever serves.
fn record_refusal(problems: &Problems, directory: Option<&Path>, name: &'static str) {
    let place = config::log_directory(directory).ok().flatten();
    match beside::enter_as_command(place.as_deref()) {
        Ok(()) => record(problems, directory, name),
        Err(why) => complain(&format!("not recorded: {why}")),
    }
}

/// In the log that the configuration names, if that much of it can be read.
fn record(problems: &Problems, directory: Option<&Path>, name: &'static str) {
    let place = config::log_directory(directory).ok().flatten();
    // That it could not be recorded does not make it a better configuration.
    let _ = in_runtime(async {
        let log = wiring::log(None, place, name);
        log.note(problems.event());
        log.close("the configuration is refused").await;
        Ok(ExitCode::SUCCESS)
    });
}

/// Where there is one who asks.
fn in_runtime(work: impl Future<Output = anyhow::Result<ExitCode>>) -> anyhow::Result<ExitCode> {
    in_threads(cli::FEW_THREADS, work)
}

fn in_threads(
    threads: usize,
    work: impl Future<Output = anyhow::Result<ExitCode>>,
) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(threads)
        // Under load a call that can go on is found soon, not after dozens of others that came before it.
        .event_interval(11)
        .global_queue_interval(5)
        .max_blocking_threads(64)
        .enable_all()
        .build()?;
    let outcome = runtime.block_on(work);
    secrets::end_programs();
    ::audit::end_hooks();
    shared_ledger::close(LANDING.min(draining::left()));
    // A read from stdin or a name lookup may be stuck in a thread; the process ends all the same.
    runtime.shutdown_background();
    outcome
}

fn complain(lines: &str) {
    logs::complain(lines);
}
