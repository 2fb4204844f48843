//! Messages as resources: `imap://…` URIs, read through the very same tools.

use mail::{Cx, Level, MessageRef};
use serde_json::{Map, Value, json};

use crate::envelope::{Again, Bytes};
use crate::pipeline::{Asking, Call, Caller, Gateway, Outcome};
use crate::tools::{AnyTool, MESSAGE, NAMES_OF_ACCOUNTS, NAMES_OF_FOLDERS, PART_RESOURCE, SOURCE};
use crate::{Refusal, Refused};

/// A URI template that clients can fill in (RFC 6570).
pub struct Template {
    pub uri: &'static str,
    pub name: &'static str,
    pub description: &'static str,
    pub mime_type: &'static str,
    /// Of use only where a policy gives this much of some message.
    pub least: Level,
    pub holds: Holds,
}

/// What a resource shows of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Holds {
    /// The message rendered, or one part of it.
    Content,
    /// The octets as the server has them.
    Source,
}

pub const TEMPLATES: &[Template] = &[
    Template {
        uri: "imap://{account}/mailbox/{mailbox}/message/{uidvalidity}/{uid}",
        name: "message",
        description: "A message: its headers, its text and the list of its attachments",
        mime_type: "application/json",
        least: Level::Body,
        holds: Holds::Content,
    },
    Template {
        uri: "imap://{account}/mailbox/{mailbox}/message/{uidvalidity}/{uid}/raw",
        name: "message-source",
        description: "A message's source, up to 1,000,000 bytes",
        mime_type: "message/rfc822",
        least: Level::Full,
        holds: Holds::Source,
    },
    Template {
        uri: "imap://{account}/mailbox/{mailbox}/message/{uidvalidity}/{uid}/part/{part}",
        name: "attachment",
        description: "One attachment of a message, by the part_id of its list of attachments",
        mime_type: "application/octet-stream",
        least: Level::Full,
        holds: Holds::Content,
    },
];

/// What a resource holds.
pub enum Content {
    Text {
        mime_type: &'static str,
        text: String,
    },
    /// Base64.
    Blob { mime_type: String, base64: String },
}

impl Gateway {
    /// The templates that this caller can make anything of.
    pub fn templates(&self, caller: &Caller) -> impl Iterator<Item = &'static Template> {
        let ceiling = self.ceiling(caller);
        let serves_sources = self.serves_sources(caller);
        let all = TEMPLATES.iter();
        all.filter(move |one| ceiling.is_some_and(|ceiling| one.least <= ceiling))
            .filter(move |one| serves_sources || one.holds == Holds::Content)
    }

    pub async fn read_resource(
        &self,
        caller: &Caller,
        cx: &Cx,
        uri: &str,
    ) -> Result<Content, Refused> {
        let (tool, field, arguments) = wanted(uri);
        // A URI that is none goes through the pipeline too, and is refused there by its message_id.
        let arguments = arguments.unwrap_or_else(|| {
            let mut wrong = Map::new();
            wrong.insert("message_id".into(), json!(uri));
            wrong
        });
        let call = Call {
            caller,
            tool: tool.name(),
            arguments,
            asking: Asking::Cannot,
            cx,
        };
        let mut answered = match self.call_unlisted(tool, call).await {
            Outcome::Answered(answered) => answered,
            Outcome::Refused(refused) => return Err(unread(refused)),
        };
        if let Some(Bytes { mime_type, base64 }) = answered.bytes {
            return Ok(Content::Blob { mime_type, base64 });
        }
        let held = answered
            .structured
            .pointer_mut("/data")
            .and_then(|data| data.get_mut(field));
        match held.map(Value::take) {
            Some(Value::String(base64)) => Ok(Content::Blob {
                mime_type: "message/rfc822".to_owned(),
                base64,
            }),
            Some(mut message) => {
                if !self.serves_sources(caller)
                    && let Some(message) = message.as_object_mut()
                {
                    message.remove("message_raw_uri");
                }
                let shown = json!({
                    "message": message,
                    "issues": answered.structured.pointer("/data/issues"),
                    "warnings": answered.structured.pointer("/meta/warnings"),
                    "untrusted": answered.structured.pointer("/data/untrusted"),
                });
                Ok(Content::Text {
                    mime_type: "application/json",
                    text: shown.to_string(),
                })
            }
            None => Err(failed(&answered.structured)),
        }
    }

    /// Values for a template's variable that begin with what was typed.
    pub async fn complete(
        &self,
        cx: &Cx,
        caller: &Caller,
        variable: &str,
        typed: &str,
        account: Option<&str>,
    ) -> Vec<String> {
        let all = match (variable, account) {
            ("account", _) => {
                let call = (NAMES_OF_ACCOUNTS, Map::new());
                self.names(cx, caller, call, "/data/accounts", "account_id")
                    .await
            }
            ("mailbox", Some(account)) => {
                let mut arguments = Map::new();
                arguments.insert("account_id".into(), json!(account));
                let call = (NAMES_OF_FOLDERS, arguments);
                self.names(cx, caller, call, "/data/mailboxes", "name")
                    .await
            }
            _ => Vec::new(),
        };
        let typed = typed.to_lowercase();
        all.into_iter()
            .filter(|one| one.to_lowercase().starts_with(&typed))
            .take(100)
            .collect()
    }

    /// One field of each thing that a tool lists: what is completed is decided and recorded like any other call.
    async fn names(
        &self,
        cx: &Cx,
        caller: &Caller,
        (tool, arguments): (&'static dyn AnyTool, Map<String, Value>),
        list: &str,
        field: &str,
    ) -> Vec<String> {
        let call = Call {
            caller,
            tool: tool.name(),
            arguments,
            asking: Asking::Cannot,
            cx,
        };
        let Outcome::Answered(answered) = self.call_unlisted(tool, call).await else {
            return Vec::new();
        };
        let list = answered
            .structured
            .pointer(list)
            .and_then(Value::as_array)
            .cloned();
        let names = list
            .into_iter()
            .flatten()
            .filter_map(|one| one.get(field).and_then(Value::as_str).map(str::to_owned));
        names.collect()
    }
}

/// The tool that reads it, the field that holds it, and what to ask for.
fn wanted(
    uri: &str,
) -> (
    &'static dyn AnyTool,
    &'static str,
    Option<Map<String, Value>>,
) {
    if let Some((message, part)) = uri.split_once("/part/") {
        let arguments = MessageRef::parse_uri(message).ok().map(|at| {
            let mut map = Map::new();
            map.insert("message_id".into(), json!(at.to_string()));
            map.insert("part_id".into(), json!(part));
            map
        });
        return (PART_RESOURCE, "", arguments);
    }
    match uri.strip_suffix("/raw") {
        Some(message) => {
            let at = MessageRef::parse_uri(message).ok();
            let arguments = at.map(|at| raw_arguments(&at));
            (SOURCE, "raw_source_base64", arguments)
        }
        None => {
            let at = MessageRef::parse_uri(uri).ok();
            (MESSAGE, "message", at.map(|at| arguments(&at)))
        }
    }
}

fn raw_arguments(at: &MessageRef) -> Map<String, Value> {
    let mut map = Map::new();
    map.insert("message_id".into(), json!(at.to_string()));
    map.insert("max_bytes".into(), json!(1_000_000));
    map
}

fn arguments(at: &MessageRef) -> Map<String, Value> {
    let mut map = Map::new();
    map.insert("message_id".into(), json!(at.to_string()));
    map.insert("body_max_chars".into(), json!(20_000));
    map
}

/// A resource has no place for a decision alone: an error has a code, and what is hidden is not there.
fn unread(mut refused: Refused) -> Refused {
    let Some(denial) = refused.refusal.denial else {
        return refused;
    };
    use policy::Refused as Why;
    let hidden = [
        Why::AccountHidden,
        Why::FolderHidden,
        Why::MessageNotVisible,
    ];
    if hidden.contains(&denial.refused) {
        refused.refusal.code = crate::Code::NotFound;
    }
    let code = refused.refusal.code.name();
    if let Value::Object(data) = &mut refused.data {
        data.insert("code".into(), json!(code));
    }
    refused
}

/// The server behind the account failed: a resource has no place for issues, so it is an error.
fn failed(envelope: &Value) -> Refused {
    let summary = envelope
        .get("summary")
        .and_then(Value::as_str)
        .unwrap_or("failed");
    let code = match envelope
        .pointer("/data/issues/0/code")
        .and_then(Value::as_str)
    {
        Some("auth_failed") => crate::Code::AuthFailed,
        Some("timeout") => crate::Code::Timeout,
        _ => crate::Code::Internal,
    };
    let meta = envelope.get("meta").cloned().unwrap_or_default();
    let data = json!({ "code": code.name(), "meta": meta });
    Refused {
        refusal: Refusal::new(code, summary),
        data,
        again: Again::First,
    }
}
