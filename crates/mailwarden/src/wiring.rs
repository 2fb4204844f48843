//! From configuration to a gateway: the one place where concrete sources are named.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use audit::{Event, Keeping, Log, Settings};
use extract::Runner;
use gateway::{
    Account, Credential, CursorKey, Gateway, Proof, Setup, Spool, Standing, Toolset, Writes,
};
use mail::AccountId;
use secrets::Tokens;
use sources::apple::Apple;
use sources::imap::{ImapSource, Login};
use sources::maildir::Maildir;
use tokio::task::JoinHandle;

use crate::cli::EXTRACT_WORKER;
use crate::config::{self, AppleStore, Callers, Changes, Config, LedgerPlace, Store, dir};
use crate::watched::Counted;
use crate::{network_disk, replica, state};

/// So long a start waits for secret stores. Most need no time at all.
const FIRST_LOOK: Duration = Duration::from_secs(5);

/// The accounts that are served, each with what it was made from, so that a reload takes over what did not change.
#[derive(Default)]
pub(crate) struct Wires {
    wires: Vec<Wire>,
    counted: Counted,
}

struct Wire {
    account: Account,
    made_from: MadeFrom,
}

#[derive(Clone)]
enum MadeFrom {
    Imap(Arc<ImapSource>),
    Maildir(PathBuf),
    Apple(AppleStore),
    /// Its secret is missing: each reading of the configuration looks again.
    Nothing,
}

impl Wires {
    /// Opens nothing: sources connect when they are first asked. Of `self` is taken over what is the same.
    pub(crate) fn again(&self, accounts: Vec<config::Account>) -> Self {
        let wires = accounts.into_iter().map(|account| {
            let before = self.find(&account.id);
            match before.filter(|wire| wire.is_for(&account)) {
                Some(same) => Wire {
                    account: same.account.clone(),
                    made_from: same.made_from.clone(),
                },
                None => Wire::new(account),
            }
        });
        let wires: Vec<Wire> = wires.collect();
        let counted = self.counted.clone();
        counted.are_now(wires.iter().filter_map(Wire::source).collect());
        Self { wires, counted }
    }

    /// What of them can be counted, also after they have become others.
    pub(crate) fn counted(&self) -> Counted {
        self.counted.clone()
    }

    fn find(&self, id: &AccountId) -> Option<&Wire> {
        self.wires.iter().find(|wire| wire.account.id() == id)
    }

    /// Looks for the tokens of accounts that nobody has looked for yet. Where somebody has to be asked for them, that goes
    /// on while others are served.
    pub(crate) async fn look(&self) {
        let looking = look_for(self.wires.iter().filter_map(Wire::tokens).collect());
        let _ = tokio::time::timeout(FIRST_LOOK, looking).await;
    }

    /// What these accounts know of their logins, and have nowhere but in memory, is known to those that take their place.
    pub(crate) fn hand_on(&self, accounts: &mut [config::Account]) {
        for account in accounts {
            let before = self.find(&account.id);
            if let Some(MadeFrom::Imap(source)) = before.map(|wire| &wire.made_from)
                && let Some(before) = source.tokens()
                && let Store::Imap(settings) = &mut account.store
                && let Login::Tokens(_, tokens) = &mut settings.login
            {
                *tokens = tokens.succeeding(before);
            }
        }
    }

    fn accounts(&self) -> Vec<Account> {
        self.wires.iter().map(|wire| wire.account.clone()).collect()
    }

    /// For the person whose accounts these are.
    pub(crate) fn for_owner(&self, toolsets: Vec<Toolset>) -> Setup {
        Setup::owner(self.accounts(), toolsets)
    }

    /// For whoever the configuration lets in.
    pub(crate) fn for_callers(
        &self,
        callers: &Callers,
        chosen: Option<&[Toolset]>,
        writes: Writes,
    ) -> Setup {
        let setup = match callers {
            Callers::Owner => {
                let chosen =
                    chosen.map_or_else(|| vec![Toolset::Imap, Toolset::Threads], <[_]>::to_vec);
                self.for_owner(chosen)
            }
            Callers::Listed(listed) => {
                let standings = listed.iter().map(|caller| standing(caller, chosen));
                Setup::new(self.accounts(), standings.collect())
            }
        };
        setup.with_writes(writes)
    }
}

impl Wire {
    fn tokens(&self) -> Option<Arc<Tokens>> {
        self.source()?.tokens().cloned()
    }

    fn source(&self) -> Option<Arc<ImapSource>> {
        match &self.made_from {
            MadeFrom::Imap(source) => Some(Arc::clone(source)),
            MadeFrom::Maildir(_) | MadeFrom::Apple(_) | MadeFrom::Nothing => None,
        }
    }

    fn new(account: config::Account) -> Self {
        let provider = account.provider;
        let id = account.id;
        match account.store {
            Store::Imap(settings) => {
                let source = Arc::new(ImapSource::new(id.clone(), *settings));
                Self {
                    account: Account::new(id, source.clone(), provider),
                    made_from: MadeFrom::Imap(source),
                }
            }
            Store::Maildir(path) => {
                let source = Maildir::open(id.clone(), path.clone());
                let source = match state::index_directory() {
                    Some(index) => source.with_index(index),
                    None => source,
                };
                Self {
                    account: Account::new(id, Arc::new(source), provider),
                    made_from: MadeFrom::Maildir(path),
                }
            }
            Store::Unavailable(source) => Self {
                account: Account::new(id, source, provider),
                made_from: MadeFrom::Nothing,
            },
            Store::Apple(store) => {
                let AppleStore { path, account } = store.clone();
                let source = Apple::open(id.clone(), path, account, state::index_directory());
                Self {
                    account: Account::new(id, Arc::new(source), provider),
                    made_from: MadeFrom::Apple(store),
                }
            }
        }
    }

    fn is_for(&self, account: &config::Account) -> bool {
        if self.account.provider() != account.provider {
            return false;
        }
        match (&self.made_from, &account.store) {
            (MadeFrom::Imap(source), Store::Imap(settings)) => source.is_made_from(settings),
            (MadeFrom::Maildir(path), Store::Maildir(other)) => path == other,
            (MadeFrom::Apple(store), Store::Apple(other)) => store == other,
            _ => false,
        }
    }
}

/// What the command line chooses can only take away from what the caller was given.
fn standing(caller: &dir::CallerConfig, chosen: Option<&[Toolset]>) -> Standing {
    let given = match &caller.toolsets {
        None => vec![Toolset::Gateway],
        Some(sets) => sets.iter().map(|set| known(*set)).collect(),
    };
    let kept = |set: &Toolset| chosen.is_none_or(|chosen| chosen.contains(set));
    Standing {
        id: caller.id.clone(),
        policy: Arc::clone(&caller.policy),
        toolsets: given.into_iter().filter(kept).collect(),
        proofs: proofs(&caller.auth),
        writes: Writes::default(),
        limits: Arc::clone(&caller.limits),
    }
}

/// What a caller may prove itself with: whoever has proven itself otherwise is nobody after a reload.
fn proofs(auth: &dir::CallerAuth) -> Vec<Proof> {
    match auth {
        dir::CallerAuth::StdioTrusted => vec![Proof {
            credential: credential(None),
            until: None,
        }],
        dir::CallerAuth::Oauth(vouchee) => vec![Proof {
            credential: credential(Some(vouchee.digest())),
            until: None,
        }],
        dir::CallerAuth::SharedToken(tokens) => tokens
            .iter()
            .map(|token| Proof {
                credential: credential(Some(token.digest)),
                until: token.expires.map(Into::into),
            })
            .collect(),
    }
}

/// Of somebody who has shown this token, or is believed without one.
pub(crate) fn credential(token: Option<dir::TokenDigest>) -> Credential {
    // No token has this digest: nobody knows what it would be the digest of.
    Credential(token.map_or([0xff; 32], |digest| digest.0))
}

pub(crate) fn known(set: dir::Toolset) -> Toolset {
    match set {
        dir::Toolset::Imap => Toolset::Imap,
        dir::Toolset::Gateway => Toolset::Gateway,
        dir::Toolset::Threads => Toolset::Threads,
    }
}

pub(crate) fn gateway(setup: Setup, log: Log) -> anyhow::Result<Gateway> {
    Ok(sealed_by(setup, log, state::cursor_key()?))
}

/// The name of the key that seals what replicas hand to each other's clients.
const CURSORS: &str = "cursors";

/// One that changes mail, if that may be, and writes it down in the place of the configuration.
///
/// Where that is a server, replicas share what seals cursors as well; without it none of them would understand the others, so
/// nothing is served. Without a file changes are refused, and reading goes on. Where none may be made, what is written of
/// earlier ones can be asked for; where there were none, no file is made.
pub(crate) async fn gateway_with_ledger(
    setup: Setup,
    log: Log,
    changes: &Changes,
) -> anyhow::Result<Gateway> {
    if let LedgerPlace::On(_) = changes.ledger {
        let opened = changes.ledger.open().await;
        let ledger = opened.context("there is no ledger")?;
        let ledger = ledger.with_context(|| changes.ledger.to_string())?;
        let key = CursorKey::new(ledger.shared_key(CURSORS).await?);
        let gateway = sealed_by(setup, log, key);
        return Ok(match changes.writes == Writes::Allowed {
            true => gateway.with_ledger(ledger, changes.deletes, changes.settle),
            false => gateway.with_ledger_to_look_at(ledger),
        });
    }
    Ok(with_ledger(gateway(setup, log)?, changes).await)
}

fn sealed_by(setup: Setup, log: Log, key: CursorKey) -> Gateway {
    let gateway = Gateway::new(setup, key, log);
    let gateway = gateway.with_extractor(Arc::new(extractor()));
    match state::spool_directory() {
        Some(directory) => gateway.with_spool(Spool::at(directory)),
        None => gateway,
    }
}

/// Message files that nobody asked for in a day go, also where nobody asks for others.
pub(crate) fn keep_spool_tidy() -> JoinHandle<()> {
    tokio::spawn(async {
        let Some(directory) = state::spool_directory() else {
            return;
        };
        let spool = Spool::at(directory);
        let mut hourly = tokio::time::interval(Duration::from_secs(60 * 60));
        loop {
            hourly.tick().await;
            let spool = spool.clone();
            // Nothing hangs on it: what stays now goes later.
            let _ = tokio::task::spawn_blocking(move || spool.tidy()).await;
        }
    })
}

/// A gateway for the person whose accounts these are, whoever else is let in.
pub(crate) fn owners_gateway(config: Config, log: Log) -> anyhow::Result<Gateway> {
    let wires = Wires::default().again(config.accounts);
    gateway(wires.for_owner(Toolset::ALL.to_vec()), log)
}

async fn with_ledger(gateway: Gateway, changes: &Changes) -> Gateway {
    let place = &changes.ledger;
    let allowed = changes.writes == Writes::Allowed;
    if !allowed && !place.exists() {
        return gateway;
    }
    let Some(opened) = place.open().await else {
        return gateway;
    };
    match opened {
        Ok(ledger) if allowed => gateway.with_ledger(ledger, changes.deletes, changes.settle),
        Ok(ledger) => gateway.with_ledger_to_look_at(ledger),
        Err(fault) => {
            crate::complain(&match allowed {
                true => format!(
                    "changes to mail are refused: {fault} ({place}); `mailwarden check` tells when that is mended"
                ),
                false => {
                    format!("what became of earlier changes cannot be told: {fault} ({place})")
                }
            });
            gateway
        }
    }
}

/// Looks for the tokens of these, however long that takes.
pub(crate) async fn look(accounts: &[config::Account]) {
    // A look that is torn down shows when a token is wanted.
    let _ = look_for(tokens(accounts)).await;
}

/// Tells of tokens that cannot be read.
fn look_for(all: Vec<Arc<Tokens>>) -> JoinHandle<()> {
    tokio::task::spawn_blocking(move || {
        for tokens in secrets::first_look(&all) {
            if let Some(why) = tokens.unreadable() {
                let account = &tokens.grant().account;
                crate::complain(&format!(
                    "account {account}: its refresh token cannot be read: {why}"
                ));
            }
        }
    })
}

/// The tokens of all accounts that are logged in to by some.
pub(crate) fn tokens(accounts: &[config::Account]) -> Vec<Arc<Tokens>> {
    let stores = accounts.iter().map(|account| &account.store);
    let tokens = stores.filter_map(|store| match store {
        Store::Imap(settings) => match &settings.login {
            Login::Tokens(_, tokens) => Some(Arc::clone(tokens)),
            Login::Password(_) => None,
        },
        Store::Maildir(_) | Store::Apple(_) | Store::Unavailable(_) => None,
    });
    tokens.collect()
}

/// Every refresh of a token is one record.
pub(crate) fn record_refreshes(accounts: &[config::Account], log: &Log) {
    for tokens in tokens(accounts) {
        let log = log.clone();
        tokens.observed_by(move |refreshed| {
            let (came, rotation) = (refreshed.outcome.word(), refreshed.rotation.word());
            log.note(Event::token_refreshed(&refreshed.account, came, rotation));
        });
    }
}

/// Complains of a place of state that another machine keeps.
pub(crate) fn is_on_this_machine(config: &Config) -> Result<(), String> {
    let audit = config.audit_directory.clone();
    let places = [state::directory(), audit.or_else(state::audit_directory)];
    let mut places = places.into_iter().flatten();
    places.try_for_each(|place| network_disk::refuse(&place))?;
    match &config.changes.ledger {
        LedgerPlace::At(path) => network_disk::refuse(path),
        LedgerPlace::State | LedgerPlace::On(_) | LedgerPlace::Nowhere => Ok(()),
    }
}

/// The audit log of this installation, or of this replica of it. What is wrong with it is said to whoever calls.
pub(crate) fn log(keeping: Option<Keeping>, place: Option<PathBuf>, verb: &'static str) -> Log {
    let place = place.or_else(state::audit_directory);
    let log = Log::open(Settings {
        keeping,
        ..Settings::new(place.map(replica::log_in))
    });
    let start = Event::start(env!("CARGO_PKG_VERSION"), verb);
    log.note(match replica::chosen() {
        Some(replica) => start.of_replica(replica.as_str()),
        None => start,
    });
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
