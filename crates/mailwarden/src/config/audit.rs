//! How long the audit log is kept, and who is told its root.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use audit::{Keeping, Retention};

const HOT_DAYS: &str = "MAILWARDEN_AUDIT_HOT_DAYS";
const WARM_DAYS: &str = "MAILWARDEN_AUDIT_WARM_DAYS";
const DELETE_AFTER_DAYS: &str = "MAILWARDEN_AUDIT_DELETE_AFTER_DAYS";
const ROOT_HOOK: &str = "MAILWARDEN_AUDIT_ROOT_HOOK";
const CHECKPOINT_MINUTES: &str = "MAILWARDEN_AUDIT_CHECKPOINT_MINUTES";

pub(super) const NAMES: [&str; 5] = [
    HOT_DAYS,
    WARM_DAYS,
    DELETE_AFTER_DAYS,
    ROOT_HOOK,
    CHECKPOINT_MINUTES,
];

/// What was set of the log, and a line for each value that cannot be.
pub(super) fn read(set: &BTreeMap<String, String>, problems: &mut Vec<String>) -> Keeping {
    let mut number = |name: &str, low: u32, high: u32, default: u32| {
        let Some(text) = set.get(name) else {
            return default;
        };
        match text.trim().parse::<u32>() {
            Ok(number) if (low..=high).contains(&number) => number,
            _ => {
                problems.push(format!(
                    "{name} must be a whole number from {low} to {high}"
                ));
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
    let kept = retention.hot_days + retention.warm_days;
    if set.contains_key(DELETE_AFTER_DAYS) && retention.delete_after_days < kept {
        problems.push(format!(
            "{DELETE_AFTER_DAYS} is {}, but hot and warm days together are {kept}; raise it, or lower {HOT_DAYS} or {WARM_DAYS}",
            retention.delete_after_days
        ));
    }
    let root_hook = set.get(ROOT_HOOK).map(PathBuf::from);
    match &root_hook {
        Some(path) if !path.is_absolute() => problems.push(format!(
            "{ROOT_HOOK} must be the whole path of a program; it is run without a shell"
        )),
        Some(path) if !path.is_file() => problems.push(format!(
            "{ROOT_HOOK} names no file; it must be the whole path of a program"
        )),
        _ => {}
    }
    Keeping {
        retention,
        root_hook,
        checkpoint_every: Duration::from_secs(u64::from(minutes) * 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(set: &[(&str, &str)]) -> (Keeping, Vec<String>) {
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
            assert!(problems[0].contains(said), "{problems:?}");
        }
    }
}
