//! A span for every call, sent by OTLP over HTTP to whoever the standard variables name. Only with the feature `otel`.
//!
//! INVARIANT: what is sent are words of this program and numbers; no caller, no account, no argument, nothing of mail.

use std::time::{Duration, SystemTime};

use anyhow::Context as _;
use gateway::{Ended, Watch};
use mail::{Sampled, TraceParent};
use opentelemetry::trace::{
    Span as _, SpanBuilder, SpanContext, SpanId, SpanKind, Status, TraceContextExt as _,
    TraceFlags, TraceId, TraceState, Tracer as _, TracerProvider as _,
};
use opentelemetry::{Context, KeyValue};
use opentelemetry_otlp::SpanExporter;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{SdkTracer, SdkTracerProvider};

/// Where to send: without one of these nothing is sent.
const ENDPOINTS: [&str; 2] = [
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    "OTEL_EXPORTER_OTLP_ENDPOINT",
];
const DISABLED: &str = "OTEL_SDK_DISABLED";
/// What is left at the end is sent within this.
const PARTING: Duration = Duration::from_secs(1);

pub(crate) struct Traces {
    provider: SdkTracerProvider,
    tracer: SdkTracer,
}

impl Traces {
    /// None where nobody wants them.
    pub(crate) fn wanted() -> anyhow::Result<Option<Self>> {
        let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let disabled = set(DISABLED).is_some_and(|value| value.eq_ignore_ascii_case("true"));
        if disabled || !ENDPOINTS.iter().any(|name| set(name).is_some()) {
            return Ok(None);
        }
        // The address may hold a token of its own, so what is wrong with it is told without it.
        let exporter = SpanExporter::builder().with_http().build();
        let exporter = exporter
            .ok()
            .context("traces cannot be sent: look at the OTEL_EXPORTER_OTLP_ variables")?;
        let resource = Resource::builder()
            .with_service_name("mailwarden")
            .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")))
            .build();
        let provider = SdkTracerProvider::builder()
            .with_batch_exporter(exporter)
            .with_resource(resource)
            .build();
        let tracer = provider.tracer("mailwarden");
        Ok(Some(Self { provider, tracer }))
    }
}

impl Traces {
    /// Sends what is left. A collector that is away holds nobody up.
    pub(crate) fn finish(&self) {
        let _ = self.provider.shutdown_with_timeout(PARTING);
    }
}

impl Watch for Traces {
    fn ended(&self, call: &Ended<'_>) {
        let now = SystemTime::now();
        let begun = now.checked_sub(call.took).unwrap_or(now);
        let good = matches!(call.result, "ok" | "partial" | "asked");
        let mut attributes = vec![
            KeyValue::new("mcp.method.name", "tools/call"),
            KeyValue::new("gen_ai.operation.name", "execute_tool"),
            KeyValue::new("gen_ai.tool.name", call.tool),
            KeyValue::new("mailwarden.request_id", call.request_id.to_owned()),
            KeyValue::new("mailwarden.result", call.result),
            KeyValue::new("mailwarden.decision", call.decision.name()),
            KeyValue::new("mailwarden.imap.round_trips", i64::from(call.round_trips)),
        ];
        if !good {
            attributes.push(KeyValue::new("error.type", call.result));
        }
        let builder = SpanBuilder::from_name(format!("tools/call {}", call.tool))
            .with_kind(SpanKind::Server)
            .with_start_time(begun)
            .with_attributes(attributes);
        let parent = call.parent.map_or_else(Context::new, under);
        let mut span = self.tracer.build_with_context(builder, &parent);
        if !good {
            span.set_status(Status::error(call.result));
        }
        span.end_with_timestamp(now);
    }
}

fn under(parent: TraceParent) -> Context {
    let flags = match parent.sampled {
        Sampled::Yes => TraceFlags::SAMPLED,
        Sampled::No => TraceFlags::default(),
    };
    Context::new().with_remote_span_context(SpanContext::new(
        TraceId::from_bytes(parent.trace),
        SpanId::from_bytes(parent.span),
        flags,
        true,
        TraceState::NONE,
    ))
}
