//! A page with runs of text, and what is to be known of each run: the pixels it changes and the
//! judge's verdict.

use serde::{Deserialize, Serialize};

/// More differing pixels than this are seen; fewer than one are not. Between both a text is faint,
/// and no verdict on it is a miss.
const FAINT_PIXELS: usize = 60;

/// A page and its runs of text.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Sample {
    pub(super) name: String,
    pub(super) html: String,
    pub(super) runs: Vec<Run>,
}

/// A run of text that no other run of the page holds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Run {
    pub(super) secret: String,
    /// How many pixels differ when it has other letters.
    pub(super) pixels: usize,
}

/// What a person sees of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Truth {
    Hidden,
    Visible,
    Faint,
    /// It could not be measured.
    Unknown,
}

/// What the judge says of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Verdict {
    Visible,
    Uncertain,
    Hidden,
}

/// A page as the judge renders it.
pub(super) struct Judgement {
    /// The whole text, in lower case.
    pub(super) text: String,
    /// The text without what is uncertain, in lower case.
    pub(super) certain: String,
    /// Characters of the text that are uncertain, white space aside.
    pub(super) uncertain_chars: usize,
    /// Characters of the text, white space aside.
    pub(super) chars: usize,
    /// Why text is hidden or uncertain.
    pub(super) reasons: String,
}

impl Sample {
    /// A page with one run of text.
    pub(super) fn of_one(name: String, html: &str, secret: &str) -> Self {
        Self {
            name,
            html: html.replace('§', secret),
            runs: vec![Run::new(secret.to_owned())],
        }
    }
}

impl Run {
    pub(super) fn new(secret: String) -> Self {
        Self { secret, pixels: 0 }
    }

    pub(super) fn truth(&self) -> Truth {
        match self.pixels {
            0 => Truth::Hidden,
            1..=FAINT_PIXELS => Truth::Faint,
            _ => Truth::Visible,
        }
    }
}

impl Judgement {
    pub(super) fn of(html: &str) -> Self {
        let rendered = html::to_text(html, usize::MAX);
        let mut runs = rendered.uncertain.iter().peekable();
        let (mut certain, mut reasons) = (String::new(), Vec::new());
        let (mut uncertain_chars, mut chars) = (0, 0);
        for (at, char) in rendered.text.chars().enumerate() {
            while runs.next_if(|run| run.end <= at).is_some() {}
            let counts = usize::from(!char.is_whitespace());
            chars += counts;
            if runs.peek().is_some_and(|run| run.start <= at) {
                uncertain_chars += counts;
                // Words on either side do not become one.
                certain.push(' ');
            } else {
                certain.extend(char.to_lowercase());
            }
        }
        for run in &rendered.uncertain {
            reasons.push(format!("may be {}", run.reason.name()));
        }
        for (reason, _) in rendered.hidden.reasons() {
            reasons.push(format!("is {}", reason.name()));
        }
        reasons.dedup();
        Self {
            text: rendered.text.to_lowercase(),
            certain,
            uncertain_chars,
            chars,
            reasons: reasons.join(", "),
        }
    }

    /// The least careful verdict on any word of a run.
    pub(super) fn of_run(&self, run: &Run) -> Verdict {
        let is_in = |text: &str| {
            run.secret
                .split(' ')
                .any(|word| text.contains(&word.to_lowercase()))
        };
        if is_in(&self.certain) {
            Verdict::Visible
        } else if is_in(&self.text) {
            Verdict::Uncertain
        } else {
            Verdict::Hidden
        }
    }
}
