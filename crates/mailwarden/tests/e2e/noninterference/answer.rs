//! Answers, and what of them may differ between two worlds: times, receipts, sealed tokens, and hidden counts where these
//! differ by design. Everything else is kept as it came.

use serde_json::{Value, json};

use super::script::Step;
use super::world::Twin;

/// Numbers that say how much is hidden.
const HIDDEN: [&str; 6] = [
    "hidden_count",
    "NONE",
    "filtered_out",
    "hidden_folders_count",
    "hidden_labels_count",
    "hidden_accounts_count",
];

/// What no two calls have in common.
const FLEETING: [&str; 5] = [
    "request_id",
    "now_utc",
    "duration_ms",
    "latency_ms",
    "receipt",
];

/// An answer with what may differ made alike.
pub(super) fn settled(answer: &Value, step: &Step, twin: Twin) -> Value {
    let mut texts = Texts {
        hidden: HIDDEN.to_vec(),
        cursors: Vec::new(),
        masks_hidden: twin == Twin::More,
    };
    if step.counts_hidden {
        texts.hidden.push("matched_total");
    }
    texts.collect(answer);
    let mut answer = answer.clone();
    texts.settle(&mut answer);
    answer
}

/// The same of an answer about what the caller itself wrote: ids and times of each run are alike.
pub(super) fn settled_change(answer: &Value, step: &Step, twin: Twin) -> Value {
    let mut answer = settled(answer, step, twin);
    mask_strings(&mut answer);
    answer
}

fn mask_strings(value: &mut Value) {
    match value {
        Value::Object(map) => map.values_mut().for_each(mask_strings),
        Value::Array(list) => list.iter_mut().for_each(mask_strings),
        Value::String(text) => {
            for pattern in OWN {
                *text = masked(text, pattern);
            }
        }
        _ => {}
    }
}

/// Transaction ids, Message-IDs of drafts and times: `9` is a digit, `x` a digit or small letter,
/// `A` a capital, `a` a small letter.
const OWN: [&str; 4] = [
    "tx_xxxxxxxxxxxxxxxxxxxxxxxxxx",
    "<xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx@mailwarden.invalid>",
    "9999-99-99T99:99:99Z",
    "Aaa, 99 Aaa 9999 99:99:99 +0000",
];

fn masked(text: &str, pattern: &str) -> String {
    let fits = |at: usize| {
        let window = text.as_bytes().get(at..at + pattern.len());
        window.is_some_and(|window| {
            window
                .iter()
                .zip(pattern.bytes())
                .all(|(byte, wanted)| match wanted {
                    b'9' => byte.is_ascii_digit(),
                    b'x' => byte.is_ascii_digit() || byte.is_ascii_lowercase(),
                    b'A' => byte.is_ascii_uppercase(),
                    b'a' => byte.is_ascii_lowercase(),
                    literal => *byte == literal,
                })
        })
    };
    let mut out = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let at = text.len() - rest.len();
        if fits(at) {
            out.extend_from_slice("…".as_bytes());
            rest = &rest[pattern.len()..];
        } else {
            out.push(*first);
            rest = after;
        }
    }
    String::from_utf8(out).unwrap()
}

/// The cursor of the next page.
pub(super) fn cursor(answer: &Value) -> Option<&str> {
    let cursor = answer.pointer("/result/structuredContent/data/next_cursor")?;
    cursor.as_str()
}

/// The lines in which two answers differ, a few of each.
pub(super) fn apart(left: &Value, right: &Value) -> String {
    let (left, right) = (format!("{left:#}"), format!("{right:#}"));
    let only = |one: &str, other: &str, mark: char| -> String {
        let other: Vec<&str> = other.lines().collect();
        let lines = one.lines().filter(|line| !other.contains(line));
        let lines = lines.take(6);
        lines
            .map(|line| format!("{mark} {}\n", line.trim()))
            .collect()
    };
    let told = only(&left, &right, '<') + &only(&right, &left, '>');
    match told.is_empty() {
        false => told,
        true => format!("the same lines in another order:\n{left}\n{right}\n"),
    }
}

struct Texts {
    hidden: Vec<&'static str>,
    cursors: Vec<String>,
    masks_hidden: bool,
}

impl Texts {
    fn collect(&mut self, value: &Value) {
        match value {
            Value::Object(map) => {
                for (key, inner) in map {
                    if let (true, Some(text)) = (
                        ["next_cursor", "cursor"].contains(&key.as_str()),
                        inner.as_str(),
                    ) {
                        self.cursors.push(text.to_owned());
                    }
                    self.collect(inner);
                }
            }
            Value::Array(list) => list.iter().for_each(|inner| self.collect(inner)),
            _ => {}
        }
    }

    fn settle(&self, value: &mut Value) {
        match value {
            Value::Object(map) => {
                for (key, inner) in map.iter_mut() {
                    if FLEETING.contains(&key.as_str())
                        || self.masks_hidden && self.hidden.contains(&key.as_str())
                    {
                        *inner = json!("…");
                    }
                    self.settle(inner);
                }
            }
            Value::Array(list) => list.iter_mut().for_each(|inner| self.settle(inner)),
            Value::String(text) => *text = self.text(text),
            _ => {}
        }
    }

    fn text(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for cursor in &self.cursors {
            text = text.replace(cursor, &format!("<cursor of {} signs>", cursor.len()));
        }
        let lines = text.split('\n').map(|line| self.line(line));
        lines.collect::<Vec<_>>().join("\n")
    }

    fn line(&self, line: &str) -> String {
        let trimmed = line.trim_start();
        for (begin, end) in [("--- mail ", ": data"), ("--- end of mail ", " ---")] {
            let number = trimmed
                .strip_prefix(begin)
                .and_then(|rest| rest.split_once(end));
            if let Some((number, rest)) = number {
                assert_eq!(number.len(), 16, "{line}");
                return format!("{begin}…{end}{rest}");
            }
        }
        let masked = |key: &str| {
            let rest = trimmed.strip_prefix(key);
            rest.is_some_and(|rest| rest.starts_with(": "))
        };
        if FLEETING.iter().any(|key| masked(key)) {
            return "…".to_owned();
        }
        if !self.masks_hidden {
            return line.to_owned();
        }
        if self.hidden.iter().any(|key| masked(key)) {
            return "…".to_owned();
        }
        // In a summary: "…, 7 hidden".
        match line
            .strip_suffix(" hidden")
            .and_then(|rest| rest.rsplit_once(", "))
        {
            Some((rest, number)) if number.bytes().all(|byte| byte.is_ascii_digit()) => {
                format!("{rest}, … hidden")
            }
            _ => line.to_owned(),
        }
    }
}
