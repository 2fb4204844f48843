//! The `audit` section: where the audit log is, how long it is kept, who is told its root.

use std::path::{Path, PathBuf};

use audit::{Keeping, Retention};

use super::accounts::Around;
use super::reader::Reader;
use super::sheet::Sheet;
use super::yaml::Node;
use crate::config::audit as checks;
use crate::config::problem::{Problem, Problems};

/// Where a directory says that its log is, whatever else is wrong with it. Complains only of what hides that.
pub(crate) fn log_directory(dir: &Path) -> Result<Option<PathBuf>, Problems> {
    path_in(dir, "audit", "directory")
}

fn path_in(dir: &Path, section: &str, key: &str) -> Result<Option<PathBuf>, Problems> {
    let alone = |problem| Problems(vec![problem]);
    let dir = &std::path::absolute(dir).unwrap_or_else(|_| dir.to_owned());
    let sheet = Sheet::read(dir, "accounts.yaml").map_err(alone)?;
    let Some(root) = &sheet.root else {
        let what =
            format!("does not tell its {section}.{key}; `mailwarden config check` says more");
        return Err(alone(Problem::file("accounts.yaml", what)));
    };
    let Some(given) = root.get(section).and_then(|section| section.get(key)) else {
        return Ok(None);
    };
    let mut reader = Reader::new(&sheet, &super::keys::ACCOUNTS_FILE);
    match super::paths::resolve(given, dir, &mut reader) {
        Some(path) => Ok(Some(path)),
        None => {
            let mut problems = Problems::default();
            reader.finish(&mut problems.0, &mut Vec::new());
            Err(problems)
        }
    }
}

/// And its directory, if one is named.
pub(super) fn read(
    node: Option<&Node>,
    reader: &mut Reader<'_>,
    around: &Around<'_>,
) -> (Keeping, Option<PathBuf>) {
    let set = around.wide.audit.clone();
    let Some(node) = node else {
        return (set, None);
    };
    for (name, variable) in checks::KEYS {
        if let Some((key, _)) = node.entry(name)
            && around.variables.get(variable).is_some()
        {
            let what = format!("'{name}' and the variable {variable} are both set");
            reader.problem(key, what, "keep one of them");
        }
    }
    let days = |name: &str, default: u32| {
        let given = node.get(name).and_then(Node::whole);
        given
            .and_then(|days| u32::try_from(days).ok())
            .unwrap_or(default)
    };
    let retention = Retention {
        hot_days: days("hot_days", set.retention.hot_days),
        warm_days: days("warm_days", set.retention.warm_days),
        delete_after_days: days("delete_after_days", set.retention.delete_after_days),
    };
    if let Some(given) = node.get("delete_after_days")
        && let Some(kept) = checks::too_short(&retention)
    {
        let what =
            format!("'delete_after_days' is less than hot_days and warm_days together, {kept}");
        reader.problem(given, what, "raise it, or lower one of those");
    }
    let hook = node.get("external_root_hook").and_then(|given| {
        let path = PathBuf::from(given.text()?);
        if let Some(flaw) = checks::flaw_of_hook(&path) {
            reader.problem(
                given,
                format!("'external_root_hook' {flaw}"),
                "it is run without a shell and without arguments",
            );
        }
        Some(path)
    });
    let directory = node.get("directory");
    let directory = directory.and_then(|path| super::paths::resolve(path, around.dir, reader));
    let keeping = Keeping {
        retention,
        root_hook: hook.or(set.root_hook),
        checkpoint_every: set.checkpoint_every,
    };
    (keeping, directory)
}
