//! The command line.

use clap::{Parser, Subcommand, ValueEnum};

/// An MCP server through which AI agents read your mail.
#[derive(Debug, Parser)]
#[command(name = "mailwarden", version, about, after_help = AFTER)]
pub(crate) struct Cli {
    /// Serve MCP this way (the same as the verb of that name)
    #[arg(long, value_enum)]
    pub transport: Option<Transport>,

    #[command(subcommand)]
    pub verb: Option<Verb>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Transport {
    Stdio,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Subcommand)]
pub(crate) enum Verb {
    /// Serve MCP over stdin and stdout (what clients start)
    Stdio,
    /// Verify the configuration and every account
    #[command(alias = "doctor")]
    Check,
    /// Show what it does, on a built-in sample mailbox
    Demo,
    /// Read one attachment, locked in (what the program starts itself)
    #[command(name = EXTRACT_WORKER, hide = true)]
    ExtractWorker,
}

/// What makes the program a child that reads an attachment.
pub(crate) const EXTRACT_WORKER: &str = "extract-worker";

const AFTER: &str = "\
An account is three environment variables:
  MAIL_IMAP_DEFAULT_HOST=imap.example.com
  MAIL_IMAP_DEFAULT_USER=you@example.com
  MAIL_IMAP_DEFAULT_PASS=app-password
Then `mailwarden check` tells whether it works, and `mailwarden stdio` is what your MCP client starts.\nWithout a verb it serves MCP when something else than a person is at the other end, and shows this text otherwise.";
