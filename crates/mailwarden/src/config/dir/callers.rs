//! `callers.yaml`: who may connect, how they prove it, and which policy holds for them.

use std::collections::BTreeMap;
use std::sync::Arc;

use gateway::Limits;
use jiff::Timestamp;
use policy::Policy;
use sha2::{Digest as _, Sha256};

use super::Variables;
use super::limits::Around;
use super::policies::Policies;
use super::reader::{Reader, nearest};
use super::secrets::SecretStore;
use super::tokens::Tokens;
use super::vouching::{self, Vouchee, Vouching};
use super::yaml::{Node, Value};

/// One caller.
#[derive(Debug)]
pub(crate) struct CallerConfig {
    pub id: String,
    pub policy: Arc<Policy>,
    pub auth: CallerAuth,
    /// `None`: those that a configuration directory gives by default.
    pub toolsets: Option<Vec<Toolset>>,
    pub limits: Arc<Limits>,
}

/// How a caller proves who it is.
#[derive(Debug)]
pub(crate) enum CallerAuth {
    /// Whoever starts the program says so. On stdio only.
    StdioTrusted,
    /// It shows one of these.
    SharedToken(Vec<Token>),
    /// It brings a token that speaks of this one.
    Oauth(Vouchee),
}

/// A token, of which nothing is kept but what it is known by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Token {
    pub digest: TokenDigest,
    pub expires: Option<Timestamp>,
}

/// In which tokens are compared: alike in length, whatever they are.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TokenDigest(pub [u8; 32]);

impl TokenDigest {
    pub(crate) fn of(token: &str) -> Self {
        Self(Sha256::digest(token.as_bytes()).into())
    }

    /// As configurations write it: 64 hexadecimal digits in lower case.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut digest = [0; 32];
        let hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        if text.len() != 64 || !text.bytes().all(hex) {
            return None;
        }
        for (at, byte) in (0..64).step_by(2).zip(&mut digest) {
            *byte = u8::from_str_radix(text.get(at..at + 2)?, 16).ok()?;
        }
        Some(Self(digest))
    }
}

impl std::fmt::Display for TokenDigest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl std::fmt::Debug for TokenDigest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("TokenDigest(..)")
    }
}

impl Token {
    /// Whether it still proves something.
    pub(crate) fn is_fresh(&self, now: Timestamp) -> bool {
        self.expires.is_none_or(|expires| now < expires)
    }
}

/// A set of tools, by the name that the configuration gives it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Toolset {
    Imap,
    Threads,
    Gateway,
}

impl Toolset {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Imap => "imap",
            Self::Threads => "threads",
            Self::Gateway => "gateway",
        }
    }

    fn of(name: &str) -> Option<Self> {
        let all = [Self::Imap, Self::Threads, Self::Gateway];
        all.into_iter().find(|set| set.name() == name)
    }
}

pub(super) fn read(
    reader: &mut Reader<'_>,
    policies: &Policies,
    store: &SecretStore,
    variables: &Variables,
    around: Around<'_>,
    vouching: Option<&Vouching>,
) -> Vec<CallerConfig> {
    let root = reader.root();
    let usual = root.and_then(|root| root.get("limits"));
    let usual = usual.map(|node| around.limits(node, reader));
    let usual = Arc::new(usual.unwrap_or_default());
    let list = root.and_then(|root| root.get("callers"));
    if let Some(list) = list
        && matches!(&list.value, Value::List(items) if items.is_empty())
    {
        reader.warn(list, "there is no caller, so nobody is served");
    }
    let mut callers = Vec::new();
    let mut ids: BTreeMap<&str, usize> = BTreeMap::new();
    let mut tokens = Tokens {
        store,
        variables,
        now: Timestamp::now(),
        lines: BTreeMap::new(),
    };
    let mut vouched = vouching::Lines::new();
    for node in list.map_or(&[][..], Node::items) {
        let id = node.get("id").and_then(|id| Some((id, id.text()?)));
        let checked = id.and_then(|(id, text)| {
            let checked = named(id, text, "a caller's id", reader)?;
            if let Some(line) = ids.insert(text, id.at.line) {
                let what = format!("the caller '{text}' stands here twice");
                let hint = format!("the first is in line {line}; rename one of them");
                reader.problem(id, what, hint);
            }
            if text == "operator" {
                let what = "'operator' is who asks from the command line, in the audit log";
                reader.problem(id, what, "choose another name");
            }
            Some(checked)
        });
        let policy = of_policy(node, policies, reader);
        let auth = match node.get("auth") {
            Some(auth) if auth.text_of("type") == Some("oauth") => {
                without_tokens(auth, reader);
                vouching::auth(auth, vouching, &mut vouched, reader)
            }
            _ => auth(node, &mut tokens, reader),
        };
        let toolsets = toolsets(node, reader);
        let limits = match node.get("limits") {
            Some(own) => Arc::new(around.limits(own, reader)),
            None => Arc::clone(&usual),
        };
        if let Some(policy) = &policy {
            warn_of_limits_without_use(node, &limits, policy, reader);
        }
        if let (Some(id), Some(policy), Some(auth)) = (checked, policy, auth) {
            callers.push(CallerConfig {
                id,
                policy,
                auth,
                toolsets,
                limits,
            });
        }
    }
    callers
}

/// A name of the kind that callers and policies have.
pub(super) fn named(node: &Node, text: &str, of: &str, reader: &mut Reader<'_>) -> Option<String> {
    if !is_name(text) {
        let what = format!("{of} is 1 to 64 letters, digits, '_', '.' or '-'");
        reader.problem(node, what, "rename it");
        return None;
    }
    if text == "owner" {
        let what = "'owner' is the name of whoever configures accounts by environment variables";
        reader.problem(node, what, "choose another name");
        return None;
    }
    Some(text.to_owned())
}

fn is_name(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
    text.len() <= 64 && text.bytes().all(plain)
}

fn of_policy(node: &Node, policies: &Policies, reader: &mut Reader<'_>) -> Option<Arc<Policy>> {
    let given = node.get("policy")?;
    let name = given.text()?;
    if policies.surely_lack(name) {
        let hint = match nearest(name, policies.names()) {
            Some(meant) => format!("did you mean '{meant}'?"),
            None => "write the 'name' that stands in a file of policies/".to_owned(),
        };
        // What can be no name may be anything, and is not repeated.
        let what = match is_name(name) {
            true => format!("there is no policy '{name}'"),
            false => "there is no policy of this name".to_owned(),
        };
        reader.problem(given, what, hint);
    }
    policies.find(name)
}

/// What belongs to other types of `auth`.
fn without_tokens(auth: &Node, reader: &mut Reader<'_>) {
    for name in ["token_secret_ref", "tokens"] {
        if let Some(given) = auth.get(name) {
            let what = format!("an oauth caller has no token of ours, and '{name}' gives it one");
            reader.problem(given, what, "remove it, or set type: shared_token");
        }
    }
}

fn auth(node: &Node, tokens: &mut Tokens<'_>, reader: &mut Reader<'_>) -> Option<CallerAuth> {
    let auth = node.get("auth")?;
    for name in ["subject", "client_id", "scopes"] {
        if let Some(given) = auth.get(name) {
            let what = format!("'{name}' is for callers of the type oauth");
            reader.problem(given, what, "remove it, or set type: oauth");
        }
    }
    let given = ["token_secret_ref", "tokens"].map(|name| auth.entry(name));
    match (auth.text_of("type")?, given) {
        ("stdio_trusted", [None, None]) => Some(CallerAuth::StdioTrusted),
        ("stdio_trusted", [Some((key, given)), _] | [None, Some((key, given))]) => {
            let name = key.text().unwrap_or_default();
            let what = format!("a stdio_trusted caller has no token, and '{name}' gives it one");
            reader.problem(given, what, "remove it, or set type: shared_token");
            None
        }
        ("shared_token", given) => tokens.read(auth, given, reader),
        _ => None,
    }
}

fn toolsets(node: &Node, reader: &mut Reader<'_>) -> Option<Vec<Toolset>> {
    let given = node.get("toolsets")?;
    let mut sets = Vec::new();
    for item in given.items() {
        let Some(set) = item.text().and_then(Toolset::of) else {
            continue;
        };
        if sets.contains(&set) {
            let what = format!("the toolset '{}' stands here twice", set.name());
            reader.problem(item, what, "keep one of them");
        }
        sets.push(set);
    }
    if sets.is_empty() {
        let what = "no toolset is named, so this caller is offered no tools";
        reader.warn(given, what);
    }
    Some(sets)
}

/// Of an account that a policy hides nothing is ever asked.
fn warn_of_limits_without_use(
    node: &Node,
    limits: &Limits,
    policy: &Policy,
    reader: &mut Reader<'_>,
) {
    let Some(own) = node.get("limits") else {
        return;
    };
    for account in limits.accounts.keys() {
        if !policy.shows_account(account) {
            let name = policy.name();
            let what = format!(
                "the policy '{name}' does not show '{account}', so its limits limit nothing"
            );
            reader.warn(own.get("accounts").unwrap_or(own), what);
        }
    }
}
