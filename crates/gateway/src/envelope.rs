//! The one envelope around every answer, and what goes with every refusal.

use std::fmt;

use audit::{Decision, Receipt};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::Refusal;
use crate::text;
use crate::trouble::{Issue, without_server_words};

/// How a tool's work came out (`data.status`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Status {
    Ok,
    Partial,
    Failed,
}

/// A tool's payload.
pub(crate) trait Reply: Serialize + JsonSchema + Send {
    /// Tools that cannot fail half-way have no status.
    fn status(&self) -> Status {
        Status::Ok
    }

    /// What went wrong, the gravest first.
    fn issues(&self) -> &[Issue] {
        &[]
    }

    /// How many accounts, folders or messages the caller gets to see.
    fn shown(&self) -> usize;

    /// How many were kept from it.
    fn hidden(&self) -> u64 {
        0
    }

    /// What is too large for an answer and can be read as a resource.
    fn links(&self) -> Vec<Link> {
        Vec::new()
    }

    /// The bytes of a resource: they travel beside the answer, and are not written into it.
    fn take_bytes(&mut self) -> Option<Bytes> {
        None
    }

    /// The change that was made, or is being made.
    fn transaction(&self) -> Option<String> {
        None
    }

    /// Which messages, where they were asked for wherever they lie.
    fn messages(&self) -> Vec<mail::MessageRef> {
        Vec::new()
    }

    /// Which messages, where they are not named in the arguments.
    fn seen(&self) -> Option<audit::Seen> {
        None
    }
}

/// A resource that an answer points to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Link {
    pub uri: String,
    pub mime_type: String,
    pub size: u64,
}

/// What a resource holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Bytes {
    pub mime_type: String,
    pub base64: String,
}

/// What a tool hands back to the pipeline.
pub(crate) struct Done<R> {
    pub summary: String,
    pub data: R,
    pub warnings: Vec<Warning>,
    pub pagination: Option<Pagination>,
}

/// Something a caller should know of an answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Warning {
    /// In our words.
    pub text: String,
    /// The words of a stranger that it is about.
    pub quote: Option<String>,
}

impl From<String> for Warning {
    fn from(text: String) -> Self {
        Self { text, quote: None }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)?;
        match &self.quote {
            Some(quote) => write!(f, ": {}", json!(quote)),
            None => Ok(()),
        }
    }
}

impl<R> Done<R> {
    pub(crate) fn new(summary: impl Into<String>, data: R) -> Self {
        Self {
            summary: summary.into(),
            data,
            warnings: Vec::new(),
            pagination: None,
        }
    }

    pub(crate) fn warn(&mut self, text: String) {
        self.warnings.push(Warning::from(text));
    }
}

#[derive(Serialize)]
pub(crate) struct Pagination {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    pub has_more: bool,
    pub total_count: u64,
    pub page_size: u32,
}

/// What is known about a call when it is over.
pub(crate) struct Facts {
    pub request_id: String,
    /// Marks off untrusted text; nobody who wrote mail can know it.
    pub fence: String,
    pub now: Timestamp,
    pub duration_ms: u64,
    pub round_trips: u32,
    pub cache_hit: bool,
    /// INVARIANT: what it took to answer depends on hidden mail too, so only the owner is told.
    pub telemetry: bool,
}

impl Facts {
    fn meta(&self, warnings: &[Warning], pagination: Option<Pagination>) -> Map<String, Value> {
        let warnings: Vec<String> = warnings.iter().map(Warning::to_string).collect();
        let mut meta = Map::new();
        meta.insert("version".into(), json!("response-v2"));
        meta.insert("request_id".into(), json!(self.request_id));
        meta.insert("now_utc".into(), json!(utc(self.now)));
        meta.insert("duration_ms".into(), json!(self.duration_ms));
        meta.insert("warnings".into(), json!(warnings));
        if let Some(pagination) = pagination {
            meta.insert("pagination".into(), json!(pagination));
        }
        if self.telemetry {
            let telemetry = json!({
                "duration_ms": self.duration_ms,
                "imap_round_trips": self.round_trips,
                "cache_hit": self.cache_hit,
            });
            meta.insert("telemetry".into(), telemetry);
        }
        meta
    }
}

/// Puts proof into `meta` that the call is in the audit log.
fn prove(envelope: &mut Value, receipt: &Receipt) {
    if let Some(Value::Object(meta)) = envelope.get_mut("meta") {
        let receipt = json!({
            "log_id": receipt.log_id.as_str(),
            "seq": receipt.seq,
            "leaf_hash": receipt.leaf_hash.to_string(),
        });
        meta.insert("receipt".into(), receipt);
    }
}

/// RFC 3339, in UTC.
pub(crate) fn utc(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}

/// An answer, ready for any transport.
#[derive(Clone, Debug)]
pub struct Answered {
    /// The whole envelope.
    pub structured: Value,
    /// The same in fewer tokens, for hosts that show the model only text.
    pub text: String,
    /// `success` is false.
    pub failed: bool,
    pub links: Vec<Link>,
    pub(crate) bytes: Option<Bytes>,
}

/// A refusal, ready for any transport.
#[derive(Clone, Debug)]
pub struct Refused {
    pub refusal: Refusal,
    /// `{ code, details?, meta }`
    pub data: Value,
    pub again: Again,
}

/// How often somebody was refused like that of late.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Again {
    #[default]
    First,
    /// For asking too much, as others of its calls in this minute: it is answered later, so that whoever asks without end costs
    /// others little.
    OneOfMany,
}

impl Answered {
    pub(crate) fn recorded(mut self, receipt: &Receipt) -> Self {
        prove(&mut self.structured, receipt);
        self
    }
}

/// `untrusted` are the fields of the data that hold text written by strangers. The decision under
/// which the answer is given stands in the data of sets that tell it.
pub(crate) fn answered<R: Reply>(
    mut done: Done<R>,
    untrusted: &[&str],
    decision: Option<Decision>,
    facts: &Facts,
) -> Answered {
    let bytes = done.data.take_bytes();
    let failed = done.data.status() == Status::Failed;
    let links = done.data.links();
    let mut data = serde_json::to_value(&done.data).unwrap_or_else(|_| json!({}));
    // INVARIANT: the words of a mail server stand in the issues alone, which are named as
    // untrusted.
    if let Some(ours) = without_server_words(&done.summary) {
        done.summary = ours;
    }
    for warning in &mut done.warnings {
        if let Some(ours) = without_server_words(&warning.text) {
            warning.text = ours;
        }
    }
    if let Value::Object(map) = &mut data {
        let ours = |name: &str| name != ISSUES && !untrusted.contains(&name);
        let fields = map.iter_mut().filter(|(name, _)| ours(name));
        fields.for_each(|(_, value)| drop_server_words(value));
    }
    if let (Some(decision), Value::Object(map)) = (decision, &mut data) {
        map.insert("decision".to_owned(), json!(decision.name()));
    }
    let untrusted: Vec<&str> = untrusted
        .iter()
        .copied()
        .filter(|field| data.get(field).is_some())
        .chain(quotes_a_server(&data).then_some(ISSUES))
        .collect();
    let text = text::render(
        &text::Parts {
            summary: &done.summary,
            warnings: &done.warnings,
            data: &data,
            untrusted: &untrusted,
        },
        &facts.fence,
    );
    if !untrusted.is_empty()
        && let Value::Object(map) = &mut data
    {
        map.insert("untrusted".to_owned(), json!(untrusted));
    }
    let error = if failed {
        json!(done.summary)
    } else {
        Value::Null
    };
    // Moved, not copied: there may be much of it.
    let fields = [
        ("success", Value::Bool(!failed)),
        ("summary", Value::String(done.summary)),
        ("data", data),
        ("error", error),
        (
            "meta",
            Value::Object(facts.meta(&done.warnings, done.pagination)),
        ),
    ];
    let structured = fields.map(|(name, value)| (name.to_owned(), value));
    let structured = Value::Object(structured.into_iter().collect());
    Answered {
        structured,
        text,
        failed,
        links,
        bytes,
    }
}

/// The field of the data for what went wrong.
pub(crate) const ISSUES: &str = "issues";

fn quotes_a_server(data: &Value) -> bool {
    let issues = data.get(ISSUES).and_then(Value::as_array);
    let mut messages = issues
        .into_iter()
        .flatten()
        .filter_map(|issue| issue.get("message")?.as_str());
    messages.any(|message| without_server_words(message).is_some())
}

fn drop_server_words(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Some(ours) = without_server_words(text) {
                *text = ours;
            }
        }
        Value::Array(list) => list.iter_mut().for_each(drop_server_words),
        Value::Object(map) => map.values_mut().for_each(drop_server_words),
        _ => {}
    }
}

pub(crate) fn refused(refusal: Refusal, facts: &Facts) -> Refused {
    let mut data = Map::new();
    match &refusal.denial {
        Some(denial) => {
            data.insert("decision".into(), json!("DENY"));
            data.insert("reason".into(), json!(denial.refused.name()));
        }
        None => {
            data.insert("code".into(), json!(refusal.code.name()));
        }
    }
    if let Some(beside) = &refusal.beside {
        data.extend(beside.as_ref().clone());
    }
    if let Some(details) = &refusal.details {
        data.insert("details".into(), details.as_ref().clone());
    }
    data.insert("meta".into(), Value::Object(facts.meta(&[], None)));
    Refused {
        refusal,
        data: Value::Object(data),
        again: Again::First,
    }
}

impl Refused {
    pub(crate) fn recorded(mut self, receipt: &Receipt) -> Self {
        prove(&mut self.data, receipt);
        self
    }

    /// The policy refused: that is an answer in every style of errors.
    pub fn is_denial(&self) -> bool {
        self.refusal.denial.is_some()
    }

    /// The same refusal as a tool result, for hosts that hide protocol errors from the model.
    pub fn as_answer(&self) -> Answered {
        let message = self.refusal.to_string();
        let mut data = self.data.clone();
        let meta = data.get_mut("meta").map(Value::take).unwrap_or_default();
        if let Value::Object(map) = &mut data {
            map.remove("meta");
        }
        Answered {
            text: message.clone(),
            structured: json!({
                "success": false,
                "summary": message,
                "data": data,
                "error": message,
                "meta": meta,
            }),
            failed: true,
            links: Vec::new(),
            bytes: None,
        }
    }
}
