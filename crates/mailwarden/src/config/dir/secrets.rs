//! The `secret_store` of `accounts.yaml`: what is said there becomes a store. How each kind finds its secrets is not known here.
//!
//! A secret is read when the configuration is, and never appears in a message, not even in part.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::sync::Arc;

use ::secrets::{Command, CommandLine, FileDir, Found, GpgFile, Keyring, Store, Tokens};
pub(super) use ::secrets::{NoSecret, SecretRef};
use secrecy::SecretString;

use super::accounts::Around;
use super::reader::Reader;
use super::yaml::{Node, Value};
use super::{Missing, Variables};

/// What `config init` writes where a password belongs.
pub(super) const PLACEHOLDER: &str = "replace-this-line-with-the-password";

/// Which keys mean something to which backends.
const MEANINGS: [(&str, &[&str]); 5] = [
    ("path", &["file_dir", "gpg_file"]),
    ("recipient", &["gpg_file"]),
    ("gnupghome", &["gpg_file"]),
    ("command", &["command"]),
    ("store_command", &["command"]),
];

/// Where secrets are kept.
#[derive(Debug)]
pub(super) enum SecretStore {
    Ready(Ready),
    /// It has been complained of.
    Broken,
}

#[derive(Debug)]
pub(super) struct Ready {
    store: Arc<Store>,
    /// Each is asked for once, however many refer to it: a person may have to answer.
    asked: RefCell<BTreeMap<String, Result<SecretString, NoSecret>>>,
    /// Somebody did not answer in time. Others are not waited for as well.
    hung: Cell<bool>,
}

impl SecretStore {
    pub(super) fn read(node: Option<&Node>, around: &Around<'_>, reader: &mut Reader<'_>) -> Self {
        let store = match node {
            None => Some(Store::None),
            Some(node) => store(node, around, reader),
        };
        store.map_or(Self::Broken, |store| {
            Self::Ready(Ready {
                store: Arc::new(store),
                asked: RefCell::default(),
                hung: Cell::new(false),
            })
        })
    }

    /// For tokens; `None` when a complaint about the store is made elsewhere.
    pub(super) fn shared(&self) -> Option<Arc<Store>> {
        match self {
            Self::Ready(ready) => Some(Arc::clone(&ready.store)),
            Self::Broken => None,
        }
    }

    /// What there is of a refresh token; `None` when others were waited for in vain, which has been told.
    pub(super) fn find(&self, tokens: &Tokens) -> Option<Found> {
        let Self::Ready(Ready { hung, .. }) = self else {
            return None;
        };
        if hung.get() {
            return None;
        }
        let found = tokens.find();
        if let Found::Nothing(why) | Found::Unreadable(why) = &found {
            hung.set(why.is_timeout());
        }
        Some(found)
    }

    /// `None` when a complaint about the store is made elsewhere.
    pub(super) fn secret(
        &self,
        wanted: &SecretRef,
        variables: &Variables,
    ) -> Option<Result<SecretString, NoSecret>> {
        let Self::Ready(Ready { store, asked, hung }) = self else {
            return None;
        };
        let variable = wanted.variable();
        let here = matches!(**store, Store::EnvVar(_)) && variables.get(&variable).is_some();
        if variables.missing == Missing::Assumed && store.is_of_this_environment() && !here {
            return Some(Ok(SecretString::from(variable)));
        }
        if let Some(known) = asked.borrow().get(&variable) {
            return Some(known.clone());
        }
        if hung.get() {
            // A problem was reported for the first; where the others are served, each is reported.
            return (variables.missing == Missing::Told).then(|| Err(not_asked()));
        }
        let read = store.read(wanted);
        hung.set(read.as_ref().is_err_and(NoSecret::is_timeout));
        asked.borrow_mut().insert(variable, read.clone());
        Some(read)
    }
}

fn not_asked() -> NoSecret {
    NoSecret::new(
        "the secret store did not answer for another secret, so it was not asked",
        "set the store right, then reload",
    )
}

/// Reports a secret that cannot be read: to `config check` as a problem, to the server as what makes
/// its owner unavailable.
pub(super) fn report_missing(
    given: &Node,
    whose: &str,
    none: NoSecret,
    variables: &Variables,
    reader: &mut Reader<'_>,
) {
    match variables.missing {
        Missing::Told => {
            let what = format!("{whose} is unavailable: {}; {}", none.what, none.hint);
            reader.unavailable(given, what);
        }
        Missing::Sought | Missing::Assumed => reader.problem(given, none.what, none.hint),
    }
}

/// `None` when something is wrong with it; that has been complained of.
fn store(node: &Node, around: &Around<'_>, reader: &mut Reader<'_>) -> Option<Store> {
    let before = reader.complaints();
    let backend = node.text_of("backend");
    for (name, of) in MEANINGS {
        if let (Some((key, _)), Some(backend)) = (node.entry(name), backend)
            && !of.contains(&backend)
        {
            let what = format!("'{name}' means nothing to the backend {backend}");
            reader.problem(key, what, "remove the line");
        }
    }
    let needed = match backend {
        Some("file_dir" | "gpg_file") => Some((
            "path",
            "add the directory: such as path: /etc/mailwarden/secrets",
        )),
        Some("command") => Some((
            "command",
            "add the program and its words: such as command: [pass, show, \"mail/{ref}\"]",
        )),
        _ => None,
    };
    if let Some((name, hint)) = needed
        && node.get(name).is_none()
    {
        reader.problem(node, format!("this secret_store has no '{name}'"), hint);
    }
    let mut path = |name: &str| {
        let given = node.get(name)?;
        super::paths::resolve(given, around.dir, reader)
    };
    let (path, home) = (path("path"), path("gnupghome"));
    if reader.complaints() > before {
        return None;
    }
    let search = around.variables.get("PATH");
    let made = match backend? {
        "file_dir" => Ok(Store::FileDir(FileDir::new(path?))),
        "env_var" => Ok(Store::EnvVar(::secrets::Variables::new(
            around.variables.set.clone(),
        ))),
        "gpg_file" => {
            let recipient = node.text_of("recipient").map(str::to_owned);
            GpgFile::new(path?, recipient, home, search).map(Store::GpgFile)
        }
        "keyring" => Keyring::new(search).map(Store::Keyring),
        "command" => {
            let read = line(node.get("command")?, search, reader);
            let store = node.get("store_command");
            let store = store.map(|store| line(store, search, reader));
            let store = match store {
                Some(store) => Some(store?),
                None => None,
            };
            return Some(Store::Command(Command::new(read?, store)));
        }
        _ => return None,
    };
    made.map_err(|none| reader.problem(node, none.what, none.hint))
        .ok()
}

fn line(node: &Node, search: Option<&OsStr>, reader: &mut Reader<'_>) -> Option<CommandLine> {
    if !matches!(node.value, Value::List(_)) {
        return None;
    }
    let words = node.items().iter();
    let words: Option<Vec<String>> = words.map(|word| word.text().map(str::to_owned)).collect();
    CommandLine::for_references(&words?, search)
        .map_err(|none| reader.problem(node, none.what, none.hint))
        .ok()
}
