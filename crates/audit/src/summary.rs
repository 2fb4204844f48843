//! What is kept of a call's arguments: where it looked and how far, never the words it looked for.

use mail::{AccountId, Flag, FolderName, MessageRef, Section};

use crate::fields::{Fields, Unkept, Value};

/// Each method takes one kind of thing that may be kept. There is none for free text, except as a digest.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Summary(Fields);

impl Summary {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn account(self, account: &AccountId) -> Self {
        Self(self.0.text("account", account.as_str()))
    }

    pub fn folder(self, folder: &FolderName) -> Self {
        Self(self.0.text("folder", folder.as_str()))
    }

    pub fn message(self, at: &MessageRef) -> Self {
        Self(self.0.text("message_id", at.to_string()))
    }

    /// Which part of the message: numbers and dots.
    pub fn part(self, part: &Section) -> Self {
        Self(self.0.text("part_id", part.to_string()))
    }

    /// Where a message was to go.
    pub fn target(self, account: &AccountId, folder: &FolderName) -> Self {
        let fields = self.0.text("target_account", account.as_str());
        Self(fields.text("target_folder", folder.as_str()))
    }

    pub fn transaction(self, id: &str) -> Self {
        Self(self.0.text("transaction", id))
    }

    /// System flags by name; keywords are the caller's own words, and kept as a digest.
    pub fn flags(self, name: &'static str, keywords: &'static str, flags: &[Flag]) -> Self {
        let system = |flag: &&Flag| flag.as_str().starts_with('\\');
        let known: Vec<String> = flags
            .iter()
            .filter(system)
            .map(|flag| flag.as_str().to_lowercase())
            .collect();
        let own: Vec<&str> = flags
            .iter()
            .filter(|flag| !system(flag))
            .map(Flag::as_str)
            .collect();
        let kept = match known.is_empty() {
            true => self,
            false => Self(self.0.with(name, Value::List(known))),
        };
        kept.digest_if(keywords, (!own.is_empty()).then(|| own.join(" ")))
    }

    pub fn number(self, name: &'static str, number: impl Into<u64>) -> Self {
        Self(self.0.number(name, number.into()))
    }

    pub fn number_if(self, name: &'static str, number: Option<impl Into<u64>>) -> Self {
        Self(self.0.number_if(name, number.map(Into::into)))
    }

    /// A choice that was made; one that was left to its default is not kept.
    pub fn switch_if(self, name: &'static str, switch: Option<bool>) -> Self {
        match switch {
            Some(switch) => Self(self.0.with(name, Value::Switch(switch))),
            None => self,
        }
    }

    /// A day, which says nothing that anybody wrote.
    pub fn date_if(self, name: &'static str, date: Option<jiff::civil::Date>) -> Self {
        match date {
            Some(date) => Self(self.0.text(name, date.to_string())),
            None => self,
        }
    }

    /// Words of the caller's own, as a keyed digest: the same words can be looked for, but not read.
    pub fn digest_if(self, name: &'static str, words: Option<String>) -> Self {
        match words {
            Some(words) => Self(self.0.with(name, Value::Digest(Unkept(words)))),
            None => self,
        }
    }

    pub(crate) fn fields(&self) -> &Fields {
        &self.0
    }
}
