//! Gmail as Gmail is: folders are labels, All Mail holds every message, and system folders have names in the owner's language.
//!
//! A server is recognized by `X-GM-EXT-1` after the login, whatever a configuration says. Nothing here is used for any other
//! server, and nothing here takes a message out of All Mail but by moving it to the trash.

pub(super) mod all_mail;
pub(super) mod names;
pub(super) mod relabel;
pub(super) mod removal;

use imap::Capabilities;

/// Gmail serves 15 connections of one account, those of its owner's other programs among them.
pub(super) const MOST_CONNECTIONS: usize = 10;

pub(super) fn is_offered(offered: &Capabilities) -> bool {
    offered.has("X-GM-EXT-1")
}
