//! Samples of real stores, when they lie beside the checkout.

use std::fs;

use mail::MailSource as _;
use testkit::apple::{ACCOUNT, AppleStore, Letter, Stored, samples};

use super::Reader;

#[tokio::test]
async fn the_schema_of_a_real_store_is_understood() {
    let Ok(schema) = fs::read_to_string(samples().join("envelope-index-v10.sql")) else {
        return;
    };
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("V10/MailData");
    fs::create_dir_all(&data).unwrap();
    let conn = rusqlite::Connection::open(data.join("Envelope Index")).unwrap();
    // SQLite's own tables are in the listing too.
    let statements = schema
        .split(";\n")
        .filter(|one| !one.contains("CREATE TABLE sqlite_"));
    conn.execute_batch(&(statements.collect::<Vec<_>>().join(";\n") + ";"))
        .unwrap();
    conn.execute_batch(&format!(
        "INSERT INTO mailboxes (ROWID, url) VALUES (1, 'imap://{ACCOUNT}/INBOX');
         INSERT INTO subjects (ROWID, subject) VALUES (1, 'Hello');
         INSERT INTO addresses (ROWID, address, comment) VALUES (1, 'a@x', 'Anna');
         INSERT INTO message_global_data (ROWID, message_id, message_id_header) VALUES (1, 77, '<a@x>');
         INSERT INTO messages (ROWID, message_id, global_message_id, sender, subject, date_sent, date_received, mailbox)
         VALUES (9, 77, 1, 1, 1, 1767225600, 1767225600, 1)"
    ))
    .unwrap();
    drop(conn);
    let reader = Reader::new(home.path().to_owned(), None);
    reader.source.verify(&reader.cx).await.unwrap();
    let found = reader.locate(&["a@x"]).await;
    assert_eq!(found.members.len(), 1);
    assert_eq!(
        content::summary_envelope(&found.members[0].summary)
            .unwrap()
            .subject
            .as_ref()
            .unwrap()
            .bytes(),
        b"Hello"
    );
}

#[tokio::test]
async fn real_partial_messages_become_whole() {
    let input = samples().join("partial-emlx/input");
    let Ok(messages) = fs::read_dir(input.join("Messages")) else {
        return;
    };
    let mut store = AppleStore::new();
    let inbox = store.folder("INBOX");
    let mut rows = Vec::new();
    for entry in messages {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let row: i64 = name.split('.').next().unwrap().parse().unwrap();
        store.message(inbox, Letter::new("").row(row).stored(Stored::Nothing));
        let mut shelf = store.directory(inbox).join("Data");
        for digit in (row / 1_000).to_string().chars().rev() {
            shelf.push(digit.to_string());
        }
        fs::create_dir_all(shelf.join("Messages")).unwrap();
        fs::copy(
            input.join("Messages").join(&name),
            shelf.join("Messages").join(&name),
        )
        .unwrap();
        let beside = input.join(format!("Attachments/{row}"));
        for part in fs::read_dir(&beside).into_iter().flatten() {
            let part = part.unwrap();
            let to = shelf
                .join(format!("Attachments/{row}"))
                .join(part.file_name());
            fs::create_dir_all(&to).unwrap();
            for file in fs::read_dir(part.path()).unwrap() {
                let file = file.unwrap();
                fs::copy(file.path(), to.join(file.file_name())).unwrap();
            }
        }
        rows.push((row, beside.exists()));
    }
    let reader = Reader::new(store.root(), Some(ACCOUNT));
    for (row, has_attachments) in rows {
        let message = reader.message("INBOX", row).await.unwrap();
        let text = reader.text("INBOX", row).await;
        if has_attachments {
            assert!(!text.contains("X-Apple-Content-Length"), "{row}");
            assert_eq!(message.not_downloaded, [], "{row}");
        }
        let expected = samples().join(format!("partial-emlx/expected_results/{row}.eml"));
        let Ok(expected) = fs::read(expected) else {
            continue;
        };
        // Headers of parts may stand in another order there; what is in the parts may not differ.
        let theirs = content_of(&expected);
        let ours = content_of(text.as_bytes());
        assert_eq!(ours.len(), theirs.len(), "{row}");
        for (number, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
            assert!(ours == theirs, "{row}, part {number} of type {}", ours.0);
        }
    }
}

/// Each part's type and what it decodes to.
fn content_of(raw: &[u8]) -> Vec<(String, Vec<u8>)> {
    use base64::Engine as _;
    let outline = content::outline(raw);
    let leaves = outline.structure.leaves.iter().map(|leaf| {
        let (bytes, _) = outline.part(&leaf.section).unwrap();
        // Lines may end elsewhere.
        let text = String::from_utf8_lossy(bytes)
            .replace("=\r\n", "")
            .replace("=\n", "");
        let bare: Vec<u8> = text
            .bytes()
            .filter(|byte| !byte.is_ascii_whitespace())
            .collect();
        let decoded = match leaf.encoding.as_str() {
            "base64" => {
                let bytes = bytes
                    .iter()
                    .copied()
                    .filter(|byte| !byte.is_ascii_whitespace());
                let bytes: Vec<u8> = bytes.collect();
                base64::engine::general_purpose::STANDARD
                    .decode(bytes)
                    .unwrap()
            }
            _ => bare,
        };
        (leaf.mime_type.clone(), decoded)
    });
    leaves.collect()
}
