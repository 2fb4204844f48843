//! A provider, a mail server that takes its tokens, and a configuration directory with an account at both. Asserts nothing
//! but what every test takes for granted.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use testkit::mcp::CallOutcome;
use testkit::oidc::{CLIENT, Endpoint, Fault, Times};
use testkit::proxy::Cut;
use testkit::{Dovecot, FaultProxy, McpClient, Oidc};

use super::Login;
use crate::directory::{Directory, Printed};
use crate::support::{Look, note};

/// What is asked for unless a test says otherwise.
pub(super) const SCOPE: &str = "openid offline_access mail";
/// Where the store keeps the refresh token.
const SECRET: &str = "secrets/accounts/work/refresh_token";
/// How one logs in, in the words that everybody is told.
pub(super) const COMMAND: &str = "mailwarden login --account work";

/// `work` is Alice's, by tokens and by way of a proxy; `other` is Bob's, by password.
pub(super) struct House {
    pub(super) oidc: Oidc,
    pub(super) server: Dovecot,
    pub(super) road: FaultProxy,
    pub(super) dir: Directory,
}

impl House {
    pub(super) fn new() -> Self {
        Self::at(Oidc::start())
    }

    pub(super) fn at(oidc: Oidc) -> Self {
        let server = Dovecot::builder()
            .user("alice", "secret")
            .user("bob", "secret")
            .folder("Target")
            .max_connections(200)
            .oauth(&oidc)
            .start();
        for user in ["alice", "bob"] {
            server.deliver(user, "INBOX", &note("first", "the text of it"));
        }
        let road = FaultProxy::to(server.port());
        let dir = Directory::new(road.port(), server.port());
        let house = Self {
            oidc,
            server,
            road,
            dir,
        };
        house.write_callers();
        house.configure(&json!({}));
        house
    }

    /// Writes accounts.yaml. `auth` and `token_cache` of `work` are as usual but for what is said here; null takes away.
    pub(super) fn configure(&self, changed: &Value) {
        self.configure_with(
            &json!({ "backend": "file_dir", "path": "secrets" }),
            changed,
        );
    }

    pub(super) fn configure_with(&self, store: &Value, changed: &Value) {
        let mut auth = json!({
            "type": "xoauth2", "user": "alice", "secret_ref": "secret://accounts/work/refresh_token",
            "oauth_provider": "custom", "oauth_issuer": self.oidc.issuer(), "oauth_client_id": CLIENT,
            "oauth_scope": SCOPE,
        });
        merge(&mut auth, changed);
        let accounts = json!({
            "secret_store": store,
            "accounts": [
                { "id": "work", "host": "127.0.0.1", "port": self.road.port(), "tls": "none", "auth": auth },
                {
                    "id": "other", "host": "127.0.0.1", "port": self.server.port(), "tls": "none",
                    "auth": { "type": "password", "user": "bob", "secret_ref": "secret://password" },
                },
            ],
            "wal": { "path": "state/wal.db" },
        });
        self.dir.write("accounts.yaml", &format!("{accounts:#}\n"));
    }

    /// Has the provider believed that this authority vouches for.
    pub(super) fn trust(&self, ca_file: &Path) {
        let path = self.dir.path().join("accounts.yaml");
        let text = std::fs::read_to_string(&path).unwrap();
        let mut accounts: Value = serde_json::from_str(&text).unwrap();
        accounts["accounts"][0]["ca_file"] = json!(ca_file);
        std::fs::write(path, accounts.to_string()).unwrap();
    }

    /// One caller whose policy allows everything that a policy can allow.
    fn write_callers(&self) {
        let caller = json!({ "callers": [{
            "id": "agent", "policy": "some", "toolsets": ["imap", "gateway", "threads"],
            "auth": { "type": "stdio_trusted" },
        }] });
        self.dir.write("callers.yaml", &format!("{caller:#}\n"));
        let folder = |path: &str| {
            format!(
                "    - {{ path: {path}, mode: blacklist, default: FULL, mark_seen: true, mark_tagged: true, \
                 move_out: true, accept_incoming: true, draft_append: true }}\n"
            )
        };
        let account = |id: &str| {
            let folders = ["INBOX", "Target", "Drafts", "Trash"].map(folder);
            format!("  {id}:\n{}", folders.concat())
        };
        self.dir.policy(&(account("work") + &account("other")));
    }

    pub(super) fn program(&self) -> Command {
        self.dir.program()
    }

    /// The agent, with a program of its own.
    pub(super) fn client(&self) -> McpClient {
        self.dir.client("agent")
    }

    pub(super) fn check(&self) -> Printed {
        self.dir.run(&["check"])
    }

    /// Begins to log in; nobody opens a browser.
    pub(super) fn begin(&self, more: &[&str]) -> Login {
        let mut command = self.program();
        command
            .args(["login", "--account", "work", "--no-browser"])
            .args(more);
        Login::start(command, self.dir.path())
    }

    /// Logs in as Alice does.
    pub(super) fn log_in(&self) -> Printed {
        let mut login = self.begin(&[]);
        let page = self.oidc.browse(&login.address());
        assert_eq!(page.status, 200, "{}", page.body);
        let printed = login.end();
        assert_eq!(printed.code, 0, "{}{}", printed.stdout, printed.stderr);
        printed
    }

    pub(super) fn secret_file(&self) -> PathBuf {
        self.dir.path().join(SECRET)
    }

    /// What the store holds of the account.
    pub(super) fn stored(&self) -> String {
        let text = std::fs::read_to_string(self.secret_file()).unwrap();
        text.trim_end().to_owned()
    }

    /// The store holds the one refresh token that the provider would take.
    pub(super) fn assert_stored(&self) {
        let living = self.oidc.living_refresh_tokens("alice");
        assert!(living.contains(&self.stored()), "{living:?}");
    }

    /// Everything that is remembered of logins: the secret store, and what lies beside it.
    pub(super) fn kept(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut files = BTreeMap::new();
        for root in [self.dir.path().join("secrets"), self.state()] {
            collect(&root, &mut files);
        }
        files.retain(|path, _| path.extension().is_none_or(|it| it != "lock"));
        files
    }

    /// Where state of logins lies.
    pub(super) fn state(&self) -> PathBuf {
        self.dir.home.state().join("oauth")
    }

    pub(super) fn refreshes(&self) -> usize {
        self.oidc.count(Endpoint::Refresh)
    }

    /// Tokens of so many refreshes are good, and the program is told that they are over.
    pub(super) fn expire(&self, times: Times) {
        let over = Fault::Patch(json!({ "expires_in": 0 }));
        self.oidc.fail(Endpoint::Refresh, &over, times);
    }

    /// Nobody is connected any more: whoever wants mail has to log in to the server.
    pub(super) fn hang_up(&self) {
        self.road.cut_all(Cut::Reset);
    }
}

fn merge(into: &mut Value, changed: &Value) {
    let into = into.as_object_mut().unwrap();
    for (key, value) in changed.as_object().unwrap() {
        match value {
            Value::Null => into.remove(key),
            value => into.insert(key.clone(), value.clone()),
        };
    }
}

fn collect(root: &Path, files: &mut BTreeMap<PathBuf, Vec<u8>>) {
    let Ok(entries) = std::fs::read_dir(root) else {
        return;
    };
    for entry in entries {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => collect(&path, files),
            false => drop(files.insert(path.clone(), std::fs::read(path).unwrap())),
        }
    }
}

/// Arguments about INBOX of `work`.
pub(super) fn inbox(more: &Value) -> Value {
    let mut arguments = json!({ "account_id": "work", "folder": "INBOX" });
    merge(&mut arguments, more);
    arguments
}

pub(super) fn search(client: &mut McpClient) -> CallOutcome {
    client.call("search", inbox(&json!({})))
}

/// Mail can be found and read.
pub(super) fn assert_works(client: &mut McpClient) {
    let found = search(client);
    assert!(!found.is_error, "{}\n{}", found.text, client.stderr());
    assert_eq!(found.data("/uids"), json!([1]));
    let body = client.call("fetch_body", inbox(&json!({ "uid": 1 })));
    assert!(body.text.contains("the text of it"), "{}", body.text);
}

pub(super) fn reason(outcome: &CallOutcome) -> String {
    assert!(outcome.is_error, "{}", outcome.text);
    let data = &outcome.structured["data"];
    assert_eq!(data["decision"], "DENY", "{}", outcome.structured);
    data["reason"].as_str().unwrap().to_owned()
}

/// How `work` stands, as a list of accounts says it.
pub(super) fn standing(client: &mut McpClient) -> Value {
    listed(client, "list_accounts")
}

fn listed(client: &mut McpClient, tool: &str) -> Value {
    let listed = client.call(tool, json!({}));
    let accounts = listed.data("/accounts");
    let mut accounts = accounts.as_array().unwrap().iter();
    let work = accounts.find(|one| one["account_id"] == "work");
    work.unwrap_or_else(|| panic!("{}", listed.structured))
        .clone()
}

/// Nobody is let in, and everybody is told what to do.
pub(super) fn assert_needs_login(client: &mut McpClient) {
    let refused = search(client);
    assert_eq!(reason(&refused), "needs_rebootstrap", "{}", refused.text);
    assert_eq!(
        refused.data("/details/command"),
        COMMAND,
        "{}",
        refused.structured
    );
    assert!(refused.text.contains(COMMAND), "{}", refused.text);
    for tool in ["list_accounts", "imap_list_accounts"] {
        let work = listed(client, tool);
        assert_eq!(work["status"], "needs_rebootstrap", "{tool}: {work}");
        assert_eq!(work["command"], COMMAND, "{tool}: {work}");
    }
}
