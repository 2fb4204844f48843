//! Callers and folders without limits, or without any use.

use mail::Level;

use super::{Code, Site, Spot, Warning};
use crate::Policy;

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
        if !site.folder.is_visible() {
            let text = "nothing can be seen or done here; \
                        leave it out, or give a level or a capability"
                .to_owned();
            found.push(site.warn(Code::FolderWithoutUse, text));
        }
    }
}
