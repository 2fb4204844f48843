//! A refresh token that is there and cannot be read, or that cannot be replaced by a login: what is told, and to whom.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::{Value, json};
use testkit::Dovecot;

use super::House;
use super::house::{assert_works, reason, search, standing};
use crate::support::{Look as _, start};

fn mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_token_that_cannot_be_read_is_told_everywhere_and_is_no_missing_login() {
    let house = House::new();
    house.log_in();
    mode(&house.secret_file(), 0o644);
    let told =
        "secrets/accounts/work/refresh_token can be read or changed by other users; run: chmod 600";
    let checked = house.dir.run(&["config", "check"]);
    assert_eq!(checked.code, 2, "{}{}", checked.stdout, checked.stderr);
    let mut lines = checked.stderr.lines();
    let line = lines.find(|line| line.contains("the refresh token cannot be read"));
    let line = line.unwrap_or_else(|| panic!("{}", checked.stderr));
    assert!(
        line.starts_with("accounts.yaml:") && line.contains(told),
        "{line}"
    );

    let checked = house.check();
    assert_eq!(checked.code, 1, "{}", checked.stdout);
    let said = "account work: its refresh token cannot be read: ";
    for part in [said, told] {
        assert!(checked.stderr.contains(part), "{}", checked.stderr);
    }
    assert!(
        checked.stdout.contains("token_misconfigured"),
        "{}",
        checked.stdout
    );
    assert!(checked.stdout.contains(told), "{}", checked.stdout);

    let mut client = house.client();
    assert!(client.stderr().contains(said), "{}", client.stderr());
    let work = standing(&mut client);
    assert_eq!(work["status"], "misconfigured", "{work}");
    assert_eq!(work["command"], "mailwarden check", "{work}");
    let failed = search(&mut client);
    assert!(
        failed.text.contains("token_misconfigured"),
        "{}",
        failed.text
    );
    assert!(
        !failed.text.contains("needs_rebootstrap"),
        "{}",
        failed.text
    );
    // Where it lies is no agent's business.
    assert!(!failed.text.contains("secrets/"), "{}", failed.text);
    assert_eq!(house.refreshes(), 0);

    mode(&house.secret_file(), 0o600);
    assert_works(&mut house.client());
    let checked = house.dir.run(&["config", "check"]);
    assert_eq!(checked.code, 0, "{}", checked.stderr);
    assert!(
        !checked.stdout.contains("nobody has logged in"),
        "{}",
        checked.stdout
    );
}

#[test]
fn a_token_that_is_not_there_yet_is_worth_a_word() {
    let house = House::new();
    let checked = house.dir.run(&["config", "check"]);
    assert_eq!(checked.code, 0, "{}", checked.stderr);
    let told = "run: mailwarden login --account work";
    assert!(checked.stdout.contains(told), "{}", checked.stdout);
}

#[test]
fn where_a_login_could_not_be_kept_nobody_is_told_to_log_in() {
    let house = House::new();
    house.log_in();
    let token = house.stored();
    house.configure_with(&json!({ "backend": "env_var" }), &json!({}));
    let client = |token: &str| {
        let mut command = house.program();
        command
            .env("IMAP_MCP_CALLER_ID", "agent")
            .env("IMAP_MCP_SECRET__PASSWORD", "secret")
            .env("IMAP_MCP_SECRET__ACCOUNTS__WORK__REFRESH_TOKEN", token);
        start(command)
    };
    assert_works(&mut client(&token));
    let mut client = client("revoked");
    let refused = search(&mut client);
    assert_eq!(reason(&refused), "needs_rebootstrap", "{}", refused.text);
    let remedy = "put a new refresh token into secret://accounts/work/refresh_token";
    for text in [&refused.text, &standing(&mut client).to_string()] {
        assert!(text.contains(remedy), "{text}");
        assert!(!text.contains("mailwarden login"), "{text}");
    }
    assert_eq!(refused.data("/details/command"), Value::Null);
}

#[test]
fn a_server_that_does_not_know_the_way_is_told_from_one_that_is_not_safe() {
    let house = House::new();
    house.log_in();
    let other = Dovecot::start();
    let path = house.dir.path().join("accounts.yaml");
    let text = std::fs::read_to_string(&path).unwrap();
    let mut accounts: Value = serde_json::from_str(&text).unwrap();
    accounts["accounts"][0]["port"] = json!(other.port());
    std::fs::write(path, accounts.to_string()).unwrap();
    let checked = house.check();
    assert_eq!(checked.code, 1, "{}", checked.stdout);
    for part in [
        "mechanism_not_offered",
        "does not offer XOAUTH2",
        "try type: oauthbearer",
    ] {
        assert!(checked.stdout.contains(part), "{}", checked.stdout);
    }
    assert!(
        !checked.stdout.contains("encrypted way"),
        "{}",
        checked.stdout
    );
}
