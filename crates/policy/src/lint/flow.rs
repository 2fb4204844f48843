//! Where mail can go: from what one caller reads to what another does, and from where little shows to where more does.

use mail::Level;

use super::{Code, Site, Warning};
use crate::{Capability, FolderPolicy, Policy};

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
    if !reads_in(theirs, target) {
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

/// Whether some folder of the target is one where the other caller reads. The owner, whose policy
/// has no entries, sees everything anyway.
fn reads_in(theirs: &Policy, target: &Site<'_>) -> bool {
    let reads = |entry: &FolderPolicy| entry.ceiling() >= Level::Envelope;
    match target.folder.path.exact() {
        Some(folder) => theirs.folder(target.account, folder).is_some_and(reads),
        None => {
            let mut entries = theirs.folders(target.account);
            entries.any(|entry| reads(entry) && entry.path.overlaps(&target.folder.path))
        }
    }
}

/// Certainly: everything, or by the very same rules, in every folder of the site.
fn sees_as_much(theirs: &Policy, site: &Site<'_>) -> bool {
    let as_much = |entry: &FolderPolicy| {
        let alike = entry.mode == site.folder.mode
            && entry.default == site.folder.default
            && entry.rules == site.folder.rules;
        alike || entry.floor() >= site.folder.ceiling()
    };
    let path = &site.folder.path;
    if let Some(folder) = path.exact() {
        return theirs.folder(site.account, folder).is_some_and(as_much);
    }
    let own = theirs
        .written()
        .filter(|(account, _)| *account == site.account);
    let mut touching = own
        .map(|(_, entry)| entry)
        .filter(|entry| entry.path.overlaps(path));
    let whole = theirs
        .folders(site.account)
        .any(|entry| entry.path.contains(path));
    whole && touching.all(as_much)
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
