//! `mailwarden policy`: for whoever writes policies, what they come to before anybody relies on them.

mod bar;
mod compare;
mod explain;
mod lint;
mod report;
mod simulate;
mod words;

use std::path::Path;
use std::process::ExitCode;

use ::policy::Weight;
use anyhow::{Context as _, bail};
use gateway::Gateway;

use crate::cli::{PolicyVerb, Verb};
use crate::config::{self, Callers, Config, dir::CallerConfig};
use crate::screen::Screen;
use crate::wiring;

pub(crate) fn run(
    verb: &Verb,
    wanted: &PolicyVerb,
    directory: Option<&Path>,
    screen: Screen,
) -> anyhow::Result<ExitCode> {
    let nowhere = "which directory? name it with --config-dir, or set IMAP_MCP_CONFIG_DIR";
    match wanted {
        PolicyVerb::Lint { dir, deny, json } => {
            let dir = dir.as_deref().or(directory).context(nowhere)?;
            let strictness = match deny {
                true => lint::Strictness::Deny,
                false => lint::Strictness::Warn,
            };
            lint::run(dir, strictness, form(*json), screen)
        }
        PolicyVerb::Explain(wanted) => {
            let directory = directory.context(nowhere)?;
            match wanted.uid {
                None => explain::folder(wanted, directory, screen),
                Some(uid) => crate::with_config(verb, Some(directory), async |config, log| {
                    let (gateway, callers) = open(config, log)?;
                    explain::message(wanted, uid, &gateway, &callers, screen).await?;
                    Ok((ExitCode::SUCCESS, "done"))
                }),
            }
        }
        PolicyVerb::Simulate(wanted) => {
            let directory = directory.context(nowhere)?;
            let against = match &wanted.against {
                None => None,
                Some(dir) => match config::dir::load(dir, std::env::vars_os()) {
                    Ok(loaded) => Some(loaded),
                    Err(problems) => return Ok(config::verb::refuse(&problems)),
                },
            };
            crate::with_config(verb, Some(directory), async |config, log| {
                let (gateway, callers) = open(config, log)?;
                let code = simulate::run(wanted, &gateway, &callers, against, screen).await?;
                Ok((code, "done"))
            })
        }
    }
}

/// How many warnings there are about the policies of these callers.
pub(crate) fn warnings(callers: &[CallerConfig]) -> usize {
    let found = lint::found(callers).into_iter();
    found
        .filter(|one| one.code.weight() == Weight::Warning)
        .count()
}

/// How an answer is printed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Form {
    Words,
    Json,
}

fn form(json: bool) -> Form {
    match json {
        true => Form::Json,
        false => Form::Words,
    }
}

/// The operator's gateway to the accounts, and the callers whose policies are looked at.
fn open(mut config: Config, log: audit::Log) -> anyhow::Result<(Gateway, Vec<CallerConfig>)> {
    let callers = match std::mem::replace(&mut config.callers, Callers::Owner) {
        Callers::Listed(callers) => callers,
        Callers::Owner => Vec::new(),
    };
    Ok((wiring::owners_gateway(config, log)?, callers))
}

fn caller<'a>(callers: &'a [CallerConfig], id: &str) -> anyhow::Result<&'a CallerConfig> {
    match callers.iter().find(|caller| caller.id == id) {
        Some(caller) => Ok(caller),
        None => {
            let ids: Vec<&str> = callers.iter().map(|caller| caller.id.as_str()).collect();
            bail!(
                "callers.yaml has no caller '{id}'; it has {}",
                match ids.is_empty() {
                    true => "none".to_owned(),
                    false => ids.join(", "),
                }
            )
        }
    }
}

fn print(screen: Screen, value: &serde_json::Value) {
    screen.line(format!("{value:#}"));
}
