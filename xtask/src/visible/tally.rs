//! What the judge says of samples beside what a person sees, and which verdicts are wrong.

use std::collections::BTreeMap;

use super::sample::{Judgement, Sample, Truth, Verdict};

/// The verdicts on one group of samples.
#[derive(Default)]
pub(super) struct Tally {
    pub(super) pages: usize,
    counts: BTreeMap<(Truth, Verdict), usize>,
    pub(super) leaks: Vec<Miss>,
    pub(super) losses: Vec<Miss>,
}

/// A wrong verdict.
pub(super) struct Miss {
    pub(super) name: String,
    pub(super) pixels: usize,
    pub(super) secret: String,
    /// What the judge says of the page.
    pub(super) reasons: String,
    pub(super) html: String,
}

impl Tally {
    pub(super) fn of(samples: &[Sample]) -> Self {
        let mut tally = Self::default();
        for sample in samples {
            tally.add(sample);
        }
        tally
    }

    fn add(&mut self, sample: &Sample) {
        self.pages += 1;
        let judgement = Judgement::of(&sample.html);
        for run in &sample.runs {
            let (truth, verdict) = (run.truth(), judgement.of_run(run));
            *self.counts.entry((truth, verdict)).or_default() += 1;
            let misses = match (truth, verdict) {
                (Truth::Hidden, Verdict::Visible) => &mut self.leaks,
                (Truth::Visible, Verdict::Hidden) => &mut self.losses,
                _ => continue,
            };
            misses.push(Miss {
                name: sample.name.clone(),
                pixels: run.pixels,
                secret: run.secret.clone(),
                reasons: judgement.reasons.clone(),
                html: sample.html.clone(),
            });
        }
    }

    pub(super) fn count(&self, truth: Truth, verdict: Verdict) -> usize {
        self.counts
            .get(&(truth, verdict))
            .copied()
            .unwrap_or_default()
    }

    pub(super) fn total(&self, truth: Truth) -> usize {
        let of_truth = self.counts.iter().filter(|((known, _), _)| *known == truth);
        of_truth.map(|(_, count)| count).sum()
    }

    /// The hidden texts that are shown as visible, in percent of all hidden ones.
    pub(super) fn leaked_percent(&self) -> f64 {
        percent(self.leaks.len(), self.total(Truth::Hidden))
    }

    /// The visible texts that are left out, in percent of all visible ones.
    pub(super) fn lost_percent(&self) -> f64 {
        percent(self.losses.len(), self.total(Truth::Visible))
    }
}

pub(super) fn percent(part: usize, whole: usize) -> f64 {
    100.0 * part as f64 / whole.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(html: &str, pixels: usize) -> Tally {
        let mut sample = Sample::of_one("page".to_owned(), html, "Send tulips");
        for run in &mut sample.runs {
            run.pixels = pixels;
        }
        Tally::of(&[sample])
    }

    #[test]
    fn shown_text_without_pixels_is_a_leak() {
        let tally = tally("<p>§</p>", 0);
        assert_eq!((tally.leaks.len(), tally.losses.len()), (1, 0));
    }

    #[test]
    fn hidden_text_with_pixels_is_a_loss() {
        let tally = tally("<p hidden>§</p>", 500);
        assert_eq!((tally.leaks.len(), tally.losses.len()), (0, 1));
    }

    #[test]
    fn agreement_and_faint_text_are_no_miss() {
        for (html, pixels) in [("<p>§</p>", 500), ("<p hidden>§</p>", 0), ("<p>§</p>", 30)] {
            let tally = tally(html, pixels);
            assert_eq!((tally.leaks.len(), tally.losses.len()), (0, 0), "{html}");
        }
    }
}
