//! How an account's login stands, as a list of accounts tells it.

use mail::{Reach, Remedy};

use crate::refusal::{login_command, replace};
use crate::setup::Account;

pub(super) const OK: &str = "ok";

/// What is told of one.
pub(super) struct Told {
    pub status: &'static str,
    /// What whoever runs this types to find out more, or to mend it.
    pub command: Option<String>,
    /// What else there is to do.
    pub remedy: Option<String>,
}

pub(super) fn of(account: &Account) -> Told {
    let told = |status, command| Told {
        status,
        command,
        remedy: None,
    };
    match account.reach() {
        Reach::Everything => told(OK, None),
        Reach::ReadingOnly => told("read_only", None),
        Reach::Broken(_) => told("misconfigured", Some("mailwarden check".to_owned())),
        Reach::Nothing(_, remedy) => {
            let status = policy::Refused::NeedsRebootstrap.name();
            match remedy {
                Remedy::LogIn => told(status, Some(login_command(account.id()))),
                Remedy::Replace(name) => Told {
                    remedy: Some(replace(&name)),
                    ..told(status, None)
                },
            }
        }
    }
}
