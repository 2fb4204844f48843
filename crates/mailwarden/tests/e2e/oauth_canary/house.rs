//! An account at a real provider and a real mail server, served at the most verbose level; all that the program says is
//! kept. Judges nothing but what every test takes for granted.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::oidc::{CLIENT, CLIENT_SECRET, SECRET_CLIENT};
use testkit::{Dovecot, Oidc};

use super::heard::Heard;
use super::stores::{Backend, PASSPHRASE, Stores};
use crate::directory::Directory;
use crate::support::{note, start};
use crate::write_crash::leave;

/// In the environment of the program, and nobody else's business.
const UNUSED: &str = concat!("IMAP_MCP", "_SECRET__UNUSED");
const OVERHEARD: &str = "canary-that-is-in-a-variable";
pub(super) const TOKEN: &str = "accounts/work/refresh_token";
const DESK: &str = "clients/desk/secret";

/// How one logs in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Way {
    Browser,
    /// The same, and a program shows the address.
    Opened,
    Device,
    Paste,
}

pub(super) struct House {
    pub(super) oidc: Oidc,
    pub(super) stores: Stores,
    pub(super) heard: Heard,
    server: Dovecot,
    dir: Directory,
    /// For files that are made for a moment.
    scratch: TempDir,
    variables: Vec<(String, String)>,
}

impl House {
    pub(super) fn new(backend: Backend) -> Self {
        let oidc = Oidc::start();
        let server = Dovecot::builder().oauth(&oidc).start();
        server.deliver("alice", "INBOX", &note("first", "inside"));
        let mut house = Self {
            stores: Stores::new(backend),
            dir: Directory::new(0, 0),
            scratch: tempfile::tempdir().unwrap(),
            heard: Heard::default(),
            variables: Vec::new(),
            oidc,
            server,
        };
        let callers = json!({ "callers": [{
            "id": "agent", "policy": "some", "toolsets": ["imap", "gateway"], "auth": { "type": "stdio_trusted" },
        }] });
        house.dir.write("callers.yaml", &format!("{callers:#}\n"));
        house
            .dir
            .policy("  work:\n    - { path: INBOX, mode: blacklist, default: FULL }\n");
        house.put(DESK, CLIENT_SECRET);
        let port = house.server.port();
        house.configure(port, "xoauth2", "memory_only");
        house
    }

    /// Clients that have a secret can log in where there is something to keep it in.
    fn client(&self) -> &'static str {
        match self.stores.is_writable() {
            true => SECRET_CLIENT,
            false => CLIENT,
        }
    }

    /// The account is at this port.
    pub(super) fn configure(&self, port: u16, method: &str, cache: &str) {
        let mut auth = json!({
            "type": method, "user": "alice", "secret_ref": format!("secret://{TOKEN}"),
            "oauth_issuer": self.oidc.issuer(), "oauth_client_id": self.client(),
            "oauth_scope": "openid offline_access mail",
        });
        if self.client() == SECRET_CLIENT {
            auth["oauth_client_secret_ref"] = format!("secret://{DESK}").into();
        }
        let account = json!({
            "id": "work", "host": "127.0.0.1", "port": port, "tls": "none", "token_cache": cache, "auth": auth,
        });
        let accounts = json!({ "secret_store": self.stores.yaml(), "accounts": [account] });
        self.dir.write("accounts.yaml", &format!("{accounts:#}\n"));
    }

    pub(super) fn server_port(&self) -> u16 {
        self.server.port()
    }

    pub(super) fn put(&mut self, reference: &str, secret: &str) {
        let set = self.stores.put(reference, secret);
        self.variables.extend(set);
    }

    fn program(&self) -> Command {
        let mut command = self.dir.program();
        command
            .env("IMAP_MCP_CALLER_ID", "agent")
            .env("MAILWARDEN_LOG", "trace")
            .env(UNUSED, OVERHEARD)
            .env("TMPDIR", self.scratch.path())
            .env("PATH", self.stores.search_path())
            .env_remove("DISPLAY")
            .env_remove("WAYLAND_DISPLAY")
            .envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    /// What a new process answers to a search, after everything else that it can be asked without mail.
    pub(super) fn call(&mut self) -> Value {
        let mut client = start(self.program());
        let arguments = json!({ "account_id": "work", "folder": "INBOX" });
        let mut last = Value::Null;
        for (tool, arguments) in [
            ("list_accounts", json!({})),
            ("imap_list_accounts", json!({})),
            ("imap_verify_account", json!({ "account_id": "work" })),
            ("search", arguments),
        ] {
            let params = json!({ "name": tool, "arguments": arguments });
            last = match client.request("tools/call", params) {
                Ok(result) => result,
                Err(error) => json!([error.code, error.message, error.data]),
            };
            self.heard.add("an answer", last.to_string().as_bytes());
        }
        self.words_of(client.pid());
        let log = client.stderr();
        leave(client);
        self.heard.add("stderr of stdio", log.as_bytes());
        last["structuredContent"]["data"].clone()
    }

    /// What a verb prints, and how it ends.
    pub(super) fn run(&mut self, words: &[&str]) -> (i32, String) {
        let mut command = self.program();
        let output = command.args(words).stdin(Stdio::null()).output().unwrap();
        let verb = words.first().copied().unwrap_or_default();
        self.heard.add(&format!("stdout of {verb}"), &output.stdout);
        self.heard.add(&format!("stderr of {verb}"), &output.stderr);
        let all = [output.stdout, output.stderr].concat();
        let text = String::from_utf8_lossy(&all).into_owned();
        (output.status.code().unwrap(), text)
    }

    /// Logs in, as far as that goes; the exit status.
    pub(super) fn log_in(&mut self, way: Way) -> i32 {
        let mut command = self.program();
        command.args(["login", "--account", "work"]);
        match way {
            Way::Browser => command.arg("--no-browser"),
            Way::Opened => command.env("DISPLAY", ":4711"),
            Way::Device => command.arg("--device"),
            Way::Paste => command.arg("--paste"),
        };
        let piped = Stdio::piped;
        let child = command.stdin(piped()).stdout(piped()).stderr(piped());
        let mut child = child.spawn().unwrap();
        let mut stderr = child.stderr.take().unwrap();
        let log = std::thread::spawn(move || {
            let mut log = Vec::new();
            let _ = stderr.read_to_end(&mut log);
            log
        });
        let devices = self.oidc.devices(0).len();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut shown = String::new();
        let mut line = String::new();
        while stdout.read_line(&mut line).unwrap() > 0 {
            shown.push_str(&line);
            self.words_of(child.id());
            if line.contains("and type in: ") {
                let device = self.oidc.devices(devices + 1).pop().unwrap();
                self.oidc.approve(&device, "alice");
            } else if line.starts_with("http")
                && let Ok(redirect) = self.oidc.authorize(line.trim_end())
            {
                match way {
                    Way::Paste => writeln!(child.stdin.as_mut().unwrap(), "{redirect}").unwrap(),
                    _ => drop(self.oidc.http().get(&redirect)),
                }
            }
            line.clear();
        }
        let status = child.wait().unwrap();
        self.heard.add("stdout of login", shown.as_bytes());
        self.heard.add("stderr of login", &log.join().unwrap());
        status.code().unwrap()
    }

    /// The words that the program was started with, which everybody on the machine can see.
    fn words_of(&mut self, pid: u32) {
        let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        self.heard.add("the words of the program", &words);
    }

    /// Whatever lies around now.
    pub(super) fn look_around(&mut self) {
        let places = [
            ("state", self.dir.home.state()),
            ("configuration", self.dir.path().to_owned()),
            ("scratch", self.scratch.path().to_owned()),
        ];
        for (name, place) in places {
            for path in files(&place) {
                let bytes = std::fs::read(&path).unwrap();
                self.heard
                    .add(&format!("{name} {}", path.display()), &bytes);
            }
        }
        self.heard.add("the children", &self.stores.children());
    }

    /// Nothing secret was heard, though everything was listened to.
    pub(super) fn assert_silent(&mut self) {
        self.look_around();
        let mut secrets = self.oidc.secrets();
        // What the directory of every test has in it, no part of which is read here.
        secrets.extend([OVERHEARD, PASSPHRASE, CLIENT_SECRET].map(str::to_owned));
        assert!(secrets.len() > 8, "{secrets:?}");
        let found = self.heard.find(&secrets);
        assert!(found.is_empty(), "{}", found.join("\n"));
        for (place, word) in [
            ("stderr of stdio", "sources::imap"),
            ("an answer", "list_accounts"),
            ("an answer", "needs_rebootstrap"),
            ("the words of the program", "mailwarden"),
            ("configuration", self.client()),
            ("state", "token_refreshed"),
        ] {
            let heard = self.heard.places(place, word);
            assert!(heard > 0, "{word} was not heard in {place}");
        }
    }
}

fn files(place: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(place) else {
        return Vec::new();
    };
    let paths = entries.map(|entry| entry.unwrap().path());
    let found = paths.flat_map(|path| match path.is_dir() {
        true => files(&path),
        false => vec![path],
    });
    found.filter(|path| path.is_file()).collect()
}
