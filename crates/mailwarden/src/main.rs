//! mailwarden: one program between agents and mail. This file reads the command line and starts what it says.

mod audit;
mod check;
mod cli;
mod config;
mod demo;
mod sample;
mod screen;
mod server;
mod state;
mod wiring;

use std::io::IsTerminal as _;
use std::process::ExitCode;

use ::audit::{Event, Log};
use clap::{CommandFactory as _, Parser as _};

use cli::{Cli, Transport, Verb};
use config::Problems;
use screen::Screen;

/// A configuration that cannot be used.
const BAD_CONFIGURATION: u8 = 2;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let verb = match (cli.verb, cli.transport) {
        (Some(verb), _) => verb,
        (None, Some(Transport::Stdio)) => Verb::Stdio,
        // Started by a client, not by a person.
        (None, None) if !std::io::stdin().is_terminal() => Verb::Stdio,
        (None, None) => {
            Screen::new().line(Cli::command().render_help());
            return ExitCode::SUCCESS;
        }
    };
    if verb != Verb::ExtractWorker
        && let Err(problem) = start_logging()
    {
        return refuse(
            &Problems(vec![config::Problem::whole(problem)]),
            verb.recorded_as(),
        );
    }
    let outcome = match &verb {
        Verb::Stdio => with_config(&verb, async |config, log| {
            let errors = config.errors;
            let gateway = wiring::gateway(config, log.clone())?;
            let why = server::run(gateway, errors).await?;
            Ok((ExitCode::SUCCESS, why))
        }),
        Verb::Check => with_config(&verb, async |config, log| {
            let gateway = wiring::gateway(config, log.clone())?;
            let works = check::run(gateway, &log, &wiring::extractor(), Screen::new()).await;
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
        Verb::Audit(wanted) => audit::run(wanted, Screen::new()),
        Verb::Config(wanted) => config::verb::run(wanted, cli.config_dir.as_deref(), Screen::new()),
        // INVARIANT: an attachment is read in a process that holds nothing else: no log, no configuration, no runtime.
        Verb::ExtractWorker => return extract::worker::run(),
    };
    outcome.unwrap_or_else(|error| {
        complain(&format!("{error:#}"));
        ExitCode::FAILURE
    })
}

/// Every problem of the configuration is one line on stderr and a name in the audit log, and nothing starts.
fn with_config(
    verb: &Verb,
    work: impl AsyncFnOnce(config::Config, Log) -> anyhow::Result<(ExitCode, &'static str)>,
) -> anyhow::Result<ExitCode> {
    match config::from_environment(std::env::vars_os()) {
        Ok(config) => in_runtime(async {
            let log = wiring::log(
                Some(config.audit.clone()),
                verb.recorded_as().unwrap_or_default(),
            );
            log.note(Event::config_loaded(
                config.accounts.iter().map(|account| &account.id),
            ));
            let outcome = work(config, log.clone()).await;
            log.close(outcome.as_ref().map_or("it failed", |(_, why)| why))
                .await;
            outcome.map(|(code, _)| code)
        }),
        Err(problems) => Ok(refuse(&problems, verb.recorded_as())),
    }
}

/// Says what is wrong, here and in the audit log of a verb that is recorded there.
fn refuse(problems: &Problems, verb: Option<&'static str>) -> ExitCode {
    complain(&problems.to_string());
    if let Some(verb) = verb {
        // That it could not be recorded does not make it a better configuration.
        let _ = in_runtime(async {
            let log = wiring::log(None, verb);
            log.note(Event::config_refused(problems.variables()));
            log.close("the configuration is refused").await;
            Ok(ExitCode::SUCCESS)
        });
    }
    ExitCode::from(BAD_CONFIGURATION)
}

fn in_runtime(work: impl Future<Output = anyhow::Result<ExitCode>>) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(64)
        .enable_all()
        .build()?;
    let outcome = runtime.block_on(work);
    // A read from stdin or a name lookup may be stuck in a thread; the process ends all the same.
    runtime.shutdown_background();
    outcome
}

fn complain(lines: &str) {
    for line in lines.lines() {
        eprintln!("mailwarden: {line}");
    }
}

/// To stderr only: stdout carries MCP.
fn start_logging() -> Result<(), String> {
    use tracing_subscriber::filter::{EnvFilter, FilterExt as _, LevelFilter, filter_fn};
    use tracing_subscriber::layer::{Layer as _, SubscriberExt as _};
    use tracing_subscriber::util::SubscriberInitExt as _;
    let wanted = std::env::var("MAILWARDEN_LOG").unwrap_or_else(|_| "warn".to_owned());
    let wanted = EnvFilter::builder().parse(wanted).map_err(|_| {
        "MAILWARDEN_LOG must be error, warn, info, debug, or a filter such as sources=debug"
            .to_owned()
    })?;
    // INVARIANT: the protocol library logs requests and results, which hold mail. Whatever is asked for, it may
    // only report errors.
    let quiet = filter_fn(|about| {
        !about.target().starts_with("rmcp") || *about.level() <= LevelFilter::ERROR
    });
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal());
    tracing_subscriber::registry()
        .with(lines.with_filter(wanted.and(quiet)))
        .init();
    Ok(())
}
