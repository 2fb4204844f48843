//! Servers that offer `ESEARCH` (RFC 4731) or IMAP4rev2 and answer it wrongly: not at all, without what was asked for, or by
//! "nothing" though messages match.
//!
//! Who: STRATO's RZimapd answers searches by an `ESEARCH` that names and counts nothing, in a folder of thousands; clients
//! that believed it showed empty mailboxes (reported for several programs on ImapFlow, 2026). We never `ENABLE` IMAP4rev2,
//! which is what brought it out there, but ask with return options.
//!
//! Known by: an answer without the count that was asked for; and, once for an account, when the first answer of this kind is
//! "nothing" though the folder holds messages: then all messages are counted in the same way, and who says that this was done
//! and counts none, or does not answer that very command, lies. An answer that names messages vouches for those that come
//! after it. Who refuses to count has not lied, and the search fails as any that is refused.
//!
//! Done: the account is searched in the plain way from then on; where an answer was merely left out once, the session is. Told: a warning of `imap_verify_account`, which tries it out
//! on INBOX, and one in the log; never an empty result.

use imap::command::{Key, SearchReturn};
use mail::{Cx, Fault, FolderName, Stage};

use super::Finding;
use crate::imap::session::{Pace, Session};
use crate::imap::{conditions, faults, sift};

/// Whether an answer of `ESEARCH` that found so many messages in this folder can be believed.
pub(in crate::imap) async fn is_believed(
    session: &mut Session,
    cx: &Cx,
    folder: &FolderName,
    found: u64,
) -> Result<bool, Fault> {
    if found > 0 {
        session.find_out(Finding::EsearchHolds);
        return Ok(true);
    }
    if session.has_found_out(Finding::EsearchHolds) || session.known_size(folder) == Some(0) {
        return Ok(true);
    }
    let count = conditions::command(SearchReturn::Count, &[Key::All])?;
    let opened = session
        .ask_in(cx, folder, vec![count], Pace::Prompt)
        .await?;
    // INVARIANT: who refuses, or has no time, has not lied.
    faults::check_all(&opened.landed.statuses, Stage::Search)?;
    let told = sift::counted(&opened.landed);
    match (opened.exists, told) {
        // A folder that is empty, or was when it was counted, proves nothing.
        (0, _) => Ok(true),
        (_, Some(0)) if opened.is_stale() => Ok(true),
        (_, Some(1..)) => {
            session.find_out(Finding::EsearchHolds);
            Ok(true)
        }
        (_, Some(0) | None) => {
            session.find_out(Finding::EsearchLies);
            Ok(false)
        }
    }
}

/// After an answer that was none: this session asks no more in this way, and the account does not if the check says so.
pub(in crate::imap) async fn doubt(session: &mut Session, cx: &Cx, folder: &FolderName) {
    if !session.has_found_out(Finding::EsearchLies) {
        // Whatever else comes of it is told by the search that follows.
        let _ = is_believed(session, cx, folder, 0).await;
    }
    session.esearch_fails = true;
}
