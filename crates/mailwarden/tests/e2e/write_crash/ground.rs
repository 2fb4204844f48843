//! Two mail servers for many cells, and a plot in them for each: mailboxes of its own at both, a proxy before each of
//! them, and a state directory that no other cell uses.

use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;
use testkit::world::{self, Found, Item};
use testkit::{Delivery, Dovecot, FaultProxy, Flag, McpClient, RawImap, Seed, Seeds, World};

use crate::installation::Installation;
use crate::support::{Account, configure};

/// The accounts as the program calls them. The second one's server has no trash.
pub(crate) const HOME: &str = "default";
pub(crate) const AWAY: &str = "second";
pub(crate) const PASSWORD: &str = "secret";
/// The generation of every folder that is filled beforehand.
pub(crate) const GENERATION: u32 = 1_234;
/// The message that changes are about, in both INBOXes. Its neighbours must stay as they are.
pub(crate) const SUBJECT: u32 = 22;

pub(crate) struct Ground {
    home: Dovecot,
    away: Dovecot,
    plots: AtomicUsize,
}

/// Where one cell is run.
pub(crate) struct Plot<'a> {
    ground: &'a Ground,
    user: String,
    pub(crate) state: Installation,
    pub(crate) home: FaultProxy,
    pub(crate) away: FaultProxy,
    variables: Vec<(String, String)>,
}

/// A line of `mailwarden tx list --all --json`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Line {
    pub(crate) id: String,
    pub(crate) kind: String,
    pub(crate) state: String,
    /// What was done, for whoever wonders.
    pub(crate) story: String,
    /// SHA-256 of the message, as far as it is known.
    pub(crate) hash: String,
}

impl Ground {
    pub(crate) fn new() -> Self {
        // What a server keeps through a crash of its own is not the question here.
        let server = || {
            Dovecot::builder()
                .anyone(PASSWORD)
                .max_connections(200)
                .config("mail_fsync = never")
        };
        Self {
            home: server().start(),
            away: server()
                .config(
                    "namespace inbox {\n  mailbox Trash {\n    auto = no\n    special_use =\n  }\n}",
                )
                .start(),
            plots: AtomicUsize::new(0),
        }
    }

    /// Fresh mailboxes, with the extensions that `hidden` names taken away from both servers.
    pub(crate) fn plot(&self, hidden: &str, variables: &[(&str, &str)]) -> Plot<'_> {
        let number = self.plots.fetch_add(1, Ordering::Relaxed);
        let user = format!("u{number}");
        for server in [&self.home, &self.away] {
            server.create_user(&user);
            server.create_folder(&user, "Target");
            fill(server, &user);
        }
        let proxy = |server: &Dovecot| match hidden {
            "" => FaultProxy::to(server.port()),
            hidden => FaultProxy::builder(server.port()).strip(hidden).start(),
        };
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        Plot {
            ground: self,
            user,
            state: Installation::new(),
            home: proxy(&self.home),
            away: proxy(&self.away),
            variables: variables.iter().map(own).collect(),
        }
    }
}

impl Plot<'_> {
    /// The program, told of both accounts by way of the proxies.
    pub(crate) fn program(&self) -> Command {
        let mut command = self.state.program();
        for (name, proxy) in [("DEFAULT", &self.home), ("SECOND", &self.away)] {
            let account = Account {
                port: proxy.port(),
                user: &self.user,
                pass: PASSWORD,
                ..Account::default()
            };
            configure(&mut command, name, &account);
        }
        // For whoever looks into one cell.
        if let Some(level) = std::env::var_os("CRASH_LOG") {
            command.env("MAILWARDEN_LOG", level);
        }
        command
            .env("MAIL_IMAP_WRITE_ENABLED", "true")
            // The servers are here, and a cut lets them finish first.
            .env("MAIL_IMAP_SETTLE_TIMEOUT_MS", "1000")
            .env("MAILWARDEN_TOOLSETS", "imap,gateway")
            .envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    /// All mail of both accounts, read past the proxies.
    pub(crate) fn world(&self) -> World {
        World::read(&mut [(HOME, self.bare(HOME)), (AWAY, self.bare(AWAY))])
    }

    /// A connection to an account that does not go by way of a proxy.
    pub(crate) fn bare(&self, account: &str) -> RawImap {
        let server = match account {
            HOME => &self.ground.home,
            _ => &self.ground.away,
        };
        server.login(&self.user, PASSWORD)
    }

    pub(crate) fn folder(&self, account: &str, folder: &str) -> Vec<Found> {
        world::list(&mut self.bare(account), account, folder)
    }

    /// The message that a change is about, as it lies in an INBOX.
    pub(crate) fn subject(&self, account: &str) -> Item {
        let all = self.folder(account, "INBOX");
        let found = all.into_iter().find(|found| found.uid == SUBJECT);
        found.expect("the message").item
    }

    /// What the ledger holds, in its own words.
    pub(crate) fn transactions(&self) -> Vec<Line> {
        let mut command = self.program();
        command
            .args(["tx", "list", "--all", "--json"])
            .stdin(Stdio::null());
        let output = command.output().expect("run the program");
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(
            output.status.success(),
            "tx list: {}\n{text}{}",
            output.status,
            String::from_utf8_lossy(&output.stderr)
        );
        lines(&text)
    }

    /// Waits until no transaction is under way; what is when patience ends is told as it is. A fast machine looks often.
    pub(crate) fn settled(&self) -> Vec<Line> {
        const PATIENCE: Duration = Duration::from_secs(60);
        let begun = Instant::now();
        let mut lines = self.transactions();
        while lines.iter().any(|line| line.state == "open") && begun.elapsed() < PATIENCE {
            lines = self.transactions();
        }
        lines
    }

    /// Forgets all faults, and waits until the servers have done what they were sent. The program must be gone.
    pub(crate) fn calm(&self) {
        for proxy in [&self.home, &self.away] {
            proxy.disarm();
            proxy.await_idle();
        }
    }
}

/// Ends a conversation as a client that leaves does, and the program if it does not go.
pub(crate) fn leave(mut client: McpClient) {
    client.close_stdin();
    let _ = client.wait_exit(Duration::from_secs(10));
    client.kill();
}

fn lines(text: &str) -> Vec<Line> {
    let value: Value = serde_json::from_str(text).expect("JSON");
    let list = value["transactions"].as_array().expect("transactions");
    list.iter()
        .map(|line| {
            let word = |name: &str| line[name].as_str().expect("a word").to_owned();
            Line {
                id: word("transaction_id"),
                kind: word("kind"),
                state: word("state"),
                story: story(line),
                hash: line["sha256"].as_str().unwrap_or_default().to_owned(),
            }
        })
        .collect()
}

/// Step by step, for people.
fn story(line: &Value) -> String {
    let word = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let steps = line["steps"].as_array().into_iter().flatten();
    let steps = steps.map(|step| {
        let [name, state, why] = ["name", "state", "why"].map(|name| word(&step[name]));
        format!("{name}:{state}:{why}")
    });
    let steps = steps.collect::<Vec<_>>().join(" ");
    let (code, words) = (word(&line["code"]), word(&line["words"]));
    let (tool, source) = (word(&line["tool"]), word(&line["source"]));
    let target = word(&line["target"]["folder"]);
    let (uid, flags) = (&line["landed"]["uid"], &line["flags_before"]);
    format!("{tool} of {source} {flags} to {target} {uid} [{steps}] {code} ({words})")
}

/// Mail that invites mistakes: neighbours that somebody else flagged for deletion, the same Message-ID with another
/// content at the target, and the very same message there already.
fn fill(server: &Dovecot, user: &str) {
    let flags = [Flag::Flagged, Flag::Seen];
    let subject = seed(
        SUBJECT,
        "wanted",
        "the message itself",
        &flags,
        &["project"],
    );
    let doomed = [Flag::Deleted, Flag::Seen];
    let inbox = [
        seed(11, "doomed", "flagged by somebody else", &doomed, &[]),
        subject.clone(),
        seed(33, "bystander", "nothing to do with it", &[], &["other"]),
    ];
    let namesake = seed(5, "wanted", "another content", &[], &[]);
    let twin = Seed {
        uid: 6,
        keywords: Vec::new(),
        delivery: subject.delivery.clone().flags(&[Flag::Answered]),
    };
    let doomed = seed(7, "doomed too", "flagged by somebody else", &doomed, &[]);
    for (folder, messages) in [("INBOX", &inbox[..]), ("Target", &[namesake, twin, doomed])] {
        let seeds = Seeds {
            uidvalidity: GENERATION,
            keywords: &["project", "other"],
            messages,
        };
        server.seed(user, folder, &seeds);
    }
}

fn seed(uid: u32, name: &str, body: &str, flags: &[Flag], keywords: &[&'static str]) -> Seed {
    let raw = format!(
        "Date: Tue, 03 Nov 2026 09:12:00 +0100\r\nFrom: Anna Adler <anna@example.com>\r\n\
         To: alice@example.org\r\nSubject: {name}\r\nMessage-ID: <{}@example.com>\r\n\r\n{body}\r\n",
        name.replace(' ', ".")
    );
    Seed {
        uid,
        delivery: Delivery::new(raw)
            .at(1_780_275_661 + u64::from(uid))
            .flags(flags),
        keywords: keywords.to_vec(),
    }
}
