//! Asking the person at the client before a message is deleted or flagged so, in both eras, on a real server.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::mcp::{RequestId, RpcError, Says};
use testkit::{Dovecot, FaultProxy, McpClient};

use crate::installation::{Installation, Record};
use crate::support::{Account, Look as _, configure, message_id, note};

const TOOL: &str = "imap_delete_message";
const FLAGS: &str = "imap_update_message_flags";
const OPEN: (&str, &str) = ("MAIL_IMAP_WRITE_ENABLED", "true");

/// A server with three messages, and an installation beside it.
struct Post {
    server: Dovecot,
    home: Installation,
}

impl Post {
    fn new() -> Self {
        let server = Dovecot::start();
        for subject in ["one", "two", "three"] {
            server.deliver("alice", "INBOX", &note(subject, "body"));
        }
        let home = Installation::new();
        Self { server, home }
    }

    /// Not spoken with yet.
    fn spawn(&self, set: &[(&str, &str)]) -> McpClient {
        self.spawn_by(self.server.port(), set)
    }

    /// The same, by way of a proxy.
    fn spawn_by(&self, port: u16, set: &[(&str, &str)]) -> McpClient {
        let mut command = self.home.program();
        let account = Account {
            port,
            ..Account::default()
        };
        configure(&mut command, "DEFAULT", &account);
        command.envs(set.iter().copied()).arg("stdio");
        McpClient::spawn(command)
    }

    /// With a person, and a handshake.
    fn legacy(&self, set: &[(&str, &str)]) -> McpClient {
        let mut client = self.spawn(set).with_person();
        client.initialize();
        client
    }

    fn modern(&self) -> McpClient {
        self.spawn(&[OPEN]).with_person().modern()
    }

    fn arguments(&self, uid: u32) -> Value {
        json!({ "message_id": message_id(&self.server, "INBOX", uid), "confirm": true })
    }

    /// The other way to delete a message.
    fn flagging(&self, uid: u32) -> Value {
        let mut arguments = self.arguments(uid);
        arguments["add_flags"] = json!(["\\Seen", "\\deleted"]);
        arguments
    }

    fn is_flagged(&self, uid: u32) -> bool {
        let mut imap = self.server.login("alice", "secret");
        imap.command("EXAMINE INBOX");
        let flags = imap.command(&format!("UID FETCH {uid} FLAGS")).text();
        flags.contains("\\Deleted")
    }

    /// How many messages there are.
    fn count(&self, folder: &str) -> usize {
        let mut imap = self.server.login("alice", "secret");
        imap.command(&format!("EXAMINE {folder}"));
        let found = imap.command("UID SEARCH ALL").text();
        let line = found.lines().find(|line| line.starts_with("* SEARCH"));
        line.unwrap_or_default().split_whitespace().skip(2).count()
    }

    fn has(&self, inbox: usize, trash: usize) {
        assert_eq!((self.count("INBOX"), self.count("Trash")), (inbox, trash));
    }

    /// How the calls came out, in the order in which they did.
    fn outcomes(&self) -> Vec<Record> {
        let mut records = self.home.said();
        records.retain(|record| record.event == "outcome");
        records
    }
}

fn refused(answer: Result<Value, RpcError>) -> (String, String) {
    let error = answer.expect_err("a refusal");
    let code = error.data["code"].as_str().unwrap_or_default();
    (code.to_owned(), error.message)
}

fn leave(mut client: McpClient) {
    client.close_stdin();
    let ended = client.wait_exit(Duration::from_secs(20));
    assert!(ended.is_some_and(|status| status.success()), "{ended:?}");
}

#[test]
fn who_did_a_handshake_is_asked_while_the_call_waits() {
    let post = Post::new();
    let mut client = post.legacy(&[OPEN]);
    for says in [Says::Unticked, Says::Decline, Says::Cancel] {
        let call = client.send_call(TOOL, post.arguments(1));
        client.say(says);
        let (code, said) = refused(client.wait(call));
        assert_eq!(code, "denied", "{says:?}");
        assert!(
            said.contains("the user was asked and did not agree"),
            "{said}"
        );
        let outcome = post.outcomes().pop().unwrap();
        assert_eq!(outcome.text("result"), "denied");
        assert_eq!(outcome.text("issue"), "not_agreed");
    }
    post.has(3, 0);

    let call = client.send_call(TOOL, post.arguments(1));
    let words = client.say(Says::Yes);
    assert_eq!(
        words,
        "Delete message 1 of the mailbox 'INBOX' in the account 'default'? \
         It goes to 'Trash' and can be taken back from there."
    );
    let deleted = client.wait_call(call);
    assert_eq!(deleted.text("/status"), "ok");
    assert_eq!(post.outcomes().pop().unwrap().text("result"), "ok");
    post.has(2, 1);
}

#[test]
fn a_client_that_fails_to_ask_has_not_asked() {
    let post = Post::new();
    let mut client = post.legacy(&[OPEN]);
    let error = json!({ "code": -32603, "message": "no screen" });
    for answer in [
        json!({ "error": error }),
        json!({ "result": {} }),
        json!({ "result": { "action": "accept" } }),
        json!({ "result": { "action": "accept", "content": { "agreed": "yes" } } }),
        json!({ "result": { "roots": [] } }),
    ] {
        let call = client.send_call(TOOL, post.arguments(1));
        let mut line = json!({ "jsonrpc": "2.0", "id": client.await_request()["id"] });
        line.as_object_mut()
            .unwrap()
            .extend(answer.as_object().unwrap().clone());
        client.send_line(&line.to_string());
        let (code, _) = refused(client.wait(call));
        assert_eq!(code, "denied", "{answer}");
    }
    post.has(3, 0);
}

#[test]
fn who_takes_the_call_back_or_leaves_while_it_is_asked_has_not_agreed() {
    let post = Post::new();
    let mut client = post.legacy(&[OPEN]);
    let call = client.send_call(TOOL, post.arguments(1));
    let late = client.await_request();
    client.cancel(call);
    // By then the answer comes too late.
    let other = client.send_call(TOOL, post.arguments(2));
    client.say(Says::Decline);
    refused(client.wait(other));
    client.respond(&late["id"], Says::Yes.to(&late["params"]));
    client.send_call(TOOL, post.arguments(3));
    client.await_request();
    leave(client);
    post.has(3, 0);
    let outcomes = post.outcomes();
    assert_eq!(outcomes.len(), 3, "{outcomes:#?}");
    // Whoever left is gone before or after the question is given up.
    let results: Vec<&str> = outcomes.iter().map(|one| one.text("result")).collect();
    let (last, others) = results.split_last().unwrap();
    assert_eq!(others, ["denied", "denied"]);
    assert!(["denied", "abandoned"].contains(last), "{last}");
}

#[test]
fn nobody_is_asked_about_a_call_that_is_refused_anyway() {
    let post = Post::new();
    let mut open = post.legacy(&[OPEN]);
    let mut gated = post.legacy(&[]);
    let with = |more: Value| {
        let mut arguments = post.arguments(1);
        for (name, value) in more.as_object().unwrap() {
            arguments[name] = value.clone();
        }
        json!({ "name": TOOL, "arguments": arguments })
    };
    // That these are answered at all says that no question was waited for.
    for (more, wanted) in [
        (json!({ "confirm": false }), "invalid_input"),
        (json!({ "confirm": null }), "invalid_input"),
        (json!({ "account_id": "other" }), "invalid_input"),
        (json!({ "why": "because" }), "invalid_input"),
        (
            json!({ "message_id": "imap:nowhere:INBOX:1:1" }),
            "not_found",
        ),
    ] {
        let (code, said) = refused(open.request("tools/call", with(more)));
        assert_eq!(code, wanted, "{said}");
    }
    let (code, said) = refused(gated.request("tools/call", with(json!({}))));
    assert_eq!(code, "invalid_input", "{said}");
    post.has(3, 0);
}

#[test]
fn what_was_agreed_to_under_a_key_is_not_asked_again() {
    let post = Post::new();
    let mut client = post.legacy(&[OPEN]);
    let mut arguments = post.arguments(1);
    arguments["idempotency_key"] = json!("away-with-it");
    let call = client.send_call(TOOL, arguments.clone());
    client.say(Says::Decline);
    refused(client.wait(call));
    // Nothing was begun, so it is asked again.
    let call = client.send_call(TOOL, arguments.clone());
    client.say(Says::Yes);
    let first = client.wait_call(call);
    let second = client.call(TOOL, arguments.clone());
    assert_eq!(
        first.text("/transaction_id"),
        second.text("/transaction_id")
    );
    // Another request under the same key is refused, which needs no person either.
    arguments["message_id"] = json!(message_id(&post.server, "INBOX", 2));
    let call = json!({ "name": TOOL, "arguments": arguments });
    let (code, _) = refused(client.request("tools/call", call));
    assert_eq!(code, "conflict");
    post.has(2, 1);
}

#[test]
fn the_question_says_whether_it_can_be_taken_back() {
    let post = Post::new();
    let expunges = [OPEN, ("MAIL_IMAP_DELETE", "expunge")];
    let mut client = post.legacy(&expunges);
    let call = client.send_call(TOOL, post.arguments(1));
    let words = client.say(Says::Yes);
    assert!(
        words.ends_with("It is gone for good: it cannot be taken back."),
        "{words}"
    );
    assert_eq!(client.wait_call(call).text("/status"), "ok");
    post.has(2, 0);

    post.server.deliver("alice", "Trash", &note("old", "body"));
    let mut client = post.legacy(&[OPEN]);
    let there = json!({ "message_id": message_id(&post.server, "Trash", 1), "confirm": true });
    let call = client.send_call(TOOL, there);
    let words = client.say(Says::Decline);
    assert!(
        words.ends_with("It is gone for good: it cannot be taken back."),
        "{words}"
    );
    refused(client.wait(call));
    post.has(2, 1);
}

#[test]
fn clients_without_a_person_need_none() {
    let post = Post::new();
    let mut legacy = post.spawn(&[OPEN]);
    legacy.initialize();
    let mut modern = post.spawn(&[OPEN]).modern();
    assert_eq!(legacy.call(TOOL, post.arguments(1)).text("/status"), "ok");
    assert_eq!(modern.call(TOOL, post.arguments(2)).text("/status"), "ok");
    post.has(1, 2);
    // What is said with `confirm` stays required.
    for client in [&mut legacy, &mut modern] {
        let arguments = json!({ "message_id": message_id(&post.server, "INBOX", 3) });
        let call = json!({ "name": TOOL, "arguments": arguments });
        let (code, said) = refused(client.request("tools/call", call));
        assert_eq!(
            (code.as_str(), said.contains("confirm")),
            ("invalid_input", true)
        );
    }
    post.has(1, 2);
}

/// Makes a call that ends with a question.
fn first_round(client: &mut McpClient, arguments: Value) -> Value {
    let params = json!({ "name": TOOL, "arguments": arguments });
    let asked = client.request("tools/call", params).unwrap();
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    asked
}

fn second_round(
    client: &mut McpClient,
    arguments: Value,
    asked: &Value,
    says: Says,
) -> Result<Value, RpcError> {
    let call: RequestId = client.call_again(TOOL, arguments, asked, says);
    client.wait(call)
}

#[test]
fn the_newer_era_ends_the_call_with_the_question_and_makes_it_again() {
    let post = Post::new();
    let mut client = post.modern();
    let asked = first_round(&mut client, post.arguments(1));
    let request = &asked["inputRequests"]["confirm"];
    assert_eq!(request["method"], "elicitation/create");
    let words = request["params"]["message"].as_str().unwrap();
    assert!(
        words.starts_with("Delete message 1 of the mailbox 'INBOX'"),
        "{words}"
    );
    assert_eq!(post.outcomes().pop().unwrap().text("result"), "asked");

    for says in [Says::Unticked, Says::Decline, Says::Cancel] {
        let answer = second_round(&mut client, post.arguments(1), &asked, says);
        assert_eq!(refused(answer).0, "denied", "{says:?}");
        assert_eq!(post.outcomes().pop().unwrap().text("issue"), "not_agreed");
    }
    post.has(3, 0);

    // Another process of the same installation takes the answer as well as the one that asked.
    let mut other = post.modern();
    let reordered = json!({
        "confirm": true, "message_id": message_id(&post.server, "INBOX", 1),
    });
    let answer = second_round(&mut other, reordered, &asked, Says::Yes).unwrap();
    assert_eq!(
        answer["structuredContent"]["data"]["status"], "ok",
        "{answer}"
    );
    post.has(2, 1);
    // Played again it meets nothing: the message has left that place for good.
    let answer = second_round(&mut client, post.arguments(1), &asked, Says::Yes);
    assert_eq!(refused(answer).0, "not_found");
    post.has(2, 1);
}

#[test]
fn a_yes_to_another_question_is_none() {
    let post = Post::new();
    let mut client = post.modern();
    let asked = first_round(&mut client, post.arguments(1));
    let with_state = |state: Value| {
        let mut asked = asked.clone();
        asked["requestState"] = state;
        asked
    };
    let abroad = {
        let elsewhere = Post {
            home: Installation::new(),
            server: Dovecot::start(),
        };
        first_round(&mut elsewhere.modern(), post.arguments(1))
    };
    let state = asked["requestState"].as_str().unwrap();
    let (head, tail) = state.split_at(40);
    for (uid, asked) in [
        (2, asked.clone()),
        (1, with_state(json!("x"))),
        (1, with_state(json!(""))),
        (1, with_state(json!("a".repeat(50_000)))),
        (1, with_state(json!(format!("{tail}{head}")))),
        (1, with_state(Value::Null)),
        (1, with_state(abroad["requestState"].clone())),
    ] {
        let answer = second_round(&mut client, post.arguments(uid), &asked, Says::Yes);
        assert_eq!(refused(answer).0, "invalid_input", "{uid} {asked}");
    }
    // A client that says it has nobody to ask, and brings an answer all the same, is held to it.
    let mut forgetful = post.spawn(&[OPEN]).modern();
    let answer = second_round(&mut forgetful, post.arguments(1), &asked, Says::Decline);
    assert_eq!(refused(answer).0, "denied");
    // Whoever brings the question without the answer is asked once more.
    let silent = json!({ "requestState": asked["requestState"], "inputRequests": {} });
    let answer = second_round(&mut client, post.arguments(1), &silent, Says::Yes).unwrap();
    assert_eq!(answer["resultType"], "input_required");
    post.has(3, 0);
}

/// From now on the server has no trash, and the program has heard of it.
fn lose_the_trash(proxy: &FaultProxy, client: &mut McpClient) {
    proxy.rewrite_replies(|line| Some(line.replace("\\Trash", "\\Marked")));
    client.call("imap_list_mailboxes", json!({}));
}

#[test]
fn what_became_something_else_while_it_was_asked_was_not_agreed_to() {
    let post = Post::new();
    let proxy = FaultProxy::to(post.server.port());
    let mut client = post.spawn_by(proxy.port(), &[OPEN]).with_person();
    client.initialize();
    let call = client.send_call(TOOL, post.arguments(1));
    let asked = client.await_request();
    let words = asked["params"]["message"].as_str().unwrap();
    assert!(words.contains("It goes to 'Trash'"), "{words}");
    lose_the_trash(&proxy, &mut client);
    client.respond(&asked["id"], Says::Yes.to(&asked["params"]));
    let (code, said) = refused(client.wait(call));
    assert_eq!(code, "conflict", "{said}");
    assert!(said.contains("it became something else"), "{said}");
    post.has(3, 0);

    // Asked anew, in the words that are true now.
    let call = client.send_call(TOOL, post.arguments(1));
    let words = client.say(Says::Yes);
    assert!(words.contains("gone for good"), "{words}");
    assert_eq!(client.wait_call(call).text("/status"), "ok");
    post.has(2, 0);
}

#[test]
fn an_answer_is_to_the_words_that_were_asked() {
    let post = Post::new();
    let proxy = FaultProxy::to(post.server.port());
    let client = post.spawn_by(proxy.port(), &[OPEN]).with_person();
    let mut client = client.modern();
    let asked = first_round(&mut client, post.arguments(1));
    lose_the_trash(&proxy, &mut client);
    let answer = second_round(&mut client, post.arguments(1), &asked, Says::Yes);
    let (code, said) = refused(answer);
    assert_eq!(code, "invalid_input", "{said}");
    assert!(said.contains("requestState is not of this call"), "{said}");
    post.has(3, 0);

    // When it would be the same again, the answer is good.
    proxy.disarm();
    client.call("imap_list_mailboxes", json!({}));
    let answer = second_round(&mut client, post.arguments(1), &asked, Says::Yes).unwrap();
    assert_eq!(
        answer["structuredContent"]["data"]["status"], "ok",
        "{answer}"
    );
    post.has(2, 1);
}

#[test]
fn the_flag_that_deletes_is_asked_about_and_other_flags_are_not() {
    let post = Post::new();
    let mut client = post.legacy(&[OPEN]);
    for says in [Says::Unticked, Says::Decline, Says::Cancel] {
        let call = client.send_call(FLAGS, post.flagging(1));
        client.say(says);
        let (code, _) = refused(client.wait(call));
        assert_eq!(code, "denied", "{says:?}");
        assert_eq!(post.outcomes().pop().unwrap().text("issue"), "not_agreed");
    }
    assert!(!post.is_flagged(1));
    let mut keyed = post.flagging(1);
    keyed["idempotency_key"] = json!("mark-it");
    let call = client.send_call(FLAGS, keyed.clone());
    let words = client.say(Says::Yes);
    assert_eq!(
        words,
        "Flag message 1 of the mailbox 'INBOX' in the account 'default' as \\Deleted? It is gone for good when a mail \
         program clears the mailbox; until then the flag can be taken off again."
    );
    assert_eq!(client.wait_call(call).text("/status"), "ok");
    assert!(post.is_flagged(1));
    // That these are answered says that nobody was asked: the same again, the flag taken off, and another flag.
    let at = message_id(&post.server, "INBOX", 1);
    for arguments in [
        keyed,
        json!({ "message_id": at, "remove_flags": ["\\Deleted"] }),
        json!({ "message_id": at, "add_flags": ["\\Flagged", "deleted"] }),
    ] {
        let answer = client.call(FLAGS, arguments);
        assert_eq!(answer.text("/status"), "ok", "{}", answer.structured);
    }
    assert!(!post.is_flagged(1));

    let mut modern = post.modern();
    let params = json!({ "name": FLAGS, "arguments": post.flagging(2) });
    let asked = modern.request("tools/call", params).unwrap();
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    assert!(!post.is_flagged(2));
    let call = modern.call_again(FLAGS, post.flagging(2), &asked, Says::Yes);
    modern.wait(call).unwrap();
    assert!(post.is_flagged(2));
}

#[test]
fn where_nobody_can_be_asked_the_flag_that_deletes_takes_a_confirm() {
    let post = Post::new();
    let mut legacy = post.spawn(&[OPEN]);
    legacy.initialize();
    let mut modern = post.spawn(&[OPEN]).modern();
    let mut asking = post.legacy(&[OPEN]);
    for client in [&mut legacy, &mut modern, &mut asking] {
        let mut arguments = post.flagging(1);
        arguments.as_object_mut().unwrap().remove("confirm");
        for wrong in [Value::Null, json!(false)] {
            if wrong.is_boolean() {
                arguments["confirm"] = wrong;
            }
            let call = json!({ "name": FLAGS, "arguments": arguments });
            let (code, said) = refused(client.request("tools/call", call));
            assert_eq!(code, "invalid_input", "{said}");
            assert!(said.contains("confirm"), "{said}");
        }
    }
    assert!(!post.is_flagged(1));
    for (client, uid) in [(&mut legacy, 1), (&mut modern, 2)] {
        let answer = client.call(FLAGS, post.flagging(uid));
        assert_eq!(answer.text("/status"), "ok", "{}", answer.structured);
        assert!(post.is_flagged(uid));
    }
}
