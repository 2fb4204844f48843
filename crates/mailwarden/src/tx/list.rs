//! `tx list`: a line for each transaction.

use std::path::Path;
use std::process::ExitCode;

use ledger::Filter;
use serde_json::json;

use super::{Form, at, place, to_decide, told, unknown};
use crate::audit::safe;
use crate::config::verb::counted;
use crate::screen::Screen;
use crate::table;

pub(super) async fn run(
    directory: Option<&Path>,
    filter: Filter,
    form: Form,
    screen: Screen,
) -> anyhow::Result<ExitCode> {
    let all = filter.states.is_empty();
    let place = place(directory)?;
    let ledger = at(&place).await?;
    // On stderr: whoever looks at another ledger than they think finds nothing wrong in it.
    crate::logs::notice(&match ledger {
        Some(_) => format!("the ledger is {place}"),
        None => {
            format!("the ledger is {place}, and not there yet: nothing was ever changed with it")
        }
    });
    let found = match ledger {
        Some(ledger) => ledger.list(filter).await.map_err(|fault| unknown(&fault))?,
        None => Vec::new(),
    };
    if form == Form::Json {
        let all: Vec<_> = found.iter().map(told::object).collect();
        screen.line(format!("{:#}", json!({ "transactions": all })));
        return Ok(ExitCode::SUCCESS);
    }
    if found.is_empty() {
        screen.line(match all {
            true => "no transaction",
            false => {
                "no transaction is under way or waits for a decision; --all shows those that ended"
            }
        });
        return Ok(ExitCode::SUCCESS);
    }
    let heading = ["TRANSACTION", "STATE", "KIND", "CALLER", "BEGAN", "WHAT"];
    let mut rows = vec![heading.map(str::to_owned).to_vec()];
    rows.extend(found.iter().map(|one| {
        vec![
            one.id.to_string(),
            one.state.name().to_owned(),
            one.asked.kind.name().to_owned(),
            safe(&one.asked.caller),
            told::time(one.began),
            safe(&told::listed(one)),
        ]
    }));
    for line in table::lay_out(&rows, heading.len()) {
        screen.line(line);
    }
    let waiting = to_decide(&found);
    if waiting > 0 {
        let waiting = counted(waiting, "waits", "wait");
        screen.line(screen.warn(format!(
            "{waiting} for your decision: `mailwarden tx show` tells what there is to decide"
        )));
    }
    Ok(ExitCode::SUCCESS)
}
