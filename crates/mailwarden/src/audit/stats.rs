//! `audit stats`: how many calls there were, how many were denied, and how long they took.

use std::collections::BTreeMap;
use std::process::ExitCode;

use audit::Line;
use audit::read::{Piece, Read};
use serde_json::{Map, Value, json};

use super::logs::Logs;
use super::page::{Form, Page, cut, safe};
use super::record::{Record, Unread};
use super::span::Span;
use super::tally::Tally;
use crate::cli::AuditStats;

/// How many names are counted one by one; a hostile log could hold any number.
const MOST: usize = 1000;
const OTHERS: &str = "(others)";

#[derive(Default)]
struct Stats {
    all: Tally,
    by: [BTreeMap<String, Tally>; 5],
}

/// The last only where there are several.
const BY: [&str; 5] = ["day", "tool", "caller", "decision", "log"];

pub(super) fn run(logs: &Logs, asked: &AuditStats, page: &mut Page) -> anyhow::Result<ExitCode> {
    let span = Span::new(asked.since, asked.until);
    let mut stats = Stats::default();
    let mut unread = Unread::default();
    for log in logs.all() {
        let name = logs.label(log).map_or("", |log| log.name.as_str());
        let mut days = span.days(&log.dir)?;
        while let Some(read) = days.advance() {
            match read {
                Read::Piece(Piece::Line(line)) => {
                    if stats.take(line, name, &span).is_none() {
                        unread.line();
                    }
                }
                Read::Piece(Piece::TooLong) => unread.line(),
                Read::Unreadable(error) => unread.file(&error),
                Read::Day(_) | Read::Piece(Piece::Tail(_)) => {}
            }
        }
    }
    match page.form {
        Form::Json => page.line(stats.as_json())?,
        Form::Human => stats.show(page)?,
    }
    page.flush()?;
    Ok(unread.complain())
}

impl Stats {
    /// None when the line is no record.
    fn take(&mut self, line: &[u8], log: &str, span: &Span) -> Option<()> {
        let read = Line::parse(line).ok()?;
        if !matches!(read.event, "call" | "intent" | "outcome") || !span.contains(read.ts) {
            return Some(());
        }
        let record = Record::parse(line)?;
        let names = [
            record.text("ts").get(..10).unwrap_or_default(),
            record.text("tool"),
            record.text("caller_id"),
            record.text("decision"),
            log,
        ];
        self.all.add(&record);
        for ((tallies, name), what) in self.by.iter_mut().zip(names).zip(BY) {
            // An outcome repeats no decision, and a log that is alone needs no name.
            if name.is_empty() && (read.event == "outcome" || what == "log") {
                continue;
            }
            let name = match tallies.len() < MOST || tallies.contains_key(name) {
                true => name,
                false => OTHERS,
            };
            tallies.entry(name.to_owned()).or_default().add(&record);
        }
        Some(())
    }

    fn kinds(&self) -> impl Iterator<Item = (&'static str, &BTreeMap<String, Tally>)> {
        let kinds = BY.into_iter().zip(&self.by);
        kinds.filter(|(what, tallies)| *what != "log" || !tallies.is_empty())
    }

    fn show(&self, page: &mut Page) -> std::io::Result<()> {
        for (what, tallies) in self.kinds() {
            let head = row(
                &format!("by {what}"),
                [
                    "calls",
                    "denied",
                    "failed",
                    "p50 ms",
                    "p99 ms",
                    "round trips",
                ]
                .map(str::to_owned),
            );
            let head = page.screen.bold(head);
            page.line(head)?;
            for (name, tally) in tallies {
                page.line(row(&safe(name), numbers(tally)))?;
            }
            page.line("")?;
        }
        page.line(row("all", numbers(&self.all)))
    }

    fn as_json(&self) -> Value {
        let mut object = Map::new();
        object.insert("all".to_owned(), one(&self.all));
        for (what, tallies) in self.kinds() {
            let tallies: Map<String, Value> = tallies
                .iter()
                .map(|(name, tally)| (name.clone(), one(tally)))
                .collect();
            object.insert(format!("by_{what}"), Value::Object(tallies));
        }
        Value::Object(object)
    }
}

fn row(name: &str, columns: [String; 6]) -> String {
    let [calls, denied, failed, p50, p99, trips] = columns;
    format!(
        "{:<30}{calls:>10}{denied:>10}{failed:>10}{p50:>10}{p99:>10}{trips:>14}",
        cut(name, 29)
    )
}

fn numbers(tally: &Tally) -> [String; 6] {
    let ms = |ms: Option<f64>| ms.map_or("-".to_owned(), |ms| format!("{ms:.1}"));
    [
        tally.calls.to_string(),
        tally.denied.to_string(),
        tally.failed.to_string(),
        ms(tally.p50()),
        ms(tally.p99()),
        tally.round_trips.to_string(),
    ]
}

fn one(tally: &Tally) -> Value {
    json!({
        "calls": tally.calls,
        "denied": tally.denied,
        "failed": tally.failed,
        "latency_ms_p50": tally.p50(),
        "latency_ms_p99": tally.p99(),
        "round_trips": tally.round_trips,
    })
}
