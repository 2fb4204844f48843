//! Schemas as clients want them: plain, inline, small.
//!
//! Strict hosts refuse root-level combinators, nullable unions and unknown formats; models pay for every byte.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::envelope::ISSUES;
use crate::tools::Toolset;

/// What a schema is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    /// Descriptions stay: they tell a model what to pass.
    Input,
    /// Descriptions go: names speak for themselves, and every call pays for them.
    Output,
}

/// Types whose schema says only that they are objects.
macro_rules! plain_object {
    ($($name:ident),+) => {$(
        impl schemars::JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({ "type": "object" })
            }
        }
    )+};
}
pub(crate) use plain_object;

/// The schema of a tool's arguments.
pub(crate) fn input<T: JsonSchema>() -> Map<String, Value> {
    let mut schema = generate::<T>();
    tidy(&mut schema, Side::Input);
    let mut schema = object(schema);
    // What is said of all arguments together is not for models.
    schema.remove("description");
    schema.entry("properties").or_insert_with(|| json!({}));
    schema.insert("additionalProperties".to_owned(), Value::Bool(false));
    schema
}

/// The schema of the envelope around a tool's data.
pub(crate) fn output<T: JsonSchema>(set: Toolset, untrusted: &[&str]) -> Map<String, Value> {
    let mut data = generate::<T>();
    tidy(&mut data, Side::Output);
    let properties = data.get_mut("properties").and_then(Value::as_object_mut);
    if let Some(properties) = properties
        && set == Toolset::Gateway
    {
        properties.insert("decision".to_owned(), json!({ "type": "string" }));
    }
    if !untrusted.is_empty()
        && let Some(properties) = data.get_mut("properties").and_then(Value::as_object_mut)
    {
        let issues = properties.contains_key(ISSUES).then_some(&ISSUES);
        let untrusted: Vec<&str> = untrusted.iter().chain(issues).copied().collect();
        let names = json!({ "type": "array", "items": { "type": "string", "enum": untrusted } });
        properties.insert("untrusted".to_owned(), names);
    }
    or_refused(&mut data);
    object(json!({
        "type": "object",
        "properties": {
            "success": { "type": "boolean" },
            "summary": { "type": "string" },
            "data": data,
            "error": { "type": ["string", "null"] },
            "meta": { "type": "object" }
        },
        "required": ["success", "summary", "data", "error", "meta"]
    }))
}

/// A refusal that is told as an answer has none of the data. Some clients hold failures to the schema too, and would show their
/// user a fault of ours instead of the reason; so who has the first of what is required, mostly a status, has all of it.
fn or_refused(data: &mut Value) {
    let Some(data) = data.as_object_mut() else {
        return;
    };
    let Some(Value::Array(required)) = data.remove("required") else {
        return;
    };
    let mut names = required.iter().filter_map(Value::as_str);
    if let Some(first) = names.next() {
        let rest: Vec<&str> = names.collect();
        if !rest.is_empty() {
            data.insert("dependentRequired".to_owned(), json!({ first: rest }));
        }
    }
}

fn generate<T: JsonSchema>() -> Value {
    let settings =
        SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    settings
        .into_generator()
        .into_root_schema_for::<T>()
        .to_value()
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

fn tidy(value: &mut Value, side: Side) {
    match value {
        Value::Object(map) => {
            map.remove("$schema");
            map.remove("title");
            if side == Side::Output {
                map.remove("description");
                map.remove("additionalProperties");
                map.remove("minimum");
            }
            if map.get("format").is_some_and(|format| format != "date") {
                map.remove("format");
            }
            if map.get("default").is_some_and(Value::is_null) {
                map.remove("default");
            }
            without_null(map);
            for inner in map.values_mut() {
                tidy(inner, side);
            }
        }
        Value::Array(list) => list.iter_mut().for_each(|inner| tidy(inner, side)),
        _ => {}
    }
}

/// An optional field is plain optional: absent, not null.
fn without_null(map: &mut Map<String, Value>) {
    if let Some(Value::Array(types)) = map.get_mut("type") {
        types.retain(|one| one != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            map.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(values)) = map.get_mut("enum") {
        values.retain(|one| !one.is_null());
    }
    let Some(Value::Array(any)) = map.get_mut("anyOf") else {
        return;
    };
    any.retain(|one| one.get("type") != Some(&json!("null")));
    if let [only] = any.as_slice() {
        let only = object(only.clone());
        map.remove("anyOf");
        for (key, inner) in only {
            map.entry(key).or_insert(inner);
        }
    }
}
