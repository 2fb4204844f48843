//! `callers.yaml`: who may connect, how they prove it, and which policy holds for them.

use std::collections::BTreeMap;
use std::sync::Arc;

use ::secrets::SecretRef;
use policy::Policy;
use secrecy::{ExposeSecret as _, SecretString};
use sha2::{Digest as _, Sha256};

use super::Variables;
use super::policies::Policies;
use super::reader::{Reader, nearest};
use super::secrets::SecretStore;
use super::yaml::{Node, Value};

/// One caller.
#[derive(Debug)]
pub(crate) struct CallerConfig {
    pub id: String,
    pub policy: Arc<Policy>,
    pub auth: CallerAuth,
    /// `None`: those that a configuration directory gives by default.
    pub toolsets: Option<Vec<Toolset>>,
}

/// How a caller proves who it is.
#[derive(Debug)]
pub(crate) enum CallerAuth {
    /// Whoever starts the program says so. On stdio only.
    StdioTrusted,
    SharedToken(SecretString),
}

impl CallerAuth {
    /// Tells one proof from another, and nothing else.
    pub(crate) fn digest(&self) -> [u8; 32] {
        match self {
            Self::StdioTrusted => Sha256::digest(b"stdio_trusted").into(),
            Self::SharedToken(token) => digest(token.expose_secret()),
        }
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

/// Shorter ones can be guessed.
const LEAST_TOKEN: usize = 16;

pub(super) fn read(
    reader: &mut Reader<'_>,
    policies: &Policies,
    store: &SecretStore,
    variables: &Variables,
) -> Vec<CallerConfig> {
    let root = reader.root();
    let list = root.and_then(|root| root.get("callers"));
    if let Some(list) = list
        && matches!(&list.value, Value::List(items) if items.is_empty())
    {
        reader.warn(list, "there is no caller, so nobody is served");
    }
    let mut callers = Vec::new();
    let mut ids: BTreeMap<&str, usize> = BTreeMap::new();
    let mut tokens: BTreeMap<[u8; 32], usize> = BTreeMap::new();
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
        let auth = auth(node, store, variables, reader);
        if let Some((given, CallerAuth::SharedToken(token))) = &auth
            && let Some(line) = tokens.insert(digest(token.expose_secret()), given.at.line)
        {
            reader.problem(
                given,
                format!("this token is also that of the caller in line {line}"),
                "give each caller a token of its own, so that they can be told apart",
            );
        }
        let toolsets = toolsets(node, reader);
        if let (Some(id), Some(policy), Some((_, auth))) = (checked, policy, auth) {
            callers.push(CallerConfig {
                id,
                policy,
                auth,
                toolsets,
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

fn auth<'n>(
    node: &'n Node,
    store: &SecretStore,
    variables: &Variables,
    reader: &mut Reader<'_>,
) -> Option<(&'n Node, CallerAuth)> {
    let auth = node.get("auth")?;
    let given = auth.get("token_secret_ref");
    match (auth.text_of("type")?, given) {
        ("stdio_trusted", None) => Some((auth, CallerAuth::StdioTrusted)),
        ("stdio_trusted", Some(given)) => {
            let what = "a stdio_trusted caller has no token, and 'token_secret_ref' gives it one";
            reader.problem(given, what, "remove it, or set type: shared_token");
            None
        }
        ("shared_token", None) => {
            let what = "a shared_token caller needs 'token_secret_ref'";
            let hint = "add it: such as token_secret_ref: secret://callers/invoice-agent/token";
            reader.problem(auth, what, hint);
            None
        }
        ("shared_token", Some(given)) => {
            let secret = SecretRef::parse(given.text()?, "secret://callers/invoice-agent/token");
            let secret = match secret {
                Ok(wanted) => store.secret(&wanted, variables)?,
                Err(none) => Err(none),
            };
            match secret {
                Ok(token) if token.expose_secret().chars().count() < LEAST_TOKEN => {
                    let what = "this token has fewer than 16 characters, and could be guessed";
                    reader.problem(
                        given,
                        what,
                        "make a longer one: such as openssl rand -hex 32",
                    );
                    None
                }
                Ok(token) => Some((given, CallerAuth::SharedToken(token))),
                Err(none) => {
                    reader.problem(given, none.what, none.hint);
                    None
                }
            }
        }
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

/// In which tokens are compared: alike in length, whatever they are.
pub(crate) fn digest(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}
