//! What is looked at only when somebody asks: connections, the log, the ledger, the process.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use audit::Health;
use jiff::Timestamp;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _, MetricEncoder};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

use crate::watched::{LedgerStands, Process, Watched};

/// What was seen at the last look.
#[derive(Debug, Default)]
pub(super) struct Pulled(Mutex<Vec<Reading>>);

#[derive(Debug)]
struct Reading {
    name: &'static str,
    help: &'static str,
    kind: Kind,
    points: Vec<(Option<(&'static str, String)>, f64)>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Gauge,
    Counter,
    Info,
}

impl Reading {
    fn one(kind: Kind, name: &'static str, help: &'static str, value: f64) -> Self {
        Self {
            name,
            help,
            kind,
            points: vec![(None, value)],
        }
    }

    fn by(
        kind: Kind,
        name: &'static str,
        help: &'static str,
        label: &'static str,
        points: impl IntoIterator<Item = (&'static str, u64)>,
    ) -> Self {
        let points = points.into_iter();
        Self {
            name,
            help,
            kind,
            points: points
                .map(|(value, number)| (Some((label, value.to_owned())), number as f64))
                .collect(),
        }
    }

    fn info(name: &'static str, help: &'static str, label: &'static str, value: String) -> Self {
        Self {
            name,
            help,
            kind: Kind::Info,
            points: vec![(Some((label, value)), 1.0)],
        }
    }
}

impl Pulled {
    pub(super) async fn pull(&self, watched: &Watched) {
        let mut all = about_the_log(watched);
        all.extend(about_calls(watched));
        all.extend(about_connections(watched));
        all.extend(about_the_ledger(watched.ledger().await));
        all.extend(about_the_process(watched));
        let lacking = watched.lacking().await;
        all.push(Reading::one(
            Kind::Gauge,
            "ready",
            "1 while calls can be served, if only by reading, as /readyz tells",
            f64::from(u8::from(lacking.is_empty())),
        ));
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = all;
    }
}

fn about_the_log(watched: &Watched) -> Vec<Reading> {
    let (health, lag) = watched.log();
    let oldest = lag.oldest.unwrap_or_default().as_secs_f64();
    let mut all = vec![
        Reading::one(
            Kind::Gauge,
            "audit_writable",
            "1 while the audit log can be written; otherwise calls are refused",
            f64::from(u8::from(!matches!(health, Health::Bad(_)))),
        ),
        Reading::one(
            Kind::Gauge,
            "audit_queue_records",
            "Records of the audit log that are not yet durable",
            lag.waiting as f64,
        ),
        Reading::one(
            Kind::Gauge,
            "audit_lag_seconds",
            "How long the oldest record that is not yet durable has waited",
            oldest,
        ),
        Reading::one(
            Kind::Counter,
            "audit_failures",
            "How often the audit log could not be written",
            lag.failures as f64,
        ),
    ];
    if let Health::Good { records, .. } = health {
        all.push(Reading::one(
            Kind::Gauge,
            "audit_last_seq",
            "The number of the newest record of the audit log",
            records.saturating_sub(1) as f64,
        ));
    }
    all
}

fn about_calls(watched: &Watched) -> Vec<Reading> {
    let Some(load) = watched.calls() else {
        return Vec::new();
    };
    let number = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
    vec![
        Reading::by(
            Kind::Gauge,
            "calls_here",
            "Calls that have come and are not answered: under way, waiting for a place, done and waiting to be recorded",
            "state",
            [
                ("under_way", number(load.under_way)),
                ("waiting", number(load.waiting)),
                ("recording", number(load.parting)),
            ],
        ),
        Reading::one(
            Kind::Gauge,
            "places",
            "Calls that may be under way at a time, as things stand",
            load.places as f64,
        ),
    ]
}

fn about_connections(watched: &Watched) -> Vec<Reading> {
    let Some(counted) = watched.counted() else {
        return Vec::new();
    };
    let (connections, logins) = (counted.connections(), counted.logins());
    vec![
        Reading::by(
            Kind::Gauge,
            "imap_connections",
            "Connections to mail servers, of all accounts: open, and of these lent to calls",
            "state",
            [("open", connections.open), ("lent", connections.lent)],
        ),
        Reading::one(
            Kind::Gauge,
            "imap_waiting",
            "Calls that wait for a connection",
            connections.waiting as f64,
        ),
        Reading::one(
            Kind::Counter,
            "imap_dials",
            "Connections that were begun",
            connections.dials as f64,
        ),
        Reading::one(
            Kind::Counter,
            "imap_dial_failures",
            "Connections that could not be made, logins included",
            connections.failures as f64,
        ),
        Reading::by(
            Kind::Gauge,
            "oauth_accounts",
            "Accounts by OAuth2, by how their logins stand",
            "standing",
            [
                ("good", logins.good),
                ("read_only", logins.read_only),
                ("needs_login", logins.needs_login),
                ("unreadable", logins.unreadable),
            ],
        ),
    ]
}

fn about_the_ledger(stands: LedgerStands) -> Vec<Reading> {
    let up = |up: f64| {
        Reading::one(
            Kind::Gauge,
            "ledger_up",
            "1 while the ledger of changes answers",
            up,
        )
    };
    let found = match stands {
        LedgerStands::Absent => return Vec::new(),
        LedgerStands::Down => return vec![up(0.0)],
        LedgerStands::Up(found) => found,
    };
    let age = found.oldest.map_or(0.0, |began| {
        Timestamp::now()
            .duration_since(began)
            .as_secs_f64()
            .max(0.0)
    });
    vec![
        up(1.0),
        Reading::by(
            Kind::Gauge,
            "ledger_transactions",
            "Changes that are not at their end, by state",
            "state",
            [
                ("open", found.open),
                ("needs_operator", found.needs_operator),
            ],
        ),
        Reading::one(
            Kind::Gauge,
            "ledger_oldest_open_seconds",
            "How long ago the oldest change began that is under way",
            age,
        ),
    ]
}

fn about_the_process(watched: &Watched) -> Vec<Reading> {
    let reloads = watched.reloads().map(|(how, count)| (how.name(), count));
    let unserved = watched.unserved().map(|(why, count)| (why.name(), count));
    let mut all = vec![
        Reading::info(
            "build",
            "The program",
            "version",
            env!("CARGO_PKG_VERSION").to_owned(),
        ),
        Reading::info(
            "config",
            "A digest of the configuration that is in force",
            "version",
            digest(&watched.version()),
        ),
        Reading::by(
            Kind::Counter,
            "reloads",
            "How often the configuration was read again, by outcome",
            "outcome",
            reloads,
        ),
        Reading::by(
            Kind::Counter,
            "http_refused",
            "Requests and connections over HTTP that were not served, by reason",
            "reason",
            unserved,
        ),
        Reading::one(
            Kind::Gauge,
            "draining",
            "1 from when the process was told to end",
            f64::from(u8::from(watched.draining().has_begun())),
        ),
    ];
    if let Some(process) = Process::now() {
        all.push(Reading::one(
            Kind::Gauge,
            "process_resident_memory_bytes",
            "Memory of the process",
            process.resident_bytes as f64,
        ));
        all.push(Reading::one(
            Kind::Gauge,
            "process_open_fds",
            "Open file descriptors of the process",
            process.open_files as f64,
        ));
    }
    all
}

/// INVARIANT: whatever a version is made of, only hexadecimal digits of it get out.
fn digest(version: &str) -> String {
    match version.is_empty() {
        true => "none".to_owned(),
        false => {
            let hex = version.chars().filter(char::is_ascii_hexdigit);
            hex.take(16).collect()
        }
    }
}

impl Collector for Pulled {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for reading in all.iter() {
            let kind = match reading.kind {
                Kind::Gauge => MetricType::Gauge,
                Kind::Counter => MetricType::Counter,
                Kind::Info => MetricType::Info,
            };
            let mut metric = encoder.encode_descriptor(reading.name, reading.help, None, kind)?;
            for (label, value) in &reading.points {
                match (reading.kind, label) {
                    (Kind::Info, Some((name, text))) => {
                        metric.encode_info(&[(*name, text.as_str())])?;
                    }
                    (kind, Some((name, text))) => {
                        let labels = [(*name, text.as_str())];
                        point(kind, *value, metric.encode_family(&labels)?)?;
                    }
                    (kind, None) => {
                        let none: [(&str, &str); 0] = [];
                        point(kind, *value, metric.encode_family(&none)?)?;
                    }
                }
            }
        }
        Ok(())
    }
}

fn point(kind: Kind, value: f64, encoder: MetricEncoder<'_>) -> fmt::Result {
    match kind {
        Kind::Counter => ConstCounter::new(value).encode(encoder),
        Kind::Gauge | Kind::Info => ConstGauge::new(value).encode(encoder),
    }
}
