//! `accounts.yaml`: the accounts, where secrets are, the audit log.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use audit::{Keeping, Retention};
use mail::AccountId;
use secrecy::{ExposeSecret as _, SecretString};
use sources::imap::{Roots, Security, Settings};

use super::Variables;
use super::reader::Reader;
use super::secrets::{PLACEHOLDER, SecretRef, SecretStore};
use super::yaml::{Node, Value};
use crate::config::env::{Shared, Wide, flaw_of_host, is_this_machine, is_token};
use crate::config::{Account, ErrorStyle, Provider, Store};

/// What `accounts.yaml` comes to.
pub(super) struct Accounts {
    pub accounts: Vec<Account>,
    pub store: SecretStore,
    pub errors: ErrorStyle,
    pub audit: Keeping,
    pub audit_directory: Option<PathBuf>,
    pub wal: Option<PathBuf>,
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
        Some(_) => SecretStore::read(section("secret_store"), around.dir, reader),
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
    let (audit, audit_directory) = audit(section("audit"), reader, around);
    let wal = section("wal").and_then(|wal| wal.get("path"));
    let wal = wal.and_then(|path| super::paths::resolve(path, around.dir, reader));
    Accounts {
        ids: all_read.then(|| seen.into_keys().map(str::to_owned).collect()),
        errors: errors(section("errors"), reader, around.wide),
        accounts,
        store,
        audit,
        audit_directory,
        wal,
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
        Provider::Standard | Provider::Google => imap(&id, provider, node, store, reader, around),
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
        let why = "mail of Apple Mail cannot be read yet";
        reader.warn(node, format!("{why}; calls to this account will fail"));
        return Some(Store::Unavailable {
            why: why.to_owned(),
        });
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
    if !resolved.is_dir() {
        reader.warn(
            path,
            "there is no such directory now; calls to this account will fail",
        );
    }
    Some(Store::Maildir(resolved))
}

fn imap(
    id: &AccountId,
    provider: Provider,
    node: &Node,
    store: &SecretStore,
    reader: &mut Reader<'_>,
    around: &Around<'_>,
) -> Option<Store> {
    if let Some((key, _)) = node.entry("path") {
        let what = "'path' means nothing to an IMAP account";
        reader.problem(key, what, "remove it, or set provider: maildir");
    }
    let host = host(node, provider, reader);
    let port = node.get("port").and_then(Node::whole).unwrap_or(143);
    let port = u16::try_from(port).ok()?;
    let security = security(node, port, &host, reader);
    let roots = roots(node, reader, around);
    let authserv_id = node.get("authserv_id").and_then(|node| {
        let text = node.text()?;
        if !is_token(text) {
            let what = "authserv_id must be one word";
            reader.problem(node, what, "write what Authentication-Results of your server begin with, such as mx.example.com");
        }
        Some(text.to_owned())
    });
    let Some(auth) = node.get("auth") else {
        let what = "an IMAP account needs 'auth'";
        reader.problem(
            node,
            what,
            "add it: type, secret_ref and, if the login is not the id, user",
        );
        return None;
    };
    let login = login(auth, node, store, reader, around)?;
    let user = auth.text_of("user").unwrap_or(id.as_str()).to_owned();
    let password = match login {
        Login::Password(password) => password,
        Login::OAuth => {
            let why = "logging in by OAuth2 is not there yet";
            reader.warn(auth, format!("{why}; calls to this account will fail"));
            return Some(Store::Unavailable {
                why: why.to_owned(),
            });
        }
    };
    let Shared {
        timeouts,
        max_connections,
        ..
    } = around.wide.shared;
    Some(Store::Imap(Box::new(Settings {
        host,
        port,
        security,
        user,
        password,
        roots,
        timeouts,
        max_connections,
        authserv_id,
    })))
}

fn host(node: &Node, provider: Provider, reader: &mut Reader<'_>) -> String {
    let given = node.get("host");
    if given.is_none() && provider == Provider::Google && node.text_of("provider") == Some("google")
    {
        reader.warn(
            node,
            "without a host this account is at 127.0.0.1; Gmail is host: imap.gmail.com, port: 993",
        );
    }
    let text = given.and_then(Node::text).unwrap_or("127.0.0.1");
    if let (Some(given), Some(flaw)) = (given, flaw_of_host(text)) {
        reader.problem(
            given,
            format!("'host' {flaw}"),
            "write the name alone; a port goes into 'port'",
        );
    }
    text.to_owned()
}

fn security(node: &Node, port: u16, host: &str, reader: &mut Reader<'_>) -> Security {
    let Some(tls) = node.get("tls") else {
        return match port {
            143 => Security::StartTls,
            _ => Security::Implicit,
        };
    };
    match tls.text() {
        Some("starttls") => Security::StartTls,
        Some("none") => {
            if !is_this_machine(host) {
                reader.problem(
                    tls,
                    "'tls: none' would send the password in the clear to another machine",
                    "use implicit or starttls; none is for hosts such as 127.0.0.1",
                );
            }
            Security::Plain
        }
        _ => Security::Implicit,
    }
}

fn roots(node: &Node, reader: &mut Reader<'_>, around: &Around<'_>) -> Roots {
    let given = node.get("ca_file");
    let path = given.and_then(|given| super::paths::resolve(given, around.dir, reader));
    let (Some(given), Some(path)) = (given, path) else {
        return around.wide.shared.roots.clone();
    };
    Roots::with_file(&path).unwrap_or_else(|bad| {
        let hint = "name a PEM file with certificates";
        reader.problem(given, format!("this file {bad}"), hint);
        Roots::system()
    })
}

enum Login {
    Password(SecretString),
    OAuth,
}

fn login(
    auth: &Node,
    account: &Node,
    store: &SecretStore,
    reader: &mut Reader<'_>,
    around: &Around<'_>,
) -> Option<Login> {
    let kind = auth.text_of("type");
    let cache = match (account.entry("token_cache"), auth.entry("token_cache")) {
        (Some(_), Some((key, _))) => {
            let what = "'token_cache' stands in the account and in its 'auth'";
            reader.problem(key, what, "keep one of them");
            None
        }
        (Some(one), None) | (None, Some(one)) => Some(one),
        (None, None) => None,
    };
    if kind == Some("password") {
        if let Some((key, _)) = auth.entry("oauth_scope") {
            let what = "'oauth_scope' means nothing to a password";
            reader.problem(key, what, "remove it, or set type: xoauth2");
        }
        if let Some((_, value)) = cache.filter(|(_, value)| value.text() == Some("persist_all")) {
            let what = "'token_cache: persist_all' is for xoauth2";
            reader.problem(value, what, "remove it, or write memory_only");
        }
    }
    let given = auth.get("secret_ref")?;
    let wanted = match SecretRef::parse(given.text()?, "secret://accounts/company-mail/password") {
        Ok(wanted) => wanted,
        Err(none) => {
            reader.problem(given, none.what, none.hint);
            return None;
        }
    };
    if kind? == "xoauth2" {
        return Some(Login::OAuth);
    }
    match store.secret(&wanted, around.variables)? {
        Ok(password) => {
            if password.expose_secret() == PLACEHOLDER {
                reader.warn(
                    given,
                    "the password is still the placeholder of the example",
                );
            }
            Some(Login::Password(password))
        }
        Err(none) => {
            reader.problem(given, none.what, none.hint);
            None
        }
    }
}

fn audit(
    node: Option<&Node>,
    reader: &mut Reader<'_>,
    around: &Around<'_>,
) -> (Keeping, Option<PathBuf>) {
    use crate::config::audit as checks;
    let set = around.wide.audit.clone();
    let Some(node) = node else {
        return (set, None);
    };
    for (name, variable) in checks::KEYS {
        if let Some((key, _)) = node.entry(name)
            && around.variables.get(variable).is_some()
        {
            let what = format!("'{name}' and the variable {variable} are both set");
            reader.problem(key, what, "keep one of them");
        }
    }
    let days = |name: &str, default: u32| {
        let given = node.get(name).and_then(Node::whole);
        given
            .and_then(|days| u32::try_from(days).ok())
            .unwrap_or(default)
    };
    let retention = Retention {
        hot_days: days("hot_days", set.retention.hot_days),
        warm_days: days("warm_days", set.retention.warm_days),
        delete_after_days: days("delete_after_days", set.retention.delete_after_days),
    };
    if let Some(given) = node.get("delete_after_days")
        && let Some(kept) = checks::too_short(&retention)
    {
        let what =
            format!("'delete_after_days' is less than hot_days and warm_days together, {kept}");
        reader.problem(given, what, "raise it, or lower one of those");
    }
    let hook = node.get("external_root_hook").and_then(|given| {
        let path = PathBuf::from(given.text()?);
        if let Some(flaw) = checks::flaw_of_hook(&path) {
            reader.problem(
                given,
                format!("'external_root_hook' {flaw}"),
                "it is run without a shell and without arguments",
            );
        }
        Some(path)
    });
    let directory = node.get("directory");
    let directory = directory.and_then(|path| super::paths::resolve(path, around.dir, reader));
    let keeping = Keeping {
        retention,
        root_hook: hook.or(set.root_hook),
        checkpoint_every: set.checkpoint_every,
    };
    (keeping, directory)
}
