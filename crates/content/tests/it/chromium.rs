//! Our renderer beside a browser: what headless Chromium shows of a page is what we give of it.

use testkit::Chromium;

use crate::matrix::{Case, Failures, hiding, showing};

/// What Chromium shows and we leave out, or the other way round, and why.
const EXCEPTIONS: &[(&str, &str)] = &[(
    "next to nothing",
    "Chromium draws sizes relative to the default at no less than 6 pixels; others do not",
)];

#[test]
fn chromium_hides_and_shows_what_the_matrix_says() {
    let Some(chromium) = Chromium::find() else {
        return;
    };
    let hiding = sample(hiding());
    let showing = sample(showing());
    let cases = || hiding.iter().chain(&showing);
    let pages: Vec<&str> = cases().map(|case| case.html.as_str()).collect();
    let seen = chromium.look(&pages);
    let mut failures = Failures::default();
    for (nth, (case, seen)) in cases().zip(&seen).enumerate() {
        let shown = nth >= hiding.len();
        let agreed = EXCEPTIONS
            .iter()
            .all(|(technique, _)| case.technique != *technique);
        let has = |word: &str| seen.text.contains(word);
        if agreed != (has(&case.secret) == shown) {
            let why = seen.unseen.iter().map(|(why, _)| why.as_str()).next();
            let verdict = format!(
                "Chromium says otherwise ({})",
                why.unwrap_or("seen, or no text")
            );
            failures.add(case, verdict);
        }
        if !case.around.iter().all(|word| has(word)) {
            failures.add(case, "Chromium loses the words around");
        }
    }
    failures.assert_none();
}

/// Each technique by two of its carriers, all carriers in turn: thousands of pages would take the browser minutes.
fn sample(cases: Vec<Case>) -> Vec<Case> {
    let mut technique = String::new();
    let (mut rank, mut nth) = (0, 0);
    cases
        .into_iter()
        .filter(|case| {
            if case.technique != technique {
                technique.clone_from(&case.technique);
                (rank, nth) = (rank + 1, 0);
            }
            nth += 1;
            nth == 1 || nth == rank % case.carriers + 1
        })
        .collect()
}
