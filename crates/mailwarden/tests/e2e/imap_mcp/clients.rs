//! What clients of the seed's own program send: other names of arguments, and text that is JSON.

use serde_json::{Value, json};
use testkit::McpClient;

use super::{ARCHIVE, FOLDER, Ground, allowed, data, denied, invoice, letter};

const EVERYTHING: &str = "    - { path: INBOX, mode: blacklist, default: FULL, mark_tagged: true, \
                          draft_append: true }\n";

fn refused(client: &mut McpClient, tool: &str, arguments: &Value) -> String {
    let call = json!({ "name": tool, "arguments": arguments });
    let error = client.request("tools/call", call).unwrap_err();
    assert_eq!(
        (error.code, &error.data["code"]),
        (-32602, &json!("invalid_input"))
    );
    error.message
}

#[test]
fn other_names_of_arguments_are_accepted() {
    let ground = Ground::new();
    let raw = letter("rechnung@hornbach.de", "to-be-moved");
    ground.server.deliver("company-mail", FOLDER, &raw);
    let mut client = ground.invoice_agent();
    for (tool, arguments) in [
        ("list_folders", json!({ "account": "company-mail" })),
        (
            "search",
            json!({ "account": "company-mail", "folder": FOLDER }),
        ),
        (
            "fetch_headers",
            json!({ "account": "company-mail", "folder": FOLDER, "uid": 1 }),
        ),
        (
            "copy",
            json!({
                "source": { "account": "company-mail", "folder": FOLDER, "uid": 1 },
                "target": { "account": "company-mail", "folder": ARCHIVE },
            }),
        ),
    ] {
        allowed(&client.call(tool, arguments));
    }
    let moved = client.call(
        "move",
        json!({
            "source": { "account": "company-mail", "folder": FOLDER, "uid": 4 },
            "target": { "account": "company-mail", "folder": ARCHIVE },
            "idempotency_key": "one",
        }),
    );
    allowed(&moved);
    let id = data(&moved, "/transaction_id").clone();
    let status = client.call("get_transaction_status", json!({ "tx_id": id }));
    allowed(&status);
    assert_eq!(data(&status, "/transaction_id"), &id);
    // The same request under the names of the schema is the same request.
    let mut again = invoice(4);
    again["target_folder"] = json!(ARCHIVE);
    again["target_account_id"] = json!("company-mail");
    again["idempotency_key"] = json!("one");
    let again = client.call("move", again);
    assert_eq!(
        (data(&again, "/transaction_id"), data(&again, "/repeated")),
        (&id, &json!(true))
    );
}

#[test]
fn an_alias_beside_its_argument_is_invalid_input() {
    let ground = Ground::new();
    let mut client = ground.invoice_agent();
    let mut both = invoice(1);
    both["account"] = json!("company-mail");
    let said = refused(&mut client, "fetch_body", &both);
    assert!(
        said.contains("account is another name of account_id"),
        "{said}"
    );
    let mut both = invoice(1);
    both["source"] = json!({ "uid": 1 });
    both["target_folder"] = json!(ARCHIVE);
    refused(&mut client, "move", &both);
    // A tool that lists no such argument knows no alias of it either.
    let said = refused(
        &mut client,
        "search",
        &json!({ "account": "company-mail", "folder": FOLDER, "mode": "add" }),
    );
    assert!(said.contains("there is no argument"), "{said}");
    let last = ground.records().pop().unwrap();
    assert_eq!(
        (&last["reason"], &last["decision"]),
        (&json!("invalid_input"), &json!("DENY"))
    );
}

#[test]
fn no_alias_stands_in_a_schema() {
    let ground = Ground::new();
    ground.caller("everything", EVERYTHING);
    let mut client = ground.stdio("everything", &[]);
    let tools = client.request("tools/list", json!({})).unwrap();
    for tool in tools["tools"].as_array().unwrap() {
        let listed = tool["inputSchema"]["properties"].as_object().unwrap();
        for alias in ["account", "source", "target", "mode", "tx_id", "rfc822"] {
            assert!(!listed.contains_key(alias), "{}: {alias}", tool["name"]);
        }
    }
    let draft = tools["tools"].as_array().unwrap().iter();
    let draft = draft
        .clone()
        .find(|one| one["name"] == "create_draft")
        .unwrap();
    let required = draft["inputSchema"]["required"].as_array().unwrap();
    assert!(required.contains(&json!("body")), "{required:?}");
}

#[test]
fn mode_and_account_mark_a_message() {
    let ground = Ground::new();
    ground.caller("everything", EVERYTHING);
    let mut client = ground.stdio("everything", &[]);
    for (mode, flags) in [("add", json!(["$Done"])), ("remove", json!([]))] {
        let marked = client.call(
            "mark_tagged",
            json!({ "account": "company-mail", "folder": "INBOX", "uid": 1, "tags": ["$Done"], "mode": mode }),
        );
        allowed(&marked);
        assert_eq!(data(&marked, "/flags"), &flags);
    }
}

#[test]
fn an_attachment_is_found_by_its_file_name() {
    let ground = Ground::new();
    let twice = "From: x@hornbach.de\r\nSubject: twins\r\nMIME-Version: 1.0\r\n\
                 Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: text/plain\r\n\r\nhi\r\n\
                 --b\r\nContent-Type: text/plain\r\nContent-Disposition: attachment; filename=a.txt\r\n\r\none\r\n\
                 --b\r\nContent-Type: text/plain\r\nContent-Disposition: attachment; filename=a.txt\r\n\r\ntwo\r\n--b--\r\n";
    ground
        .server
        .deliver("company-mail", FOLDER, twice.as_bytes());
    let mut client = ground.invoice_agent();
    let part = |uid: u32, name: &str| {
        let mut at = invoice(uid);
        at["part_id"] = json!(name);
        at
    };
    let by_name = client.call("fetch_attachment", part(1, "invoice.pdf"));
    allowed(&by_name);
    assert_eq!(data(&by_name, "/attachment/part_id"), "2");
    let by_number = client.call("fetch_attachment", part(1, "2"));
    assert_eq!(
        data(&by_name, "/attachment"),
        data(&by_number, "/attachment")
    );
    let absent = json!({ "name": "fetch_attachment", "arguments": part(1, "other.pdf") });
    let absent = client.request("tools/call", absent).unwrap_err();
    assert_eq!(absent.data["code"], "not_found");
    let said = refused(&mut client, "fetch_attachment", &part(4, "a.txt"));
    assert!(said.contains("several attachments"), "{said}");
    // A file's name is a stranger's word: the log holds a digest of it.
    let log = format!("{:?}", ground.records());
    assert!(
        !log.contains("invoice.pdf") && !log.contains("a.txt"),
        "{log}"
    );
}

#[test]
fn a_whole_message_is_checked_before_it_is_stored() {
    let ground = Ground::new();
    let mut client = ground.stdio("overview-bot", &[]);
    let draft = |more: Value| {
        let mut draft = json!({ "account": "company-mail", "folder": "Drafts" });
        draft
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        draft
    };
    for (more, why) in [
        (
            json!({ "rfc822": "no header at all\n\nx" }),
            "line 1 is none",
        ),
        (json!({ "rfc822": "Subject: x\n\n\u{0}" }), "NUL"),
        (json!({ "rfc822": "Subject: Gr\u{fc}n\n\nx" }), "ASCII"),
        (
            json!({ "rfc822": format!("Subject: x\n\n{}", "x".repeat(1_000_000)) }),
            "1000000 octets",
        ),
        (
            json!({ "rfc822": "Subject: x\n\ny", "body": "z" }),
            "leave out",
        ),
        (
            json!({ "rfc822": "Subject: x\n\ny", "subject": "z" }),
            "leave out",
        ),
        (json!({ "rfc822": 7 }), "must be a string"),
        (json!({}), "body is required"),
    ] {
        let said = refused(&mut client, "create_draft", &draft(more));
        assert!(said.contains(why), "{why}: {said}");
    }
    let mut imap = ground.server.login("company-mail", "secret");
    let empty = imap.command("STATUS Drafts (MESSAGES)").text();
    assert!(empty.contains("MESSAGES 0"), "{empty}");

    let whole = "Date: Tue, 3 Nov 2026 09:12:00 +0100\nMessage-ID: <a@b.example>\n\
                 Subject: x\nX-Own: y\n\none\rtwo\r\nthree";
    let call = draft(json!({ "rfc822": whole, "idempotency_key": "k" }));
    let first = client.call("create_draft", call.clone());
    allowed(&first);
    let again = client.call("create_draft", call);
    assert_eq!(
        data(&again, "/transaction_id"),
        data(&first, "/transaction_id")
    );
    imap.command("EXAMINE Drafts");
    let stored = imap.command("FETCH 1:* BODY.PEEK[]").text();
    let want = "Date: Tue, 3 Nov 2026 09:12:00 +0100\r\nMessage-ID: <a@b.example>\r\n\
                Subject: x\r\nX-Own: y\r\n\r\none\r\ntwo\r\nthree\r\n";
    assert!(stored.contains(want), "{stored}");
    assert_eq!(stored.matches("X-Own").count(), 1, "{stored}");

    let mut agent = ground.invoice_agent();
    let elsewhere = json!({ "account": "company-mail", "folder": FOLDER, "rfc822": whole });
    assert_eq!(
        denied(&agent.call("create_draft", elsewhere)),
        "capability_missing"
    );
}

#[test]
fn the_text_block_is_json_where_that_is_chosen() {
    let ground = Ground::new();
    let usual = ground
        .stdio("overview-bot", &[])
        .call("list_accounts", json!({}));
    assert!(
        serde_json::from_str::<Value>(&usual.text).is_err(),
        "{}",
        usual.text
    );
    let by_variable = &[("MAILWARDEN_TEXT", "json")] as &[(&str, &str)];
    for by_file in [false, true] {
        if by_file {
            let text = ground.accounts() + "\ntext: json\n";
            ground.dir.write("accounts.yaml", &text);
        }
        let mut client = ground.stdio("overview-bot", if by_file { &[] } else { by_variable });
        let shown = client.call("list_accounts", json!({}));
        let hidden = client.call("list_folders", json!({ "account": "gmail-invoices" }));
        assert_eq!(denied(&hidden), "account_hidden");
        for answer in [shown, hidden] {
            let text: Value = serde_json::from_str(&answer.text).unwrap();
            assert_eq!(text, answer.structured);
        }
    }
}
