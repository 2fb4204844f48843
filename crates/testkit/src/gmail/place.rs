//! The mailboxes of a Gmail account, the names they have in some languages, and how labels are spelled. Holds no mail.

/// A mailbox. All but [`Place::All`] are labels of a message.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    Inbox,
    All,
    Drafts,
    Important,
    Sent,
    Spam,
    Starred,
    Trash,
    /// A label of the user's own, decoded; `/` nests.
    Label(String),
}

/// What the account's special mailboxes are called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Language {
    #[default]
    English,
    /// `[Google Mail]/Bin`: the name of the root outlived a quarrel about the trademark (gmailgem, localized labels).
    British,
    German,
    Japanese,
}

/// The special mailboxes below the root, in the order in which they are listed.
pub(super) const SPECIAL: [Place; 7] = [
    Place::All,
    Place::Drafts,
    Place::Important,
    Place::Sent,
    Place::Spam,
    Place::Starred,
    Place::Trash,
];

impl Language {
    /// The mailbox that holds the special ones and cannot be opened.
    pub fn root(self) -> &'static str {
        match self {
            Self::British => "[Google Mail]",
            Self::English | Self::German | Self::Japanese => "[Gmail]",
        }
    }

    /// How a mailbox is called over IMAP, decoded.
    pub fn name(self, place: &Place) -> String {
        let names = match self {
            Self::English => [
                "All Mail",
                "Drafts",
                "Important",
                "Sent Mail",
                "Spam",
                "Starred",
                "Trash",
            ],
            Self::British => [
                "All Mail",
                "Drafts",
                "Important",
                "Sent Mail",
                "Spam",
                "Starred",
                "Bin",
            ],
            Self::German => [
                "Alle Nachrichten",
                "Entwürfe",
                "Wichtig",
                "Gesendet",
                "Spam",
                "Markiert",
                "Papierkorb",
            ],
            Self::Japanese => [
                "すべてのメール",
                "下書き",
                "重要",
                "送信済みメール",
                "迷惑メール",
                "スター付き",
                "ゴミ箱",
            ],
        };
        match place {
            Place::Inbox => "INBOX".to_owned(),
            Place::Label(name) => name.clone(),
            special => {
                let at = SPECIAL.iter().position(|one| one == special);
                format!("{}/{}", self.root(), names[at.expect("a special mailbox")])
            }
        }
    }

    /// What a name stands for; a label that need not exist for any other name.
    pub(super) fn place(self, name: &str) -> Place {
        if name.eq_ignore_ascii_case("INBOX") {
            return Place::Inbox;
        }
        let special = SPECIAL.into_iter().find(|place| self.name(place) == name);
        special.unwrap_or_else(|| Place::Label(name.to_owned()))
    }
}

impl Place {
    pub fn label(name: &str) -> Self {
        Self::Label(name.to_owned())
    }

    /// RFC 6154; `\Important` is RFC 8457's.
    pub(super) fn special_use(&self) -> Option<&'static str> {
        match self {
            Self::All => Some("\\All"),
            Self::Drafts => Some("\\Drafts"),
            Self::Important => Some("\\Important"),
            Self::Sent => Some("\\Sent"),
            Self::Spam => Some("\\Junk"),
            Self::Starred => Some("\\Flagged"),
            Self::Trash => Some("\\Trash"),
            Self::Inbox | Self::Label(_) => None,
        }
    }

    /// How `XLIST` marked it before Google took up RFC 6154 (Google's page on the extensions names the command).
    pub(super) fn xlist(&self) -> Option<&'static str> {
        match self {
            Self::Inbox => Some("\\Inbox"),
            Self::All => Some("\\AllMail"),
            Self::Spam => Some("\\Spam"),
            Self::Starred => Some("\\Starred"),
            other => other.special_use(),
        }
    }

    /// How `X-GM-LABELS` spells it. `\Draft` without an s is what parsers of other clients are tested with (inbox for
    /// node, "Escaped label").
    pub(super) fn system_label(&self) -> Option<&'static str> {
        match self {
            Self::Inbox => Some("\\Inbox"),
            Self::Drafts => Some("\\Draft"),
            Self::Important => Some("\\Important"),
            Self::Sent => Some("\\Sent"),
            Self::Spam => Some("\\Spam"),
            Self::Starred => Some("\\Starred"),
            Self::Trash => Some("\\Trash"),
            Self::All | Self::Label(_) => None,
        }
    }

    /// What a label in `X-GM-LABELS` stands for. MailKit's author lists the names with a backslash (S22.Imap, "about
    /// label"); `\Junk` and both spellings of drafts are taken, too.
    pub(super) fn of_label(text: &str) -> Self {
        match text.to_ascii_lowercase().as_str() {
            "\\inbox" => Self::Inbox,
            "\\draft" | "\\drafts" => Self::Drafts,
            "\\important" => Self::Important,
            "\\sent" => Self::Sent,
            "\\spam" | "\\junk" => Self::Spam,
            "\\starred" | "\\flagged" => Self::Starred,
            "\\trash" => Self::Trash,
            "\\allmail" | "\\all" => Self::All,
            _ => Self::Label(text.to_owned()),
        }
    }

    /// Where a message is alone: in nothing else, All Mail included.
    pub(super) fn is_apart(&self) -> bool {
        matches!(self, Self::Trash | Self::Spam)
    }
}
