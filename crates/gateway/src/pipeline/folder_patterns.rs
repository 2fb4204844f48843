//! Folders that a pattern of the policy covers: whether one exists only the server's list can say.
//!
//! INVARIANT: a folder that does not exist answers as one that a more specific entry hides,
//! whatever
//! else would be refused there.

use mail::{AccountId, FaultKind, FolderName};
use policy::{Ask, Denial, Hidden, Permit, Policy, Refused as Denied};

use super::{Ctx, decide};
use crate::Refusal;
use crate::setup::{Setup, Standing};
use crate::tools::Tool;

/// Turns a refusal that would tell whether a folder exists into leave to list the folders.
pub(super) fn leave(
    setup: &Setup,
    standing: &Standing,
    ask: &Ask,
    refusal: Refusal,
) -> Result<Permit, Refusal> {
    let about_folder = refusal.denial.is_some_and(|denial| {
        matches!(
            denial.refused,
            Denied::FolderHidden
                | Denied::VisibilityBelow(_)
                | Denied::CapabilityMissing
                | Denied::ScopeInsufficient
        )
    });
    // That a visible folder exists is no secret once it was listed.
    let listed = |account: &AccountId, folder: &FolderName| {
        let known = setup.account(account);
        standing.policy.shows_folder(account, folder)
            && known.is_some_and(|known| known.listed_lately(folder))
    };
    let mut unlisted = unlisted(&standing.policy, ask).into_iter();
    let unlisted = unlisted.find(|(account, folder)| !listed(account, folder));
    match unlisted.filter(|_| about_folder) {
        Some((account, _)) => {
            decide(setup, standing, &Ask::Folders { account }).map_err(|_| refusal)
        }
        None => Err(refusal),
    }
}

/// Folders that are named and that only their server's list can confirm.
fn unlisted(policy: &Policy, ask: &Ask) -> Vec<(AccountId, FolderName)> {
    let named = ask.folders();
    let unlisted = named.filter(|(account, folder)| policy.needs_listing(account, folder));
    let each = unlisted.map(|(account, folder)| (account.clone(), folder.clone()));
    each.collect()
}

/// Looks for the folders in the lists of their servers, and decides anew.
///
/// Where a list cannot be had, a permitted call goes on: it fails at its first look at the folder,
/// and says why as its tool does.
pub(super) async fn confirm<T: Tool>(ctx: &mut Ctx<'_>, args: T::Args) -> Result<T::Args, Refusal> {
    let ask = T::ask(&args)?;
    let policy = &ctx.standing.policy;
    let unlisted = unlisted(policy, &ask);
    if unlisted.is_empty() {
        return Ok(args);
    }
    let mut all_known = true;
    for (id, folder) in &unlisted {
        let Some(account) = ctx.account(id) else {
            continue;
        };
        let hidden = (policy.shows_folder(id, folder)).then_some(Hidden::ObjectAbsent);
        let absent = Denial {
            hidden,
            ..Denial::of(Denied::FolderHidden)
        };
        match ctx.mail_of(account).confirm(folder).await {
            Ok(()) => {}
            Err(fault) if fault.kind == FaultKind::NoSuchFolder => {
                return Err(Refusal::denied(absent));
            }
            Err(_) => all_known = false,
        }
    }
    match decide(ctx.setup, ctx.standing, &ask) {
        Ok(permit) => ctx.permit = permit,
        Err(refusal) if all_known => return Err(refusal),
        Err(_) => return Err(Refusal::denied(Denial::of(Denied::FolderHidden))),
    }
    Ok(args)
}
