//! What the words of a scope allow. It knows the providers' words for reading, and takes every other word for more.

/// Who somebody is, and that a login outlives the browser; nothing about mail.
const IDENTITY: [&str; 8] = [
    "openid",
    "email",
    "profile",
    "address",
    "phone",
    "offline_access",
    "userinfo.email",
    "userinfo.profile",
];

/// Words for reading that do not end as such words do.
const READING: [&str; 7] = [
    "gmail.metadata",
    "mail.readbasic",
    "mail.readbasic.shared",
    "mail.read.shared",
    "mail-r",
    "read",
    "readonly",
];

const ENDINGS: [&str; 7] = [
    ".readonly",
    "-readonly",
    "_readonly",
    "read-only",
    ".read",
    "-read",
    "_read",
];

/// Whether nothing can be changed with it: it has words about mail, and all of them are for reading.
pub(crate) fn is_read_only(scope: &str) -> bool {
    let mut about_mail = scope
        .split_ascii_whitespace()
        .map(last_name)
        .filter(|word| !IDENTITY.contains(&word.as_str()))
        .peekable();
    about_mail.peek().is_some() && about_mail.all(|word| is_reading(&word))
}

/// As sets: neither order nor repetition means anything (RFC 6749, section 3.3).
pub(crate) fn same(one: &str, other: &str) -> bool {
    let holds = |all: &str, word: &str| all.split_ascii_whitespace().any(|other| other == word);
    let within = |some: &str, all: &str| some.split_ascii_whitespace().all(|word| holds(all, word));
    within(one, other) && within(other, one)
}

/// `https://www.googleapis.com/auth/gmail.readonly` and `mail:read` are named by what comes last.
fn last_name(word: &str) -> String {
    let end = word.trim_end_matches('/');
    let name = end.rsplit(['/', ':']).next().unwrap_or(end);
    name.to_ascii_lowercase()
}

fn is_reading(word: &str) -> bool {
    READING.contains(&word) || ENDINGS.iter().any(|ending| word.ends_with(ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_that_only_read_and_scopes_that_do_more() {
        for scope in [
            "https://www.googleapis.com/auth/gmail.readonly",
            "https://www.googleapis.com/auth/gmail.metadata",
            "openid email https://www.googleapis.com/auth/userinfo.email https://www.googleapis.com/auth/gmail.readonly",
            "https://graph.microsoft.com/Mail.Read offline_access",
            "Mail.ReadBasic",
            "https://outlook.office.com/Mail.Read.Shared",
            "mail-r",
            "mail:read",
            "imap.read offline_access",
            "imap-read",
            "imap_read",
            "mail:read-only",
            "urn:example:mail:readonly",
        ] {
            assert!(is_read_only(scope), "{scope}");
        }
        for scope in [
            "",
            "openid email profile offline_access",
            "https://mail.google.com/",
            "https://www.googleapis.com/auth/gmail.modify",
            "https://www.googleapis.com/auth/gmail.readonly https://mail.google.com/",
            "https://outlook.office.com/IMAP.AccessAsUser.All offline_access",
            "Mail.ReadWrite",
            "Mail.Read Mail.ReadWrite",
            "mail-w",
            "mail-r mail-w",
            "https://www.fastmail.com/dev/protocol-imap",
            "mail",
            "bread",
            "spread",
            "mail:reader",
        ] {
            assert!(!is_read_only(scope), "{scope}");
        }
    }

    #[test]
    fn scopes_are_sets_of_words() {
        assert!(same("a b", "b  a a"));
        assert!(same("", " "));
        for (one, other) in [("a b", "a"), ("a", "a b"), ("a", "A"), ("", "a")] {
            assert!(!same(one, other), "{one} / {other}");
        }
    }
}
