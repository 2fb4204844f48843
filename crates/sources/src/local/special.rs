//! What a folder is for, told by its name alone: local stores keep no attributes of RFC 6154.

use mail::SpecialUse;

/// What well-known names are for, compared without regard to ASCII case.
const KNOWN: [(&str, SpecialUse); 15] = [
    ("Archive", SpecialUse::Archive),
    ("Archives", SpecialUse::Archive),
    ("Drafts", SpecialUse::Drafts),
    ("Junk", SpecialUse::Junk),
    ("Junk E-mail", SpecialUse::Junk),
    ("Junk Email", SpecialUse::Junk),
    ("Spam", SpecialUse::Junk),
    ("Sent", SpecialUse::Sent),
    ("Sent Items", SpecialUse::Sent),
    ("Sent Mail", SpecialUse::Sent),
    ("Sent Messages", SpecialUse::Sent),
    ("Bin", SpecialUse::Trash),
    ("Trash", SpecialUse::Trash),
    ("Deleted Items", SpecialUse::Trash),
    ("Deleted Messages", SpecialUse::Trash),
];

/// Of a name with `/` between its parts, as seen from its account.
pub(crate) fn special_use(name: &str) -> Option<SpecialUse> {
    // QUIRK: Courier and others keep every folder below INBOX.
    let name = name.strip_prefix("INBOX/").unwrap_or(name);
    KNOWN
        .iter()
        .find(|(known, _)| known.eq_ignore_ascii_case(name))
        .map(|(_, use_)| *use_)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn well_known_names_have_a_use() {
        for (name, use_) in [
            ("Sent", Some(SpecialUse::Sent)),
            ("sent items", Some(SpecialUse::Sent)),
            ("Spam", Some(SpecialUse::Junk)),
            ("INBOX/Trash", Some(SpecialUse::Trash)),
            ("Work/Sent", None),
            ("INBOX", None),
        ] {
            assert_eq!(special_use(name), use_, "{name}");
        }
    }
}
