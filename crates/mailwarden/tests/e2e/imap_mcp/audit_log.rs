//! The audit log: its files, the fields of each record, and what never stands in it.
//!
//! That old days are packed and deleted takes months; the tests of the `audit` crate cover it.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;

use super::{FOLDER, Ground, Row, TOKEN, check_all, denied, invoice};

const ROWS: &[Row<Ground>] = &[
    Row(
        "Append-only JSONL with SHA-256 hash chain, one file per UTC day.",
        |ground| {
            let mut client = ground.invoice_agent();
            for (tool, arguments) in [
                (
                    "search",
                    json!({ "account": "company-mail", "folder": FOLDER, "criteria": { "subject_contains": "Rechnung" } }),
                ),
                ("fetch_body", invoice(1)),
                ("fetch_body", invoice(3)),
                (
                    "fetch_attachment",
                    json!({ "account": "company-mail", "folder": FOLDER, "uid": 1, "part_id": "invoice.pdf" }),
                ),
                ("mark_seen", invoice(1)),
            ] {
                client.call(tool, arguments);
            }
            let days = audit::days(&ground.dir.path().join("log/audit")).unwrap();
            for day in &days {
                let name = day.path.file_name().unwrap().to_str().unwrap();
                assert!(
                    name.len() == "2026-05-06.jsonl".len() && name.ends_with(".jsonl"),
                    "{name}"
                );
                assert_eq!(name.matches('-').count(), 2, "{name}");
            }
            let verified = audit::read::verify(
                &ground.dir.path().join("log/audit"),
                &audit::read::Verify::default(),
                &mut |_, _| {},
            );
            assert_eq!(verified.unwrap().fault, None);
            let records = ground.records();
            for (before, after) in records.iter().zip(records.iter().skip(1)) {
                assert_eq!(after["seq"], before["seq"].as_u64().unwrap() + 1);
            }
        },
    ),
    Row("2026-05-06.jsonl # hot (plain, mode 0600)", |ground| {
        for day in audit::days(&ground.dir.path().join("log/audit")).unwrap() {
            let mode = std::fs::metadata(day.path).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
    }),
    Row(
        "Each record contains: ts, seq, prev_hash, tool, caller_id, decision (ALLOW/DENY), reason, result, and tool-specific fields.",
        |ground| {
            let records = ground.records();
            let calls = records.iter().filter(|one| one["event"] == "call");
            let calls: Vec<_> = calls.collect();
            assert!(calls.len() >= 4, "{records:?}");
            for call in calls {
                for field in [
                    "ts",
                    "seq",
                    "prev_hash",
                    "tool",
                    "caller_id",
                    "decision",
                    "reason",
                    "result",
                ] {
                    assert!(call.get(field).is_some(), "{field}: {call}");
                }
                assert_eq!(call["caller_id"], "invoice-agent");
                assert!(["ALLOW", "DENY"].contains(&call["decision"].as_str().unwrap()));
            }
        },
    ),
    Row(
        "Strict no-content-leak rule: no message bodies, subjects, attachment filenames, OAuth tokens, or cleartext sender addresses in DENY records.",
        |ground| {
            let mut client = ground.invoice_agent();
            assert_eq!(
                denied(&client.call("fetch_envelope", invoice(3))),
                "message_not_visible"
            );
            let log: String = ground.records().iter().map(ToString::to_string).collect();
            for word in [
                "Sehr geehrte",
                "Rechnung",
                "zanzibar",
                "invoice.pdf",
                TOKEN,
                "secret\"",
                "hornbach",
                "unrelated.example",
            ] {
                assert!(!log.contains(word), "{word}: {log}");
            }
            assert!(log.contains("sender_not_whitelisted"), "{log}");
        },
    ),
];

#[test]
fn the_audit_log_is_as_described() {
    check_all(ROWS, &mut Ground::new());
}
