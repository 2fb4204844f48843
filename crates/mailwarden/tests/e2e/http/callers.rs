//! Who is let in: tokens, several of them, until they expire or are taken away.

use serde_json::{Value, json};
use testkit::{HttpServer, McpHttp};

use super::house::{ANNA, BERT, CALLERS, House, is, status};
use crate::support::Look;

/// The SHA-256 of `TWO`.
const TWO: &str = "second-token-second-token";

fn digest(of: &str) -> String {
    use sha2::{Digest as _, Sha256};
    let digest = Sha256::digest(of.as_bytes());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Anna has these tokens, Bert his one.
fn with_tokens(house: &House, tokens: &[String]) {
    let one = "auth: { type: shared_token, token_secret_ref: secret://anna }";
    let listed = tokens.join(", ");
    let several = format!("auth: {{ type: shared_token, tokens: [{listed}] }}");
    let text = CALLERS.replace(one, &several);
    house.directory.write("callers.yaml", &text);
}

#[test]
fn each_token_of_a_caller_is_as_good_as_the_others_until_it_expires() {
    let house = House::new();
    let expired = "expired-token-expired-token";
    with_tokens(
        &house,
        &[
            "{ token_secret_ref: secret://anna, expires: 2999-01-01T00:00:00Z }".to_owned(),
            format!("{{ sha256: \"{}\" }}", digest(TWO)),
            format!(
                "{{ sha256: \"{}\", expires: 2020-01-01T00:00:00+01:00 }}",
                digest(expired)
            ),
        ],
    );
    let checked = house.directory.run(&["config", "check"]);
    assert_eq!(checked.code, 0, "{}", checked.stderr);
    assert!(
        checked.stdout.contains("this token has expired"),
        "{}",
        checked.stdout
    );
    assert!(
        checked.stdout.contains("shared_token, 3 tokens"),
        "{}",
        checked.stdout
    );
    let server = house.serve(&[]);
    is(&mut server.client(ANNA), "anna");
    is(&mut server.client(TWO), "anna");
    for nobody in [
        expired,
        &digest(TWO),
        "",
        "x",
        &format!("{ANNA} "),
        ANNA.strip_prefix('a').unwrap(),
    ] {
        let mut client = server.client(nobody);
        let reply = client.try_call("get_caller_identity", json!({})).unwrap();
        // What is around a token in its header is not part of it.
        let wanted = if nobody.trim() == ANNA { 200 } else { 401 };
        assert_eq!(reply.status, wanted, "{nobody:?}");
        if wanted == 401 {
            assert_eq!(reply.response.header("www-authenticate"), Some("Bearer"));
            assert_eq!(reply.response.header("connection"), Some("close"));
        }
    }
    assert_eq!(status(&mut McpHttp::new(server.address(), None)), 401);
    // On stdio they are worth the same.
    for (token, code) in [(TWO, 0), (expired, 2), ("wrong-wrong-wrong-wrong", 2)] {
        let mut command = house.directory.program();
        command.env("IMAP_MCP_CALLER_TOKEN", token).arg("stdio");
        let output = command.stdin(std::process::Stdio::null()).output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{token}");
    }
}

#[test]
fn what_was_begun_under_one_token_goes_on_under_another_and_not_for_somebody_else() {
    let house = House::new();
    with_tokens(
        &house,
        &[
            "{ token_secret_ref: secret://anna }".to_owned(),
            format!("{{ sha256: \"{}\" }}", digest(TWO)),
        ],
    );
    let server = house.serve(&[]);
    let mut one = server.client(ANNA).modern();
    let mut two = server.client(TWO).modern();
    let mut bert = server.client(BERT).modern();
    let page = json!({ "account_id": "work", "folder": "INBOX", "limit": 2 });
    let found = one.call("search", page.clone());
    let mut next = page;
    next["cursor"] = json!(found.text("/next_cursor"));
    assert!(!two.call("search", next.clone()).is_error);
    let stolen = bert.try_call("search", next).unwrap();
    refused(&stolen.result());
    let mark = json!({
        "account_id": "work", "folder": "INBOX", "uid": 2, "seen": true,
    });
    let marked = one.call("mark_seen", mark);
    let id = marked.text("/transaction_id");
    let asked = json!({ "transaction_id": id });
    let told = two.call("get_transaction_status", asked.clone());
    assert_eq!(told.text("/transaction_id"), id);
    let stolen = bert.try_call("get_transaction_status", asked).unwrap();
    let unknown = json!({ "transaction_id": id.chars().rev().collect::<String>() });
    let unknown = bert.try_call("get_transaction_status", unknown).unwrap();
    let code = |reply: &testkit::mcp_http::Reply| {
        reply.result().map_err(|error| error.data["code"].clone())
    };
    assert_eq!(
        code(&stolen).is_err(),
        code(&unknown).is_err(),
        "{stolen:?} {unknown:?}"
    );
    assert!(
        !stolen.response.text().contains("INBOX"),
        "{}",
        stolen.response.text()
    );
}

fn refused(result: &Result<Value, testkit::mcp::RpcError>) {
    match result {
        Err(error) => assert_eq!(error.data["code"], "invalid_input", "{error:?}"),
        Ok(result) => assert_eq!(result["isError"], true, "{result}"),
    }
}

#[test]
fn a_token_that_is_taken_away_is_nobodys_at_once_also_on_open_connections() {
    let house = House::new();
    with_tokens(
        &house,
        &[
            "{ token_secret_ref: secret://anna }".to_owned(),
            format!("{{ sha256: \"{}\" }}", digest(TWO)),
        ],
    );
    let server = house.serve(&[]);
    let mut kept = server.client(ANNA);
    let mut taken = server.client(TWO).modern();
    let mut bert = server.client(BERT);
    for (client, id) in [
        (&mut kept, "anna"),
        (&mut taken, "anna"),
        (&mut bert, "bert"),
    ] {
        is(client, id);
        assert!(client.is_connected());
    }
    with_tokens(&house, &["{ token_secret_ref: secret://anna }".to_owned()]);
    house.reload(&server);
    assert_eq!(status(&mut taken), 401);
    is(&mut kept, "anna");
    // And a whole caller.
    let without = CALLERS.split("  - id: bert").collect::<Vec<_>>();
    house.directory.write("callers.yaml", without[0]);
    house
        .directory
        .write("policies/invoices.yaml", "name: invoices\naccounts: {}\n");
    house.reload(&server);
    assert_eq!(status(&mut bert), 401);
    is(&mut kept, "anna");
    let refused = house.directory.home.only("caller_refused", |_| true);
    assert_eq!(refused.text("caller_addr"), "http:127.0.0.1");
    assert_eq!(refused.text("reason"), "unknown_token");
}

#[test]
fn refused_caller_is_recorded_before_the_answer() {
    for round in 0..6 {
        let house = House::new();
        let server = house.serve(&[]);
        assert_eq!(status(&mut server.client("no-such-token")), 401);
        let records = house.directory.home.records();
        let refused = records.iter().find(|one| one.event == "caller_refused");
        let refused = refused.unwrap_or_else(|| panic!("round {round}: {records:#?}"));
        for (field, wanted) in [
            ("tool", "(none)"),
            ("caller_id", "(unknown)"),
            ("decision", "DENY"),
            ("reason", "unknown_token"),
            ("result", "refused"),
        ] {
            assert_eq!(refused.text(field), wanted, "{field}");
        }
    }
}

#[test]
fn whoever_would_be_believed_without_proof_is_not_served_over_http() {
    let house = House::new();
    let trusted = CALLERS.replace(
        "auth: { type: shared_token, token_secret_ref: secret://bert }",
        "auth: { type: stdio_trusted }",
    );
    house.directory.write("callers.yaml", &trusted);
    let stderr = house.try_serve(&[]).unwrap_err();
    assert!(stderr.contains("'bert' is stdio_trusted"), "{stderr}");
    house.directory.write("callers.yaml", CALLERS);
    let server = house.serve(&[]);
    house.directory.write("callers.yaml", &trusted);
    let printed = house.directory.run(&["config", "reload"]);
    assert!(
        printed.stdout.contains("(http): kept version"),
        "{}",
        printed.stdout
    );
    assert_eq!(printed.code, 1);
    is(&mut server.client(BERT), "bert");
}

#[test]
fn a_token_can_be_made_and_used_without_lying_anywhere() {
    let house = House::new();
    let printed = house.directory.run(&["config", "token"]);
    assert_eq!(printed.code, 0, "{}", printed.stderr);
    let token = printed
        .stdout
        .lines()
        .next()
        .unwrap()
        .split(": ")
        .nth(1)
        .unwrap();
    let entry = printed
        .stdout
        .lines()
        .nth(1)
        .unwrap()
        .split("- ")
        .nth(1)
        .unwrap();
    assert!(token.starts_with("mw_") && token.len() == 67, "{token}");
    with_tokens(&house, &[entry.to_owned()]);
    let server = house.serve(&[]);
    is(&mut server.client(token), "anna");
    let again = house.directory.run(&["config", "token"]);
    assert_ne!(again.stdout, printed.stdout);
    drop(server);
    for (path, bytes) in house.directory.home.files() {
        let held = memchr(&bytes, token.as_bytes());
        assert!(!held, "{} holds the token", path.display());
    }
}

fn memchr(bytes: &[u8], needle: &[u8]) -> bool {
    bytes.windows(needle.len()).any(|window| window == needle)
}

#[test]
fn the_owner_of_accounts_in_variables_brings_a_token_too() {
    let mail = crate::directory::mailbox();
    let home = crate::installation::Installation::new();
    let start = |token: &str| {
        let mut command = home.program();
        let account = crate::support::Account {
            port: mail.port(),
            ..Default::default()
        };
        crate::support::configure(&mut command, "DEFAULT", &account);
        command
            .args(["http", "--port", "0"])
            .env("MAILWARDEN_HTTP_TOKEN", token);
        HttpServer::try_spawn(command)
    };
    for short in ["", "short"] {
        let (status, stderr) = start(short).unwrap_err();
        assert_eq!(status.code(), Some(2));
        assert!(stderr.contains("MAILWARDEN_HTTP_TOKEN"), "{stderr}");
    }
    let server = start(ANNA).unwrap();
    let listed = server.client(ANNA).call("imap_list_accounts", json!({}));
    assert_eq!(listed.structured["success"], true);
    assert_eq!(status(&mut server.client(BERT)), 401);
}
