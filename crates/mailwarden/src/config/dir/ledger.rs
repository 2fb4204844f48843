//! `ledger` and `wal` of `accounts.yaml`: where changes to mail are written down. In one place, or in none.

use std::path::Path;

use ::ledger::Server;

use super::accounts::Around;
use super::reader::Reader;
use super::secrets::SecretStore;
use super::sheet::Sheet;
use super::yaml::Node;
use super::{Missing, Variables};
use crate::config::LedgerPlace;
use crate::config::env::{self, LEDGER, LEDGER_PASSWORD};
use crate::config::problem::{Problem, Problems};

/// What a directory says of it, whatever else is wrong. Complains only of what hides that.
pub(crate) fn ledger_place(dir: &Path) -> Result<LedgerPlace, Problems> {
    let alone = |problem| Problems(vec![problem]);
    let dir = &std::path::absolute(dir).unwrap_or_else(|_| dir.to_owned());
    let sheet = Sheet::read(dir, "accounts.yaml").map_err(alone)?;
    if sheet.root.is_none() {
        let what =
            "does not tell where changes are written down; `mailwarden config check` says more";
        return Err(alone(Problem::file("accounts.yaml", what)));
    }
    let variables = Variables {
        set: std::env::vars_os().collect(),
        missing: Missing::Sought,
    };
    let (wide, _) = env::beside_directory(variables.set.clone());
    let around = Around {
        dir,
        variables: &variables,
        wide: &wide,
    };
    let mut reader = Reader::new(&sheet, &super::keys::ACCOUNTS_FILE);
    let root = reader.root();
    let before = reader.complaints();
    let store = match root.is_some_and(|root| root.get("ledger_secret_ref").is_some()) {
        true => SecretStore::read(
            root.and_then(|root| root.get("secret_store")),
            &around,
            &mut reader,
        ),
        false => SecretStore::Broken,
    };
    let place = read(root, &store, &mut reader, &around);
    if reader.complaints() > before {
        let mut problems = Problems::default();
        reader.finish(&mut problems.0, &mut Vec::new());
        return Err(problems);
    }
    Ok(place)
}

pub(super) fn read(
    root: Option<&Node>,
    store: &SecretStore,
    reader: &mut Reader<'_>,
    around: &Around<'_>,
) -> LedgerPlace {
    let entry = |name: &str| root.and_then(|root| root.entry(name));
    let wal = root.and_then(|root| root.get("wal"));
    let path = wal.and_then(|wal| wal.get("path"));
    let path = path.and_then(|path| super::paths::resolve(path, around.dir, reader));
    let server = server(root, reader, around);
    if let (Some(server), Some((key, _))) = (&server, entry("wal")) {
        let what =
            format!("'wal' and the ledger on {server} both say where changes are written down");
        reader.problem(
            key,
            what,
            "keep one of them: wal for one machine, ledger for replicas",
        );
    }
    let given = root.and_then(|root| root.get("ledger_secret_ref"));
    let password = given.and_then(|given| super::imap::secret(given, store, reader, around));
    if let Some(given) = given {
        if server.is_none() {
            let what = "'ledger_secret_ref' is the password of a ledger that is not there";
            reader.problem(
                given,
                what,
                "add ledger: postgres://user@host/database, or remove the line",
            );
        }
        if around.wide.ledger_password.is_some() {
            let what =
                format!("'ledger_secret_ref' and the variable {LEDGER_PASSWORD} are both set");
            reader.problem(given, what, "keep one of them");
        }
    }
    match server {
        None => path.into(),
        Some(server) => {
            let password = password.as_ref().or(around.wide.ledger_password.as_ref());
            LedgerPlace::on(server, password)
        }
    }
}

fn server(root: Option<&Node>, reader: &mut Reader<'_>, around: &Around<'_>) -> Option<Server> {
    let Some(given) = root.and_then(|root| root.get("ledger")) else {
        return around.wide.ledger.clone();
    };
    if around.wide.ledger.is_some() {
        let what = format!("'ledger' and the variable {LEDGER} are both set");
        reader.problem(given, what, "keep one of them");
    }
    match Server::parse(given.text()?) {
        Ok(server) => Some(server),
        Err(bad) => {
            reader.problem(given, format!("'ledger' {bad}"), bad.hint);
            None
        }
    }
}
