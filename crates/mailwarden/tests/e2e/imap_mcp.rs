//! The documents of imap-mcp, sentence by sentence: each row quotes one and checks it on the built
//! program, as the contract of the project amends it.
//!
//! The example files stand here word for word. Only host names, ports and paths are replaced, and
//! lines that a test server needs are added; [`Ground`] says which.

mod audit_log;
mod clients;
mod commands;
mod configuration;
mod gmail;
mod levels;
mod login;
mod tools;

use std::os::unix::fs::symlink;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use testkit::mcp::CallOutcome;
use testkit::{Dovecot, HttpServer, McpClient};

use crate::directory::{Directory, Printed};

/// A sentence of the seed, and the check that it holds.
struct Row<T>(&'static str, fn(&mut T));

/// Checks every row, and names the sentence of the first that does not hold.
fn check_all<T>(rows: &[Row<T>], ground: &mut T) {
    for Row(sentence, check) in rows {
        let came = catch_unwind(AssertUnwindSafe(|| check(ground)));
        if let Err(why) = came {
            let text = why.downcast_ref::<String>().map(String::as_str);
            let words = text.or_else(|| why.downcast_ref::<&str>().copied());
            panic!(
                "the document says: {sentence}\n{}",
                words.unwrap_or_default()
            );
        }
    }
}

const ACCOUNTS: &str = r#"accounts:
  - id: company-mail
    provider: imap-standard      # or "google" for Gmail
    host: imap.example.com
    port: 993
    auth:
      type: password             # or "xoauth2"
      secret_ref: secret://accounts/company-mail/password
    token_cache: memory_only     # or "persist_all" (OAuth only)

  - id: gmail-invoices
    provider: google
    host: imap.gmail.com
    port: 993
    auth:
      type: xoauth2
      secret_ref: secret://accounts/gmail-invoices/refresh_token
      oauth_scope: https://mail.google.com/
    token_cache: persist_all

secret_store:
  backend: file_dir              # or "env_var" or "gpg_file"
  path: /etc/imap-mcp/secrets

audit:
  directory: /var/log/imap-mcp/audit
  hot_days: 90                   # days before gzip compression
  warm_days: 275                 # additional days as .gz
  delete_after_days: 365         # total age before deletion
  external_root_hook: /usr/local/bin/audit-root-notify

wal:
  path: /var/lib/imap-mcp/wal.db
"#;

const CALLERS: &str = "\
callers:
  - id: invoice-agent
    policy: invoice-policy
    auth:
      type: shared_token
      token_secret_ref: secret://callers/invoice-agent/token

  - id: overview-bot
    policy: overview-policy
    auth:
      type: stdio_trusted
";

const INVOICE_POLICY: &str = "\
name: invoice-policy
accounts:
  company-mail:
    - path: INBOX/Invoices
      mode: whitelist
      default: NONE
      mark_seen: true
      move_out: true
      rules:
        - match: { from_domain: hornbach.de }
          grant: FULL
        - match: { from_domain: amazon.de }
          grant: FULL
    - path: Archive/Invoices-2026
      mode: whitelist
      default: NONE
      accept_incoming: true
      rules: []
  gmail-invoices:
    - path: Rechnungen
      mode: whitelist
      default: NONE
      mark_seen: true
      move_out: true
      rules:
        - match: { from_domain: hornbach.de }
          grant: FULL
";

/// The seed names this policy and does not show it.
const OVERVIEW_POLICY: &str = "\
name: overview-policy
accounts:
  company-mail:
    - { path: INBOX, mode: blacklist, default: ENVELOPE, rules: [] }
    - { path: Drafts, mode: whitelist, default: NONE, draft_append: true, rules: [] }
";

const TOKEN: &str = "the-token-of-the-invoice-agent";
const FOLDER: &str = "INBOX/Invoices";
const ARCHIVE: &str = "Archive/Invoices-2026";
const INVOICE: &str = "From: Hornbach <rechnung@hornbach.de>\r\nTo: billing@company.example\r\n\
    Subject: Rechnung 7823\r\nDate: Tue, 3 Nov 2026 09:12:00 +0100\r\nMessage-ID: <7823@hornbach.de>\r\n\
    X-Hornbach-Order: 4711\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=m\r\n\r\n\
    --m\r\nContent-Type: multipart/alternative; boundary=a\r\n\r\n\
    --a\r\nContent-Type: text/plain; charset=utf-8\r\n\r\nSehr geehrte Damen und Herren\r\n\
    --a\r\nContent-Type: text/html; charset=utf-8\r\n\r\n\
    <p>Sehr geehrte Damen und Herren</p><script>alert(1)</script>\r\n--a--\r\n\
    --m\r\nContent-Type: application/pdf\r\nContent-Disposition: attachment; filename=\"invoice.pdf\"\r\n\
    Content-Transfer-Encoding: base64\r\n\r\nJVBERi0xLjQgY2FuYXJ5\r\n--m--\r\n";

fn letter(from: &str, subject: &str) -> Vec<u8> {
    format!(
        "From: {from}\r\nTo: team@company.example\r\nSubject: {subject}\r\n\
         Date: Tue, 3 Nov 2026 09:12:00 +0100\r\nMessage-ID: <{subject}@x>\r\n\r\nbody of {subject}\r\n"
    )
    .into_bytes()
}

/// The mail server, and the seed's files in front of it.
struct Ground {
    server: Dovecot,
    dir: Directory,
}

impl Ground {
    fn new() -> Self {
        let server = Dovecot::builder()
            .user("company-mail", "secret")
            .folder(FOLDER)
            .folder(ARCHIVE)
            .folder("Banking")
            .start();
        for raw in [
            INVOICE.as_bytes().to_vec(),
            letter("orders@amazon.de", "order"),
            letter("spam@unrelated.example", "zanzibar"),
        ] {
            server.deliver("company-mail", FOLDER, &raw);
        }
        server.deliver(
            "company-mail",
            "INBOX",
            &letter("anna@example.com", "lunch"),
        );
        let dir = Directory::new(server.port(), server.port());
        let ground = Self { server, dir };
        ground.dir.write("accounts.yaml", &ground.accounts());
        ground.dir.write("callers.yaml", CALLERS);
        ground
            .dir
            .write("policies/invoice-agent.yaml", INVOICE_POLICY);
        ground
            .dir
            .write("policies/overview-bot.yaml", OVERVIEW_POLICY);
        ground.secret("accounts/company-mail/password", "secret");
        ground.secret("callers/invoice-agent/token", TOKEN);
        ground
    }

    /// The example with this machine's places. The hosts are this machine's: the first is the test
    /// server, which is trusted by MAIL_IMAP_CA_CERT_PATH, and the second answers to nothing.
    fn accounts(&self) -> String {
        let hook = self.dir.write("audit-root-notify", "#!/bin/sh\nexit 0\n");
        let mut mode = std::fs::metadata(&hook).unwrap().permissions();
        std::os::unix::fs::PermissionsExt::set_mode(&mut mode, 0o755);
        std::fs::set_permissions(&hook, mode).unwrap();
        let place = |name: &str| self.dir.path().join(name).display().to_string();
        let mut text = ACCOUNTS.to_owned();
        for (word, ours) in [
            (
                "host: imap.example.com\n    port: 993",
                format!("host: 127.0.0.1\n    port: {}", self.server.tls_port()),
            ),
            ("host: imap.gmail.com", "host: 127.0.0.1".to_owned()),
            ("/etc/imap-mcp/secrets", place("secrets")),
            ("/var/log/imap-mcp/audit", place("log/audit")),
            (
                "/usr/local/bin/audit-root-notify",
                hook.display().to_string(),
            ),
            ("/var/lib/imap-mcp/wal.db", place("lib/wal.db")),
        ] {
            assert!(text.contains(word), "{word}");
            text = text.replace(word, &ours);
        }
        text
    }

    fn secret(&self, name: &str, text: &str) {
        self.dir.secret(&format!("secrets/{name}"), text);
    }

    /// The program under this name, as an installation links it.
    fn command(&self, name: &str) -> Command {
        let link = self.dir.path().join(name);
        if !link.exists() {
            symlink(env!("CARGO_BIN_EXE_mailwarden"), &link).unwrap();
        }
        let mut command = Command::new(link);
        for (name, value) in self.dir.program().get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command
            .env("MAIL_IMAP_CA_CERT_PATH", self.server.ca_path())
            .env("IMAP_MCP_OAUTH_CLIENT_ID", "client-1")
            .stdin(Stdio::piped());
        command
    }

    /// `imap-mcp --transport stdio`, as this caller.
    fn stdio(&self, caller: &str, variables: &[(&str, &str)]) -> McpClient {
        let mut command = self.command("imap-mcp");
        command.args(["--transport", "stdio"]);
        command.env("IMAP_MCP_CALLER_ID", caller);
        command.envs(variables.iter().copied());
        let mut client = McpClient::spawn(command);
        client.initialize();
        client
    }

    /// A caller that has a token brings it on stdio too. The program says when it has read its
    /// configuration again.
    fn invoice_agent(&self) -> McpClient {
        let variables = [("IMAP_MCP_CALLER_TOKEN", TOKEN), ("MAILWARDEN_LOG", "info")];
        self.stdio("invoice-agent", &variables)
    }

    /// `imap-mcp --transport http` with these words; the error is what it says instead.
    fn http(&self, words: &[&str], variables: &[(&str, &str)]) -> Result<HttpServer, String> {
        let mut command = self.command("imap-mcp");
        command.args(["--transport", "http"]).args(words);
        command.envs(variables.iter().copied());
        HttpServer::try_spawn(command).map_err(|(_, said)| said)
    }

    /// Leaves out the caller that the HTTP transport refuses.
    fn without_trusted_callers(&self) {
        let (kept, _) = CALLERS.split_once("\n  - id: overview-bot").unwrap();
        self.dir.write("callers.yaml", &format!("{kept}\n"));
    }

    fn check(&self) -> Printed {
        let mut command = self.command("imap-mcp");
        let output = command.args(["config", "check"]).output().unwrap();
        Printed::new(self.dir.path(), &output)
    }

    /// A stdio caller with a policy of this one folder.
    fn caller(&self, id: &str, folder: &str) {
        let mut callers = std::fs::read_to_string(self.dir.path().join("callers.yaml")).unwrap();
        if !callers.contains(&format!("- id: {id}\n")) {
            callers.push_str(&format!(
                "  - id: {id}\n    policy: {id}\n    auth:\n      type: stdio_trusted\n"
            ));
            self.dir.write("callers.yaml", &callers);
        }
        let policy = format!("name: {id}\naccounts:\n  company-mail:\n{folder}");
        self.dir.write(&format!("policies/{id}.yaml"), &policy);
    }

    fn records(&self) -> Vec<Value> {
        let days = audit::days(&self.dir.path().join("log/audit")).unwrap();
        let texts = days
            .into_iter()
            .map(|day| std::fs::read_to_string(day.path).unwrap());
        let text: String = texts.collect();
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }
}

/// Arguments about a message of the invoices.
fn invoice(uid: u32) -> Value {
    json!({ "account_id": "company-mail", "folder": FOLDER, "uid": uid })
}

fn data<'a>(outcome: &'a CallOutcome, pointer: &str) -> &'a Value {
    let data = outcome.structured.pointer(&format!("/data{pointer}"));
    data.unwrap_or_else(|| panic!("nothing at {pointer}: {}", outcome.structured))
}

/// The call was allowed and done.
fn allowed(outcome: &CallOutcome) {
    assert!(!outcome.is_error, "{}", outcome.text);
    assert_eq!(data(outcome, "/decision"), "ALLOW");
}

/// Why the call was denied.
fn denied(outcome: &CallOutcome) -> String {
    assert!(outcome.is_error, "{}", outcome.structured);
    assert_eq!(outcome.structured["success"], false);
    assert_eq!(data(outcome, "/decision"), "DENY");
    data(outcome, "/reason").as_str().unwrap().to_owned()
}

fn listed(client: &mut McpClient) -> Vec<String> {
    let tools = client.request("tools/list", json!({})).unwrap();
    let tools = tools["tools"].as_array().unwrap().iter();
    tools
        .map(|one| one["name"].as_str().unwrap().to_owned())
        .collect()
}
