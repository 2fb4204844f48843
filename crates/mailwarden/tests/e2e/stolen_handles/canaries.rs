//! Words that stand in one folder of one account and nowhere else, and where they are heard.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use mail::Level;
use serde_json::Value;

const BEGIN: &str = "kanarienvogel-";

/// Where in a message a word stands.
#[derive(Clone, Copy)]
pub(super) enum Place {
    Subject,
    Header,
    Body,
    FileName,
    FileText,
}

impl Place {
    pub(super) const ALL: [Self; 5] = [
        Self::Subject,
        Self::Header,
        Self::Body,
        Self::FileName,
        Self::FileText,
    ];

    /// Who may read it.
    pub(super) fn level(self) -> Level {
        match self {
            Self::Subject => Level::Envelope,
            Self::Header => Level::Headers,
            Self::Body => Level::Body,
            Self::FileName | Self::FileText => Level::Full,
        }
    }

    pub(super) fn word(self, account: usize, folder: &str) -> String {
        let place = match self {
            Self::Subject => "subject",
            Self::Header => "header",
            Self::Body => "body",
            Self::FileName => "filename",
            Self::FileText => "filetext",
        };
        format!("{BEGIN}{account}-{}-{place}", folder.to_lowercase())
    }
}

/// A message that holds all of them.
pub(super) fn letter(account: usize, folder: &str) -> Vec<u8> {
    let word = |place: Place| place.word(account, folder);
    format!(
        "Date: Tue, 03 Nov 2026 09:12:00 +0100\r\nFrom: anna@example.com\r\nTo: alice@example.org\r\n\
         Subject: {}\r\nX-Note: {}\r\nMIME-Version: 1.0\r\n\
         Content-Type: multipart/mixed; boundary=\"=_b\"\r\n\r\n\
         --=_b\r\nContent-Type: text/plain\r\n\r\n{}\r\n\
         --=_b\r\nContent-Type: text/csv\r\nContent-Disposition: attachment; filename=\"{}.csv\"\r\n\r\n{}\r\n\
         --=_b--\r\n",
        word(Place::Subject),
        word(Place::Header),
        word(Place::Body),
        word(Place::FileName),
        word(Place::FileText),
    )
    .into_bytes()
}

/// All words in an answer, those in base64 too.
pub(super) fn heard(answer: &Value) -> BTreeSet<String> {
    match answer {
        Value::String(text) => {
            let mut words = in_text(text);
            if let Ok(bytes) = STANDARD.decode(text) {
                words.extend(in_text(&String::from_utf8_lossy(&bytes)));
            }
            words
        }
        Value::Array(list) => list.iter().flat_map(heard).collect(),
        Value::Object(map) => map.values().flat_map(heard).collect(),
        _ => BTreeSet::new(),
    }
}

pub(super) fn in_text(text: &str) -> BTreeSet<String> {
    let text = text.to_lowercase();
    // What stands before the first is not about any.
    let found = text.split(BEGIN).skip(1).map(|rest| {
        let of_word = |sign: &char| sign.is_ascii_alphanumeric() || *sign == '-';
        let rest: String = rest.chars().take_while(of_word).collect();
        format!("{BEGIN}{rest}")
    });
    found.collect()
}
