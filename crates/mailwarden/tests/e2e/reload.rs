//! Another configuration while the program serves: all of it or nothing, and whoever is under way ends as it began.

use serde_json::{Value, json};
use testkit::mcp::{CallOutcome, RpcError};
use testkit::{Dovecot, FaultProxy, McpClient};

use crate::directory::{CALLERS, Directory, TOKEN, accounts, mailbox};
use crate::support::Look;

const EVERYTHING: &str = "  work:\n    - { path: INBOX, mode: blacklist, default: FULL }\n";
const COUNTS: &str = "  work:\n    - { path: INBOX, mode: blacklist, default: COUNT }\n";
const BOTH: &str = "  work:\n    - { path: INBOX, mode: blacklist, default: FULL }\n  \
                    home:\n    - { path: INBOX, mode: blacklist, default: FULL }\n";

fn served(policy: &str) -> (Dovecot, Directory) {
    let server = mailbox();
    let directory = Directory::new(server.port(), server.port());
    directory.policy(policy);
    (server, directory)
}

fn envelope(client: &mut McpClient, account: &str) -> CallOutcome {
    client.call("fetch_envelope", one(account))
}

fn one(account: &str) -> Value {
    json!({ "account_id": account, "folder": "INBOX", "uid": 1 })
}

/// A call that nobody may make.
fn turned_away(client: &mut McpClient, tool: &str, arguments: Value) -> RpcError {
    let params = json!({ "name": tool, "arguments": arguments });
    client.request("tools/call", params).unwrap_err()
}

fn tools(client: &mut McpClient) -> usize {
    let listed = client.request("tools/list", json!({})).unwrap();
    listed["tools"].as_array().unwrap().len()
}

/// `config reload`, and that it was well.
fn reload(directory: &Directory, client: &McpClient) {
    let printed = directory.run(&["config", "reload"]);
    let begins = format!("process {} (", client.pid());
    let line = printed
        .stdout
        .lines()
        .find(|line| line.starts_with(&begins));
    let line = line.unwrap_or_else(|| panic!("{} {}", printed.stdout, printed.stderr));
    assert!(line.contains("): reloaded to version "), "{line}");
    assert_eq!(printed.code, 0, "{}", printed.stdout);
}

#[test]
fn a_policy_change_is_in_force_for_the_next_call() {
    let (_server, directory) = served(EVERYTHING);
    let mut client = directory.client("agent");
    let before = tools(&mut client);
    assert_eq!(
        envelope(&mut client, "work").text("/envelope/subject"),
        "Invoice 7"
    );
    directory.policy(COUNTS);
    reload(&directory, &client);
    let refused = client.call("fetch_envelope", one("work"));
    assert_eq!(refused.text("/reason"), "visibility_below_ENVELOPE");
    let stats = json!({ "account_id": "work", "folder": "INBOX" });
    assert_eq!(
        client
            .call("folder_stats", stats)
            .number("/by_visibility/COUNT"),
        5
    );
    // Tools that could never answer are not offered, and the client hears of it.
    assert!(tools(&mut client) < before);
    client.await_notification(|one| one["method"] == "notifications/tools/list_changed");
    let record = directory.home.only("config_reloaded", |_| true);
    assert_eq!(record.text("version").len(), 12);
}

#[test]
fn a_change_that_leaves_the_tools_alone_is_not_announced() {
    let (_server, directory) = served(EVERYTHING);
    let mut client = directory.client("agent");
    directory.policy(
        "  work:\n    - path: INBOX\n      mode: blacklist\n      default: FULL\n      rules:\n        \
         - match: { from: anna@example.com }\n          cap: COUNT\n",
    );
    reload(&directory, &client);
    let denied = envelope(&mut client, "work");
    assert_eq!(denied.data("/decision"), "DENY", "{}", denied.structured);
    let other = json!({ "account_id": "work", "folder": "INBOX", "uid": 3 });
    let other = client.call("fetch_envelope", other);
    assert_eq!(other.text("/envelope/subject"), "Your results");
    let told = client.notifications();
    assert!(told.is_empty(), "{told:?}");
}

#[test]
fn a_client_of_the_newer_revision_hears_of_tools_when_it_listens() {
    let (_server, directory) = served(EVERYTHING);
    let mut command = directory.program();
    command.env("IMAP_MCP_CALLER_ID", "agent").arg("stdio");
    let mut client = McpClient::spawn(command).modern();
    assert!(tools(&mut client) > 0);
    let wanted = json!({ "notifications": { "toolsListChanged": true } });
    let listening = client.send("subscriptions/listen", wanted);
    client.await_notification(|one| one["method"] == "notifications/subscriptions/acknowledged");
    directory.policy(COUNTS);
    reload(&directory, &client);
    client.await_notification(|one| one["method"] == "notifications/tools/list_changed");
    assert!(!client.has_answer(listening));
}

#[test]
fn a_removed_caller_is_out_at_once() {
    let (_server, directory) = served(EVERYTHING);
    let mut client = directory.client("agent");
    envelope(&mut client, "work");
    let without = CALLERS.split("  - id: keyed").collect::<Vec<_>>();
    let others = format!("callers:\n  - id: keyed{}", without[1]);
    directory.write("callers.yaml", &others);
    reload(&directory, &client);
    for (tool, arguments) in [
        ("list_accounts", json!({})),
        ("describe_policy", json!({})),
        ("get_caller_identity", json!({})),
        ("fetch_envelope", one("work")),
        ("no_such_tool", json!({})),
        ("imap_list_accounts", json!({})),
    ] {
        let refused = turned_away(&mut client, tool, arguments);
        assert_eq!(refused.data["code"], "auth_failed", "{tool}: {refused:?}");
        assert!(!refused.message.contains("work"), "{refused:?}");
    }
    assert_eq!(tools(&mut client), 0);
    client.await_notification(|one| one["method"] == "notifications/tools/list_changed");
    let records = directory.home.records();
    let refused = |record: &&crate::installation::Record| record.json["reason"] == "auth_failed";
    assert_eq!(records.iter().filter(refused).count(), 6);
    // And in again, by the identity that this process was started with.
    directory.write("callers.yaml", CALLERS);
    reload(&directory, &client);
    assert_eq!(
        envelope(&mut client, "work").text("/envelope/subject"),
        "Invoice 7"
    );
}

#[test]
fn a_changed_token_puts_the_old_one_out() {
    let (_server, directory) = served(EVERYTHING);
    let mut client = directory.client("keyed");
    envelope(&mut client, "work");
    directory.secret(
        "secrets/callers/keyed/token",
        "another token, as long as the first",
    );
    reload(&directory, &client);
    let refused = turned_away(&mut client, "fetch_envelope", one("work"));
    assert_eq!(refused.data["code"], "auth_failed", "{refused:?}");
    assert_eq!(tools(&mut client), 0);
}

#[test]
fn a_broken_directory_keeps_what_is_in_force_and_is_recorded() {
    let (_server, directory) = served(EVERYTHING);
    let mut client = directory.client("agent");
    envelope(&mut client, "work");
    directory.policy("  work:\n    - { path: INBOX, mode: blacklist, default: EVERYTHING }\n");

    // Nobody is told of a directory that would be refused.
    let printed = directory.run(&["config", "reload"]);
    assert_eq!(printed.code, 2, "{}", printed.stdout);
    for wanted in ["policies/some.yaml:4:", "1 problem", "nobody was told"] {
        assert!(
            printed.stderr.contains(wanted),
            "{wanted}: {}",
            printed.stderr
        );
    }
    assert_eq!(printed.stdout, "");

    let printed = directory.run(&["config", "reload", "--force"]);
    assert_eq!(printed.code, 1, "{}", printed.stdout);
    let said = printed.stdout;
    let begins = format!("process {} (agent): kept version ", client.pid());
    assert!(
        said.starts_with(&begins) && said.contains("1 problem;"),
        "{said}"
    );
    assert_eq!(
        envelope(&mut client, "work").text("/envelope/subject"),
        "Invoice 7"
    );
    // By whoever was not told, and by whoever was.
    let mut refused = directory.home.records();
    refused.retain(|record| record.event == "config_refused");
    assert_eq!(refused.len(), 2, "{refused:?}");
    for record in refused {
        assert_eq!(record.json["settings"], json!(["policies/some.yaml:4"]));
        let error = record.text("error");
        assert!(error.starts_with("policies/some.yaml:4:"), "{error}");
        assert_eq!(
            (record.text("decision"), record.text("result")),
            ("DENY", "refused")
        );
    }

    // A signal from elsewhere comes to the same.
    directory.write("callers.yaml", "callers: 7\n");
    let kill = format!("kill -HUP {}", client.pid());
    let killed = std::process::Command::new("sh")
        .args(["-c", &kill])
        .status();
    assert!(killed.unwrap().success());
    client.await_stderr("callers.yaml:1:");
    assert_eq!(
        envelope(&mut client, "work").text("/envelope/subject"),
        "Invoice 7"
    );
}

#[test]
fn mode_with_the_wrong_default_is_refused() {
    let (_server, directory) = served(EVERYTHING);
    let mut client = directory.client("agent");
    envelope(&mut client, "work");
    for (mode, default, hint) in [
        ("whitelist", "BODY", "use `mode: blacklist`"),
        ("whitelist", "COUNT", "that says `grant: COUNT`"),
        ("blacklist", "NONE", "use `mode: whitelist`"),
    ] {
        directory.policy(&format!(
            "  work:\n    - {{ path: INBOX, mode: {mode}, default: {default} }}\n"
        ));
        let commands: [&[&str]; 3] = [&["config", "check"], &["stdio"], &["config", "reload"]];
        for command in commands {
            let printed = directory.run(command);
            assert_eq!(printed.code, 2, "{command:?} {mode}: {}", printed.stdout);
            let said = &printed.stderr;
            assert!(said.contains("policies/some.yaml:4:"), "{said}");
            assert!(said.contains(hint), "{command:?} {hint}: {said}");
        }
        let printed = directory.run(&["config", "reload", "--force"]);
        assert!(
            printed.stdout.contains("kept version "),
            "{}",
            printed.stdout
        );
        assert_eq!(
            envelope(&mut client, "work").text("/envelope/subject"),
            "Invoice 7"
        );
    }
}

#[test]
fn a_call_under_way_ends_under_the_policy_it_began_with() {
    let server = mailbox();
    let proxy = FaultProxy::to(server.port());
    let directory = Directory::new(proxy.port(), server.port());
    directory.policy(EVERYTHING);
    let mut client = directory.client("agent");
    proxy.stall();
    let held = client.send_call("fetch_envelope", one("work"));
    proxy.await_stats("the call to be under way", |stats| stats.connections == 1);
    directory.policy("  work:\n    - { path: Invoices, mode: blacklist, default: FULL }\n");
    reload(&directory, &client);
    assert!(!client.has_answer(held));
    proxy.resume();
    assert_eq!(
        client.wait_call(held).text("/envelope/subject"),
        "Invoice 7"
    );
    let denied = envelope(&mut client, "work");
    assert_eq!(
        denied.data("/reason"),
        "folder_hidden",
        "{}",
        denied.structured
    );
}

#[test]
fn a_removed_account_is_drained() {
    let server = mailbox();
    let (work, home) = (FaultProxy::to(server.port()), FaultProxy::to(server.port()));
    let directory = Directory::new(work.port(), home.port());
    directory.policy(BOTH);
    let mut client = directory.client("agent");
    envelope(&mut client, "work");
    home.stall();
    let held = client.send_call("fetch_envelope", one("home"));
    home.await_stats("the call to be under way", |stats| stats.connections == 1);
    directory.write("accounts.yaml", &accounts(&[("work", work.port())]));
    directory.policy(EVERYTHING);
    reload(&directory, &client);
    let denied = envelope(&mut client, "home");
    assert_eq!(
        denied.data("/reason"),
        "account_hidden",
        "{}",
        denied.structured
    );
    home.resume();
    assert_eq!(
        client.wait_call(held).text("/envelope/subject"),
        "Invoice 7"
    );
    home.await_stats("its connection to be given up", |stats| stats.live == 0);
    // The one that stayed the same kept its connection.
    envelope(&mut client, "work");
    assert_eq!(work.stats().connections, 1);
}

#[test]
fn every_process_of_the_directory_is_told_and_no_other() {
    let (server, directory) = served(EVERYTHING);
    let printed = directory.run(&["config", "reload"]);
    // Who takes a token away must not take this for a reload.
    assert_eq!(printed.code, 1, "{}", printed.stdout);
    let said = "no process that keeps its state here serves DIR: nobody was told to read it";
    assert!(printed.stderr.starts_with(said), "{}", printed.stderr);

    let mut gone = directory.client("agent");
    let mut first = directory.client("agent");
    let mut second = directory.client("keyed");
    let elsewhere = Directory::new(server.port(), server.port());
    elsewhere.policy(EVERYTHING);
    let mut stranger = elsewhere.program();
    stranger
        .env("MAILWARDEN_STATE_DIR", directory.home.state())
        .env("IMAP_MCP_CALLER_ID", "agent");
    let mut stranger = crate::support::start(stranger);
    // Each is known once it has answered a call.
    for client in [&mut gone, &mut first, &mut second, &mut stranger] {
        envelope(client, "work");
    }
    gone.kill();
    let runs = || -> Vec<String> {
        let entries = std::fs::read_dir(directory.home.state().join("run")).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.collect()
    };
    assert_eq!(runs().len(), 4);
    let printed = directory.run(&["config", "reload"]);
    let mut want: Vec<String> = [(&first, "agent"), (&second, "keyed")]
        .map(|(client, caller)| format!("process {} ({caller}): reloaded to version", client.pid()))
        .to_vec();
    let mut lines: Vec<&str> = printed.stdout.lines().collect();
    want.sort_unstable();
    lines.sort_unstable();
    assert_eq!(lines.len(), 2, "{}", printed.stdout);
    for (line, want) in lines.iter().zip(&want) {
        assert!(line.starts_with(want.as_str()), "{line}, {want}");
    }
    // What a killed process left behind is cleared; whoever leaves in order leaves nothing.
    assert_eq!(runs().len(), 3);
    for mut client in [first, second, stranger] {
        crate::audit_records::endings::leave(&mut client);
    }
    assert_eq!(runs(), Vec::<String>::new());
}

#[test]
fn what_kind_of_store_an_account_is_in_is_read_again_and_listed() {
    let (server, directory) = served(EVERYTHING);
    let mut client = directory.client("agent");
    let provider = |client: &mut McpClient| {
        let listed = client.call("list_accounts", json!({}));
        listed.data("/accounts/0/provider").clone()
    };
    assert_eq!(provider(&mut client), "imap-standard");
    let standard = accounts(&[("work", server.port())]);
    let google = standard.replace("- id: work\n", "- id: work\n    provider: google-mock\n");
    let maildir = "accounts:\n  - { id: work, provider: maildir, path: mail }\n";
    let store = "secret_store: { backend: file_dir, path: secrets }\n";
    for (text, name) in [
        (google, "google"),
        (format!("{store}{maildir}"), "maildir"),
        (
            format!("{store}{}", maildir.replace("maildir", "apple-mail")),
            "apple-mail",
        ),
        (standard, "imap-standard"),
    ] {
        directory.write("accounts.yaml", &text);
        reload(&directory, &client);
        assert_eq!(provider(&mut client), name);
    }
}

#[test]
fn what_takes_a_restart_is_told() {
    let (server, directory) = served(EVERYTHING);
    let mut client = directory.client("agent");
    let plain = accounts(&[("work", server.port())]);
    let changed = format!("{plain}audit: {{ directory: elsewhere, hot_days: 7 }}\n");
    directory.write("accounts.yaml", &changed);
    let printed = directory.run(&["config", "reload"]);
    let told = "; audit.directory, audit.hot_days: in force after a restart only\n";
    assert!(printed.stdout.ends_with(told), "{}", printed.stdout);
    assert_eq!(printed.code, 0);
    client.await_stderr("audit.directory, audit.hot_days: changed");
    // The log goes on where it was begun.
    envelope(&mut client, "work");
    directory.home.only("config_reloaded", |_| true);
    directory.write("accounts.yaml", &plain);
    reload(&directory, &client);
    let printed = directory.run(&["config", "reload"]);
    assert!(!printed.stdout.contains("restart"), "{}", printed.stdout);
}

#[test]
fn secrets_of_the_processes_need_not_be_those_of_whoever_reloads() {
    let (server, directory) = served(EVERYTHING);
    let text = accounts(&[("work", server.port())]);
    let text = text.replace(
        "{ backend: file_dir, path: secrets }",
        "{ backend: env_var }",
    );
    directory.write("accounts.yaml", &text);
    let mut command = directory.program();
    command
        .env("IMAP_MCP_CALLER_ID", "agent")
        .env("IMAP_MCP_SECRET__PASSWORD", "secret")
        .env("IMAP_MCP_SECRET__CALLERS__KEYED__TOKEN", TOKEN);
    let mut client = crate::support::start(command);
    envelope(&mut client, "work");
    directory.policy(COUNTS);
    reload(&directory, &client);
    let refused = client.call("fetch_envelope", one("work"));
    assert_eq!(refused.text("/reason"), "visibility_below_ENVELOPE");
    // What is wrong with the files is told to nobody all the same.
    directory.policy("  work: 7\n");
    let printed = directory.run(&["config", "reload"]);
    assert_eq!(printed.code, 2, "{}", printed.stdout);
    assert!(
        printed.stderr.contains("policies/some.yaml:3:"),
        "{}",
        printed.stderr
    );
}

#[test]
fn without_a_directory_a_hangup_ends_nothing() {
    let server = mailbox();
    let mut client = crate::support::client(server.port());
    let kill = format!("kill -HUP {}", client.pid());
    for _ in 0..2 {
        let killed = std::process::Command::new("sh")
            .args(["-c", &kill])
            .status();
        assert!(killed.unwrap().success());
        client.await_stderr("there is no configuration directory to read again");
    }
    let listed = client.call("imap_list_accounts", json!({}));
    assert_eq!(listed.structured["success"], true);
}
