//! `cargo xtask visible`: what the judge of `html` says of pages beside what headless Chromium
//! draws.
//!
//! The truth is pixels: a text is visible when the picture changes with its letters. Techniques
//! (`techniques`), random pages (`random`) and real mail (`mail`) are drawn (`browser`, `pixels`),
//! compared with the judge (`sample`, `tally`), and written to one page (`page`).

mod browser;
mod corpus;
mod mail;
mod page;
mod pixels;
mod random;
mod sample;
mod tally;
mod techniques;

use std::fs;
use std::time::{Duration, Instant};

use browser::Browser;
use corpus::{Corpus, Warnings};
use mail::{MailPage, MailTally};
use sample::Sample;
use tally::Tally;
use techniques::Technique;

use crate::tree::{Outcome, at, root};

const PAGE: &str = "docs/visible.md";

/// The project's own techniques, with the truth that the tests of `html` use.
const TECHNIQUES: &str = "crates/html/tests/techniques.json";

/// Techniques that are kept beside the checkout.
const SHARED_TECHNIQUES: &str = "../shared/data/hidden-text/techniques.json";

const SEED: u64 = 23;
const RANDOM_PAGES: u64 = 3000;

/// Mail that is not drawn by then is left out.
const MAIL_TIME: Duration = Duration::from_secs(20 * 60);

/// What was measured.
#[derive(Default)]
struct Results {
    chromium: String,
    /// The name of each group, and its verdicts.
    techniques: Vec<(&'static str, Tally)>,
    random: Option<Tally>,
    mail: Option<(MailTally, Warnings)>,
}

/// Measures everything and writes the page, or only a part and prints its table.
pub(crate) fn run(words: &[&str]) -> Outcome<String> {
    let browser = Browser::start()?;
    let mut results = Results {
        chromium: browser.version()?,
        ..Results::default()
    };
    match words {
        [] => {
            results.techniques = of_techniques(&browser)?;
            results.random = Some(of_random(&browser, RANDOM_PAGES)?);
            results.mail = Some(of_mail(&browser)?);
            let path = root().join(PAGE);
            fs::write(&path, page::page(&results)).map_err(|error| at(&path, &error))?;
        }
        ["--techniques"] => results.techniques = of_techniques(&browser)?,
        ["--random", count] => {
            let count = count
                .parse()
                .map_err(|_| "--random needs a number of pages".to_owned())?;
            results.random = Some(of_random(&browser, count)?);
        }
        ["--mail"] => results.mail = Some(of_mail(&browser)?),
        _ => {
            return Err(
                "usage: cargo xtask visible [--techniques | --random N | --mail]".to_owned(),
            );
        }
    }
    let report = page::page(&results);
    let failures = page::failures(&results);
    if failures.is_empty() {
        Ok(report)
    } else {
        Err(format!("{report}\nvisible: {}", failures.join("; ")))
    }
}

/// Draws both lists and the matrix; the truth of the project's own list is recorded.
fn of_techniques(browser: &Browser) -> Outcome<Vec<(&'static str, Tally)>> {
    let own_path = root().join(TECHNIQUES);
    let mut own = techniques::read(&own_path)?;
    let samples = drawn(browser, &samples_of(&own))?;
    for (technique, sample) in own.iter_mut().zip(&samples) {
        technique.pixels = sample.runs.iter().map(|run| run.pixels).sum();
    }
    techniques::write(&own_path, &own)?;
    let mut groups = vec![("techniques of the project", Tally::of(&samples))];
    let shared = root().join(SHARED_TECHNIQUES);
    if shared.is_file() {
        let samples = drawn(browser, &samples_of(&techniques::read(&shared)?))?;
        groups.push(("techniques beside the checkout", Tally::of(&samples)));
    }
    let matrix = drawn(browser, &techniques::matrix())?;
    groups.push(("attack matrix of `content`", Tally::of(&matrix)));
    Ok(groups)
}

fn samples_of(techniques: &[Technique]) -> Vec<Sample> {
    techniques.iter().map(Technique::sample).collect()
}

fn of_random(browser: &Browser, count: u64) -> Outcome<Tally> {
    let techniques = techniques::read(&root().join(TECHNIQUES))?;
    let pages: Vec<Sample> = (0..count)
        .map(|number| random::page(SEED, number, &techniques))
        .collect();
    Ok(Tally::of(&drawn(browser, &pages)?))
}

fn drawn(browser: &Browser, samples: &[Sample]) -> Outcome<Vec<Sample>> {
    pixels::in_tabs(browser, samples, pixels::measure)
}

fn of_mail(browser: &Browser) -> Outcome<(MailTally, Warnings)> {
    let corpus = Corpus::open()?;
    let pages = corpus.pages(SEED);
    let end = Instant::now() + MAIL_TIME;
    let truths = pixels::in_tabs(browser, &pages, |tab, page: &MailPage| {
        if Instant::now() < end {
            mail::measure(tab, page).map(Some)
        } else {
            Ok(None)
        }
    })?;
    let mut tally = MailTally::default();
    for (page, truth) in pages.iter().zip(truths) {
        match truth {
            Some(truth) => tally.add(page, &truth),
            None => tally.skipped += 1,
        }
    }
    Ok((tally, corpus.warnings()))
}
