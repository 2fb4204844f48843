//! Drafts: what lies in the folder is what was said, once, and nothing of it stays elsewhere.

use serde_json::{Value, json};

use super::{ask, shown, with};
use crate::protocol::{meets, no_nulls};
use crate::support::start;
use crate::write_crash::{AWAY, Ground, HOME, Plot, leave};

/// The octets of a message.
fn raw(plot: &Plot<'_>, account: &str, folder: &str, uid: u64) -> String {
    let mut imap = plot.bare(account);
    imap.command(&format!("EXAMINE \"{folder}\""));
    imap.command(&format!("UID FETCH {uid} BODY.PEEK[]")).text()
}

#[test]
fn a_draft_says_what_was_said_and_is_told_in_full() {
    let ground = Ground::new();
    let plot = ground.plot("", &[]);
    let before = plot.world();
    let mut client = start(plot.program());
    let arguments = json!({
        "account_id": HOME,
        "folder": "Drafts",
        "from": "alice@example.org",
        "to": ["bob@example.org", "carol@example.org"],
        "cc": ["dave@example.org"],
        "bcc": ["eve@example.org"],
        "subject": "Grüße aus Köln",
        "body": "Zanzibar is far.\nVery far.",
        "in_reply_to": "<wanted@example.com>",
        "idempotency_key": "draft-1",
    });
    let answer = ask(&mut client, "create_draft", arguments.clone());
    assert_eq!(answer.words, "ok done", "{}", answer.text);
    let tools = client.request("tools/list", json!({})).unwrap();
    let mut tools = tools["tools"].as_array().unwrap().iter();
    let tool = tools.find(|one| one["name"] == "create_draft").unwrap();
    meets(&tool["outputSchema"], &answer.all, "create_draft");
    no_nulls(&answer.data, "create_draft");

    let drafts = plot.folder(HOME, "Drafts");
    let [draft] = drafts.as_slice() else {
        panic!("{drafts:?}");
    };
    let want = json!({
        "status": "ok", "issues": [], "transaction_state": "done", "transaction_id": answer.id(),
        "account_id": HOME, "folder": "Drafts", "uid": draft.uid, "uidvalidity": draft.uidvalidity,
        "decision": "ALLOW",
    });
    assert_eq!(answer.data, want);
    assert_eq!(draft.item.flags, ["\\Draft", "\\Seen"]);
    assert_eq!(plot.world(), before.with(draft.item.clone()));
    let text = raw(&plot, HOME, "Drafts", u64::from(draft.uid));
    for line in [
        "From: <alice@example.org>",
        "bob@example.org",
        "carol@example.org",
        "Cc: <dave@example.org>",
        "Bcc: <eve@example.org>",
        "In-Reply-To: <wanted@example.com>",
        "@mailwarden.invalid>",
        "Zanzibar is far.",
        "Very far.",
    ] {
        assert!(text.contains(line), "{line} in {text}");
    }

    let row = shown(&plot, &answer.id());
    for (name, want) in [
        ("kind", json!("draft")),
        ("state", json!("done")),
        ("source", Value::Null),
        ("target", json!({ "account": HOME, "folder": "Drafts" })),
        ("sha256", json!(draft.item.hash)),
        ("idempotency_key", json!("draft-1")),
        (
            "landed",
            json!({ "uid": draft.uid, "uidvalidity": draft.uidvalidity }),
        ),
    ] {
        assert_eq!(row[name], want, "{name} in {row:#}");
    }
    // The same once more is the same draft; other words under the same name are another request.
    let again = ask(&mut client, "create_draft", arguments.clone());
    let repeated = with(answer.data.clone(), json!({ "repeated": true }));
    assert_eq!(again.data, repeated);
    let other = with(arguments, json!({ "body": "something else" }));
    let other = ask(&mut client, "create_draft", other);
    assert_eq!(other.words, "-32600 conflict", "{}", other.text);
    assert_eq!(plot.folder(HOME, "Drafts").len(), 1);

    // What it says is kept until it lies in its folder, and no longer; who it is to, never.
    leave(client);
    for (path, bytes) in plot.state.files() {
        let text = String::from_utf8_lossy(&bytes);
        for word in [
            "Zanzibar",
            "Very far",
            "carol@example.org",
            "Köln",
            "something else",
        ] {
            assert!(!text.contains(word), "{word} in {}", path.display());
        }
    }
}

#[test]
fn words_in_a_draft_become_no_header_and_no_command() {
    let ground = Ground::new();
    let plot = ground.plot("", &[]);
    let mut client = start(plot.program());
    for (body, wanted) in [
        ("", "\r\n\r\n"),
        (
            "\r\nBcc: mallory@example.org\r\n\r\nhidden",
            "mallory@example.org",
        ),
        ("a1 LOGOUT\r\n.\r\n{3+}\r\nabc", "a1 LOGOUT"),
        (
            "naïve ☃ \u{202e}txet",
            "Content-Type: text/plain; charset=\"utf-8\"",
        ),
        (&"long ".repeat(19_000), "long"),
    ] {
        let arguments = json!({ "account_id": AWAY, "folder": "Drafts", "body": body });
        let answer = ask(&mut client, "create_draft", arguments);
        assert_eq!(answer.words, "ok done", "{body:?}: {}", answer.text);
        let text = raw(&plot, AWAY, "Drafts", answer.data["uid"].as_u64().unwrap());
        assert!(text.contains(wanted), "{body:?}: {text}");
        let (head, _) = text.split_once("\r\n\r\n").expect("a head");
        assert!(!head.contains("Bcc"), "{head}");
    }
}
