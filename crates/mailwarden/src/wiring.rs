//! From configuration to a gateway: the one place where concrete sources are named.

use std::sync::Arc;

use gateway::Gateway;
use mail::MailSource;
use sources::imap::ImapSource;
use sources::maildir::Maildir;

use crate::config::{Config, Store};
use crate::state;

/// Opens nothing: sources connect when they are first asked.
pub(crate) fn gateway(config: Config) -> anyhow::Result<Gateway> {
    let accounts = config.accounts.into_iter().map(|account| {
        let source: Arc<dyn MailSource> = match account.store {
            Store::Imap(settings) => Arc::new(ImapSource::new(*settings)),
            Store::Maildir(path) => Arc::new(Maildir::open(account.id.clone(), path)),
        };
        (account.id, source)
    });
    Ok(Gateway::new(accounts.collect(), state::cursor_key()?))
}
