//! The pages beside this folder, each with what Chromium shows of it.
//!
//! `MAILWARDEN_RECORD=1` writes the records again.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use content::{BodyWish, HtmlWish};
use testkit::Chromium;
use testkit::corpora::{difference, without_marks, words};

use crate::source;

/// A page of a mail, and what a reader sees of it.
struct Page {
    name: String,
    html: String,
    record: PathBuf,
}

impl Page {
    fn all() -> Vec<Self> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pages");
        let entries = folder
            .read_dir()
            .expect("the pages are part of the checkout");
        let mut pages: Vec<Self> = entries
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|end| end == "html"))
            .map(|path| Self {
                name: path.file_stem().unwrap().to_string_lossy().into_owned(),
                html: read(&path),
                record: path.with_extension("seen.txt"),
            })
            .collect();
        pages.sort_by(|a, b| a.name.cmp(&b.name));
        pages
    }

    /// The text that we make of it: all of it, and without what may not be visible.
    fn rendered(&self) -> [String; 2] {
        let wish = BodyWish {
            offset: 0,
            max_chars: 100_000,
            html: HtmlWish::Skip,
            attachment_text: None,
            only: None,
        };
        let raw = format!(
            "Subject: page\r\nContent-Type: text/html; charset=utf-8\r\n\r\n{}",
            self.html
        );
        let view = source::view(raw, &wish);
        let all = view.body_text.unwrap_or_default();
        let certain = source::without_uncertain(&all, &view.uncertain_text);
        [all, certain]
    }
}

#[expect(clippy::disallowed_methods, reason = "pages and records are files")]
fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Whether all of `part` stands in `whole`, in this order.
fn is_subsequence<T: PartialEq>(part: &[T], whole: &[T]) -> bool {
    let mut rest = whole.iter();
    part.iter().all(|word| rest.any(|other| other == word))
}

#[test]
fn pages_read_as_a_browser_shows_them() {
    let pages = Page::all();
    let mut report = String::new();
    for page in &pages {
        let [all, certain] = page.rendered().map(|text| words(&without_marks(&text)));
        let seen = words(&read(&page.record));
        // Nothing that is seen is left out, and nothing else is said to be visible.
        if !is_subsequence(&seen, &all) {
            let _ = writeln!(
                report,
                "{}, left out: {}",
                page.name,
                difference(&all, &seen)
            );
        }
        if !is_subsequence(&certain, &seen) {
            let _ = writeln!(
                report,
                "{}, shown: {}",
                page.name,
                difference(&certain, &seen)
            );
        }
    }
    assert!(pages.len() >= 60, "{} pages", pages.len());
    let count = report.lines().count();
    assert!(
        report.is_empty(),
        "{count} of {} pages differ:\n{report}",
        pages.len()
    );
}

#[test]
#[expect(clippy::disallowed_methods, reason = "records are written on demand")]
fn records_are_what_chromium_shows() {
    let Some(chromium) = Chromium::find() else {
        eprintln!("there is no Chromium here: the records stand for it");
        return;
    };
    let pages = Page::all();
    let htmls: Vec<&str> = pages.iter().map(|page| page.html.as_str()).collect();
    let seen = chromium.look(&htmls);
    let record = std::env::var_os("MAILWARDEN_RECORD").is_some();
    let mut report = String::new();
    for (page, seen) in pages.iter().zip(&seen) {
        if record {
            std::fs::write(&page.record, format!("{}\n", seen.text)).unwrap();
        }
        let (now, then) = (words(&seen.text), words(&read(&page.record)));
        if now != then {
            let _ = writeln!(report, "{}: {}", page.name, difference(&then, &now));
        }
    }
    assert!(
        report.is_empty(),
        "records that Chromium no longer agrees with:\n{report}"
    );
}
