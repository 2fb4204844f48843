//! Messages as resources.

use base64::Engine as _;
use serde_json::{Value, json};
use testkit::Dovecot;

use crate::support::{Look, client, inbox, note};

#[test]
fn the_uris_of_a_page_can_be_read() {
    let server = Dovecot::start();
    server.create_folder("alice", "Büro/R&D: x");
    let raw = note("resource", "body of it");
    server.deliver("alice", "Büro/R&D: x", &raw);
    let mut client = client(server.port());
    let page = client.call("imap_search_messages", json!({ "mailbox": "Büro/R&D: x" }));
    let read = |client: &mut testkit::McpClient, uri: String| {
        client
            .request("resources/read", json!({ "uri": uri }))
            .unwrap()["contents"][0]
            .clone()
    };
    let parsed = read(&mut client, page.text("/messages/0/message_uri"));
    assert_eq!(parsed["mimeType"], "application/json");
    let message: Value = serde_json::from_str(parsed["text"].as_str().unwrap()).unwrap();
    assert_eq!(message["message"]["body_text"], "body of it");
    assert_eq!(message["warnings"], json!([]));
    assert_eq!(message["issues"], json!([]));
    assert_eq!(message["untrusted"], json!(["message"]));
    let source = read(&mut client, page.text("/messages/0/message_raw_uri"));
    assert_eq!(source["mimeType"], "message/rfc822");
    let bytes = base64::engine::general_purpose::STANDARD
        .decode(source["blob"].as_str().unwrap())
        .unwrap();
    assert_eq!(bytes, raw);
}

#[test]
fn a_wrong_uri_is_refused() {
    let server = Dovecot::start();
    let mut client = client(server.port());
    for (uri, code) in [
        ("file:///etc/passwd", "invalid_input"),
        ("imap://default/mailbox/INBOX/message/1", "invalid_input"),
        (
            "imap://default/mailbox/INBOX/message/1/1/../../raw",
            "invalid_input",
        ),
        ("imap://nobody/mailbox/INBOX/message/1/1", "not_found"),
        (
            "imap://default/mailbox/IN%0D%0ABOX/message/1/1",
            "invalid_input",
        ),
    ] {
        let error = client
            .request("resources/read", json!({ "uri": uri }))
            .unwrap_err();
        assert_eq!(error.data["code"], code, "{uri}: {error:?}");
    }
}

#[test]
fn templates_are_listed_and_completed() {
    let server = Dovecot::start();
    let mut client = client(server.port());
    let templates = client
        .request("resources/templates/list", json!({}))
        .unwrap();
    let uri = templates["resourceTemplates"][0]["uriTemplate"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_eq!(
        uri,
        "imap://{account}/mailbox/{mailbox}/message/{uidvalidity}/{uid}"
    );
    let mut complete = |argument: Value, context: Value| {
        let params = json!({
            "ref": { "type": "ref/resource", "uri": uri },
            "argument": argument,
            "context": context,
        });
        client.request("completion/complete", params).unwrap()["completion"]["values"].clone()
    };
    assert_eq!(
        complete(json!({ "name": "account", "value": "de" }), json!({})),
        json!(["default"])
    );
    let chosen = json!({ "arguments": { "account": "default" } });
    assert_eq!(
        complete(json!({ "name": "mailbox", "value": "tr" }), chosen),
        json!(["Trash"])
    );
    assert_eq!(
        client.request("resources/list", json!({})).unwrap()["resources"],
        json!([])
    );
    assert!(
        !client
            .call("imap_search_messages", inbox(json!({})))
            .is_error
    );
}
