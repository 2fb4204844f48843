//! Other names of arguments, which clients of the `imap-mcp` program send. They are accepted and
//! not listed in schemas.

use std::collections::HashMap;
use std::sync::LazyLock;

use serde_json::{Map, Value};

use crate::Refusal;
use crate::tools::{ALL, Tool, Toolset};

/// Names, each with the argument that it stands for.
const NAMES: [(&str, &str); 3] = [
    ("account", "account_id"),
    ("mode", "action"),
    ("tx_id", "transaction_id"),
];

/// Objects, each with the arguments that its fields stand for.
const OBJECTS: [(&str, &[(&str, &str)]); 2] = [
    (
        "source",
        &[
            ("account", "account_id"),
            ("folder", "folder"),
            ("uid", "uid"),
        ],
    ),
    (
        "target",
        &[
            ("account", "target_account_id"),
            ("folder", "target_folder"),
        ],
    ),
];

/// Arguments that are accepted and not listed, and stand for no other.
const UNLISTED: [&str; 1] = ["rfc822"];

/// Whether a tool accepts an argument of this name although no schema lists it.
pub(crate) fn is_unlisted(name: &str) -> bool {
    NAMES.iter().any(|(alias, _)| *alias == name)
        || OBJECTS.iter().any(|(alias, _)| *alias == name)
        || UNLISTED.contains(&name)
}

/// The arguments under the names that the tool lists. An alias beside its argument is refused.
pub(super) fn resolve<T: Tool>(
    arguments: Map<String, Value>,
) -> Result<Map<String, Value>, Refusal> {
    match (T::TOOLSET, LISTED.get(T::NAME)) {
        (Toolset::Gateway, Some(listed)) => resolve_for(listed, arguments),
        _ => Ok(arguments),
    }
}

/// An alias holds only for a tool that lists every argument it stands for.
fn resolve_for(
    listed: &[String],
    mut arguments: Map<String, Value>,
) -> Result<Map<String, Value>, Refusal> {
    let lists = |argument: &str| listed.iter().any(|one| one == argument);
    for (alias, argument) in NAMES {
        if lists(argument)
            && let Some(value) = arguments.remove(alias)
        {
            put(&mut arguments, alias, argument, value)?;
        }
    }
    for (alias, fields) in OBJECTS {
        if fields.iter().all(|(_, argument)| lists(argument))
            && let Some(value) = arguments.remove(alias)
        {
            spread(&mut arguments, alias, fields, value)?;
        }
    }
    Ok(arguments)
}

fn spread(
    arguments: &mut Map<String, Value>,
    alias: &str,
    fields: &[(&str, &str)],
    value: Value,
) -> Result<(), Refusal> {
    let Value::Object(mut object) = value else {
        let names: Vec<&str> = fields.iter().map(|(field, _)| *field).collect();
        let what = format!("{alias} must be an object with {}", names.join(", "));
        return Err(Refusal::argument(alias, what));
    };
    for (field, argument) in fields {
        if let Some(value) = object.remove(*field) {
            put(arguments, &format!("{alias}.{field}"), argument, value)?;
        }
    }
    match object.keys().next() {
        None => Ok(()),
        Some(other) => {
            let other = content::name(other, &mut content::Changes::default());
            let what = format!("there is no argument {alias}.{other}");
            Err(Refusal::argument(alias, what))
        }
    }
}

fn put(
    arguments: &mut Map<String, Value>,
    alias: &str,
    argument: &str,
    value: Value,
) -> Result<(), Refusal> {
    if arguments.contains_key(argument) {
        let what = format!("{alias} is another name of {argument}; pass one of them");
        return Err(Refusal::argument(argument, what));
    }
    arguments.insert(argument.to_owned(), value);
    Ok(())
}

/// What each tool lists. Made once: a schema takes long to make.
static LISTED: LazyLock<HashMap<&'static str, Vec<String>>> = LazyLock::new(|| {
    let names = |schema: Map<String, Value>| {
        let properties = schema.get("properties").and_then(Value::as_object);
        let names = properties.into_iter().flatten().map(|(name, _)| name);
        names.cloned().collect()
    };
    let all = ALL.iter();
    all.map(|tool| (tool.name(), names(tool.input_schema())))
        .collect()
});

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn resolved(tool: &str, arguments: Value) -> Result<Value, String> {
        let Value::Object(arguments) = arguments else {
            panic!("no object");
        };
        let resolved = resolve_for(&LISTED[tool], arguments);
        resolved
            .map(Value::Object)
            .map_err(|refusal| refusal.words().to_owned())
    }

    #[test]
    fn an_alias_becomes_the_argument_it_stands_for() {
        for (tool, said, meant) in [
            (
                "fetch_body",
                json!({ "account": "a", "uid": 1 }),
                json!({ "account_id": "a", "uid": 1 }),
            ),
            (
                "mark_tagged",
                json!({ "mode": "add" }),
                json!({ "action": "add" }),
            ),
            (
                "get_transaction_status",
                json!({ "tx_id": "t" }),
                json!({ "transaction_id": "t" }),
            ),
            (
                "move",
                json!({ "source": { "account": "a", "folder": "b", "uid": 3 },
                        "target": { "account": "c", "folder": "d" } }),
                json!({ "account_id": "a", "folder": "b", "uid": 3,
                        "target_account_id": "c", "target_folder": "d" }),
            ),
            // It stands for nothing there, and is refused as any unknown argument.
            ("search", json!({ "mode": "add" }), json!({ "mode": "add" })),
            (
                "list_accounts",
                json!({ "account": "a" }),
                json!({ "account": "a" }),
            ),
        ] {
            assert_eq!(resolved(tool, said), Ok(meant), "{tool}");
        }
    }

    #[test]
    fn an_alias_beside_its_argument_is_refused() {
        for (said, why) in [
            (
                json!({ "account": "a", "account_id": "a" }),
                "account is another name of account_id",
            ),
            (
                json!({ "source": { "uid": 1 }, "uid": 1 }),
                "source.uid is another name of uid",
            ),
            (
                json!({ "account": "a", "source": { "account": "a" } }),
                "source.account is another name of account_id",
            ),
            (
                json!({ "source": "INBOX" }),
                "source must be an object with account, folder, uid",
            ),
            (
                json!({ "target": { "uid": 1 } }),
                "there is no argument target.uid",
            ),
        ] {
            let refused = resolved("move", said).unwrap_err();
            assert!(refused.starts_with(why), "{refused}");
        }
    }

    #[test]
    fn no_tool_lists_an_alias() {
        for (tool, listed) in LISTED.iter() {
            let hidden = |name: &&String| is_unlisted(name);
            assert_eq!(listed.iter().find(hidden), None, "{tool}");
        }
        let stands = |argument: &str| LISTED.values().flatten().any(|one| one == argument);
        let fields = OBJECTS.iter().flat_map(|(_, fields)| fields.iter());
        for (_, argument) in NAMES.iter().chain(fields) {
            assert!(stands(argument), "{argument}");
        }
    }
}
