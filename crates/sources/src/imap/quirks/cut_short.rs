//! Servers that do part of what they were asked, and say OK.
//!
//! Who: those with `MESSAGELIMIT` (RFC 9738, by Yahoo and Isode; Yahoo and AOL offer it): a search or fetch of more messages
//! than the limit ends with a tagged OK whose code names where it stopped.
//!
//! Known by: the code `MESSAGELIMIT` in a tagged status. Done: what came is not taken for all there is; the call fails. Told:
//! `server_refused`, with the server's words.

use imap::Status;

pub(in crate::imap) fn is_told(status: &Status) -> bool {
    status.has_code("MESSAGELIMIT")
}
