//! Where mail can go: from what one caller reads to what another does, and from where little shows to where more does.

use mail::Level;

use super::{Code, Site, Warning};
use crate::{Capability, Policy};

pub(super) fn look(
    caller: &str,
    policy: &Policy,
    callers: &[(&str, &Policy)],
    found: &mut Vec<Warning>,
) {
    let sites: Vec<Site<'_>> = Site::all(caller, policy).collect();
    for target in &sites {
        let others = callers.iter().filter(|(other, _)| *other != caller);
        found.extend(others.filter_map(|(other, theirs)| leak(&sites, target, other, theirs)));
        found.extend(rise(&sites, target));
    }
}

/// Mail of a folder that the other does not see as well, and a folder of both to put it into.
fn leak(sites: &[Site<'_>], target: &Site<'_>, other: &str, theirs: &Policy) -> Option<Warning> {
    let how = match target.folder.capabilities {
        can if can.has(Capability::AcceptIncoming) => Capability::AcceptIncoming,
        can if can.has(Capability::DraftAppend) => Capability::DraftAppend,
        _ => return None,
    };
    // The owner sees everything anyway.
    let reads = theirs.folder(target.account, &target.folder.path)?;
    if reads.ceiling() < Level::Envelope {
        return None;
    }
    let mut private = sites.iter().filter(|site| {
        site.folder.ceiling() >= Level::Body && !site.is(target) && !sees_as_much(theirs, site)
    });
    let source = private.next()?;
    let text = format!(
        "reads {source} and has {} here, where '{other}' reads: mail that '{other}' may not see can be put before it; \
         give the two of them different folders",
        how.name()
    );
    Some(target.warn(Code::LeaksToCaller, text))
}

/// Certainly: everything, or by the very same rules.
fn sees_as_much(theirs: &Policy, site: &Site<'_>) -> bool {
    let Some(folder) = theirs.folder(site.account, &site.folder.path) else {
        return false;
    };
    let alike = folder.mode == site.folder.mode
        && folder.default == site.folder.default
        && folder.rules == site.folder.rules;
    alike || folder.floor() >= site.folder.ceiling()
}

/// The decision forbids each such move; whoever wrote this may have hoped otherwise.
fn rise(sites: &[Site<'_>], target: &Site<'_>) -> Option<Warning> {
    if !target.folder.capabilities.has(Capability::AcceptIncoming) {
        return None;
    }
    let shown = target.folder.ceiling();
    let mut lower = sites.iter().filter(|site| {
        let ceiling = site.folder.ceiling();
        ceiling >= Level::Metadata && ceiling < shown && !site.is(target)
    });
    let source = lower.next()?;
    let (here, there) = (shown.name(), source.folder.ceiling().name());
    let text = format!(
        "shows up to {here}, and {source} only {there}: what would show more here is not let in from there; \
         lower this folder, or accept mail elsewhere"
    );
    Some(target.warn(Code::TargetShowsMore, text))
}
