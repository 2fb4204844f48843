//! Starting the program the way a client does, and looking at what it answers.

use std::process::{Command, Stdio};
use std::sync::OnceLock;

use serde_json::{Value, json};
use testkit::mcp::CallOutcome;
use testkit::{Dovecot, Fake, McpClient, RawImap};

/// The program with a clean environment, ready for account variables.
pub(crate) fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mailwarden"));
    for (name, _) in std::env::vars_os() {
        let name_text = name.to_string_lossy();
        let ours = ["MAIL_", "MAILWARDEN_", "IMAP_MCP_"];
        if ours.iter().any(|ours| name_text.starts_with(ours)) {
            command.env_remove(&name);
        }
    }
    command.env("MAILWARDEN_STATE_DIR", state_dir());
    command
}

/// One state directory for all tests of this process: they are one installation.
fn state_dir() -> &'static std::path::Path {
    static DIR: OnceLock<std::path::PathBuf> = OnceLock::new();
    DIR.get_or_init(|| {
        std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR"))
            .join(format!("state-{}", std::process::id()))
    })
}

/// How an account is reached.
pub(crate) struct Account<'a> {
    pub(crate) host: &'a str,
    pub(crate) port: u16,
    pub(crate) secure: &'a str,
    pub(crate) user: &'a str,
    pub(crate) pass: &'a str,
}

impl Default for Account<'_> {
    fn default() -> Self {
        Self {
            host: "127.0.0.1",
            port: 0,
            secure: "false",
            user: "alice",
            pass: "secret",
        }
    }
}

/// Sets the variables of one account.
pub(crate) fn configure(command: &mut Command, name: &str, account: &Account<'_>) {
    let variable = |suffix: &str| format!("MAIL_IMAP_{name}_{suffix}");
    command
        .env(variable("HOST"), account.host)
        .env(variable("PORT"), account.port.to_string())
        .env(variable("SECURE"), account.secure)
        .env(variable("USER"), account.user)
        .env(variable("PASS"), account.pass);
}

/// A client of a program that knows one account in the clear at this port.
pub(crate) fn client(port: u16) -> McpClient {
    client_with(
        &Account {
            port,
            ..Account::default()
        },
        &[],
    )
}

pub(crate) fn client_with(account: &Account<'_>, variables: &[(&str, &str)]) -> McpClient {
    let mut command = program();
    configure(&mut command, "DEFAULT", account);
    command.envs(variables.iter().copied());
    start(command)
}

pub(crate) fn start(mut command: Command) -> McpClient {
    command.arg("stdio").stdin(Stdio::piped());
    let mut client = McpClient::spawn(command);
    client.initialize();
    client
}

/// A server whose search never ends.
pub(crate) fn thinker() -> Fake {
    Fake::script(|s| {
        s.log_in("IMAP4rev1");
        s.expect("EXAMINE");
        s.examined(1);
        s.expect("SEARCH");
        s.stall();
    })
}

/// A server that holds one message, a client of it, and the message's id.
pub(crate) fn with(raw: &[u8]) -> (Dovecot, McpClient, String) {
    let server = Dovecot::start();
    server.deliver("alice", "INBOX", raw);
    let client = client(server.port());
    let id = message_id(&server, "INBOX", 1);
    (server, client, id)
}

/// The bytes of one section as the server has them.
pub(crate) fn section(server: &Dovecot, uid: u32, section: &str) -> Vec<u8> {
    let mut imap = server.login("alice", "secret");
    imap.command("EXAMINE INBOX");
    let reply = imap.command(&format!("UID FETCH {uid} BODY.PEEK[{section}]"));
    let line = reply.untagged.first().expect("a reply to FETCH");
    let at = |octet: u8, from: usize| {
        from + line[from..]
            .iter()
            .position(|found| *found == octet)
            .expect("a literal")
    };
    let open = at(b'{', 0);
    let close = at(b'}', open);
    let length = std::str::from_utf8(&line[open + 1..close]).unwrap();
    let begin = close + "}\r\n".len();
    line[begin..begin + length.parse::<usize>().unwrap()].to_vec()
}

/// Looks at an answer.
pub(crate) trait Look {
    fn data(&self, pointer: &str) -> Value;
    fn text(&self, pointer: &str) -> String;
    fn number(&self, pointer: &str) -> u64;
    fn round_trips(&self) -> u64;
    /// All warnings, a line each.
    fn warnings(&self) -> String;
}

impl Look for CallOutcome {
    fn data(&self, pointer: &str) -> Value {
        self.structured
            .pointer(&format!("/data{pointer}"))
            .cloned()
            .unwrap_or(Value::Null)
    }

    fn text(&self, pointer: &str) -> String {
        let value = self.data(pointer);
        value
            .as_str()
            .unwrap_or_else(|| panic!("no text at {pointer}: {}", self.structured))
            .to_owned()
    }

    fn number(&self, pointer: &str) -> u64 {
        let value = self.data(pointer);
        value
            .as_u64()
            .unwrap_or_else(|| panic!("no number at {pointer}: {}", self.structured))
    }

    fn round_trips(&self) -> u64 {
        self.structured["meta"]["telemetry"]["imap_round_trips"]
            .as_u64()
            .unwrap()
    }

    fn warnings(&self) -> String {
        let warnings = self.structured["meta"]["warnings"].as_array();
        let lines = warnings.into_iter().flatten().filter_map(Value::as_str);
        lines.collect::<Vec<_>>().join("\n")
    }
}

/// The subjects of a page, in order.
pub(crate) fn subjects(page: &CallOutcome) -> Vec<String> {
    let messages = page.data("/messages");
    let lines = messages.as_array().expect("a page").iter();
    lines
        .map(|line| line["subject"].as_str().unwrap_or("-").to_owned())
        .collect()
}

/// Arguments for a search of INBOX.
pub(crate) fn inbox(more: Value) -> Value {
    let mut arguments = json!({ "mailbox": "INBOX" });
    for (key, value) in more.as_object().unwrap() {
        arguments[key] = value.clone();
    }
    arguments
}

pub(crate) fn uidvalidity(server: &Dovecot, folder: &str) -> u32 {
    let mut imap: RawImap = server.login("alice", "secret");
    let reply = imap.command(&format!("EXAMINE \"{folder}\"")).text();
    let (_, after) = reply.split_once("UIDVALIDITY ").expect("a UIDVALIDITY");
    after.split(']').next().unwrap().parse().unwrap()
}

pub(crate) fn message_id(server: &Dovecot, folder: &str, uid: u32) -> String {
    format!(
        "imap:default:{folder}:{}:{uid}",
        uidvalidity(server, folder)
    )
}

/// The tools that environment configuration gives while nobody has allowed changes.
pub(crate) fn usual_tools() -> impl Iterator<Item = &'static dyn gateway::AnyTool> {
    let all = gateway::ALL.iter().copied();
    let reading = all.filter(|tool| tool.annotations().read_only);
    let here = |tool: &&dyn gateway::AnyTool| {
        tool.toolset() != gateway::Toolset::Gateway || tool.also().is_some()
    };
    reading.filter(here)
}

/// A small message.
pub(crate) fn note(subject: &str, body: &str) -> Vec<u8> {
    format!(
        "Date: Tue, 03 Nov 2026 09:12:00 +0100\r\nFrom: Anna Adler <anna@example.com>\r\n\
         To: alice@example.org\r\nSubject: {subject}\r\nMessage-ID: <{}@example.com>\r\n\
         MIME-Version: 1.0\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n{body}\r\n",
        subject.replace(' ', "."),
    )
    .into_bytes()
}
