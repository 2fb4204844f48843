//! Who a caller is, what it is shown of the tools, the accounts and its own policy.

use serde_json::json;

use super::{House, ladder, reason, told, whitelist, work};
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
    for (caller, tools, has, lacks, why) in [
        (
            "counts",
            9,
            "folder_stats",
            "search",
            "visibility_below_METADATA",
        ),
        (
            "lists",
            11,
            "search",
            "fetch_envelope",
            "visibility_below_ENVELOPE",
        ),
        (
            "all",
            17,
            "fetch_attachment",
            "imap_delete_message",
            "capability_missing",
        ),
        ("all", 17, "fetch_attachment", "move", "capability_missing"),
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
        assert_eq!(reason(&agent.call(lacks, json!({}))), why, "{caller}");
    }
}

#[test]
fn a_tool_outside_the_policy_is_denied_and_audited() {
    let rule = json!([{ "match": { "from_domain": "x.example" }, "grant": "METADATA" }]);
    let house = House::new(&[("agent", whitelist(rule))]);
    let mut agent = house.client("agent");
    for (tool, arguments, why) in [
        (
            "fetch_body",
            work(json!({ "uid": 1 })),
            "visibility_below_BODY",
        ),
        ("mark_seen", work(json!({ "uid": 1 })), "capability_missing"),
        (
            "fetch_body",
            json!({ "nonsense": 1 }),
            "visibility_below_BODY",
        ),
    ] {
        let refused = agent.call(tool, arguments.clone());
        assert_eq!(reason(&refused), why, "{tool}");
        let records = house.records();
        let last = records.last().unwrap();
        assert_eq!(
            (
                &last["tool"],
                &last["decision"],
                &last["reason"],
                &last["result"]
            ),
            (&json!(tool), &json!("DENY"), &json!(why), &json!("denied")),
            "{last}"
        );
        let folder = arguments.get("folder");
        assert_eq!(last["arguments"].get("folder"), folder, "{last}");
        let missing = (tool == "mark_seen").then(|| json!("mark_seen"));
        assert_eq!(last.get("missing_capability").cloned(), missing, "{last}");
    }
}

#[test]
fn a_tool_of_another_toolset_stays_unknown() {
    let rule = json!([{ "match": { "from_domain": "x.example" }, "grant": "COUNT" }]);
    let house = House::new(&[("agent", whitelist(rule))]);
    house.edit_callers(|caller| caller["toolsets"] = json!(["gateway"]));
    let mut agent = house.client("agent");
    for tool in ["imap_get_message", "read_email", "fetch_raw_rfc822"] {
        let refused = agent.request("tools/call", json!({ "name": tool, "arguments": {} }));
        let refused = refused.unwrap_err();
        assert_eq!(refused.code, -32602);
        assert!(
            refused.message.contains("unknown tool"),
            "{tool}: {refused:?}"
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
    assert_eq!(
        (&folder["mode"], &folder["rules_count"]),
        (&json!("whitelist"), &json!(1))
    );
    assert_eq!(data["tool_set_version"], "1.0.0");
    let listed = agent.call("list_folders", json!({ "account_id": "work" }));
    let hidden = &listed.structured["data"]["hidden_folders_count"];
    assert_eq!(
        (&data["accounts"][0]["hidden_folders_count"], hidden),
        (&json!(7), hidden)
    );
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

#[test]
fn a_policy_is_described_while_a_mail_server_is_away() {
    let house = House::new(&[("agent", ladder())]);
    let gone = testkit::Dovecot::start();
    let path = house.dir.path().join("accounts.yaml");
    let text = std::fs::read_to_string(&path).unwrap();
    let (here, there) = (house.server.port().to_string(), gone.port().to_string());
    std::fs::write(&path, text.replacen(&here, &there, 1)).unwrap();
    drop(gone);
    let mut agent = house.client("agent");
    let policy = agent.call("describe_policy", json!({}));
    let data = &policy.structured["data"];
    assert_eq!(data["status"], "partial", "{}", policy.text);
    assert_eq!(data["issues"][0]["code"], "connection_refused");
    let counts = ["/accounts/0", "/accounts/1"].map(|account| {
        let account = data.pointer(account).unwrap();
        account.get("hidden_folders_count").cloned()
    });
    assert_eq!(counts, [None, Some(json!(7))]);
    assert_eq!(data["accounts"][0]["folders"][0]["path"], "INBOX");
}
