//! `docs/config.md`: every environment variable, from the one list of them.

use super::NOTE;
use super::markdown::Table;
use super::variables::{VARIABLES, Variable};

const INTRODUCTION: &str = "\
mailwarden is configured by environment variables alone. Three of them make an account:

```sh
export MAIL_IMAP_DEFAULT_HOST=imap.example.com
export MAIL_IMAP_DEFAULT_USER=you@example.com
export MAIL_IMAP_DEFAULT_PASS='app password'
mailwarden check
```

`mailwarden check` logs in to every account and says what works and what to do about what doesn't.
A wrong value is one line on stderr that names its variable; all of them are reported at once, and the process ends
with status 2 before anything starts. A name that begins like ours and is none is a wrong value too.
Yes and no are `true` or `false` (`1` and `0`, `yes` and `no` will do).
";

const ACCOUNTS: &str = "\
`<ACCOUNT>` is a name of your choice in capitals: `MAIL_IMAP_WORK_HOST` makes the account that tools call `work`.
The account `default` is what a call without `account_id` means. An account is one IMAP login or one Maildir.
";

/// Which variables stand together.
struct Group {
    title: &'static str,
    text: &'static str,
    holds: fn(&Variable) -> bool,
}

const GROUPS: &[Group] = &[
    Group {
        title: "Accounts",
        text: ACCOUNTS,
        holds: is_per_account,
    },
    Group {
        title: "All IMAP accounts together",
        text: "",
        holds: |variable| !is_per_account(variable) && variable.name.starts_with("MAIL_"),
    },
    Group {
        title: "The program",
        text: "`NO_COLOR`, set to anything, keeps colours out of what `check` and `demo` print.\n",
        holds: |variable| variable.name.starts_with("MAILWARDEN_"),
    },
];

pub(super) fn page() -> String {
    let mut page = format!("# Configuration\n\n{NOTE}\n\n{INTRODUCTION}");
    for group in GROUPS {
        page.push_str(&format!("\n## {}\n\n", group.title));
        if !group.text.is_empty() {
            page.push_str(group.text);
            page.push('\n');
        }
        let mut table = Table::new(&["variable", "default", "meaning"]);
        for variable in VARIABLES.iter().filter(|variable| (group.holds)(variable)) {
            let name = format!("`{}`", variable.name);
            table.row(&[&name, variable.default, variable.meaning]);
        }
        page.push_str(&table.into_text());
    }
    page
}

fn is_per_account(variable: &Variable) -> bool {
    variable.name.contains("<ACCOUNT>")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_variable_stands_in_one_group() {
        for variable in VARIABLES {
            let groups = GROUPS
                .iter()
                .filter(|group| (group.holds)(variable))
                .count();
            assert_eq!(groups, 1, "{}", variable.name);
            assert_eq!(
                page().matches(&format!("| `{}` |", variable.name)).count(),
                1
            );
        }
    }
}
