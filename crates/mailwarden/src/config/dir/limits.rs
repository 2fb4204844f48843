//! `limits:` of `callers.yaml`: how much a caller may use, by itself, by tool and by account.

use std::collections::BTreeMap;

use gateway::{Limits, Measure, Rate};
use mail::AccountId;

use super::reader::{Reader, nearest};
use super::yaml::Node;

/// What is known of the rest of the configuration. Accounts are not known where their file cannot be read.
#[derive(Clone, Copy)]
pub(super) struct Around<'a> {
    pub accounts: Option<&'a [String]>,
}

impl Around<'_> {
    /// The limits of a caller, or those for all who have none of their own.
    pub(super) fn limits(&self, node: &Node, reader: &mut Reader<'_>) -> Limits {
        Limits {
            own: measure(node, reader),
            tools: self.tools(node, reader),
            accounts: self.accounts(node, reader),
        }
    }

    fn tools(&self, node: &Node, reader: &mut Reader<'_>) -> BTreeMap<String, Measure> {
        let names = || gateway::ALL.iter().map(|tool| tool.name());
        let mut tools = BTreeMap::new();
        for (name, key, value) in named(node, "tools") {
            if !names().any(|known| known == name) {
                let otherwise = "docs/tools.md lists those there are";
                unknown(reader, key, "tool", name, names(), otherwise);
                continue;
            }
            tools.insert(name.to_owned(), measure(value, reader));
        }
        tools
    }

    fn accounts(&self, node: &Node, reader: &mut Reader<'_>) -> BTreeMap<AccountId, Measure> {
        let mut accounts = BTreeMap::new();
        for (name, key, value) in named(node, "accounts") {
            let limits = measure(value, reader);
            let Some(known) = self.accounts else { continue };
            if !known.iter().any(|id| id == name) {
                let names = known.iter().map(String::as_str);
                let otherwise = "write the 'id' of an account of accounts.yaml";
                unknown(reader, key, "account", name, names, otherwise);
                continue;
            }
            // An id that can be none is complained of where it stands.
            if let Ok(id) = AccountId::new(name) {
                accounts.insert(id, limits);
            }
        }
        accounts
    }
}

fn named<'n>(node: &'n Node, key: &str) -> impl Iterator<Item = (&'n str, &'n Node, &'n Node)> {
    let pairs = node.get(key).into_iter();
    pairs.flat_map(Node::named_pairs)
}

fn unknown<'n>(
    reader: &mut Reader<'_>,
    key: &Node,
    kind: &str,
    name: &str,
    known: impl Iterator<Item = &'n str>,
    otherwise: &str,
) {
    let hint = match nearest(name, known) {
        Some(meant) => format!("did you mean '{meant}'?"),
        None => otherwise.to_owned(),
    };
    // What can be no name may be anything, and is not repeated.
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
    let what = match name.len() <= 64 && name.bytes().all(plain) {
        true => format!("there is no {kind} '{name}'"),
        false => format!("there is no {kind} of this name"),
    };
    reader.problem(key, what, hint);
}

fn measure(node: &Node, reader: &mut Reader<'_>) -> Measure {
    let number = |name: &str| node.get(name).and_then(Node::whole);
    let small = |name: &str| number(name).and_then(|number| u32::try_from(number).ok());
    let (per_minute, burst) = (small("calls_per_minute"), small("burst"));
    if let (None, Some((key, _))) = (node.get("calls_per_minute"), node.entry("burst")) {
        let what = "'burst' says how many of calls_per_minute may come at once, and there is none";
        reader.problem(key, what, "add calls_per_minute, or remove it");
    }
    Measure {
        calls: per_minute.map(|per_minute| {
            let usual = Rate::per_minute(per_minute);
            Rate {
                burst: burst.unwrap_or(usual.burst),
                ..usual
            }
        }),
        concurrent: small("concurrent"),
        bytes_per_hour: number("bytes_per_hour"),
        messages_per_hour: number("messages_per_hour"),
    }
}
