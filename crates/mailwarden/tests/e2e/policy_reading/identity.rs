//! Who a caller is, what it is shown of the tools, the accounts and its own policy.

use serde_json::json;

use super::{House, ladder, reason, told, whitelist};
use crate::config_directory::program;

#[test]
fn hidden_folders_and_accounts_are_not_there() {
    let rules = json!([{ "match": { "from_domain": "x.example" }, "grant": "FULL" }]);
    let house = House::new(&[("agent", whitelist(rules))]);
    let mut agent = house.client("agent");
    let accounts = agent.call("list_accounts", json!({}));
    let data = &accounts.structured["data"];
    assert_eq!(data["accounts"].as_array().unwrap().len(), 2);
    assert_eq!(data["hidden_accounts_count"], 1);
    for tool in ["list_folders", "list_labels"] {
        let listed = agent.call(tool, json!({ "account_id": "gmail" }));
        let data = &listed.structured["data"];
        let (list, hidden) = match tool {
            "list_folders" => ("folders", "hidden_folders_count"),
            _ => ("labels", "hidden_labels_count"),
        };
        assert_eq!(data[list].as_array().unwrap().len(), 1, "{}", listed.text);
        assert_eq!(data[hidden], 7, "{}", listed.text);
        assert!(!listed.text.contains("Other"), "{}", listed.text);
    }
    let labels = agent.call("list_labels", json!({ "account_id": "work" }));
    assert_eq!(reason(&labels), "tool_not_applicable_for_provider");
    let outcomes = ["private", "nowhere"].map(|account| {
        let outcome = agent.call("list_folders", json!({ "account_id": account }));
        assert_eq!(reason(&outcome), "account_hidden");
        told(&outcome)
    });
    assert_eq!(outcomes[0], outcomes[1]);
    let outcomes = ["Other", "Nowhere"].map(|folder| {
        let outcome = agent.call("search", json!({ "account_id": "work", "folder": folder }));
        assert_eq!(reason(&outcome), "folder_hidden");
        told(&outcome)
    });
    assert_eq!(outcomes[0], outcomes[1]);
}

#[test]
fn callers_are_shown_the_tools_that_their_policy_could_allow() {
    let rule = |level: &str| json!([{ "match": { "from_domain": "x.example" }, "grant": level }]);
    let house = House::new(&[
        ("counts", whitelist(rule("COUNT"))),
        ("lists", whitelist(rule("METADATA"))),
        ("all", whitelist(rule("FULL"))),
    ]);
    for (caller, tools, has, lacks) in [
        ("counts", 9, "folder_stats", "search"),
        ("lists", 11, "search", "fetch_envelope"),
        ("all", 17, "fetch_attachment", "imap_delete_message"),
    ] {
        let mut agent = house.client(caller);
        let listed = agent.request("tools/list", json!({})).unwrap();
        let names: Vec<&str> = listed["tools"]
            .as_array()
            .unwrap()
            .iter()
            .map(|tool| tool["name"].as_str().unwrap())
            .collect();
        assert_eq!(names.len(), tools, "{caller}: {names:?}");
        assert!(
            names.contains(&has) && !names.contains(&lacks),
            "{caller}: {names:?}"
        );
        let refused = agent.request("tools/call", json!({ "name": lacks, "arguments": {} }));
        assert!(
            refused.unwrap_err().message.contains("unknown tool"),
            "{caller}"
        );
    }
}

#[test]
fn the_caller_is_told_its_own_policy_and_no_pattern() {
    let rules = json!([{ "match": { "from_domain": "secret-pattern.example" }, "grant": "BODY" }]);
    let mut folders = whitelist(rules);
    folders[0]["move_out"] = json!(true);
    let house = House::new(&[("agent", folders), ("other", whitelist(json!([])))]);
    let mut agent = house.client("agent");
    let policy = agent.call("describe_policy", json!({}));
    let data = &policy.structured["data"];
    assert_eq!(
        (&data["caller_id"], &data["policy"]),
        (&json!("agent"), &json!("agent"))
    );
    let folder = &data["accounts"][0]["folders"][0];
    assert_eq!(folder["path"], "INBOX");
    assert_eq!(
        (&folder["default_visibility"], &folder["max_visibility"]),
        (&json!("NONE"), &json!("BODY"))
    );
    assert_eq!(folder["capabilities"], json!(["move_out"]));
    let all = format!("{}{}", policy.text, policy.structured);
    assert!(!all.contains("pattern") && !all.contains("other"), "{all}");
    let me = agent.call("get_caller_identity", json!({}));
    assert_eq!(me.structured["data"]["caller_id"], "agent");
}

#[test]
fn nobody_is_served_without_being_somebody() {
    let house = House::new(&[("agent", ladder())]);
    let cases: [(&[(&str, &str)], &str); 3] = [
        (&[], "IMAP_MCP_CALLER_ID"),
        (&[("IMAP_MCP_CALLER_ID", "nobody")], "IMAP_MCP_CALLER_ID"),
        (
            &[("IMAP_MCP_CALLER_TOKEN", "a token of nobody at all")],
            "IMAP_MCP_CALLER_TOKEN",
        ),
    ];
    for (variables, told) in cases {
        let mut command = program(house.dir.path());
        command.envs(variables.iter().copied());
        let output = command.stdin(std::process::Stdio::null()).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{variables:?}");
        assert!(output.stdout.is_empty());
        let shown = String::from_utf8(output.stderr).unwrap();
        assert!(shown.contains(told) && !shown.contains("agent"), "{shown}");
    }
    let refused = house.records();
    let refused = refused
        .iter()
        .filter(|one| one["event"] == "caller_refused");
    assert_eq!(refused.count(), 3);
}

#[test]
fn labels_are_for_those_who_see_an_account_that_has_them() {
    let house = House::new(&[("agent", ladder())]);
    let has_labels = || {
        let mut agent = house.client("agent");
        let listed = agent.request("tools/list", json!({})).unwrap();
        let mut tools = listed["tools"].as_array().unwrap().iter();
        tools.any(|one| one["name"] == "list_labels")
    };
    assert!(has_labels());
    let policy = json!({ "name": "agent", "accounts": { "work": ladder() } });
    let path = house.dir.path().join("policies/agent.yaml");
    std::fs::write(path, format!("{policy:#}\n")).unwrap();
    assert!(!has_labels());
}
