//! Mailbox URLs: which account, and which names below it. None of them ever leads out of the store.

use std::path::PathBuf;

/// Names below one another.
const MOST_PARTS: usize = 32;

/// `imap://<account>/<name>/<name>`, taken apart and decoded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Url {
    pub(super) scheme: String,
    /// A UUID, or `user@host` in old stores; empty for what is only on this machine.
    pub(super) account: String,
    pub(super) names: Vec<String>,
}

impl Url {
    /// None for what is no mailbox, or cannot be a directory of its own.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (scheme, rest) = text.split_once("://")?;
        let (account, path) = rest.split_once('/')?;
        let plain = !scheme.is_empty() && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric());
        // Split before decoding: an encoded slash is part of a name.
        let names: Option<Vec<String>> = path.split('/').map(decoded).collect();
        let url = Self {
            scheme: scheme.to_ascii_lowercase(),
            account: decoded(account)?,
            names: names?,
        };
        let fits = (1..=MOST_PARTS).contains(&url.names.len()) && plain;
        let safe = url.names.iter().all(|name| is_name(name)) && is_name(&url.directory());
        (fits && safe).then_some(url)
    }

    /// The directory of the account, below that of the version.
    pub(super) fn directory(&self) -> String {
        match self.account.as_str() {
            "" => "Mailboxes".to_owned(),
            // Stores of old name accounts by what they are and who logs in where.
            old if old.contains('@') => {
                format!("{}-{}", self.scheme.to_ascii_uppercase(), self.account)
            }
            uuid => uuid.to_owned(),
        }
    }

    /// The directory of the mailbox, below that of the version.
    pub(super) fn path(&self) -> PathBuf {
        let account = PathBuf::from(self.directory());
        let names = self.names.iter().map(|name| format!("{name}.mbox"));
        names.fold(account, |path, name| path.join(name))
    }

    pub(super) fn is_local(&self) -> bool {
        self.scheme == "local"
    }
}

/// One name of a directory, and no way elsewhere.
fn is_name(name: &str) -> bool {
    let odd = |c: char| c.is_control() || matches!(c, '/' | '\\');
    !matches!(name, "" | "." | "..") && name.len() <= 250 && !name.contains(odd)
}

/// Percent sequences as octets of UTF-8.
fn decoded(part: &str) -> Option<String> {
    let mut octets = Vec::with_capacity(part.len());
    let mut bytes = part.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            octets.push(byte);
            continue;
        }
        let high = char::from(bytes.next()?).to_digit(16)?;
        let low = char::from(bytes.next()?).to_digit(16)?;
        octets.push(u8::try_from(high * 16 + low).ok()?);
    }
    String::from_utf8(octets).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_of_all_kinds() {
        for (url, path) in [
            ("imap://F0B7/INBOX", "F0B7/INBOX.mbox"),
            ("imap://F0B7/Sent%20Messages", "F0B7/Sent Messages.mbox"),
            (
                "imap://3CB7/%5BGmail%5D/Trash",
                "3CB7/[Gmail].mbox/Trash.mbox",
            ),
            ("local://66C7/Rec%20(%F0%9F%8C%88)", "66C7/Rec (🌈).mbox"),
            ("ews://4061/Deleted%20Items", "4061/Deleted Items.mbox"),
            ("imap://F0B7/Kund%C3%A9r", "F0B7/Kundér.mbox"),
            ("imap://a%40b@host/INBOX", "IMAP-a@b@host/INBOX.mbox"),
            ("pop://a@host/INBOX", "POP-a@host/INBOX.mbox"),
            ("local:///Old", "Mailboxes/Old.mbox"),
        ] {
            let found = Url::parse(url).map(|url| url.path());
            assert_eq!(found, Some(PathBuf::from(path)), "{url}");
        }
    }

    #[test]
    fn nothing_leads_out() {
        let long = format!("imap://F0B7/{}", "a".repeat(300));
        let deep = format!("imap://F0B7{}", "/a".repeat(40));
        for url in [
            "imap://F0B7/%2e%2e/%2E%2E/etc",
            "imap://F0B7/..",
            "imap://F0B7/a%2Fb",
            "imap://F0B7/a%00b",
            "imap://F0B7/a%5Cb",
            "imap://F0B7/a%0Ab",
            "imap://F0B7//a",
            "imap://F0B7/",
            "imap://F0B7",
            "imap://../a",
            "imap://%2e%2e/a",
            "imap://%2Fetc/a",
            "imap://F0B7/%C3",
            "imap://F0B7/%zz",
            "imap://F0B7/%4",
            "file:/etc",
            "",
            &long,
            &deep,
        ] {
            assert_eq!(Url::parse(url), None, "{url}");
        }
    }
}
