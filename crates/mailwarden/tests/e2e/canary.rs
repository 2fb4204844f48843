//! Nothing that is secret or was written by others gets onto stderr, into the state directory or into what fails; at the
//! most verbose level, whatever is asked, whoever answers.

mod planted;
pub(crate) mod trail;

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use testkit::{Dovecot, Fake, McpClient, closed_port};

use crate::audit_records::endings::leave;
use crate::installation::Installation;
use crate::support::{Account, configure, start};
use planted::{CANARIES, Shown};
use trail::Trail;

const EVERYTHING: &str = "trace,rmcp=trace,rmcp::service=trace,imap=trace,sources=trace,gateway=trace,content=trace,\
    extract=trace,audit=trace,mailwarden=trace,mail=trace,policy=trace,rustls=trace,tokio=trace";

/// An answer, and what gave it.
struct Answer {
    tool: &'static str,
    about: String,
    good: bool,
    trail: Trail,
}

/// A conversation of which every answer is kept.
struct Talk {
    client: McpClient,
    answers: Vec<Answer>,
}

impl Talk {
    fn ask(&mut self, tool: &'static str, method: &str, params: Value) -> Option<Value> {
        let about = format!("{method} {params}");
        let (good, answer) = match self.client.request(method, params) {
            Ok(result) => (result["isError"] != true, result),
            Err(error) => (false, json!([error.code, error.message, error.data])),
        };
        let trail = Trail::of(answer.to_string().as_bytes());
        self.answers.push(Answer {
            tool,
            about,
            good,
            trail,
        });
        good.then_some(answer)
    }

    fn call(&mut self, tool: &'static str, arguments: Value) -> Option<Value> {
        let params = json!({ "name": tool, "arguments": arguments });
        self.ask(tool, "tools/call", params)
    }

    /// Everything that can be asked of an account, and what it answers with.
    fn exhaust(&mut self, account: &str) {
        self.call("imap_verify_account", json!({ "account_id": account }));
        self.call("imap_list_mailboxes", json!({ "account_id": account }));
        let search = json!({ "account_id": account, "mailbox": "INBOX", "include_snippet": true, "limit": 50 });
        let found = self.call("imap_search_messages", search);
        let criteria = json!({
            "account_id": account, "mailbox": "INBOX", "query": planted::QUERY, "from": planted::FROM,
            "to": planted::TO, "subject": planted::ABOUT,
        });
        self.call("imap_search_messages", criteria);
        let messages = found.map(|found| found["structuredContent"]["data"]["messages"].clone());
        let messages = messages.as_ref().and_then(Value::as_array).cloned();
        for message in messages.into_iter().flatten() {
            let id = &message["message_id"];
            let all = json!({
                "message_id": id, "include_html": true, "include_all_headers": true, "extract_attachment_text": true,
            });
            self.call("imap_get_message", all);
            self.call("imap_get_message_raw", json!({ "message_id": id }));
            let uri = message["message_uri"].clone();
            self.ask("imap_get_message", "resources/read", json!({ "uri": uri }));
            let uri = message["message_raw_uri"].clone();
            self.ask(
                "imap_get_message_raw",
                "resources/read",
                json!({ "uri": uri }),
            );
        }
        for id in ["imap", "maildir"].map(|kind| format!("{kind}:{account}:INBOX:1:999")) {
            self.call("imap_get_message", json!({ "message_id": id }));
            self.call("imap_get_message_raw", json!({ "message_id": id }));
        }
        self.complete("mailbox", json!({ "arguments": { "account": account } }));
    }

    fn complete(&mut self, name: &str, context: Value) {
        let template = "imap://{account}/mailbox/{mailbox}/message/{uidvalidity}/{uid}";
        let params = json!({
            "ref": { "type": "ref/resource", "uri": template },
            "argument": { "name": name, "value": planted::TYPED },
            "context": context,
        });
        self.ask("imap_list_mailboxes", "completion/complete", params);
    }

    /// What no account is needed for, and what is refused for what it asks.
    fn misbehave(&mut self) {
        let word = planted::FIELD;
        self.call("imap_list_accounts", json!({}));
        for (tool, arguments) in [
            ("imap_list_accounts", json!({ word: word })),
            (
                "imap_search_messages",
                json!({ "mailbox": "INBOX", "query": { word: word } }),
            ),
            (
                "imap_search_messages",
                json!({ "mailbox": "INBOX", "query": format!("{}\n", planted::QUERY) }),
            ),
            (
                "imap_search_messages",
                json!({ "mailbox": "INBOX", "cursor": planted::CURSOR }),
            ),
            ("imap_search_messages", json!({ "query": planted::QUERY })),
            (
                "imap_search_messages",
                json!({ "mailbox": "INBOX", "limit": word }),
            ),
            (
                "imap_search_messages",
                json!({ "mailbox": "Nowhere", "query": planted::QUERY }),
            ),
            ("imap_get_message", json!({ "message_id": planted::URI })),
            (planted::TOOL, json!({ word: word })),
        ] {
            self.call(tool, arguments);
        }
        for uri in [
            planted::URI.to_owned(),
            format!("imap://{}/raw", planted::URI),
        ] {
            self.ask("imap_get_message", "resources/read", json!({ "uri": uri }));
        }
        self.complete("account", json!({}));
        self.ask("imap_list_accounts", planted::TOOL, json!({ word: word }));
        self.client
            .send_line(&format!("{{ {} no JSON", planted::QUERY));
    }
}

/// Says back all that it is told, as some servers do: when it refuses a login, and in one word more than it should.
fn echo(capabilities: &'static str) -> Fake {
    Fake::script(move |s| {
        s.greet(&format!("* OK [CAPABILITY {capabilities}] hello\r\n"));
        loop {
            let said = s.command().text().replace(['\r', '\n'], " ");
            match s.number() % 3 {
                0 => s.no(&format!("[AUTHENTICATIONFAILED] you said {said}")),
                1 => s.bad(&format!("what is {said}")),
                _ => {
                    s.untagged(&format!("BYE {said} is too much"));
                    s.close();
                }
            }
        }
    })
}

/// Lets everybody in, and tells of its own trouble after that.
fn troubled() -> Fake {
    Fake::script(|s| {
        s.log_in("IMAP4rev1");
        loop {
            s.command();
            s.no(&format!("[SERVERBUG] {}", planted::SERVER));
        }
    })
}

/// Every server that accounts are configured for.
struct World {
    dovecot: Dovecot,
    echo: Fake,
    echo_sasl: Fake,
    troubled: Fake,
    dead: testkit::ports::ReservedPort,
    local: tempfile::TempDir,
}

impl World {
    fn new() -> Self {
        Self {
            dovecot: planted::server(),
            echo: echo("IMAP4rev1"),
            echo_sasl: echo("IMAP4rev1 AUTH=PLAIN SASL-IR"),
            troubled: troubled(),
            dead: closed_port(),
            local: maildir(),
        }
    }

    fn configure(&self, command: &mut Command) {
        let plain = Account {
            port: self.dovecot.port(),
            user: planted::USER,
            pass: planted::PASSWORD,
            ..Account::default()
        };
        let at = |port: u16| Account { port, ..plain };
        let encrypted = |port: u16, secure: &'static str| Account {
            host: "localhost",
            port,
            secure,
            user: planted::TLS_USER,
            pass: planted::TLS_PASSWORD,
        };
        let wrong = |account: Account<'static>| Account {
            pass: planted::WRONG,
            ..account
        };
        for (name, account) in [
            ("DEFAULT", at(self.dovecot.port())),
            ("TLS", encrypted(self.dovecot.tls_port(), "true")),
            ("STARTTLS", encrypted(self.dovecot.port(), "starttls")),
            ("WRONG", wrong(at(self.dovecot.port()))),
            (
                "WRONGTLS",
                wrong(encrypted(self.dovecot.tls_port(), "true")),
            ),
            ("NOTLS", encrypted(self.dead.number(), "true")),
            ("DEAD", at(self.dead.number())),
            ("TROUBLED", at(self.troubled.port())),
            ("ECHO", at(self.echo.port())),
            ("ECHOSASL", at(self.echo_sasl.port())),
        ] {
            configure(command, name, &account);
        }
        command
            .env("MAIL_MAILDIR_LOCAL_PATH", self.local.path())
            .env("MAIL_IMAP_CA_CERT_PATH", self.dovecot.ca_path());
    }
}

/// A Maildir with a good message, and files that are none.
fn maildir() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for sub in ["cur", "new", "tmp"] {
        std::fs::create_dir(dir.path().join(sub)).unwrap();
    }
    let put = |name: String, text: &[u8]| std::fs::write(dir.path().join(name), text).unwrap();
    let text = format!(
        "From: {0}@example.com\r\nSubject: {0}\r\n\r\n{0}\r\n",
        planted::LOCAL_TEXT
    );
    put(
        format!("cur/1760000001.{}.host:2,S", planted::LOCAL_FILE),
        text.as_bytes(),
    );
    put(format!("new/{} \n", planted::LOCAL_FILE), text.as_bytes());
    dir
}

/// What must not be found anywhere but where it may be shown.
fn assert_without(trail: &Trail, place: &str) {
    for canary in CANARIES {
        assert!(!trail.holds(canary.word), "{} in {place}", canary.word);
    }
}

fn assert_files_are_without(home: &Installation) {
    for (path, bytes) in home.files() {
        assert_without(&Trail::of(&bytes), &path.display().to_string());
        assert_without(
            &Trail::of(path.as_os_str().as_encoded_bytes()),
            "a file's name",
        );
    }
}

/// Every line is one object, with what each must have.
fn assert_objects(log: &str) {
    let mut with_request = 0;
    for line in log.lines() {
        let line: Value = serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"));
        for name in ["time", "level", "target", "message"] {
            assert!(line[name].is_string(), "{name} in {line}");
        }
        with_request += usize::from(line["request_id"].is_string());
    }
    assert!(with_request > 0);
}

/// Bytes behind the last record, as a crash leaves them.
fn tear(audit: &Path) {
    let newest = audit::days(audit).unwrap().pop().unwrap();
    let mut bytes = std::fs::read(&newest.path).unwrap();
    bytes.truncate(bytes.len() - 9);
    std::fs::write(&newest.path, bytes).unwrap();
}

#[test]
fn no_canary_is_heard_where_it_should_not_be() {
    let world = World::new();
    let home = Installation::new();
    for (filter, errors, form) in [
        ("trace", "protocol", "text"),
        (EVERYTHING, "result", "json"),
    ] {
        let mut command = home.program();
        world.configure(&mut command);
        command
            .env("MAILWARDEN_LOG", filter)
            .env("MAILWARDEN_LOG_FORMAT", form)
            .env("MAILWARDEN_METRICS_ADDR", "0")
            .env("MAIL_IMAP_ERRORS", errors);
        let mut talk = Talk {
            client: start(command),
            answers: Vec::new(),
        };
        for account in [
            "default", "tls", "starttls", "wrong", "wrongtls", "notls", "dead", "troubled",
            "local", "nobody",
        ] {
            talk.exhaust(account);
        }
        talk.misbehave();
        for account in ["echo", "echosasl"] {
            talk.exhaust(account);
        }
        assert_answers(&talk.answers);
        let counted = crate::operations::Scrape::of(&talk.client).text;
        assert!(
            counted.contains("tool=\"imap_search_messages\""),
            "{counted}"
        );
        assert_without(&Trail::of(counted.as_bytes()), "metrics");
        leave(&mut talk.client);
        let log = talk.client.stderr();
        for said in ["gateway", "sources", "logged in", "no login", "refused"] {
            assert!(log.contains(said), "{said} in {log}");
        }
        assert_without(&Trail::of(log.as_bytes()), "stderr");
        if form == "json" {
            assert_objects(&log);
        }
        tear(&home.audit());
    }
    assert_proven(&world);
    check(&world, &home);
    let kept: Vec<String> = home
        .files()
        .iter()
        .map(|(path, _)| path.display().to_string())
        .collect();
    for name in [".jsonl", ".torn-", "log.pub", "cursor.key", "checkpoint"] {
        assert!(
            kept.iter().any(|path| path.contains(name)),
            "{name} in {kept:?}"
        );
    }
    assert_files_are_without(&home);
}

/// Mail in good answers of tools that show it, secrets in none, and of what fails only what is the caller's own.
fn assert_answers(answers: &[Answer]) {
    const SHOW_MAIL: [&str; 4] = [
        "imap_list_mailboxes",
        "imap_search_messages",
        "imap_get_message",
        "imap_get_message_raw",
    ];
    for canary in CANARIES {
        let word = canary.word;
        let heard: Vec<&Answer> = answers
            .iter()
            .filter(|answer| answer.trail.holds(word))
            .collect();
        for answer in &heard {
            let may = match canary.shown {
                Shown::Nowhere => false,
                Shown::By(_) => answer.good && SHOW_MAIL.contains(&answer.tool),
                Shown::ToWhoAsked => true,
            };
            assert!(may, "{word} in the answer to {}", answer.about);
        }
        if let Shown::By(tools) = canary.shown {
            for tool in tools {
                assert!(
                    heard.iter().any(|answer| answer.tool == *tool),
                    "{word} is not shown by {tool}"
                );
            }
        }
    }
    let (good, bad): (Vec<&Answer>, Vec<&Answer>) = answers.iter().partition(|answer| answer.good);
    assert!(
        good.len() > 60 && bad.len() > 40,
        "{} and {}",
        good.len(),
        bad.len()
    );
}

/// The secrets are what servers were sent: they would have been found.
fn assert_proven(world: &World) {
    for fake in [&world.echo, &world.echo_sasl, &world.troubled] {
        let sent = Trail::of(fake.commands().join("\n").as_bytes());
        assert!(sent.holds(planted::PASSWORD) && sent.holds(planted::USER));
    }
    let log = Trail::of(world.dovecot.log().as_bytes());
    assert!(log.holds(planted::USER) && log.holds(planted::TLS_USER));
}

/// `check` goes to every account but the one whose server says what it likes.
fn check(world: &World, home: &Installation) {
    let mut command = home.program();
    world.configure(&mut command);
    for suffix in ["HOST", "PORT", "SECURE", "USER", "PASS"] {
        command.env_remove(format!("MAIL_IMAP_TROUBLED_{suffix}"));
    }
    let output = command
        .arg("check")
        .env("MAILWARDEN_LOG", EVERYTHING)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let shown = String::from_utf8(output.stdout).unwrap();
    assert!(
        shown.contains("auth_failed") && shown.contains("ok login in"),
        "{shown}"
    );
    assert_without(&Trail::of(shown.as_bytes()), "what check prints");
    assert_without(&Trail::of(&output.stderr), "stderr of check");
}
