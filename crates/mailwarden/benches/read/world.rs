//! The server with its mail, and the two ways to it. Both sides of every comparison go the same way.

use std::process::Command;
use std::time::Duration;

use serde_json::json;
use testkit::proxy::Stats;
use testkit::{Delivery, Dovecot, FaultProxy, Mailgen, McpClient, RawImap, fixtures};

use super::facts::Facts;

pub(crate) const MESSAGES: u32 = 5_000;
/// Before its encoding, which makes 34 MB of it.
const BIG_ATTACHMENT: usize = 25 << 20;
const LONG_TEXTS: u32 = 250;
const LONG_TEXT: usize = 40 << 10;
const ONE_WAY: Duration = Duration::from_millis(10);
const USER: &str = "alice";
const PASSWORD: &str = "secret";
/// One of the names in the certificate.
const HOST: &str = "127.0.0.1";

pub(crate) const LOGIN: &str = "LOGIN alice secret";

pub(crate) struct World {
    pub near: Route,
    pub far: Route,
    /// As near as it gets with somebody watching. Nothing is timed here.
    pub watched: Route,
    pub facts: Facts,
    dovecot: Dovecot,
    state: tempfile::TempDir,
}

/// A way to the server's TLS port.
pub(crate) struct Route {
    pub name: &'static str,
    pub goal: Goal,
    /// How often a call is measured on connections that are open.
    pub rounds: usize,
    /// How often, when each call opens its own.
    pub fresh_rounds: usize,
    port: u16,
    proxy: Option<FaultProxy>,
}

/// What mailwarden may cost over the bare connection (p50).
#[derive(Clone, Copy)]
pub(crate) enum Goal {
    Ratio(f64),
    MoreMs(f64),
}

impl World {
    pub(crate) fn build() -> Self {
        let dovecot = Dovecot::builder()
            .folder("Long")
            .folder("Html")
            .folder("Big")
            .max_connections(1000)
            .start();
        dovecot.deliver_many(USER, "INBOX", Mailgen::new(1).messages(u64::from(MESSAGES)));
        let texts = (0..LONG_TEXTS).map(|i| long(i, "plain", ["", ""]));
        dovecot.deliver_many(USER, "Long", texts);
        let pages = (0..LONG_TEXTS).map(|i| long(i, "html", ["<p>", "</p>"]));
        dovecot.deliver_many(USER, "Html", pages);
        let big = [
            fixtures::plain(),
            fixtures::with_attachment(),
            fixtures::big(BIG_ATTACHMENT),
        ];
        dovecot.deliver_many(USER, "Big", big.into_iter().map(Delivery::new));
        let port = dovecot.tls_port();
        let delayed = FaultProxy::builder(port).delay(ONE_WAY).start();
        let (near, far) = (Route::near(port), Route::far(delayed));
        let watched = Route::near(port).through(FaultProxy::to(port));
        let facts = Facts::learn(&mut dovecot.login(USER, PASSWORD));
        let state = tempfile::tempdir().expect("make a state directory");
        let mut world = Self {
            near,
            far,
            watched,
            facts,
            dovecot,
            state,
        };
        world.facts.cursors = world.cursors();
        world
    }

    /// The program, with the account behind `route`, greeted.
    pub(crate) fn client(&self, route: &Route) -> McpClient {
        let mut client = McpClient::spawn(self.program(route));
        client.initialize();
        client
    }

    pub(crate) fn program(&self, route: &Route) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mailwarden"));
        let ours = |name: &str| name.starts_with("MAIL_") || name.starts_with("MAILWARDEN_");
        for (name, _) in std::env::vars_os() {
            if name.to_str().is_some_and(ours) {
                command.env_remove(&name);
            }
        }
        command
            .arg("stdio")
            .env("MAILWARDEN_STATE_DIR", self.state.path())
            .env("MAIL_IMAP_CA_CERT_PATH", self.dovecot.ca_path())
            .env("MAIL_IMAP_DEFAULT_HOST", HOST)
            .env("MAIL_IMAP_DEFAULT_PORT", route.port.to_string())
            .env("MAIL_IMAP_DEFAULT_SECURE", "true")
            .env("MAIL_IMAP_DEFAULT_USER", USER)
            .env("MAIL_IMAP_DEFAULT_PASS", PASSWORD);
        command
    }

    /// A bare connection that has been greeted.
    pub(crate) fn connect(&self, route: &Route) -> RawImap {
        RawImap::connect_tls(route.port, self.dovecot.ca().pem(), HOST).expect("a TLS connection")
    }

    /// The cursors to the second page of everything, and of the search by sender. They serve any process that shares
    /// the state directory, any number of times.
    fn cursors(&self) -> [String; 2] {
        let mut client = self.client(&self.near);
        [
            json!({ "mailbox": "INBOX" }),
            json!({ "mailbox": "INBOX", "from": super::facts::SENDER }),
        ]
        .map(|arguments| {
            let page = client.call("imap_search_messages", arguments);
            page.structured["data"]["next_cursor"]
                .as_str()
                .expect("a second page")
                .to_owned()
        })
    }
}

impl Route {
    fn near(port: u16) -> Self {
        Self {
            name: "loopback",
            goal: Goal::MoreMs(2.0),
            rounds: 200,
            fresh_rounds: 60,
            port,
            proxy: None,
        }
    }

    fn far(delayed: FaultProxy) -> Self {
        let far = Self {
            name: "20 ms round-trip time",
            goal: Goal::Ratio(1.3),
            rounds: 60,
            fresh_rounds: 25,
            ..Self::near(delayed.port())
        };
        far.through(delayed)
    }

    fn through(self, proxy: FaultProxy) -> Self {
        Self {
            port: proxy.port(),
            proxy: Some(proxy),
            ..self
        }
    }

    /// Runs `work`, and tells what the proxy saw meanwhile, if there is one.
    pub(crate) fn watch<T>(&self, work: impl FnOnce() -> T) -> (T, Option<Stats>) {
        if let Some(proxy) = &self.proxy {
            proxy.reset_stats();
        }
        let done = work();
        (done, self.proxy.as_ref().map(FaultProxy::stats))
    }
}

/// A message in which 40 kB of text have to be read, each line in `around`.
fn long(i: u32, subtype: &str, around: [&str; 2]) -> Delivery {
    let [before, after] = around;
    let line = format!("{before}The quick brown fox jumps over the lazy dog once more.{after}\r\n");
    let head = format!(
        "Date: Tue, 03 Nov 2026 09:12:00 +0100\r\nFrom: Anna Adler <anna@example.com>\r\n\
         To: alice@example.org\r\nSubject: Long {i}\r\nMessage-ID: <long{i}@example.com>\r\n\
         MIME-Version: 1.0\r\nContent-Type: text/{subtype}; charset=utf-8\r\n\r\n"
    );
    Delivery::new(head + &line.repeat(LONG_TEXT / line.len()))
}
