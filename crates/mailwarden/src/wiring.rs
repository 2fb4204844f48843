//! From configuration to a gateway: the one place where concrete sources are named.

use std::path::PathBuf;
use std::sync::Arc;

use audit::{Event, Keeping, Log, Settings};
use extract::Runner;
use gateway::Gateway;
use mail::MailSource;
use sources::imap::ImapSource;
use sources::maildir::Maildir;

use crate::cli::EXTRACT_WORKER;
use crate::config::{Config, Store};
use crate::state;

/// Opens nothing: sources connect when they are first asked.
pub(crate) fn gateway(config: Config, log: Log) -> anyhow::Result<Gateway> {
    let accounts = config.accounts.into_iter().map(|account| {
        let source: Arc<dyn MailSource> = match account.store {
            Store::Imap(settings) => Arc::new(ImapSource::new(*settings)),
            Store::Maildir(path) => Arc::new(Maildir::open(account.id.clone(), path)),
            Store::Unavailable { why } => anyhow::bail!("account '{}': {why}", account.id),
        };
        Ok((account.id, source))
    });
    let accounts = accounts.collect::<anyhow::Result<_>>()?;
    let gateway = Gateway::new(accounts, state::cursor_key()?, log);
    Ok(gateway.with_extractor(Arc::new(extractor())))
}

/// The audit log of this installation. What is wrong with it is said to whoever calls.
pub(crate) fn log(keeping: Option<Keeping>, verb: &'static str) -> Log {
    let log = Log::open(Settings {
        keeping,
        ..Settings::new(state::audit_directory())
    });
    log.note(Event::start(env!("CARGO_PKG_VERSION"), verb));
    log
}

/// Reads attachments in children of this very program.
pub(crate) fn extractor() -> Runner {
    // A file that was replaced by an update while we run would be another program; this name still leads to ours.
    let program = if cfg!(target_os = "linux") {
        PathBuf::from("/proc/self/exe")
    } else {
        std::env::current_exe().unwrap_or_default()
    };
    Runner::new(program, EXTRACT_WORKER, extract::Limits::default())
}
