//! A secret that is missing takes its account or its caller out of service, and nothing else.

use serde_json::{Value, json};
use testkit::{HttpServer, McpHttp};

use crate::directory::{Directory, accounts, mailbox};

const ANNA: &str = "anna-token-anna-token-anna";
const BERT: &str = "bert-token-bert-token-bert";
const CALLERS: &str = "\
callers:
  - id: anna
    policy: some
    auth: { type: shared_token, token_secret_ref: secret://anna }
  - id: bert
    policy: some
    auth: { type: shared_token, token_secret_ref: secret://bert }
";
const POLICY: &str = "  work:
    - { path: INBOX, mode: blacklist, default: FULL }
  home:
    - { path: INBOX, mode: blacklist, default: FULL }
";

/// The account `home` and the caller `bert` lack their secrets.
fn directory(port: u16) -> Directory {
    let directory = Directory::new(port, port);
    let text = accounts(&[("work", port), ("home", port)]);
    let (work, home) = text.rsplit_once("secret://password").unwrap();
    directory.write("accounts.yaml", &format!("{work}secret://other{home}"));
    directory.write("callers.yaml", CALLERS);
    directory.policy(POLICY);
    directory.secret("secrets/anna", ANNA);
    directory
}

fn serve(directory: &Directory) -> HttpServer {
    let mut command = directory.program();
    command.args(["http", "--port", "0"]);
    HttpServer::try_spawn(command).unwrap_or_else(|(_, stderr)| panic!("{stderr}"))
}

fn reload(directory: &Directory) {
    let printed = directory.run(&["config", "reload"]);
    assert_eq!(printed.code, 0, "{}{}", printed.stdout, printed.stderr);
}

fn status_of(client: &mut McpHttp, account: &str) -> Value {
    let listed = client.call("list_accounts", json!({}));
    let accounts = listed.structured["data"]["accounts"].as_array().unwrap();
    let mut found = accounts.iter().filter(|one| one["account_id"] == account);
    found.next().unwrap()["status"].clone()
}

fn search(client: &mut McpHttp, account: &str) -> Value {
    let arguments = json!({ "account_id": account, "folder": "INBOX" });
    client.call("search", arguments).structured
}

fn served(server: &HttpServer, token: &str) -> u16 {
    let reply = server.client(token).try_call("list_accounts", json!({}));
    reply.unwrap().status
}

#[test]
fn missing_secret_stops_only_its_account_and_caller() {
    let mail = mailbox();
    let directory = directory(mail.port());
    let server = serve(&directory);
    let mut anna = server.client(ANNA);
    assert_eq!(status_of(&mut anna, "work"), "ok");
    assert_eq!(status_of(&mut anna, "home"), "misconfigured");
    assert_eq!(search(&mut anna, "work")["success"], true);
    let failed = search(&mut anna, "home");
    assert_eq!(failed["success"], false, "{failed}");
    assert_eq!(
        failed["data"]["issues"][0]["code"], "token_misconfigured",
        "{failed}"
    );
    assert!(!failed.to_string().contains("secret://"), "{failed}");
    assert_eq!(served(&server, BERT), 401);

    directory.secret("secrets/other", "secret");
    directory.secret("secrets/bert", BERT);
    reload(&directory);
    assert_eq!(status_of(&mut anna, "home"), "ok");
    assert_eq!(search(&mut anna, "home")["success"], true);
    assert_eq!(served(&server, BERT), 200);

    std::fs::remove_file(directory.path().join("secrets/other")).unwrap();
    std::fs::remove_file(directory.path().join("secrets/bert")).unwrap();
    reload(&directory);
    assert_eq!(status_of(&mut anna, "home"), "misconfigured");
    assert_eq!(search(&mut anna, "work")["success"], true);
    assert_eq!(served(&server, BERT), 401);
}

#[test]
fn missing_secrets_are_reported_and_fail_the_check() {
    let mail = mailbox();
    let directory = directory(mail.port());
    let checked = directory.run(&["check"]);
    assert_eq!(checked.code, 1, "{}", checked.stdout);
    let mut command = directory.program();
    command.args(["http", "--port", "0"]);
    let server = HttpServer::try_spawn(command).unwrap();
    for wanted in [
        "accounts.yaml:",
        "the account 'home' is unavailable: ",
        "this caller's token is unavailable: ",
    ] {
        assert!(
            checked.stdout.contains(wanted),
            "{wanted}: {}",
            checked.stdout
        );
        server.await_stderr(wanted);
    }
    let checked = directory.run(&["config", "check"]);
    assert_eq!(checked.code, 2, "{}", checked.stdout);
}
