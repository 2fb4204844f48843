//! Servers that offer `LIST-EXTENDED` (RFC 5258) and do not keep it.
//!
//! Who: STRATO answered a `LIST` with return options by OK and no folder at all (reported for MailKit, autumn 2025); others
//! answer `BAD`. Known by: the `BAD`, or an account without any folder, which there is none of: every one has an INBOX. Done:
//! folders are listed in the plain way, without what they hold. Told: a warning of `imap_verify_account`, and in the log.

use imap::{Data, Status, StatusKind};

pub(in crate::imap) fn shows(status: &Status, data: &[Data]) -> bool {
    let names_any = data.iter().any(|one| matches!(one, Data::List(_)));
    status.kind == StatusKind::Bad || (status.is_ok() && !names_any)
}
