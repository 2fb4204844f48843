//! Links inside a store that lead out of it, and a file out there that nobody opens.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use serde_json::json;
use tempfile::TempDir;
use testkit::apple::Stored as OnDisk;
use testkit::trap::{Kind as Deed, Plan, Trapped, Watch};
use testkit::{AppleStore, McpClient};

use super::letters::Letter;
use super::store::{Holder, Kind};
use super::{refusal, talk};
use crate::support::{Look, program};

const WORD: &str = "cockatricine";

/// A Maildir, and a file, that are nobody's business.
struct Outside {
    dir: TempDir,
}

impl Outside {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        for part in ["cur", "new", "tmp"] {
            fs::create_dir_all(dir.path().join("box").join(part)).unwrap();
        }
        let outside = Self { dir };
        let raw = Letter::new("canary@outside.example")
            .says(WORD)
            .delivery()
            .raw;
        fs::write(outside.file(), &raw).unwrap();
        let emlx = testkit::apple::emlx(
            &raw,
            testkit::apple::Count::Padded,
            testkit::apple::Trailer::There,
        );
        fs::write(outside.emlx(), emlx).unwrap();
        let inside = outside.dir.path().join("box/cur/1772697600.M1P1.host:2,");
        fs::write(inside, &raw).unwrap();
        outside
    }

    fn file(&self) -> PathBuf {
        self.dir.path().join("canary")
    }

    fn emlx(&self) -> PathBuf {
        self.dir.path().join("canary.emlx")
    }
}

/// The program in a trap that notes whatever is opened or read out there, and whatever is opened at the links.
fn watched(holder: &Holder, outside: &Outside, links: &[PathBuf], state: &Path) -> McpClient {
    let mut command = program();
    command.env("MAILWARDEN_STATE_DIR", state);
    holder.configure(&mut command, "DEFAULT");
    command.arg("stdio");
    let mut watch = Watch::of([Deed::Open, Deed::Create, Deed::Read]).under(outside.dir.path());
    for link in links {
        watch = watch.or(Watch::of([Deed::Open, Deed::Create]).under(link));
    }
    let mut client = McpClient::over(Trapped::spawn(command, Plan::count(watch)));
    client.initialize();
    client
}

/// Everything is asked for; nothing of it comes from out there.
fn ask_everything(client: &mut McpClient, folders: &[&str]) {
    let mut all = Vec::new();
    for id in ["canary@outside.example", "question@talk.example"] {
        for tool in [
            "read_email",
            "read_thread",
            "get_email_path",
            "get_thread_paths",
        ] {
            all.push(client.call(tool, json!({ "message_id": id })));
        }
    }
    assert_eq!(all[0].structured["success"], false, "{}", all[0].text);
    assert_eq!(all[5].number("/thread_size"), 3, "{}", all[5].text);
    all.push(client.call("imap_list_mailboxes", json!({})));
    for folder in folders {
        let listing = json!({ "mailbox": folder, "include_snippet": true, "limit": 50 });
        // A folder that is a link is no folder.
        if let Some(said) = refusal(client, "imap_search_messages", listing.clone()) {
            assert!(said.contains("no such mailbox"), "{said}");
            continue;
        }
        let page = client.call("imap_search_messages", listing);
        for line in page.data("/messages").as_array().into_iter().flatten() {
            let id = &line["message_id"];
            for tool in ["imap_get_message", "imap_get_message_raw"] {
                let said = refusal(client, tool, json!({ "message_id": id }));
                if said.is_none() {
                    all.push(client.call(tool, json!({ "message_id": id })));
                }
            }
        }
        all.push(page);
        all.push(client.call(
            "imap_search_messages",
            json!({ "mailbox": folder, "query": WORD }),
        ));
    }
    for outcome in all {
        let shown = outcome.structured["data"].to_string();
        let said = shown.replace(&format!("\"{WORD}\""), "");
        assert!(!said.contains(WORD), "{}", outcome.text);
    }
    let seen = client.trapped().expect("a trap").seen();
    assert!(seen.is_empty(), "{seen:?}");
}

#[test]
fn links_out_of_a_maildir_are_not_followed() {
    let outside = Outside::new();
    let holder = Holder::new(Kind::Maildir, &talk());
    let root = holder.root();
    let links = [
        root.join("cur/1772697700.M9P1.host:2,S"),
        root.join("new/1772697701.M9P1.host"),
        root.join(".Sent/cur/1772697702.M9P1.host:2,"),
        root.join(".Evil"),
        root.join("Nested"),
        root.join("mbox"),
    ];
    for (link, target) in links.iter().zip([
        outside.file(),
        outside.file(),
        outside.file(),
        outside.dir.path().join("box"),
        outside.dir.path().join("box"),
        outside.file(),
    ]) {
        symlink(target, link).unwrap();
    }
    let state = tempfile::tempdir().unwrap();
    let mut client = watched(&holder, &outside, &links, state.path());
    ask_everything(&mut client, &["INBOX", "Sent", "Evil", "Nested", "mbox"]);
}

#[test]
fn links_out_of_a_store_of_apple_mail_are_not_followed() {
    let outside = Outside::new();
    let mut store = AppleStore::new();
    for (folder, delivery) in talk() {
        let folder = store.folder(folder);
        store.deliver(folder, &delivery);
    }
    let inbox = store.folder("INBOX");
    let raw = Letter::new("planted@talk.example").delivery().raw;
    let planted = testkit::apple::Letter::new(raw.clone());
    let row = store.message(inbox, planted.clone().row(77).stored(OnDisk::Nothing));
    let messages = store.directory(inbox).join("Data/Messages");
    fs::create_dir_all(&messages).unwrap();
    // The directory of a whole folder, and that of a file.
    let evil = store.folder("Evil");
    store.message(evil, planted.clone().row(78).stored(OnDisk::Nothing));
    let evil = store.directory(evil);
    let mbox = evil.parent().unwrap().to_owned();
    fs::remove_dir_all(&mbox).unwrap();
    let deep = outside.dir.path().join("deep");
    let inside = deep.join(evil.file_name().unwrap()).join("Data/Messages");
    fs::create_dir_all(&inside).unwrap();
    fs::copy(outside.emlx(), inside.join("78.emlx")).unwrap();
    store.message(inbox, planted.row(1_234_079).stored(OnDisk::Nothing));
    let apart = store.directory(inbox).join("Data/4");
    let far = outside.dir.path().join("far");
    fs::create_dir_all(far.join("3/2/1/Messages")).unwrap();
    fs::copy(outside.emlx(), far.join("3/2/1/Messages/1234079.emlx")).unwrap();
    let links = [messages.join(format!("{row}.emlx")), mbox, apart];
    for (link, target) in links.iter().zip([outside.emlx(), deep, far]) {
        symlink(target, link).unwrap();
    }
    let holder = Holder::Apple(Box::new(store));
    let state = tempfile::tempdir().unwrap();
    // Its files are opened by a call that fails at a link: that the link is tried says nothing, what is read does.
    let mut client = watched(&holder, &outside, &[], state.path());
    let known = client.call(
        "read_email",
        json!({ "message_id": "planted@talk.example" }),
    );
    assert_eq!(known.structured["success"], false, "{}", known.text);
    assert!(!known.raw.to_string().contains(WORD));
    ask_everything(&mut client, &["INBOX", "Evil", "Sent"]);
}
