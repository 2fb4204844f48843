//! Metrics in the form that Prometheus reads: counts of calls as they end, and the rest when somebody asks.
//!
//! INVARIANT: no label is a person's, an account's, a host's or a message's. Labels of counts are words of this program, by
//! their type; those that are text are the version of the program and a digest of the configuration.

mod pulled;
mod serve;

use std::fmt;
use std::sync::Arc;

use gateway::{Cache, Ended, Watch};
use prometheus_client::encoding::text;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use crate::watched::Watched;
use pulled::Pulled;
pub(crate) use serve::{Address, serve};

/// A millisecond is an answer from memory, and half a minute the longest that servers may be silent.
const BUCKETS: [f64; 14] = [
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0,
];

/// What it is, and which word of ours.
type Label = (&'static str, &'static str);

/// What is asked for by `/metrics`, told by the gateway of every call.
pub(crate) struct Metrics {
    registry: Registry,
    pulled: Arc<Pulled>,
    calls: Family<[Label; 2], Counter>,
    decisions: Family<[Label; 2], Counter>,
    durations: Family<[Label; 1], Histogram, fn() -> Histogram>,
    round_trips: Family<[Label; 1], Counter>,
    cache_hits: Family<[Label; 1], Counter>,
    throttled: Family<[Label; 2], Counter>,
}

impl Metrics {
    pub(crate) fn new() -> Self {
        let mut metrics = Self {
            registry: Registry::with_prefix("mailwarden"),
            pulled: Arc::default(),
            calls: Family::default(),
            decisions: Family::default(),
            durations: Family::new_with_constructor(|| Histogram::new(BUCKETS)),
            round_trips: Family::default(),
            cache_hits: Family::default(),
            throttled: Family::default(),
        };
        let registry = &mut metrics.registry;
        registry.register(
            "calls",
            "Calls that ended, by tool and result",
            metrics.calls.clone(),
        );
        registry.register(
            "decisions",
            "What the policy decided of calls, and why",
            metrics.decisions.clone(),
        );
        registry.register(
            "call_duration_seconds",
            "How long calls took, by tool (mcp.server.operation.duration)",
            metrics.durations.clone(),
        );
        registry.register(
            "imap_round_trips",
            "Round trips to mail servers, by tool",
            metrics.round_trips.clone(),
        );
        registry.register(
            "call_cache_hits",
            "Calls that were answered in part from what an earlier one had fetched",
            metrics.cache_hits.clone(),
        );
        registry.register(
            "throttled",
            "Calls that were turned away because there were too many",
            metrics.throttled.clone(),
        );
        registry.register_collector(Box::new(Arc::clone(&metrics.pulled)));
        metrics
    }

    /// Everything, as it is now.
    pub(crate) async fn render(&self, watched: &Watched) -> Result<String, fmt::Error> {
        self.pulled.pull(watched).await;
        let mut text = String::new();
        text::encode(&mut text, &self.registry)?;
        Ok(text)
    }
}

impl Watch for Metrics {
    fn ended(&self, call: &Ended<'_>) {
        let tool = ("tool", call.tool);
        self.calls
            .get_or_create(&[tool, ("result", call.result)])
            .inc();
        if !call.reason.is_empty() {
            let decided = [("decision", call.decision.name()), ("reason", call.reason)];
            self.decisions.get_or_create(&decided).inc();
        }
        self.durations
            .get_or_create(&[tool])
            .observe(call.took.as_secs_f64());
        self.round_trips
            .get_or_create(&[tool])
            .inc_by(u64::from(call.round_trips));
        if call.cache == Cache::Hit {
            self.cache_hits.get_or_create(&[tool]).inc();
        }
        if call.is_throttled() {
            self.throttled
                .get_or_create(&[tool, ("result", call.result)])
                .inc();
        }
    }
}
