//! Where the files of messages lie, what stands in them, and what is put back from beside them.

use mail::{FaultKind, MailSource as _, Section};
use testkit::apple::{ACCOUNT, Cases, Generation, INSIDE, Letter, Stored, rows};

use super::Reader;

fn reader(cases: &Cases) -> Reader {
    let which = match cases.store.generation() {
        Generation::Ancient => format!("anna@{ACCOUNT}@mail.example"),
        _ => ACCOUNT.to_owned(),
    };
    Reader::new(cases.store.root(), Some(&which))
}

#[tokio::test]
async fn files_are_found_by_their_number_and_no_other() {
    for generation in Generation::ALL {
        let cases = Cases::new(generation);
        let reader = reader(&cases);
        for row in rows::PLACED {
            let text = reader.text("INBOX", row).await;
            assert!(text.contains(&format!("<placed.{row}@x>")), "{row}");
            let file = reader
                .source
                .file(&reader.cx, &reader.at("INBOX", row).await)
                .await
                .unwrap()
                .unwrap();
            assert!(file.ends_with(format!("Messages/{row}.emlx")), "{file:?}");
            assert!(
                file.starts_with(cases.store.root()) && file.exists(),
                "{file:?}"
            );
        }
    }
}

#[tokio::test]
async fn a_file_in_another_place_of_its_mailbox_is_found_too() {
    let cases = Cases::new(Generation::Modern);
    let directory = cases.store.directory(cases.inbox);
    let from = directory.join("Data/2/1/Messages/12345.emlx");
    let to = directory.join("Data/7/Messages");
    std::fs::create_dir_all(&to).unwrap();
    std::fs::rename(from, to.join("12345.emlx")).unwrap();
    assert!(
        reader(&cases)
            .text("INBOX", 12_345)
            .await
            .contains("placed.12345@x")
    );
}

#[tokio::test]
async fn every_form_of_a_file_is_read_as_it_travelled() {
    let cases = Cases::new(Generation::Modern);
    let reader = reader(&cases);
    for (row, begin, end) in [
        (
            rows::XML_IN_BODY,
            "From: Anna",
            "<plist>no trailer</plist>\r\n",
        ),
        (rows::BARE_COUNT, "From: Anna", "This is bare@x.\r\n"),
        (rows::COUNT_TOO_BIG, "From: Anna", "<?xml in the text?>\r\n"),
        (rows::NO_TRAILER, "From: Anna", "This is bald@x.\r\n"),
        (rows::CRLF, "From: Anna", "This is crlf@x.\r\n"),
        (
            rows::HTML_ONLY,
            "From: Anna",
            "<p>Only <b>this</b>.</p>\r\n",
        ),
    ] {
        let text = reader.text("INBOX", row).await;
        assert!(
            text.starts_with(begin) && text.ends_with(end),
            "{row}: {text}"
        );
        let bare = text.replace("\r\n", "");
        assert!(!bare.contains(['\r', '\n']), "{row}");
        let summary = reader.list("INBOX").await.summaries;
        let summary = summary
            .iter()
            .find(|one| i64::from(one.uid.0) == row)
            .unwrap();
        assert_eq!(summary.size, Some(text.len() as u64), "{row}");
    }
    let latin = reader.raw("INBOX", rows::LATIN_9).await.unwrap().bytes;
    assert!(latin.ends_with(b"Gr\xfc\xdfe f\xfcr 5 \xa4\r\n"));
}

#[tokio::test]
async fn attachments_come_back_from_beside_the_message() {
    use base64::Engine as _;
    let cases = Cases::new(Generation::Modern);
    let reader = reader(&cases);
    let message = reader.message("INBOX", rows::PARTIAL).await.unwrap();
    let section = |text: &str| Section::parse(text).unwrap();
    let part = |text: &str| {
        let part = message
            .parts
            .iter()
            .find(|part| part.section == section(text));
        part.unwrap().bytes.clone()
    };
    assert_eq!(part("1"), &b"See below.\r\n"[..]);
    let encoded: Vec<u8> = part("2.2")
        .iter()
        .copied()
        .filter(|byte| !byte.is_ascii_whitespace())
        .collect();
    let decoded = base64::engine::general_purpose::STANDARD
        .decode(encoded)
        .unwrap();
    assert_eq!(decoded, INSIDE);
    assert_eq!(message.not_downloaded, [section("3")]);
    let away = message.structure.leaf(&section("3")).unwrap();
    assert_eq!(away.octets, 4_000);
    let text = reader.text("INBOX", rows::PARTIAL).await;
    assert!(!text.contains("X-Apple-Content-Length"), "{text}");
    assert_eq!(message.size, text.len() as u64);

    let message = reader.message("INBOX", rows::OTHER_NAME).await.unwrap();
    assert_eq!(message.parts[1].bytes, &b"iVBORw0KGgo="[..]);
    assert_eq!(message.not_downloaded, []);

    let message = reader.message("INBOX", rows::HEADER_ONLY).await.unwrap();
    assert_eq!(message.not_downloaded, [section("1")]);
}

#[tokio::test]
async fn not_downloaded_broken_and_not_there_are_three_answers() {
    for generation in [Generation::Modern, Generation::Older] {
        let cases = Cases::new(generation);
        let reader = reader(&cases);
        for (row, kind) in [
            (rows::MISSING, FaultKind::NotDownloaded),
            (rows::NO_EMLX, FaultKind::Unreadable),
            (777_777, FaultKind::NoSuchMessage),
        ] {
            assert_eq!(
                reader.raw("INBOX", row).await.err().unwrap().kind,
                kind,
                "{row}"
            );
            assert_eq!(
                reader.message("INBOX", row).await.err().unwrap().kind,
                kind,
                "{row}"
            );
        }
        let file = reader
            .source
            .file(&reader.cx, &reader.at("INBOX", rows::MISSING).await)
            .await;
        assert_eq!(file.unwrap_err().kind, FaultKind::NotDownloaded);
        let listed = reader.list("INBOX").await;
        let missing = listed
            .summaries
            .iter()
            .find(|one| i64::from(one.uid.0) == rows::MISSING);
        let envelope = content::summary_envelope(missing.unwrap()).unwrap();
        assert_eq!(envelope.subject.unwrap().bytes(), b"Missing");
        assert_eq!(
            envelope.from[0].host.as_ref().unwrap().bytes(),
            b"kettenwerk.example"
        );
        assert_eq!(envelope.to[0].mailbox.as_ref().unwrap().bytes(), b"ben");
        assert_eq!(
            envelope.date.unwrap().bytes(),
            b"Thu, 01 Jan 2026 00:00:00 +0000"
        );
        let id = envelope.message_id.map(|id| id.bytes().to_vec());
        let said = (generation == Generation::Modern).then(|| b"<missing@x>".to_vec());
        assert_eq!(id, said);
    }
}

#[tokio::test]
async fn what_is_looked_at_and_what_is_taken_in_pieces_is_the_same() {
    let cases = Cases::new(Generation::Modern);
    let reader = reader(&cases);
    let at = reader.at("INBOX", rows::PARTIAL).await;
    let raw = reader.raw("INBOX", rows::PARTIAL).await.unwrap();
    let (witness, shown) = reader
        .source
        .look(&reader.cx, &at, 100)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        (witness.size, shown),
        (Some(raw.size), raw.bytes.slice(..100))
    );
    assert_eq!(witness.digest.unwrap().octets, 100);
    let mut pieces = Vec::new();
    loop {
        let from = pieces.len() as u64;
        let piece = reader
            .source
            .octets(&reader.cx, &at, from, 61)
            .await
            .unwrap();
        if piece.is_empty() {
            break;
        }
        pieces.extend_from_slice(&piece);
    }
    assert_eq!(pieces, raw.bytes);
    let gone = reader.at("INBOX", 777_777).await;
    assert!(
        reader
            .source
            .look(&reader.cx, &gone, 1)
            .await
            .unwrap()
            .is_none()
    );
}

#[tokio::test]
async fn numbers_that_do_not_fit_are_no_messages() {
    let mut cases = Cases::new(Generation::Modern);
    let letter = Letter::new("Subject: x\n\nx\n").row(4_294_967_296 + 218);
    cases.store.message(cases.inbox, letter);
    let reader = reader(&cases);
    assert!(reader.text("INBOX", 218).await.contains("placed.218@x"));
    let rows = reader.rows("INBOX").await;
    assert_eq!(rows.iter().filter(|row| **row == 218).count(), 1);
}

#[tokio::test]
async fn attachment_without_size_is_reported_missing() {
    let mut cases = Cases::new(Generation::Modern);
    let text = "Content-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: text/plain\n\nhi\n--b\n\
                Content-Type: application/pdf; name=a.pdf\nContent-Disposition: attachment; filename=a.pdf\n\
                Content-Transfer-Encoding: base64\n\n\n--b\nContent-Type: text/plain\n\n\n--b--\n";
    let letter = Letter::new(text).row(803).stored(Stored::Partial);
    cases.store.message(cases.inbox, letter);
    let reader = reader(&cases);
    let message = reader.message("INBOX", 803).await.unwrap();
    let absent = Section::parse("2").unwrap();
    assert_eq!(message.not_downloaded, [absent]);
}

#[tokio::test]
async fn parts_of_old_stores_and_of_messages_in_messages_come_back_too() {
    let mut cases = Cases::new(Generation::Modern);
    let old = "Content-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: text/plain\n\nhi\n--b\n\
               Content-Type: image/png\nContent-Transfer-Encoding: base64\nX-Apple-Content-Length: 8\n\n\n--b--\n";
    let nested = "Content-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: text/plain\n\nhi\n--b\n\
                  Content-Type: message/rfc822\n\nSubject: inner\nContent-Type: multipart/mixed; boundary=c\n\n--c\n\
                  Content-Type: text/plain\n\nho\n--c\nContent-Type: text/plain\nContent-Transfer-Encoding: \
                  quoted-printable\nX-Apple-Content-Length: 20\n\n\n--c--\n\n--b--\n";
    let inbox = cases.inbox;
    let old = Letter::new(old).row(801).stored(Stored::Partial);
    cases.store.message(inbox, old);
    let nested = Letter::new(nested).row(802).stored(Stored::Partial);
    cases.store.message(
        inbox,
        nested.sidecar("2.2", "inner.txt", "Gr\u{fc}\u{df}e\n"),
    );
    let messages = cases.store.directory(inbox).join("Data/Messages");
    std::fs::write(messages.join("801.2.emlxpart"), "AAEC\nAwQF\n").unwrap();
    let reader = reader(&cases);
    let message = reader.message("INBOX", 801).await.unwrap();
    assert_eq!(message.parts[1].bytes, &b"AAEC\r\nAwQF\r\n"[..]);
    assert_eq!(message.not_downloaded, []);
    let text = reader.text("INBOX", 802).await;
    assert!(text.contains("Gr=C3=BC=C3=9Fe\r\n"), "{text}");
    assert!(!text.contains("X-Apple-Content-Length"), "{text}");
}
