//! `policy lint`: what is allowed in policies and still worth a second look.

use std::path::Path;
use std::process::ExitCode;

use policy::{Spot, Warning, Weight};
use serde_json::{Value, json};

use super::{Form, print};
use crate::config::{self, dir::CallerConfig, verb::counted};
use crate::screen::Screen;

/// What warnings do to the exit code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Strictness {
    Warn,
    Deny,
}

pub(super) fn found(callers: &[CallerConfig]) -> Vec<Warning> {
    let each = callers.iter();
    let each: Vec<_> = each
        .map(|caller| (caller.id.as_str(), &*caller.policy))
        .collect();
    policy::lint(&each)
}

pub(super) fn run(
    dir: &Path,
    strictness: Strictness,
    form: Form,
    screen: Screen,
) -> anyhow::Result<ExitCode> {
    let loaded = match config::dir::load(dir, std::env::vars_os()) {
        Ok(loaded) => loaded,
        Err(problems) => return Ok(config::verb::refuse(&problems)),
    };
    let found = found(&loaded.callers);
    let of = |weight: Weight| found.iter().filter(move |one| one.code.weight() == weight);
    match form {
        Form::Json => {
            let all = of(Weight::Warning).chain(of(Weight::Hint)).map(object);
            print(screen, &Value::Array(all.collect()));
        }
        Form::Words => {
            for one in of(Weight::Warning) {
                screen.line(line(one, screen.warn("warning")));
            }
            for one in of(Weight::Hint) {
                screen.line(line(one, screen.dim("hint")));
            }
            let callers = counted(loaded.callers.len(), "caller", "callers");
            screen.line(format!(
                "{callers}: {}, {}",
                counted(of(Weight::Warning).count(), "warning", "warnings"),
                counted(of(Weight::Hint).count(), "hint", "hints"),
            ));
        }
    }
    let fails = strictness == Strictness::Deny && of(Weight::Warning).next().is_some();
    Ok(match fails {
        true => ExitCode::FAILURE,
        false => ExitCode::SUCCESS,
    })
}

fn line(one: &Warning, weight: String) -> String {
    format!(
        "{weight}[{}] {}, {}: {}",
        one.code.name(),
        one.caller,
        one.spot,
        one.text
    )
}

fn object(one: &Warning) -> Value {
    let weight = match one.code.weight() {
        Weight::Warning => "warning",
        Weight::Hint => "hint",
    };
    let (account, folder, rule) = match &one.spot {
        Spot::Whole => (None, None, None),
        Spot::Folder(account, folder) => (Some(account), Some(folder), None),
        Spot::Rule(account, folder, index) => (Some(account), Some(folder), Some(index + 1)),
    };
    json!({
        "severity": weight,
        "code": one.code.name(),
        "caller": one.caller,
        "account": account.map(|account| account.as_str()),
        "folder": folder.map(|folder| folder.as_str()),
        "rule": rule,
        "text": one.text,
    })
}
