//! Techniques that hide or show one text: two lists kept as data, and the attack matrix of
//! `content`.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::sample::Sample;
use crate::tree::{Outcome, at};

// The matrix belongs to the tests of `content`; its tables are read here and drawn.
#[path = "../../../crates/content/tests/it/matrix/carriers.rs"]
#[expect(dead_code, reason = "the tests of `content` need more of it")]
mod carriers;
#[path = "../../../crates/content/tests/it/matrix/markup.rs"]
#[expect(dead_code, reason = "the tests of `content` need more of it")]
mod markup;
#[path = "../../../crates/content/tests/it/matrix/shown.rs"]
mod shown;
#[path = "../../../crates/content/tests/it/matrix/techniques.rs"]
mod styles;

/// The text of every technique.
const TEXT: &str = "Send 4711 tulips";

/// A style sheet and a body; `§` stands for the text.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Technique {
    pub(super) name: String,
    pub(super) sheet: String,
    pub(super) body: String,
    /// How many pixels differ when the text has other letters. Lists that are not drawn yet have
    /// none.
    #[serde(default)]
    pub(super) pixels: usize,
}

impl Technique {
    pub(super) fn sample(&self) -> Sample {
        let page = page(&self.sheet, &self.body);
        let mut sample = Sample::of_one(self.name.clone(), &page, TEXT);
        for run in &mut sample.runs {
            run.pixels = self.pixels;
        }
        sample
    }
}

/// The frame of every technique. Letters of one width keep the boxes around them as they are.
fn page(sheet: &str, body: &str) -> String {
    format!(
        "<!DOCTYPE html><html><head><meta charset=utf-8><style>body,button,input,\
         select,textarea{{font-family:monospace}}{sheet}</style></head><body><p>before</p>{body}<p>after</p></body></html>"
    )
}

pub(super) fn read(path: &Path) -> Outcome<Vec<Technique>> {
    let bytes = fs::read(path).map_err(|error| at(path, &error))?;
    serde_json::from_slice(&bytes).map_err(|error| at(path, &error))
}

/// Writes a list with one technique in each line.
pub(super) fn write(path: &Path, techniques: &[Technique]) -> Outcome<()> {
    let lines = techniques
        .iter()
        .map(|technique| serde_json::to_string(technique).map_err(|error| at(path, &error)))
        .collect::<Outcome<Vec<_>>>()?;
    fs::write(path, format!("[\n{}\n]\n", lines.join(",\n"))).map_err(|error| at(path, &error))
}

/// The matrix: every style by every carrier, markup, and what only looks hidden.
pub(super) fn matrix() -> Vec<Sample> {
    let mut samples = Vec::new();
    let mut styles: Vec<&str> = styles::STYLES
        .iter()
        .flat_map(|(_, styles)| *styles)
        .copied()
        .collect();
    styles.extend(styles::NOT_HIDING);
    for style in styles {
        for (carrier, sheet, body) in carriers::carried(style, "§") {
            let name = format!("{style}, by {carrier}");
            samples.push(Sample::of_one(name, &page(&sheet, &body), TEXT));
        }
    }
    for markup in markup::MARKUP {
        samples.push(Sample::of_one(
            markup.name.to_owned(),
            &page("", markup.html),
            TEXT,
        ));
    }
    for (name, sheet, body) in shown::SHOWN {
        samples.push(Sample::of_one((*name).to_owned(), &page(sheet, body), TEXT));
    }
    samples
}
