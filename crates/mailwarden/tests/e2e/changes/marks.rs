//! Marks of which a server keeps only some: told as done in part or handed to a person, never as if nothing had happened.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use testkit::proxy::{Cut, Refusal};
use testkit::world::Item;

use super::{ask, shown, subject};
use crate::support::start;
use crate::write_crash::{Ground, HOME, Plot, leave};

const FLAGS: &str = "imap_update_message_flags";

fn marks() -> Value {
    subject(
        HOME,
        json!({ "add_flags": ["\\Answered", "todo"], "remove_flags": ["\\Flagged"] }),
    )
}

/// The server says yes to everything, and keeps no `todo`.
fn forgetful(plot: &Plot<'_>) {
    plot.home.rewrite_commands(|line| {
        let store = line.contains("STORE");
        store.then(|| line.replace(" todo)", ")"))
    });
}

/// What it makes of the message.
fn halved(item: &Item) -> Item {
    item.flagged(&["\\Answered"]).unflagged(&["\\Flagged"])
}

fn nth_store(nth: usize) -> impl Fn(&str) -> bool + Send + Sync + 'static {
    let seen = AtomicUsize::new(0);
    move |line| line.contains("+FLAGS") && seen.fetch_add(1, Ordering::SeqCst) + 1 == nth
}

#[test]
fn what_is_kept_in_part_is_told_and_put_back_in_part() {
    let ground = Ground::new();
    // The first answer comes, or is lost and found out.
    for lost in [false, true] {
        let plot = ground.plot("", &[]);
        let mut client = start(plot.program());
        let item = plot.subject(HOME);
        forgetful(&plot);
        if lost {
            plot.home.cut_reply(Cut::Close, nth_store(1));
        }
        let answer = ask(&mut client, FLAGS, marks());
        assert_eq!(
            answer.words, "partial flags_not_set done",
            "{lost}: {}",
            answer.all
        );
        let flags = answer.data["flags"].to_string();
        assert!(
            !flags.contains("todo") && flags.contains("Answered"),
            "{lost}: {flags}"
        );
        assert_eq!(plot.subject(HOME), halved(&item), "{lost}");
        let row = shown(&plot, &answer.id());
        assert_eq!(
            (&row["state"], &row["code"]),
            (&json!("done"), &json!("flags_not_set"))
        );
        let undo = json!({ "transaction_id": answer.id() });
        let undo = ask(&mut client, "undo_transaction", undo);
        // What was there before the first attempt was told by the answer that was lost.
        let (words, there) = match lost {
            true => ("-32600 conflict", halved(&item)),
            false => ("ok done", item),
        };
        assert_eq!(undo.words, words, "{lost}: {}", undo.all);
        assert_eq!(plot.subject(HOME), there, "{lost}");
        leave(client);
    }
}

#[test]
fn what_was_half_done_when_the_program_fell_is_not_taken_for_nothing() {
    let ground = Ground::new();
    for (then, state, code) in [
        ("kept in part again", "done", json!("flags_not_set")),
        ("kept", "done", Value::Null),
        ("refused", "needs_operator", json!("server_refused")),
    ] {
        let plot = ground.plot("", &[]);
        let mut client = start(plot.program());
        client.call("imap_list_mailboxes", json!({ "account_id": HOME }));
        let item = plot.subject(HOME);
        forgetful(&plot);
        plot.home.cut_reply(Cut::Reset, nth_store(1));
        plot.home.refuse();
        let answer = ask(&mut client, FLAGS, marks());
        assert_eq!(
            answer.words, "failed unknown unknown",
            "{then}: {}",
            answer.all
        );
        client.kill();
        drop(client);
        plot.home.admit();
        plot.calm();
        assert_eq!(plot.subject(HOME), halved(&item), "{then}");

        match then {
            "refused" => plot.home.refuse_command(Refusal::No, nth_store(1)),
            "kept" => {}
            _ => forgetful(&plot),
        }
        let client = start(plot.program());
        let lines = plot.settled();
        leave(client);
        assert_eq!(lines[0].state, state, "{then}: {lines:?}");
        assert!(
            lines[0].story.contains("half_done") || state == "done",
            "{lines:?}"
        );
        let row = shown(&plot, &answer.id());
        assert_eq!(row["code"], code, "{then}: {row:#}");
        let want = match then {
            "kept" => halved(&item).flagged(&["todo"]),
            _ => halved(&item),
        };
        assert_eq!(plot.subject(HOME), want, "{then}");
    }
}
