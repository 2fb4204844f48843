//! Visibility levels, and the predicates of sender rules.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use testkit::Delivery;

use super::{Ground, Row, allowed, check_all, data, denied, invoice, letter};

/// A caller whose policy gives every message of the invoices this much.
fn at_level(ground: &Ground, level: &str) -> String {
    let id = format!("level-{}", level.to_lowercase());
    let folder = format!(
        "    - path: INBOX/Invoices\n      mode: whitelist\n      default: NONE\n      rules:\n        \
         - match: {{ from_domain: hornbach.de }}\n          grant: {level}\n"
    );
    ground.caller(&id, &folder);
    id
}

/// What a caller at this level may not do any more, and what it may.
fn between(ground: &Ground, level: &str, tool: &str, more: &str, below: &str, arguments: &Value) {
    let mut below_it = ground.stdio(&at_level(ground, below), &[]);
    let refused = below_it.call(tool, arguments.clone());
    assert_eq!(
        denied(&refused),
        format!("visibility_below_{level}"),
        "{tool}"
    );
    let mut at_it = ground.stdio(&at_level(ground, level), &[]);
    let shown = at_it.call(tool, arguments.clone());
    allowed(&shown);
    assert!(
        shown.structured.to_string().contains(more),
        "{}",
        shown.structured
    );
}

fn folder() -> Value {
    json!({ "account_id": "company-mail", "folder": super::FOLDER })
}

const LEVELS: &[Row<Ground>] = &[
    Row("NONE | Nothing (message is invisible)", |ground| {
        let mut client = ground.stdio(&at_level(ground, "FULL"), &[]);
        let hidden = client.call("fetch_envelope", invoice(3));
        assert_eq!(denied(&hidden), "message_not_visible");
        let absent = client.call("fetch_envelope", invoice(99));
        assert_eq!(denied(&absent), "message_not_visible");
    }),
    Row("COUNT | Message count only (folder_stats)", |ground| {
        let mut client = ground.stdio(&at_level(ground, "COUNT"), &[]);
        let stats = client.call("folder_stats", folder());
        allowed(&stats);
        assert_eq!(data(&stats, "/by_visibility/COUNT"), 1);
        assert_eq!(
            denied(&client.call("search", folder())),
            "visibility_below_METADATA"
        );
    }),
    Row("METADATA | UIDs, sizes, flags (search)", |ground| {
        between(
            ground,
            "METADATA",
            "search",
            "size_bytes",
            "COUNT",
            &folder(),
        );
    }),
    Row(
        "ENVELOPE | From, To, Subject, Date (fetch_envelope)",
        |ground| {
            between(
                ground,
                "ENVELOPE",
                "fetch_envelope",
                "Rechnung 7823",
                "METADATA",
                &invoice(1),
            );
        },
    ),
    Row(
        "HEADERS | Full RFC 5322 header block (fetch_headers)",
        |ground| {
            between(
                ground,
                "HEADERS",
                "fetch_headers",
                "X-Hornbach-Order",
                "ENVELOPE",
                &invoice(1),
            );
        },
    ),
    // The contract: the text is what a person sees; include_html adds sanitized HTML.
    Row("BODY | Plain-text and HTML bodies (fetch_body)", |ground| {
        let mut arguments = invoice(1);
        arguments["include_html"] = json!(true);
        between(
            ground,
            "BODY",
            "fetch_body",
            "<p>Sehr geehrte Damen und Herren</p>",
            "HEADERS",
            &arguments,
        );
        let mut client = ground.stdio(&at_level(ground, "BODY"), &[]);
        let body = client.call("fetch_body", arguments);
        let text = data(&body, "/body/text").as_str().unwrap();
        assert_eq!(text.trim(), "Sehr geehrte Damen und Herren");
        let html = data(&body, "/body/html").as_str().unwrap();
        assert!(!html.contains("script"), "{html}");
        assert_eq!(data(&body, "/redaction_reason"), "visibility_below_FULL");
        let plain = client.call("fetch_body", invoice(1));
        assert!(plain.structured.pointer("/data/body/html").is_none());
    }),
    Row(
        "FULL | Everything including attachments (fetch_attachment)",
        |ground| {
            let mut arguments = invoice(1);
            arguments["part_id"] = json!("2");
            between(
                ground,
                "FULL",
                "fetch_attachment",
                "JVBERi0xLjQgY2FuYXJ5",
                "BODY",
                &arguments,
            );
        },
    ),
];

/// Whether a rule of these predicates shows the message, on the day of its arrival.
fn shows(ground: &Ground, predicates: &str, raw: &[u8]) -> bool {
    shows_after(ground, 0, predicates, raw)
}

/// The same, so many days after its arrival.
fn shows_after(ground: &Ground, days: u64, predicates: &str, raw: &[u8]) -> bool {
    static FOLDERS: AtomicU32 = AtomicU32::new(0);
    let folder = format!("folder-{}", FOLDERS.fetch_add(1, Ordering::Relaxed));
    ground.server.create_folder("company-mail", &folder);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let arrived = now.as_secs() - days * 24 * 60 * 60;
    let delivery = Delivery::new(raw).at(arrived);
    ground
        .server
        .deliver_many("company-mail", &folder, [delivery]);
    let rule = format!(
        "    - path: {folder}\n      mode: whitelist\n      default: NONE\n      rules:\n        \
         - match: {{ {predicates} }}\n          grant: METADATA\n"
    );
    ground.caller("matcher", &rule);
    let mut client = ground.stdio("matcher", &[]);
    let found = client.call(
        "search",
        json!({ "account_id": "company-mail", "folder": folder }),
    );
    allowed(&found);
    data(&found, "/matched_visible") == 1
}

const PREDICATES: &[Row<Ground>] = &[
    Row("from | exact email | alice@example.com", |ground| {
        assert!(shows(
            ground,
            "from: alice@example.com",
            &letter("Alice <alice@example.com>", "a")
        ));
        assert!(!shows(
            ground,
            "from: alice@example.com",
            &letter("malice@example.com", "a")
        ));
    }),
    Row(
        "from_domain | domain (case-insensitive, trailing-dot tolerant) | hornbach.de",
        |ground| {
            assert!(shows(
                ground,
                "from_domain: hornbach.de",
                &letter("x@HORNBACH.de", "a")
            ));
            assert!(shows(
                ground,
                "from_domain: hornbach.de.",
                &letter("x@hornbach.de", "ab")
            ));
            assert!(!shows(
                ground,
                "from_domain: hornbach.de",
                &letter("x@hornbach.de.evil.example", "a")
            ));
            assert!(!shows(
                ground,
                "from_domain: hornbach.de",
                &letter("x@nothornbach.de", "a")
            ));
        },
    ),
    Row("to | exact email | billing@company.com", |ground| {
        assert!(shows(
            ground,
            "to: team@company.example",
            &letter("x@a.example", "a")
        ));
        assert!(!shows(
            ground,
            "to: am@company.example",
            &letter("x@a.example", "a")
        ));
    }),
    Row("to_contains | substring | team", |ground| {
        assert!(shows(
            ground,
            "to_contains: team",
            &letter("x@a.example", "a")
        ));
        assert!(!shows(
            ground,
            "to_contains: board",
            &letter("x@a.example", "a")
        ));
    }),
    Row(
        "subject_contains | substring (case-insensitive, NFC-normalized) | rechnung",
        |ground| {
            assert!(shows(
                ground,
                "subject_contains: rechnung",
                &letter("x@a.example", "Die RECHNUNG")
            ));
            let decomposed = "=?utf-8?Q?Gru=CC=88n?=";
            assert!(shows(
                ground,
                "subject_contains: gr\u{fc}n",
                &letter("x@a.example", decomposed)
            ));
        },
    ),
    Row("has_attachment | boolean | true", |ground| {
        assert!(shows(
            ground,
            "has_attachment: true",
            super::INVOICE.as_bytes()
        ));
        assert!(!shows(
            ground,
            "has_attachment: true",
            &letter("x@a.example", "a")
        ));
    }),
    Row(
        "newer_than | duration | 30d; older_than | duration | 90d",
        |ground| {
            for (days, predicate, shown) in [
                (1, "newer_than: 30d", true),
                (31, "newer_than: 30d", false),
                (1, "older_than: 90d", false),
                (91, "older_than: 90d", true),
            ] {
                let raw = letter("x@a.example", "aged");
                assert_eq!(shows_after(ground, days, predicate, &raw), shown, "{days}");
            }
        },
    ),
    Row(
        "size_gt | bytes | 10000; size_lt | bytes | 1500",
        |ground| {
            assert!(shows(
                ground,
                "size_lt: 1500",
                &letter("x@a.example", "small")
            ));
            assert!(!shows(
                ground,
                "size_gt: 10000",
                &letter("x@a.example", "smaller")
            ));
        },
    ),
    Row("Predicates within one rule are AND-combined", |ground| {
        let both = "from: a@a.example, subject_contains: invoice";
        assert!(shows(ground, both, &letter("a@a.example", "invoice")));
        assert!(!shows(ground, both, &letter("a@a.example", "lunch")));
        assert!(!shows(ground, both, &letter("bb@a.example", "invoice")));
    }),
    Row("multiple rules in a folder are OR-combined", |ground| {
        // The seed's own policy has two rules: one message of each sender, and one of neither.
        let mut client = ground.invoice_agent();
        let found = client.call("search", folder());
        allowed(&found);
        assert_eq!(data(&found, "/uids"), &json!([2, 1]));
    }),
    Row("blacklist (default>NONE, rules cap access)", |ground| {
        let folder = "    - path: INBOX/Invoices\n      mode: blacklist\n      default: ENVELOPE\n      rules:\n        \
                      - match: { from_domain: unrelated.example }\n          cap: NONE\n";
        ground.caller("capped", folder);
        let mut client = ground.stdio("capped", &[]);
        allowed(&client.call("fetch_envelope", invoice(1)));
        assert_eq!(
            denied(&client.call("fetch_envelope", invoice(3))),
            "message_not_visible"
        );
    }),
];

#[test]
fn each_level_exposes_what_the_table_says() {
    check_all(LEVELS, &mut Ground::new());
}

#[test]
fn each_predicate_matches_what_the_table_says() {
    check_all(PREDICATES, &mut Ground::new());
}
