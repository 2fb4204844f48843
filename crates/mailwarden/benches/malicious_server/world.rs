//! A Dovecot with a small mailbox, a lying server for each kind of lie, and one program with all of
//! them as its accounts.

use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::malicious_server::{self, Lie};
use testkit::mcp::RpcError;
use testkit::{Dovecot, Fake, Mailgen, McpClient};

use super::report::Beside;
use crate::samples::Samples;

const USER: &str = "alice";
const PASSWORD: &str = "secret";
const MESSAGES: u64 = 2_000;
/// Calls of the good account with nothing beside them.
const CALLS_ALONE: usize = 1_000;
/// And beside each lie.
const CALLS_BESIDE: usize = 300;
/// Between two calls: what is measured is a caller's wait, not how much one caller can ask.
const PACE: Duration = Duration::from_millis(2);
/// A miss should be measured, not end the run.
const PATIENCE: Duration = Duration::from_secs(120);

pub(crate) struct World {
    client: McpClient,
    _dovecot: Dovecot,
    _liars: Vec<Fake>,
    _state: tempfile::TempDir,
}

impl World {
    pub(crate) fn build() -> Self {
        let dovecot = Dovecot::start();
        dovecot.deliver_many(USER, "INBOX", Mailgen::new(7).messages(MESSAGES));
        let liars: Vec<Fake> = malicious_server::ALL
            .iter()
            .map(|lie| lie.serve())
            .collect();
        let state = tempfile::tempdir().expect("make a state directory");
        let mut command = Command::new(env!("CARGO_BIN_EXE_mailwarden"));
        let ours = |name: &str| name.starts_with("MAIL_") || name.starts_with("MAILWARDEN_");
        for (name, _) in std::env::vars_os() {
            if name.to_str().is_some_and(ours) {
                command.env_remove(&name);
            }
        }
        command
            .arg("stdio")
            .env("MAILWARDEN_STATE_DIR", state.path())
            .env("MAIL_IMAP_SOCKET_TIMEOUT_MS", "5000")
            .env("MAILWARDEN_TOOLSETS", "imap,gateway");
        configure(&mut command, "DEFAULT", dovecot.port());
        for (number, liar) in liars.iter().enumerate() {
            configure(&mut command, &format!("LIAR{number}"), liar.port());
        }
        let mut client = McpClient::spawn(command).patience(PATIENCE);
        client.initialize();
        let mut world = Self {
            client,
            _dovecot: dovecot,
            _liars: liars,
            _state: state,
        };
        // The connection is made, and the program has read what it needs of itself.
        for _ in 0..100 {
            let _ = world.call();
        }
        world
    }

    /// The good account's calls with nothing beside them.
    pub(crate) fn alone(&mut self) -> Samples {
        let mut times = Samples::default();
        for _ in 0..CALLS_ALONE {
            times.add(self.call());
        }
        times
    }

    /// The good account's calls while this lie is told, again as soon as it is found out.
    pub(crate) fn beside(&mut self, number: usize, lie: &Lie) -> Beside {
        let [mut times, mut lied] = [Samples::default(), Samples::default()];
        let account = format!("liar{number}");
        while times.len() < CALLS_BESIDE {
            let begun = Instant::now();
            let arguments = lie.call.arguments(&account);
            let call = self.client.send_call(lie.call.tool(), arguments);
            times.add(self.call());
            while times.len() < CALLS_BESIDE && !self.client.has_answer(call) {
                times.add(self.call());
            }
            let (answer, came) = self.client.wait_timed(call);
            assert_eq!(code(&answer), lie.code, "{}", lie.name);
            lied.add(came - begun);
        }
        Beside {
            name: lie.name,
            code: lie.code,
            times,
            lied,
        }
    }

    /// The program's, at the end.
    pub(crate) fn peak_memory(&self) -> u64 {
        self.client.peak_rss()
    }

    fn call(&mut self) -> Duration {
        thread::sleep(PACE);
        let begun = Instant::now();
        let arguments = json!({ "mailbox": "INBOX", "limit": 20 });
        let id = self.client.send_call("imap_search_messages", arguments);
        let (answer, came) = self.client.wait_timed(id);
        let answer = answer.expect("an answer of the good account");
        assert_ne!(answer["isError"], true, "{answer}");
        came - begun
    }
}

fn configure(command: &mut Command, name: &str, port: u16) {
    let variable = |suffix: &str| format!("MAIL_IMAP_{name}_{suffix}");
    command
        .env(variable("HOST"), "127.0.0.1")
        .env(variable("PORT"), port.to_string())
        .env(variable("SECURE"), "false")
        .env(variable("USER"), USER)
        .env(variable("PASS"), PASSWORD);
}

fn code(answer: &Result<Value, RpcError>) -> String {
    let code = match answer {
        Ok(result) => &result["structuredContent"]["data"]["issues"][0]["code"],
        Err(error) => &error.data["code"],
    };
    code.as_str().unwrap_or("none").to_owned()
}
