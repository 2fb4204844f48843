//! The long form of what strikes refreshes and logins: every cell of the matrix. The tests of the program do the work and say
//! what they found; this only starts them.

use super::writes::run;

const TEST: &str = "oauth_crash_matrix";
const DONE: &str = "refreshes and logins: as told above";

pub(crate) fn all() -> Result<String, String> {
    run(TEST, &[("CRASH_OAUTH", "all")])?;
    Ok(DONE.to_owned())
}

/// The cell of this name, or all whose names hold it.
pub(crate) fn only(name: &str) -> Result<String, String> {
    run(TEST, &[("CRASH_OAUTH", "all"), ("CRASH_ONLY", name)])?;
    Ok(DONE.to_owned())
}
