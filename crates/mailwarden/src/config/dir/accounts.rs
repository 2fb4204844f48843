//! `accounts.yaml`: the accounts, where secrets are, the audit log.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ::ledger::Server;
use ::secrets::Records;
use audit::Keeping;
use mail::{AccountId, UncertainText};
use sources::imap::Login;

use super::Variables;
use super::reader::Reader;
use super::secrets::SecretStore;
use super::yaml::{Node, Value};
use crate::config::env::Wide;
use crate::config::{Account, AppleStore, ErrorStyle, LedgerPlace, Provider, Store, TextStyle};
use crate::shared_ledger::SharedRecords;

/// What `accounts.yaml` comes to.
pub(super) struct Accounts {
    pub accounts: Vec<Account>,
    pub store: SecretStore,
    pub errors: ErrorStyle,
    pub text: TextStyle,
    pub uncertain_text: UncertainText,
    pub audit: Keeping,
    pub audit_directory: Option<PathBuf>,
    pub ledger: LedgerPlace,
    /// Every id that stands there, of accounts that cannot be used too. `None` if some could not be read.
    pub ids: Option<Vec<String>>,
}

/// What reading takes from around the file.
pub(super) struct Around<'a> {
    pub dir: &'a Path,
    pub variables: &'a Variables,
    pub wide: &'a Wide,
}

pub(super) fn read(reader: &mut Reader<'_>, around: &Around<'_>) -> Accounts {
    let root = reader.root();
    let section = |name: &str| root.and_then(|root| root.get(name));
    let store = match root {
        Some(_) => SecretStore::read(section("secret_store"), around, reader),
        None => SecretStore::Broken,
    };
    let mut accounts = Vec::new();
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    let list = section("accounts");
    let mut all_read = list.is_some_and(|list| matches!(list.value, Value::List(_)));
    for node in list.map_or(&[][..], Node::items) {
        let id = node.get("id");
        all_read &= id.is_some_and(|id| id.text().is_some());
        if let Some((id, text)) = id.and_then(|id| Some((id, id.text()?)))
            && let Some(line) = seen.insert(text, id.at.line)
            && AccountId::new(text).is_ok()
        {
            reader.problem(
                id,
                format!("the account '{text}' stands here twice"),
                format!("the first is in line {line}; rename one of them"),
            );
        }
        accounts.extend(account(node, &store, reader, around));
    }
    if let Some(list) = list
        && matches!(&list.value, Value::List(items) if items.is_empty())
    {
        reader.problem(list, "there is no account", "add one, with at least an id");
    }
    let (audit, audit_directory) = super::keeping::read(section("audit"), reader, around);
    let ledger = super::ledger::read(root, &store, reader, around);
    if let LedgerPlace::On(server) = &ledger {
        share_tokens(&mut accounts, server);
    }
    Accounts {
        ids: all_read.then(|| seen.into_keys().map(str::to_owned).collect()),
        errors: errors(section("errors"), reader, around.wide),
        text: text(section("text"), reader, around.wide),
        uncertain_text: uncertain_text(section("uncertain_text"), around.wide),
        accounts,
        store,
        audit,
        audit_directory,
        ledger,
    }
}

/// What replicas know of tokens they know together.
fn share_tokens(accounts: &mut [Account], server: &Server) {
    let records: Arc<dyn Records> = Arc::new(SharedRecords::on(server));
    for account in accounts {
        if let Store::Imap(settings) = &mut account.store
            && let Login::Tokens(_, tokens) = &mut settings.login
        {
            *tokens = tokens.sharing(Arc::clone(&records));
        }
    }
}

fn errors(node: Option<&Node>, reader: &mut Reader<'_>, wide: &Wide) -> ErrorStyle {
    let said = match node.and_then(Node::text) {
        Some("result") => Some(ErrorStyle::Result),
        Some("protocol") => Some(ErrorStyle::Protocol),
        _ => None,
    };
    if let (Some(node), Some(said), Some(set)) = (node, said, wide.errors)
        && said != set
    {
        let what = "'errors' and the variable MAIL_IMAP_ERRORS say different things";
        reader.problem(node, what, "keep one of them");
    }
    said.or(wide.errors).unwrap_or_default()
}

fn text(node: Option<&Node>, reader: &mut Reader<'_>, wide: &Wide) -> TextStyle {
    let written = match node.and_then(Node::text) {
        Some("json") => Some(TextStyle::Json),
        Some("readable") => Some(TextStyle::Readable),
        _ => None,
    };
    if let (Some(node), Some(written), Some(set)) = (node, written, wide.text)
        && written != set
    {
        let what = "'text' and the variable MAILWARDEN_TEXT say different things";
        reader.problem(node, what, "keep one of them");
    }
    written.or(wide.text).unwrap_or_default()
}

/// Either may withhold; neither may take that back.
fn uncertain_text(node: Option<&Node>, wide: &Wide) -> UncertainText {
    let written = node.and_then(Node::text).and_then(UncertainText::from_name);
    written.unwrap_or_default().max(wide.uncertain_text)
}

fn account(
    node: &Node,
    store: &SecretStore,
    reader: &mut Reader<'_>,
    around: &Around<'_>,
) -> Option<Account> {
    let before = reader.complaints();
    let id = node.get("id")?;
    let id = match AccountId::new(id.text()?) {
        Ok(id) => id,
        Err(_) => {
            let what = "an account's id is 1 to 64 letters, digits, '_' or '-'";
            reader.problem(id, what, "rename it");
            return None;
        }
    };
    let provider = provider(node)?;
    let store = match provider {
        Provider::Standard | Provider::Google => {
            super::imap::read(&id, provider, node, store, reader, around)
        }
        Provider::Maildir | Provider::AppleMail => local(provider, node, reader, around),
    }?;
    let good = reader.complaints() == before;
    good.then_some(Account {
        id,
        provider,
        store,
    })
}

/// `None` for a word that has been complained of.
fn provider(node: &Node) -> Option<Provider> {
    let Some(given) = node.get("provider") else {
        return Some(Provider::Standard);
    };
    match given.text()? {
        "imap-standard" => Some(Provider::Standard),
        "google" | "google-mock" => Some(Provider::Google),
        "apple-mail" => Some(Provider::AppleMail),
        "maildir" => Some(Provider::Maildir),
        _ => None,
    }
}

fn local(
    provider: Provider,
    node: &Node,
    reader: &mut Reader<'_>,
    around: &Around<'_>,
) -> Option<Store> {
    for name in [
        "host",
        "port",
        "tls",
        "ca_file",
        "authserv_id",
        "auth",
        "token_cache",
    ] {
        if let Some((key, _)) = node.entry(name) {
            let what = format!("'{name}' means nothing to mail on this machine");
            reader.problem(key, what, "remove it");
        }
    }
    let path = node.get("path");
    let resolved = path.and_then(|path| super::paths::resolve(path, around.dir, reader));
    if provider == Provider::AppleMail {
        return apple(node, path, resolved, reader);
    }
    if let Some((key, _)) = node.entry("store_account") {
        reader.problem(
            key,
            "a maildir holds one account",
            "remove it, or set provider: apple-mail",
        );
    }
    let Some(path) = path else {
        let what = "a maildir account has no 'path'";
        reader.problem(
            node,
            what,
            "add the directory: such as path: /var/mail/anna",
        );
        return None;
    };
    let resolved = resolved?;
    // An mbox file will do as well.
    if !resolved.exists() {
        reader.warn(
            path,
            "there is nothing there now; calls to this account will fail",
        );
    }
    Some(Store::Maildir(resolved))
}

/// Where macOS keeps it, unless another place is named.
fn apple(
    node: &Node,
    path: Option<&Node>,
    resolved: Option<PathBuf>,
    reader: &mut Reader<'_>,
) -> Option<Store> {
    let path = match (path, resolved) {
        (Some(_), resolved) => resolved?,
        (None, _) => match std::env::home_dir() {
            Some(home) => home.join("Library/Mail"),
            None => {
                let what = "an apple-mail account has no 'path', and there is no home directory to look in";
                reader.problem(node, what, "add it: such as path: /Users/anna/Library/Mail");
                return None;
            }
        },
    };
    if !path.is_dir() {
        reader.warn(
            node,
            "there is no mail store there now; calls to this account will fail",
        );
    }
    let account = node.get("store_account").and_then(|name| name.text());
    Some(Store::Apple(AppleStore {
        path,
        account: account.map(str::to_owned),
    }))
}
