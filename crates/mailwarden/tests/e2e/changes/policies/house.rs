//! Two accounts of one server, and callers with policies over them, each of its own name.

use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::{Dovecot, McpClient, World};

use crate::changes::with;
use crate::config_directory::{account, client, place, program, write};

pub(super) struct House {
    pub(super) server: Dovecot,
    dir: TempDir,
}

/// Everything that a policy can give.
pub(super) const ALL: [&str; 5] = [
    "mark_seen",
    "mark_tagged",
    "move_out",
    "accept_incoming",
    "draft_append",
];

/// A folder of a policy, open to this level, with these capabilities.
pub(super) fn folder(path: &str, level: &str, capabilities: &[&str]) -> Value {
    // A blacklist cannot begin with nothing.
    let mode = match level {
        "NONE" => "whitelist",
        _ => "blacklist",
    };
    let folder = json!({ "path": path, "mode": mode, "default": level });
    let given = capabilities
        .iter()
        .map(|name| ((*name).to_owned(), json!(true)));
    with(folder, Value::Object(given.collect()))
}

impl House {
    /// The folders that there are besides INBOX, in both accounts, and what each caller's policy says of accounts.
    pub(super) fn new(folders: &[&str], callers: &[(&str, Value)]) -> Self {
        let mut server = Dovecot::builder()
            .user("alice", "secret")
            .user("bob", "secret");
        for folder in folders {
            server = server.folder(folder);
        }
        let server = server.start();
        let dir = place();
        let accounts = [
            account("work", "alice", server.port()),
            account("private", "bob", server.port()),
        ];
        let listed: Vec<Value> = callers
            .iter()
            .map(|(name, _)| {
                json!({
                    "id": name, "policy": name, "toolsets": ["imap", "gateway"],
                    "auth": { "type": "stdio_trusted" },
                })
            })
            .collect();
        let policies = callers
            .iter()
            .map(|(name, accounts)| json!({ "name": name, "accounts": accounts }));
        let policies: Vec<Value> = policies.collect();
        write(dir.path(), &accounts, &listed, &policies);
        let path = dir.path().join("accounts.yaml");
        let text = std::fs::read_to_string(&path).unwrap();
        let text: Value = serde_json::from_str(&text).unwrap();
        let text = with(
            text,
            json!({ "wal": { "path": dir.path().join("wal.db") } }),
        );
        std::fs::write(path, text.to_string()).unwrap();
        Self { server, dir }
    }

    pub(super) fn client(&self, caller: &str) -> McpClient {
        client(self.dir.path(), caller)
    }

    pub(super) fn program(&self) -> Command {
        let mut command = crate::support::program();
        command.env("IMAP_MCP_CONFIG_DIR", self.dir.path());
        let secret = program(self.dir.path());
        command.envs(
            secret
                .get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        );
        command
    }

    pub(super) fn world(&self) -> World {
        let login = |user: &str| self.server.login(user, "secret");
        World::read(&mut [("work", login("alice")), ("private", login("bob"))])
    }

    /// A message of `work`, from somebody of this domain.
    pub(super) fn deliver(&self, folder: &str, domain: &str) {
        let raw = format!(
            "From: Anna <anna@{domain}>\r\nTo: alice@example.org\r\nSubject: {folder}\r\n\
             Date: Tue, 3 Nov 2026 09:12:00 +0100\r\nMessage-ID: <{folder}@{domain}>\r\n\r\ntext\r\n"
        );
        self.server.deliver("alice", folder, raw.as_bytes());
    }

    pub(super) fn generation(&self, folder: &str) -> u32 {
        crate::support::uidvalidity(&self.server, folder)
    }

    /// The name of a message of `work`.
    pub(super) fn id(&self, folder: &str, uid: u32) -> String {
        format!("imap:work:{folder}:{}:{uid}", self.generation(folder))
    }

    /// The same in parts.
    pub(super) fn at(&self, folder: &str, uid: u32, more: Value) -> Value {
        let generation = self.generation(folder);
        let at = json!({ "account_id": "work", "folder": folder, "uid": uid, "uidvalidity": generation });
        with(at, more)
    }

    /// Every way to change one message, each with a target where it needs one.
    pub(super) fn every_change(
        &self,
        folder: &str,
        uid: u32,
        target: &str,
    ) -> Vec<(&'static str, Value)> {
        let id = self.id(folder, uid);
        let to = json!({ "message_id": id, "destination_mailbox": target });
        let there = json!({ "target_folder": target });
        vec![
            ("mark_seen", self.at(folder, uid, json!({}))),
            (
                "mark_tagged",
                self.at(folder, uid, json!({ "tags": ["a"] })),
            ),
            (
                "mark_tagged",
                self.at(folder, uid, json!({ "tags": ["a"], "action": "replace" })),
            ),
            ("copy", self.at(folder, uid, there.clone())),
            ("move", self.at(folder, uid, there)),
            (
                "imap_update_message_flags",
                json!({ "message_id": id, "add_flags": ["\\Seen", "a"] }),
            ),
            ("imap_copy_message", to.clone()),
            ("imap_move_message", to),
        ]
    }
}
