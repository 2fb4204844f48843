//! Mailboxes that will not: folders that are only read, no room left, keywords that are not kept. What is refused is told
//! by its own code, and is not half done.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use testkit::{Dovecot, McpClient, World};

use super::{ask, same};
use crate::installation::Installation;
use crate::support::{Account, configure, note, start, uidvalidity};

/// An account whose server is as a test wants it, beside one of another server that takes everything.
struct Pair {
    here: Dovecot,
    there: Dovecot,
    client: McpClient,
    _state: Installation,
}

impl Pair {
    fn new(here: Dovecot) -> Self {
        let there = Dovecot::builder().folder("Target").start();
        let state = Installation::new();
        let mut program = state.program();
        for (name, server) in [("DEFAULT", &here), ("SECOND", &there)] {
            let account = Account {
                port: server.port(),
                ..Account::default()
            };
            configure(&mut program, name, &account);
        }
        program.env("MAIL_IMAP_WRITE_ENABLED", "true");
        program.env("MAILWARDEN_TOOLSETS", "imap,gateway");
        Self {
            client: start(program),
            here,
            there,
            _state: state,
        }
    }

    fn world(&self) -> World {
        let here = self.here.login("alice", "secret");
        let there = self.there.login("alice", "secret");
        World::read(&mut [("default", here), ("second", there)])
    }

    /// Whatever is asked comes to nothing, in these words.
    fn comes_to_nothing(&mut self, rows: &[(&str, Value, &str)]) {
        let before = self.world();
        for (tool, arguments, want) in rows {
            let answer = ask(&mut self.client, tool, arguments.clone());
            assert_eq!(&answer.words, want, "{tool} {arguments}: {}", answer.all);
            same(&self.world(), &before, &format!("{tool} {arguments}"));
        }
    }
}

/// The place of a folder on the server's disk.
fn on_disk(server: &Dovecot, folder: &str) -> PathBuf {
    let maildir: &Path = server.dir();
    let maildir = maildir.join("mail/alice/Maildir");
    match folder {
        "INBOX" => maildir,
        folder => maildir.join(format!(".{folder}")),
    }
}

/// A server on which the owner of some folders has few rights in them.
fn limited(rights: &[(&str, &str)]) -> Dovecot {
    let mut server = Dovecot::builder().config(
        "protocol imap {\n  mail_plugins = zlib notify imap_zlib acl\n}\nplugin {\n  acl = vfile\n}",
    );
    for (folder, _) in rights {
        server = server.folder(folder);
    }
    let server = server.folder("Free").start();
    for (folder, rights) in rights {
        server.deliver("alice", folder, &note("one", "text"));
        let path = on_disk(&server, folder).join("dovecot-acl");
        std::fs::write(path, format!("owner {rights}\n")).unwrap();
    }
    server.deliver("alice", "Free", &note("free", "text"));
    server
}

#[test]
fn a_folder_that_is_only_read_stays_as_it_is() {
    let server = limited(&[
        ("Locked", "lr"),
        ("NoInsert", "lrwste"),
        ("NoRemove", "lrwsi"),
        ("OnlySeen", "lrs"),
    ]);
    let id = |folder: &str| format!("imap:default:{folder}:{}:1", uidvalidity(&server, folder));
    let [locked, free, kept, only_seen] = ["Locked", "Free", "NoRemove", "OnlySeen"].map(id);
    let at = |folder: &str, more: Value| {
        let at = json!({ "account_id": "default", "folder": folder, "uid": 1 });
        super::with(at, more)
    };
    let across = json!({ "target_account_id": "second", "target_folder": "Target" });
    let rows = [
        (
            "imap_update_message_flags",
            json!({ "message_id": locked, "add_flags": ["\\Seen"] }),
            "failed read_only undone",
        ),
        (
            "mark_seen",
            at("Locked", json!({})),
            "failed read_only undone",
        ),
        (
            "mark_tagged",
            at("Locked", json!({ "tags": ["a"] })),
            "failed read_only undone",
        ),
        (
            "imap_move_message",
            json!({ "message_id": locked, "destination_mailbox": "Free" }),
            "failed read_only undone",
        ),
        (
            "imap_delete_message",
            json!({ "message_id": locked, "confirm": true }),
            "failed read_only undone",
        ),
        // It stands in the target by then, and is taken away again.
        (
            "move",
            at("Locked", across.clone()),
            "failed read_only undone",
        ),
        (
            "imap_copy_message",
            json!({ "message_id": free, "destination_mailbox": "NoInsert" }),
            "failed read_only undone",
        ),
        (
            "imap_move_message",
            json!({ "message_id": free, "destination_mailbox": "Locked" }),
            "failed read_only undone",
        ),
        (
            "create_draft",
            json!({ "account_id": "default", "folder": "NoInsert", "body": "x" }),
            "failed read_only undone",
        ),
        (
            "imap_move_message",
            json!({ "message_id": kept, "destination_mailbox": "Free" }),
            "failed read_only undone",
        ),
        ("move", at("NoRemove", across), "failed read_only undone"),
        (
            "imap_update_message_flags",
            json!({ "message_id": kept, "add_flags": ["\\Deleted"], "confirm": true }),
            "failed flag_not_permitted undone",
        ),
        (
            "imap_update_message_flags",
            json!({ "message_id": only_seen, "add_flags": ["\\Flagged"] }),
            "failed flag_not_permitted undone",
        ),
        (
            "imap_update_message_flags",
            json!({ "message_id": only_seen, "add_flags": ["keyword"] }),
            "failed flag_not_permitted undone",
        ),
        (
            "imap_update_message_flags",
            json!({ "message_id": only_seen, "add_flags": ["\\Seen", "keyword"] }),
            "failed flag_not_permitted undone",
        ),
        (
            "mark_tagged",
            at("OnlySeen", json!({ "tags": ["keyword"] })),
            "failed flag_not_permitted undone",
        ),
    ];
    let mut pair = Pair::new(server);
    pair.comes_to_nothing(&rows);
    // What is permitted is done.
    let seen = ask(&mut pair.client, "mark_seen", at("OnlySeen", json!({})));
    assert_eq!(seen.words, "ok done", "{}", seen.all);
    let copy = at("Locked", json!({ "target_folder": "Free" }));
    let copy = ask(&mut pair.client, "copy", copy);
    assert_eq!(copy.words, "ok done", "{}", copy.all);
}

#[test]
fn where_there_is_no_room_nothing_is_put_and_nothing_is_lost() {
    let server = Dovecot::builder()
        .folder("Target")
        .config(
            "protocol imap {\n  mail_plugins = zlib notify imap_zlib quota imap_quota\n}\n\
             plugin {\n  quota = maildir:User quota\n  quota_rule = *:storage=60K\n  quota_grace = 0\n}",
        )
        .start();
    let large = String::from_utf8(note("large", &"word ".repeat(8_000))).unwrap();
    server.deliver("alice", "INBOX", large.as_bytes());
    let mut pair = Pair::new(server);
    pair.there.deliver("alice", "INBOX", large.as_bytes());
    let id = format!("imap:default:INBOX:{}:1", uidvalidity(&pair.here, "INBOX"));
    let theirs = |more: Value| {
        super::with(
            json!({ "account_id": "second", "folder": "INBOX", "uid": 1 }),
            more,
        )
    };
    let here = json!({ "target_account_id": "default", "target_folder": "Target" });
    pair.comes_to_nothing(&[
        (
            "imap_copy_message",
            json!({ "message_id": id, "destination_mailbox": "Target" }),
            "failed over_quota undone",
        ),
        ("copy", theirs(here.clone()), "failed over_quota undone"),
        ("move", theirs(here), "failed over_quota undone"),
        (
            "create_draft",
            json!({ "account_id": "default", "folder": "Drafts", "body": "word ".repeat(8_000) }),
            "failed over_quota undone",
        ),
    ]);
    // What takes no more room, or goes away, can go.
    let there = json!({ "account_id": "default", "folder": "INBOX", "uid": 1, "target_account_id": "second", "target_folder": "Target" });
    let moved = ask(&mut pair.client, "move", there);
    assert_eq!(moved.words, "ok done", "{}", moved.all);
}
