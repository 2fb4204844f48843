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
use std::path::Path;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use browser::Browser;
use corpus::{Corpus, Warnings};
use mail::{MailPage, MailTally, MailTruth};
use pixels::Extent;
use sample::Sample;
use tally::Tally;
use techniques::Technique;

use crate::tree::{Outcome, at, root};

const PAGE: &str = "docs/visible.md";

/// The project's own techniques, with the truth that the tests of `html` use.
const PROPERTIES: &str = "crates/html/tests/chromium-properties.txt";
const TECHNIQUES: &str = "crates/html/tests/techniques.json";

/// Techniques that are kept beside the checkout.
const SHARED_TECHNIQUES: &str = "../shared/data/hidden-text/techniques.json";

const OWN_TECHNIQUES: &str = "techniques of the project";

const SEED: u64 = 23;
const RANDOM_PAGES: u64 = 3000;

/// Mail that is not drawn by then is left out.
const MAIL_TIME: Duration = Duration::from_secs(20 * 60);

/// What was drawn, kept so that a changed judge is measured without drawing again.
const RECORD: &str = "target/visible.json";

/// What a person sees, by pixels.
#[derive(Default, Serialize, Deserialize)]
struct Drawn {
    chromium: String,
    /// The name of each group of techniques, and its pages.
    techniques: Vec<(String, Vec<Sample>)>,
    random: Option<Vec<Sample>>,
    /// Mails that could not be drawn in time have no truth.
    mail: Option<Vec<Option<MailTruth>>>,
}

/// What the judge says of what was drawn.
struct Results {
    chromium: String,
    /// The name of each group, and its verdicts.
    techniques: Vec<(String, Tally)>,
    random: Option<Tally>,
    mail: Option<(MailTally, Warnings)>,
}

/// Measures everything and writes the page, or only a part and prints its table.
pub(crate) fn run(words: &[&str]) -> Outcome<String> {
    let drawn = match words {
        ["--recorded"] => recorded()?,
        _ => draw(words)?,
    };
    let results = judged(drawn)?;
    let report = page::page(&results);
    if words.is_empty() || words == ["--recorded"] {
        let path = root().join(PAGE);
        fs::write(&path, &report).map_err(|error| at(&path, &error))?;
    }
    let failures = page::failures(&results);
    if failures.is_empty() {
        Ok(report)
    } else {
        Err(format!("{report}\nvisible: {}", failures.join("; ")))
    }
}

fn draw(words: &[&str]) -> Outcome<Drawn> {
    let browser = Browser::start()?;
    let mut drawn = Drawn {
        chromium: browser.version()?,
        ..Drawn::default()
    };
    match words {
        [] => {
            drawn.techniques = draw_techniques(&browser)?;
            drawn.random = Some(draw_random(&browser, RANDOM_PAGES)?);
            drawn.mail = Some(draw_mail(&browser)?);
            let path = root().join(RECORD);
            let json = serde_json::to_vec(&drawn).map_err(|error| at(&path, &error))?;
            fs::write(&path, json).map_err(|error| at(&path, &error))?;
        }
        ["--techniques"] => drawn.techniques = draw_techniques(&browser)?,
        ["--random", count] => {
            let count = count
                .parse()
                .map_err(|_| "--random needs a number of pages".to_owned())?;
            drawn.random = Some(draw_random(&browser, count)?);
        }
        ["--mail"] => drawn.mail = Some(draw_mail(&browser)?),
        ["--file", path] => {
            let samples = samples_of(&techniques::read(Path::new(path))?);
            drawn.techniques = vec![((*path).to_owned(), measured(&browser, &samples)?)];
        }
        _ => {
            return Err(
                "usage: cargo xtask visible [--recorded | --techniques | --random N | --mail | --file PATH]"
                    .to_owned(),
            );
        }
    }
    Ok(drawn)
}

/// What the last whole run drew, and the techniques as they are now.
fn recorded() -> Outcome<Drawn> {
    let path = root().join(RECORD);
    let json = fs::read(&path).map_err(|error| at(&path, &error))?;
    let mut drawn: Drawn = serde_json::from_slice(&json).map_err(|error| at(&path, &error))?;
    let own = techniques::read(&root().join(TECHNIQUES))?;
    for (name, samples) in &mut drawn.techniques {
        if name == OWN_TECHNIQUES {
            *samples = own.iter().map(Technique::sample).collect();
        }
    }
    Ok(drawn)
}

fn judged(drawn: Drawn) -> Outcome<Results> {
    let mail = match drawn.mail {
        Some(truths) => Some(judge_mail(&truths)?),
        None => None,
    };
    let groups = drawn.techniques.into_iter();
    Ok(Results {
        chromium: drawn.chromium,
        techniques: groups
            .map(|(name, samples)| (name, Tally::of(&samples)))
            .collect(),
        random: drawn.random.map(|samples| Tally::of(&samples)),
        mail,
    })
}

/// Records the names of the properties that Chromium knows. A test of `html` wants each in a table.
fn record_properties(browser: &Browser) -> Outcome<()> {
    const NAMES: &str = "(() => { const names = new Set(getComputedStyle(document.body)); \
        for (const key in document.body.style) { \
            const name = key.replace(/[A-Z]/g, letter => '-' + letter.toLowerCase()); \
            for (const one of [name, '-' + name, '-webkit-' + name]) names.add(one); } \
        return [...names].filter(name => CSS.supports(name, 'initial') && !name.startsWith('--')) \
            .sort().join('\\n') + '\\n'; })()";
    let names = browser.tab()?.evaluate(NAMES)?;
    let names = names.as_str().ok_or("Chromium names no properties")?;
    let path = root().join(PROPERTIES);
    fs::write(&path, names).map_err(|error| at(&path, &error))
}

/// Draws both lists and the matrix; the truth of the project's own list is recorded.
fn draw_techniques(browser: &Browser) -> Outcome<Vec<(String, Vec<Sample>)>> {
    record_properties(browser)?;
    let own_path = root().join(TECHNIQUES);
    let mut own = techniques::read(&own_path)?;
    let samples = measured(browser, &samples_of(&own))?;
    for (technique, sample) in own.iter_mut().zip(&samples) {
        technique.pixels = sample.runs.iter().map(|run| run.pixels).sum();
    }
    techniques::write(&own_path, &own)?;
    let mut groups = vec![(OWN_TECHNIQUES.to_owned(), samples)];
    let shared = root().join(SHARED_TECHNIQUES);
    if shared.is_file() {
        let shared = samples_of(&techniques::read(&shared)?);
        let samples = measured(browser, &shared)?;
        groups.push(("techniques beside the checkout".to_owned(), samples));
    }
    let matrix = measured(browser, &techniques::matrix())?;
    groups.push(("attack matrix of `content`".to_owned(), matrix));
    Ok(groups)
}

fn samples_of(techniques: &[Technique]) -> Vec<Sample> {
    techniques.iter().map(Technique::sample).collect()
}

fn draw_random(browser: &Browser, count: u64) -> Outcome<Vec<Sample>> {
    let techniques = techniques::read(&root().join(TECHNIQUES))?;
    let pages: Vec<Sample> = (0..count)
        .map(|number| random::page(SEED, number, &techniques))
        .collect();
    let measured = pixels::in_tabs(browser, &pages, |tab, page| {
        pixels::measure(tab, page, Extent::Page)
    })?;
    Ok(measured.into_iter().flatten().collect())
}

fn measured(browser: &Browser, samples: &[Sample]) -> Outcome<Vec<Sample>> {
    let measured = pixels::in_tabs(browser, samples, |tab, sample| {
        pixels::measure(tab, sample, Extent::Window)
    })?;
    // A page that could not be drawn keeps the truth that was recorded earlier.
    let recorded = measured.into_iter().zip(samples);
    Ok(recorded
        .map(|(measured, sample)| measured.unwrap_or_else(|| sample.clone()))
        .collect())
}

fn draw_mail(browser: &Browser) -> Outcome<Vec<Option<MailTruth>>> {
    let pages = Corpus::open()?.pages(SEED);
    let end = Instant::now() + MAIL_TIME;
    let truths = pixels::in_tabs(browser, &pages, |tab, page: &MailPage| {
        if Instant::now() < end {
            mail::measure(tab, page).map(Some)
        } else {
            Ok(None)
        }
    })?;
    Ok(truths.into_iter().map(Option::flatten).collect())
}

fn judge_mail(truths: &[Option<MailTruth>]) -> Outcome<(MailTally, Warnings)> {
    let corpus = Corpus::open()?;
    let mut tally = MailTally::default();
    for (page, truth) in corpus.pages(SEED).iter().zip(truths) {
        match truth {
            Some(truth) => tally.add(page, truth),
            None => tally.skipped += 1,
        }
    }
    Ok((tally, corpus.warnings()))
}
