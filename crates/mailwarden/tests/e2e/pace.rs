//! Limits of callers: they hold, several processes share them, what is told of them is true, and they tell nothing else.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::mcp::RpcError;
use testkit::{Dovecot, McpClient};

use crate::directory::{Directory, accounts, mailbox};
use crate::support::{Account, configure, start, thinker};

const POLICY: &str = "  work:\n    - { path: INBOX, mode: blacklist, default: FULL }\n";

/// A server, and a directory whose caller `agent` has these limits. Changes are written down beside it.
fn limited(limits: &str) -> (Dovecot, Directory) {
    let server = mailbox();
    let directory = Directory::new(server.port(), server.port());
    directory.policy(POLICY);
    let ledger = "wal: { path: wal.db }\n";
    let accounts = accounts(&[("work", server.port()), ("home", server.port())]);
    directory.write("accounts.yaml", &format!("{ledger}{accounts}"));
    directory.write(
        "callers.yaml",
        &format!(
            "limits: {{ calls_per_minute: 1, burst: 1 }}\ncallers:\n  - id: agent\n    policy: some\n    \
             auth: {{ type: stdio_trusted }}\n    limits: {limits}\n  - id: free\n    policy: some\n    \
             auth: {{ type: stdio_trusted }}\n    limits: {{}}\n  - id: usual\n    policy: some\n    \
             auth: {{ type: stdio_trusted }}\n"
        ),
    );
    (server, directory)
}

fn make(client: &mut McpClient, tool: &str, arguments: Value) -> Result<Value, RpcError> {
    let params = json!({ "name": tool, "arguments": arguments });
    client.request("tools/call", params)
}

fn search(client: &mut McpClient) -> Result<Value, RpcError> {
    let arguments = json!({ "account_id": "work", "folder": "INBOX" });
    make(client, "search", arguments)
}

fn stands(answer: &Value) -> Value {
    answer["structuredContent"]["meta"]["rate_limit"].clone()
}

#[test]
fn a_burst_then_a_pace_and_who_waits_as_told_is_served() {
    let (_server, directory) = limited("{ calls_per_minute: 30, burst: 3 }");
    let mut agent = directory.client("agent");
    let who = |agent: &mut McpClient| make(agent, "get_caller_identity", json!({}));
    let first = stands(&who(&mut agent).unwrap());
    assert_eq!(first["limit"], 3);
    assert_eq!(first["remaining"], 2);
    assert_eq!(first["retry_after_seconds"], Value::Null);
    let refused = loop {
        if let Err(refused) = who(&mut agent) {
            break refused;
        }
    };
    assert_eq!(refused.code, -32600);
    assert_eq!(refused.data["code"], "rate_limited");
    let details = &refused.data["details"];
    assert_eq!(details["limit"], "calls_per_minute");
    assert_eq!(details["scope"], "caller");
    let seconds = details["retry_after_seconds"].as_u64().unwrap();
    assert!((1..=2).contains(&seconds), "{details}");
    let told = &refused.data["meta"]["rate_limit"];
    assert_eq!(told["retry_after_seconds"], seconds);
    assert_eq!(told["remaining"], 0);
    assert!(told["reset_at"].as_str().unwrap().ends_with('Z'), "{told}");
    let words = format!("after {seconds} s");
    assert!(refused.message.contains(&words), "{}", refused.message);
    // The time is what is looked at here: what was told is enough.
    std::thread::sleep(Duration::from_secs(seconds));
    assert!(who(&mut agent).is_ok());
}

#[test]
fn a_reload_gives_another_pace() {
    let (_server, directory) = limited("{ calls_per_minute: 1, burst: 1 }");
    let mut usual = directory.client("usual");
    assert!(search(&mut usual).is_ok());
    assert!(search(&mut usual).is_err());
    let callers = std::fs::read_to_string(directory.path().join("callers.yaml")).unwrap();
    let other = callers.replace(
        "limits: { calls_per_minute: 1, burst: 1 }\ncallers",
        "callers",
    );
    assert_ne!(callers, other);
    directory.write("callers.yaml", &other);
    let printed = directory.run(&["config", "reload"]);
    assert!(
        printed.stdout.contains("reloaded to version"),
        "{}",
        printed.stdout
    );
    for _ in 0..5 {
        assert!(search(&mut usual).is_ok());
    }
}

#[test]
fn limits_for_all_hold_for_who_has_none_and_no_limit_is_one_too() {
    let (_server, directory) = limited("{ concurrent: 1 }");
    let mut free = directory.client("free");
    for _ in 0..10 {
        assert_eq!(stands(&search(&mut free).unwrap()), Value::Null);
    }
    let mut usual = directory.client("usual");
    assert!(search(&mut usual).is_ok());
    assert_eq!(search(&mut usual).unwrap_err().data["code"], "rate_limited");
}

#[test]
fn processes_of_one_machine_share_a_callers_pace() {
    let (_server, directory) = limited("{ calls_per_minute: 1, burst: 6 }");
    let mut clients = [directory.client("agent"), directory.client("agent")];
    let mut served = 0;
    for round in 0..12 {
        let client = &mut clients[round % 2];
        served += usize::from(search(client).is_ok());
    }
    assert_eq!(served, 6);
    // A third, begun anew, gets no burst of its own.
    let mut third = directory.client("agent");
    assert_eq!(search(&mut third).unwrap_err().data["code"], "rate_limited");
    // And what is one caller's is no other's.
    let mut usual = directory.client("usual");
    assert!(search(&mut usual).is_ok());
}

#[test]
fn messages_and_bytes_are_charged_when_they_are_shown() {
    let (_server, directory) = limited("{ messages_per_hour: 8 }");
    let mut agent = directory.client("agent");
    let first = search(&mut agent).unwrap();
    assert_eq!(
        first["structuredContent"]["data"]["uids"],
        json!([5, 4, 3, 2, 1])
    );
    assert_eq!(stands(&first)["remaining"], 3);
    // Folders are no messages.
    let folders = make(&mut agent, "list_folders", json!({ "account_id": "work" }));
    assert_eq!(stands(&folders.unwrap())["remaining"], 3);
    assert_eq!(stands(&search(&mut agent).unwrap())["remaining"], 0);
    let refused = search(&mut agent).unwrap_err();
    assert_eq!(refused.data["details"]["limit"], "messages_per_hour");
}

#[test]
fn a_flood_is_recorded_in_two_records() {
    let (_server, directory) = limited("{ calls_per_minute: 1, burst: 2 }");
    let mut agent = directory.client("agent");
    let refused = (0..42).filter(|_| search(&mut agent).is_err()).count();
    assert_eq!(refused, 40);
    agent.close_stdin();
    agent.wait_exit(Duration::from_secs(10)).unwrap();
    directory.home.verify();
    let records = directory.home.records();
    let of = |event: &str| {
        let records = records.iter().filter(move |one| one.event == event);
        records.map(|one| one.json.clone()).collect::<Vec<_>>()
    };
    let results: Vec<Value> = of("call").iter().map(|one| one["result"].clone()).collect();
    assert_eq!(results, ["ok", "ok", "rate_limited"]);
    let throttled = of("throttled");
    assert_eq!(throttled.len(), 1);
    let [caller, tool, reason] =
        ["caller_id", "tool", "reason"].map(|name| throttled[0][name].as_str().unwrap());
    assert_eq!([caller, tool, reason], ["agent", "search", "rate_limited"]);
    assert_eq!(throttled[0]["count"], 39);
}

/// What answers for a hidden account is, byte for byte, what answers for one that does not exist, whatever its limits are.
#[test]
fn limits_of_a_hidden_account_are_no_oracle() {
    let (_server, directory) = limited("{ accounts: { home: { calls_per_minute: 1, burst: 1 } } }");
    let warned = directory.run(&["config", "check"]);
    let told = format!("{}{}", warned.stdout, warned.stderr);
    assert!(told.contains("does not show 'home'"), "{told}");
    let mut agent = directory.client("agent");
    let mut answers = Vec::new();
    for account in ["home", "nowhere", "home", "nowhere", "home", "nowhere"] {
        let folder = json!({ "account_id": account, "folder": "INBOX" });
        for (tool, arguments) in [
            ("search", folder.clone()),
            ("folder_stats", folder),
            ("list_folders", json!({ "account_id": account })),
        ] {
            let mut answer = make(&mut agent, tool, arguments).unwrap();
            let meta = answer["structuredContent"]["meta"].as_object_mut().unwrap();
            meta.retain(|name, _| name == "rate_limit");
            answers.push((tool, answer.to_string()));
        }
    }
    let of = |tool| -> Vec<&String> {
        let answers = answers.iter().filter(move |(of, _)| *of == tool);
        answers.map(|(_, answer)| answer).collect()
    };
    for tool in ["search", "folder_stats", "list_folders"] {
        let answers = of(tool);
        assert!(answers.iter().all(|one| one == &answers[0]), "{answers:#?}");
        assert!(answers[0].contains("account_hidden"), "{}", answers[0]);
    }
}

/// The only place is taken by a call that does not end. Whoever is served alone has nobody to make way for: its next calls, however
/// many, wait until there is a place.
#[test]
fn who_is_served_alone_waits_for_itself_and_is_not_sent_away() {
    let fake = thinker();
    let home = crate::installation::Installation::new();
    let mut command = home.program();
    let account = Account {
        port: fake.port(),
        ..Account::default()
    };
    configure(&mut command, "DEFAULT", &account);
    command.env("MAILWARDEN_MAX_CONCURRENT_CALLS", "1");
    let mut client = start(command);
    let thinking = client.send_call(
        "imap_search_messages",
        json!({ "mailbox": "INBOX", "subject": "x" }),
    );
    fake.await_command("SEARCH");
    let waiting: Vec<_> = (0..100)
        .map(|_| client.send_call("imap_list_accounts", json!({})))
        .collect();
    // It is answered without a place, so all before it have come.
    client.request("tools/list", json!({})).unwrap();
    assert!(waiting.iter().all(|one| !client.has_answer(*one)));
    client.cancel(thinking);
    for one in waiting {
        assert!(client.wait(one).is_ok());
    }
}
