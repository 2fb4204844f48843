//! The keys of the configuration directory, from the schemas that the program makes of them.

use serde_json::Value;

use super::markdown::Table;

/// A file, and its schema as the program prints it.
struct Described {
    file: &'static str,
    schema: &'static str,
}

const FILES: &[Described] = &[
    Described {
        file: "accounts.yaml",
        schema: include_str!("../../../docs/schema/accounts.schema.json"),
    },
    Described {
        file: "callers.yaml",
        schema: include_str!("../../../docs/schema/callers.schema.json"),
    },
    Described {
        file: "policies/*.yaml",
        schema: include_str!("../../../docs/schema/policy.schema.json"),
    },
];

/// One table per file.
pub(super) fn tables() -> String {
    let mut text = String::new();
    for Described { file, schema } in FILES {
        let schema: Value = serde_json::from_str(schema).unwrap_or_default();
        let mut table = Table::new(&["key", "default", "meaning"]);
        rows(&schema, "", &mut table);
        text.push_str(&format!("\n### `{file}`\n\n{}", table.into_text()));
    }
    text
}

fn rows(schema: &Value, above: &str, table: &mut Table) {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return;
    };
    for (name, key) in properties {
        let path = format!("{above}{name}");
        let required = schema.get("required").and_then(Value::as_array);
        let required = required.is_some_and(|names| names.iter().any(|one| one == name));
        let about = key.get("description").and_then(Value::as_str);
        let (about, default) = split(about.unwrap_or_default());
        let default = match key.get("default") {
            Some(Value::String(text)) => format!("`{text}`"),
            Some(other) => format!("`{other}`"),
            None if required => "required".to_owned(),
            None => default.unwrap_or("none").to_owned(),
        };
        let meaning = match values(key) {
            Some(values) => format!("{about} {values}"),
            None => about.to_owned(),
        };
        table.row(&[&format!("`{path}`"), &default, &meaning]);
        let (inner, below) = inside(key, &path);
        rows(inner, &below, table);
    }
}

/// A default that is told in words stands at the end of the description.
fn split(about: &str) -> (&str, Option<&str>) {
    match about.split_once(" Default: ") {
        Some((about, default)) => (about, default.strip_suffix('.')),
        None => (about, None),
    }
}

/// What may be written.
fn values(key: &Value) -> Option<String> {
    let of = |schema: &Value| -> Option<String> {
        let words = schema.get("enum")?.as_array()?;
        let words: Vec<String> = words
            .iter()
            .filter_map(|word| Some(format!("`{}`", word.as_str()?)))
            .collect();
        Some(format!("One of {}.", words.join(", ")))
    };
    let range = || {
        let (low, high) = (key.get("minimum")?, key.get("maximum")?);
        Some(format!("{low} to {high}."))
    };
    of(key).or_else(|| of(key.get("items")?)).or_else(range)
}

/// Where the keys below a key are, and what their paths begin with.
fn inside<'a>(key: &'a Value, path: &str) -> (&'a Value, String) {
    if let Some(items) = key.get("items") {
        return (items, format!("{path}[]."));
    }
    match key.get("additionalProperties") {
        Some(each) if each.is_object() => {
            let named = match path.ends_with("tools") {
                true => "<tool>",
                false => "<account>",
            };
            inside(each, &format!("{path}.{named}"))
        }
        _ => (key, format!("{path}.")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_every_depth_are_listed() {
        let tables = tables();
        for key in [
            "| `accounts[].id` | required |",
            "| `accounts[].port` | `143` |",
            "| `accounts[].auth.secret_ref` | required |",
            "| `accounts[].auth.user` | the account's id |",
            "| `callers[].toolsets` | gateway |",
            "| `accounts.<account>[].rules[].match.from_domain` | none |",
        ] {
            assert!(tables.contains(key), "{key}");
        }
    }
}
