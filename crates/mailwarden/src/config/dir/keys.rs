//! Every key of every file; those of `callers.yaml` stand in `callers`.

mod callers;
mod limits;

use super::shape::Need::{Default, Optional, Otherwise, Required};
use super::shape::{Key, Keys, Named, Shape, key, text, text_like};
pub(super) use callers::{CALLER_AUTH, CALLER_TOKEN, CALLERS_FILE};
pub(super) use limits::{LIMITS, MEASURE};

const PROVIDERS: &[&str] = &[
    "imap-standard",
    "google",
    "google-mock",
    "apple-mail",
    "maildir",
];
const LEVELS: &[&str] = &[
    "NONE", "COUNT", "METADATA", "ENVELOPE", "HEADERS", "BODY", "FULL",
];
const UNCERTAIN_TEXT: Shape = Shape::Word(mail::UncertainText::NAMES);
const BACKENDS: &[&str] = &["file_dir", "env_var", "gpg_file", "keyring", "command"];
const WORD: Shape = text("mail/{ref}");
const TOKEN_CACHES: &[&str] = &["memory_only", "persist_all"];

const ACCOUNT_ID: &str = "^[A-Za-z0-9_-]{1,64}$";
const NAME: &str = "^[A-Za-z0-9_.-]{1,64}$";
const SECRET: &str = "^secret://[A-Za-z0-9_-][A-Za-z0-9_.-]*(/[A-Za-z0-9_-][A-Za-z0-9_.-]*){0,7}$";
const ADDRESS: &str = "^[^\\s<>]+@[^\\s@<>]+$";

const DAYS: Shape = Shape::Whole {
    such_as: 90,
    low: 0,
    high: 36_500,
};
const DAYS_FROM_ONE: Shape = Shape::Whole {
    such_as: 90,
    low: 1,
    high: 36_500,
};
const OCTETS: Shape = Shape::Whole {
    such_as: 10_000,
    low: 0,
    high: u32::MAX as u64,
};
const CAN: Shape = Shape::Boolean;

/// `accounts.yaml`.
pub(super) static ACCOUNTS_FILE: Keys = Keys {
    what: "accounts.yaml",
    keys: &[
        key(
            "accounts",
            Required,
            Shape::List(&Shape::Keys(&ACCOUNT)),
            "The accounts that there are; policies name them.",
        ),
        key(
            "secret_store",
            Optional,
            Shape::Keys(&SECRET_STORE),
            "Where secret:// references lead.",
        ),
        key(
            "audit",
            Optional,
            Shape::Keys(&AUDIT),
            "Where the audit log is and how long it is kept.",
        ),
        key(
            "wal",
            Optional,
            Shape::Keys(&WAL),
            "Where changes to mail are written down before they are made; without it none is made.",
        ),
        key(
            "ledger",
            Optional,
            text("postgres://mailwarden@db.example.com/mailwarden"),
            "In place of `wal`, where several replicas serve: the PostgreSQL database that they share. Without a password.",
        ),
        key(
            "ledger_secret_ref",
            Optional,
            Shape::Text {
                such_as: "secret://ledger/password",
                pattern: Some(SECRET),
            },
            "Where the password of that database is kept.",
        ),
        key(
            "errors",
            Default("protocol"),
            Shape::Word(&["protocol", "result"]),
            "How hard errors travel; 'result' sends them as tool results, for hosts that hide protocol errors from the model.",
        ),
        key(
            "text",
            Default("readable"),
            Shape::Word(&["readable", "json"]),
            "What the text block of an answer holds: 'readable' lines, or with 'json' the structured content once more, for clients that read nothing else.",
        ),
        key(
            "uncertain_text",
            Default("show"),
            UNCERTAIN_TEXT,
            "What becomes of text that a person may not see: 'show' marks it, 'withhold' leaves it out and counts it. A policy can withhold it too.",
        ),
    ],
};

pub(super) static ACCOUNT: Keys = Keys {
    what: "an account",
    keys: &[
        key(
            "id",
            Required,
            text_like("company-mail", ACCOUNT_ID),
            "The name that policies and tools use: 1 to 64 letters, digits, '_' or '-'.",
        ),
        key(
            "provider",
            Default("imap-standard"),
            Shape::Word(PROVIDERS),
            "What kind of mail store it is.",
        ),
        key(
            "host",
            Default("127.0.0.1"),
            text("imap.example.com"),
            "The IMAP server.",
        ),
        key(
            "port",
            Default("143"),
            Shape::Whole {
                such_as: 993,
                low: 1,
                high: 65_535,
            },
            "The IMAP port; 993 for TLS from the first byte.",
        ),
        key(
            "tls",
            Otherwise("starttls on port 143, implicit on any other"),
            Shape::Word(&["implicit", "starttls", "none"]),
            "How the connection is protected; 'none' is for hosts on this machine only.",
        ),
        key(
            "ca_file",
            Optional,
            text("/etc/ssl/private-root.pem"),
            "A PEM file with certificates to trust besides the system's.",
        ),
        key(
            "authserv_id",
            Optional,
            text("mx.example.com"),
            "What the Authentication-Results headers of the receiving server begin with.",
        ),
        key(
            "auth",
            Optional,
            Shape::Keys(&ACCOUNT_AUTH),
            "How to log in; an IMAP account needs it.",
        ),
        key(
            "token_cache",
            Default("memory_only"),
            Shape::Word(TOKEN_CACHES),
            "Whether access tokens are kept in memory only or also on disk.",
        ),
        key(
            "path",
            Optional,
            text("/var/mail/anna"),
            "The directory of a Maildir, or of Apple Mail's store.",
        ),
        key(
            "store_account",
            Optional,
            text("anna@example.com"),
            "Which account of Apple Mail's store, by its name, address or identifier; all of them when left out.",
        ),
    ],
};

pub(super) static ACCOUNT_AUTH: Keys = Keys {
    what: "the 'auth' of an account",
    keys: &[
        key(
            "type",
            Required,
            Shape::Word(&["password", "xoauth2", "oauthbearer"]),
            "The way of logging in: a password, or OAuth2 tokens in one of the two ways that servers take them.",
        ),
        key(
            "secret_ref",
            Required,
            text_like("secret://accounts/company-mail/password", SECRET),
            "Which secret of the secret store: the password, or the refresh token.",
        )
        .withheld(),
        key(
            "user",
            Otherwise("the account's id"),
            text("anna@example.com"),
            "The login name.",
        ),
        key(
            "oauth_scope",
            Optional,
            text("https://mail.google.com/"),
            "The OAuth2 scope; what the provider needs for IMAP when left out.",
        ),
        key(
            "oauth_provider",
            Otherwise("by the account's provider or host; custom where there is an oauth_issuer"),
            Shape::Word(&["google", "microsoft", "fastmail", "yahoo", "custom"]),
            "Who gives the tokens.",
        ),
        key(
            "oauth_issuer",
            Optional,
            text("https://login.example.com"),
            "For custom: the issuer, whose discovery document says the rest.",
        ),
        key(
            "oauth_tenant",
            Otherwise("common"),
            text("example.com"),
            "For microsoft: the tenant.",
        ),
        key(
            "oauth_client_id",
            Otherwise("IMAP_MCP_OAUTH_CLIENT_ID"),
            text("1234-abcd.apps.googleusercontent.com"),
            "The client that was registered with the provider.",
        ),
        key(
            "oauth_client_secret_ref",
            Optional,
            text_like("secret://clients/google/secret", SECRET),
            "The client's secret, of clients that have one, as Google's desktop clients do.",
        )
        .withheld(),
        key(
            "token_cache",
            Optional,
            Shape::Word(TOKEN_CACHES),
            "The same as token_cache of the account; give one of them.",
        ),
    ],
};

pub(super) static SECRET_STORE: Keys = Keys {
    what: "the secret_store",
    keys: &[
        key(
            "backend",
            Required,
            Shape::Word(BACKENDS),
            "What kind of store: files in a directory, environment variables, files for GPG, the keyring of the operating system, or another program.",
        ),
        key(
            "path",
            Optional,
            text("/etc/mailwarden/secrets"),
            "The directory, for file_dir and gpg_file.",
        ),
        key(
            "recipient",
            Optional,
            text("mail@example.com"),
            "The GPG key to encrypt for, for gpg_file; best its fingerprint. Without it nothing can be kept there.",
        ),
        key(
            "gnupghome",
            Optional,
            text("/etc/mailwarden/gnupg"),
            "The GPG home directory, for gpg_file.",
        ),
        key(
            "command",
            Optional,
            Shape::List(&WORD),
            "A program and its words, for command; {ref} stands for the reference without secret://. The first line that it prints is the secret.",
        )
        .withheld(),
        key(
            "store_command",
            Optional,
            Shape::List(&WORD),
            "The same for keeping a secret, which it is given on its standard input. Without it nothing can be kept there.",
        )
        .withheld(),
    ],
};

pub(super) static AUDIT: Keys = Keys {
    what: "the 'audit' section",
    keys: &[
        key("directory", Otherwise("audit in the state directory"), text("/var/log/mailwarden/audit"), "Where the audit log is written."),
        key("hot_days", Default("90"), DAYS_FROM_ONE, "So many days stay plain text."),
        key("warm_days", Default("275"), DAYS, "So many days after those are kept compressed."),
        key("delete_after_days", Otherwise("365, or hot_days and warm_days together if that is more"), DAYS_FROM_ONE, "A day that is older is deleted; at least hot_days and warm_days together."),
        key("external_root_hook", Optional, text("/usr/local/bin/audit-root-notify"), "The whole path of a program that is given the root of the log when a day ends and at each checkpoint.").withheld(),
    ],
};

pub(super) static WAL: Keys = Keys {
    what: "the 'wal' section",
    keys: &[key(
        "path",
        Required,
        text("/var/lib/mailwarden/wal.db"),
        "The file, a SQLite database on a local disk.",
    )],
};

/// `policies/*.yaml`.
pub(super) static POLICY_FILE: Keys = Keys {
    what: "a policy",
    keys: &[
        key(
            "name",
            Required,
            text_like("invoice-policy", NAME),
            "What callers.yaml calls it: 1 to 64 letters, digits, '_', '.' or '-'.",
        ),
        key(
            "accounts",
            Required,
            Shape::Named(&POLICY_ACCOUNTS),
            "What may be seen, account by account. What is not named does not exist; {} allows nothing.",
        ),
        key(
            "uncertain_text",
            Default("show"),
            UNCERTAIN_TEXT,
            "What becomes of text that a person may not see: 'show' marks it, 'withhold' leaves it out and counts it.",
        ),
    ],
};

static POLICY_ACCOUNTS: Named = Named {
    what: "accounts",
    about: "The folders of an account that exist for the caller.",
    each: Shape::List(&Shape::Keys(&FOLDER)),
};

pub(super) static FOLDER: Keys = Keys {
    what: "a folder",
    keys: &[
        key(
            "path",
            Required,
            text("INBOX/Invoices"),
            "The folder as the server names it, or a pattern: * is every folder, INBOX/* every folder below INBOX. \
             The most specific path holds.",
        ),
        key(
            "mode",
            Required,
            Shape::Word(&["whitelist", "blacklist"]),
            "whitelist: rules grant, and the default is NONE. blacklist: rules cap, and the default is above NONE.",
        ),
        key(
            "default",
            Required,
            Shape::Word(LEVELS),
            "The level of a message that no rule matches.",
        ),
        key(
            "rules",
            Otherwise("no rules"),
            Shape::List(&Shape::Keys(&RULE)),
            "What differs from the default. The highest grant holds, or the lowest cap.",
        ),
        key(
            "mark_seen",
            Default("false"),
            CAN,
            "May set and take \\Seen.",
        ),
        key(
            "mark_tagged",
            Default("false"),
            CAN,
            "May set and take keywords and \\Flagged.",
        ),
        key(
            "move_out",
            Default("false"),
            CAN,
            "May move messages out of the folder.",
        ),
        key(
            "accept_incoming",
            Default("false"),
            CAN,
            "May move and copy messages into the folder.",
        ),
        key("draft_append", Default("false"), CAN, "May append drafts."),
    ],
};

pub(super) static RULE: Keys = Keys {
    what: "a rule",
    keys: &[
        key(
            "match",
            Required,
            Shape::Keys(&MATCH),
            "What a message must be, in every respect that is named.",
        ),
        key(
            "grant",
            Optional,
            Shape::Word(LEVELS),
            "The level that it gives; in a whitelist.",
        ),
        key(
            "cap",
            Optional,
            Shape::Word(LEVELS),
            "The level that it takes down to; in a blacklist.",
        ),
    ],
};

pub(super) static MATCH: Keys = Keys {
    what: "a 'match'",
    keys: PREDICATES,
};

const PREDICATES: &[Key] = &[
    key(
        "from",
        Optional,
        text_like("alice@example.com", ADDRESS),
        "The sender (From) is this address.",
    ),
    key(
        "from_domain",
        Optional,
        text("example.com"),
        "The sender is at this domain, not at one below it.",
    ),
    key(
        "to",
        Optional,
        text_like("billing@example.com", ADDRESS),
        "One of the To and Cc addresses is this one.",
    ),
    key(
        "to_contains",
        Optional,
        text("team"),
        "One of the To and Cc addresses holds this.",
    ),
    key(
        "subject_contains",
        Optional,
        text("invoice"),
        "The subject holds this, in any case.",
    ),
    key(
        "has_attachment",
        Optional,
        Shape::Boolean,
        "It has an attachment, or has none.",
    ),
    key(
        "newer_than",
        Optional,
        Shape::Duration { such_as: "30d" },
        "It arrived less than this ago: a number and one of s, m, h, d, w, y.",
    ),
    key(
        "older_than",
        Optional,
        Shape::Duration { such_as: "90d" },
        "It arrived more than this ago.",
    ),
    key("size_gt", Optional, OCTETS, "It has more bytes than this."),
    key("size_lt", Optional, OCTETS, "It has fewer bytes than this."),
];
