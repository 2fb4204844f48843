//! `policies/*.yaml`: what each policy says, and where each of its words stands.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use mail::{AccountId, Domain, Folded, Level, MailAddress, UncertainText};
use policy::{
    BadFolderPattern, Capabilities, Capability, FolderPattern, FolderPolicy, Mode, Place, Policy,
    Predicate, Rule, Span,
};

use super::callers::named;
use super::keys::POLICY_FILE;
use super::reader::{Reader, nearest};
use super::sheet::Sheet;
use super::yaml::Node;
use crate::config::problem::Problem;

const DIRECTORY: &str = "policies";
const MOST_FILES: usize = 1_000;

/// The policies by name; `None` for one that cannot be used.
#[derive(Debug, Default)]
pub(super) struct Policies {
    named: BTreeMap<String, Named>,
    /// Files whose policy has no name that could be read.
    nameless: usize,
}

#[derive(Debug)]
struct Named {
    policy: Option<Arc<Policy>>,
    file: String,
}

impl Policies {
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.named.keys().map(String::as_str)
    }

    /// There is none of this name, and all names are known.
    pub(super) fn surely_lack(&self, name: &str) -> bool {
        self.nameless == 0 && !self.named.contains_key(name)
    }

    /// A file that could not be read at all.
    pub(super) fn miss_one(&mut self) {
        self.nameless += 1;
    }

    pub(super) fn find(&self, name: &str) -> Option<Arc<Policy>> {
        self.named.get(name)?.policy.clone()
    }

    /// Those that can be used, each with its file.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &Arc<Policy>)> {
        let each = self.named.values();
        each.filter_map(|named| Some((named.file.as_str(), named.policy.as_ref()?)))
    }
}

/// The names of the files, in order; `None` if they cannot be known.
pub(super) fn files(dir: &Path, problems: &mut Vec<Problem>) -> Option<Vec<String>> {
    let entries = match fs::read_dir(dir.join(DIRECTORY)) {
        Ok(entries) => entries,
        Err(error) => {
            let what = match error.kind() {
                std::io::ErrorKind::NotFound => {
                    "is missing; make the directory and put one file per policy into it".to_owned()
                }
                kind => format!("cannot be read: {kind}"),
            };
            problems.push(Problem::file(DIRECTORY, what));
            return None;
        }
    };
    let mut names = Vec::new();
    for entry in entries.flatten().take(MOST_FILES + 1) {
        let name = entry.file_name().to_string_lossy().into_owned();
        let shown = format!("{DIRECTORY}/{name}");
        // What editors leave behind.
        if name.starts_with('.') || name.ends_with('~') {
            continue;
        }
        if name.ends_with(".yaml") || name.ends_with(".yml") {
            names.push(shown);
        } else {
            let what = "is no policy; a policy's file ends in .yaml, and nothing else belongs here";
            problems.push(Problem::file(&super::scalar::plain(&shown), what));
        }
    }
    if names.len() > MOST_FILES {
        let what = "holds more than 1000 files; put fewer there";
        problems.push(Problem::file(DIRECTORY, what));
        return None;
    }
    names.sort();
    Some(names)
}

/// Adds what a sheet says. `accounts` are the ids that there are, if all are known.
pub(super) fn read(
    sheet: &Sheet,
    accounts: Option<&[String]>,
    policies: &mut Policies,
    problems: &mut Vec<Problem>,
    warnings: &mut Vec<String>,
) {
    let mut reader = Reader::new(sheet, &POLICY_FILE);
    match reader.root() {
        Some(root) => policy(root, &sheet.name, accounts, policies, &mut reader),
        None => policies.nameless += 1,
    }
    reader.finish(problems, warnings);
}

fn policy(
    root: &Node,
    file: &str,
    known: Option<&[String]>,
    policies: &mut Policies,
    reader: &mut Reader<'_>,
) {
    let name = root.get("name");
    let name =
        name.and_then(|node| Some((node, named(node, node.text()?, "a policy's name", reader)?)));
    if let Some((node, name)) = &name
        && let Some(other) = policies.named.get(name)
    {
        let what = format!("the policy '{name}' is also in {}", other.file);
        reader.problem(node, what, "rename one of them");
    }
    let accounts = root
        .get("accounts")
        .map(|node| read_accounts(node, known, reader));
    let Some((_, name)) = name else {
        policies.nameless += 1;
        return;
    };
    let uncertain = root.get("uncertain_text").and_then(Node::text);
    let uncertain = uncertain.and_then(UncertainText::from_name);
    let policy = accounts
        .and_then(|accounts| whole(&name, accounts, reader))
        .map(|policy| policy.with_uncertain_text(uncertain.unwrap_or_default()));
    let policy = policy.filter(|_| reader.complaints() == 0);
    policies.named.entry(name).or_insert(Named {
        policy: policy.map(Arc::new),
        file: file.to_owned(),
    });
}

/// A folder as it was read, and where.
struct Read<'n> {
    node: &'n Node,
    policy: FolderPolicy,
    rules: Vec<&'n Node>,
    /// Rules are missing that could not be read, so what is said of the others may be wrong.
    torn: bool,
}

type ReadAccount<'n> = (&'n Node, AccountId, Vec<Read<'n>>);

fn read_accounts<'n>(
    node: &'n Node,
    known: Option<&[String]>,
    reader: &mut Reader<'_>,
) -> Vec<ReadAccount<'n>> {
    let mut accounts = Vec::new();
    for (name, key, folders) in node.named_pairs() {
        if let Some(known) = known
            && !known.iter().any(|known| known == name)
        {
            let hint = match nearest(name, known.iter().map(String::as_str)) {
                Some(meant) => format!("did you mean '{meant}'?"),
                None => "add it to accounts.yaml, or remove it here".to_owned(),
            };
            // What can be no name may be anything, and is not repeated.
            let what = match AccountId::new(name) {
                Ok(name) => format!("there is no account '{name}'"),
                Err(_) => "there is no account of this name".to_owned(),
            };
            reader.problem(key, what, hint);
        }
        let Ok(id) = AccountId::new(name) else {
            continue;
        };
        let folders = folders.items().iter();
        let folders = folders.filter_map(|folder| read_folder(folder, reader));
        let folders = folders.collect();
        accounts.push((key, id, folders));
    }
    accounts
}

/// Has the policy crate look at the whole, and tells its findings by their places.
fn whole(name: &str, accounts: Vec<ReadAccount<'_>>, reader: &mut Reader<'_>) -> Option<Policy> {
    let mut places = Vec::new();
    let mut plain = Vec::new();
    for (key, id, folders) in accounts {
        let mut marks = Vec::new();
        let mut written = Vec::new();
        for folder in folders {
            marks.push((folder.node, folder.rules, folder.torn));
            written.push(folder.policy);
        }
        places.push((key, marks));
        plain.push((id, written));
    }
    let flaws = match Policy::new(name, plain) {
        Ok(policy) => return Some(policy),
        Err(flaws) => flaws,
    };
    let folder = |a: usize, f: usize| places.get(a).and_then(|(_, folders)| folders.get(f));
    for flaw in flaws {
        let node = match flaw.place {
            Place::Account(a) => places.get(a).map(|(key, _)| *key),
            Place::Folder(a, f) => folder(a, f).map(|(node, ..)| node.get("path").unwrap_or(node)),
            Place::Default(a, f) => {
                folder(a, f).map(|(node, ..)| node.get("default").unwrap_or(node))
            }
            Place::Rule(a, f, r) => match folder(a, f) {
                Some((_, _, true)) => continue,
                Some((_, rules, false)) => rules.get(r).copied(),
                None => None,
            },
        };
        if let Some(node) = node.or(reader.root()) {
            reader.problem(node, flaw.what, flaw.hint);
        }
    }
    None
}

fn read_folder<'n>(node: &'n Node, reader: &mut Reader<'_>) -> Option<Read<'n>> {
    let path = node.get("path").and_then(|path| {
        let read = FolderPattern::parse(path.text()?);
        let (what, hint) = match &read {
            Ok(_) => return read.ok(),
            Err(BadFolderPattern::Name(_)) => (
                "a folder's path is 1 to 256 characters",
                "write it as the server names it",
            ),
            Err(BadFolderPattern::Star) => (
                "a '*' stands only at the end of a folder's path, after '/' or '.'",
                "write '*' for every folder, or a prefix: 'INBOX/*', or 'INBOX.*' where the server separates by '.'",
            ),
        };
        reader.problem(path, what, hint);
        None
    });
    let mode = node.text_of("mode").and_then(mode);
    let default = node.text_of("default").and_then(level);
    let mut capabilities = Capabilities::NONE;
    for one in Capability::ALL {
        if node.get(one.name()).and_then(Node::boolean) == Some(true) {
            capabilities = capabilities.with(one);
        }
    }
    let given = node.get("rules").map_or(&[][..], Node::items);
    let (mut rules, mut marks) = (Vec::new(), Vec::new());
    for rule in given {
        if let Some(read) = read_rule(rule, mode, reader) {
            rules.push(read);
            marks.push(rule);
        }
    }
    Some(Read {
        node,
        torn: rules.len() < given.len(),
        policy: FolderPolicy {
            path: path?,
            mode: mode?,
            default: default?,
            rules,
            capabilities,
        },
        rules: marks,
    })
}

fn mode(word: &str) -> Option<Mode> {
    match word {
        "whitelist" => Some(Mode::Whitelist),
        "blacklist" => Some(Mode::Blacklist),
        _ => None,
    }
}

fn level(word: &str) -> Option<Level> {
    const ALL: [Level; 7] = [
        Level::None,
        Level::Count,
        Level::Metadata,
        Level::Envelope,
        Level::Headers,
        Level::Body,
        Level::Full,
    ];
    ALL.into_iter().find(|level| level.name() == word)
}

/// `None` unless every word of it could be read.
fn read_rule(node: &Node, mode: Option<Mode>, reader: &mut Reader<'_>) -> Option<Rule> {
    let (right, wrong, of) = match mode? {
        Mode::Whitelist => ("grant", "cap", "whitelist"),
        Mode::Blacklist => ("cap", "grant", "blacklist"),
    };
    if let Some((key, _)) = node.entry(wrong) {
        let what = format!("'{wrong}' stands in a {of}");
        reader.problem(key, what, format!("rules of a {of} say '{right}'"));
    } else if node.get(right).is_none() && !node.pairs().is_empty() {
        let what = format!("a rule of a {of} has no '{right}'");
        reader.problem(node, what, format!("add it: such as {right}: METADATA"));
    }
    let matches = node.get("match")?;
    let mut predicates = Vec::new();
    for (name, _, value) in matches.named_pairs() {
        predicates.push(predicate(name, value, reader));
    }
    let predicates = predicates.into_iter().collect::<Option<Vec<Predicate>>>()?;
    let whole = matches!(matches.value, super::yaml::Value::Map(_));
    let level = node.text_of(right).and_then(level)?;
    let read = whole && node.entry(wrong).is_none();
    read.then_some(Rule { predicates, level })
}

/// `None` for what is no predicate; that has been complained of.
fn predicate(name: &str, value: &Node, reader: &mut Reader<'_>) -> Option<Predicate> {
    let mut bad = |what: &str, hint: &str| {
        reader.problem(value, format!("'{name}' {what}"), hint);
        None
    };
    match name {
        "has_attachment" => return value.boolean().map(Predicate::HasAttachment),
        "size_gt" => return octets(value).map(Predicate::SizeGt),
        "size_lt" => return octets(value).map(Predicate::SizeLt),
        _ => {}
    }
    let text = value.text()?;
    match name {
        "from" | "to" => match MailAddress::parse(text) {
            Some(address) if name == "from" => Some(Predicate::From(address)),
            Some(address) => Some(Predicate::To(address)),
            None => bad(
                "must be one whole address",
                "write it without a name and brackets, such as alice@example.com; for a domain use from_domain",
            ),
        },
        "from_domain" => match Domain::new(text).filter(|_| !text.contains('*')) {
            Some(domain) => Some(Predicate::FromDomain(domain)),
            None => bad(
                "must be a domain",
                "write it without '@' and '*', such as example.com; each domain needs a rule of its own",
            ),
        },
        "to_contains" | "subject_contains" => {
            let folded = Folded::new(text);
            Some(match name {
                "to_contains" => Predicate::ToContains(folded),
                _ => Predicate::SubjectContains(folded),
            })
        }
        "newer_than" | "older_than" => match Span::parse(text) {
            Ok(span) if name == "newer_than" => Some(Predicate::NewerThan(span)),
            Ok(span) => Some(Predicate::OlderThan(span)),
            Err(error) => bad(
                &format!("cannot be used: {error}"),
                "write such as 30d, 12h or 1y",
            ),
        },
        _ => None,
    }
}

/// What no message can be larger than is refused by the shape.
fn octets(value: &Node) -> Option<u64> {
    value
        .whole()
        .filter(|octets| *octets <= u64::from(u32::MAX))
}
