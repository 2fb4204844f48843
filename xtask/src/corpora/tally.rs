//! What the messages of one corpus came to, and what of it is a fault.

use std::collections::BTreeMap;

use testkit::corpora::{Reason, Sample, reason};

use super::look::Look;

/// Heap that one message may take.
pub(super) const MOST_MB: f64 = 64.0;

#[derive(Default)]
pub(super) struct Tally {
    pub messages: usize,
    pub panics: Vec<String>,
    pub slowest: Most,
    pub largest: Most,
    pub with_expected: usize,
    pub right: usize,
    /// How many differ for which reason.
    pub reasoned: BTreeMap<Reason, usize>,
    /// Differences that nobody gave a reason for, and reasons that explain nothing.
    wrong: Vec<String>,
    /// In how many messages each note stands.
    notes: BTreeMap<&'static str, usize>,
}

/// The greatest of some figures, and whose it is.
#[derive(Default)]
pub(super) struct Most {
    pub figure: f64,
    pub of: String,
}

impl Most {
    fn see(&mut self, figure: f64, of: &str) {
        if figure > self.figure {
            *self = Self {
                figure,
                of: of.to_owned(),
            };
        }
    }
}

impl Tally {
    pub(super) fn add(&mut self, sample: &Sample, look: Option<Look>) {
        self.messages += 1;
        let Some(look) = look else {
            self.panics.push(sample.name.clone());
            return;
        };
        self.slowest.see(look.ms, &sample.name);
        self.largest.see(look.peak_mb, &sample.name);
        for note in look.notes {
            *self.notes.entry(note).or_default() += 1;
        }
        if sample.expected.is_empty() {
            return;
        }
        self.with_expected += 1;
        match (look.missing.as_slice(), reason(&sample.name)) {
            ([], None) => self.right += 1,
            ([], Some(_)) => {
                let line = format!("{}: is as expected; take its reason out", sample.name);
                self.wrong.push(line);
            }
            (_, Some(reason)) => *self.reasoned.entry(reason).or_default() += 1,
            (missing, None) => {
                let lines = missing.iter().map(|one| format!("{}: {one}", sample.name));
                self.wrong.extend(lines);
            }
        }
    }

    pub(super) fn faults(&self) -> Vec<String> {
        let panics = self.panics.iter().map(|name| format!("{name}: panics"));
        let large = (self.largest.figure > MOST_MB).then(|| {
            let Most { figure, of } = &self.largest;
            format!("{of}: takes {figure:.0} MB, more than {MOST_MB:.0}")
        });
        panics
            .chain(large)
            .chain(self.wrong.iter().cloned())
            .collect()
    }

    /// What a table has no room for.
    pub(super) fn details(&self) -> Vec<String> {
        let most = [("slowest", &self.slowest), ("largest", &self.largest)];
        let most = most.map(|(what, most)| format!("{what}: {}", most.of));
        let notes = self.notes.iter();
        let notes = notes.map(|(note, count)| format!("{note}: {count} of {}", self.messages));
        most.into_iter().chain(notes).collect()
    }
}

#[cfg(test)]
mod tests {
    use testkit::corpora::Expected;

    use super::*;

    fn sample(name: &str) -> Sample {
        Sample {
            name: name.to_owned(),
            raw: Vec::new(),
            expected: vec![Expected::Text("a".to_owned())],
        }
    }

    fn look(peak_mb: f64, missing: &[&str]) -> Option<Look> {
        Some(Look {
            ms: 1.0,
            peak_mb,
            missing: missing.iter().map(|&one| one.to_owned()).collect(),
            notes: Vec::new(),
        })
    }

    #[test]
    fn what_nobody_explained_is_a_fault() {
        let known = "mail-parser/rfc/006";
        for (name, look, want) in [
            ("new", look(1.0, &[]), ""),
            ("new", look(1.0, &["b"]), "new: b"),
            ("new", look(65.0, &[]), "new: takes 65 MB, more than 64"),
            ("new", None, "new: panics"),
            (known, look(1.0, &["b"]), ""),
            (
                known,
                look(1.0, &[]),
                "mail-parser/rfc/006: is as expected; take its reason out",
            ),
        ] {
            let mut tally = Tally::default();
            tally.add(&sample(name), look);
            assert_eq!(tally.faults().join("\n"), want);
        }
    }
}
