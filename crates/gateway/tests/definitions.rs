//! Laws over the one list of tools, and a snapshot of each definition: nothing that clients see drifts silently.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests stop at the first surprise"
)]

use std::collections::HashSet;

use gateway::{ALL, AnyTool, Toolset, Use};
use serde_json::{Value, json};

#[test]
fn each_definition_is_as_it_was() {
    for tool in ALL {
        insta::assert_json_snapshot!(tool.name(), tool.definition());
    }
}

#[test]
fn names_are_unique_and_plain() {
    let names: HashSet<&str> = ALL.iter().map(|tool| tool.name()).collect();
    assert_eq!(names.len(), ALL.len());
    for name in names {
        assert!(
            name.chars().all(|c| c.is_ascii_lowercase() || c == '_'),
            "{name}"
        );
    }
}

#[test]
fn definitions_are_small() {
    let sizes: Vec<usize> = ALL
        .iter()
        .map(|tool| tool.definition().to_string().len())
        .collect();
    let total: usize = sizes.iter().sum();
    assert!(
        total <= 2_000 * ALL.len(),
        "{total} bytes for {} tools: {sizes:?}",
        ALL.len()
    );
    for tool in ALL {
        assert!(tool.summary().len() < 600, "{}", tool.name());
    }
}

#[test]
fn input_schemas_suit_strict_hosts() {
    for tool in ALL {
        let schema = tool.input_schema();
        assert_eq!(
            schema.get("type"),
            Some(&json!("object")),
            "{}",
            tool.name()
        );
        assert_eq!(
            schema.get("additionalProperties"),
            Some(&json!(false)),
            "{}",
            tool.name()
        );
        let text = Value::Object(schema).to_string();
        for word in ["anyOf", "oneOf", "allOf", "$ref", "null", "uint", "$schema"] {
            assert!(!text.contains(word), "{} has {word}: {text}", tool.name());
        }
    }
}

#[test]
fn what_changes_mail_says_so_and_needs_leave() {
    for tool in ALL {
        let hints = tool.annotations();
        let reads = tool.usefulness() == Use::Reading;
        assert!(hints.read_only || !reads, "{}", tool.name());
        assert!(!(hints.read_only && hints.destructive), "{}", tool.name());
        let takes_key = tool.input_schema()["properties"]
            .get("idempotency_key")
            .is_some();
        assert!(hints.read_only || takes_key, "{}", tool.name());
    }
    let destructive: Vec<&str> = ALL
        .iter()
        .filter(|tool| tool.annotations().destructive)
        .map(|tool| tool.name())
        .collect();
    assert_eq!(
        destructive,
        ["imap_update_message_flags", "imap_delete_message"]
    );
}

/// Clients load these before anything else: names, descriptions and input schemas.
#[test]
fn each_toolset_stays_within_its_budget() {
    let weight = |tool: &&dyn AnyTool| {
        let schema = json!(tool.input_schema()).to_string();
        tool.name().len() + tool.summary().len() + schema.len()
    };
    for (sets, budget) in [
        (&[Toolset::Imap, Toolset::Threads] as &[Toolset], 14_000),
        (&[Toolset::Gateway], 18_000),
    ] {
        let on = |tool: &&&dyn AnyTool| {
            let also = tool.also().is_some_and(|also| sets.contains(&also));
            sets.contains(&tool.toolset()) || also
        };
        let total: usize = ALL.iter().filter(on).map(weight).sum();
        assert!(total <= budget, "{sets:?}: {total} bytes");
    }
    let outputs = ALL.iter().map(|tool| {
        let size = json!(tool.output_schema()).to_string().len();
        (size, tool.name())
    });
    let large: Vec<_> = outputs.filter(|(size, _)| *size > 1_536).collect();
    assert_eq!(large, []);
}
