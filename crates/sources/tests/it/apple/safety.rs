//! Nothing outside the store is ever opened, whatever stands in its database, its names, or in what is asked.

use std::fs;
use std::os::unix::fs::symlink;

use mail::{FaultKind, HeaderId, MailSource as _};
use testkit::apple::{ACCOUNT, AppleStore, Letter, Stored};

use super::{Reader, id};

const CANARY: &str = "Message-ID: <canary@x>\n\nthe canary sings\n";

fn canary() -> Vec<u8> {
    testkit::apple::emlx(
        CANARY.as_bytes(),
        testkit::apple::Count::Padded,
        testkit::apple::Trailer::There,
    )
}

#[tokio::test]
async fn urls_that_lead_out_are_no_folders() {
    let mut store = AppleStore::new();
    let inbox = store.folder("INBOX");
    store.message(inbox, Letter::new("Subject: x\n\nx\n").row(1));
    let outside = store.root().parent().unwrap().join("outside.mbox/Messages");
    fs::create_dir_all(&outside).unwrap();
    for (number, path) in [
        "%2e%2e/%2E%2E/%2e%2e/outside",
        "../../../outside",
        "..%2F..%2F..%2Foutside",
        "a%00b",
        "/outside",
        ".",
        "",
    ]
    .iter()
    .enumerate()
    {
        let row = 100 + i64::try_from(number).unwrap();
        fs::write(outside.join(format!("{row}.emlx")), canary()).unwrap();
        store.sql(&format!(
            "INSERT INTO mailboxes (ROWID, url) VALUES ({row}, 'imap://{ACCOUNT}/{path}');
             INSERT INTO messages (ROWID, global_message_id, subject, mailbox, date_received) VALUES ({row}, 1, 1, {row}, 1)"
        ));
    }
    let reader = Reader::new(store.root(), Some(ACCOUNT));
    let folders = reader.source.folders(&reader.cx).await.unwrap();
    assert_eq!((folders.folders.len(), folders.unusable), (1, 7));
    for name in ["../../../outside", "..", "/outside", "."] {
        let fault = reader.raw(name, 100).await.err().unwrap();
        assert_eq!(fault.kind, FaultKind::NoSuchFolder, "{name}");
    }
    assert!(reader.locate(&["canary@x"]).await.members.is_empty());
}

#[tokio::test]
async fn links_inside_the_store_are_not_followed() {
    let mut store = AppleStore::new();
    let (inbox, linked) = (store.folder("INBOX"), store.folder("Linked"));
    for row in [1, 2, 3] {
        let letter = Letter::new(format!("Message-ID: <{row}@x>\nX: y\n\nx\n")).row(row);
        store.message(inbox, letter.stored(Stored::Nothing));
    }
    let partial = Letter::new(
        "Content-Type: application/pdf\nContent-Transfer-Encoding: base64\nX-Apple-Content-Length: 40\n\n",
    );
    store.message(inbox, partial.row(4).stored(Stored::Partial));
    store.message(
        linked,
        Letter::new("Subject: x\n\nx\n")
            .row(5)
            .stored(Stored::Nothing),
    );
    let outside = tempfile::tempdir().unwrap();
    let secret = outside.path().join("1.emlx");
    for row in 1..=5 {
        fs::write(outside.path().join(format!("{row}.emlx")), canary()).unwrap();
    }
    let data = store.directory(inbox).join("Data");
    fs::create_dir_all(data.join("Messages")).unwrap();
    // A message, a directory of messages, an attachment, and a whole mailbox.
    symlink(&secret, data.join("Messages/1.emlx")).unwrap();
    symlink(outside.path(), data.join("Messages/Messages")).unwrap();
    fs::create_dir_all(data.join("Attachments/4/1")).unwrap();
    symlink(&secret, data.join("Attachments/4/1/file.pdf")).unwrap();
    let mailbox = store.directory(linked);
    fs::remove_dir_all(mailbox.parent().unwrap()).unwrap();
    fs::create_dir_all(outside.path().join("Messages")).unwrap();
    fs::write(outside.path().join("Messages/5.emlx"), canary()).unwrap();
    symlink(outside.path(), mailbox.parent().unwrap()).unwrap();
    // A pipe would have a reader wait for ever.
    rustix::fs::mkfifoat(
        rustix::fs::CWD,
        data.join("Messages/2.emlx"),
        rustix::fs::Mode::RUSR,
    )
    .unwrap();

    let reader = Reader::new(store.root(), Some(ACCOUNT));
    for (folder, row) in [("INBOX", 1), ("INBOX", 2), ("INBOX", 3), ("Linked", 5)] {
        let fault = reader.raw(folder, row).await.err().unwrap();
        assert_eq!(fault.kind, FaultKind::NotDownloaded, "{folder} {row}");
        let file = reader
            .source
            .file(&reader.cx, &reader.at(folder, row).await)
            .await;
        assert!(file.is_err(), "{folder} {row}");
    }
    let message = reader.message("INBOX", 4).await.unwrap();
    assert_eq!(message.not_downloaded.len(), 1);
    assert!(message.parts.iter().all(|part| part.bytes.is_empty()));
}

#[tokio::test]
async fn a_database_that_is_a_link_is_none() {
    let store = AppleStore::new();
    let other = AppleStore::new();
    let data = other.version().join("MailData");
    let moved = other.root().parent().unwrap().join("Moved");
    fs::rename(&data, &moved).unwrap();
    symlink(store.version().join("MailData"), &data).unwrap();
    let reader = Reader::new(other.root(), None);
    let fault = reader.source.verify(&reader.cx).await.unwrap_err();
    assert_eq!(fault.kind, FaultKind::NoStore);
}

#[tokio::test]
async fn ids_are_words_and_never_paths() {
    let mut store = AppleStore::new();
    let inbox = store.folder("INBOX");
    for (row, id) in ["../../../etc/passwd", "%2e%2e%2f", "a' OR 1=1 --", "*", "%"]
        .iter()
        .enumerate()
    {
        let letter = Letter::new(format!("Message-ID: <{id}>\n\nx\n"));
        store.message(inbox, letter.row(i64::try_from(row).unwrap() + 1));
    }
    let state = tempfile::tempdir().unwrap();
    let reader = Reader::keeping(store.root(), Some(ACCOUNT), Some(state.path().to_owned()));
    for asked in ["../../../etc/passwd", "%2e%2e%2f", "*", "%"] {
        assert_eq!(reader.locate(&[asked]).await.members.len(), 1, "{asked}");
    }
    let longest = "x".repeat(HeaderId::MOST);
    for asked in ["/etc/passwd", "..", "' OR 1=1 --", "_", &longest] {
        assert!(reader.locate(&[asked]).await.members.is_empty(), "{asked}");
        assert!(reader.kindred(&[asked]).await.members.is_empty(), "{asked}");
    }
    assert_eq!(id("..").bytes(), b"..");
    assert!(HeaderId::new(&[b'x'; 10_000]).is_none() && HeaderId::new(b"a\0b").is_none());
    assert_eq!(fs::read_dir(state.path()).unwrap().count(), 1);
}

#[tokio::test]
async fn what_lies_beside_a_copy_of_the_store_is_not_looked_at() {
    let mut store = AppleStore::new();
    store.folder("INBOX");
    store.account(ACCOUNT, Some("Canary"), None, None);
    let reader = Reader::new(store.root(), None);
    assert_eq!(reader.names().await, ["Canary/INBOX"]);
    store.quit();
    let library = store.root().parent().unwrap().to_owned();
    let elsewhere = library.with_file_name("Backup");
    fs::rename(&library, &elsewhere).unwrap();
    for root in [elsewhere.join("Mail"), elsewhere.join("Mail/V10")] {
        let reader = Reader::new(root, None);
        assert_eq!(reader.names().await, [format!("{ACCOUNT}/INBOX")]);
    }
}
