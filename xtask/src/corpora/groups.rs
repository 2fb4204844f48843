//! Where sample messages come from: public corpora beside the checkout, and the project's own.

use std::fs;
use std::path::{Path, PathBuf};

use testkit::corpora::{Corpus, Expected, Sample, files, stem};
use testkit::{Delivery, Mailgen, fixtures, hostile};

use crate::tree::{Outcome, at, root};

const GENERATED: u64 = 500;

/// Messages of one origin; loaded when they are looked at, and let go again.
pub(super) enum Group {
    Public(Corpus),
    Demo,
    Pages,
    Fixtures,
    Generated,
    Hostile,
    /// Whatever lies in a folder.
    Files(String, Vec<PathBuf>),
}

pub(super) fn all() -> Vec<Group> {
    let public = Corpus::ALL.into_iter().map(Group::Public);
    let own = [
        Group::Demo,
        Group::Pages,
        Group::Fixtures,
        Group::Generated,
        Group::Hostile,
    ];
    public.chain(own).collect()
}

impl Group {
    /// Every file below a folder.
    pub(super) fn folder(folder: &Path) -> Outcome<Self> {
        let mut paths = Vec::new();
        let mut open = vec![folder.to_owned()];
        while let Some(folder) = open.pop() {
            for entry in folder.read_dir().map_err(|error| at(&folder, &error))? {
                let path = entry.map_err(|error| at(&folder, &error))?.path();
                if path.is_dir() {
                    open.push(path);
                } else {
                    paths.push(path);
                }
            }
        }
        paths.sort();
        Ok(Self::Files(stem(folder), paths))
    }

    pub(super) fn name(&self) -> &str {
        match self {
            Self::Public(corpus) => corpus.name(),
            Self::Demo => "the demo's mailbox",
            Self::Pages => "HTML pages, with what Chromium shows",
            Self::Fixtures => "fixtures of the tests",
            Self::Generated => "generated mail",
            Self::Hostile => "hostile mail",
            Self::Files(name, _) => name,
        }
    }

    pub(super) fn samples(&self) -> Box<dyn Iterator<Item = Sample> + '_> {
        match self {
            Self::Public(corpus) => Box::new(corpus.samples().into_iter()),
            Self::Demo => Box::new(demo().into_iter()),
            Self::Pages => Box::new(pages().into_iter()),
            Self::Fixtures => Box::new(by_hand().into_iter()),
            Self::Generated => {
                let generator = Mailgen::new(1);
                let mails: Vec<Delivery> = generator.messages(GENERATED).collect();
                let numbered = mails.into_iter().zip(1..);
                Box::new(numbered.map(|(mail, n)| sample(format!("generated {n}"), mail.raw)))
            }
            Self::Hostile => Box::new(
                hostile::ALL
                    .iter()
                    .map(|attack| sample(attack.name.to_owned(), attack.raw())),
            ),
            Self::Files(_, paths) => Box::new(paths.iter().filter_map(|path| {
                let raw = fs::read(path).ok()?;
                Some(sample(path.display().to_string(), raw))
            })),
        }
    }
}

fn sample(name: String, raw: Vec<u8>) -> Sample {
    Sample {
        name,
        raw,
        expected: Vec::new(),
    }
}

fn demo() -> Vec<Sample> {
    let folders = root().join("crates/mailwarden/sample").read_dir();
    let folders = folders.into_iter().flatten().filter_map(Result::ok);
    let paths = folders.flat_map(|folder| files(&folder.path(), "eml"));
    paths
        .filter_map(|path| Some(sample(stem(&path), fs::read(&path).ok()?)))
        .collect()
}

fn pages() -> Vec<Sample> {
    let paths = files(&root().join("crates/content/tests/pages"), "html").into_iter();
    let read = |path: &Path| fs::read_to_string(path).unwrap_or_default();
    paths
        .map(|path| Sample {
            name: format!("pages/{}", stem(&path)),
            raw: format!(
                "Subject: page\r\nContent-Type: text/html; charset=utf-8\r\n\r\n{}",
                read(&path)
            )
            .into_bytes(),
            expected: vec![Expected::Page(read(&path.with_extension("seen.txt")))],
        })
        .collect()
}

fn by_hand() -> Vec<Sample> {
    let made: [(&str, Vec<u8>); 10] = [
        ("plain", fixtures::plain()),
        ("html_only", fixtures::html_only()),
        ("alternative", fixtures::alternative()),
        ("with_attachment", fixtures::with_attachment()),
        ("nested_rfc822", fixtures::nested_rfc822()),
        ("calendar", fixtures::calendar()),
        ("two_text_parts", fixtures::two_text_parts()),
        ("unnamed_inline", fixtures::unnamed_inline()),
        ("big", fixtures::big(25 << 20)),
        ("deep_multipart", fixtures::deep_multipart(100)),
    ];
    made.into_iter()
        .map(|(name, raw)| sample(format!("fixtures/{name}"), raw))
        .collect()
}
