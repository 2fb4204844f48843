//! Callers that bring access tokens of an issuer: a real one, and everybody who is not it.

use serde_json::json;
use testkit::{HttpServer, McpHttp, Oidc};

use super::house::{BERT, House, first, is, status};
use crate::support::Look;

const RESOURCE: &str = "https://mail.example.com/mcp";

/// Anna brings tokens of the issuer, Bert his own.
fn house(oidc: &Oidc, anna: &str) -> House {
    let house = House::new();
    callers(&house, oidc, anna);
    house
}

fn callers(house: &House, oidc: &Oidc, anna: &str) {
    let text = super::house::CALLERS.replace(
        "auth: { type: shared_token, token_secret_ref: secret://anna }",
        &format!("auth: {{ type: oauth, {anna} }}"),
    );
    let oauth = format!(
        "oauth: {{ issuer: \"{}\", resource: \"{RESOURCE}\" }}\n",
        oidc.issuer()
    );
    house
        .directory
        .write("callers.yaml", &format!("{text}{oauth}"));
}

/// The status, and what the client is asked for.
fn refused(server: &HttpServer, token: Option<&str>) -> (u16, String) {
    let mut client = McpHttp::new(server.address(), token).modern();
    let reply = client.try_call("get_caller_identity", json!({})).unwrap();
    let asked = reply.response.header("www-authenticate");
    (reply.status, asked.unwrap_or_default().to_owned())
}

const METADATA: &str =
    "resource_metadata=\"https://mail.example.com/.well-known/oauth-protected-resource/mcp\"";

#[test]
fn tokens_of_the_issuer_are_callers_and_all_others_are_nobody() {
    let oidc = Oidc::builder().audience(RESOURCE).start();
    let house = house(
        &oidc,
        "subject: alice, client_id: mailwarden, scopes: [mail]",
    );
    let server = house.serve(&[]);
    let token = oidc.grant("alice").access_token;
    for mut client in [server.client(&token), server.client(&token).modern()] {
        is(&mut client, "anna");
        let read = client.call("fetch_envelope", first());
        assert_eq!(read.text("/envelope/subject"), "Invoice 7");
    }
    is(&mut server.client(BERT), "bert");
    // What is asked for, and where to get it, anybody may know.
    assert_eq!(refused(&server, None), (401, format!("Bearer {METADATA}")));
    for path in ["oauth-protected-resource", "oauth-protected-resource/mcp"] {
        let url = format!("http://{}/.well-known/{path}", server.address());
        let told = testkit::http::Http::plain().get(&url).unwrap();
        assert_eq!(told.status, 200);
        assert_eq!(told.json()["resource"], RESOURCE);
        assert_eq!(told.json()["authorization_servers"], json!([oidc.issuer()]));
        assert_eq!(told.json()["scopes_supported"], json!(["mail"]));
    }
    let invalid = (401, format!("Bearer error=\"invalid_token\", {METADATA}"));
    let mut cut: Vec<String> = token.split('.').map(str::to_owned).collect();
    cut[2] = cut[2].chars().rev().collect();
    let forged = cut.join(".");
    let stranger = oidc.grant("bob").access_token;
    oidc.set_audience("https://other.example.com/mcp");
    let elsewhere = oidc.grant("alice").access_token;
    oidc.set_audience(RESOURCE);
    oidc.give_stale_tokens();
    let expired = oidc.grant("alice").access_token;
    oidc.give_fresh_tokens();
    let other = Oidc::builder().audience(RESOURCE).start();
    let of_another = other.grant("alice").access_token;
    let huge = format!("{}.{}.{}", "x".repeat(9_000), "y".repeat(9_000), "z");
    for (what, token) in [
        ("forged", &forged),
        ("of somebody who is no caller", &stranger),
        ("for another server", &elsewhere),
        ("expired", &expired),
        ("of another issuer", &of_another),
        ("huge", &huge),
    ] {
        assert_eq!(refused(&server, Some(token)), invalid, "{what}");
    }
    // The issuer's keys are known: it need not be there at each request.
    oidc.pause();
    is(&mut server.client(&token), "anna");
    oidc.resume();
    // What does not reach far enough is said, to the one it concerns.
    callers(&house, &oidc, "subject: alice, scopes: [mail, mail.admin]");
    house.reload(&server);
    let (status_, asked) = refused(&server, Some(&token));
    assert_eq!(status_, 403);
    assert!(
        asked.contains("insufficient_scope") && asked.contains("mail mail.admin"),
        "{asked}"
    );
    callers(&house, &oidc, "client_id: somebody-else");
    house.reload(&server);
    assert_eq!(refused(&server, Some(&token)), invalid);
    // It is in no file, and on no other wire.
    drop(server);
    for (path, bytes) in house.directory.home.files() {
        let held = bytes
            .windows(token.len())
            .any(|window| window == token.as_bytes());
        assert!(!held, "{} holds the token", path.display());
    }
}

#[test]
fn another_key_of_the_issuer_is_found_and_asked_for_seldom() {
    let oidc = Oidc::builder().audience(RESOURCE).start();
    let house = house(&oidc, "subject: alice");
    let server = house.serve(&[]);
    is(
        &mut server.client(&oidc.grant("alice").access_token),
        "anna",
    );
    oidc.replace_key();
    let token = oidc.grant("alice").access_token;
    let mut client = server.client(&token);
    let begun = std::time::Instant::now();
    while status(&mut client) != 200 {
        assert!(begun.elapsed() < std::time::Duration::from_secs(60));
        std::thread::sleep(std::time::Duration::from_millis(250));
    }
    is(&mut client, "anna");
}

#[test]
fn a_caller_of_an_issuer_is_written_whole_or_refused() {
    let oidc = "https://login.example.com";
    let house = House::new();
    let with = |auth: &str, oauth: &str| {
        let one = "auth: { type: shared_token, token_secret_ref: secret://anna }";
        let text = super::house::CALLERS.replace(one, auth);
        house
            .directory
            .write("callers.yaml", &format!("{text}{oauth}"));
        let printed = house.directory.run(&["config", "check"]);
        (
            printed.code,
            format!("{}{}", printed.stdout, printed.stderr),
        )
    };
    let good = format!("oauth: {{ issuer: {oidc}, resource: \"{RESOURCE}\" }}\n");
    let (code, said) = with("auth: { type: oauth, subject: alice }", &good);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("caller anna (oauth)"), "{said}");
    for (auth, oauth, word) in [
        (
            "auth: { type: oauth }",
            good.as_str(),
            "needs 'subject' or 'client_id'",
        ),
        (
            "auth: { type: oauth, subject: alice }",
            "",
            "needs the 'oauth' section",
        ),
        (
            "auth: { type: oauth, subject: alice, token_secret_ref: secret://anna }",
            &good,
            "has no token of ours",
        ),
        (
            "auth: { type: shared_token, token_secret_ref: secret://anna, scopes: [a] }",
            &good,
            "for callers of the type oauth",
        ),
        (
            "auth: { type: oauth, subject: alice, scopes: [\"a b\"] }",
            &good,
            "a scope is one word",
        ),
        (
            "auth: { type: oauth, subject: alice }",
            "oauth: { issuer: \"http://x.example\", resource: \"https://a.example/mcp\" }\n",
            "'issuer' is an https",
        ),
        (
            "auth: { type: oauth, subject: alice }",
            "oauth: { issuer: \"https://x.example\", resource: \"http://a.example/mcp\" }\n",
            "'resource' is an https",
        ),
    ] {
        let (code, said) = with(auth, oauth);
        assert_eq!(code, 2, "{said}");
        assert!(said.contains(word), "{word}: {said}");
    }
    // On stdio nobody could check it.
    with("auth: { type: oauth, subject: alice }", &good);
    let mut command = house.directory.program();
    command.env("IMAP_MCP_CALLER_ID", "anna").arg("stdio");
    let output = command.stdin(std::process::Stdio::null()).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("for HTTP alone"));
}
