//! Messages as resources under a policy: templates, completion, and what is said of what is hidden.

use serde_json::{Value, json};
use testkit::McpClient;

use super::{House, attached, blacklist, letter};

/// A caller with the gateway's tools alone.
fn agent(house: &House) -> McpClient {
    house.edit_callers(|caller| caller["toolsets"] = json!(["gateway"]));
    house.client("agent")
}

fn templates(agent: &mut McpClient) -> Vec<String> {
    let listed = agent
        .request("resources/templates/list", json!({}))
        .unwrap();
    let all = listed["resourceTemplates"].as_array().unwrap().iter();
    all.map(|one| one["name"].as_str().unwrap().to_owned())
        .collect()
}

fn complete(agent: &mut McpClient, name: &str, value: &str, account: Option<&str>) -> Value {
    let params = json!({
        "ref": {
            "type": "ref/resource",
            "uri": "imap://{account}/mailbox/{mailbox}/message/{uidvalidity}/{uid}",
        },
        "argument": { "name": name, "value": value },
        "context": { "arguments": account.map_or(json!({}), |id| json!({ "account": id })) },
    });
    agent.request("completion/complete", params).unwrap()["completion"]["values"].clone()
}

#[test]
fn templates_and_completion_show_what_the_policy_opens() {
    for (level, names) in [
        ("FULL", &["message", "attachment"] as &[&str]),
        ("BODY", &["message"]),
        ("HEADERS", &[]),
    ] {
        let house = House::new(&[("agent", blacklist(level, json!([])))]);
        let mut agent = agent(&house);
        assert_eq!(templates(&mut agent), names, "{level}");
        let (accounts, folders) = match names.is_empty() {
            true => (json!([]), json!([])),
            false => (json!(["work"]), json!(["INBOX"])),
        };
        assert_eq!(complete(&mut agent, "account", "w", None), accounts);
        assert_eq!(complete(&mut agent, "account", "private", None), json!([]));
        assert_eq!(complete(&mut agent, "mailbox", "", Some("work")), folders);
        assert_eq!(
            complete(&mut agent, "mailbox", "", Some("private")),
            json!([])
        );
        let records = house.records();
        let unknown = records.iter().find(|one| one["reason"] == "unknown_tool");
        assert!(unknown.is_none(), "{unknown:?}");
    }
}

#[test]
fn resources_are_read_and_what_is_hidden_is_not_there() {
    let caps = json!([
        { "match": { "subject_contains": "hidden" }, "cap": "NONE" },
        { "match": { "subject_contains": "short" }, "cap": "HEADERS" },
    ]);
    let house = House::new(&[("agent", blacklist("FULL", caps))]);
    for raw in [
        attached("a@x.example", "open", "zanzibar"),
        letter("a@x.example", "hidden", "x"),
        letter("a@x.example", "short", "x"),
    ] {
        house.server.deliver("alice", "INBOX", &raw);
    }
    let mut agent = agent(&house);
    let found = agent.call("search", super::work(json!({})));
    let validity = found.structured["data"]["uidvalidity"].as_u64().unwrap();
    let uri = |account: &str, folder: &str, uid: u32| {
        format!("imap://{account}/mailbox/{folder}/message/{validity}/{uid}")
    };
    let mut read = |uri: String| agent.request("resources/read", json!({ "uri": uri }));
    let message = read(uri("work", "INBOX", 1)).unwrap();
    let text = message["contents"][0]["text"].as_str().unwrap();
    assert!(text.contains("see below"), "{text}");
    assert!(!text.contains("/raw"), "{text}");
    let part = read(format!("{}/part/2", uri("work", "INBOX", 1))).unwrap();
    assert_eq!(part["contents"][0]["mimeType"], "text/plain");
    for (uri, code, reason) in [
        (uri("private", "INBOX", 1), "not_found", "account_hidden"),
        (uri("nowhere", "INBOX", 1), "not_found", "account_hidden"),
        (uri("work", "Other", 1), "not_found", "folder_hidden"),
        (uri("work", "Nowhere", 1), "not_found", "folder_hidden"),
        (uri("work", "INBOX", 2), "not_found", "message_not_visible"),
        (uri("work", "INBOX", 9), "not_found", "message_not_visible"),
        (uri("work", "INBOX", 3), "denied", "visibility_below_BODY"),
    ] {
        let error = read(uri.clone()).unwrap_err();
        assert_eq!(error.data["code"], code, "{uri}: {error:?}");
        assert_eq!(error.data["decision"], "DENY", "{uri}");
        assert_eq!(error.data["reason"], reason, "{uri}");
        let number = if code == "not_found" { -32002 } else { -32600 };
        assert_eq!(error.code, number, "{uri}");
    }
}

#[test]
fn raw_sources_need_the_imap_toolset() {
    let source = "imap://{account}/mailbox/{mailbox}/message/{uidvalidity}/{uid}/raw";
    for (sets, serves) in [
        (json!(["gateway"]), false),
        (json!(["gateway", "threads"]), false),
        (json!(["imap"]), true),
        (json!(["imap", "gateway"]), true),
    ] {
        let house = House::new(&[("agent", blacklist("FULL", json!([])))]);
        house.edit_callers(|caller| caller["toolsets"] = sets.clone());
        let raw = letter("a@x.example", "open", "zanzibar");
        house.server.deliver("alice", "INBOX", &raw);
        let validity = crate::support::uidvalidity(&house.server, "INBOX");
        let mut agent = house.client("agent");
        let uri = format!("imap://work/mailbox/INBOX/message/{validity}/1/raw");
        let read = agent.request("resources/read", json!({ "uri": uri }));
        assert_eq!(read.is_ok(), serves, "{sets}: {read:?}");
        let offered = templates(&mut agent).contains(&"message-source".to_owned());
        assert_eq!(offered, serves, "{sets}");
        let params = json!({
            "ref": { "type": "ref/resource", "uri": source },
            "argument": { "name": "account", "value": "" },
        });
        let completed = agent.request("completion/complete", params).unwrap();
        let values = completed["completion"]["values"].as_array().unwrap();
        assert_eq!(!values.is_empty(), serves, "{sets}");
        if let Err(refused) = read {
            assert_eq!(
                (refused.code, &refused.data["code"]),
                (-32002, &json!("not_found"))
            );
            let records = house.records();
            let denied = records
                .iter()
                .find(|one| one["decision"] == "DENY")
                .unwrap();
            assert_eq!(denied["reason"], "unknown_tool", "{denied}");
            assert_eq!(denied["tool"], "imap_get_message_raw", "{denied}");
        }
    }
}
