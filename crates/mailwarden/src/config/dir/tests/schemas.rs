//! The schemas: they take what the reader takes, and see the mistakes that a schema can see.

use serde_json::{Number, Value as Json};

use super::super::sheet::Sheet;
use super::super::yaml::{Node, Value};
use super::table::{A, C, I, MISTAKES, Mistake, O};
use super::*;

/// A tree as editors see it.
fn json(node: &Node) -> Json {
    match &node.value {
        Value::List(items) => items.iter().map(json).collect(),
        Value::Map(pairs) => {
            let pair = |(key, value): &(Node, Node)| Some((key.text()?.to_owned(), json(value)));
            Json::Object(pairs.iter().filter_map(pair).collect())
        }
        Value::Refused => Json::Null,
        Value::Scalar { text, .. } => match (node.boolean(), node.whole()) {
            (Some(boolean), _) => Json::Bool(boolean),
            (_, Some(number)) => Json::Number(Number::from(number)),
            _ if node.text().is_some() => Json::String(text.clone()),
            _ => Json::Null,
        },
    }
}

/// Just enough of JSON Schema; patterns are left to editors.
fn takes(schema: &Json, value: &Json) -> bool {
    let Some(schema) = schema.as_object() else {
        return schema != &Json::Bool(false);
    };
    let empty = Json::Null;
    schema.iter().all(|(keyword, rule)| match keyword.as_str() {
        "type" => match rule.as_str().unwrap() {
            "object" => value.is_object(),
            "array" => value.is_array(),
            "string" => value.is_string(),
            "boolean" => value.is_boolean(),
            "integer" => value.is_u64(),
            other => panic!("type {other}"),
        },
        "enum" => rule.as_array().unwrap().contains(value),
        "minLength" => value.as_str().is_none_or(|text| !text.is_empty()),
        "minimum" => value.as_u64().is_none_or(|n| n >= rule.as_u64().unwrap()),
        "maximum" => value.as_u64().is_none_or(|n| n <= rule.as_u64().unwrap()),
        "items" => value
            .as_array()
            .is_none_or(|all| all.iter().all(|one| takes(rule, one))),
        "required" => value.as_object().is_none_or(|map| {
            let mut names = rule.as_array().unwrap().iter();
            names.all(|name| map.contains_key(name.as_str().unwrap()))
        }),
        "properties" => value.as_object().is_none_or(|map| {
            map.iter()
                .all(|(name, value)| takes(rule.get(name).unwrap_or(&empty), value))
        }),
        "additionalProperties" => value.as_object().is_none_or(|map| {
            let known = schema.get("properties").unwrap_or(&empty);
            map.iter()
                .all(|(name, value)| known.get(name).is_some() || takes(rule, value))
        }),
        "allOf" => rule.as_array().unwrap().iter().all(|one| takes(one, value)),
        "anyOf" => rule.as_array().unwrap().iter().any(|one| takes(one, value)),
        "not" => !takes(rule, value),
        "if" => {
            let branch = if takes(rule, value) { "then" } else { "else" };
            schema.get(branch).is_none_or(|branch| takes(branch, value))
        }
        "then" | "else" | "description" | "default" | "examples" | "title" | "$schema"
        | "pattern" => true,
        other => panic!("keyword {other}"),
    })
}

fn verdict(file: &str, text: String) -> bool {
    let name = match file {
        A => "accounts",
        C => "callers",
        _ => "policy",
    };
    let schema = SCHEMAS.iter().find(|schema| schema.name == name).unwrap();
    let sheet = Sheet::new(file, text);
    sheet
        .root
        .is_some_and(|root| takes(&schema.json(), &json(&root)))
}

#[test]
fn what_is_right_is_taken() {
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path().join("new");
    init(&place).unwrap();
    let read = |file: &str| fs::read_to_string(place.join(file)).unwrap();
    for (file, text) in [
        (A, read(A)),
        (C, read(C)),
        (I, read(I)),
        (O, read(O)),
        (A, ACCOUNTS.to_owned()),
        (C, CALLERS.to_owned()),
        (I, INVOICES.to_owned()),
        (O, OVERVIEW.to_owned()),
    ] {
        assert!(verdict(file, text), "{file}");
    }
}

#[test]
fn mistakes_that_a_schema_can_see_are_seen() {
    let seen = MISTAKES.iter().filter(|Mistake(_, file, from, to)| {
        let world = World::new().edit(file, from, to);
        !verdict(file, fs::read_to_string(world.path().join(file)).unwrap())
    });
    let seen: Vec<&str> = seen.map(|Mistake(name, ..)| *name).collect();
    insta::assert_snapshot!("seen_by_schema", seen.join("\n"));
}

/// The documentation is made from these files.
#[test]
fn the_schemas_in_the_documentation_are_current() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema");
    for schema in &SCHEMAS {
        let kept = fs::read_to_string(docs.join(schema.file)).unwrap_or_default();
        let how = format!(
            "mailwarden config schema {} > docs/schema/{}",
            schema.name, schema.file
        );
        assert_eq!(kept, schema.text(), "run: {how}");
    }
}
