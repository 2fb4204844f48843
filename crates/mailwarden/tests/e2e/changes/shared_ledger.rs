//! Two installations whose ledger is one file, and whose accounts have one name and are different mailboxes: each knows,
//! recovers and tells of its own changes only.

use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::proxy::Cut;
use testkit::world::{self, Found};
use testkit::{Delivery, Dovecot, FaultProxy, McpClient, Seed, Seeds};

use super::{ask, tx};
use crate::config_directory::{account, client, place, program, write};
use crate::support::note;

struct Installed {
    server: Dovecot,
    proxy: FaultProxy,
    dir: TempDir,
    user: &'static str,
}

impl Installed {
    /// One message, of the same number in a folder of the same generation.
    fn new(user: &'static str, ledger: &Path) -> Self {
        let server = Dovecot::builder().user(user, "secret").start();
        let message = Seed {
            uid: 1,
            delivery: Delivery::new(note("one", "text")),
            keywords: Vec::new(),
        };
        let seeds = Seeds {
            uidvalidity: 77,
            keywords: &[],
            messages: &[message],
        };
        server.seed(user, "INBOX", &seeds);
        let proxy = FaultProxy::to(server.port());
        let dir = place();
        let caller = json!({
            "id": "agent", "policy": "open", "toolsets": ["imap", "gateway"],
            "auth": { "type": "stdio_trusted" },
        });
        let folder = json!({
            "path": "INBOX", "mode": "blacklist", "default": "FULL", "mark_seen": true, "mark_tagged": true,
        });
        let policy = json!({ "name": "open", "accounts": { "work": [folder] } });
        write(
            dir.path(),
            &[account("work", user, proxy.port())],
            &[caller],
            &[policy],
        );
        let path = dir.path().join("accounts.yaml");
        let text: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        let text = super::with(text, json!({ "wal": { "path": ledger } }));
        std::fs::write(path, text.to_string()).unwrap();
        Self {
            server,
            proxy,
            dir,
            user,
        }
    }

    fn client(&self) -> McpClient {
        client(self.dir.path(), "agent")
    }

    fn message(&self) -> Found {
        let mut imap = self.server.login(self.user, "secret");
        world::list(&mut imap, "work", "INBOX").remove(0)
    }

    fn rows(&self) -> Vec<Value> {
        let mut command = crate::support::program();
        let configured = program(self.dir.path());
        let variables = configured.get_envs();
        command.envs(variables.filter_map(|(name, value)| Some((name, value?))));
        let listed = tx(command, &["list", "--all"]).unwrap();
        listed["transactions"].as_array().unwrap().clone()
    }

    /// Waits until this change is at its end.
    fn ended(&self, id: &Value) -> Value {
        const LOOKS: usize = 400;
        for _ in 0..LOOKS {
            let row = row(self, id);
            if row["state"] != "open" {
                return row;
            }
        }
        panic!("{id} comes to no end");
    }

    /// Begins a change whose outcome is not known, and falls.
    fn falls(&self) -> Value {
        let mut client = self.client();
        client.call("list_folders", json!({ "account_id": "work" }));
        self.proxy
            .cut_before(Cut::Reset, |line| line.contains("STORE"));
        self.proxy.refuse();
        let answer = ask(&mut client, "mark_tagged", tagged(self.user));
        assert_eq!(answer.words, "failed unknown unknown", "{}", answer.all);
        client.kill();
        self.proxy.disarm();
        self.proxy.admit();
        answer.id()
    }
}

/// A request in the words that both would use.
fn tagged(key: &str) -> Value {
    json!({
        "account_id": "work", "folder": "INBOX", "uid": 1, "uidvalidity": 77, "tags": ["tag"], "idempotency_key": key,
    })
}

fn row(of: &Installed, id: &Value) -> Value {
    let mut rows = of.rows().into_iter();
    rows.find(|row| row["transaction_id"] == *id).unwrap()
}

#[test]
fn what_is_anothers_is_neither_recovered_nor_told() {
    let shared = place();
    let ledger = shared.path().join("wal.db");
    let (alices, bobs) = (
        Installed::new("alice", &ledger),
        Installed::new("bob", &ledger),
    );
    let hers = alices.falls();
    let his = bobs.falls();
    let before = alices.message();
    let left = row(&alices, &hers);
    assert_eq!(left["state"], "open", "{left:#}");

    // Hers has waited longer, so whoever takes up what is due would take it first.
    let mut bob = bobs.client();
    assert_eq!(bobs.ended(&his)["state"], "done");
    assert_eq!(row(&bobs, &hers), left, "not even tried");
    assert_eq!(alices.message(), before);
    assert_eq!(bobs.message().item, before.item.flagged(&["tag"]));

    // Before it is at its end and after, her key is no answer to him.
    for round in ["open", "done"] {
        let there = bobs.message();
        let same = ask(&mut bob, "mark_tagged", tagged("alice"));
        assert_eq!(same.words, "-32600 conflict", "{round}: {}", same.all);
        for (tool, asked) in [
            (
                "get_transaction_status",
                json!({ "idempotency_key": "alice" }),
            ),
            ("get_transaction_status", json!({ "transaction_id": hers })),
            ("undo_transaction", json!({ "transaction_id": hers })),
        ] {
            let answer = ask(&mut bob, tool, asked);
            assert_eq!(
                answer.words, "-32002 not_found",
                "{round} {tool}: {}",
                answer.all
            );
        }
        assert_eq!(bobs.message(), there, "{round}");
        if round == "open" {
            let mut alice = alices.client();
            assert_eq!(alices.ended(&hers)["state"], "done");
            assert_eq!(alices.message().item, before.item.flagged(&["tag"]));
            let again = ask(&mut alice, "mark_tagged", tagged("alice"));
            assert_eq!(
                (again.words.as_str(), again.id()),
                ("ok done", hers.clone())
            );
        }
    }
}
