//! Lines on stderr: as people read them, or one JSON object each. Stdout carries MCP.
//!
//! What the operator is told in plain words (a configuration that is refused, say) takes the same form as the rest.

use std::fmt;
use std::io::IsTerminal as _;
use std::sync::OnceLock;

use jiff::Timestamp;
use serde_json::{Map, Value, json};
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::filter::{EnvFilter, FilterExt as _, LevelFilter, filter_fn};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::layer::{Layer as _, SubscriberExt as _};
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::cli::LogFormat;

const FORMAT: &str = "MAILWARDEN_LOG_FORMAT";

/// Chosen once, when the process starts.
static CHOSEN: OnceLock<LogFormat> = OnceLock::new();

pub(crate) fn start(option: Option<LogFormat>) -> Result<(), String> {
    let format = match option {
        Some(format) => format,
        None => from_environment()?,
    };
    let _ = CHOSEN.set(format);
    let wanted = std::env::var("MAILWARDEN_LOG").unwrap_or_else(|_| "warn".to_owned());
    let wanted = EnvFilter::builder().parse(wanted).map_err(|_| {
        "MAILWARDEN_LOG must be error, warn, info, debug, or a filter such as sources=debug"
            .to_owned()
    })?;
    // INVARIANT: the protocol library logs requests and results, which hold mail. Whatever is asked for, it may
    // only report errors.
    let quiet = filter_fn(|about| {
        !about.target().starts_with("rmcp") || *about.level() <= LevelFilter::ERROR
    });
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
    let lines = match format {
        LogFormat::Text => lines.with_ansi(std::io::stderr().is_terminal()).boxed(),
        LogFormat::Json => lines.with_ansi(false).event_format(Json).boxed(),
    };
    tracing_subscriber::registry()
        .with(lines.with_filter(wanted.and(quiet)))
        .init();
    Ok(())
}

fn from_environment() -> Result<LogFormat, String> {
    let set = std::env::var_os(FORMAT).filter(|value| !value.is_empty());
    match set.as_ref().map(|value| value.to_str()) {
        None | Some(Some("text")) => Ok(LogFormat::Text),
        Some(Some("json")) => Ok(LogFormat::Json),
        Some(_) => Err(format!("{FORMAT} must be text or json")),
    }
}

/// Words for whoever runs this, about what is wrong.
pub(crate) fn complain(lines: &str) {
    lines.lines().for_each(|line| write("ERROR", line));
}

/// Words for whoever runs this, about what is.
pub(crate) fn notice(line: &str) {
    write("INFO", line);
}

fn write(level: &str, line: &str) {
    match CHOSEN.get() {
        Some(LogFormat::Json) => eprintln!("{}", object(level, "mailwarden", line, Map::new())),
        Some(LogFormat::Text) | None => eprintln!("mailwarden: {line}"),
    }
}

/// One object in a line: `time`, `level`, `target`, `message`, `request_id` where there is one, and what else is told.
struct Json;

impl<S, N> FormatEvent<S, N> for Json
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        _: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut told = Told::default();
        event.record(&mut told);
        let about = event.metadata();
        let line = object(
            about.level().as_str(),
            about.target(),
            &told.message,
            told.fields,
        );
        writeln!(writer, "{line}")
    }
}

fn object(level: &str, target: &str, message: &str, fields: Map<String, Value>) -> Value {
    let mut object = Map::new();
    let now = Timestamp::now()
        .strftime("%Y-%m-%dT%H:%M:%S%.6fZ")
        .to_string();
    object.insert("time".to_owned(), json!(now));
    object.insert("level".to_owned(), json!(level));
    object.insert("target".to_owned(), json!(target));
    object.insert("message".to_owned(), json!(message));
    for (name, value) in fields {
        let name = match name.as_str() {
            "request" => "request_id",
            other => other,
        };
        object.entry(name).or_insert(value);
    }
    Value::Object(object)
}

/// The fields of an event.
#[derive(Default)]
struct Told {
    message: String,
    fields: Map<String, Value>,
}

impl Told {
    fn keep(&mut self, field: &Field, value: Value) {
        self.fields.insert(field.name().to_owned(), value);
    }
}

impl Visit for Told {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        match field.name() {
            "message" => self.message = format!("{value:?}"),
            _ => self.keep(field, json!(format!("{value:?}"))),
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "message" => value.clone_into(&mut self.message),
            _ => self.keep(field, json!(value)),
        }
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.keep(field, json!(value));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.keep(field, json!(value));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.keep(field, json!(value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_one_object_whatever_it_says() {
        let fields = Map::from_iter([
            ("request".to_owned(), json!("req_1")),
            ("level".to_owned(), json!("forged")),
        ]);
        let line = object("WARN", "audit", "two\nlines \u{1b}[2J", fields).to_string();
        assert!(!line.contains(['\n', '\u{1b}']), "{line}");
        let read: Value = serde_json::from_str(&line).unwrap();
        let told = ["level", "target", "message", "request_id"].map(|name| read[name].clone());
        assert_eq!(
            told,
            ["WARN", "audit", "two\nlines \u{1b}[2J", "req_1"].map(Value::from)
        );
    }
}
