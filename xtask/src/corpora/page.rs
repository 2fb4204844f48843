//! `docs/corpora.md`. What was not there to be measured keeps the row it had.

use std::fmt::Write as _;

use testkit::corpora::Reason;

use super::groups::Group;
use super::tally::{MOST_MB, Tally};

pub(super) const HEAD: &str = "\
| corpus | messages | viewed | panics | slowest ms | largest peak MB | with expected text | right | differ for a reason |
|---|--:|--:|--:|--:|--:|--:|--:|---|";

pub(super) fn page(tallies: &[(Group, Tally)], kept: &str) -> String {
    let build = if cfg!(debug_assertions) {
        "an unoptimized build"
    } else {
        "a release build"
    };
    let mut page = format!(
        "# Sample messages\n\n\
         <!-- Made by `cargo run --release -p xtask -- corpora`; edit the code, not this file. -->\n\n\
         Every message is viewed with all wishes on: 20,000 characters, sanitized HTML, text of attachments as far as \
         `content` reads it (PDF and Office files are read by a child of the program and have tests of their own). \
         Time and heap are those of one view, in {build}, the message itself not counted. A growing buffer counts \
         twice while it moves. No message may panic, take more than 1 s, or take more than {MOST_MB:.0} MB of heap; \
         `cargo xtask corpora --check` fails on all of that but time, and on a text that differs from what is expected \
         without one of the reasons below.\n\n\
         The public corpora are looked for beside the checkout and are no part of it. Their expected texts are \
         compared word for word: every plain part must stand in the body or in the text of an attachment in one piece, \
         and the subject must be the same. HTML pages are compared, by letters and digits, with what Chromium shows.\n\n\
         {HEAD}\n"
    );
    for (group, tally) in tallies {
        let name = group.name();
        let begins = format!("| {name} |");
        let line = match kept.lines().find(|line| line.starts_with(&begins)) {
            Some(line) if tally.messages == 0 => line.to_owned(),
            _ => row(name, tally),
        };
        let _ = writeln!(page, "{line}");
    }
    let _ = writeln!(page, "\n## Reasons\n");
    for reason in Reason::ALL {
        let _ = writeln!(page, "- **{}**: {}", reason.name(), reason.text());
    }
    let _ = write!(
        page,
        "\nWhich message has which reason stands in `crates/testkit/src/corpora/reasons.rs`. \
         `cargo run --release -p xtask -- corpora --also DIR` shows the same figures for any folder of messages.\n"
    );
    page
}

pub(super) fn row(name: &str, tally: &Tally) -> String {
    let reasons: Vec<String> = tally
        .reasoned
        .iter()
        .map(|(reason, count)| format!("{count} {}", reason.name()))
        .collect();
    let [expected, right] = match tally.with_expected {
        0 => ["–".to_owned(), "–".to_owned()],
        some => [some.to_string(), tally.right.to_string()],
    };
    let reasons = if reasons.is_empty() {
        "–".to_owned()
    } else {
        reasons.join(", ")
    };
    format!(
        "| {name} | {} | {} | {} | {:.1} | {:.2} | {expected} | {right} | {reasons} |",
        tally.messages,
        tally.messages - tally.panics.len(),
        tally.panics.len(),
        tally.slowest.figure,
        tally.largest.figure,
    )
}

#[cfg(test)]
mod tests {
    use testkit::corpora::Corpus;

    use super::*;

    #[test]
    fn what_was_not_measured_keeps_its_row() {
        let mut own = Tally::default();
        own.messages = 1;
        let tallies = [
            (Group::Public(Corpus::Mime4j), Tally::default()),
            (Group::Hostile, own),
        ];
        let page = page(&tallies, "| mime4j | 32 | kept |\n| hostile mail | old |\n");
        assert!(page.contains("\n| mime4j | 32 | kept |\n| hostile mail | 1 | 1 | 0 |"));
    }
}
