//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::audit::When;

/// An MCP server through which AI agents read your mail.
#[derive(Debug, Parser)]
#[command(name = "mailwarden", version, about, after_help = AFTER)]
pub(crate) struct Cli {
    /// Serve MCP this way (the same as the verb of that name)
    #[arg(long, value_enum)]
    pub transport: Option<Transport>,

    /// The configuration directory (default: IMAP_MCP_CONFIG_DIR)
    #[arg(long, global = true, value_name = "DIR")]
    pub config_dir: Option<PathBuf>,

    /// The tools to serve: imap, gateway, threads (default: MAILWARDEN_TOOLSETS, else what the configuration says)
    #[arg(long, global = true, value_name = "SETS")]
    pub toolsets: Option<String>,

    /// Serve no tool that changes anything, whatever else is said
    #[arg(long, global = true)]
    pub read_only: bool,

    /// The name of this process among several of one configuration; its audit log stands in a directory of that name
    /// (default: MAILWARDEN_REPLICA)
    #[arg(long, global = true, value_name = "NAME")]
    pub replica: Option<String>,

    /// Serve metrics and health there: a port of this machine, or an address and a port (default:
    /// MAILWARDEN_METRICS_ADDR, else nowhere)
    #[arg(long, global = true, value_name = "ADDRESS")]
    pub metrics_addr: Option<String>,

    /// How lines on stderr are written (default: MAILWARDEN_LOG_FORMAT, else text)
    #[arg(long, global = true, value_enum, value_name = "FORMAT")]
    pub log_format: Option<LogFormat>,

    #[command(flatten)]
    pub http: Http,

    #[command(subcommand)]
    pub verb: Option<Verb>,
}

/// Where MCP over HTTP is served.
#[derive(Debug, Clone, PartialEq, Eq, Default, Args)]
pub(crate) struct Http {
    /// The address to listen on (default: IMAP_MCP_HTTP_HOST, else 127.0.0.1)
    #[arg(long, value_name = "ADDRESS")]
    pub host: Option<String>,

    /// The port; 0 takes a free one and prints it (default: IMAP_MCP_HTTP_PORT, else 0)
    #[arg(long, value_name = "N")]
    pub port: Option<u16>,

    /// The certificate to show, with its chain, in PEM; needed where others can reach the address (default: MAILWARDEN_HTTP_TLS_CERT)
    #[arg(long, value_name = "FILE")]
    pub tls_cert: Option<PathBuf>,

    /// Its key, in PEM (default: MAILWARDEN_HTTP_TLS_KEY)
    #[arg(long, value_name = "FILE")]
    pub tls_key: Option<PathBuf>,

    /// Nothing but a proxy, which sees to TLS, can reach the address (default: MAILWARDEN_HTTP_BEHIND_PROXY)
    #[arg(long)]
    pub behind_proxy: bool,

    /// A name that clients may call this server by, besides its address; may be repeated (default: MAILWARDEN_HTTP_ALLOWED_HOSTS)
    #[arg(long, value_name = "NAME")]
    pub allowed_host: Vec<String>,

    /// An origin whose pages may call, such as https://app.example.com; may be repeated (default: MAILWARDEN_HTTP_ALLOWED_ORIGINS)
    #[arg(long, value_name = "ORIGIN")]
    pub allowed_origin: Vec<String>,

    /// How many clients of older revisions may have a session (default: MAILWARDEN_HTTP_SESSIONS, else 0)
    #[arg(long, value_name = "N")]
    pub sessions: Option<usize>,
}

#[cfg(test)]
impl Http {
    /// As somebody types it behind the verb.
    pub(crate) fn typed(words: &[&str]) -> Self {
        let words = ["mailwarden", "http"].iter().chain(words);
        match Cli::try_parse_from(words).map(|cli| cli.verb) {
            Ok(Some(Verb::Http(http))) => http,
            other => panic!("{other:?}"),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    Text,
    Json,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Transport {
    Stdio,
    Http,
}

#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub(crate) enum Verb {
    /// Serve MCP over stdin and stdout (what clients start)
    Stdio,
    /// Serve MCP over HTTP, to every caller of a configuration directory
    Http(Http),
    /// Verify the configuration and every account
    #[command(alias = "doctor")]
    Check,
    /// Show what it does, on a built-in sample mailbox
    Demo,
    /// Verify, read and search the audit log
    Audit(Box<Audit>),
    /// Check a configuration directory, or begin one
    #[command(subcommand)]
    Config(ConfigVerb),
    /// Explain, try out and examine the policies of a configuration directory
    #[command(subcommand)]
    Policy(PolicyVerb),
    /// List, show and decide changes to mail
    Tx(Tx),
    /// Log in to an account by OAuth2
    Login(Login),
    /// Ask a health address of mailwarden, and tell by the exit status whether all is well
    Probe {
        /// Such as http://127.0.0.1:9464/readyz
        url: String,
    },
    /// Read one attachment, locked in (what the program starts itself)
    #[command(name = EXTRACT_WORKER, hide = true)]
    ExtractWorker,
}

/// Two, so that a call which takes its time holds up no other.
pub(crate) const FEW_THREADS: usize = 2;

impl Verb {
    /// How many threads work at a time: whoever serves many has all the cores, as it has places for them.
    pub(crate) fn threads(&self) -> usize {
        let cores = || std::thread::available_parallelism().map_or(FEW_THREADS, usize::from);
        match self {
            Self::Http(_) => cores().max(FEW_THREADS),
            _ => FEW_THREADS,
        }
    }

    /// The name in the audit log, of those that reach mail or decide about it.
    pub(crate) fn recorded_as(&self) -> Option<&'static str> {
        match self {
            Self::Stdio => Some("stdio"),
            Self::Http(_) => Some("http"),
            Self::Check => Some("check"),
            Self::Policy(PolicyVerb::Explain(_)) => Some("policy explain"),
            Self::Policy(PolicyVerb::Simulate(_)) => Some("policy simulate"),
            Self::Tx(Tx {
                verb: TxVerb::Retry { .. },
                ..
            }) => Some("tx retry"),
            Self::Tx(Tx {
                verb: TxVerb::Undo { .. },
                ..
            }) => Some("tx undo"),
            Self::Tx(Tx {
                verb: TxVerb::Resolve(_),
                ..
            }) => Some("tx resolve"),
            Self::Login(_) => Some("login"),
            Self::Tx(_)
            | Self::Policy(PolicyVerb::Lint { .. })
            | Self::Demo
            | Self::Audit(_)
            | Self::Config(_)
            | Self::Probe { .. }
            | Self::ExtractWorker => None,
        }
    }
}

/// Once for each account whose `auth` has the type xoauth2 or oauthbearer.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub(crate) struct Login {
    /// The account, as accounts.yaml names it
    #[arg(long, value_name = "ID")]
    pub account: String,

    /// Show a code that is typed in on another device, where the provider has that
    #[arg(long, conflicts_with = "paste")]
    pub device: bool,

    /// Have the address pasted here that the browser ends at; for a browser on another machine
    #[arg(long)]
    pub paste: bool,

    /// Show the address, and leave it to you to open it
    #[arg(long)]
    pub no_browser: bool,
}

/// They reach no mail.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub(crate) enum ConfigVerb {
    /// Read the whole directory and tell everything that is wrong with it
    Check {
        /// The directory (default: --config-dir, IMAP_MCP_CONFIG_DIR)
        dir: Option<PathBuf>,
        /// Fail where it could not be served this way; without it, what HTTP would refuse is a warning
        #[arg(long, value_enum)]
        transport: Option<Transport>,
    },
    /// Write a commented example into a new directory
    Init {
        /// The directory (default: --config-dir, IMAP_MCP_CONFIG_DIR)
        dir: Option<PathBuf>,
    },
    /// Have every process that serves the directory read it again, and tell how each came out
    Reload {
        /// The directory (default: --config-dir, IMAP_MCP_CONFIG_DIR)
        dir: Option<PathBuf>,
        /// Tell them even if the directory has problems
        #[arg(long)]
        force: bool,
    },
    /// Make a token for a caller, and the digest that stands for it in callers.yaml
    Token,
    /// Print the JSON Schema of a file, for editors
    Schema {
        /// Which file; a policy is each file in policies/
        #[arg(value_enum, default_value_t = ConfigFile::Accounts)]
        file: ConfigFile,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ConfigFile {
    Accounts,
    Callers,
    Policy,
}

/// For whoever writes policies. What is looked at in mailboxes is recorded like any call.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub(crate) enum PolicyVerb {
    /// Tell what a caller gets in a folder, or of one message, and which rule decides
    Explain(PolicyExplain),
    /// Count what a caller would see in the real mailboxes, or what another directory would change
    Simulate(PolicySimulate),
    /// Warn of policies that allow more, or less, than they seem to
    Lint {
        /// The directory (default: --config-dir, IMAP_MCP_CONFIG_DIR)
        dir: Option<PathBuf>,
        /// Fail when there are warnings
        #[arg(long)]
        deny: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub(crate) struct PolicyExplain {
    /// The caller, as in callers.yaml
    #[arg(long)]
    pub caller: String,
    /// The account, as in accounts.yaml
    #[arg(long)]
    pub account: String,
    /// The folder's exact name
    #[arg(long)]
    pub folder: String,
    /// One message of it
    #[arg(long, value_name = "N")]
    pub uid: Option<u32>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub(crate) struct PolicySimulate {
    /// The caller, as in callers.yaml
    #[arg(long)]
    pub caller: String,
    /// Only this account
    #[arg(long)]
    pub account: Option<String>,
    /// Only the folder of this name
    #[arg(long)]
    pub folder: Option<String>,
    /// Another configuration directory: what would it change?
    #[arg(long, value_name = "NEWDIR")]
    pub against: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub(crate) struct Audit {
    /// The log's directory (default: that of the configuration directory, else `audit` in the state directory); also
    /// several, and a directory stands for all logs in its subdirectories
    #[arg(long, global = true, value_name = "DIR")]
    pub dir: Vec<PathBuf>,
    /// Of several logs only this one, by its name or its id
    #[arg(long, global = true, value_name = "NAME")]
    pub log: Option<String>,
    /// Print JSON
    #[arg(long, global = true)]
    pub json: bool,

    #[command(subcommand)]
    pub verb: AuditVerb,
}

/// They only read: they take no lock and write nothing.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub(crate) enum AuditVerb {
    /// Verify every record, or a proof; name the first bad record
    Verify(AuditVerify),
    /// Show the newest records
    Tail {
        /// How many
        #[arg(short, value_name = "N", default_value_t = 20)]
        n: usize,
        /// Go on with what is written
        #[arg(short)]
        follow: bool,
    },
    /// Search the records
    Query(AuditQuery),
    /// Make a proof that a record is in the log, to be checked without it
    Prove {
        /// The number of the record
        seq: u64,
    },
    /// Count calls by day, tool, caller and decision
    Stats(AuditStats),
    /// Print the newest signed checkpoint, to be kept elsewhere
    Checkpoint,
}

#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub(crate) struct AuditVerify {
    /// Begin with this day, and believe what it states about those before it
    #[arg(long, value_name = "WHEN")]
    pub since: Option<When>,
    /// A signed checkpoint that was kept elsewhere: the log must contain what it covers
    #[arg(long, value_name = "FILE")]
    pub checkpoint: Vec<PathBuf>,
    /// Verify this proof instead of the log
    #[arg(long, value_name = "FILE", conflicts_with_all = ["since", "checkpoint"])]
    pub proof: Option<PathBuf>,
    /// The log's public key, if its own `log.pub` is not to be believed; of several logs, one for each
    #[arg(long, value_name = "FILE_OR_KEY")]
    pub key: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Args, Default)]
pub(crate) struct AuditQuery {
    /// Of this caller
    #[arg(long)]
    pub caller: Option<String>,
    /// Of this tool
    #[arg(long)]
    pub tool: Option<String>,
    /// With this decision
    #[arg(long, value_enum, ignore_case = true)]
    pub decision: Option<Decision>,
    /// Of this kind: call, start, config_loaded, …
    #[arg(long)]
    pub event: Option<String>,
    /// Not before: 2026-11-15, 2026-11-15T08:00:00Z, 2h or 30d ago
    #[arg(long, value_name = "WHEN")]
    pub since: Option<When>,
    /// Not after
    #[arg(long, value_name = "WHEN")]
    pub until: Option<When>,
    /// About this message
    #[arg(long, value_name = "ID")]
    pub message: Option<String>,
    /// That searched for this text, which the log holds as a digest
    #[arg(long, value_name = "TEXT")]
    pub search_text: Option<String>,
    /// At most so many, the newest
    #[arg(long, value_name = "N")]
    pub limit: Option<usize>,
}

#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub(crate) struct AuditStats {
    /// Not before
    #[arg(long, value_name = "WHEN")]
    pub since: Option<When>,
    /// Not after
    #[arg(long, value_name = "WHEN")]
    pub until: Option<When>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Decision {
    Allow,
    Deny,
}

#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub(crate) struct Tx {
    /// Print JSON
    #[arg(long, global = true)]
    pub json: bool,

    #[command(subcommand)]
    pub verb: TxVerb,
}

/// A change to mail is a transaction; these are for whoever answers for them.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub(crate) enum TxVerb {
    /// Those that are under way or wait for a decision, the newest first
    List {
        /// Those that have ended, too
        #[arg(long)]
        all: bool,
        /// Of this caller
        #[arg(long)]
        caller: Option<String>,
    },
    /// Everything that is known of one
    Show {
        /// As `tx list` and the tools name it: tx_…
        id: String,
    },
    /// Take up again what is under way or waits for a decision, also while agents may change nothing
    Retry {
        /// As `tx list` and the tools name it: tx_…
        id: String,
    },
    /// Say how one came out that waits for a decision (needs_operator); no mail is changed
    Resolve(TxResolve),
    /// Put back what one has changed, also while agents may change nothing
    Undo {
        /// As `tx list` and the tools name it: tx_…
        id: String,
    },
}

impl TxVerb {
    pub(crate) fn changes_mail(&self) -> bool {
        match self {
            Self::Retry { .. } | Self::Undo { .. } => true,
            Self::List { .. } | Self::Show { .. } | Self::Resolve(_) => false,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub(crate) struct TxResolve {
    /// As `tx list` and the tools name it: tx_…
    pub id: String,
    /// What you found in the mailboxes: it was done, or nothing is changed
    #[arg(long = "as", value_enum)]
    pub came: Resolution,
    /// Why, for whoever looks at it later; no words of mail
    #[arg(long, value_name = "TEXT")]
    pub note: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Resolution {
    Done,
    Undone,
}

/// What makes the program a child that reads an attachment.
pub(crate) const EXTRACT_WORKER: &str = "extract-worker";

const AFTER: &str = "\
An account is three environment variables:
  MAIL_IMAP_DEFAULT_HOST=imap.example.com
  MAIL_IMAP_DEFAULT_USER=you@example.com
  MAIL_IMAP_DEFAULT_PASS=app-password
Then `mailwarden check` tells whether it works, and `mailwarden stdio` is what your MCP client starts.\nWithout a verb it serves MCP when something else than a person is at the other end, and shows this text otherwise.";
