//! The last copy of a message stays, whoever took the other one away, and when: what is gone or about to go is nothing to
//! rely on.

use std::sync::Mutex;

use serde_json::{Value, json};
use testkit::proxy::{Cut, Refusal};
use testkit::{McpClient, RawImap, world};

use super::{ask, parts, same, shown, subject, tx};
use crate::support::start;
use crate::write_crash::{AWAY, Ground, HOME, SUBJECT, leave};

/// A move that is a copy and a removal: what the server lacks, the call, and where the copy goes.
const MOVES: [(&str, &str, &str); 2] = [("MOVE", "imap_move_message", HOME), ("", "move", AWAY)];

fn arguments(tool: &str) -> Value {
    match tool {
        "move" => parts(
            HOME,
            SUBJECT,
            json!({ "target_folder": "Target", "target_account_id": AWAY }),
        ),
        _ => subject(HOME, json!({ "destination_mailbox": "Target" })),
    }
}

fn warm(client: &mut McpClient) {
    for account in [HOME, AWAY] {
        client.call("imap_list_mailboxes", json!({ "account_id": account }));
    }
}

/// What somebody else does to the copy, or to another message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Becomes {
    Gone,
    /// About to go.
    Flagged,
}

/// To the last message of the target.
fn spoil(imap: &mut RawImap, becomes: Becomes) {
    let last = world::list(imap, "", "Target").pop().unwrap().uid;
    imap.command("SELECT Target");
    imap.command(&format!("UID STORE {last} +FLAGS (\\Deleted)"));
    if becomes == Becomes::Gone {
        imap.command(&format!("UID EXPUNGE {last}"));
    }
}

#[test]
fn the_original_stays_if_its_copy_went_before_it() {
    let ground = Ground::new();
    for (hidden, tool, to) in MOVES {
        for becomes in [Becomes::Gone, Becomes::Flagged] {
            let what = format!("{tool} {hidden} {becomes:?}");
            let plot = ground.plot(hidden, &[]);
            let mut client = start(plot.program());
            warm(&mut client);
            let (before, item) = (plot.world(), plot.subject(HOME));
            plot.home
                .cut_before(Cut::Reset, |line| line.contains("+FLAGS"));
            // Nothing more can be done at home, so it stays as far as it came.
            plot.home.refuse();
            let answer = ask(&mut client, tool, arguments(tool));
            assert_eq!(
                answer.words, "failed unknown unknown",
                "{what}: {}",
                answer.all
            );
            client.kill();
            drop(client);
            plot.home.admit();
            plot.calm();
            let both = before.with(item.lying_in(to, "Target"));
            same(&plot.world(), &both, &what);

            spoil(&mut plot.bare(to), becomes);
            let client = start(plot.program());
            let lines = plot.settled();
            leave(client);
            assert_eq!(lines[0].state, "undone", "{what}: {lines:?}");
            assert_eq!(shown(&plot, &answer.id())["code"], "copy_missing", "{what}");
            same(&plot.world(), &before, &what);
        }
    }
}

#[test]
fn the_original_stays_if_its_copy_goes_while_it_is_moved() {
    let ground = Ground::new();
    for (hidden, tool, to) in MOVES {
        let plot = ground.plot(hidden, &[]);
        let mut client = start(plot.program());
        warm(&mut client);
        let before = plot.world();
        let proxy = match to {
            HOME => &plot.home,
            _ => &plot.away,
        };
        // The server has done it, and the program is about to hear of it.
        let imap = Mutex::new(Some(plot.bare(to)));
        proxy.rewrite_replies(move |line| {
            if (line.contains("[COPYUID") || line.contains("[APPENDUID"))
                && let Some(mut imap) = imap.lock().unwrap().take()
            {
                spoil(&mut imap, Becomes::Gone);
            }
            None
        });
        let answer = ask(&mut client, tool, arguments(tool));
        assert_eq!(
            answer.words, "failed copy_missing undone",
            "{tool}: {}",
            answer.all
        );
        same(&plot.world(), &before, tool);
        leave(client);
    }
}

#[test]
fn what_is_flagged_for_removal_is_no_copy_to_rely_on() {
    let ground = Ground::new();
    for (name, tool) in [("within", "imap_copy_message"), ("across", "copy")] {
        let plot = ground.plot("", &[]);
        let mut client = start(plot.program());
        let call = match name {
            "within" => subject(HOME, json!({ "destination_mailbox": "Target" })),
            _ => arguments("move"),
        };
        let copied = ask(&mut client, tool, call);
        assert_eq!(copied.words, "ok done", "{name}: {}", copied.all);
        flag_the_original(&mut plot.bare(HOME));
        let before = plot.world();
        let id = copied.id();
        let undo = ask(
            &mut client,
            "undo_transaction",
            json!({ "transaction_id": id }),
        );
        assert_eq!(undo.words, "-32600 conflict", "{name}: {}", undo.all);
        assert!(undo.has("the last copy"), "{name}: {}", undo.text);
        let operator = tx(plot.program(), &["undo", id.as_str().unwrap()]).unwrap_err();
        assert!(operator.contains("the last copy"), "{name}: {operator}");
        same(&plot.world(), &before, name);
        leave(client);
    }
}

fn flag_the_original(imap: &mut RawImap) {
    imap.command("SELECT INBOX");
    imap.command(&format!("UID STORE {SUBJECT} +FLAGS (\\Deleted)"));
}

#[test]
fn a_copy_is_not_taken_back_when_its_original_is_about_to_go() {
    let ground = Ground::new();
    for (hidden, tool, to) in MOVES {
        let plot = ground.plot(hidden, &[]);
        let mut client = start(plot.program());
        warm(&mut client);
        let (before, item) = (plot.world(), plot.subject(HOME));
        // Somebody flags it just then, and the program may neither flag nor remove it.
        plot.home
            .refuse_command(Refusal::No, |line| line.contains("UID EXPUNGE"));
        let imap = Mutex::new(Some(plot.bare(HOME)));
        plot.home.refuse_command(Refusal::No, move |line| {
            let imap = || imap.lock().unwrap().take();
            let asked = line.contains("+FLAGS").then(imap).flatten();
            asked.is_some_and(|mut imap| {
                flag_the_original(&mut imap);
                true
            })
        });
        let answer = ask(&mut client, tool, arguments(tool));
        assert_eq!(
            answer.words, "failed needs_operator needs_operator",
            "{tool}: {}",
            answer.all
        );
        let doomed = before.without(&item).with(item.flagged(&["\\Deleted"]));
        same(
            &plot.world(),
            &doomed.with(item.lying_in(to, "Target")),
            tool,
        );
        leave(client);
    }
}

#[test]
fn a_copy_that_was_being_taken_back_is_spared_when_it_has_become_the_last() {
    let ground = Ground::new();
    let plot = ground.plot("", &[]);
    let mut client = start(plot.program());
    warm(&mut client);
    let (before, item) = (plot.world(), plot.subject(HOME));
    // The original may not be removed; the copy is flagged, and then nothing more can be done there.
    plot.home
        .refuse_command(Refusal::No, |line| line.contains("+FLAGS"));
    plot.away
        .cut_before(Cut::Close, |line| line.contains("UID EXPUNGE"));
    plot.away.refuse();
    let answer = ask(&mut client, "move", arguments("move"));
    assert_eq!(answer.words, "failed unknown unknown", "{}", answer.all);
    client.kill();
    drop(client);
    let flagged = item.lying_in(AWAY, "Target").flagged(&["\\Deleted"]);
    same(&plot.world(), &before.with(flagged), "half taken back");

    let mut imap = plot.bare(HOME);
    flag_the_original(&mut imap);
    imap.command(&format!("UID EXPUNGE {SUBJECT}"));
    plot.away.admit();
    plot.calm();
    let client = start(plot.program());
    let lines = plot.settled();
    leave(client);
    assert_eq!(lines[0].state, "done", "{lines:?}");
    let moved = before.without(&item).with(item.lying_in(AWAY, "Target"));
    same(&plot.world(), &moved, "spared");
}

#[test]
fn a_copy_that_can_only_be_flagged_is_told_of() {
    let ground = Ground::new();
    let plot = ground.plot("MOVE UIDPLUS", &[]);
    let mut client = start(plot.program());
    warm(&mut client);
    let (before, item) = (plot.world(), plot.subject(HOME));
    // The original may not be removed, and the server cannot remove the copy alone.
    plot.home
        .refuse_command(Refusal::No, |line| line.contains("+FLAGS"));
    let answer = ask(
        &mut client,
        "imap_move_message",
        arguments("imap_move_message"),
    );
    assert_eq!(answer.words, "failed flagged_only undone", "{}", answer.all);
    assert!(
        answer.has("left in the target; nothing else is changed"),
        "{}",
        answer.text
    );
    let left = item.lying_in(HOME, "Target").flagged(&["\\Deleted"]);
    same(&plot.world(), &before.with(left), "flagged");
    leave(client);
}
