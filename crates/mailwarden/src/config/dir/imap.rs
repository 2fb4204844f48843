//! An IMAP account: where it is, how the connection is protected, how to log in.

use std::sync::Arc;

use ::secrets::{Found, SecretRef, TokenCache, Tokens};
use mail::AccountId;
use secrecy::{ExposeSecret as _, SecretString};
use sources::UnavailableSource;
use sources::imap::{Bearer, Login, Roots, Security, Settings};

use super::Missing;
use super::accounts::Around;
use super::oauth;
use super::reader::Reader;
use super::secrets::{PLACEHOLDER, SecretStore, report_missing};
use super::yaml::Node;
use crate::config::env::{Shared, flaw_of_host, is_this_machine, is_token};
use crate::config::{Provider, Store};
use crate::state;

/// `None` when something is wrong with it; that has been complained of.
pub(super) fn read(
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
    if let Some((key, _)) = node.entry("store_account") {
        let what = "'store_account' means nothing to an IMAP account";
        reader.problem(key, what, "remove it, or set provider: apple-mail");
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
    let user = auth.text_of("user").unwrap_or(id.as_str()).to_owned();
    let known = Known {
        id,
        provider,
        host: &host,
        user: &user,
    };
    let unavailable = reader.unavailable_count();
    let login = match login(auth, node, &known, store, reader, around) {
        Some(login) => login,
        None if reader.unavailable_count() > unavailable => {
            return Some(Store::Unavailable(Arc::new(UnavailableSource::imap(
                host,
                port,
                &user,
                security != Security::Plain,
            ))));
        }
        None => return None,
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
        login,
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

/// What is known of the account by now.
struct Known<'a> {
    id: &'a AccountId,
    provider: Provider,
    host: &'a str,
    user: &'a str,
}

fn login(
    auth: &Node,
    account: &Node,
    known: &Known<'_>,
    store: &SecretStore,
    reader: &mut Reader<'_>,
    around: &Around<'_>,
) -> Option<Login> {
    let bearer = match auth.text_of("type")? {
        "xoauth2" => Some(Bearer::XOAuth2),
        "oauthbearer" => Some(Bearer::OAuthBearer),
        _ => None,
    };
    let cache = cache(auth, account, bearer, reader);
    let given = auth.get("secret_ref")?;
    let Some(bearer) = bearer else {
        for name in oauth::KEYS {
            if let Some((key, _)) = auth.entry(name) {
                let what = format!("'{name}' means nothing to a password");
                reader.problem(key, what, "remove it, or set type: xoauth2");
            }
        }
        let password = secret_of_account(given, known.id, store, reader, around)?;
        if password.expose_secret() == PLACEHOLDER {
            reader.warn(
                given,
                "the password is still the placeholder of the example",
            );
        }
        return Some(Login::Password(password));
    };
    let such_as = "secret://accounts/gmail/refresh_token";
    let refresh_token = reference(given, such_as, reader)?;
    let ca_file = account.text_of("ca_file").map(|path| around.dir.join(path));
    let id = known.id;
    let known = oauth::Known {
        id,
        provider: known.provider,
        host: known.host,
        user: known.user,
        refresh_token,
        cache,
        ca_file,
    };
    let client_secret =
        |given: &Node, reader: &mut Reader<'_>| secret_of_account(given, id, store, reader, around);
    let grant = oauth::read(auth, known, reader, around, client_secret)?;
    let tokens = Tokens::new(grant, store.shared()?, state::oauth_directory());
    if around.variables.missing == Missing::Sought {
        seek(given, &tokens, store, reader);
    }
    Some(Login::Tokens(bearer, tokens))
}

/// Complains of a refresh token that cannot be read. That nobody has logged in yet is only worth a word.
fn seek(given: &Node, tokens: &Tokens, store: &SecretStore, reader: &mut Reader<'_>) {
    match store.find(tokens) {
        Some(Found::Unreadable(none)) => {
            let what = format!("the refresh token cannot be read: {}", none.what);
            reader.problem(given, what, none.hint);
        }
        Some(Found::Nothing(none)) => reader.warn(
            given,
            format!(
                "nobody has logged in to this account yet, as far as can be told ({}); run: mailwarden login --account {}",
                none.what,
                tokens.grant().account
            ),
        ),
        Some(Found::Token) | None => {}
    }
}

fn cache(
    auth: &Node,
    account: &Node,
    bearer: Option<Bearer>,
    reader: &mut Reader<'_>,
) -> TokenCache {
    let entry = match (account.entry("token_cache"), auth.entry("token_cache")) {
        (Some(_), Some((key, _))) => {
            let what = "'token_cache' stands in the account and in its 'auth'";
            reader.problem(key, what, "keep one of them");
            None
        }
        (Some(one), None) | (None, Some(one)) => Some(one),
        (None, None) => None,
    };
    let Some((_, value)) = entry.filter(|(_, value)| value.text() == Some("persist_all")) else {
        return TokenCache::MemoryOnly;
    };
    if bearer.is_none() {
        let what = "'token_cache: persist_all' is for xoauth2";
        reader.problem(value, what, "remove it, or write memory_only");
    }
    TokenCache::PersistAll
}

fn reference(given: &Node, such_as: &str, reader: &mut Reader<'_>) -> Option<SecretRef> {
    match SecretRef::parse(given.text()?, such_as) {
        Ok(wanted) => Some(wanted),
        Err(none) => {
            reader.problem(given, none.what, none.hint);
            None
        }
    }
}

/// What a reference of an account leads to. Without it that account alone is unavailable.
fn secret_of_account(
    given: &Node,
    id: &AccountId,
    store: &SecretStore,
    reader: &mut Reader<'_>,
    around: &Around<'_>,
) -> Option<SecretString> {
    let wanted = reference(given, "secret://accounts/company-mail/password", reader)?;
    match store.secret(&wanted, around.variables)? {
        Ok(secret) => Some(secret),
        Err(none) => {
            let whose = format!("the account '{id}'");
            report_missing(given, &whose, none, around.variables, reader);
            None
        }
    }
}

/// What a reference leads to.
pub(super) fn secret(
    given: &Node,
    store: &SecretStore,
    reader: &mut Reader<'_>,
    around: &Around<'_>,
) -> Option<SecretString> {
    let wanted = reference(given, "secret://accounts/company-mail/password", reader)?;
    match store.secret(&wanted, around.variables)? {
        Ok(secret) => Some(secret),
        Err(none) => {
            reader.problem(given, none.what, none.hint);
            None
        }
    }
}
