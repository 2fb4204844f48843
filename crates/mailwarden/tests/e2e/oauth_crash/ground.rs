//! A provider that ends a login whose old token it sees again, a mail server that takes its tokens, and plots: an account
//! at both with an installation of its own. Strikes nothing.

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::mcp::{Gone, RpcError};
use testkit::oidc::{CLIENT, Endpoint, Fault, Times};
use testkit::{Dovecot, McpClient, Oidc};

use super::kinds::{Before, Kind, Store};
use crate::directory::Directory;
use crate::support::{note, start};
use crate::write_crash::leave;

const COMMAND: &str = "mailwarden login --account work";
/// Where a login could not be kept.
const REMEDY: &str = "put a new refresh token into secret://accounts/work/refresh_token";
const USER: &str = "alice";
const SECRET: &str = "secrets/accounts/work/refresh_token";
const VARIABLE: &str = concat!("IMAP_MCP", "_SECRET__ACCOUNTS__WORK__REFRESH_TOKEN");
/// A request of a dead program is dealt with sooner, unless the server is broken.
const PATIENCE: Duration = Duration::from_secs(30);

/// For one plot after the other.
pub(crate) struct Ground {
    pub(crate) oidc: Oidc,
    server: Dovecot,
}

/// One account, and all that is on disk of it.
pub(crate) struct Plot<'a> {
    ground: &'a Ground,
    kind: &'a Kind,
    dir: Directory,
    /// What the environment holds.
    variable: String,
}

/// What lies where tokens are kept.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Disk {
    pub(crate) store: Option<String>,
    /// The sealed successor, as it is written: another one each time.
    pub(crate) sealed: Option<String>,
}

/// What a call came to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Answer {
    Mail,
    /// Refused as `needs_rebootstrap`, with what to do.
    NeedsLogin,
    Other(String),
}

impl Ground {
    pub(crate) fn new() -> Self {
        let oidc = Oidc::start();
        // What a server keeps through a crash of its own is not the question here.
        let server = Dovecot::builder()
            .oauth(&oidc)
            .config("mail_fsync = never")
            .start();
        server.deliver(USER, "INBOX", &note("first", "inside"));
        Self { oidc, server }
    }

    pub(crate) fn plot<'a>(&'a self, kind: &'a Kind) -> Plot<'a> {
        self.oidc.mend();
        self.oidc.revoke(USER);
        let dir = Directory::new(0, 0);
        let store = match kind.store {
            Store::Files => json!({ "backend": "file_dir", "path": "secrets" }),
            Store::Variables => json!({ "backend": "env_var" }),
        };
        let auth = json!({
            "type": "xoauth2", "user": USER, "secret_ref": "secret://accounts/work/refresh_token",
            "oauth_issuer": self.oidc.issuer(), "oauth_client_id": CLIENT,
            "oauth_scope": "openid offline_access mail",
        });
        let account = json!({
            "id": "work", "host": "127.0.0.1", "port": self.server.port(), "tls": "none",
            "token_cache": kind.cache, "auth": auth,
        });
        let accounts = json!({ "secret_store": store, "accounts": [account] });
        dir.write("accounts.yaml", &format!("{accounts:#}\n"));
        let caller =
            json!({ "id": "agent", "policy": "some", "auth": { "type": "stdio_trusted" } });
        let callers = json!({ "callers": [caller] });
        dir.write("callers.yaml", &format!("{callers:#}\n"));
        dir.policy("  work:\n    - { path: INBOX, mode: blacklist, default: FULL }\n");
        let mut plot = Plot {
            ground: self,
            kind,
            dir,
            variable: String::new(),
        };
        plot.prepare();
        plot
    }

    /// Waits until nothing that was asked is still being dealt with.
    fn settle(&self) {
        let deadline = Instant::now() + PATIENCE;
        while self.oidc.served().iter().any(|one| one.status.is_none()) {
            assert!(Instant::now() < deadline, "{}", self.oidc.log());
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

impl Plot<'_> {
    fn prepare(&mut self) {
        let oidc = &self.ground.oidc;
        if self.kind.before == Before::Nothing {
            return;
        }
        let token = oidc.grant(USER).refresh_token;
        match self.kind.store {
            Store::Files => self.dir.secret(SECRET, &format!("{token}\n")),
            Store::Variables => self.variable = token,
        }
        match self.kind.before {
            Before::Nothing | Before::ByHand => {}
            Before::Expired => {
                let over = Fault::Patch(json!({ "expires_in": 0 }));
                oidc.fail(Endpoint::Refresh, &over, Times::Once);
                assert_eq!(self.call(), Answer::Mail);
            }
            Before::Stale => {
                oidc.give_stale_tokens();
                let refused = self.call();
                oidc.give_fresh_tokens();
                assert!(matches!(refused, Answer::Other(_)), "{refused:?}");
            }
        }
    }

    /// The agent's program.
    pub(crate) fn program(&self) -> Command {
        let mut command = self.dir.program();
        command
            .env("IMAP_MCP_CALLER_ID", "agent")
            .env(VARIABLE, &self.variable);
        command
    }

    pub(crate) fn client(&self) -> McpClient {
        start(self.program())
    }

    /// One call of a new process.
    pub(crate) fn call(&self) -> Answer {
        let mut client = self.client();
        let answer = ask(&mut client);
        leave(client);
        answer
    }

    /// How the account stands for a new process that asks nobody.
    pub(crate) fn standing(&self) -> Value {
        let mut client = self.client();
        let listed = client.call("list_accounts", json!({}));
        leave(client);
        listed.structured["data"]["accounts"][0].clone()
    }

    pub(crate) fn disk(&self) -> Disk {
        let store = match self.kind.store {
            Store::Files => {
                std::fs::read_to_string(self.secrets().join("accounts/work/refresh_token")).ok()
            }
            Store::Variables => Some(self.variable.clone()),
        };
        Disk {
            store,
            sealed: self.sealed(),
        }
    }

    /// Refresh tokens that the provider would take, once all that was asked of it has been dealt with.
    pub(crate) fn living(&self) -> Vec<String> {
        self.ground.settle();
        self.ground.oidc.living_refresh_tokens(USER)
    }

    /// How often tokens were asked for.
    pub(crate) fn refreshes(&self) -> usize {
        self.ground.oidc.count(Endpoint::Refresh)
    }

    pub(crate) fn oidc(&self) -> &Oidc {
        &self.ground.oidc
    }

    pub(crate) fn secrets(&self) -> PathBuf {
        self.dir.path().join("secrets")
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.dir.home.state()
    }

    /// Where what is remembered of tokens lies.
    pub(crate) fn remembered(&self) -> PathBuf {
        self.state().join("oauth")
    }

    /// Whoever waits before trying again looks at once: what is remembered was touched by somebody.
    pub(crate) fn nudge(&self) {
        let path = self.file("lock").expect("a lock").with_extension("json");
        let text = std::fs::read(&path).unwrap_or_else(|_| b"{}".to_vec());
        std::fs::write(path, text).unwrap();
    }

    fn file(&self, ending: &str) -> Option<PathBuf> {
        let files = std::fs::read_dir(self.remembered()).ok()?;
        let mut paths = files.map(|file| file.unwrap().path());
        paths.find(|path| path.extension().is_some_and(|it| it == ending))
    }

    fn sealed(&self) -> Option<String> {
        let text = std::fs::read_to_string(self.file("json")?).unwrap();
        // INVARIANT: it is replaced wholly or not at all.
        let kept: Value = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}"));
        kept["successor"]["sealed"].as_str().map(str::to_owned)
    }
}

/// A call that needs mail, in a program that may die of it.
pub(crate) fn ask(client: &mut McpClient) -> Answer {
    let arguments = json!({ "account_id": "work", "folder": "INBOX" });
    let params = json!({ "name": "search", "arguments": arguments });
    let sent = client.try_send("tools/call", params);
    read(sent.and_then(|id| client.try_wait(id)))
}

fn read(answer: Result<Result<Value, RpcError>, Gone>) -> Answer {
    let result = match answer {
        Ok(Ok(result)) => result,
        other => return Answer::Other(format!("{other:?}")),
    };
    let told = &result["structuredContent"];
    let summary = told["summary"].as_str().unwrap_or_default();
    let data = &told["data"];
    if result["isError"] != true && data["uids"] == json!([1]) {
        Answer::Mail
    } else if data["reason"] == "needs_rebootstrap" && tells_what_to_do(summary) {
        Answer::NeedsLogin
    } else {
        Answer::Other(format!("{summary} {data}"))
    }
}

/// Whether somebody who is told this knows how to get the account going again.
pub(crate) fn tells_what_to_do(words: &str) -> bool {
    words.contains(COMMAND) || words.contains(REMEDY)
}
