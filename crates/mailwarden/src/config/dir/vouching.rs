//! The `oauth` of `callers.yaml`: whose access tokens callers may bring, and the `auth` of those who bring one.

use std::collections::BTreeMap;
use std::path::Path;

use ::secrets::Issuer;
use http::Uri;
use sha2::{Digest as _, Sha256};

use super::callers::{CallerAuth, TokenDigest};
use super::reader::Reader;
use super::yaml::Node;

/// Who vouches, and for what.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Vouching {
    pub issuer: Issuer,
    /// The address by which clients reach us.
    pub resource: String,
}

/// Whom a token must speak of to be this caller's.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Vouchee {
    issuer: String,
    pub subject: Option<String>,
    pub client: Option<String>,
    pub scopes: Vec<String>,
}

impl Vouchee {
    /// The same as long as the same somebody is meant, whatever token they bring.
    pub(crate) fn digest(&self) -> TokenDigest {
        let mut digest = Sha256::new();
        let none = String::new();
        let parts = [
            &self.issuer,
            self.subject.as_ref().unwrap_or(&none),
            self.client.as_ref().unwrap_or(&none),
        ];
        digest.update(b"oauth");
        for part in parts {
            digest.update((part.len() as u64).to_be_bytes());
            digest.update(part.as_bytes());
        }
        TokenDigest(digest.finalize().into())
    }
}

pub(super) fn read(reader: &mut Reader<'_>, dir: &Path) -> Option<Vouching> {
    let node = reader.root()?.get("oauth")?;
    let resource = node.get("resource")?;
    let address = resource.text()?;
    if !is_address(address) {
        let what = "'resource' is an https:// address without query and fragment";
        let hint = "write the one that clients are given, such as https://mail.example.com/mcp";
        reader.problem(resource, what, hint);
        return None;
    }
    let ca_file = match node.get("ca_file") {
        Some(given) => Some(super::paths::resolve(given, dir, reader)?),
        None => None,
    };
    let issuer = Issuer {
        issuer: node.text_of("issuer")?.to_owned(),
        audience: node.text_of("audience").unwrap_or(address).to_owned(),
        jwks_uri: node.text_of("jwks_uri").map(str::to_owned),
        ca_file,
    };
    if let Some(flaw) = issuer.flaw() {
        reader.problem(node, flaw, "such as https://login.example.com");
        return None;
    }
    Some(Vouching {
        issuer,
        resource: address.to_owned(),
    })
}

/// https, or this very machine.
fn is_address(text: &str) -> bool {
    let Ok(uri) = text.parse::<Uri>() else {
        return false;
    };
    let host = uri.host().unwrap_or_default();
    let here = ["localhost", "127.0.0.1", "[::1]"].contains(&host);
    let schemed = match uri.scheme_str() {
        Some("https") => true,
        Some("http") => here,
        _ => false,
    };
    schemed && !host.is_empty() && uri.query().is_none() && !text.contains(['#', '@', '"'])
}

/// Those of all callers so far, and in which line each stands.
pub(super) type Lines = BTreeMap<(Option<String>, Option<String>), usize>;

/// Of an oauth caller.
pub(super) fn auth(
    auth: &Node,
    vouching: Option<&Vouching>,
    lines: &mut Lines,
    reader: &mut Reader<'_>,
) -> Option<CallerAuth> {
    let subject = auth.text_of("subject").map(str::to_owned);
    let client = auth.text_of("client_id").map(str::to_owned);
    if subject.is_none() && client.is_none() {
        let what = "an oauth caller needs 'subject' or 'client_id', or every token of the issuer would be its own";
        reader.problem(auth, what, "add whom its tokens speak of");
        return None;
    }
    if let Some(line) = lines.insert((subject.clone(), client.clone()), auth.at.line) {
        let what = format!("the tokens of this caller are also those of the caller in line {line}");
        reader.problem(auth, what, "give each a subject or client of its own");
    }
    let Some(vouching) = vouching else {
        if reader
            .root()
            .is_some_and(|root| root.get("oauth").is_none())
        {
            let what =
                "an oauth caller needs the 'oauth' section, which says whose tokens are taken";
            reader.problem(auth, what, "add it beside 'callers'");
        }
        return None;
    };
    let scopes = auth.get("scopes").map_or(&[][..], Node::items);
    let mut kept = Vec::new();
    for scope in scopes {
        let text = scope.text()?;
        if !text
            .bytes()
            .all(|byte| byte.is_ascii_graphic() && !b"\"\\".contains(&byte))
        {
            let what = "a scope is one word without quotes (RFC 6749, section 3.3)";
            reader.problem(scope, what, "write each by itself, as the issuer does");
            return None;
        }
        kept.push(text.to_owned());
    }
    Some(CallerAuth::Oauth(Vouchee {
        issuer: vouching.issuer.issuer.clone(),
        subject,
        client,
        scopes: kept,
    }))
}
