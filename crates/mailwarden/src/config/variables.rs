//! Every environment variable there is: the one list from which reading, hints and `docs/config.md` derive.

/// One variable, or one per account.
pub(crate) struct Variable {
    /// The name; `<ACCOUNT>` stands for an account's name in capitals.
    pub name: &'static str,
    pub default: &'static str,
    pub meaning: &'static str,
}

pub(crate) const VARIABLES: &[Variable] = &[
    Variable {
        name: "MAIL_IMAP_<ACCOUNT>_HOST",
        default: "required",
        meaning: "The IMAP server. `MAIL_IMAP_DEFAULT_HOST` makes the account `default`, `MAIL_IMAP_WORK_HOST` the account `work`.",
    },
    Variable {
        name: "MAIL_IMAP_<ACCOUNT>_USER",
        default: "required",
        meaning: "The login name.",
    },
    Variable {
        name: "MAIL_IMAP_<ACCOUNT>_PASS",
        default: "required",
        meaning: "The password; most providers want an app password here.",
    },
    Variable {
        name: "MAIL_IMAP_<ACCOUNT>_PORT",
        default: "`993`, or `143` without implicit TLS",
        meaning: "The port.",
    },
    Variable {
        name: "MAIL_IMAP_<ACCOUNT>_SECURE",
        default: "`true`",
        meaning: "`true`: TLS from the first byte. `starttls`: TLS by STARTTLS, and no login without it. `false`: no encryption, for hosts on this machine only.",
    },
    Variable {
        name: "MAIL_MAILDIR_<ACCOUNT>_PATH",
        default: "none",
        meaning: "A Maildir on this machine as an account, read only.",
    },
    Variable {
        name: "MAIL_IMAP_CA_CERT_PATH",
        default: "none",
        meaning: "A PEM file with certificates to trust besides the system's.",
    },
    Variable {
        name: "MAIL_IMAP_ALLOW_PLAINTEXT",
        default: "`false`",
        meaning: "`true` lets `SECURE=false` reach hosts beyond this machine: password and mail travel in the clear.",
    },
    Variable {
        name: "MAIL_IMAP_MAX_CONNECTIONS",
        default: "`4`",
        meaning: "Connections per account at most, 1 to 16.",
    },
    Variable {
        name: "MAIL_IMAP_CONNECT_TIMEOUT_MS",
        default: "`30000`",
        meaning: "Name lookup, TCP and TLS together, in milliseconds (100 to 3600000).",
    },
    Variable {
        name: "MAIL_IMAP_GREETING_TIMEOUT_MS",
        default: "`15000`",
        meaning: "Until the server's first line.",
    },
    Variable {
        name: "MAIL_IMAP_SOCKET_TIMEOUT_MS",
        default: "`300000`",
        meaning: "Silence during a command. Commands that every server answers promptly get 30 s at most.",
    },
    Variable {
        name: "MAIL_IMAP_WRITE_ENABLED",
        default: "`false`",
        meaning: "Opens the gate for tools that change mail. There are none yet, so it has no effect.",
    },
    Variable {
        name: "MAIL_IMAP_ERRORS",
        default: "`protocol`",
        meaning: "`result` sends hard errors as tool results, for hosts that hide protocol errors from the model.",
    },
    Variable {
        name: "MAILWARDEN_STATE_DIR",
        default: "`$XDG_STATE_HOME/mailwarden`, else `~/.local/state/mailwarden`",
        meaning: "Where the key that seals cursors is kept.",
    },
    Variable {
        name: "MAILWARDEN_LOG",
        default: "`warn`",
        meaning: "What is logged to stderr: `error`, `warn`, `info`, `debug`, or a filter such as `sources=debug`. Mail and secrets are never logged.",
    },
];
