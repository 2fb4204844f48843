//! `docs/config.md`: every environment variable, from the one list of them, and every key of the configuration directory.

use super::NOTE;
use super::markdown::Table;
use super::variables::{VARIABLES, Variable};

const INTRODUCTION: &str = "\
There are two ways to configure mailwarden. Environment variables are enough for one person and their agent: whoever starts
the program may read everything. A [configuration directory](#the-configuration-directory) is for several agents, each with a
policy of its own.

Three variables make an account:

```sh
export MAIL_IMAP_DEFAULT_HOST=imap.example.com
export MAIL_IMAP_DEFAULT_USER=you@example.com
export MAIL_IMAP_DEFAULT_PASS='app password'
mailwarden check
```

The password need not stand in a variable: `MAIL_IMAP_DEFAULT_PASS_FILE` names a file, `MAIL_IMAP_DEFAULT_PASS_COMMAND` a program
of your password manager ([docs/secrets.md](secrets.md)).

`mailwarden check` logs in to every account and says what works and what to do about what doesn't.
A wrong value is one line on stderr that names its variable; all of them are reported at once, and the process ends
with status 2 before anything starts. A name that begins like ours and is none is a wrong value too.
Yes and no are `true` or `false` (`1` and `0`, `yes` and `no` will do).
";

const ACCOUNTS: &str = "\
`<ACCOUNT>` is a name of your choice in capitals: `MAIL_IMAP_WORK_HOST` makes the account that tools call `work`.
The account `default` is what a call without `account_id` means. An account is one IMAP login or one Maildir.
";

const DIRECTORY: &str = "\
`mailwarden config init DIR` writes a directory to begin with, `mailwarden config check DIR` tells everything that is wrong
with one (and ends with status 2 if anything is), and `mailwarden config schema` prints JSON Schemas for editors; those of
[docs/schema](schema/) are the same. The directory is used when `--config-dir` or `IMAP_MCP_CONFIG_DIR` names it. Variables
that make accounts must not be set then; those that tune connections still hold.

```
DIR/
├── accounts.yaml     accounts, secret store, audit log
├── callers.yaml      who may connect, with which policy
├── policies/*.yaml   what each policy lets its callers see and do
└── secrets/          one file per secret, mode 0600
```

Reading is strict: unknown keys, wrong types, references to nothing, rules that can never matter are told with file, line,
column and a hint, all of them at once, and nothing starts. YAML is used plainly, without anchors, tags or several documents.
Paths that do not begin with `/` begin at the directory.

No secret stands in these files. `secret://callers/invoice-agent/token` is the file `callers/invoice-agent/token` in the
`path` of a `file_dir` store, which nobody but its owner may read, or the variable
`IMAP_MCP_SECRET__CALLERS__INVOICE_AGENT__TOKEN` for an `env_var` store. Files for GPG, the keyring of the operating system and the
command line of a password manager will do as well: [docs/secrets.md](secrets.md). Secrets are read when the configuration is.

Who is at the other end of stdio is said by `IMAP_MCP_CALLER_ID`, and proved by `IMAP_MCP_CALLER_TOKEN` if the caller is a
`shared_token` one. An identity that is unknown, missing or not proved is served nothing.

An IMAP account without `tls` is protected by STARTTLS on port 143 and by TLS from the first byte on any other; `none` is for
hosts on this machine. Accounts by OAuth2: [oauth.md](oauth.md). Levels are written
in capitals: NONE < COUNT < METADATA < ENVELOPE < HEADERS < BODY < FULL.
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
        title: "Beside a configuration directory",
        text: "",
        holds: |variable| variable.name.starts_with("IMAP_MCP_"),
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
    page.push_str(&format!("\n## The configuration directory\n\n{DIRECTORY}"));
    page.push_str(&super::keys::tables());
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
