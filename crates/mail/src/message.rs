//! Which message: source, account, folder, UIDVALIDITY and UID, as one id and as one URI.

use std::fmt;

use crate::{AccountId, FolderName};

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Uid(pub u32);

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct UidValidity(pub u32);

/// The kind of place mail lives in; it is the prefix of a message id.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SourceKind {
    Imap,
    Maildir,
    Apple,
}

impl SourceKind {
    pub const ALL: [Self; 3] = [Self::Imap, Self::Maildir, Self::Apple];

    pub fn prefix(self) -> &'static str {
        match self {
            Self::Imap => "imap",
            Self::Maildir => "maildir",
            Self::Apple => "apple",
        }
    }
}

/// A message's stable locator, `imap:{account_id}:{mailbox}:{uidvalidity}:{uid}`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct MessageRef {
    pub source: SourceKind,
    pub account: AccountId,
    pub folder: FolderName,
    pub uidvalidity: UidValidity,
    pub uid: Uid,
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadMessageId {
    #[error("message_id must start with 'imap:', 'maildir:' or 'apple:'")]
    Prefix,
    #[error("message_id must look like imap:{{account_id}}:{{mailbox}}:{{uidvalidity}}:{{uid}}")]
    Shape,
    #[error("message_id holds no valid account_id")]
    Account,
    #[error("message_id holds no valid mailbox name")]
    Folder,
    #[error("uidvalidity and uid in message_id must be non-negative integers below 2^32")]
    Number,
}

impl MessageRef {
    /// Reads an id from both ends, because a folder name may hold colons.
    pub fn parse(id: &str) -> Result<Self, BadMessageId> {
        let (prefix, rest) = id.split_once(':').ok_or(BadMessageId::Prefix)?;
        let source = SourceKind::ALL
            .into_iter()
            .find(|kind| kind.prefix() == prefix)
            .ok_or(BadMessageId::Prefix)?;
        let (account, rest) = rest.split_once(':').ok_or(BadMessageId::Shape)?;
        let (rest, uid) = rest.rsplit_once(':').ok_or(BadMessageId::Shape)?;
        let (folder, uidvalidity) = rest.rsplit_once(':').ok_or(BadMessageId::Shape)?;
        Ok(Self {
            source,
            account: AccountId::new(account).map_err(|_| BadMessageId::Account)?,
            folder: FolderName::new(folder).map_err(|_| BadMessageId::Folder)?,
            uidvalidity: UidValidity(number(uidvalidity)?),
            uid: Uid(number(uid)?),
        })
    }

    /// `imap://{account}/mailbox/{mailbox}/message/{uidvalidity}/{uid}`, the mailbox percent-encoded.
    pub fn uri(&self) -> String {
        format!(
            "{}://{}/mailbox/{}/message/{}/{}",
            self.source.prefix(),
            self.account,
            percent_encode(self.folder.as_str()),
            self.uidvalidity.0,
            self.uid.0
        )
    }

    /// Of one of its parts.
    pub fn part_uri(&self, part: &crate::Section) -> String {
        format!("{}/part/{part}", self.uri())
    }

    pub fn raw_uri(&self) -> String {
        self.uri() + "/raw"
    }

    /// Reads [`uri`](Self::uri); a `/raw` suffix is the caller's to take off.
    pub fn parse_uri(uri: &str) -> Result<Self, BadMessageId> {
        let (scheme, rest) = uri.split_once("://").ok_or(BadMessageId::Prefix)?;
        let source = SourceKind::ALL
            .into_iter()
            .find(|kind| kind.prefix() == scheme)
            .ok_or(BadMessageId::Prefix)?;
        let parts: Vec<&str> = rest.split('/').collect();
        let [account, "mailbox", folder, "message", uidvalidity, uid] = parts.as_slice() else {
            return Err(BadMessageId::Shape);
        };
        let folder = percent_decode(folder).ok_or(BadMessageId::Folder)?;
        Ok(Self {
            source,
            account: AccountId::new(*account).map_err(|_| BadMessageId::Account)?,
            folder: FolderName::new(folder).map_err(|_| BadMessageId::Folder)?,
            uidvalidity: UidValidity(number(uidvalidity)?),
            uid: Uid(number(uid)?),
        })
    }
}

impl fmt::Display for MessageRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}:{}:{}:{}:{}",
            self.source.prefix(),
            self.account,
            self.folder,
            self.uidvalidity.0,
            self.uid.0
        )
    }
}

/// Digits only: `+7` and ` 7` are no spelling of seven, so one message has one id.
fn number(text: &str) -> Result<u32, BadMessageId> {
    let canonical = text == "0" || !text.starts_with('0');
    if text.bytes().all(|b| b.is_ascii_digit()) && canonical {
        text.parse().map_err(|_| BadMessageId::Number)
    } else {
        Err(BadMessageId::Number)
    }
}

/// RFC 3986: everything but the unreserved characters.
fn percent_encode(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

fn percent_decode(text: &str) -> Option<String> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            out.push(byte);
            continue;
        }
        let high = char::from(bytes.next()?).to_digit(16)?;
        let low = char::from(bytes.next()?).to_digit(16)?;
        out.push(u8::try_from(high * 16 + low).ok()?);
    }
    String::from_utf8(out).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(folder: &str) -> MessageRef {
        MessageRef {
            source: SourceKind::Imap,
            account: AccountId::new("work").unwrap(),
            folder: FolderName::new(folder).unwrap(),
            uidvalidity: UidValidity(12345),
            uid: Uid(42),
        }
    }

    #[test]
    fn ids_print_as_the_contract_says() {
        assert_eq!(at("INBOX").to_string(), "imap:work:INBOX:12345:42");
        assert_eq!(
            at("Büro/R&D").uri(),
            "imap://work/mailbox/B%C3%BCro%2FR%26D/message/12345/42"
        );
        assert_eq!(
            at("INBOX").raw_uri(),
            "imap://work/mailbox/INBOX/message/12345/42/raw"
        );
    }

    #[test]
    fn a_folder_may_hold_colons() {
        let id = "imap:work:a:b:7:12345:42";
        assert_eq!(MessageRef::parse(id).unwrap(), at("a:b:7"));
    }

    #[test]
    fn wrong_ids_say_what_is_wrong() {
        for (id, want) in [
            ("", BadMessageId::Prefix),
            ("INBOX", BadMessageId::Prefix),
            ("pop:work:INBOX:1:2", BadMessageId::Prefix),
            ("imap:work", BadMessageId::Shape),
            ("imap:work:INBOX:2", BadMessageId::Shape),
            ("imap:w rk:INBOX:1:2", BadMessageId::Account),
            ("imap::INBOX:1:2", BadMessageId::Account),
            ("imap:work::1:2", BadMessageId::Folder),
            ("imap:work:IN\r\nBOX:1:2", BadMessageId::Folder),
            ("imap:work:INBOX:-1:2", BadMessageId::Number),
            ("imap:work:INBOX:1:+2", BadMessageId::Number),
            ("imap:work:INBOX:1:", BadMessageId::Number),
            ("imap:work:INBOX:1:02", BadMessageId::Number),
            ("imap:work:INBOX:1:4294967296", BadMessageId::Number),
        ] {
            assert_eq!(MessageRef::parse(id), Err(want), "{id:?}");
        }
    }

    proptest! {
        #[test]
        fn ids_and_uris_round_trip(
            account in "[A-Za-z0-9_-]{1,64}",
            folder in "[^\\p{Cc}]{1,40}",
            validity: u32,
            uid: u32,
        ) {
            let one = MessageRef {
                source: SourceKind::Imap,
                account: AccountId::new(account).unwrap(),
                folder: FolderName::new(folder).unwrap(),
                uidvalidity: UidValidity(validity),
                uid: Uid(uid),
            };
            prop_assert_eq!(MessageRef::parse(&one.to_string()), Ok(one.clone()));
            prop_assert_eq!(MessageRef::parse_uri(&one.uri()), Ok(one));
        }

        #[test]
        fn no_text_makes_the_parsers_fall(text in "\\PC{0,80}") {
            let _ = MessageRef::parse(&text);
            let _ = MessageRef::parse_uri(&text);
        }
    }
}
