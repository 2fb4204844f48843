//! `tx show`: everything that is known of one transaction.

use std::path::Path;
use std::process::ExitCode;

use ledger::{LedgerFault, Transaction};

use super::{Form, existing, parsed, told, unknown};
use crate::screen::Screen;

pub(super) async fn run(
    directory: Option<&Path>,
    id: &str,
    form: Form,
    screen: Screen,
) -> anyhow::Result<ExitCode> {
    let id = parsed(id)?;
    let found = match existing(directory).await? {
        Some(ledger) => ledger.get(&id).await,
        None => Ok(None),
    };
    let found = found.and_then(|found| found.ok_or(LedgerFault::Unknown));
    print(&found.map_err(|fault| unknown(&fault))?, form, screen);
    Ok(ExitCode::SUCCESS)
}

pub(super) fn print(one: &Transaction, form: Form, screen: Screen) {
    match form {
        Form::Json => screen.line(format!("{:#}", told::object(one))),
        Form::Words => {
            for line in told::lines(one, screen) {
                screen.line(line);
            }
        }
    }
}
