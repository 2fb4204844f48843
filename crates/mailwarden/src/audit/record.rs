//! One record as a person reads it: a line with the time, who, what, and what came of it.

use std::process::ExitCode;

use audit::{NO_TOOL, SERVICE, SERVICE_REASON, UNKNOWN_CALLER};
use mail::MessageRef;
use serde_json::Value;

use super::logs::Log;
use super::page::{Form, Page, cut, safe};

pub(super) struct Record(Value);

impl Record {
    pub(super) fn parse(line: &[u8]) -> Option<Self> {
        serde_json::from_slice(line).ok().map(Self)
    }

    /// A field's text; empty when it is not there.
    pub(super) fn text(&self, field: &str) -> &str {
        self.0
            .get(field)
            .and_then(Value::as_str)
            .unwrap_or_default()
    }

    pub(super) fn number(&self, field: &str) -> Option<f64> {
        self.0.get(field)?.as_f64()
    }

    pub(super) fn argument(&self, name: &str) -> Option<&str> {
        self.0.get("arguments")?.get(name)?.as_str()
    }

    /// `2026-11-15 08:00:05`, in UTC.
    fn time(&self) -> String {
        let seconds: String = self.text("ts").chars().take(19).collect();
        safe(&seconds.replace('T', " "))
    }

    /// As wide as the page, and no wider.
    pub(super) fn line(&self, log: Option<&Log>, page: &Page) -> String {
        let seq = self.0.get("seq").map(Value::to_string).unwrap_or_default();
        let seq = cut(&safe(&seq), 20);
        let screen = page.screen;
        let event = self.text("event");
        let (name, wide) = match log {
            Some(log) => (format!("{:<12} ", cut(&safe(&log.name), 12)), 13),
            None => (String::new(), 0),
        };
        let head = format!("{name}{seq:>7} {} ", screen.dim(self.time()));
        let used = wide + 7 + 1 + 19 + 1;
        let rest = page.cut_at().saturating_sub(used);
        let decision = match event {
            "call" | "intent" => self.text("decision"),
            _ => "",
        };
        if decision.is_empty() {
            let what = format!("{} {}", safe(event), self.other());
            return format!("{head}{}", screen.dim(cut(&what, rest)));
        }
        let painted = match decision {
            "ALLOW" => screen.good(format!("{decision:<5}")),
            other => screen.bad(format!("{:<5}", safe(&cut(other, 5)))),
        };
        // Two callers must not look like one.
        let who = cut(&safe(self.text("caller_id")), 32);
        let tool = cut(&safe(self.text("tool")), 22);
        let what = format!("{who:<10} {tool:<22} {}", self.detail());
        format!("{head}{painted} {}", cut(&what, rest.saturating_sub(6)))
    }

    /// What a call was about, and how long it took.
    fn detail(&self) -> String {
        let mut parts = Vec::new();
        match (self.text("decision"), self.text("result")) {
            ("ALLOW", "" | "ok" | "pending") => {}
            ("ALLOW", result) => parts.push(safe(result)),
            _ => parts.push(safe(self.text("reason"))),
        }
        parts.push(safe(self.text("issue")));
        parts.push(safe(self.text("argument")));
        if self.0.get("withheld").is_some() {
            parts.push("withheld".to_owned());
        }
        if let Some(ms) = self.number("latency_ms") {
            parts.push(format!("{ms} ms"));
        }
        parts.push(safe(&self.about()));
        parts.retain(|part| !part.is_empty());
        parts.join(" ")
    }

    /// The account, the folder and the uid, as far as it asked for one.
    fn about(&self) -> String {
        let id = self.argument("message_id").map(MessageRef::parse);
        if let Some(Ok(at)) = id {
            return format!("{} {} uid {}", at.account, at.folder, at.uid.0);
        }
        let named = ["account", "folder"].map(|name| self.argument(name));
        let mut parts: Vec<String> = named.into_iter().flatten().map(str::to_owned).collect();
        // How much was seen of how many: a look at a list, or fifty letters read.
        if let (Some(shown), level) = (self.number("shown"), self.text("level"))
            && self.0.get("uids").is_some()
        {
            parts.push(format!("{shown} shown, {}", level.to_lowercase()));
        }
        let messages = self.messages();
        if let Some(at) = messages.first() {
            let level = self.text("level").to_lowercase();
            parts = match messages.as_slice() {
                [at] => vec![format!("{} {} uid {}", at.account, at.folder, at.uid.0)],
                all => vec![format!("{} {} messages, {level}", at.account, all.len())],
            };
        }
        parts.join(" ")
    }

    /// Those that it was shown wherever they lie.
    fn messages(&self) -> Vec<MessageRef> {
        let told = self.0.get("messages").and_then(Value::as_array);
        let told = told.into_iter().flatten().filter_map(Value::as_str);
        told.filter_map(|id| MessageRef::parse(id).ok()).collect()
    }

    /// Whether it asked for this message, or was shown it among others.
    pub(super) fn is_about(&self, at: &MessageRef) -> bool {
        if self.argument("message_id") == Some(at.to_string().as_str()) {
            return true;
        }
        if self.messages().contains(at) {
            return true;
        }
        let uids = self.0.get("uids").and_then(Value::as_array);
        let same_folder = self.argument("account") == Some(at.account.as_str())
            && self.argument("folder") == Some(at.folder.as_str())
            && self.number("uidvalidity") == Some(f64::from(at.uidvalidity.0));
        same_folder
            && uids.is_some_and(|uids| {
                uids.iter()
                    .any(|uid| uid.as_u64() == Some(u64::from(at.uid.0)))
            })
    }

    /// What a record of another kind holds, its long hashes aside.
    fn other(&self) -> String {
        const PLAIN: [&str; 5] = ["seq", "ts", "prev_hash", "event", "hash"];
        const LONG: [&str; 5] = ["peaks", "root", "sha256", "through_hash", "arguments"];
        // Every record has these; a value that says nothing is left out.
        const USUAL: [(&str, &str); 6] = [
            ("tool", NO_TOOL),
            ("caller_id", SERVICE),
            ("caller_id", UNKNOWN_CALLER),
            ("reason", SERVICE_REASON),
            ("decision", "ALLOW"),
            ("result", "ok"),
        ];
        let usual = |name: &str, value: &Value| {
            let text = value.as_str();
            USUAL
                .iter()
                .any(|(field, says)| *field == name && text == Some(says))
        };
        let fields = self.0.as_object().into_iter().flatten();
        let told = fields.filter(|(name, value)| {
            let (plain, long) = (
                PLAIN.contains(&name.as_str()),
                LONG.contains(&name.as_str()),
            );
            !plain && !long && !usual(name, value)
        });
        let told: Vec<String> = told
            .map(|(name, value)| match value {
                Value::String(text) => format!("{}={}", safe(name), safe(text)),
                value => format!("{}={}", safe(name), safe(&value.to_string())),
            })
            .collect();
        told.join(" ")
    }
}

/// Prints a record in the form that was asked for, with its log where there are several. False when it is none.
pub(super) fn print(line: &[u8], log: Option<&Log>, page: &mut Page) -> std::io::Result<bool> {
    let Some(record) = Record::parse(line) else {
        return Ok(false);
    };
    match (page.form, log) {
        (Form::Json, None) => page.bytes(line)?,
        // The record stays as it was written, octet for octet.
        (Form::Json, Some(log)) => {
            let name = Value::from(log.name.as_str());
            let id = log.id.as_ref().map(audit::LogId::as_str);
            let head = format!(
                "{{\"log\":{name},\"log_id\":{},\"record\":",
                Value::from(id)
            );
            page.bytes(&[head.as_bytes(), line, b"}"].concat())?;
        }
        (Form::Human, log) => {
            let line = record.line(log, page);
            page.line(line)?;
        }
    }
    Ok(true)
}

/// What could not be read: an answer without it may be wrong.
#[derive(Default)]
pub(super) struct Unread {
    lines: u64,
    files: Vec<String>,
}

impl Unread {
    pub(super) fn line(&mut self) {
        self.lines += 1;
    }

    pub(super) fn file(&mut self, error: &std::io::Error) {
        self.files.push(error.to_string());
    }

    /// Says so on stderr, and that it is a failure.
    pub(super) fn complain(&self) -> ExitCode {
        for error in &self.files {
            eprintln!("mailwarden: a day of the log cannot be read, and is left out here: {error}");
        }
        if self.lines > 0 {
            eprintln!(
                "mailwarden: {} line(s) are no records, and are left out here; `mailwarden audit verify` says what is wrong",
                self.lines
            );
        }
        match self.lines == 0 && self.files.is_empty() {
            true => ExitCode::SUCCESS,
            false => ExitCode::FAILURE,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::screen::Screen;

    #[test]
    fn no_field_of_a_record_steers_a_terminal() {
        let steers = "\u{9b}2J\u{202e}";
        for line in [
            format!(r#"{{"seq":"{steers}","ts":"{steers}","event":"{steers}","x":"{steers}"}}"#),
            format!(r#"{{"seq":{{"{steers}":1}},"event":"start","{steers}":["{steers}"]}}"#),
            format!(
                r#"{{"seq":1,"event":"call","decision":"{steers}","caller_id":"{steers}","tool":"{steers}","reason":"{steers}","result":"{steers}","arguments":{{"folder":"{steers}"}}}}"#
            ),
        ] {
            let record = Record::parse(line.as_bytes()).unwrap();
            let shown = record.line(None, &Page::new(Screen::new(), Form::Human));
            assert!(!shown.contains(['\u{9b}', '\u{202e}']), "{shown}");
        }
    }
}
