//! What a server says a message is: its flags, its date, its size, and a digest over its beginning.

use bytes::Bytes;
use imap::command::{Item, Part};
use imap::{Capabilities, Fetch};
use mail::{MOST_DIGESTED, Witness};

use super::{convert, gmail};
use crate::beginning::{Digesting, message_id};

/// As much as tells whether a message is the one that is meant.
pub(super) fn outside(offered: &Capabilities) -> Vec<Item> {
    let mut items = vec![Item::Flags, Item::InternalDate, Item::Size];
    if gmail::is_offered(offered) {
        items.push(Item::GmailMessage);
    }
    items
}

/// The same, and as much of its beginning as is digested where the rest does not travel.
pub(super) fn with_beginning(offered: &Capabilities) -> Vec<Item> {
    beginning_of(offered, u32::try_from(MOST_DIGESTED).unwrap_or(u32::MAX))
}

/// Of a message that stays where it is nobody will have to find a copy: its head is enough to say which it was.
pub(super) fn with_head(offered: &Capabilities) -> Vec<Item> {
    beginning_of(offered, HEAD)
}

const HEAD: u32 = 8 << 10;

fn beginning_of(offered: &Capabilities, most: u32) -> Vec<Item> {
    let mut items = outside(offered);
    items.push(Item::Peek(Part::Whole, Some(most)));
    items
}

pub(super) fn witness(fetch: &Fetch) -> Witness {
    let mut witness = Witness {
        flags: convert::flags(fetch),
        arrived: convert::arrived(fetch),
        size: fetch.size,
        message_id: None,
        digest: None,
        store_id: fetch.gmail_message,
    };
    if let Some(beginning) = fetch.section("") {
        let mut digesting = Digesting::default();
        digesting.take(beginning);
        add_beginning(&mut witness, beginning, digesting);
    }
    witness
}

/// What the octets tell; the digest may cover more than the beginning that is here.
pub(super) fn add_beginning(witness: &mut Witness, beginning: &Bytes, digesting: Digesting) {
    witness.message_id = message_id(beginning, witness.size);
    witness.digest = Some(digesting.end());
}
