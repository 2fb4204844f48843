//! `mailwarden audit`: what the log says, for people and for scripts. It only reads, also beside a running server.

mod bar;
mod checkpoint;
mod logs;
mod many;
mod merge;
mod page;
mod prove;
mod query;
mod record;
mod span;
mod stats;
mod tail;
mod tally;
mod verify;
mod when;

use std::io;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context as _;

use crate::cli::{Audit, AuditVerb};
use crate::config;
use crate::screen::Screen;
use logs::Logs;
use page::{Form, Page};

pub(crate) use logs::replicas;
pub(crate) use page::safe;
pub(crate) use when::When;

/// The logs of `--dir`, else of the configuration directory if there is one.
pub(crate) fn run(
    wanted: &Audit,
    configuration: Option<&Path>,
    screen: Screen,
) -> anyhow::Result<ExitCode> {
    let dirs = match wanted.dir.as_slice() {
        [] => vec![
            config::log_directory(configuration)
                .context("the configuration does not tell where the log is; say so with --dir")?
                .context("there is no home directory; say where the log is with --dir")?,
        ],
        said => said.to_vec(),
    };
    let logs = Logs::find(&dirs, wanted.log.as_deref())?;
    let form = match wanted.json {
        true => Form::Json,
        false => Form::Human,
    };
    let mut page = Page::new(screen, form);
    let outcome = match &wanted.verb {
        AuditVerb::Verify(wanted) => verify::run(&logs, wanted, &mut page),
        AuditVerb::Tail { n, follow: false } => tail::run(&logs, *n, &mut page),
        AuditVerb::Tail { n, follow: true } => tail::follow(&logs, *n, &mut page),
        AuditVerb::Query(wanted) => query::run(&logs, wanted, &mut page),
        AuditVerb::Prove { seq } => prove::run(logs.single()?, *seq, &mut page),
        AuditVerb::Stats(wanted) => stats::run(&logs, wanted, &mut page),
        AuditVerb::Checkpoint => checkpoint::run(logs.single()?, &mut page),
    };
    let outcome = outcome.and_then(|code| {
        page.flush()?;
        Ok(code)
    });
    match outcome {
        // Whoever reads has seen enough.
        Err(error) if is_broken_pipe(&error) => Ok(ExitCode::SUCCESS),
        // A bare word of the system's tells nobody where.
        Err(error) if error.is::<io::Error>() && error.chain().count() == 1 => {
            let all: Vec<String> = dirs.iter().map(|dir| dir.display().to_string()).collect();
            Err(error.context(format!(
                "the audit log in {} cannot be read",
                all.join(", ")
            )))
        }
        outcome => outcome,
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let kinds = error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>());
    kinds
        .into_iter()
        .any(|error| error.kind() == io::ErrorKind::BrokenPipe)
}
