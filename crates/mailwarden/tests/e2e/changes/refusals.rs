//! Servers that refuse, leave or are not there: told by its own code, and nothing is changed or everything is.

use serde_json::{Value, json};
use testkit::McpClient;
use testkit::proxy::{Cut, Refusal};

use super::{Answer, ask, parts, same, shown, subject, tx};
use crate::support::start;
use crate::write_crash::{AWAY, Ground, HOME, SUBJECT, leave};

/// A call, and the command by which it is struck, at the server of an account.
type Row = (&'static str, Value, &'static str, &'static str);

fn rows() -> Vec<Row> {
    let to = json!({ "destination_mailbox": "Target" });
    let yes = json!({ "confirm": true });
    let across = parts(
        HOME,
        SUBJECT,
        json!({ "target_folder": "Target", "target_account_id": AWAY }),
    );
    let draft = json!({ "account_id": AWAY, "folder": "Drafts", "body": "x" });
    let flags = json!({ "add_flags": ["x"], "remove_flags": ["\\Seen"] });
    let delete = "imap_delete_message";
    vec![
        (
            "imap_update_message_flags",
            subject(HOME, flags.clone()),
            HOME,
            "+FLAGS",
        ),
        // One half is refused, and the other is taken back.
        (
            "imap_update_message_flags",
            subject(HOME, flags),
            HOME,
            "-FLAGS",
        ),
        ("imap_copy_message", subject(HOME, to.clone()), HOME, "COPY"),
        ("imap_move_message", subject(HOME, to), HOME, "MOVE"),
        (delete, subject(HOME, yes.clone()), HOME, "MOVE"),
        (delete, subject(AWAY, yes.clone()), AWAY, "UID STORE"),
        (delete, subject(AWAY, yes), AWAY, "UID EXPUNGE"),
        ("copy", across.clone(), AWAY, "APPEND"),
        ("move", across.clone(), AWAY, "APPEND"),
        // The copy is there by then, and is taken away again.
        ("move", across.clone(), HOME, "UID STORE"),
        ("move", across, HOME, "UID EXPUNGE"),
        ("create_draft", draft, AWAY, "APPEND"),
    ]
}

#[test]
fn a_server_that_says_no_is_told_of_and_changes_nothing() {
    let ground = Ground::new();
    let plot = ground.plot("", &[]);
    let mut client = start(plot.program());
    let before = plot.world();
    for (refusal, code) in [
        (Refusal::No, "server_refused"),
        (Refusal::Bad, "server_rejected"),
    ] {
        let want = format!("failed {code} undone");
        for (tool, arguments, account, verb) in rows() {
            let proxy = match account {
                HOME => &plot.home,
                _ => &plot.away,
            };
            proxy.refuse_command(refusal, move |line| line.contains(verb));
            let answer = ask(&mut client, tool, arguments);
            let what = format!("{refusal:?} to {verb} of {tool}");
            assert_eq!(answer.words, want, "{what}: {}", answer.all);
            assert!(answer.has("nothing is changed"), "{what}: {}", answer.text);
            same(&plot.world(), &before, &what);
            let row = shown(&plot, &answer.id());
            assert_eq!(
                (&row["state"], &row["code"]),
                (&json!("undone"), &json!(code)),
                "{what}"
            );
        }
    }
    leave(client);
}

#[test]
fn a_server_that_takes_its_leave_has_not_done_it_and_is_asked_again() {
    let ground = Ground::new();
    for (nth, verb) in [
        (0, "+FLAGS"),
        (2, "COPY"),
        (6, "UID EXPUNGE"),
        (9, "UID STORE"),
    ] {
        let (tool, arguments, account, _) = rows().swap_remove(nth);
        let plot = ground.plot("", &[]);
        let mut client = start(plot.program());
        let (before, item) = (plot.world(), plot.subject(account));
        let gone = before.without(&item);
        let want = match tool {
            "imap_update_message_flags" => gone.with(item.unflagged(&["\\Seen"]).flagged(&["x"])),
            "imap_copy_message" => before.with(item.lying_in(HOME, "Target")),
            "move" => gone.with(item.lying_in(AWAY, "Target")),
            _ => gone,
        };
        let proxy = match account {
            HOME => &plot.home,
            _ => &plot.away,
        };
        proxy.refuse_command(Refusal::Bye, move |line| line.contains(verb));
        let answer = ask(&mut client, tool, arguments);
        assert_eq!(answer.words, "ok done", "{tool} {verb}: {}", answer.all);
        same(&plot.world(), &want, &format!("{tool} {verb}"));
        leave(client);
    }
}

#[test]
fn a_server_that_is_not_there_is_no_reason_to_wait_or_to_promise() {
    let ground = Ground::new();
    let plot = ground.plot("", &[]);
    let mut client = start(plot.program());
    let before = plot.world();
    for proxy in [&plot.home, &plot.away] {
        proxy.refuse();
        proxy.cut_all(Cut::Reset);
    }
    for (tool, arguments, ..) in rows() {
        let answer = ask(&mut client, tool, arguments);
        // A connection may be reset as soon as it is there, or when something is said.
        let code = answer.data["issues"][0]["code"].as_str().unwrap();
        assert!(
            ["connection_lost", "unreachable"].contains(&code),
            "{}",
            answer.all
        );
        assert!(!answer.words.contains("unknown"), "{}", answer.all);
        assert!(answer.has("nothing is changed"), "{}", answer.text);
        assert_eq!(
            answer.data["issues"][0]["retryable"], true,
            "{}",
            answer.all
        );
    }
    for proxy in [&plot.home, &plot.away] {
        proxy.admit();
    }
    leave(client);
    // What was given up is not done later.
    let client = start(plot.program());
    assert!(plot.settled().iter().all(|line| line.state == "undone"));
    leave(client);
    same(&plot.world(), &before, "later");
}

/// A message that can neither be taken away here nor there.
fn stuck(client: &mut McpClient, plot: &crate::write_crash::Plot<'_>) -> Answer {
    for proxy in [&plot.home, &plot.away] {
        proxy.refuse_command(Refusal::No, |line| line.contains("UID STORE"));
    }
    let across = json!({ "target_folder": "Target", "target_account_id": AWAY });
    ask(client, "move", parts(HOME, SUBJECT, across))
}

#[test]
fn what_nobody_can_put_right_waits_for_a_person() {
    let ground = Ground::new();
    let plot = ground.plot("", &[]);
    let mut client = start(plot.program());
    let (before, item) = (plot.world(), plot.subject(HOME));
    let both = before.with(item.lying_in(AWAY, "Target"));
    let answer = stuck(&mut client, &plot);
    assert_eq!(
        answer.words, "failed needs_operator needs_operator",
        "{}",
        answer.all
    );
    let id = answer.id();
    assert!(
        answer.has(&format!("mailwarden tx show {}", id.as_str().unwrap())),
        "{}",
        answer.text
    );
    same(
        &plot.world(),
        &both,
        "it is in both places, and lost in none",
    );
    let undo = ask(
        &mut client,
        "undo_transaction",
        json!({ "transaction_id": id }),
    );
    assert_eq!(undo.words, "-32600 conflict", "{}", undo.text);
    let status = json!({ "transaction_id": id });
    let status = ask(&mut client, "get_transaction_status", status).data;
    let action = status["operator_action"].as_str().unwrap();
    for verb in ["show", "retry", "resolve"] {
        let verb = format!("mailwarden tx {verb} {}", id.as_str().unwrap());
        assert!(action.contains(&verb), "{action}");
    }
    assert_eq!(status["undoable"], false, "{status}");
    leave(client);
    // A restart does not decide either.
    let client = start(plot.program());
    let states = plot.settled().into_iter().map(|line| line.state);
    assert_eq!(states.collect::<Vec<_>>(), ["needs_operator"]);
    leave(client);
    same(&plot.world(), &both, "after a restart");
    // The server has come to its senses: what was to be taken back is.
    let row = tx(plot.program(), &["retry", id.as_str().unwrap()]).unwrap();
    assert_eq!(row["state"], "undone", "{row:#}");
    same(&plot.world(), &before, "after another try");
}

#[test]
fn a_person_says_how_it_came_out_and_that_is_told() {
    let ground = Ground::new();
    for (word, undo) in [("done", "ok done"), ("undone", "-32600 conflict")] {
        let plot = ground.plot("", &[]);
        let mut client = start(plot.program());
        let before = plot.world();
        let id = stuck(&mut client, &plot).id();
        let mut imap = plot.bare(if word == "done" { HOME } else { AWAY });
        let (folder, uid) = match word {
            "done" => ("INBOX", SUBJECT),
            _ => (
                "Target",
                shown(&plot, &id)["landed"]["uid"].as_u64().unwrap() as u32,
            ),
        };
        imap.command(&format!("SELECT {folder}"));
        imap.command(&format!("UID STORE {uid} +FLAGS (\\Deleted)"));
        imap.command(&format!("UID EXPUNGE {uid}"));
        tx(
            plot.program(),
            &["resolve", id.as_str().unwrap(), "--as", word],
        )
        .unwrap();
        let status = json!({ "transaction_id": id });
        let status = ask(&mut client, "get_transaction_status", status);
        assert_eq!(status.data["transaction_state"], word);
        let said = match word {
            "done" => "and said that it is done",
            _ => "and said that it was not done",
        };
        let summary = status.all["summary"].as_str().unwrap();
        assert!(summary.contains(said), "{summary}");
        let undone = ask(
            &mut client,
            "undo_transaction",
            json!({ "transaction_id": id }),
        );
        assert_eq!(undone.words, undo, "{}", undone.text);
        same(&plot.world(), &before, word);
        leave(client);
    }
}
