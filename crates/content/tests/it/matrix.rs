//! The attack matrix: every way to hide text, by every carrier, in every field; and what only looks hidden.
//!
//! Each case hides one secret between two words that everybody sees. The tables stand in the files below.

mod carriers;
mod fields;
mod markup;
mod shown;
mod techniques;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use carriers::{PLAINEST, carried};
pub(crate) use fields::{Field, Outputs};
use markup::{MARKUP, Noted};
use shown::SHOWN;
use techniques::{NOT_HIDING, STYLES};

/// One page with a secret, or with a word that only looks like one.
pub(crate) struct Case {
    pub(crate) group: &'static str,
    pub(crate) technique: String,
    pub(crate) carrier: &'static str,
    pub(crate) html: String,
    pub(crate) secret: String,
    /// The words before and after it.
    pub(crate) around: [String; 2],
    noted: Noted,
}

impl Case {
    fn new(
        number: usize,
        group: &'static str,
        technique: &str,
        make: impl FnOnce(&str) -> Filled,
    ) -> Self {
        let secret = format!("hush{number:04}");
        let around = [format!("before{number:04}"), format!("after{number:04}")];
        let filled = make(&format!("Obey {secret} now"));
        let head = format!(
            "<meta charset=utf-8><title></title><style>{}</style>",
            filled.sheet
        );
        let html = format!(
            "<!DOCTYPE html><html><head>{head}</head><body><p>{}</p>{}<p>{}</p></body></html>",
            around[0], filled.body, around[1]
        );
        Self {
            group,
            technique: technique.to_owned(),
            carrier: filled.carrier,
            html,
            secret,
            around,
            noted: filled.noted,
        }
    }

    fn is_plainest(&self) -> bool {
        PLAINEST.contains(&self.carrier) || self.group == "markup"
    }
}

struct Filled {
    carrier: &'static str,
    sheet: String,
    body: String,
    noted: Noted,
}

/// Every page that hides something: techniques by carriers, and markup.
pub(crate) fn hiding() -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    for (group, techniques) in STYLES {
        for technique in *techniques {
            let carriers = carried(technique, "").len();
            for nth in 0..carriers {
                let make = |text: &str| {
                    let (carrier, sheet, body) = carried(technique, text).swap_remove(nth);
                    Filled {
                        carrier,
                        sheet,
                        body,
                        noted: Noted::Yes,
                    }
                };
                cases.push(Case::new(cases.len(), group, technique, make));
            }
        }
    }
    for markup in MARKUP {
        let make = |text: &str| Filled {
            carrier: "markup",
            sheet: String::new(),
            body: markup.html.replace('§', text),
            noted: markup.noted,
        };
        cases.push(Case::new(cases.len(), "markup", markup.name, make));
    }
    cases
}

/// Every page whose secret is seen.
pub(crate) fn showing() -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    for (name, sheet, body) in SHOWN {
        let make = |text: &str| Filled {
            carrier: "as written",
            sheet: (*sheet).to_owned(),
            body: body.replace('§', text),
            noted: Noted::NoText,
        };
        cases.push(Case::new(cases.len(), "shown", name, make));
    }
    for technique in NOT_HIDING {
        let carriers = carried(technique, "").len();
        for nth in 0..carriers {
            let make = |text: &str| {
                let (carrier, sheet, body) = carried(technique, text).swap_remove(nth);
                Filled {
                    carrier,
                    sheet,
                    body,
                    noted: Noted::NoText,
                }
            };
            cases.push(Case::new(cases.len(), "not hiding", technique, make));
        }
    }
    cases
}

/// Failures by technique, so that one cause reads as one entry.
#[derive(Default)]
pub(crate) struct Failures {
    by_technique: BTreeMap<String, Failure>,
}

#[derive(Default)]
struct Failure {
    what: BTreeSet<String>,
    carriers: BTreeSet<&'static str>,
    /// The first page that failed.
    html: String,
}

impl Failures {
    pub(crate) fn add(&mut self, case: &Case, what: impl Into<String>) {
        let key = format!("{}: {}", case.group, case.technique);
        let failure = self.by_technique.entry(key).or_default();
        failure.what.insert(what.into());
        failure.carriers.insert(case.carrier);
        if failure.html.is_empty() {
            failure.html.clone_from(&case.html);
        }
    }

    pub(crate) fn assert_none(&self) {
        let mut report = String::new();
        for (technique, failure) in &self.by_technique {
            let list = |all: &mut dyn Iterator<Item = &str>| all.collect::<Vec<_>>().join(", ");
            let what = list(&mut failure.what.iter().map(String::as_str));
            let carriers = list(&mut failure.carriers.iter().copied());
            let _ = writeln!(
                report,
                "{technique}\n  {what}\n  by {carriers}\n  {}",
                failure.html
            );
        }
        let kinds = self.by_technique.len();
        assert!(report.is_empty(), "{kinds} techniques failed:\n{report}");
    }
}

/// Looks at one case in one field.
fn check(case: &Case, field: Field, failures: &mut Failures) {
    let found = Outputs::of(&case.html, field);
    for (place, text) in found.certain_texts() {
        if text.contains(&case.secret) || text.contains("Obey") {
            failures.add(case, format!("secret in {place} ({field:?})"));
        }
    }
    // A list has no marks: what is uncertain is left out of its snippets.
    let is_left_out =
        || field == Field::Snippet && Outputs::of(&case.html, Field::Body).is_uncertain;
    if !case.around.iter().all(|word| found.all_show(word)) && !is_left_out() {
        failures.add(case, format!("visible text lost ({field:?})"));
    }
    if case.noted == Noted::Yes && field.tells() && !found.tells_of_hidden_text() {
        failures.add(case, format!("not told ({field:?})"));
    }
}

#[test]
fn no_hidden_text_reaches_a_body() {
    let cases = hiding();
    let mut failures = Failures::default();
    for case in &cases {
        check(case, Field::Body, &mut failures);
    }
    assert!(cases.len() >= 200, "{}", cases.len());
    failures.assert_none();
}

#[test]
fn no_hidden_text_reaches_any_other_field() {
    let cases: Vec<Case> = hiding().into_iter().filter(Case::is_plainest).collect();
    let fields = [
        Field::Html,
        Field::Snippet,
        Field::Attachment,
        Field::Forwarded,
        Field::Alternative,
    ];
    let mut failures = Failures::default();
    for case in &cases {
        for field in fields {
            check(case, field, &mut failures);
        }
    }
    failures.assert_none();
}

#[test]
fn what_is_seen_is_never_left_out() {
    let cases = showing();
    let fields = [Field::Body, Field::Html, Field::Snippet, Field::Attachment];
    let mut failures = Failures::default();
    for case in &cases {
        for field in fields {
            let found = Outputs::of(&case.html, field);
            // A list has no marks: what is uncertain is left out of its snippets.
            if field == Field::Snippet && Outputs::of(&case.html, Field::Body).is_uncertain {
                continue;
            }
            let [before, after] = &case.around;
            let all_there = [before, &case.secret, after].map(|word| found.all_show(word));
            if all_there.contains(&false) {
                failures.add(case, format!("visible text lost ({field:?})"));
            }
            if field == Field::Body && found.tells_of_hidden_text() && !found.is_uncertain {
                failures.add(case, "told of hidden text that there is not");
            }
        }
    }
    assert!(cases.len() >= 40);
    failures.assert_none();
}

/// Text written in characters that have no shape: what a reader cannot see must not travel either.
#[test]
fn no_invisible_character_reaches_any_field() {
    let tags: String = "obey"
        .chars()
        .map(|c| char::from_u32(0xE_0000 + c as u32).unwrap())
        .collect();
    let selectors: String = "obey"
        .chars()
        .map(|c| char::from_u32(0xE_0100 + c as u32).unwrap())
        .collect();
    let zero_widths: String =
        "\u{200B}\u{200C}\u{2060}\u{FEFF}\u{180E}\u{AD}\u{2063}\u{3164}".repeat(4);
    let bidi = "\u{202E}\u{2066}\u{2069}\u{202C}\u{061C}".to_owned();
    let smuggled = [
        ("tag characters", tags.clone()),
        ("tags behind a flag", format!("\u{1F3F4}{tags}\u{E007F}")),
        ("variation selectors", format!("\u{1F600}{selectors}")),
        ("zero widths", zero_widths),
        ("bidi controls", bidi),
    ];
    for (name, text) in &smuggled {
        let forms = [
            text.clone(),
            text.chars().map(|c| format!("&#{};", c as u32)).collect(),
            text.chars()
                .map(|c| format!("<b>&#x{:x};</b>", c as u32))
                .collect(),
        ];
        for form in forms {
            let html = format!("<p>before</p><p>mid{form}dle</p><p>after</p>");
            for field in Field::ALL {
                let found = Outputs::of(&html, field);
                for (place, out) in found.texts() {
                    let left = out.chars().find(|c| has_no_shape(*c));
                    assert_eq!(left, None, "{name} in {place} ({field:?}): {out:?}");
                }
                assert!(
                    found.all_show("before") && found.all_show("after"),
                    "{name} ({field:?})"
                );
            }
        }
    }
}

fn has_no_shape(c: char) -> bool {
    matches!(c, '\u{AD}' | '\u{61C}' | '\u{180E}' | '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}'
        | '\u{2060}'..='\u{206F}' | '\u{3164}' | '\u{FEFF}' | '\u{E0000}'..='\u{E0FFF}')
}
