//! Public sample messages, when they lie beside the checkout, with what their makers expect to be read in them.
//!
//! Shows no message and knows no view: whoever does hands in what is [`Shown`], and is told what differs.

mod mime4j;
mod parsed;
mod reasons;
mod words;

use std::path::{Path, PathBuf};

pub use reasons::{Reason, reason};
pub use words::{difference, without_marks, words};

/// One message, and what a reader of it should find.
#[derive(Clone, Debug)]
pub struct Sample {
    /// `corpus/name`.
    pub name: String,
    pub raw: Vec<u8>,
    pub expected: Vec<Expected>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Expected {
    Subject(String),
    /// The text of one part.
    Text(String),
    /// What a reader of an HTML page sees: all of it and nothing else.
    Page(String),
}

/// What a view shows of a message.
#[derive(Clone, Copy, Debug)]
pub struct Shown<'a> {
    pub subject: Option<&'a str>,
    /// The body, and the text of each attachment.
    pub texts: &'a [&'a str],
}

/// Where the public samples lie: beside the checkout.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/mail")
}

/// The samples of one corpus; none when they are not there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Corpus {
    MailParserLegacy,
    MailParserRfc,
    Mime4j,
}

impl Corpus {
    pub const ALL: [Self; 3] = [Self::MailParserLegacy, Self::MailParserRfc, Self::Mime4j];

    /// Also the folder.
    pub fn name(self) -> &'static str {
        match self {
            Self::MailParserLegacy => "mail-parser/legacy",
            Self::MailParserRfc => "mail-parser/rfc",
            Self::Mime4j => "mime4j",
        }
    }

    pub fn samples(self) -> Vec<Sample> {
        let (ending, expected): (_, fn(&Path) -> Vec<Expected>) = match self {
            Self::MailParserLegacy | Self::MailParserRfc => ("eml", parsed::expected),
            Self::Mime4j => ("msg", mime4j::expected),
        };
        let paths = files(&folder().join(self.name()), ending);
        paths
            .into_iter()
            .map(|path| Sample {
                name: format!("{}/{}", self.name(), stem(&path)),
                raw: std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display())),
                expected: expected(&path),
            })
            .collect()
    }
}

impl Sample {
    /// What is expected and not shown, each in a line.
    pub fn missing(&self, shown: &Shown<'_>) -> Vec<String> {
        let missing = self.expected.iter().filter_map(|one| match one {
            Expected::Subject(subject) => {
                let found = shown.subject.unwrap_or_default();
                (!same(subject, found)).then(|| format!("subject {found:?}, expected {subject:?}"))
            }
            Expected::Text(text) => words::absent(text, shown.texts),
            Expected::Page(seen) => {
                let ours = words(&without_marks(&shown.texts.join("\n")));
                let seen = words(seen);
                (ours != seen).then(|| difference(&ours, &seen))
            }
        });
        missing.collect()
    }
}

/// Alike but for white space.
fn same(one: &str, other: &str) -> bool {
    one.split_whitespace().eq(other.split_whitespace())
}

/// The files of a folder whose names end so, in order; none when there is no such folder.
pub fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let entries = folder.read_dir().into_iter().flatten();
    let mut paths: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|end| end == ending))
        .collect();
    paths.sort();
    paths
}

/// A file's name without its ending.
pub fn stem(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default();
    stem.to_string_lossy().into_owned()
}
