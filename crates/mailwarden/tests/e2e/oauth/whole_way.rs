//! The whole way of an account: nobody has logged in, somebody does, mail is read, the login is taken away, and given again.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;
use testkit::oidc::{Endpoint, Times};

use super::House;
use super::house::{COMMAND, SCOPE, assert_needs_login, assert_works, search, standing};
use crate::support::Look;

/// As a configuration spells them, and as the mail server does.
const MECHANISMS: [(&str, &str); 2] = [("xoauth2", "XOAUTH2"), ("oauthbearer", "OAUTHBEARER")];

/// The way of her first login at the mail server, whose log is written behind its answers.
fn how_alice_came(house: &House) -> String {
    let mut logins = (1..).map(|least| house.server.logins(least));
    let alice = logins.find_map(|all| all.into_iter().find(|it| it.user == "alice"));
    alice.unwrap().method
}

#[test]
fn from_the_first_login_to_mail_and_on_to_rotation() {
    for (word, method) in MECHANISMS {
        let house = House::new();
        house.configure(&json!({ "type": word }));

        let before = house.check();
        assert_ne!(before.code, 0, "{}", before.stdout);
        for said in ["needs_rebootstrap", COMMAND] {
            assert!(before.stdout.contains(said), "{said}: {}", before.stdout);
        }
        let mut running = house.client();
        assert_needs_login(&mut running);
        // Who cannot get in asks neither the provider nor the mail server.
        assert_eq!(house.oidc.served(), []);
        assert_eq!(house.road.stats().connections, 0);

        let printed = house.log_in();
        assert!(
            printed.stdout.contains("account work is logged in"),
            "{}",
            printed.stdout
        );
        assert_eq!(printed.stderr, "");
        let mode = std::fs::metadata(house.secret_file())
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
        house.assert_stored();
        assert_eq!(house.refreshes(), 0);

        // Who was running all the while takes it up by itself.
        house.expire(Times::Once);
        let first = house.stored();
        assert_works(&mut running);
        assert_eq!(standing(&mut running)["status"], "ok");
        assert_eq!(how_alice_came(&house), method);
        assert_eq!(house.refreshes(), 1);
        let second = house.stored();
        assert_ne!(first, second);
        house.assert_stored();

        // The token has run out; with the next connection comes another.
        house.hang_up();
        assert_works(&mut running);
        assert_eq!(house.refreshes(), 2);
        assert_ne!(house.stored(), second);
        house.assert_stored();
        // This one lasts, for whoever connects again.
        house.hang_up();
        assert_works(&mut running);
        assert_eq!(house.oidc.count_of(Endpoint::Refresh, "ok"), 2);
        assert_eq!(house.refreshes(), 2);
        let after = house.check();
        assert_eq!(after.code, 0, "{}{}", after.stdout, after.stderr);
    }
}

#[test]
fn a_revoked_login_is_told_everywhere_and_a_new_one_heals_what_runs() {
    let house = House::new();
    house.log_in();
    house.expire(Times::Once);
    let mut running = house.client();
    assert_works(&mut running);
    assert_eq!(house.oidc.revoke("alice"), 1);
    house.hang_up();
    assert_needs_login(&mut running);
    let asked = house.refreshes();

    // It is remembered: neither a restart nor a check asks the provider again.
    let mut restarted = house.client();
    assert_needs_login(&mut restarted);
    let check = house.check();
    assert_ne!(check.code, 0);
    for said in ["needs_rebootstrap", COMMAND] {
        assert!(check.stdout.contains(said), "{said}: {}", check.stdout);
    }
    assert_needs_login(&mut running);
    assert_eq!(house.refreshes(), asked);
    // Others are served all the while.
    let other = running.call(
        "search",
        json!({ "account_id": "other", "folder": "INBOX" }),
    );
    assert!(!other.is_error, "{}", other.text);
    // Who looks for one message everywhere is told where nobody could look.
    let email = running.call("read_email", json!({ "message_id": "first@example.com" }));
    assert_eq!(email.data("/status"), "partial", "{}", email.structured);
    assert_eq!(email.data("/issues/0/code"), "needs_rebootstrap");
    assert!(email.text.contains(COMMAND), "{}", email.text);

    house.log_in();
    for client in [&mut running, &mut restarted] {
        assert_works(client);
        assert_eq!(standing(client)["status"], "ok");
    }
    house.assert_stored();
    assert_eq!(house.check().code, 0);
}

#[test]
fn another_scope_needs_another_login() {
    let house = House::new();
    house.log_in();
    let mut running = house.client();
    assert_works(&mut running);
    let (asked, kept) = (house.refreshes(), house.kept());

    house.configure(&json!({ "oauth_scope": format!("{SCOPE} email") }));
    let reloaded = house.dir.run(&["config", "reload"]);
    assert_eq!(reloaded.code, 0, "{}{}", reloaded.stdout, reloaded.stderr);
    let mut restarted = house.client();
    for client in [&mut running, &mut restarted] {
        assert_needs_login(client);
        let refused = search(client);
        assert!(refused.text.contains("oauth_scope"), "{}", refused.text);
    }
    // What was given for one scope is not used for another.
    assert_eq!(house.refreshes(), asked);
    assert_eq!(house.kept(), kept);

    house.log_in();
    for client in [&mut running, &mut restarted] {
        assert_works(client);
    }
    // The order of the words is nobody's business.
    house.configure(&json!({ "oauth_scope": "email mail offline_access openid" }));
    assert_works(&mut house.client());
}

#[test]
fn what_happens_to_tokens_is_in_the_audit_log_and_no_token_is() {
    let house = House::new();
    house.log_in();
    let mut client = house.client();
    assert_works(&mut client);
    drop(client);
    let records = house.dir.home.records();
    let text = format!(
        "{:?}",
        records.iter().map(|it| &it.json).collect::<Vec<_>>()
    );
    for event in ["logged_in", "token_refreshed"] {
        let found = records.iter().any(|it| it.event == event);
        assert!(found, "{event}: {text}");
    }
    for secret in house.oidc.secrets() {
        assert!(!text.contains(&secret));
    }
}

#[test]
fn a_reload_that_leaves_the_account_alone_keeps_its_token() {
    let house = House::new();
    house.log_in();
    let mut running = house.client();
    assert_works(&mut running);
    let asked = house.refreshes();
    let policy = house.dir.path().join("policies/some.yaml");
    let text = std::fs::read_to_string(&policy).unwrap();
    std::fs::write(&policy, format!("# Another word.\n{text}")).unwrap();
    let reloaded = house.dir.run(&["config", "reload"]);
    assert_eq!(reloaded.code, 0, "{}{}", reloaded.stdout, reloaded.stderr);
    house.hang_up();
    let found = search(&mut running);
    assert_eq!(found.data("/uids"), json!([1]), "{}", found.text);
    assert_eq!(house.refreshes(), asked);
}

#[test]
fn a_reload_that_changes_something_else_of_the_account_keeps_its_token() {
    let house = House::new();
    house.log_in();
    let mut running = house.client();
    assert_works(&mut running);
    let asked = house.refreshes();
    house.configure(&json!({ "token_cache": "persist_all" }));
    let reloaded = house.dir.run(&["config", "reload"]);
    assert_eq!(reloaded.code, 0, "{}{}", reloaded.stdout, reloaded.stderr);
    house.hang_up();
    assert_works(&mut running);
    assert_eq!(house.refreshes(), asked);
}
