//! Callers, folders and patterns without limits, and folders without any use.

use mail::Level;

use super::{Code, Site, Spot, Warning};
use crate::Policy;

/// Patterns that cover every folder of an account, or all of Gmail's own.
const OPEN_TO_ALL: [&str; 3] = ["*", "[Gmail]/*", "[Google Mail]/*"];

pub(super) fn look(caller: &str, policy: &Policy, found: &mut Vec<Warning>) {
    let whole = |site: &Site<'_>| site.folder.floor() == Level::Full;
    let mut named = Site::all(caller, policy).peekable();
    let unlimited = policy.is_owner() || (named.peek().is_some() && named.all(|site| whole(&site)));
    if unlimited {
        found.push(Warning {
            code: Code::CallerWithoutLimits,
            caller: caller.to_owned(),
            spot: Spot::Whole,
            text: "sees every message of each of its folders, whole; \
                   name what it needs in whitelists, or lower the defaults"
                .to_owned(),
        });
    }
    for site in Site::all(caller, policy) {
        // Said of the caller is said of its folders.
        if whole(&site) && !unlimited {
            let text = "shows every message whole; use a lower default, or a whitelist".to_owned();
            found.push(site.warn(Code::FolderWithoutLimits, text));
        }
        found.extend(opens_all(&site));
        if !site.folder.is_visible() && !is_exception(&site, policy) {
            let text = "nothing can be seen or done here; \
                        leave it out, or give a level or a capability"
                .to_owned();
            found.push(site.warn(Code::FolderWithoutUse, text));
        }
    }
}

/// Text, or something to do, where drafts, sent mail, junk and deleted mail lie.
fn opens_all(site: &Site<'_>) -> Option<Warning> {
    let path = site.folder.path.as_str();
    if !OPEN_TO_ALL.contains(&path) {
        return None;
    }
    let text = Some(site.folder.ceiling()).filter(|level| *level >= Level::Body);
    let can = site.folder.capabilities.iter().map(|one| one.name());
    let given: Vec<&str> = text.map(Level::name).into_iter().chain(can).collect();
    if given.is_empty() {
        return None;
    }
    let text = format!(
        "gives {} in Trash, Junk, Drafts and Sent too; name the folders that are needed, \
         or give these four entries of their own",
        given.join(", ")
    );
    Some(site.warn(Code::PatternOpensAll, text))
}

/// It takes folders out of a pattern that shows them.
fn is_exception(site: &Site<'_>, policy: &Policy) -> bool {
    let mut open = policy.folders(site.account);
    open.any(|entry| entry.path.contains(&site.folder.path))
}
