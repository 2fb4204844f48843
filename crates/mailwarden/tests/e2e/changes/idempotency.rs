//! Asking again: the same request under the same key is done once, whoever asks, however often, whatever happens between.

use serde_json::{Value, json};
use testkit::McpClient;

use super::{Answer, ask, message, parts, same, subject, told, with};
use crate::support::start;
use crate::write_crash::{AWAY, Ground, HOME, Plot, SUBJECT, leave};

fn keyed(arguments: Value, key: &str) -> Value {
    with(arguments, json!({ "idempotency_key": key }))
}

fn to_target() -> Value {
    subject(HOME, json!({ "destination_mailbox": "Target" }))
}

fn across() -> Value {
    parts(
        HOME,
        SUBJECT,
        json!({ "target_folder": "Target", "target_account_id": AWAY }),
    )
}

fn status(client: &mut McpClient, by: Value) -> Answer {
    ask(client, "get_transaction_status", by)
}

/// What the same call is told that comes later.
fn repeated(first: &Answer) -> Value {
    with(first.data.clone(), json!({ "repeated": true }))
}

#[test]
fn the_same_again_is_the_same_and_other_words_are_a_conflict() {
    let ground = Ground::new();
    let flags = subject(HOME, json!({ "add_flags": ["x"] }));
    for (tool, arguments, other) in [
        (
            "imap_update_message_flags",
            flags,
            json!({ "add_flags": ["y"] }),
        ),
        (
            "imap_copy_message",
            to_target(),
            json!({ "destination_mailbox": "Archive" }),
        ),
        (
            "imap_move_message",
            to_target(),
            json!({ "destination_mailbox": "Archive" }),
        ),
        (
            "imap_delete_message",
            subject(HOME, json!({ "confirm": true })),
            json!({ "message_id": message(HOME, 33) }),
        ),
        (
            "mark_seen",
            parts(HOME, SUBJECT, json!({ "seen": false })),
            json!({ "seen": true }),
        ),
        (
            "mark_tagged",
            parts(HOME, SUBJECT, json!({ "tags": ["a"], "action": "replace" })),
            json!({ "action": "add" }),
        ),
        ("copy", across(), json!({ "target_account_id": HOME })),
        ("move", across(), json!({ "uid": 33 })),
    ] {
        let plot = ground.plot("", &[]);
        let mut client = start(plot.program());
        let first = ask(&mut client, tool, keyed(arguments.clone(), "k-1"));
        assert_eq!(first.words, "ok done", "{tool}: {}", first.all);
        let after = plot.world();
        for _ in 0..2 {
            let again = ask(&mut client, tool, keyed(arguments.clone(), "k-1"));
            assert_eq!(again.data, repeated(&first), "{tool}");
            assert!(again.has("asked for before"), "{tool}: {}", again.text);
        }
        let conflict = ask(
            &mut client,
            tool,
            keyed(with(arguments.clone(), other), "k-1"),
        );
        assert_eq!(
            conflict.words, "-32600 conflict",
            "{tool}: {}",
            conflict.text
        );
        // A key is the caller's for all its tools.
        let draft = json!({ "account_id": HOME, "folder": "Drafts", "body": "x" });
        let conflict = ask(&mut client, "create_draft", keyed(draft, "k-1"));
        assert_eq!(
            conflict.words, "-32600 conflict",
            "{tool}: {}",
            conflict.text
        );
        leave(client);

        // Another process, and the first is long gone.
        let mut client = start(plot.program());
        let again = ask(&mut client, tool, keyed(arguments, "k-1"));
        assert_eq!(again.data, repeated(&first), "{tool} after a restart");
        for by in [
            json!({ "idempotency_key": "k-1" }),
            json!({ "transaction_id": first.id() }),
        ] {
            let known = status(&mut client, by);
            assert_eq!(known.data["transaction_id"], first.id(), "{tool}");
            assert_eq!(known.data["transaction_state"], "done", "{tool}");
            assert_eq!(known.data["undoable"], true, "{tool}");
        }
        leave(client);
        same(&plot.world(), &after, tool);
        assert_eq!(plot.transactions().len(), 1, "{tool}");
    }
}

#[test]
fn what_was_refused_is_refused_again_and_can_be_asked_for_under_another_key() {
    let ground = Ground::new();
    let plot = ground.plot("", &[]);
    let mut client = start(plot.program());
    plot.home
        .refuse_command(testkit::proxy::Refusal::No, |line| line.contains("COPY"));
    let first = ask(&mut client, "imap_copy_message", keyed(to_target(), "k"));
    assert_eq!(first.words, "failed server_refused undone", "{}", first.all);
    let before = plot.world();
    let again = ask(&mut client, "imap_copy_message", keyed(to_target(), "k"));
    assert_eq!(again.words, first.words, "{}", again.all);
    assert_eq!(again.id(), first.id());
    assert_eq!(again.data["repeated"], true, "{}", again.all);
    // The reason is kept; what the server said of it is not.
    let reason = "the server refused the command";
    assert!(first.has(reason), "{}", first.text);
    assert!(again.has(reason), "{}", again.text);
    assert!(again.has("take another idempotency_key"), "{}", again.text);
    let retryable = |answer: &Answer| answer.data["issues"][0]["retryable"].clone();
    assert_eq!(retryable(&again), retryable(&first));
    same(&plot.world(), &before, "the first outcome is the outcome");
    let other = ask(&mut client, "imap_copy_message", keyed(to_target(), "k2"));
    assert_eq!(other.words, "ok done", "{}", other.all);
    leave(client);
}

#[test]
fn many_at_once_are_one() {
    let ground = Ground::new();
    let plot = ground.plot("", &[]);
    let (before, item) = (plot.world(), plot.subject(HOME));
    // Two processes over one ledger.
    let mut clients = [start(plot.program()), start(plot.program())];
    let mut sent = Vec::new();
    for (nth, client) in clients.iter_mut().enumerate() {
        for _ in 0..4 {
            sent.push((nth, client.send_call("copy", keyed(across(), "once"))));
        }
    }
    let answers = sent
        .into_iter()
        .map(|(nth, id)| told(&mut clients[nth], id));
    let answers: Vec<Answer> = answers.collect();
    let (again, first): (Vec<_>, Vec<_>) = answers
        .iter()
        .partition(|answer| answer.data.get("repeated").is_some());
    let [first] = &first[..] else {
        panic!("{} of {} were no repeat", first.len(), answers.len());
    };
    for answer in &answers {
        assert_eq!(answer.words, "ok done", "{}", answer.all);
    }
    for answer in again {
        assert_eq!(answer.data, repeated(first));
    }
    same(
        &plot.world(),
        &before.with(item.lying_in(AWAY, "Target")),
        "once",
    );
    // Without a key, each is a request of its own.
    let sent: Vec<_> = (0..3)
        .map(|_| clients[0].send_call("copy", across()))
        .collect();
    for id in sent {
        assert_eq!(told(&mut clients[0], id).words, "ok done");
    }
    assert_eq!(plot.world().len(), before.len() + 4);
    assert_eq!(plot.transactions().len(), 4);
    clients.into_iter().for_each(leave);
}

/// How a client stops waiting.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Leaves {
    /// It says that it does not want the answer any more.
    Cancels,
    HangsUp,
}

#[test]
fn a_change_goes_on_when_its_client_does_not_wait_for_it() {
    let ground = Ground::new();
    for how in [Leaves::Cancels, Leaves::HangsUp] {
        let plot = ground.plot("", &[]);
        let mut client = start(plot.program());
        for account in [HOME, AWAY] {
            client.call("imap_list_mailboxes", json!({ "account_id": account }));
        }
        let (before, item) = (plot.world(), plot.subject(HOME));
        under_way(&plot, &mut client, how);
        let mut client = match how {
            Leaves::Cancels => client,
            Leaves::HangsUp => {
                leave(client);
                start(plot.program())
            }
        };
        let again = ask(&mut client, "move", keyed(across(), "left"));
        assert_eq!(again.words, "ok done", "{how:?}: {}", again.all);
        let known = status(&mut client, json!({ "idempotency_key": "left" }));
        assert_eq!(known.data["transaction_state"], "done", "{how:?}");
        let want = before.without(&item).with(item.lying_in(AWAY, "Target"));
        same(&plot.world(), &want, &format!("{how:?}"));
        leave(client);
        assert_eq!(plot.transactions().len(), 1, "{how:?}");
    }
}

/// Calls, and leaves when the servers have been asked and nothing moves; then everything moves again.
fn under_way(plot: &Plot<'_>, client: &mut McpClient, how: Leaves) {
    plot.away.reset_stats();
    plot.away.stall();
    let call = client.send_call("move", keyed(across(), "left"));
    plot.away
        .await_stats("a command that is held up", |stats| stats.up > 0);
    match how {
        Leaves::Cancels => client.cancel(call),
        Leaves::HangsUp => client.close_stdin(),
    }
    plot.away.resume();
}

#[test]
fn only_who_made_a_change_is_told_of_it() {
    let ground = Ground::new();
    let plot = ground.plot("", &[]);
    let mut client = start(plot.program());
    let nothing = status(&mut client, json!({ "idempotency_key": "nobody-has-this" }));
    assert_eq!(nothing.words, "-32002 not_found", "{}", nothing.text);
    let id = ask(&mut client, "copy", keyed(across(), "k")).id();
    let told = status(&mut client, json!({ "transaction_id": id }));
    let steps =
        json!([{ "name": "append", "state": "done" }, { "name": "confirm", "state": "done" }]);
    for (name, want) in [
        ("transaction_id", id),
        ("kind", json!("copy")),
        ("transaction_state", json!("done")),
        ("steps", steps),
        ("undoable", json!(true)),
        ("since", told.data["ended"].clone()),
        (
            "undo",
            json!("undo_transaction with this transaction_id puts it back"),
        ),
    ] {
        assert_eq!(told.data[name], want, "{}", told.data);
    }
    assert_eq!(told.all["summary"], "copy: done");
    let change = &told.data["change"];
    for (name, want) in [
        ("message_id", message(HOME, SUBJECT)),
        ("target_account_id", AWAY.to_owned()),
        ("target_mailbox", "Target".to_owned()),
    ] {
        assert_eq!(change[name], want, "{change}");
    }
    let new = change["new_message_id"].as_str().unwrap();
    assert!(new.starts_with(&format!("imap:{AWAY}:Target:")), "{new}");
    assert_eq!(told.data["untrusted"], json!(["change"]));
    assert!(told.data["began"].is_string() && told.data["ended"].is_string());
    assert!(told.data.get("code").is_none(), "{}", told.data);
    leave(client);
}

#[test]
fn what_is_left_out_and_what_is_spelled_out_are_one_request() {
    let ground = Ground::new();
    let home = json!({ "account_id": HOME });
    let agreed = json!({ "confirm": true });
    let flags = json!({ "add_flags": ["x"] });
    for (tool, brief, more) in [
        (
            "imap_update_message_flags",
            subject(HOME, flags.clone()),
            &home,
        ),
        ("imap_update_message_flags", subject(HOME, flags), &agreed),
        ("imap_copy_message", to_target(), &home),
        (
            "imap_copy_message",
            to_target(),
            &json!({ "destination_account_id": HOME }),
        ),
        ("imap_move_message", to_target(), &home),
        ("imap_delete_message", subject(HOME, agreed.clone()), &home),
        (
            "mark_seen",
            parts(HOME, SUBJECT, json!({})),
            &json!({ "seen": true }),
        ),
        (
            "mark_tagged",
            parts(HOME, SUBJECT, json!({ "tags": ["a"] })),
            &json!({ "action": "add" }),
        ),
        (
            "copy",
            parts(HOME, SUBJECT, json!({ "target_folder": "Target" })),
            &json!({ "target_account_id": HOME }),
        ),
    ] {
        let plot = ground.plot("", &[]);
        let mut client = start(plot.program());
        let full = with(brief.clone(), more.clone());
        let first = ask(&mut client, tool, keyed(brief.clone(), "one"));
        assert_eq!(first.words, "ok done", "{tool}: {}", first.all);
        let again = ask(&mut client, tool, keyed(full, "one"));
        assert_eq!(
            again.data,
            repeated(&first),
            "{tool} {more}: {}",
            again.text
        );
        leave(client);
        assert_eq!(plot.transactions().len(), 1, "{tool} {more}");
    }
}

#[test]
fn a_repeat_says_what_has_put_the_change_back_since() {
    let ground = Ground::new();
    let plot = ground.plot("", &[]);
    let mut client = start(plot.program());
    let before = plot.world();
    let first = ask(&mut client, "imap_move_message", keyed(to_target(), "k"));
    let back = json!({ "transaction_id": first.id() });
    let back = ask(&mut client, "undo_transaction", back);
    assert_eq!(back.words, "ok done", "{}", back.all);
    let again = ask(&mut client, "imap_move_message", keyed(to_target(), "k"));
    assert_eq!(again.words, "ok done", "{}", again.all);
    assert_eq!(again.data["undone_by"], back.id(), "{}", again.all);
    assert_eq!(again.data["repeated"], true, "{}", again.all);
    let summary = again.all["summary"].as_str().unwrap();
    assert!(summary.contains("undone since by tx_"), "{summary}");
    same(&plot.world(), &before, "it stays where it was put back to");
    leave(client);
}

/// Whoever begins nothing at a server has its key again, by whichever tool.
#[test]
fn what_failed_before_a_server_was_asked_leaves_the_key_free() {
    let ground = Ground::new();
    let plot = ground.plot("", &[]);
    let mut client = start(plot.program());
    let before = plot.world();
    let gone = message(HOME, 4_000_000);
    let none = |more: Value| with(json!({ "message_id": gone }), more);
    let nowhere = json!({ "destination_mailbox": "Nowhere" });
    let to = |folder: &str, account: &str| json!({ "target_folder": folder, "target_account_id": account });
    let flags = "imap_update_message_flags";
    for (tool, arguments) in [
        // No such message.
        (flags, none(json!({ "add_flags": ["x"] }))),
        (
            "imap_copy_message",
            none(json!({ "destination_mailbox": "Target" })),
        ),
        (
            "imap_move_message",
            none(json!({ "destination_mailbox": "Target" })),
        ),
        ("imap_delete_message", none(json!({ "confirm": true }))),
        ("mark_seen", parts(HOME, 4_000_000, json!({}))),
        (
            "mark_tagged",
            parts(HOME, 4_000_000, json!({ "tags": ["a"] })),
        ),
        ("copy", parts(HOME, 4_000_000, to("Target", HOME))),
        ("move", parts(HOME, 4_000_000, to("Target", AWAY))),
        // Nowhere to go.
        ("imap_copy_message", subject(HOME, nowhere.clone())),
        ("imap_move_message", subject(HOME, nowhere)),
        ("move", parts(HOME, SUBJECT, to("Nowhere", AWAY))),
        (
            "create_draft",
            json!({ "account_id": HOME, "folder": "Nowhere", "body": "x" }),
        ),
        // What means nothing, and what nobody has agreed to.
        (flags, subject(HOME, json!({ "add_flags": ["\\Recent"] }))),
        (flags, subject(HOME, json!({ "add_flags": ["\\Deleted"] }))),
        ("imap_delete_message", subject(HOME, json!({}))),
        (
            "undo_transaction",
            json!({ "transaction_id": "tx_00000000000000000000000000" }),
        ),
    ] {
        let answer = ask(&mut client, tool, keyed(arguments.clone(), "still-mine"));
        assert!(answer.words.starts_with("-32"), "{tool}: {}", answer.text);
        let by = json!({ "idempotency_key": "still-mine" });
        let known = status(&mut client, by);
        assert_eq!(known.words, "-32002 not_found", "{tool} {arguments}");
    }
    // A server that cannot be reached was asked for nothing either.
    for proxy in [&plot.home, &plot.away] {
        proxy.refuse();
        proxy.cut_all(testkit::proxy::Cut::Reset);
    }
    let arguments = subject(HOME, json!({ "add_flags": ["x"] }));
    let answer = ask(&mut client, flags, keyed(arguments.clone(), "still-mine"));
    assert_eq!(answer.data["status"], "failed", "{}", answer.all);
    for proxy in [&plot.home, &plot.away] {
        proxy.admit();
    }
    same(&plot.world(), &before, "nothing");
    let answer = ask(&mut client, flags, keyed(arguments, "still-mine"));
    assert_eq!(answer.words, "ok done", "{}", answer.all);
    assert!(answer.data.get("repeated").is_none(), "{}", answer.all);
    leave(client);
}
