//! No file system: a Landlock ruleset without a single rule.

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, CompatLevel, Compatible as _, Ruleset, RulesetAttr as _,
    RulesetStatus, Scope,
};

/// Everything that Landlock knows is denied; older kernels know less and deny what they know.
pub(super) fn forbid() -> Result<(), String> {
    let newest = ABI::V6;
    let said = |error: landlock::RulesetError| error.to_string();
    let status = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(newest))
        .map_err(said)?
        .handle_access(AccessNet::from_all(newest))
        .map_err(said)?
        .scope(Scope::from_all(newest))
        .map_err(said)?
        .create()
        .map_err(said)?
        .restrict_self()
        .map_err(said)?;
    match status.ruleset {
        RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced => Ok(()),
        RulesetStatus::NotEnforced => Err("this kernel has no Landlock".to_owned()),
    }
}
