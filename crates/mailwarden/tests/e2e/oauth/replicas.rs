//! The same on two machines that share a PostgreSQL, each with a secret store of its own: each refresh token is used once.

use serde_json::{Value, json};
use testkit::mcp::RequestId;
use testkit::oidc::{Endpoint, Times};
use testkit::{McpClient, Postgres, postgres};

use super::House;
use super::house::{assert_works, inbox};
use crate::installation::Installation;
use crate::support::start;

/// Writes the ledger into accounts.yaml, in place of the file.
fn share(house: &House, ledger: &Postgres) {
    house
        .dir
        .secret("secrets/ledger/password", postgres::PASSWORD);
    let path = house.dir.path().join("accounts.yaml");
    let text = std::fs::read_to_string(&path).unwrap();
    let mut accounts: Value = serde_json::from_str(&text).unwrap();
    accounts.as_object_mut().unwrap().remove("wal");
    accounts["ledger"] = json!(ledger.url());
    accounts["ledger_secret_ref"] = json!("secret://ledger/password");
    std::fs::write(path, accounts.to_string()).unwrap();
}

/// On a machine of its own.
fn client(house: &House, machine: &Installation) -> McpClient {
    let mut command = house.program();
    command
        .env("MAILWARDEN_STATE_DIR", machine.state())
        .env("IMAP_MCP_CALLER_ID", "agent");
    start(command)
}

fn search(client: &mut McpClient) -> RequestId {
    client.send_call("search", inbox(&json!({})))
}

fn all_answered(clients: &mut [McpClient]) {
    let calls: Vec<RequestId> = clients.iter_mut().map(search).collect();
    for (client, call) in clients.iter_mut().zip(calls) {
        let outcome = client.wait_call(call);
        assert!(!outcome.is_error, "{}\n{}", outcome.text, client.stderr());
    }
}

#[test]
fn two_replicas_never_use_a_refresh_token_twice() {
    let (house, ledger) = (House::new(), Postgres::start_fast());
    share(&house, &ledger);
    house.log_in();
    house.expire(Times::Always);
    let machines = [Installation::new(), Installation::new()];
    let mut clients = machines.each_ref().map(|machine| client(&house, machine));
    for _ in 0..10 {
        all_answered(&mut clients);
        house.hang_up();
    }
    let refreshes = house.refreshes();
    assert!(refreshes >= 10, "{refreshes}");
    assert_eq!(house.oidc.count_of(Endpoint::Refresh, "ok"), refreshes);
    // What the store holds is what was logged in with; what came after it is known to all, and to whoever starts next.
    drop(clients);
    assert_works(&mut client(&house, &Installation::new()));
    assert_eq!(
        house.oidc.count_of(Endpoint::Refresh, "ok"),
        house.refreshes()
    );
    for machine in &machines {
        assert!(
            !machine.state().join("oauth").exists(),
            "nothing is kept beside it"
        );
    }
}

#[test]
fn two_replicas_share_a_token_and_refresh_it_once() {
    let (mut house, ledger) = (House::new(), Postgres::start_fast());
    house.configure(&json!({ "token_cache": "persist_all" }));
    share(&house, &ledger);
    house.log_in();
    let machines = [Installation::new(), Installation::new()];
    let mut clients = machines.each_ref().map(|machine| client(&house, machine));
    for client in &mut clients {
        assert_works(client);
    }
    assert_eq!(house.refreshes(), 0);
    house.oidc.replace_key();
    house.server.forget_keys();
    house.hang_up();
    all_answered(&mut clients);
    assert_eq!(house.refreshes(), 1);
    let kept = ledger.query(&ledger.url(), "SELECT count(*) FROM mailwarden.records");
    assert_eq!(kept, "1");
    let locked = ledger.query(&ledger.url(), "SELECT count(*) FROM mailwarden.locks");
    assert_eq!(locked, "0");
}
