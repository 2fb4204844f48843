//! A login that was given for reading: no tool changes anything with it, whatever the policy says, and nobody is asked first.

use serde_json::{Value, json};
use testkit::mcp::CallOutcome;
use testkit::oidc::{Endpoint, Fault, Times};
use testkit::{McpClient, World};

use super::House;
use super::house::{SCOPE, assert_works, inbox, reason, standing};
use crate::support::Look;

const READING: &str = "openid offline_access mail.readonly";

fn world(house: &House) -> World {
    let login = |user: &str| house.server.login(user, "secret");
    World::read(&mut [("work", login("alice")), ("other", login("bob"))])
}

/// A message of an account, in parts.
fn message(house: &House, account: &str, more: Value) -> Value {
    let user = match account {
        "work" => "alice",
        _ => "bob",
    };
    let mut imap = house.server.login(user, "secret");
    let first = testkit::world::list(&mut imap, account, "INBOX").remove(0);
    let mut at = inbox(&json!({
        "account_id": account, "uid": first.uid, "uidvalidity": first.uidvalidity,
    }));
    for (key, value) in more.as_object().unwrap() {
        at[key] = value.clone();
    }
    at
}

/// Every way to change something in `work`.
fn changes(house: &House) -> Vec<(&'static str, Value)> {
    let id = crate::support::message_id(&house.server, "INBOX", 1).replace("default", "work");
    let there = json!({ "target_folder": "Target" });
    let away = json!({ "target_folder": "Target", "target_account_id": "other" });
    let here = json!({ "target_folder": "Target", "target_account_id": "work" });
    let target = json!({ "message_id": id, "destination_mailbox": "Target" });
    let work = |more: Value| message(house, "work", more);
    vec![
        ("mark_seen", work(json!({}))),
        ("mark_tagged", work(json!({ "tags": ["a"] }))),
        ("move", work(there.clone())),
        ("move", work(away)),
        ("copy", work(there)),
        // From an account that may be changed, into one that may not.
        ("copy", message(house, "other", here.clone())),
        ("move", message(house, "other", here)),
        (
            "create_draft",
            json!({ "account_id": "work", "folder": "Drafts", "body": "x" }),
        ),
        (
            "imap_update_message_flags",
            json!({ "message_id": id, "add_flags": ["\\Seen"] }),
        ),
        ("imap_copy_message", target.clone()),
        ("imap_move_message", target),
    ]
}

/// All of them are refused without a request to the network. The scope that a change needs
/// is null where the provider's is not known.
fn assert_reading_only(house: &House, client: &mut McpClient, required: &Value) {
    assert_eq!(standing(client)["status"], "read_only");
    assert_all_are_tried(house, client);
    let before = world(house);
    let calls = changes(house);
    let (connections, served) = (house.road.stats().connections, house.oidc.served());
    house.road.reset_stats();
    for (tool, arguments) in calls {
        let refused = client.call(tool, arguments);
        assert_eq!(
            reason(&refused),
            "oauth_scope_insufficient",
            "{tool}: {}",
            refused.text
        );
        let granted = refused.text("/granted_scope");
        assert!(granted.ends_with("mail.readonly"), "{tool}: {granted}");
        assert_eq!(refused.data("/required_scope"), *required, "{tool}");
    }
    let stats = house.road.stats();
    assert_eq!((stats.connections, stats.commands), (0, 0), "{connections}");
    assert_eq!(house.oidc.served(), served);
    assert_eq!(world(house), before);
}

/// No tool that changes mail is left out; how changes are put back is another test's business.
fn assert_all_are_tried(house: &House, client: &mut McpClient) {
    let listed = client.request("tools/list", json!({})).unwrap();
    let tools = listed["tools"].as_array().unwrap().iter();
    let changing = tools.filter(|tool| tool["annotations"]["readOnlyHint"] != true);
    let tried = changes(house);
    for tool in changing {
        let name = tool["name"].as_str().unwrap();
        let known = tried.iter().any(|(tool, _)| *tool == name);
        assert!(known || name == "undo_transaction", "{name}");
    }
}

fn copy_out(house: &House, client: &mut McpClient) -> CallOutcome {
    let away = json!({ "target_folder": "Target", "target_account_id": "other" });
    client.call("copy", message(house, "work", away))
}

#[test]
fn a_scope_for_reading_changes_nothing_and_mail_may_be_copied_out() {
    let house = House::new();
    house.configure(&json!({ "oauth_scope": READING }));
    let printed = house.log_in();
    assert!(
        printed.stdout.contains("every change is refused"),
        "{}",
        printed.stdout
    );
    let mut fresh = house.client();
    // Before anything else was asked, and while a connection is open.
    assert_reading_only(&house, &mut fresh, &Value::Null);
    assert_works(&mut fresh);
    assert_reading_only(&house, &mut fresh, &Value::Null);
    let copied = copy_out(&house, &mut fresh);
    assert!(!copied.is_error, "{}", copied.text);
    let mut bob = house.server.login("bob", "secret");
    let target = testkit::world::list(&mut bob, "other", "Target");
    assert_eq!(target.len(), 1);
}

#[test]
fn what_is_granted_counts_and_not_what_was_asked_for() {
    // At the login, and later by a refresh.
    for at in [Endpoint::Exchange, Endpoint::Refresh] {
        let house = House::new();
        let narrower = Fault::Patch(json!({ "scope": "openid mail.readonly" }));
        house.oidc.fail(at, &narrower, Times::Always);
        let printed = house.log_in();
        let told = printed.stdout.contains("every change is refused");
        assert_eq!(told, at == Endpoint::Exchange, "{}", printed.stdout);
        let mut client = house.client();
        if at == Endpoint::Refresh {
            assert_works(&mut client);
        }
        assert_reading_only(&house, &mut client, &json!(SCOPE));
        // Also after a restart, before anything was asked.
        assert_reading_only(&house, &mut house.client(), &json!(SCOPE));
    }
}

#[test]
fn what_was_changed_before_is_not_undone_with_a_login_for_reading() {
    let house = House::new();
    house.log_in();
    let mut client = house.client();
    let done = client.call("mark_seen", message(&house, "work", json!({})));
    assert!(!done.is_error, "{}", done.text);
    let id = done.text("/transaction_id");
    drop(client);
    house.configure(&json!({ "oauth_scope": READING }));
    house.log_in();
    let mut client = house.client();
    let before = world(&house);
    house.road.reset_stats();
    let served = house.oidc.served();
    let refused = client.call("undo_transaction", json!({ "transaction_id": id }));
    assert_eq!(
        reason(&refused),
        "oauth_scope_insufficient",
        "{}",
        refused.text
    );
    let stats = house.road.stats();
    assert_eq!((stats.connections, stats.commands), (0, 0));
    assert_eq!(house.oidc.served(), served);
    assert_eq!(world(&house), before);

    let by_hand = house.dir.run(&["tx", "undo", &id]);
    assert_ne!(by_hand.code, 0, "{}", by_hand.stdout);
    assert_eq!(house.road.stats().connections, 0, "{}", by_hand.stderr);

    // With more leave it is.
    house.configure(&json!({ "oauth_scope": SCOPE }));
    house.log_in();
    let mut client = house.client();
    let undone = client.call("undo_transaction", json!({ "transaction_id": id }));
    assert!(!undone.is_error, "{}", undone.text);
}

#[test]
fn a_grant_for_reading_that_is_learnt_while_a_change_waits_for_its_session_counts() {
    let house = House::new();
    house.log_in();
    let narrower = Fault::Patch(json!({ "scope": "openid mail.readonly" }));
    house.oidc.fail(Endpoint::Refresh, &narrower, Times::Always);
    let mut client = house.client();
    let before = world(&house);
    // Nothing is read first: the session is made for the change itself.
    let draft = json!({ "account_id": "work", "folder": "Drafts", "body": "x" });
    let refused = client.call("create_draft", draft);
    assert!(refused.is_error, "{}", refused.text);
    assert!(
        refused.text.contains("for reading only"),
        "{}",
        refused.text
    );
    assert_eq!(world(&house), before);
    assert_reading_only(&house, &mut client, &json!(SCOPE));
}
