//! How an account's login stands, as a list of accounts tells it.

use mail::Reach;

use crate::setup::Account;

pub(super) const OK: &str = "ok";

pub(super) fn word(reach: Reach) -> &'static str {
    match reach {
        Reach::Everything => OK,
        Reach::ReadingOnly => "read_only",
        Reach::Nothing(_) => policy::Refused::NeedsRebootstrap.name(),
    }
}

/// What whoever runs this does about an account that cannot be reached.
pub(super) fn command(account: &Account) -> Option<String> {
    match account.reach() {
        Reach::Nothing(_) => Some(format!("mailwarden login --account {}", account.id())),
        Reach::Everything | Reach::ReadingOnly => None,
    }
}
