//! How the demo looks: headings, calls, rows and quoted mail, within the width of the terminal.

use serde_json::Value;

use super::client::{Answer, Call, Client, Cost};
use super::width::{clip, pad, width, wrap};
use crate::screen::Screen;

const INDENT: &str = "    ";
/// Characters a token: a rule of thumb for English.
const PER_TOKEN: usize = 4;

pub(super) struct Page {
    pub screen: Screen,
    columns: usize,
}

/// How a column of a table is set.
#[derive(Clone, Copy)]
pub(super) enum Column {
    /// As wide as its widest cell, up to so many columns.
    Left(usize),
    /// For numbers.
    Right,
}

impl Page {
    pub(super) fn new(screen: Screen) -> Self {
        Self {
            screen,
            columns: screen.columns(),
        }
    }

    pub(super) fn opening(&self, client: &Client, messages: usize) {
        self.screen.line(self.screen.bold("mailwarden demo"));
        for sentence in [
            format!(
                "The real server ({}, {} tools, up in {}) on {messages} sample messages.",
                client.server(),
                client.tools,
                milliseconds(client.started),
            ),
            format!(
                "Times are round trips; sizes are of the text the model gets, with {PER_TOKEN} characters taken \
                 for a token."
            ),
        ] {
            for line in wrap(&sentence, self.columns) {
                self.screen.line(line);
            }
        }
    }

    pub(super) fn heading(&self, title: &str) {
        self.screen.line("");
        self.screen.line(self.screen.bold(title));
    }

    pub(super) fn call(&self, call: &Call<'_>) {
        let arguments: Vec<String> = call
            .arguments
            .iter()
            .map(|(name, value)| format!("{name}={}", argument(value)))
            .collect();
        let room = self.columns.saturating_sub(width(call.tool) + 5);
        let line = format!(
            "  {} {}",
            self.screen.good(format!("→ {}", call.tool)),
            clip(&arguments.join(" "), room)
        );
        self.screen.line(line.trim_end());
    }

    /// What an answer says about itself, whatever it was: what was guessed, changed or left out, and its cost.
    pub(super) fn end_of(&self, answer: &Answer) {
        for warning in list(&answer.value, "/meta/warnings") {
            let text = clip(&plain(warning), self.room().saturating_sub(9));
            let warning = self.screen.warn("warning:");
            self.screen.line(format!("{INDENT}{warning} {text}"));
        }
        self.cost(&text(&answer.value, "/summary"), answer.cost);
    }

    pub(super) fn cost(&self, summary: &str, cost: Cost) {
        let cost = format!(
            "{} · {} chars ≈ {} tokens",
            milliseconds(cost.took),
            grouped(cost.chars),
            grouped(cost.chars.div_ceil(PER_TOKEN)),
        );
        let room = self.columns.saturating_sub(width(&cost) + 7);
        let line = format!("← {} · {cost}", clip(summary, room));
        self.screen.line(format!("  {}", self.screen.dim(line)));
    }

    /// One line about the result.
    pub(super) fn note(&self, text: &str) {
        self.tinted(text, |text| text);
    }

    /// The same in a colour of the screen's.
    pub(super) fn tinted(&self, text: &str, tint: impl Fn(String) -> String) {
        let text = tint(clip(text, self.room()));
        self.screen.line(format!("{INDENT}{text}"));
    }

    /// Rows with their cells below each other, one line each.
    pub(super) fn aligned<const N: usize>(
        &self,
        columns: &[Column; N],
        rows: &[[String; N]],
    ) -> Vec<String> {
        let mut widths = [0; N];
        for row in rows {
            for (widest, cell) in widths.iter_mut().zip(row) {
                *widest = width(cell).max(*widest);
            }
        }
        let line = |row: &[String; N]| {
            let cells = row.iter().zip(columns).zip(widths);
            let cells: Vec<String> = cells
                .map(|((cell, column), widest)| match column {
                    Column::Left(most) => pad(cell, widest.min(*most)),
                    Column::Right => format!("{cell:>widest$}"),
                })
                .collect();
            cells.join("  ").trim_end().to_owned()
        };
        rows.iter().map(line).collect()
    }

    /// Text out of a mail without its empty lines, at most about so many of the others.
    pub(super) fn quote(&self, text: &str, most: usize) {
        let mut lines = wrap(text, self.room().saturating_sub(2));
        lines.retain(|line| !line.is_empty());
        // The line that says how many are missing could as well be the one that is.
        let most = if lines.len() == most + 1 {
            most + 1
        } else {
            most
        };
        for line in lines.iter().take(most) {
            let bar = self.screen.dim("│");
            self.screen.line(format!("{INDENT}{bar} {line}"));
        }
        if let Some(more @ 1..) = lines.len().checked_sub(most) {
            let line = format!("│ … and {more} more lines");
            self.tinted(&line, |text| self.screen.dim(text));
        }
    }

    pub(super) fn room(&self) -> usize {
        self.columns.saturating_sub(INDENT.len())
    }
}

/// The list at a JSON pointer; empty where there is none.
pub(super) fn list<'a>(value: &'a Value, pointer: &str) -> &'a [Value] {
    let found = value.pointer(pointer).and_then(Value::as_array);
    found.map_or(&[], Vec::as_slice)
}

/// What is at a JSON pointer, as text; empty where there is nothing.
pub(super) fn text(value: &Value, pointer: &str) -> String {
    value.pointer(pointer).map(plain).unwrap_or_default()
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// As one would type it: quotes only where they are needed.
fn argument(value: &Value) -> String {
    match value.as_str() {
        Some(word) if !word.is_empty() && !word.contains([' ', '"', '=']) => word.to_owned(),
        _ => value.to_string(),
    }
}

fn milliseconds(time: std::time::Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1_000.0)
}

/// `12,345`
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn arguments_are_quoted_where_needed() {
        for (value, want) in [
            (json!("INBOX"), "INBOX"),
            (json!("two words"), r#""two words""#),
            (json!(""), r#""""#),
            (json!(5), "5"),
            (json!(true), "true"),
        ] {
            assert_eq!(argument(&value), want);
        }
    }

    #[test]
    fn numbers_are_grouped() {
        for (number, want) in [
            (0, "0"),
            (999, "999"),
            (1_000, "1,000"),
            (1_234_567, "1,234,567"),
        ] {
            assert_eq!(grouped(number), want);
        }
    }
}
