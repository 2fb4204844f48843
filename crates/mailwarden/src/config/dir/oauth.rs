//! The `auth` of an account that is logged in to by OAuth2: who gives tokens, to whom, for what.

use std::path::PathBuf;

use ::secrets::{Grant, Provider as Giver, SecretRef, TokenCache};
use mail::AccountId;
use secrecy::SecretString;

use super::accounts::Around;
use super::reader::Reader;
use super::yaml::Node;
use crate::config::Provider;

/// Names the client of all accounts that name none.
pub(super) const CLIENT_ID: &str = "IMAP_MCP_OAUTH_CLIENT_ID";

/// Keys of `auth` that mean nothing to a password.
pub(super) const KEYS: [&str; 6] = [
    "oauth_scope",
    "oauth_provider",
    "oauth_issuer",
    "oauth_tenant",
    "oauth_client_id",
    "oauth_client_secret_ref",
];

/// Servers whose name says who gives tokens for them.
const AT_HOME: [(&str, &str); 7] = [
    ("imap.gmail.com", "google"),
    ("imap.googlemail.com", "google"),
    ("outlook.office365.com", "microsoft"),
    ("outlook.office.com", "microsoft"),
    ("imap-mail.outlook.com", "microsoft"),
    ("imap.fastmail.com", "fastmail"),
    ("imap.mail.yahoo.com", "yahoo"),
];

/// What is known of the account by now.
pub(super) struct Known<'a> {
    pub id: &'a AccountId,
    pub provider: Provider,
    pub host: &'a str,
    pub user: &'a str,
    pub refresh_token: SecretRef,
    pub cache: TokenCache,
    pub ca_file: Option<PathBuf>,
}

/// `None` when something is wrong with it; that has been complained of. `secret` follows a reference.
pub(super) fn read(
    auth: &Node,
    known: Known<'_>,
    reader: &mut Reader<'_>,
    around: &Around<'_>,
    secret: impl FnOnce(&Node, &mut Reader<'_>) -> Option<SecretString>,
) -> Option<Grant> {
    let before = reader.complaints();
    let provider = giver(auth, &known, reader);
    let client_id = auth.text_of("oauth_client_id").map(str::to_owned);
    let client_id = client_id.or_else(|| {
        let set = around.variables.get(CLIENT_ID)?.to_str()?;
        (!set.is_empty()).then(|| set.to_owned())
    });
    if client_id.is_none() {
        reader.warn(
            auth,
            format!("there is no oauth_client_id, and {CLIENT_ID} is not set; nobody can log in to this account before there is one"),
        );
    }
    let client_secret = match auth.get("oauth_client_secret_ref") {
        Some(given) => Some(secret(given, reader)?),
        None => None,
    };
    let scope = auth.get("oauth_scope");
    if let Some(scope) = scope.filter(|scope| !scope.text().is_some_and(is_scope)) {
        reader.problem(
            scope,
            "'oauth_scope' is one or more words with single spaces between them",
            "write it as the provider documents it, such as https://mail.google.com/",
        );
    }
    (reader.complaints() == before).then_some(())?;
    Some(Grant {
        account: known.id.as_str().to_owned(),
        provider: provider?,
        client_id,
        client_secret,
        scope: scope.and_then(Node::text).map(str::to_owned),
        user: known.user.to_owned(),
        refresh_token: known.refresh_token,
        cache: known.cache,
        ca_file: known.ca_file,
    })
}

/// RFC 6749, section 3.3.
fn is_scope(text: &str) -> bool {
    let letter = |byte: u8| byte.is_ascii_graphic() && byte != b'"' && byte != b'\\';
    let word = |word: &str| !word.is_empty() && word.bytes().all(letter);
    text.split(' ').all(word)
}

fn giver(auth: &Node, known: &Known<'_>, reader: &mut Reader<'_>) -> Option<Giver> {
    let given = auth.get("oauth_provider");
    let by_host = || {
        let host = known.host.to_ascii_lowercase();
        let home = AT_HOME.iter().find(|(name, _)| *name == host);
        home.map(|(_, giver)| *giver)
    };
    let word = match (given, known.provider) {
        (Some(given), _) => given.text(),
        (None, Provider::Google) => Some("google"),
        (None, _) if auth.get("oauth_issuer").is_some() => Some("custom"),
        (None, _) => by_host(),
    };
    let Some(word) = word else {
        let what = "it cannot be told who gives tokens for this account";
        let hint = "add oauth_provider: google, microsoft, fastmail, yahoo, or custom with an oauth_issuer";
        reader.problem(auth, what, hint);
        return None;
    };
    for (name, of) in [("oauth_issuer", "custom"), ("oauth_tenant", "microsoft")] {
        if let Some((key, _)) = auth.entry(name).filter(|_| word != of) {
            let what = format!("'{name}' means nothing to oauth_provider: {word}");
            reader.problem(key, what, format!("remove it, or set oauth_provider: {of}"));
        }
    }
    match word {
        "google" => Some(Giver::Google),
        "microsoft" => microsoft(auth, reader),
        "fastmail" => Some(Giver::Fastmail),
        "yahoo" => Some(Giver::Yahoo),
        "custom" => custom(auth, reader),
        _ => None,
    }
}

fn microsoft(auth: &Node, reader: &mut Reader<'_>) -> Option<Giver> {
    let Some(given) = auth.get("oauth_tenant") else {
        return Giver::microsoft("common");
    };
    let giver = Giver::microsoft(given.text()?);
    if giver.is_none() {
        let what = "'oauth_tenant' is a tenant's id or domain, common, organizations or consumers";
        reader.problem(given, what, "write one of these, such as example.com");
    }
    giver
}

fn custom(auth: &Node, reader: &mut Reader<'_>) -> Option<Giver> {
    let Some(given) = auth.get("oauth_issuer") else {
        let what = "oauth_provider: custom needs an 'oauth_issuer'";
        let hint = "add the address that its discovery document stands below, such as https://login.example.com";
        reader.problem(auth, what, hint);
        return None;
    };
    let giver = Giver::custom(given.text()?);
    if giver.is_none() {
        let what = "'oauth_issuer' is an https:// address without query and fragment";
        let hint = "write it as its discovery document does; http:// is for this machine only";
        reader.problem(given, what, hint);
    }
    giver
}
