//! What only a store of Apple Mail can lack: each of it has a code of its own.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use testkit::apple::{ACCOUNT, Generation, Letter as Filed, Stored as OnDisk};
use testkit::{AppleStore, McpClient};

use super::letters::{Letter, day};
use super::{each, texts};
use crate::support::{Look, program, start};

const TOOLS: [&str; 4] = [
    "read_email",
    "read_thread",
    "get_email_path",
    "get_thread_paths",
];

fn reader(root: &Path) -> Command {
    let mut command = program();
    command
        .env("MAIL_APPLE_DEFAULT_PATH", root)
        .env("MAIL_APPLE_DEFAULT_ACCOUNT", ACCOUNT);
    command
}

fn question() -> Letter {
    Letter::new("question@talk.example").says("When does the kiln arrive?")
}

fn answer() -> Letter {
    Letter::new("answer@talk.example")
        .after(&["question@talk.example"])
        .on(day(2))
        .says("On Monday.")
}

#[test]
fn what_was_not_downloaded_is_known_and_said() {
    let mut store = AppleStore::new();
    let inbox = store.folder("INBOX");
    store.deliver(inbox, &question().delivery());
    let absent = Filed::new(answer().delivery().raw).stored(OnDisk::Nothing);
    store.message(inbox, absent);
    let mut client = start(reader(&store.root()));
    let read = client.call("read_email", json!({ "message_id": "answer@talk.example" }));
    assert_eq!(read.structured["success"], false, "{}", read.text);
    assert_eq!(read.data("/body_state"), "not_downloaded", "{}", read.text);
    assert_eq!(read.data("/issues/0/code"), "not_downloaded");
    assert_eq!(read.data("/subject"), "The kiln");
    assert_eq!(read.data("/body_text"), Value::Null);
    let path = client.call(
        "get_email_path",
        json!({ "message_id": "answer@talk.example" }),
    );
    assert_eq!(
        path.data("/issues/0/code"),
        "not_downloaded",
        "{}",
        path.text
    );
    assert_eq!(path.data("/file_path"), Value::Null);
    let thread = client.call(
        "read_thread",
        json!({ "message_id": "question@talk.example" }),
    );
    // Which messages the other one answers is in its header alone, and that is not here.
    assert_eq!(each(&thread, "body_state")[0], "ok", "{}", thread.text);
    let absent = client.call("read_email", json!({ "message_id": "nobody@talk.example" }));
    assert_eq!(absent.data("/error"), "Email not found");
    assert_eq!(absent.data("/issues"), json!([]));
}

#[test]
fn a_copy_that_was_downloaded_is_read_before_one_that_was_not() {
    let mut store = AppleStore::new();
    let (inbox, archive) = (store.folder("INBOX"), store.folder("Archive"));
    let filed = || Filed::new(answer().delivery().raw).received(day(2).try_into().unwrap());
    store.message(inbox, filed().stored(OnDisk::Nothing));
    store.message(archive, filed());
    let mut client = start(reader(&store.root()));
    let id = json!({ "message_id": "answer@talk.example" });
    let read = client.call("read_email", id.clone());
    assert_eq!(read.data("/mailbox"), "Archive", "{}", read.text);
    assert_eq!(read.data("/body_text"), "On Monday.");
    let thread = client.call("read_thread", id.clone());
    assert_eq!(each(&thread, "body_text"), ["On Monday."]);
    let path = client.call("get_email_path", id);
    assert!(path.data("/file_path").is_string(), "{}", path.text);
}

#[test]
fn what_was_not_downloaded_stays_in_its_conversation_and_is_not_called_all_of_it() {
    for generation in [Generation::Modern, Generation::Older] {
        let mut store = AppleStore::of(generation);
        let inbox = store.folder("INBOX");
        store.deliver(inbox, &question().delivery());
        let absent = Filed::new(answer().delivery().raw).unnamed();
        store.message(inbox, absent.stored(OnDisk::Nothing));
        let mut client = start(reader(&store.root()));
        let asked = json!({ "message_id": "question@talk.example" });
        let thread = client.call("read_thread", asked);
        assert_eq!(thread.data("/thread_size"), 2, "{generation:?}");
        let states = each(&thread, "body_state");
        assert_eq!(states, ["ok", "not_downloaded"], "{}", thread.text);
        // Who answers it in turn, nobody can tell.
        assert_eq!(thread.data("/coverage/complete"), false, "{generation:?}");
    }
}

#[test]
fn what_mail_has_let_go_of_is_not_said_to_be_absent_from_everywhere() {
    let mut store = AppleStore::of(Generation::Older);
    let inbox = store.folder("INBOX");
    let row = store.deliver(inbox, &question().delivery());
    let mut client = start(reader(&store.root()));
    let asked = json!({ "message_id": "question@talk.example" });
    let read = client.call("read_email", asked.clone());
    assert_eq!(read.data("/coverage/complete"), true, "{}", read.text);
    let file = store
        .directory(inbox)
        .join(format!("Data/Messages/{row}.emlx"));
    fs::remove_file(file).unwrap();
    let read = client.call("read_email", asked);
    assert_eq!(read.data("/error"), "Email not found", "{}", read.text);
    assert_eq!(read.data("/coverage/complete"), false, "{}", read.text);
}

#[test]
fn an_index_that_is_thrown_away_meanwhile_is_built_again() {
    let mut store = AppleStore::new();
    let inbox = store.folder("INBOX");
    store.deliver(inbox, &question().delivery());
    let state = tempfile::tempdir().unwrap();
    let mut command = reader(&store.root());
    command.env("MAILWARDEN_STATE_DIR", state.path());
    let mut client = start(command);
    let ask = |client: &mut McpClient, id: &str| {
        let read = client.call("read_email", json!({ "message_id": id }));
        assert_eq!(read.structured["success"], true, "{}", read.text);
    };
    ask(&mut client, "question@talk.example");
    fs::remove_dir_all(state.path().join("index")).unwrap();
    store.deliver(inbox, &answer().delivery());
    ask(&mut client, "answer@talk.example");
    ask(&mut client, "question@talk.example");
}

#[test]
fn an_id_from_before_mail_was_repaired_is_a_conflict_and_no_other_message() {
    let mut store = AppleStore::new();
    let inbox = store.folder("INBOX");
    let other = store.deliver(inbox, &answer().delivery());
    let row = store.deliver(inbox, &question().delivery());
    assert!(other < row);
    let mut client = start(reader(&store.root()));
    let asked = json!({ "message_id": "answer@talk.example" });
    let old = json!({ "message_id": client.call("read_email", asked).text("/id") });
    let read = client.call("imap_get_message", old.clone());
    assert_eq!(read.structured["success"], true, "{}", read.text);
    // Mail has a new database, which gave the number to another message.
    let mut rebuilt = AppleStore::new();
    let inbox = rebuilt.folder("INBOX");
    rebuilt.deliver(inbox, &question().delivery());
    rebuilt.deliver(inbox, &answer().delivery());
    rebuilt.quit();
    store.quit();
    fs::remove_file(store.database()).unwrap();
    fs::copy(rebuilt.database(), store.database()).unwrap();
    let params = json!({ "name": "imap_get_message", "arguments": old });
    let error = client.request("tools/call", params).unwrap_err();
    assert_eq!(error.data["code"], "conflict", "{}", error.message);
}

#[test]
fn a_part_that_was_not_downloaded_is_listed_as_such() {
    let raw = question()
        .header("Content-Type: multipart/mixed; boundary=\"b\"\r\n")
        .says(
            "--b\r\nContent-Type: text/plain\r\n\r\nSee the plan.\r\n--b\r\nContent-Type: application/pdf; \
             name=\"plan.pdf\"\r\nContent-Disposition: attachment; filename=\"plan.pdf\"\r\n\
             Content-Transfer-Encoding: base64\r\nX-Apple-Content-Length: 12\r\n\r\n\r\n--b--",
        )
        .delivery()
        .raw;
    let mut store = AppleStore::new();
    let inbox = store.folder("INBOX");
    store.message(inbox, Filed::new(raw).stored(OnDisk::Partial));
    let mut client = start(reader(&store.root()));
    let read = client.call(
        "read_email",
        json!({ "message_id": "question@talk.example" }),
    );
    assert_eq!(read.data("/body_text"), "See the plan.", "{}", read.text);
    assert_eq!(
        read.data("/attachments/0/not_downloaded"),
        true,
        "{}",
        read.text
    );
    let path = client.call(
        "get_email_path",
        json!({ "message_id": "question@talk.example" }),
    );
    assert!(path.text("/file_path").ends_with(".partial.emlx"));
}

/// Every tool says what is the matter with the account, and that it did not look.
fn assert_all_say(client: &mut McpClient, code: &str) {
    for tool in TOOLS {
        let failed = client.call(tool, json!({ "message_id": "question@talk.example" }));
        assert_eq!(failed.structured["success"], false, "{tool}");
        assert_eq!(
            failed.data("/issues/0/code"),
            code,
            "{tool}: {}",
            failed.text
        );
        assert_eq!(failed.data("/coverage/complete"), false, "{tool}");
        let reasons = texts(&failed.data("/possible_reasons"));
        assert_eq!(reasons, ["the mail store could not be reached: see issues"]);
        let error = failed.text("/error");
        assert!(error.starts_with("nothing could be searched: "), "{error}");
    }
}

#[test]
fn a_store_that_is_not_there_or_of_an_unknown_make_is_said() {
    let home = tempfile::tempdir().unwrap();
    let mut client = start(reader(&home.path().join("Library/Mail")));
    assert_all_say(&mut client, "store_missing");
    let store = AppleStore::new();
    store.sql("DROP TABLE messages");
    let mut client = start(reader(&store.root()));
    assert_all_say(&mut client, "unsupported_schema");
}

#[test]
fn a_store_that_may_not_be_read_is_said() {
    let mut store = AppleStore::new();
    let inbox = store.folder("INBOX");
    store.deliver(inbox, &question().delivery());
    store.quit();
    let home = tempfile::tempdir().unwrap();
    fs::set_permissions(home.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let is_root = fs::metadata(home.path()).unwrap().uid() == 0;
    // Nothing is forbidden to root: the program is somebody else then, who may not even be let to where it was built.
    let mut command = match is_root {
        true => {
            let exe = home.path().join("mailwarden");
            fs::copy(env!("CARGO_BIN_EXE_mailwarden"), &exe).unwrap();
            let mut command = Command::new(exe);
            command.env_clear().uid(65_534).gid(65_534);
            command
                .env("MAIL_APPLE_DEFAULT_PATH", store.root())
                .env("MAIL_APPLE_DEFAULT_ACCOUNT", ACCOUNT)
                .arg("stdio")
                .stdin(Stdio::piped());
            command
        }
        false => {
            let mut command = reader(&store.root());
            command.arg("stdio").stdin(Stdio::piped());
            command
        }
    };
    command
        .env("MAILWARDEN_STATE_DIR", home.path().join("state"))
        .current_dir("/");
    let data = store.version().join("MailData");
    fs::set_permissions(&data, fs::Permissions::from_mode(0o000)).unwrap();
    let mut client = McpClient::spawn(command);
    client.initialize();
    assert_all_say(&mut client, "no_permission");
    fs::set_permissions(&data, fs::Permissions::from_mode(0o700)).unwrap();
}
