//! The strict reader: compares a tree with its shape, complains of all that does not fit, and goes on.

use std::collections::{BTreeMap, BTreeSet};

use super::scalar::{Scalar, describe};
use super::shape::{Key, Keys, Named, Need, Shape, Shown};
use super::sheet::{Sheet, harmless};
use super::yaml::{Mark, Node, Value};
use crate::config::problem::Problem;

/// Names that people give to secrets. None of them is a key here, wherever it stands.
const SECRET_NAMES: &[&str] = &[
    "access_token",
    "api_key",
    "apikey",
    "client_secret",
    "pass",
    "passphrase",
    "passwd",
    "password",
    "pwd",
    "refresh_token",
    "secret",
    "token",
];

/// What may have been written as an address with a login in it.
const MAY_HOLD_LOGIN: &[&str] = &[
    "host",
    "path",
    "ca_file",
    "directory",
    "oauth_scope",
    "ledger",
];

/// Excerpts are made for so many; the rest is told by its place.
const MOST_EXCERPTS: usize = 100;

/// What is found out while a sheet is read.
pub(super) struct Reader<'a> {
    sheet: &'a Sheet,
    /// Where words stand that are no secrets.
    public: BTreeSet<Mark>,
    found: Vec<(Mark, Mark, String)>,
    warnings: Vec<(Mark, String)>,
    /// Accounts and callers that cannot be used for want of a secret.
    unavailable: Vec<(Mark, String)>,
}

impl<'a> Reader<'a> {
    /// Reads the whole sheet in the shape of `keys`.
    pub(super) fn new(sheet: &'a Sheet, keys: &'static Keys) -> Self {
        let mut reader = Self {
            sheet,
            public: BTreeSet::new(),
            found: Vec::new(),
            warnings: Vec::new(),
            unavailable: Vec::new(),
        };
        for slip in &sheet.slips {
            reader.found.push((slip.at, slip.at, slip.what.clone()));
        }
        match &sheet.root {
            Some(root) => reader.keys(root, keys),
            None if sheet.slips.is_empty() => {
                let what = format!(
                    "the file is empty; {} begins with '{}:'",
                    keys.what,
                    first(keys)
                );
                reader
                    .found
                    .push((Mark { line: 1, column: 1 }, Mark::default(), what));
            }
            None => {}
        }
        reader
    }

    /// Its top, when there is one.
    pub(super) fn root(&self) -> Option<&'a Node> {
        self.sheet.root.as_ref()
    }

    /// Complains of a node: what it is, and what to do.
    pub(super) fn problem(&mut self, node: &Node, what: impl AsRef<str>, hint: impl AsRef<str>) {
        let what = format!("{}; {}", what.as_ref(), hint.as_ref());
        let (at, end) = extent(node);
        self.found.push((at, end, what));
    }

    /// Nothing wrong, but perhaps not meant.
    pub(super) fn warn(&mut self, node: &Node, what: impl Into<String>) {
        self.warnings.push((node.at, what.into()));
    }

    /// A secret cannot be read: the account or caller it belongs to is unavailable, and the others are served.
    pub(super) fn unavailable(&mut self, node: &Node, what: impl Into<String>) {
        self.unavailable.push((node.at, what.into()));
    }

    /// How many secrets cannot be read, to see whether there were more.
    pub(super) fn unavailable_count(&self) -> usize {
        self.unavailable.len()
    }

    /// How many complaints there are, to see whether there were more.
    pub(super) fn complaints(&self) -> usize {
        self.found.len()
    }

    /// What was found, in the order of the lines.
    pub(super) fn finish(mut self, problems: &mut Vec<Problem>, warnings: &mut Vec<String>) {
        self.found.sort_by_key(|(at, ..)| *at);
        let found = std::mem::take(&mut self.found);
        for (index, (at, end, what)) in found.into_iter().enumerate() {
            let wanted = index < MOST_EXCERPTS;
            problems.push(Problem {
                place: self.sheet.place(at),
                what: what.chars().map(harmless).collect(),
                excerpt: wanted
                    .then(|| self.sheet.excerpt(at, end, &self.public))
                    .flatten(),
            });
        }
        let found = std::mem::take(&mut self.warnings);
        warnings.extend(self.lines(found));
    }

    /// What is unavailable, in the order of the lines.
    pub(super) fn take_unavailable(&mut self) -> Vec<String> {
        let found = std::mem::take(&mut self.unavailable);
        self.lines(found)
    }

    fn lines(&self, mut found: Vec<(Mark, String)>) -> Vec<String> {
        found.sort_by_key(|(at, _)| *at);
        let name = &self.sheet.name;
        let line = |(at, what): (Mark, String)| {
            let what: String = what.chars().map(harmless).collect();
            format!("{name}:{}:{}: {what}", at.line, at.column)
        };
        found.into_iter().map(line).collect()
    }

    fn value(&mut self, name: &str, node: &Node, shape: Shape, shown: Shown) {
        if shown == Shown::Yes && is_harmless(name, node, shape) {
            self.public.insert(node.at);
        }
        match shape {
            Shape::Keys(keys) => self.keys(node, keys),
            Shape::Named(named) => self.named(name, node, named),
            Shape::List(each) => self.list(name, node, *each, shown),
            _ => {
                let tellable = self.public.contains(&node.at);
                let shown = if tellable { Shown::Yes } else { Shown::Never };
                if let Some((what, hint)) = super::scalar::misfit(name, node, shape, shown) {
                    self.problem(node, what, hint);
                }
            }
        }
    }

    fn list(&mut self, name: &str, node: &Node, each: Shape, shown: Shown) {
        match &node.value {
            Value::List(items) => {
                for item in items {
                    self.value(name, item, each, shown);
                }
            }
            Value::Refused => {}
            _ if Scalar::is_empty(node) => self.problem(
                node,
                format!("'{name}' has no value"),
                "write [] for an empty list",
            ),
            _ => self.problem(
                node,
                format!("'{name}' must be a list, found {}", describe(node)),
                "begin each entry with '- '",
            ),
        }
    }

    fn keys(&mut self, node: &Node, keys: &'static Keys) {
        let Some(pairs) = self.pairs(node, keys.what) else {
            return;
        };
        let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
        let mut meant = Vec::new();
        for (key, value) in pairs {
            let Some(name) = self.key_name(key) else {
                continue;
            };
            let Some(known) = keys.find(name) else {
                meant.extend(self.unknown(key, name, keys));
                continue;
            };
            self.public.insert(key.at);
            match seen.insert(name, key.at.line) {
                None => self.value(name, value, known.shape, known.shown),
                Some(line) => self.problem(
                    key,
                    format!("'{name}' stands twice in {}", keys.what),
                    format!("the first is in line {line}; keep one of them"),
                ),
            }
        }
        for key in keys.keys {
            let there = seen.contains_key(key.name) || meant.contains(&key.name);
            if key.need == Need::Required && !there {
                self.missing(node, key, keys);
            }
        }
    }

    fn named(&mut self, name: &str, node: &Node, named: &'static Named) {
        let Some(pairs) = self.pairs(node, &format!("'{name}'")) else {
            return;
        };
        let mut seen = BTreeMap::new();
        for (key, value) in pairs {
            let Some(name) = self.key_name(key) else {
                continue;
            };
            self.public.insert(key.at);
            if let Some(line) = seen.insert(name, key.at.line) {
                self.problem(
                    key,
                    format!("'{name}' stands twice among the {}", named.what),
                    format!("the first is in line {line}; put both into one"),
                );
                continue;
            }
            self.value(name, value, named.each, Shown::Yes);
        }
    }

    fn pairs<'n>(&mut self, node: &'n Node, what: &str) -> Option<&'n [(Node, Node)]> {
        match &node.value {
            Value::Map(pairs) => return Some(pairs),
            Value::Refused => {}
            _ if Scalar::is_empty(node) => self.problem(
                node,
                format!("{what} has no value"),
                "write its keys below, indented, or {} for none",
            ),
            _ => self.problem(
                node,
                format!("{what} must be a mapping, found {}", describe(node)),
                "write 'key: value' lines, with a space after the colon",
            ),
        }
        None
    }

    fn key_name<'n>(&mut self, key: &'n Node) -> Option<&'n str> {
        match Scalar::of(key) {
            Some(scalar) => Some(scalar.text),
            None => {
                if !matches!(key.value, Value::Refused) {
                    self.problem(key, "a key must be a word", "write 'key: value'");
                }
                None
            }
        }
    }

    /// The key that was probably meant.
    fn unknown(&mut self, key: &Node, name: &str, keys: &'static Keys) -> Option<&'static str> {
        // What looks like no key may be a value that went astray.
        let wordy = |char: char| char.is_ascii_alphanumeric() || "_- .<".contains(char);
        // Nor is each of thousands compared with what there is.
        let many = self.found.len() >= MOST_EXCERPTS;
        if many || name.len() > 32 || !name.chars().all(wordy) {
            let what = format!("there is an unknown key in {}", keys.what);
            self.problem(key, what, format!("its keys are {}", names(keys)));
            return None;
        }
        self.public.insert(key.at);
        let named = nearest(name, keys.keys.iter().map(|key| key.name));
        // However near another key is: what would be written behind it is a secret.
        let meant = named.filter(|_| !SECRET_NAMES.contains(&name));
        if let Some(meant) = meant {
            let what = format!("unknown key '{name}' in {}", keys.what);
            self.problem(key, what, format!("did you mean '{meant}'?"));
        } else if nearest(name, SECRET_NAMES.iter().copied()).is_some() {
            self.problem(
                key,
                format!("'{name}' would put a secret into this file"),
                "put it into the secret store, and refer to it by a secret:// reference",
            );
        } else if name == "<<" {
            let what = "merge keys (<<) are not used here";
            self.problem(key, what, "write the keys out");
        } else {
            let what = format!("unknown key '{name}' in {}", keys.what);
            self.problem(key, what, format!("its keys are {}", names(keys)));
        }
        meant
    }

    fn missing(&mut self, node: &Node, key: &Key, keys: &'static Keys) {
        let (at, end) = extent(node);
        let example = match key.shape {
            Shape::Text { such_as, .. } | Shape::Duration { such_as } => {
                format!("such as {such_as}")
            }
            Shape::Word(words) => words.join(", "),
            Shape::Whole { low, high, .. } => format!("{low} to {high}"),
            Shape::Boolean => "true or false".to_owned(),
            Shape::Keys(inner) => format!("with {}", names(inner)),
            Shape::List(_) => "a list, [] if there are none".to_owned(),
            Shape::Named(_) => "a mapping, {} if there are none".to_owned(),
        };
        let what = format!("{} has no '{}'; add it: {example}", keys.what, key.name);
        self.found.push((at, end, what));
    }
}

/// A value that can be no secret, whatever slipped into it.
fn is_harmless(name: &str, node: &Node, shape: Shape) -> bool {
    let Some(scalar) = Scalar::of(node) else {
        return false;
    };
    match shape {
        Shape::Keys(_) | Shape::Named(_) | Shape::List(_) => false,
        // A line whose key was forgotten becomes part of the value before it.
        _ if node.at.line != node.end.line => false,
        Shape::Word(_) => !scalar.text.contains(char::is_whitespace),
        _ => !(scalar.text.contains('@') && MAY_HOLD_LOGIN.contains(&name)),
    }
}

/// The one that was probably meant.
pub(super) fn nearest<'n>(
    given: &str,
    known: impl IntoIterator<Item = &'n str>,
) -> Option<&'n str> {
    if given.len() > 64 {
        return None;
    }
    let given = given.to_ascii_lowercase().replace('-', "_");
    let distance = |name: &str| {
        strsim::damerau_levenshtein(&given, &name.to_ascii_lowercase().replace('-', "_"))
    };
    let best = known.into_iter().map(|name| (distance(name), name)).min()?;
    // INVARIANT: a name with another first word is another thing: whoever wrote from_contains does not mean to_contains.
    let name = best.1.to_ascii_lowercase().replace('-', "_");
    let alike = match (given.split_once('_'), name.split_once('_')) {
        (Some((one, _)), Some((other, _))) => {
            strsim::damerau_levenshtein(one, other) <= 1 + other.len() / 5
        }
        _ => true,
    };
    let near = best.0 <= 1 + best.1.len() / 5 && alike;
    near.then_some(best.1)
}

/// What is pointed at. Of a mapping over several lines, that is its first key.
fn extent(node: &Node) -> (Mark, Mark) {
    match &node.value {
        Value::Map(pairs) if node.end.line > node.at.line => pairs
            .first()
            .map_or((node.at, node.at), |(key, _)| (key.at, key.end)),
        _ => (node.at, node.end),
    }
}

fn names(keys: &Keys) -> String {
    let names: Vec<&str> = keys.keys.iter().map(|key| key.name).collect();
    names.join(", ")
}

fn first(keys: &Keys) -> &'static str {
    keys.keys.first().map_or("", |key| key.name)
}
