//! Where a view rightly differs from what a corpus expects: each message by name, each with one of a few reasons.

/// Why a view may differ.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Reason {
    CharsetGuessed,
    HtmlShown,
    NoText,
    HeaderLines,
    LongBoundary,
}

impl Reason {
    pub const ALL: [Self; 5] = [
        Self::CharsetGuessed,
        Self::HtmlShown,
        Self::NoText,
        Self::HeaderLines,
        Self::LongBoundary,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::CharsetGuessed => "charset guessed",
            Self::HtmlShown => "HTML shown",
            Self::NoText => "no text",
            Self::HeaderLines => "header lines",
            Self::LongBoundary => "long boundary",
        }
    }

    pub fn text(self) -> &'static str {
        match self {
            Self::CharsetGuessed => {
                "no charset or a wrong one is declared: the corpus expects replacement characters, the view shows the \
                 letters"
            }
            Self::HtmlShown => {
                "versions of a text say different things: the corpus expects all of them, the view shows the one that \
                 people see, the HTML as a rule, and warns"
            }
            Self::NoText => {
                "a part that calls itself sound or image and holds words: the corpus expects them, the view lists an \
                 attachment"
            }
            Self::HeaderLines => {
                "lines without a colon stand where the header does: the corpus begins the body there, the view leaves \
                 the header as long as IMAP servers do, up to the blank line"
            }
            Self::LongBoundary => {
                "the boundary is longer than RFC 2046 allows: the corpus compares all of it, the view the beginning, \
                 as Dovecot does"
            }
        }
    }
}

const DIFFER: &[(&str, Reason)] = &[
    ("mail-parser/legacy/010", Reason::CharsetGuessed),
    ("mail-parser/legacy/015", Reason::HtmlShown),
    ("mail-parser/legacy/018", Reason::HtmlShown),
    ("mail-parser/legacy/020", Reason::CharsetGuessed),
    ("mail-parser/legacy/022", Reason::CharsetGuessed),
    ("mail-parser/legacy/026", Reason::CharsetGuessed),
    ("mail-parser/legacy/027", Reason::CharsetGuessed),
    ("mail-parser/legacy/033", Reason::CharsetGuessed),
    ("mail-parser/legacy/035", Reason::HtmlShown),
    ("mail-parser/legacy/052", Reason::CharsetGuessed),
    ("mail-parser/rfc/000", Reason::NoText),
    ("mail-parser/rfc/003", Reason::HtmlShown),
    ("mail-parser/rfc/006", Reason::HtmlShown),
    ("mail-parser/rfc/007", Reason::HtmlShown),
    (
        "mime4j/malformedHeaderStartsBody-nocrlfcrlf",
        Reason::HeaderLines,
    ),
    (
        "mime4j/malformedHeaderStartsBody-noheader",
        Reason::HeaderLines,
    ),
    ("mime4j/very-long-boundary", Reason::LongBoundary),
    ("mime4j/very-very-long-boundary", Reason::LongBoundary),
];

/// Why this message may be shown otherwise than its corpus expects.
pub fn reason(name: &str) -> Option<Reason> {
    let found = DIFFER.iter().find(|(one, _)| *one == name);
    found.map(|(_, reason)| *reason)
}
