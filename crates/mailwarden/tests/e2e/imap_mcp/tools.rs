//! The seventeen tools, what each of them asks for, and those that are deliberately absent.

use serde_json::{Value, json};

use super::{
    ARCHIVE, FOLDER, Ground, Row, allowed, check_all, data, denied, invoice, letter, listed,
};

/// A policy that allows everything that a policy can allow, at both accounts.
const EVERYTHING: &str = "    - { path: INBOX, mode: blacklist, default: FULL, mark_seen: true, mark_tagged: true, \
    move_out: true, accept_incoming: true, draft_append: true }\n  gmail-invoices:\n    \
    - { path: INBOX, mode: blacklist, default: FULL }\n";

const READ: [(&str, &str); 9] = [
    ("list_accounts", "NONE"),
    ("list_folders", "COUNT"),
    ("list_labels", "COUNT"),
    ("folder_stats", "COUNT"),
    ("search", "METADATA"),
    ("fetch_envelope", "ENVELOPE"),
    ("fetch_headers", "HEADERS"),
    ("fetch_body", "BODY"),
    ("fetch_attachment", "FULL"),
];

const WRITE: [(&str, &[&str]); 5] = [
    ("mark_seen", &["mark_seen"]),
    ("mark_tagged", &["mark_tagged"]),
    ("move", &["move_out", "accept_incoming"]),
    ("copy", &["accept_incoming"]),
    ("create_draft", &["draft_append"]),
];

const META: [&str; 3] = [
    "describe_policy",
    "get_caller_identity",
    "get_transaction_status",
];

const ROWS: &[Row<Ground>] = &[
    Row(
        "Seventeen tools, each gated on exactly one visibility level or one capability.",
        |ground| {
            ground.caller("everything", EVERYTHING);
            let mut client = ground.stdio("everything", &[]);
            let mut tools = listed(&mut client);
            tools.sort();
            let read = READ.iter().map(|(name, _)| *name);
            let write = WRITE.iter().map(|(name, _)| *name);
            let mut want: Vec<&str> = read.chain(write).chain(META).collect();
            want.sort_unstable();
            assert_eq!(tools, want);
        },
    ),
    // The contract: listed are the tools that a policy could ever allow; the others are denied.
    Row("Read tools (9) | Tool | Min visibility", |ground| {
        let levels = ["NONE", "COUNT", "METADATA", "ENVELOPE", "HEADERS", "BODY"];
        for level in levels {
            let id = format!("reader-{}", level.to_lowercase());
            let mode = if level == "NONE" {
                "whitelist"
            } else {
                "blacklist"
            };
            let folder = format!("    - {{ path: INBOX, mode: {mode}, default: {level} }}\n");
            ground.caller(&id, &folder);
            let mut client = ground.stdio(&id, &[]);
            let tools = listed(&mut client);
            let rank = |one: &str| levels.iter().position(|level| *level == one).unwrap_or(6);
            for (tool, least) in READ.into_iter().filter(|(tool, _)| *tool != "list_labels") {
                let open = rank(least) <= rank(level);
                assert_eq!(tools.contains(&tool.to_owned()), open, "{tool} at {level}");
                if !open {
                    let refused = client.call(tool, json!({}));
                    assert_eq!(
                        denied(&refused),
                        format!("visibility_below_{least}"),
                        "{tool}"
                    );
                }
            }
        }
    }),
    Row("Write tools (5) | Tool | Required capability", |ground| {
        for (tool, needed) in WRITE {
            for missing in needed {
                let given = needed.iter().filter(|one| one != &missing);
                let given: Vec<String> = given.map(|one| format!(", {one}: true")).collect();
                let folder = format!(
                    "    - {{ path: INBOX, mode: blacklist, default: FULL{} }}\n",
                    given.concat()
                );
                ground.caller("writer", &folder);
                let mut client = ground.stdio("writer", &[]);
                assert!(!listed(&mut client).contains(&tool.to_owned()), "{tool}");
                assert_eq!(
                    denied(&client.call(tool, json!({}))),
                    "capability_missing",
                    "{tool}"
                );
            }
        }
    }),
    Row(
        "list_accounts | — | List visible accounts + hidden_accounts_count",
        |ground| {
            let mut client = ground.stdio("overview-bot", &[]);
            let shown = client.call("list_accounts", json!({}));
            allowed(&shown);
            assert_eq!(data(&shown, "/hidden_accounts_count"), 1);
            assert!(!shown.structured.to_string().contains("gmail-invoices"));
        },
    ),
    Row(
        "list_folders | COUNT | List visible folders + hidden_folders_count",
        |ground| {
            let mut client = ground.invoice_agent();
            let shown = client.call("list_folders", json!({ "account_id": "company-mail" }));
            allowed(&shown);
            assert!(data(&shown, "/hidden_folders_count").as_u64().unwrap() >= 2);
            assert!(!shown.structured.to_string().contains("Banking"));
        },
    ),
    Row(
        "search | METADATA | Search with matched_total / matched_visible / filtered_out",
        |ground| {
            let mut client = ground.invoice_agent();
            let folder = json!({ "account_id": "company-mail", "folder": FOLDER });
            let found = client.call("search", folder);
            allowed(&found);
            let counts = [
                "/matched_total",
                "/matched_visible",
                "/filtered_out",
                "/hidden_count",
            ];
            let counts = counts.map(|name| data(&found, name).as_u64().unwrap());
            assert_eq!(counts, [3, 2, 1, 1]);
            assert_eq!(data(&found, "/uids"), &json!([2, 1]));
        },
    ),
    Row(
        "fetch_envelope | ENVELOPE | From, To, Subject, Date + redaction metadata",
        |ground| {
            let mut client = ground.stdio("overview-bot", &[]);
            let mut at = invoice(1);
            at["folder"] = json!("INBOX");
            let shown = client.call("fetch_envelope", at);
            allowed(&shown);
            assert_eq!(data(&shown, "/visibility_applied"), "ENVELOPE");
            assert_eq!(
                data(&shown, "/redacted_fields"),
                &json!(["headers", "body", "attachments"])
            );
            assert_eq!(
                data(&shown, "/redaction_reason"),
                "visibility_below_HEADERS"
            );
        },
    ),
    Row("mark_seen | Toggle \\Seen flag", |ground| {
        let mut client = ground.invoice_agent();
        for (seen, flags) in [(true, json!(["\\Seen"])), (false, json!([]))] {
            let mut at = invoice(2);
            at["seen"] = json!(seen);
            let marked = client.call("mark_seen", at);
            allowed(&marked);
            assert_eq!(data(&marked, "/flags"), &flags);
        }
        let mut tag = invoice(2);
        tag["tags"] = json!(["$Done"]);
        assert_eq!(
            denied(&client.call("mark_tagged", tag)),
            "capability_missing"
        );
    }),
    Row("mark_tagged | Can set keywords and \\Flagged", |ground| {
        ground.caller("everything", EVERYTHING);
        let mut client = ground.stdio("everything", &[]);
        let tag = |tags: Value| json!({ "account_id": "company-mail", "folder": "INBOX", "uid": 1, "tags": tags });
        let marked = client.call("mark_tagged", tag(json!(["$Done", "\\Flagged"])));
        allowed(&marked);
        let refused = client.call("mark_tagged", tag(json!(["\\Deleted"])));
        assert_eq!(denied(&refused), "forbidden_system_flag");
    }),
    Row(
        "move | move_out + accept_incoming | Move message (intra-account: native MOVE)",
        |ground| {
            let raw = letter("rechnung@hornbach.de", "to-be-moved");
            ground.server.deliver("company-mail", FOLDER, &raw);
            let mut client = ground.invoice_agent();
            let mut at = invoice(4);
            at["target_folder"] = json!("Banking");
            assert_eq!(denied(&client.call("move", at.clone())), "folder_hidden");
            at["target_folder"] = json!(ARCHIVE);
            let moved = client.call("move", at);
            allowed(&moved);
            assert_eq!(data(&moved, "/transaction_state"), "done");
            let status = client.call(
                "get_transaction_status",
                json!({ "transaction_id": data(&moved, "/transaction_id") }),
            );
            allowed(&status);
            assert_eq!(data(&status, "/transaction_state"), "done");
            let mut imap = ground.server.login("company-mail", "secret");
            let archive = imap
                .command(&format!("STATUS \"{ARCHIVE}\" (MESSAGES)"))
                .text();
            assert!(archive.contains("MESSAGES 1"), "{archive}");
        },
    ),
    Row(
        "copy | accept_incoming | Copy message to target folder",
        |ground| {
            let mut client = ground.invoice_agent();
            let mut at = invoice(1);
            at["target_folder"] = json!(ARCHIVE);
            allowed(&client.call("copy", at));
            allowed(&client.call("fetch_envelope", invoice(1)));
        },
    ),
    Row(
        "create_draft | draft_append | Append RFC 5322 draft",
        |ground| {
            let mut client = ground.stdio("overview-bot", &[]);
            let rfc822 = "From: bot@company.example\nTo: buchhaltung@company.example\n\
                      Subject: Rechnung Entwurf\nContent-Type: text/plain; charset=UTF-8\n\n\
                      Gr\u{fc}\u{df}e.\n";
            let draft =
                json!({ "account_id": "company-mail", "folder": "Drafts", "rfc822": rfc822 });
            allowed(&client.call("create_draft", draft));
            let mut imap = ground.server.login("company-mail", "secret");
            imap.command("EXAMINE Drafts");
            let stored = imap.command("FETCH * BODY.PEEK[]").text();
            assert!(stored.contains("Subject: Rechnung Entwurf\r\n"), "{stored}");
            assert!(stored.contains("\r\n\r\nGr"), "{stored}");
            assert!(
                stored.contains("\r\nMessage-ID: <") || stored.contains("Date: "),
                "{stored}"
            );
        },
    ),
    Row(
        "describe_policy | Caller's own policy profile (accounts, folders, capabilities, hidden counts). Never reveals rule patterns or other callers.",
        |ground| {
            let mut client = ground.invoice_agent();
            let shown = client.call("describe_policy", json!({}));
            allowed(&shown);
            assert_eq!(data(&shown, "/caller_id"), "invoice-agent");
            let version = data(&shown, "/tool_set_version").as_str().unwrap();
            assert!(
                version.split('.').all(|part| part.parse::<u32>().is_ok()),
                "{version}"
            );
            let folder = data(&shown, "/accounts/0/folders/0");
            for (name, value) in [
                ("path", json!("INBOX/Invoices")),
                ("mode", json!("whitelist")),
                ("default_visibility", json!("NONE")),
                ("max_visibility", json!("FULL")),
                ("rules_count", json!(2)),
                ("capabilities", json!(["mark_seen", "move_out"])),
            ] {
                assert_eq!(folder[name], value, "{name}");
            }
            assert!(
                data(&shown, "/accounts/0/hidden_folders_count")
                    .as_u64()
                    .unwrap()
                    >= 2
            );
            assert_eq!(data(&shown, "/hidden_accounts_count"), 0);
            let all = format!("{}{}", shown.text, shown.structured);
            for word in ["hornbach", "amazon", "Banking", "overview"] {
                assert!(!all.contains(word), "{word}: {all}");
            }
        },
    ),
    Row(
        "get_caller_identity | Resolved caller_id for the current session",
        |ground| {
            let mut client = ground.invoice_agent();
            let me = client.call("get_caller_identity", json!({}));
            allowed(&me);
            assert_eq!(data(&me, "/caller_id"), "invoice-agent");
        },
    ),
    Row(
        "Deliberately absent: delete, expunge, raw_imap_command, fetch_raw_rfc822, cross-account search, folder CRUD, policy reload via MCP.",
        |ground| {
            ground.caller("everything", EVERYTHING);
            let mut client = ground.stdio("everything", &[]);
            for tool in [
                "delete",
                "expunge",
                "raw_imap_command",
                "fetch_raw_rfc822",
                "search_across_accounts",
                "create_folder",
                "rename_folder",
                "delete_folder",
                "reload_policy",
                "subscribe_to_new_mail",
            ] {
                let refused =
                    client.request("tools/call", json!({ "name": tool, "arguments": {} }));
                assert!(
                    refused.unwrap_err().message.contains("unknown tool"),
                    "{tool}"
                );
            }
            let records = ground.records();
            let unknown = records.iter().filter(|one| one["reason"] == "unknown_tool");
            assert_eq!(unknown.count(), 10);
        },
    ),
    Row(
        "Deliberately absent: MCP resource subscriptions, and raw sources",
        |ground| {
            let mut client = ground.stdio("everything", &[]);
            let uri = "imap://company-mail/mailbox/INBOX/message/1/1";
            let refused = client.request("resources/subscribe", json!({ "uri": uri }));
            assert!(refused.is_err(), "{refused:?}");
            let validity = {
                let mut imap = ground.server.login("company-mail", "secret");
                let reply = imap.command("EXAMINE INBOX").text();
                let (_, after) = reply.split_once("UIDVALIDITY ").unwrap();
                after.split(']').next().unwrap().to_owned()
            };
            let uri = format!("imap://company-mail/mailbox/INBOX/message/{validity}/1");
            let message = client.request("resources/read", json!({ "uri": uri }));
            assert!(message.is_ok(), "{message:?}");
            let source = client.request("resources/read", json!({ "uri": format!("{uri}/raw") }));
            assert_eq!(source.unwrap_err().data["code"], "not_found");
        },
    ),
];

#[test]
fn the_tools_are_the_seventeen_of_the_tables() {
    check_all(ROWS, &mut Ground::new());
}
