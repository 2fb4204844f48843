//! Arguments as a tool wants them, or a refusal that names the one that is wrong.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::Refusal;

/// Strict: unknown fields, wrong types and values out of bounds are refused, each by its name.
pub(super) fn parse<A: DeserializeOwned>(arguments: Map<String, Value>) -> Result<A, Refusal> {
    serde_path_to_error::deserialize(Value::Object(arguments)).map_err(|error| {
        // The caller's own words: what is changed in them is no news about mail.
        let mut changes = content::Changes::default();
        let path = content::name(&error.path().to_string(), &mut changes);
        let what = content::said(error.inner().to_string().as_bytes(), &mut changes);
        if let Some(known) = what.strip_prefix("unknown field ") {
            let known = known.strip_suffix(", there are no fields").unwrap_or(known);
            return Refusal::argument(&path, format!("there is no argument {known}"));
        }
        if let Some(name) = what
            .strip_prefix("missing field `")
            .and_then(|w| w.strip_suffix('`'))
        {
            return Refusal::argument(name, format!("{name} is required"));
        }
        let what = match what.as_str() {
            wrong if wrong.ends_with("expected a boolean") => "must be true or false",
            other => other,
        };
        match path.as_str() {
            "" | "." => Refusal::invalid(what),
            // Some checks name their argument already.
            _ if what.starts_with(&path) || (path.contains('_') && what.contains(&path)) => {
                Refusal::argument(&path, what)
            }
            _ => Refusal::argument(&path, format!("{path} {what}")),
        }
    })
}
