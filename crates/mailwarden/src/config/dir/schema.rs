//! JSON Schema 2020-12 of each file, for editors. Made from the shapes that the reader checks.

use serde_json::{Map, Value, json};

use super::keys::{
    ACCOUNT, ACCOUNTS_FILE, CALLER_AUTH, CALLER_TOKEN, CALLERS_FILE, FOLDER, LIMITS, MEASURE,
    POLICY_FILE, SECRET_STORE,
};
use super::shape::{Key, Keys, Need, Shape};

/// The schema of one kind of file.
pub(crate) struct Schema {
    /// On the command line.
    pub name: &'static str,
    pub file: &'static str,
    keys: &'static Keys,
}

pub(crate) static FILES: [Schema; 3] = [
    Schema {
        name: "accounts",
        file: "accounts.schema.json",
        keys: &ACCOUNTS_FILE,
    },
    Schema {
        name: "callers",
        file: "callers.schema.json",
        keys: &CALLERS_FILE,
    },
    Schema {
        name: "policy",
        file: "policy.schema.json",
        keys: &POLICY_FILE,
    },
];

impl Schema {
    pub(crate) fn json(&self) -> Value {
        let mut schema = Map::new();
        schema.insert(
            "$schema".to_owned(),
            json!("https://json-schema.org/draft/2020-12/schema"),
        );
        schema.insert("title".to_owned(), json!(self.keys.what));
        schema.extend(of_keys(self.keys));
        Value::Object(schema)
    }

    /// As it is written to a file.
    pub(crate) fn text(&self) -> String {
        format!("{:#}\n", self.json())
    }
}

fn of_keys(keys: &'static Keys) -> Map<String, Value> {
    let properties: Map<String, Value> = keys
        .keys
        .iter()
        .map(|key| (key.name.to_owned(), Value::Object(of_key(key))))
        .collect();
    let required = keys.keys.iter().filter(|key| key.need == Need::Required);
    let required: Vec<&str> = required.map(|key| key.name).collect();
    let mut schema = Map::new();
    schema.insert("type".to_owned(), json!("object"));
    schema.insert("properties".to_owned(), Value::Object(properties));
    if !required.is_empty() {
        schema.insert("required".to_owned(), json!(required));
    }
    schema.insert("additionalProperties".to_owned(), json!(false));
    let conditions = conditions(keys);
    if !conditions.is_empty() {
        schema.insert("allOf".to_owned(), Value::Array(conditions));
    }
    schema
}

fn of_key(key: &Key) -> Map<String, Value> {
    let mut schema = Map::new();
    let about = match key.need {
        Need::Otherwise(words) => format!("{} Default: {words}.", key.about),
        _ => key.about.to_owned(),
    };
    schema.insert("description".to_owned(), json!(about));
    schema.extend(of_shape(key.shape));
    if let Need::Default(value) = key.need {
        let value = match key.shape {
            Shape::Whole { .. } => value.parse::<u64>().map_or(Value::Null, Value::from),
            Shape::Boolean => json!(value == "true"),
            _ => json!(value),
        };
        schema.insert("default".to_owned(), value);
    }
    schema
}

fn of_shape(shape: Shape) -> Map<String, Value> {
    let schema = match shape {
        Shape::Keys(keys) => return of_keys(keys),
        Shape::Text { such_as, pattern } => {
            let mut schema = json!({ "type": "string", "minLength": 1, "examples": [such_as] });
            if let (Some(pattern), Some(schema)) = (pattern, schema.as_object_mut()) {
                schema.insert("pattern".to_owned(), json!(pattern));
            }
            schema
        }
        Shape::Duration { such_as } => {
            json!({ "type": "string", "pattern": "^[0-9]+[smhdwy]$", "examples": [such_as] })
        }
        Shape::Word(words) => json!({ "type": "string", "enum": words }),
        Shape::Whole { low, high, .. } => {
            json!({ "type": "integer", "minimum": low, "maximum": high })
        }
        Shape::Boolean => json!({ "type": "boolean" }),
        Shape::Named(named) => json!({
            "type": "object",
            "additionalProperties": {
                "description": named.about,
            },
        }),
        Shape::List(each) => json!({ "type": "array", "items": of_shape(*each) }),
    };
    let Value::Object(mut schema) = schema else {
        return Map::new();
    };
    if let (Shape::Named(named), Some(Value::Object(each))) =
        (shape, schema.get_mut("additionalProperties"))
    {
        each.extend(of_shape(named.each));
    }
    schema
}

/// What depends on a neighbour.
fn conditions(keys: &'static Keys) -> Vec<Value> {
    let is = |name: &str, words: &[&str]| json!({ "properties": { name: { "enum": words } }, "required": [name] });
    let none_of = |names: &[&str]| {
        let each: Vec<Value> = names
            .iter()
            .map(|name| json!({ "required": [name] }))
            .collect();
        json!({ "not": { "anyOf": each } })
    };
    let of_rules = |right: &str, wrong: &str| {
        json!({ "properties": { "rules": { "items": {
            "required": [right], "not": { "required": [wrong] },
        } } } })
    };
    let either = |one: &str, other: &str| {
        json!({ "anyOf": [
            { "required": [one], "not": { "required": [other] } },
            { "required": [other], "not": { "required": [one] } },
        ] })
    };
    let same = |one: &'static Keys| std::ptr::eq(one, keys);
    if same(&ACCOUNT) {
        const REMOTE: [&str; 7] = [
            "host",
            "port",
            "tls",
            "ca_file",
            "authserv_id",
            "auth",
            "token_cache",
        ];
        return vec![
            json!({
                "if": is("provider", &["apple-mail", "maildir"]),
                "then": none_of(&REMOTE),
                "else": { "required": ["auth"], "not": { "required": ["path"] } },
            }),
            json!({ "if": is("provider", &["maildir"]), "then": { "required": ["path"] } }),
            json!({ "if": is("provider", &["apple-mail"]), "else": none_of(&["store_account"]) }),
        ];
    }
    if same(&SECRET_STORE) {
        return vec![
            json!({ "if": is("backend", &["file_dir", "gpg_file"]), "then": { "required": ["path"] }, "else": none_of(&["path"]) }),
            json!({ "if": is("backend", &["gpg_file"]), "else": none_of(&["recipient", "gnupghome"]) }),
            json!({ "if": is("backend", &["command"]), "then": { "required": ["command"] }, "else": none_of(&["command", "store_command"]) }),
        ];
    }
    if same(&CALLER_AUTH) {
        return vec![
            json!({
                "if": is("type", &["shared_token"]),
                "then": either("token_secret_ref", "tokens"),
                "else": none_of(&["token_secret_ref", "tokens"]),
            }),
            json!({
                "if": is("type", &["oauth"]),
                "then": { "anyOf": [{ "required": ["subject"] }, { "required": ["client_id"] }] },
                "else": none_of(&["subject", "client_id", "scopes"]),
            }),
        ];
    }
    if same(&CALLER_TOKEN) {
        return vec![either("token_secret_ref", "sha256")];
    }
    if same(&LIMITS) || same(&MEASURE) {
        return vec![json!({
            "if": { "required": ["burst"] },
            "then": { "required": ["calls_per_minute"] },
        })];
    }
    if same(&FOLDER) {
        return vec![
            json!({
                "if": is("mode", &["blacklist"]),
                "then": of_rules("cap", "grant"),
                "else": of_rules("grant", "cap"),
            }),
            json!({
                "if": is("mode", &["whitelist"]),
                "then": { "properties": { "default": { "enum": ["NONE"] } } },
            }),
            json!({
                "if": is("mode", &["blacklist"]),
                "then": { "properties": { "default": { "not": { "enum": ["NONE"] } } } },
            }),
        ];
    }
    Vec::new()
}
