//! `audit query`: the records that fit, oldest first.

use std::collections::VecDeque;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context as _;
use audit::{Digester, Line};
use mail::MessageRef;
use memchr::memmem;

use super::logs::{Log, Logs};
use super::merge;
use super::page::{Form, Page};
use super::record::{self, Record, Unread};
use super::span::Span;
use crate::cli::{AuditQuery, Decision};

pub(super) fn run(logs: &Logs, asked: &AuditQuery, page: &mut Page) -> anyhow::Result<ExitCode> {
    // A text stands in each log as another digest.
    let wanted: anyhow::Result<Vec<Wanted>> = logs
        .all()
        .iter()
        .map(|log| Wanted::new(&log.dir, asked))
        .collect();
    let wanted = wanted?;
    let span = Span::new(asked.since, asked.until);
    let mut unread = Unread::default();
    let mut found = 0u64;
    // With a limit the newest count, and these are only known at the end.
    let mut kept: VecDeque<(Log, Vec<u8>)> = VecDeque::new();
    let fits = |n: usize, line: &[u8]| wanted.get(n)?.fits(&span, line);
    merge::each(logs.all(), &span, &mut unread, &fits, |log, line| {
        found += 1;
        match asked.limit {
            None => {
                record::print(&line, logs.label(log), page)?;
            }
            Some(limit) => {
                kept.push_back((log.clone(), line));
                if kept.len() > limit {
                    kept.pop_front();
                }
            }
        }
        Ok(())
    })?;
    for (log, line) in kept {
        record::print(&line, logs.label(&log), page)?;
    }
    page.flush()?;
    if found == 0 && page.form == Form::Human {
        eprintln!("mailwarden: no record fits");
    }
    Ok(unread.complain())
}

struct Wanted {
    /// Fields and what they must be.
    fields: Vec<(&'static str, String)>,
    message: Option<MessageRef>,
    /// What stands in the line of every record that fits, as JSON: most lines need not be parsed.
    needles: Vec<memmem::Finder<'static>>,
}

impl Wanted {
    fn new(dir: &Path, asked: &AuditQuery) -> anyhow::Result<Self> {
        let decision = asked.decision.map(|decision| match decision {
            Decision::Allow => "ALLOW".to_owned(),
            Decision::Deny => "DENY".to_owned(),
        });
        let digest = match &asked.search_text {
            None => None,
            Some(text) => {
                let digester = Digester::of(dir).context("a text cannot be searched for")?;
                // A Message-ID is the same with its brackets and without.
                let bare = text
                    .strip_prefix('<')
                    .and_then(|text| text.strip_suffix('>'));
                Some(digester.digest(bare.unwrap_or(text)))
            }
        };
        let fields: Vec<(&'static str, String)> = [
            ("caller_id", asked.caller.clone()),
            ("tool", asked.tool.clone()),
            ("decision", decision),
            ("event", asked.event.clone()),
        ]
        .into_iter()
        .filter_map(|(field, value)| Some((field, value?)))
        .collect();
        let message = match &asked.message {
            None => None,
            Some(id) => Some(MessageRef::parse(id).with_context(|| {
                format!("'{id}' is no message id; tools answer with it, and --json shows it")
            })?),
        };
        let texts = fields.iter().map(|(_, value)| value).chain(&digest);
        let quoted = texts.map(|text| serde_json::Value::from(text.as_str()).to_string());
        let uid = message.as_ref().map(|at| at.uid.0.to_string());
        let needles = quoted
            .chain(uid)
            .map(|text| memmem::Finder::new(text.as_bytes()).into_owned());
        Ok(Self {
            needles: needles.collect(),
            fields,
            message,
        })
    }

    /// None when the line is no record.
    fn fits(&self, span: &Span, line: &[u8]) -> Option<bool> {
        let read = Line::parse(line).ok()?;
        if !span.contains(read.ts) || self.needles.iter().any(|one| one.find(line).is_none()) {
            return Some(false);
        }
        let record = Record::parse(line)?;
        let fields = self
            .fields
            .iter()
            .all(|(field, value)| record.text(field) == value);
        let message = self.message.as_ref();
        Some(fields && message.is_none_or(|at| record.is_about(at)))
    }
}
