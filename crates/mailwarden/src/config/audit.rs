//! How long the audit log is kept, and who is told its root.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use audit::{Keeping, Retention};

use super::Problem;

const HOT_DAYS: &str = "MAILWARDEN_AUDIT_HOT_DAYS";
const WARM_DAYS: &str = "MAILWARDEN_AUDIT_WARM_DAYS";
const DELETE_AFTER_DAYS: &str = "MAILWARDEN_AUDIT_DELETE_AFTER_DAYS";
const ROOT_HOOK: &str = "MAILWARDEN_AUDIT_ROOT_HOOK";
const CHECKPOINT_MINUTES: &str = "MAILWARDEN_AUDIT_CHECKPOINT_MINUTES";

/// What a configuration file calls them.
pub(super) const KEYS: [(&str, &str); 4] = [
    ("hot_days", HOT_DAYS),
    ("warm_days", WARM_DAYS),
    ("delete_after_days", DELETE_AFTER_DAYS),
    ("external_root_hook", ROOT_HOOK),
];

pub(super) const NAMES: [&str; 5] = [
    HOT_DAYS,
    WARM_DAYS,
    DELETE_AFTER_DAYS,
    ROOT_HOOK,
    CHECKPOINT_MINUTES,
];

/// What was set of the log, and a line for each value that cannot be.
pub(super) fn read(set: &BTreeMap<String, String>, problems: &mut Vec<Problem>) -> Keeping {
    let mut number = |name: &str, low: u32, high: u32, default: u32| {
        let Some(text) = set.get(name) else {
            return default;
        };
        match text.trim().parse::<u32>() {
            Ok(number) if (low..=high).contains(&number) => number,
            _ => {
                let what = format!("must be a whole number from {low} to {high}");
                problems.push(Problem::variable(name, what));
                default
            }
        }
    };
    let default = Retention::default();
    let retention = Retention {
        hot_days: number(HOT_DAYS, 1, 36_500, default.hot_days),
        warm_days: number(WARM_DAYS, 0, 36_500, default.warm_days),
        delete_after_days: number(DELETE_AFTER_DAYS, 1, 36_500, default.delete_after_days),
    };
    let minutes = number(CHECKPOINT_MINUTES, 1, 1_440, 60);
    if set.contains_key(DELETE_AFTER_DAYS)
        && let Some(kept) = too_short(&retention)
    {
        let what = format!(
            "is {}, but hot and warm days together are {kept}; raise it, or lower {HOT_DAYS} or {WARM_DAYS}",
            retention.delete_after_days
        );
        problems.push(Problem::variable(DELETE_AFTER_DAYS, what));
    }
    let root_hook = set.get(ROOT_HOOK).map(PathBuf::from);
    if let Some(flaw) = root_hook.as_deref().and_then(flaw_of_hook) {
        let what = format!("{flaw}; it is run without a shell and without arguments");
        problems.push(Problem::variable(ROOT_HOOK, what));
    }
    Keeping {
        retention,
        root_hook,
        checkpoint_every: Duration::from_secs(u64::from(minutes) * 60),
    }
}

/// The days that would be deleted before their time: hot and warm days together.
pub(super) fn too_short(retention: &Retention) -> Option<u32> {
    let kept = retention.hot_days.saturating_add(retention.warm_days);
    (retention.delete_after_days < kept).then_some(kept)
}

pub(super) fn flaw_of_hook(path: &Path) -> Option<&'static str> {
    if !path.is_absolute() {
        return Some("must be the whole path of a program");
    }
    let missing = !path.is_file();
    missing.then_some("names no file; it must be the whole path of a program")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(set: &[(&str, &str)]) -> (Keeping, Vec<Problem>) {
        let set = set
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        let mut problems = Vec::new();
        let keeping = read(&set, &mut problems);
        (keeping, problems)
    }

    #[test]
    fn days_are_read_and_fit_together() {
        let (keeping, problems) = check(&[]);
        assert_eq!(
            (keeping.retention, problems),
            (Retention::default(), vec![])
        );
        let (keeping, problems) =
            check(&[(HOT_DAYS, "7"), (WARM_DAYS, "0"), (DELETE_AFTER_DAYS, "7")]);
        assert_eq!((keeping.retention.hot_days, problems), (7, vec![]));
        for (set, said) in [
            (&[(HOT_DAYS, "0")][..], "must be a whole number"),
            (&[(HOT_DAYS, "many")], "must be a whole number"),
            (
                &[(DELETE_AFTER_DAYS, "30")],
                "hot and warm days together are 365",
            ),
            (&[(CHECKPOINT_MINUTES, "0")], "from 1 to 1440"),
            (&[(ROOT_HOOK, "notify")], "whole path"),
            (&[(ROOT_HOOK, "/no/such/program")], "whole path"),
        ] {
            let (_, problems) = check(set);
            assert_eq!(problems.len(), 1, "{set:?}");
            assert!(problems[0].to_string().contains(said), "{problems:?}");
        }
    }
}
