//! What a search finds under a policy, and what it must not.

use serde_json::json;

use super::{House, letter, whitelist, work};

#[test]
fn no_search_is_an_oracle_on_what_is_hidden() {
    let rules = json!([
        { "match": { "from_domain": "good.example" }, "grant": "FULL" },
        { "match": { "from_domain": "meta.example" }, "grant": "METADATA" },
    ]);
    let house = House::new(&[("agent", whitelist(rules))]);
    let hidden = letter("boss@hidden.example", "zanzibar", "zanzibar");
    house.server.deliver("alice", "INBOX", &hidden);
    house.server.deliver(
        "alice",
        "INBOX",
        &letter("m@meta.example", "zanzibar", "zanzibar"),
    );
    house.server.deliver(
        "alice",
        "INBOX",
        &letter("g@good.example", "plain", "zanzibar"),
    );
    let mut agent = house.client("agent");
    for (criteria, visible) in [
        (json!({ "subject_contains": "zanzibar" }), 0),
        (json!({ "subject_contains": "plain" }), 1),
        (json!({ "from_domain": "hidden.example" }), 0),
        (json!({ "from_domain": "META.example." }), 0),
        (json!({ "from": "G@good.example" }), 1),
        (json!({ "to_contains": "alice" }), 1),
        (json!({ "text": "zanzibar" }), 1),
        (
            json!({ "header": { "name": "X-Odd", "contains": "zanzibar" } }),
            0,
        ),
        (
            json!({ "header": { "name": "X-Odd", "contains": "plain" } }),
            1,
        ),
        (json!({ "seen": false }), 2),
        (json!({ "size_gt": 10 }), 2),
        (json!({ "newer_than": "50y" }), 2),
        (json!({ "older_than": "50y" }), 0),
        (json!({ "has_attachment": false }), 1),
    ] {
        let found = agent.call("search", work(json!({ "criteria": criteria })));
        let data = &found.structured["data"];
        assert_eq!(
            data["matched_visible"], visible,
            "{criteria}: {}",
            found.text
        );
        assert_eq!(data["matched_total"], visible, "{criteria}");
        assert_eq!(
            (&data["filtered_out"], &data["hidden_count"]),
            (&json!(0), &json!(1)),
            "{criteria}"
        );
    }
    let told = agent.call("search", work(json!({ "include_envelope": true })));
    let lines = told.structured["data"]["messages"].as_array().unwrap();
    assert_eq!(
        (&lines[0]["subject"], &lines[0]["from"]),
        (&json!("plain"), &json!("g@good.example"))
    );
    assert!(
        lines[1].get("subject").is_none() && lines[1].get("from").is_none(),
        "{lines:?}"
    );
    let found = agent.call(
        "search",
        work(json!({ "criteria": { "text": "zanzibar" } })),
    );
    let warnings = &found.structured["meta"]["warnings"];
    assert!(
        warnings
            .to_string()
            .contains("look at what visibility FULL shows"),
        "{warnings}"
    );
    let listed = agent.call(
        "imap_search_messages",
        json!({ "account_id": "work", "mailbox": "INBOX", "subject": "zanzibar" }),
    );
    assert_eq!(listed.structured["data"]["total"], 0);
}

#[test]
fn pages_are_cut_after_judging() {
    let rules = json!([{ "match": { "from_domain": "x.example" }, "grant": "FULL" }]);
    let house = House::new(&[("agent", whitelist(rules))]);
    for n in 0..60 {
        let from = if n % 3 == 0 {
            "a@x.example"
        } else {
            "a@y.example"
        };
        house
            .server
            .deliver("alice", "INBOX", &letter(from, &format!("n{n}"), "x"));
    }
    let mut agent = house.client("agent");
    let mut seen: Vec<u64> = Vec::new();
    let mut arguments = work(json!({ "limit": 7 }));
    let mut sizes = Vec::new();
    loop {
        let page = agent.call("search", arguments);
        let data = &page.structured["data"];
        let uids: Vec<u64> = data["uids"]
            .as_array()
            .unwrap()
            .iter()
            .map(|uid| uid.as_u64().unwrap())
            .collect();
        assert_eq!(
            (&data["matched_visible"], &data["hidden_count"]),
            (&json!(20), &json!(40))
        );
        sizes.push(uids.len());
        seen.extend(uids);
        match data["next_cursor"].as_str() {
            Some(cursor) => arguments = work(json!({ "cursor": cursor })),
            None => break,
        }
    }
    assert_eq!(sizes, [7, 7, 6]);
    let want: Vec<u64> = (0..60)
        .filter(|n| n % 3 == 0)
        .map(|n| n + 1)
        .rev()
        .collect();
    assert_eq!(seen, want);
}

#[test]
fn what_comes_and_goes_is_seen_by_the_next_search_in_two_flights() {
    let rules = json!([{ "match": { "from_domain": "x.example" }, "grant": "FULL" }]);
    let house = House::new(&[("agent", whitelist(rules))]);
    for n in 0..20 {
        let from = if n % 2 == 0 {
            "a@x.example"
        } else {
            "a@y.example"
        };
        house
            .server
            .deliver("alice", "INBOX", &letter(from, &format!("n{n}"), "x"));
    }
    let mut agent = house.client("agent");
    let mut counts = || {
        let page = agent.call("search", work(json!({})));
        let data = page.structured["data"].clone();
        assert!(page.structured["meta"].get("telemetry").is_none());
        (
            data["matched_visible"].as_u64().unwrap(),
            data["hidden_count"].as_u64().unwrap(),
        )
    };
    assert_eq!(counts(), (10, 10));
    assert_eq!(counts(), (10, 10));
    let flights = house.records().last().unwrap()["round_trips"]
        .as_u64()
        .unwrap();
    assert!(flights <= 2, "{flights}");
    house
        .server
        .deliver("alice", "INBOX", &letter("a@x.example", "new", "x"));
    house
        .server
        .deliver("alice", "INBOX", &letter("a@y.example", "new", "x"));
    assert_eq!(counts(), (11, 11));
    let mut bare = house.server.login("alice", "secret");
    bare.command("SELECT INBOX");
    bare.command("UID STORE 1:2 +FLAGS (\\Deleted)");
    bare.command("EXPUNGE");
    assert_eq!(counts(), (10, 10));
}

/// What is visible, hidden or not there takes one flight each, whether its facts are known or not.
#[test]
fn an_envelope_is_fetched_and_judged_in_one_flight() {
    let rules = json!([{ "match": { "from_domain": "x.example" }, "grant": "FULL" }]);
    let house = House::new(&[("agent", whitelist(rules))]);
    for from in ["a@x.example", "a@y.example"] {
        let raw = letter(from, "n", "x");
        house.server.deliver("alice", "INBOX", &raw);
    }
    let mut agent = house.client("agent");
    agent.call("list_folders", json!({ "account_id": "work" }));
    // The folder's generation is learned once.
    agent.call("fetch_envelope", work(json!({ "uid": 1 })));
    for known in ["facts of none", "facts of all"] {
        for uid in [1, 2, 9] {
            agent.call("fetch_envelope", work(json!({ "uid": uid })));
            let flights = house.records().last().unwrap()["round_trips"].clone();
            assert_eq!(flights, 1, "{uid}, {known}");
        }
        agent.call("search", work(json!({})));
    }
}
