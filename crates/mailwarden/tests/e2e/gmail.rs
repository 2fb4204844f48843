//! Gmail as Gmail is, end to end: the built program against a simulated account whose mailboxes are labels.

mod across;
mod connections;
mod crashes;
mod faults;
mod looks;
mod moving;
mod names;
pub(crate) mod policies;
mod rising;
mod searching;
mod threads;

use serde_json::{Value, json};
use testkit::gmail::{PASSWORD, Place, USER};
use testkit::{Gmail, McpClient};

use crate::installation::Installation;
use crate::support::{Account, configure, start};

/// The owner of an account, with all tools and leave to change mail.
pub(crate) struct Owner {
    /// Where its ledger is.
    home: Installation,
    client: McpClient,
}

impl Owner {
    fn of(gmail: &Gmail) -> Self {
        Self::with(gmail, &[])
    }

    fn with(gmail: &Gmail, variables: &[(&str, &str)]) -> Self {
        Self::at(Installation::new(), gmail, variables)
    }

    fn at(home: Installation, gmail: &Gmail, variables: &[(&str, &str)]) -> Self {
        let mut command = home.program();
        configure(&mut command, "DEFAULT", &account(gmail));
        command
            .env("MAIL_IMAP_WRITE_ENABLED", "true")
            .env("MAILWARDEN_TOOLSETS", "imap,threads,gateway")
            .envs(variables.iter().copied());
        let client = start(command);
        Self { home, client }
    }
}

fn account(gmail: &Gmail) -> Account<'static> {
    Account {
        port: gmail.port(),
        user: USER,
        pass: PASSWORD,
        ..Account::default()
    }
}

/// The name of a message in one of its folders.
fn id(gmail: &Gmail, folder: &str, place: &Place, message: u64) -> String {
    let uidvalidity = gmail.uidvalidity(place).unwrap();
    let uid = gmail.uid(place, message).unwrap();
    format!("imap:default:{folder}:{uidvalidity}:{uid}")
}

fn work() -> Place {
    Place::label("Work")
}

/// Where a message is seen, in order.
fn seen(gmail: &Gmail, message: u64) -> Vec<Place> {
    gmail.found_in(message).into_keys().collect()
}

/// Arguments for a search by the gateway's tool.
fn folder(name: &str, more: Value) -> Value {
    let mut arguments = json!({ "account_id": "default", "folder": name });
    for (key, value) in more.as_object().unwrap() {
        arguments[key] = value.clone();
    }
    arguments
}
