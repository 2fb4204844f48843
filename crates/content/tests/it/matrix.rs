//! The attack matrix: every way to hide text, by every carrier, in every field; and what only looks hidden.
//!
//! Each case hides one secret between two words that everybody sees. The tables stand in the files below.

mod carriers;
mod fields;
mod markup;
mod shown;
mod techniques;

use std::collections::BTreeMap;
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
    /// By how many carriers this technique is tried.
    pub(crate) carriers: usize,
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
            carriers: filled.carriers,
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
    carriers: usize,
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
                        carriers,
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
            carriers: 1,
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
            carriers: 1,
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
                    carriers,
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
    by_technique: BTreeMap<(String, String), Vec<String>>,
    cases: usize,
}

impl Failures {
    pub(crate) fn add(&mut self, case: &Case, what: &str, html: &str) {
        self.cases += 1;
        let key = (
            format!("{}: {}", case.group, case.technique),
            what.to_owned(),
        );
        let places = self.by_technique.entry(key).or_default();
        places.push(case.carrier.to_owned());
        if places.len() == 1 {
            places.push(format!("\n      {html}\n     "));
        }
    }

    pub(crate) fn assert_none(&self, of: usize) {
        let mut report = String::new();
        for ((technique, what), places) in &self.by_technique {
            let _ = writeln!(report, "  {technique} — {what}, by: {}", places.join(" "));
        }
        assert!(
            self.by_technique.is_empty(),
            "{} of {of} cases failed, {} kinds:\n{report}",
            self.cases,
            self.by_technique.len()
        );
    }
}

/// Looks at one case in one field.
fn check(case: &Case, field: Field, failures: &mut Failures) {
    let found = Outputs::of(&case.html, field);
    let named = |what: &str| format!("{what} ({field:?})");
    for (place, text) in found.texts() {
        if text.contains(&case.secret) || text.contains("Obey") {
            failures.add(case, &named(&format!("secret in {place}")), &case.html);
        }
    }
    for (place, text) in found.texts().filter(|(place, _)| *place != "a note") {
        for word in &case.around {
            if !text.contains(word.as_str()) {
                failures.add(
                    case,
                    &named(&format!("visible text lost in {place}")),
                    &case.html,
                );
            }
        }
    }
    if case.noted == Noted::Yes && !found.tells_of_hidden_text() {
        failures.add(case, &named("not told"), &case.html);
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
    failures.assert_none(cases.len());
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
    failures.assert_none(cases.len() * fields.len());
}

#[test]
fn what_is_seen_is_never_left_out() {
    let cases = showing();
    let fields = [Field::Body, Field::Html, Field::Snippet, Field::Attachment];
    let mut failures = Failures::default();
    for case in &cases {
        for field in fields {
            let found = Outputs::of(&case.html, field);
            for (place, text) in found.texts().filter(|(place, _)| *place != "a note") {
                let [before, after] = &case.around;
                for word in [before, &case.secret, after] {
                    if !text.contains(word.as_str()) {
                        let what = format!("visible text lost in {place} ({field:?})");
                        failures.add(case, &what, &case.html);
                    }
                }
            }
            if field == Field::Body && found.tells_of_hidden_text() {
                failures.add(case, "told of hidden text that there is not", &case.html);
            }
        }
    }
    assert!(cases.len() >= 40);
    failures.assert_none(cases.len() * fields.len());
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
                    let odd = out.chars().filter(|c| {
                        text.contains(*c) && *c as u32 > 0x2000 && *c < '\u{1F000}'
                            || *c as u32 >= 0xE_0000
                    });
                    assert_eq!(odd.count(), 0, "{name} in {place} ({field:?}): {out:?}");
                    assert!(
                        place == "a note" || out.contains("before") && out.contains("after"),
                        "{name}: {out}"
                    );
                }
            }
        }
    }
}
