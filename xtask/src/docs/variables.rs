//! Every environment variable there is, for `docs/config.md`. That the program reads just these is checked by tidy.

/// One variable, or one per account.
pub(crate) struct Variable {
    /// `<ACCOUNT>` stands for an account's name in capitals.
    pub name: &'static str,
    pub default: &'static str,
    pub meaning: &'static str,
}

const fn variable(name: &'static str, default: &'static str, meaning: &'static str) -> Variable {
    Variable {
        name,
        default,
        meaning,
    }
}

pub(crate) const VARIABLES: &[Variable] = &[
    variable(
        "MAIL_IMAP_<ACCOUNT>_HOST",
        "required",
        "The IMAP server, a name or an address, without scheme or path.",
    ),
    variable("MAIL_IMAP_<ACCOUNT>_USER", "required", "The login name."),
    variable(
        "MAIL_IMAP_<ACCOUNT>_PASS",
        "required, or one of the next two",
        "The password; most providers want an app password here.",
    ),
    variable(
        "MAIL_IMAP_<ACCOUNT>_PASS_FILE",
        "none",
        "In place of `PASS`: the whole path of a file that holds the password in one line, and that [nobody else may read](secrets.md#files).",
    ),
    variable(
        "MAIL_IMAP_<ACCOUNT>_PASS_COMMAND",
        "none",
        "In place of `PASS`: a program and its words, such as `pass show mail/work`; the first line that it prints is the password. [No shell reads it](secrets.md#a-command).",
    ),
    variable(
        "MAIL_IMAP_<ACCOUNT>_PORT",
        "`993`, or `143` without implicit TLS",
        "The port, 1 to 65535.",
    ),
    variable(
        "MAIL_IMAP_<ACCOUNT>_SECURE",
        "`true`",
        "`true`: TLS from the first byte. `starttls`: TLS by STARTTLS, and no login without it. `false`: no encryption, for hosts on this machine only.",
    ),
    variable(
        "MAIL_IMAP_<ACCOUNT>_AUTHSERV_ID",
        "none",
        "What the `Authentication-Results` headers of the receiving server begin with, such as `mx.google.com`. Only those are shown then; without it the topmost one is shown as one that could be forged.",
    ),
    variable(
        "MAIL_MAILDIR_<ACCOUNT>_PATH",
        "none",
        "A Maildir on this machine as an account, read only, or an mbox file. It needs none of the variables above.",
    ),
    variable(
        "MAIL_APPLE_<ACCOUNT>_PATH",
        "none",
        "Apple Mail's directory, such as `/Users/anna/Library/Mail`, as an account, read only.",
    ),
    variable(
        "MAIL_APPLE_<ACCOUNT>_ACCOUNT",
        "all of them",
        "One account of that store: its address, its name or its id.",
    ),
    variable(
        "MAIL_IMAP_CA_CERT_PATH",
        "none",
        "A PEM file with certificates to trust besides the system's.",
    ),
    variable(
        "MAIL_IMAP_ALLOW_PLAINTEXT",
        "`false`",
        "`true` lets `SECURE=false` reach hosts beyond this machine: password and mail travel in the clear.",
    ),
    variable(
        "MAIL_IMAP_MAX_CONNECTIONS",
        "`4`",
        "Connections per account at most, 1 to 16; at Gmail never more than 10 of the 15 that it allows.",
    ),
    variable(
        "MAIL_IMAP_CONNECT_TIMEOUT_MS",
        "`30000`",
        "Name lookup, TCP and TLS together, in milliseconds (100 to 3600000, as the next two).",
    ),
    variable(
        "MAIL_IMAP_GREETING_TIMEOUT_MS",
        "`15000`",
        "Until the server's first line.",
    ),
    variable(
        "MAIL_IMAP_SOCKET_TIMEOUT_MS",
        "`300000`",
        "Silence during a command. Commands that every server answers promptly get 30 s at most.",
    ),
    variable(
        "MAIL_IMAP_SETTLE_TIMEOUT_MS",
        "`60000`",
        "How long a server may take to come to a command whose connection is gone. Until then a copy or draft that is not there is not made again.",
    ),
    variable(
        "MAIL_IMAP_WRITE_ENABLED",
        "`false`",
        "`true` opens the gate for tools that [change mail](changes.md). Beside a configuration directory policies decide, and `false` closes the gate to all.",
    ),
    variable(
        "MAIL_IMAP_DELETE",
        "`trash`",
        "What deleting means. `trash`: into the folder that the server names as trash, from where it can be undone. `expunge`: gone for good.",
    ),
    variable(
        "MAIL_IMAP_ERRORS",
        "`protocol`",
        "`result` sends hard errors as tool results, for hosts that hide protocol errors from the model.",
    ),
    variable(
        "IMAP_MCP_CONFIG_DIR",
        "none",
        "The configuration directory; `--config-dir` goes before it.",
    ),
    variable(
        "IMAP_MCP_CALLER_ID",
        "none",
        "On stdio: which caller of `callers.yaml` this connection is.",
    ),
    variable(
        "IMAP_MCP_CALLER_TOKEN",
        "none",
        "On stdio: the token of a `shared_token` caller. Alone it is enough to tell which.",
    ),
    variable(
        "IMAP_MCP_APPEND_TIMEOUT",
        "`300`",
        "Silence while a message is added to a folder, in seconds, 1 to 3600. It holds without a directory too.",
    ),
    variable(
        "IMAP_MCP_OAUTH_CLIENT_ID",
        "none",
        "The OAuth2 client of all accounts that name none by `oauth_client_id`; see [oauth.md](oauth.md).",
    ),
    variable(
        "IMAP_MCP_SECRET__<PATH>",
        "none",
        "A secret of an `env_var` store: `secret://a/b-c` is `IMAP_MCP_SECRET__A__B_C`.",
    ),
    variable(
        "IMAP_MCP_HTTP_HOST",
        "`127.0.0.1`",
        "The address that `mailwarden http` listens on; `--host` goes before it.",
    ),
    variable(
        "IMAP_MCP_HTTP_PORT",
        "`0`",
        "Its port; 0 takes a free one and prints it. `--port` goes before it.",
    ),
    variable(
        "MAILWARDEN_HTTP_TOKEN",
        "none",
        "The token that whoever calls over HTTP brings, where accounts stand in variables. With a configuration directory each caller has its own.",
    ),
    variable(
        "MAILWARDEN_HTTP_TLS_CERT",
        "none",
        "The certificate that is shown [over HTTP](http.md#where-it-may-listen), with its chain, as a PEM file; `--tls-cert` goes before it.",
    ),
    variable(
        "MAILWARDEN_HTTP_TLS_KEY",
        "none",
        "Its key, as a PEM file; `--tls-key` goes before it.",
    ),
    variable(
        "MAILWARDEN_HTTP_BEHIND_PROXY",
        "`false`",
        "`true`: nothing but a proxy, which sees to TLS, can reach the address; the same as `--behind-proxy`.",
    ),
    variable(
        "MAILWARDEN_HTTP_ALLOWED_HOSTS",
        "none",
        "Names that clients may call this server by, with commas between them, besides its address; `--allowed-host` goes before it.",
    ),
    variable(
        "MAILWARDEN_HTTP_ALLOWED_ORIGINS",
        "none",
        "Origins whose pages may call, such as `https://app.example.com`, with commas between them; `--allowed-origin` goes before it.",
    ),
    variable(
        "MAILWARDEN_HTTP_SESSIONS",
        "`0`",
        "How many clients of older revisions may have [a session](http.md#sessions); `--sessions` goes before it.",
    ),
    variable(
        "MAILWARDEN_TOOLSETS",
        "`imap,threads`; with a configuration directory what the caller is given",
        "The tools to serve: `imap`, `gateway`, `threads`, with commas between them; `--toolsets` goes before it. Of a caller's tools it can only take away.",
    ),
    variable(
        "MAILWARDEN_TEXT",
        "`readable`",
        "What the text block of an answer holds: `readable` lines, or with `json` the structured content once more, for clients that read nothing else. `text` in accounts.yaml does the same.",
    ),
    variable(
        "MAILWARDEN_UNCERTAIN_TEXT",
        "`show`",
        "What becomes of text that a person may not see: `show` marks it, `withhold` leaves it out and counts it. `uncertain_text` in accounts.yaml or in a caller's policy can withhold it too; neither takes that back.",
    ),
    variable(
        "MAILWARDEN_MAX_CONCURRENT_CALLS",
        "as many as the machine does well with",
        "Calls under way at a time, of all callers together, 1 to 100000. [Those beyond wait in turn](limits.md#when-there-is-more-to-do-than-can-be-done).",
    ),
    variable(
        "MAILWARDEN_AUDIT_HOT_DAYS",
        "`90`",
        "So many days of the [audit log](audit.md) stay plain text, 1 to 36500.",
    ),
    variable(
        "MAILWARDEN_AUDIT_WARM_DAYS",
        "`275`",
        "So many days after those are kept compressed.",
    ),
    variable(
        "MAILWARDEN_AUDIT_DELETE_AFTER_DAYS",
        "`365`, or hot and warm days together if that is more",
        "A day that is older is deleted; at least hot and warm days together.",
    ),
    variable(
        "MAILWARDEN_AUDIT_ROOT_HOOK",
        "none",
        "The whole path of a program that is given the root of the audit log when a day ends and at each checkpoint, to keep it elsewhere.",
    ),
    variable(
        "MAILWARDEN_AUDIT_CHECKPOINT_MINUTES",
        "`60`",
        "How often a checkpoint of the audit log is signed, 1 to 1440.",
    ),
    variable(
        "MAILWARDEN_LEDGER",
        "none",
        "The PostgreSQL database in which changes to mail are written down, and which [replicas](replicas.md) share, such as `postgres://mailwarden@db.example.com/mailwarden`. The same as `ledger` in accounts.yaml.",
    ),
    variable(
        "MAILWARDEN_LEDGER_PASSWORD",
        "none",
        "The password of that database; in a configuration directory `ledger_secret_ref` can name it.",
    ),
    variable(
        "MAILWARDEN_STATE_DIR",
        "`$XDG_STATE_HOME/mailwarden`, else `~/.local/state/mailwarden`",
        "Where the key that seals cursors, the [audit log](audit.md) (in `audit/`) and, without a configuration directory, the ledger of changes (`ledger.db`) are kept. Without a log nothing is answered.",
    ),
    variable(
        "MAILWARDEN_REPLICA",
        "none",
        "The name of this process among several of one configuration, 1 to 64 letters, digits, `-`, `_` and `.`; `--replica` goes before it. Its [audit log](audit.md#several-logs) stands in a directory of that name.",
    ),
    variable(
        "MAILWARDEN_METRICS_ADDR",
        "none",
        "Where [metrics and health](operations.md#watch) are served: a port of this machine, or an address and a port; `--metrics-addr` goes before it. Without it nothing listens.",
    ),
    variable(
        "MAILWARDEN_LOG_FORMAT",
        "`text`",
        "How lines on stderr are written: `text`, or `json` for one object each; `--log-format` goes before it.",
    ),
    variable(
        "MAILWARDEN_LOG",
        "`warn`",
        "What is logged to stderr: `error`, `warn`, `info`, `debug`, or a filter such as `sources=debug`. Mail and secrets are never logged.",
    ),
];
