//! A command that is run beside whoever serves: whose state it would write to, and into which log. It writes nothing itself.
//!
//! INVARIANT: no command leaves files that the service cannot write, or a log that nobody knows of, without a word.

use std::path::Path;

use crate::cli::Verb;
use crate::{audit, replica, state};

/// Root: whose files others cannot write, and who can write everybody's.
const ROOT: u32 = 0;

/// Before a command writes to the log that is there, or to one in it. The error says what to do instead.
pub(crate) fn enter(verb: &Verb, logs: Option<&Path>) -> Result<(), String> {
    match verb {
        // Whoever serves is who all else is beside of.
        Verb::Stdio | Verb::Http(_) => Ok(()),
        _ => enter_as_command(logs),
    }
}

pub(crate) fn enter_as_command(logs: Option<&Path>) -> Result<(), String> {
    let logs = logs.map(Path::to_owned).or_else(state::audit_directory);
    let mut places = logs.iter().cloned().chain(state::directory());
    places.try_for_each(|place| is_ours(&place))?;
    let Some(logs) = logs else { return Ok(()) };
    adopt(&logs)?;
    if user() == Some(ROOT) && !logs.exists() {
        crate::logs::notice(&format!(
            "this makes {} as root: a service of another user cannot write there until it is given to that user",
            logs.display()
        ));
    }
    Ok(())
}

/// Whether root may write there, or in what is above it: not where somebody else does.
fn is_ours(place: &Path) -> Result<(), String> {
    let there = place.ancestors().find(|above| above.exists());
    let Some(there) = there else { return Ok(()) };
    match stranger(user(), owner(there)) {
        None => Ok(()),
        Some(owner) => Err(format!(
            "{} belongs to the user {owner}, who could not write what root leaves there; run this as that user, with the variables of the service: \
             sudo -u '#{owner}' env MAILWARDEN_STATE_DIR=… mailwarden …",
            there.display()
        )),
    }
}

/// Who else's it is, for root. Everybody else is kept out by the system.
fn stranger(user: Option<u32>, owner: Option<u32>) -> Option<u32> {
    owner.filter(|owner| user == Some(ROOT) && *owner != ROOT)
}

/// A command without a name of its own writes into the one log of a replica that is there; where there are several it has to say.
fn adopt(logs: &Path) -> Result<(), String> {
    if replica::chosen().is_some() {
        return Ok(());
    }
    match audit::replicas(logs).as_slice() {
        [] => Ok(()),
        [one] => {
            replica::adopt(one);
            Ok(())
        }
        several => Err(format!(
            "{} has the logs of several replicas ({}); say with --replica into which of them this is to be recorded",
            logs.display(),
            several.join(", ")
        )),
    }
}

#[cfg(unix)]
fn user() -> Option<u32> {
    Some(rustix::process::geteuid().as_raw())
}

#[cfg(unix)]
fn owner(path: &Path) -> Option<u32> {
    use std::os::unix::fs::MetadataExt as _;
    path.metadata().ok().map(|about| about.uid())
}

#[cfg(not(unix))]
fn user() -> Option<u32> {
    None
}

#[cfg(not(unix))]
fn owner(_: &Path) -> Option<u32> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_root_is_kept_from_what_is_anothers() {
        for (user, owner, stranger_is) in [
            (Some(0), Some(999), Some(999)),
            (Some(0), Some(0), None),
            (Some(999), Some(0), None),
            (Some(999), Some(1000), None),
            (Some(0), None, None),
            (None, None, None),
        ] {
            assert_eq!(stranger(user, owner), stranger_is, "{user:?} {owner:?}");
        }
    }
}
