//! A simulation as text or JSON.

use mail::Level;
use serde_json::{Map, Value, json};

use super::compare::{Change, Shift};
use super::simulate::{Difference, Levels, Row, Simulation};
use super::{Form, print};
use crate::config::verb::counted;
use crate::screen::Screen;
use crate::table;

/// More changes are counted; JSON has them all.
const MOST_CHANGES: usize = 100;

pub(super) fn show(done: &Simulation, form: Form, screen: Screen) {
    match form {
        Form::Json => print(screen, &object(done)),
        Form::Words => {
            for line in lines(done, screen) {
                screen.line(line);
            }
        }
    }
}

fn lines(done: &Simulation, screen: Screen) -> Vec<String> {
    let policy = match &done.policy {
        Some(policy) => format!("policy {policy}"),
        None => "not there yet".to_owned(),
    };
    let title = format!("{} ({policy})", done.caller);
    let mut lines = match &done.difference {
        None => vec![screen.bold(format!("what {title} would see"))],
        Some(difference) => vec![screen.bold(format!(
            "what {} would change for {title}",
            difference.directory
        ))],
    };
    let rows = match &done.difference {
        None => levels_table(&done.rows),
        Some(_) => shifts_table(&done.rows),
    };
    match done.rows.is_empty() {
        true => lines.push("no folder to look at".to_owned()),
        false => lines.extend(table::lay_out(&rows, 2)),
    }
    if let Some(difference) = &done.difference {
        lines.extend(difference_lines(difference, &done.rows, screen));
    } else {
        lines.push(format!(
            "hidden from it: {}, and {} of the accounts it can see",
            counted(done.hidden_accounts, "account", "accounts"),
            counted(done.hidden_folders, "folder", "folders"),
        ));
    }
    for (account, folder) in &done.missing {
        let what = screen.warn("not at the server:");
        lines.push(format!("{what} {account} / {folder}"));
    }
    for failure in &done.failed {
        let place = match &failure.folder {
            Some(folder) => format!("{} / {folder}", failure.account),
            None => failure.account.to_string(),
        };
        let what = screen.bad("could not be looked at:");
        lines.push(format!("{what} {place}: {}", failure.why));
    }
    lines
}

fn levels_table(rows: &[Row]) -> Vec<Vec<String>> {
    let mut heading = vec!["ACCOUNT".to_owned(), "FOLDER".to_owned(), "ALL".to_owned()];
    heading.extend(Level::ALL.map(|level| level.name().to_owned()));
    let mut lines = vec![heading];
    let cells = |levels: &Levels| {
        let each = Level::ALL.map(|level| number(levels.at(level)));
        std::iter::once(number(levels.total())).chain(each)
    };
    let mut total = Levels::default();
    for row in rows {
        let mut line = vec![row.account.to_string(), row.folder.to_string()];
        line.extend(cells(&row.before));
        lines.push(line);
        for level in Level::ALL {
            total.add(level, row.before.at(level));
        }
    }
    if rows.len() > 1 {
        let mut line = vec!["all".to_owned(), String::new()];
        line.extend(cells(&total));
        lines.push(line);
    }
    lines
}

fn shifts_table(rows: &[Row]) -> Vec<Vec<String>> {
    let heading = ["ACCOUNT", "FOLDER", "ALL", "MORE", "LESS", "SAME"];
    let mut lines = vec![heading.map(str::to_owned).to_vec()];
    lines.extend(rows.iter().map(|row| {
        vec![
            row.account.to_string(),
            row.folder.to_string(),
            number(row.before.total()),
            number(row.shift.more),
            number(row.shift.less),
            number(row.shift.same),
        ]
    }));
    lines
}

/// Nothing is easier to see as a dash.
fn number(count: u64) -> String {
    match count {
        0 => "-".to_owned(),
        count => count.to_string(),
    }
}

fn shift(rows: &[Row]) -> Shift {
    let each = rows.iter().map(|row| row.shift);
    each.fold(Shift::default(), Shift::and)
}

fn difference_lines(difference: &Difference, rows: &[Row], screen: Screen) -> Vec<String> {
    let mut lines = Vec::new();
    let lone = &difference.lone;
    for what in &lone.only_before {
        lines.push(format!("{} {what}", screen.bad("only now:")));
    }
    for what in &lone.only_after {
        lines.push(format!("{} {what}", screen.good("only then:")));
    }
    let changes = &difference.changes;
    lines.extend(changes.iter().take(MOST_CHANGES).map(|one| {
        let what = format!(
            "{} ({}) → {} ({})",
            one.before.level.name(),
            one.before.why(),
            one.after.level.name(),
            one.after.why()
        );
        let what = match one.after.level > one.before.level {
            true => screen.good(what),
            false => screen.bad(what),
        };
        format!(
            "{} / {} {}: {what}  {}",
            one.account,
            one.folder,
            one.uid.0,
            screen.dim(&one.shown)
        )
    }));
    if let Some(more) = changes
        .len()
        .checked_sub(MOST_CHANGES)
        .filter(|more| *more > 0)
    {
        lines.push(format!("… and {more} more; --json has them all"));
    }
    let Shift { more, less, same } = shift(rows);
    lines.push(format!(
        "{more} more visible, {less} less visible, {same} the same"
    ));
    lines
}

fn object(done: &Simulation) -> Value {
    let place = |account: &mail::AccountId, folder: Option<&str>| json!({ "account": account.as_str(), "folder": folder });
    let compared = done.difference.is_some();
    let rows = done.rows.iter().map(|row| {
        let mut object = place(&row.account, Some(row.folder.as_str()));
        if let Some(object) = object.as_object_mut() {
            object.insert("messages".to_owned(), json!(row.before.total()));
            object.insert("by_level".to_owned(), levels(&row.before));
            if compared {
                object.insert("by_level_after".to_owned(), levels(&row.after));
            }
        }
        object
    });
    let missing = done.missing.iter();
    let missing = missing.map(|(account, folder)| place(account, Some(folder)));
    let failed = done.failed.iter().map(|failure| {
        let mut object = place(
            &failure.account,
            failure.folder.as_ref().map(mail::FolderName::as_str),
        );
        if let Some(object) = object.as_object_mut() {
            object.insert("why".to_owned(), json!(failure.why));
        }
        object
    });
    let mut told = json!({
        "caller": done.caller,
        "policy": done.policy,
        "at": done.at.to_string(),
        "folders": rows.collect::<Vec<_>>(),
        "missing": missing.collect::<Vec<_>>(),
        "failed": failed.collect::<Vec<_>>(),
        "hidden_accounts_count": done.hidden_accounts,
        "hidden_folders_count": done.hidden_folders,
    });
    if let (Some(difference), Some(told)) = (&done.difference, told.as_object_mut()) {
        let Shift { more, less, same } = shift(&done.rows);
        let against = json!({
            "directory": difference.directory,
            "only_before": difference.lone.only_before,
            "only_after": difference.lone.only_after,
            "more_visible": more,
            "less_visible": less,
            "same": same,
            "changes": difference.changes.iter().map(change).collect::<Vec<_>>(),
        });
        told.insert("against".to_owned(), against);
    }
    told
}

fn levels(levels: &Levels) -> Value {
    let each = Level::ALL.map(|level| (level.name().to_owned(), json!(levels.at(level))));
    Value::Object(Map::from_iter(each))
}

fn change(one: &Change) -> Value {
    json!({
        "account": one.account.as_str(),
        "folder": one.folder.as_str(),
        "uid": one.uid.0,
        "before": one.before.level.name(),
        "before_by": one.before.why(),
        "after": one.after.level.name(),
        "after_by": one.after.why(),
        "shown": one.shown,
    })
}
