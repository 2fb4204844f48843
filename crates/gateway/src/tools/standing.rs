//! How an account's login stands, as a list of accounts tells it.

use mail::Reach;

use crate::setup::Account;

pub(super) fn word(reach: Reach) -> &'static str {
    match reach {
        Reach::Everything => "ok",
        Reach::ReadingOnly => "read_only",
        Reach::Nothing(_) => policy::Refused::NeedsRebootstrap.name(),
    }
}

/// All in one, for a list without room; none where all is well.
pub(super) fn words(account: &Account) -> Option<String> {
    let reach = account.reach();
    match (reach, command(account)) {
        (Reach::Everything, _) => None,
        (_, Some(command)) => Some(format!("{}; run: {command}", word(reach))),
        (_, None) => Some(word(reach).to_owned()),
    }
}

/// What whoever runs this does about an account that cannot be reached.
pub(super) fn command(account: &Account) -> Option<String> {
    match account.reach() {
        Reach::Nothing(_) => Some(format!("mailwarden login --account {}", account.id())),
        Reach::Everything | Reach::ReadingOnly => None,
    }
}
