//! Programs with nothing in common but a PostgreSQL: what one has begun the other knows, and what one hands out the other takes.

use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use testkit::{Dovecot, McpClient, Postgres, postgres};

use crate::changes::ask;
use crate::directory::Directory;
use crate::installation::Installation;
use crate::support::{Account, Look as _, inbox, message_id, note, subjects};

fn replica(home: &Installation, server: &Dovecot, ledger: &Postgres) -> McpClient {
    let account = Account {
        port: server.port(),
        ..Account::default()
    };
    let url = ledger.url();
    let variables = [
        ("MAILWARDEN_LEDGER", url.as_str()),
        ("MAILWARDEN_LEDGER_PASSWORD", postgres::PASSWORD),
        ("MAIL_IMAP_WRITE_ENABLED", "true"),
    ];
    home.client_with(&account, &variables)
}

#[test]
fn what_one_replica_hands_out_and_begins_the_other_takes_and_knows() {
    let server = Dovecot::builder().folder("Target").start();
    for number in 1..=25 {
        server.deliver("alice", "INBOX", &note(&format!("note {number}"), "text"));
    }
    let mut ledger = Postgres::start_durable();
    let homes = [Installation::new(), Installation::new()];
    let [mut one, mut other] = homes.each_ref().map(|home| replica(home, &server, &ledger));

    let page = one.call("imap_search_messages", inbox(json!({})));
    let cursor = page.text("/next_cursor");
    let next = other.call("imap_search_messages", inbox(json!({ "cursor": cursor })));
    assert_eq!(subjects(&next)[0], "note 15");

    let moving = json!({
        "message_id": message_id(&server, "INBOX", 3), "destination_mailbox": "Target", "idempotency_key": "k",
    });
    let moved = ask(&mut one, "imap_move_message", moving.clone());
    let id = moved.data["transaction_id"].clone();
    assert!(id.is_string(), "{:?}", moved.all);
    // A server that starts again costs nobody anything but a moment.
    ledger.kill();
    ledger.start();
    let again = ask(&mut other, "imap_move_message", moving);
    assert_eq!(again.data["transaction_id"], id);
    assert_eq!(again.data["repeated"], true, "{:?}", again.all);
    let mut imap = server.login("alice", "secret");
    let there = imap.command("STATUS Target (MESSAGES)").text();
    assert!(there.contains("MESSAGES 1"), "{there}");

    let mut tx = homes[1].program();
    tx.env("MAILWARDEN_LEDGER", ledger.url())
        .env("MAILWARDEN_LEDGER_PASSWORD", postgres::PASSWORD)
        .args(["tx", "list", "--all", "--json"]);
    let listed = tx.stdin(Stdio::null()).output().unwrap();
    // Which ledger that was, and not how one gets into it.
    let said = String::from_utf8_lossy(&listed.stderr).into_owned();
    assert!(
        said.contains("the ledger is ") && !said.contains(postgres::PASSWORD),
        "{said}"
    );
    let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
    assert!(
        listed.to_string().contains(id.as_str().unwrap()),
        "{listed}"
    );
    for mut client in [one, other] {
        client.close_stdin();
        assert!(
            client
                .wait_exit(Duration::from_secs(30))
                .is_some_and(|it| it.success())
        );
    }
    for home in &homes {
        home.verify();
        assert!(!home.state().join("ledger.db").exists());
    }
    let known = ledger.query(&ledger.url(), "SELECT count(*) FROM mailwarden.replicas");
    assert_eq!(known, "0", "who ends says good-bye");
}

/// Beginning takes longer than anybody waits for, and holds all the same.
pub(crate) const SLOW: &str = "
CREATE FUNCTION mailwarden.slow() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN PERFORM pg_sleep(CASE TG_NAME WHEN 'at_once' THEN 4 ELSE 8 END); RETURN NEW; END $$;
CREATE TRIGGER at_once BEFORE INSERT ON mailwarden.transactions FOR EACH ROW EXECUTE FUNCTION mailwarden.slow();
CREATE CONSTRAINT TRIGGER at_its_end AFTER INSERT ON mailwarden.transactions DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION mailwarden.slow();";

#[test]
fn what_was_refused_is_not_carried_out_by_the_others_when_its_replica_dies() {
    let server = Dovecot::builder().folder("Target").start();
    server.deliver("alice", "INBOX", &note("a note", "text"));
    let ledger = Postgres::start_fast();
    let url = ledger.url();
    let homes = [Installation::new(), Installation::new()];
    let [mut one, mut other] = homes.each_ref().map(|home| replica(home, &server, &ledger));
    ledger.query(&url, SLOW);
    let moving = json!({
        "message_id": message_id(&server, "INBOX", 1), "destination_mailbox": "Target", "idempotency_key": "k",
    });
    let call = json!({ "name": "imap_move_message", "arguments": moving.clone() });
    let refused = one.request("tools/call", call).unwrap_err();
    assert!(
        refused.message.contains("has changed nothing"),
        "{refused:?}"
    );
    assert_eq!(refused.data["code"], "timeout", "{refused:?}");
    one.kill();
    // Whoever dies so early leaves what holds only now.
    let state = || ledger.query(&url, "SELECT state FROM mailwarden.transactions");
    while !["done", "undone"].contains(&state().as_str()) {
        std::thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(state(), "undone");
    let there = |folder: &str| {
        let mut imap = server.login("alice", "secret");
        let status = imap.command(&format!("STATUS {folder} (MESSAGES)"));
        status.text().contains("MESSAGES 1")
    };
    assert!(there("INBOX") && !there("Target"));
    // Who asks for it again gets it.
    ledger.query(&url, "DROP FUNCTION mailwarden.slow CASCADE");
    let moved = ask(&mut other, "imap_move_message", moving);
    assert_eq!(moved.data["transaction_state"], "done", "{:?}", moved.all);
    assert!(there("Target") && !there("INBOX"));
}

#[test]
fn a_configuration_that_says_it_twice_or_holds_a_password_is_refused() {
    let server = Dovecot::start();
    let ledger = Postgres::start_fast();
    let dir = Directory::new(server.port(), server.port());
    dir.policy("  work:\n    - { path: INBOX, mode: blacklist, default: FULL }\n");
    dir.secret("secrets/ledger/password", postgres::PASSWORD);
    let accounts = std::fs::read_to_string(dir.path().join("accounts.yaml")).unwrap();
    let says = |more: &str| {
        dir.write("accounts.yaml", &format!("{accounts}{more}"));
        dir.run(&["check"])
    };
    let url = ledger.url();
    for (more, words) in [
        (
            format!("ledger: {url}\nwal: {{ path: /tmp/x.db }}\n"),
            "both say where changes are written down",
        ),
        (
            url.replace("warden@", "warden:s3cr3t@")
                .replace("postgres:", "ledger: postgres:"),
            "holds a password",
        ),
        (
            "ledger: postgres://warden@db.example/mail?sslmode=disable\n".to_owned(),
            "in clear",
        ),
        (
            "ledger_secret_ref: secret://ledger/password\n".to_owned(),
            "a ledger that is not there",
        ),
        (
            format!("ledger: {url}\nledger_secret_ref: secret://ledger/nothing\n"),
            "secret",
        ),
    ] {
        let printed = says(&more);
        assert_ne!(printed.code, 0, "{more}");
        assert!(printed.stderr.contains(words), "{more}: {}", printed.stderr);
        assert!(
            printed.stderr.contains("accounts.yaml:"),
            "{}",
            printed.stderr
        );
        assert!(!printed.stderr.contains("s3cr3t"), "{}", printed.stderr);
    }
    let good = says(&format!(
        "ledger: {url}\nledger_secret_ref: secret://ledger/password\n"
    ));
    assert!(
        good.stdout.contains(&format!("written down in {url}")),
        "{}{}",
        good.stdout,
        good.stderr
    );
    let refused = says(&format!("ledger: {url}\n"));
    assert!(
        refused.stdout.contains("check user and password"),
        "{}",
        refused.stdout
    );
}

/// What is mounted is told by the kernel, which has nobody's network file system here: this process, and no other, is told
/// that the state directory lies on one.
#[cfg(target_os = "linux")]
#[test]
fn state_on_a_network_file_system_is_refused_with_the_way_out() {
    let server = Dovecot::start();
    let home = Installation::new();
    let mut program = home.program();
    crate::support::configure(
        &mut program,
        "DEFAULT",
        &Account {
            port: server.port(),
            ..Account::default()
        },
    );
    let mounts = tempfile::NamedTempFile::new().unwrap();
    let root = "28 1 259:2 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n";
    let above = home.state().parent().unwrap().canonicalize().unwrap();
    let share = format!(
        "97 28 0:52 / {} rw,relatime - nfs4 filer:/home rw,vers=4.2\n",
        above.display()
    );
    std::fs::write(mounts.path(), format!("{root}{share}")).unwrap();
    let script = "mount --bind \"$1\" /proc/$$/mountinfo && exec \"$2\" check";
    let mut command = std::process::Command::new("unshare");
    command
        .args([
            "--user",
            "--map-root-user",
            "--mount",
            "sh",
            "-c",
            script,
            "sh",
        ])
        .arg(mounts.path())
        .arg(program.get_program())
        .envs(
            program
                .get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        );
    let output = command.stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("network file system (nfs4)"), "{said}");
    assert!(
        said.contains("PostgreSQL") && said.contains("MAILWARDEN_STATE_DIR"),
        "{said}"
    );
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(!home.state().exists(), "nothing is made there");
}
