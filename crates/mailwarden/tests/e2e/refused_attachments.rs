//! Attachments whose text cannot be had: each is named with its reason, and costs nothing but its own text.

use serde_json::{Value, json};

use crate::documents::{self, Attached};
use crate::support::{Look, with};

const DOCX: &str = "application/vnd.openxmlformats-officedocument.wordprocessingml.document";
const XLSX: &str = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";

const DAMAGED: &str = "it is damaged or not what it claims to be";
const LOCKED: &str = "it is protected by a password";
const BOMB: &str = "it holds more than can be unpacked safely";

/// Each with the reason that must be given.
fn attacks() -> Vec<(Attached, &'static str)> {
    let pdf = |name, bytes: Vec<u8>| Attached::new("application/pdf", name, bytes);
    let whole = documents::pdf(&[&["x"]]);
    vec![
        (
            pdf("nothing.pdf", b"%PDF-1.7\nnothing else".to_vec()),
            DAMAGED,
        ),
        (pdf("half.pdf", whole[..60].to_vec()), DAMAGED),
        (
            pdf("arrays.pdf", documents::pdf_of_nested_arrays()),
            DAMAGED,
        ),
        (pdf("bomb.pdf", documents::pdf_bomb()), BOMB),
        (pdf("locked.pdf", documents::locked_pdf()), LOCKED),
        (
            Attached::new(
                DOCX,
                "bomb.docx",
                documents::office_bomb("word/document.xml"),
            ),
            BOMB,
        ),
        (
            Attached::new(XLSX, "bomb.xlsx", documents::office_bomb("xl/workbook.xml")),
            BOMB,
        ),
        (
            Attached::new(DOCX, "deep.docx", documents::docx(&"<w:x>".repeat(100_000))),
            DAMAGED,
        ),
        (
            pdf(
                "program.pdf",
                b"MZ\x90\0\x03\0\0\0\x04\0\0\0\xff\xff\0\0\xb8\0\0\0\0\0\0\0".to_vec(),
            ),
            "it is of a kind that is not read",
        ),
        (pdf("large.pdf", large()), "it is larger than 5 MB"),
    ]
}

/// 6 MB that begin like a PDF.
fn large() -> Vec<u8> {
    let mut bytes = b"%PDF-1.7\n".to_vec();
    bytes.resize(6 << 20, b'x');
    bytes
}

#[test]
fn every_attack_costs_its_own_text_and_nothing_else() {
    let attacks = attacks();
    let honest = Attached::new("application/rtf", "honest.rtf", r"{\rtf1 still here}");
    let quote = documents::pdf(&[&["Quote for chains"]]);
    // Before, between and behind them.
    let mut attached = vec![honest.clone()];
    for (attack, _) in &attacks {
        attached.push(attack.clone());
        attached.push(Attached::new("application/pdf", "quote.pdf", quote.clone()));
    }
    attached.push(honest);
    let (_server, mut client, id) = with(&documents::mail("See the papers.", &attached));
    // Twice: what the first call met is no harm to the second.
    for _ in 0..2 {
        let read = client.call(
            "imap_get_message",
            json!({ "message_id": id, "extract_attachment_text": true }),
        );
        assert_eq!(read.data("/status"), "partial");
        assert_eq!(read.text("/message/body_text"), "See the papers.");
        let shown = read.data("/message/attachments");
        let shown = shown.as_array().unwrap();
        let issues = read.data("/issues");
        let issues = issues.as_array().unwrap();
        assert_eq!(issues.len(), attacks.len(), "{issues:#?}");
        for one in shown {
            let name = one["filename"].as_str().unwrap();
            let text = one.get("extracted_text").and_then(Value::as_str);
            match attacks.iter().find(|(attack, _)| attack.name == name) {
                Some((_, why)) => {
                    let part = one["part_id"].as_str().unwrap();
                    let wanted = format!("no text was extracted from attachment {part}: {why}");
                    assert_eq!(text, None, "{name}");
                    assert!(
                        issues
                            .iter()
                            .any(|issue| issue["message"] == wanted.as_str()),
                        "{name}: {wanted} in {issues:#?}"
                    );
                }
                None if name == "honest.rtf" => assert_eq!(text, Some("still here")),
                None => assert_eq!(text, Some("Quote for chains")),
            }
        }
        let program = shown
            .iter()
            .find(|one| one["filename"] == "program.pdf")
            .unwrap();
        assert_eq!(
            program["detected_type"],
            "application/vnd.microsoft.portable-executable"
        );
        assert!(
            read.warnings().contains(
                "portable-executable, which is not what it claims to be: \"application/pdf\""
            ),
            "{}",
            read.warnings()
        );
    }
    let plain = client.call("imap_get_message", json!({ "message_id": id }));
    assert_eq!(plain.data("/status"), "ok");
}

/// A password keeps the contents of an archive, not its names.
#[test]
fn of_a_locked_archive_the_names_are_told() {
    let locked = Attached::new("application/zip", "locked.zip", documents::locked_zip());
    let (_server, mut client, id) = with(&documents::mail("See the papers.", &[locked]));
    let read = client.call(
        "imap_get_message",
        json!({ "message_id": id, "extract_attachment_text": true }),
    );
    assert_eq!(read.data("/status"), "ok");
    let text = read.text("/message/attachments/0/extracted_text");
    assert!(text.contains("secret.txt (5 bytes), encrypted"), "{text}");
}
