//! `audit query`: the records that fit, oldest first.

use std::collections::VecDeque;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context as _;
use audit::read::{Piece, Read};
use audit::{Digester, Line};
use memchr::memmem;

use super::page::Page;
use super::record::{self, Record};
use super::span::Span;
use crate::cli::{AuditQuery, Decision};

pub(super) fn run(dir: &Path, asked: &AuditQuery, page: &mut Page) -> anyhow::Result<ExitCode> {
    let wanted = Wanted::new(dir, asked)?;
    let mut unread = 0;
    // With a limit the newest count, and these are only known at the end.
    let mut kept: VecDeque<Vec<u8>> = VecDeque::new();
    let mut days = wanted.span.days(dir)?;
    while let Some(read) = days.advance() {
        let line = match read {
            Read::Piece(Piece::Line(line)) => line,
            Read::Day(_) | Read::Piece(Piece::Tail(_)) => continue,
            Read::Piece(Piece::TooLong) | Read::Unreadable(_) => {
                unread += 1;
                continue;
            }
        };
        match (wanted.fits(line), asked.limit) {
            (None, _) => unread += 1,
            (Some(false), _) => {}
            (Some(true), None) => {
                record::print(line, page)?;
            }
            (Some(true), Some(limit)) => {
                kept.push_back(line.to_vec());
                if kept.len() > limit {
                    kept.pop_front();
                }
            }
        }
    }
    for line in kept {
        record::print(&line, page)?;
    }
    page.flush()?;
    record::complain(unread);
    Ok(ExitCode::SUCCESS)
}

struct Wanted {
    span: Span,
    /// Fields and what they must be.
    fields: Vec<(&'static str, String)>,
    message: Option<String>,
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
                Some(digester.digest(text))
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
        let texts = fields.iter().map(|(_, value)| value);
        let texts = texts.chain(&digest).chain(&asked.message);
        let needles = texts.map(|text| {
            let quoted = serde_json::Value::from(text.as_str()).to_string();
            memmem::Finder::new(quoted.as_bytes()).into_owned()
        });
        Ok(Self {
            span: Span::new(asked.since, asked.until),
            needles: needles.collect(),
            fields,
            message: asked.message.clone(),
        })
    }

    /// None when the line is no record.
    fn fits(&self, line: &[u8]) -> Option<bool> {
        let read = Line::parse(line).ok()?;
        if !self.span.contains(read.ts) || self.needles.iter().any(|one| one.find(line).is_none()) {
            return Some(false);
        }
        let record = Record::parse(line)?;
        let fields = self
            .fields
            .iter()
            .all(|(field, value)| record.text(field) == value);
        let message = self.message.as_deref();
        let message = message.is_none_or(|id| record.argument("message_id") == Some(id));
        Some(fields && message)
    }
}
