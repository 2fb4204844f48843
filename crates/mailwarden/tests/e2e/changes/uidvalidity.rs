//! A folder that becomes another one while a session has it open: nothing is changed in it by its
//! old ids.

use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;

use super::{ask, message, same, subject};
use crate::support::start;
use crate::write_crash::{Ground, HOME, SUBJECT, leave};

/// The first reply that holds these words says before it that the folder is another one.
fn announce_before(words: &'static str) -> impl Fn(&str) -> Option<String> + Send + Sync {
    let said = AtomicBool::new(false);
    move |line| {
        let now = line.contains(words) && !said.swap(true, Ordering::SeqCst);
        now.then(|| format!("* OK [UIDVALIDITY 999999] rebuilt\r\n{line}"))
    }
}

#[test]
fn move_after_a_changed_uidvalidity_is_a_conflict() {
    let ground = Ground::new();
    let changes = [
        (
            "imap_move_message",
            json!({ "destination_mailbox": "Target" }),
        ),
        (
            "imap_copy_message",
            json!({ "destination_mailbox": "Target" }),
        ),
        (
            "imap_update_message_flags",
            json!({ "add_flags": ["\\Flagged"] }),
        ),
    ];
    for (tool, more) in changes {
        let plot = ground.plot("", &[]);
        let mut client = start(plot.program());
        let before = plot.world();
        plot.home.rewrite_replies(announce_before("FETCH ("));
        let answer = ask(&mut client, tool, subject(HOME, more.clone()));
        assert!(
            answer.words.contains("conflict"),
            "{tool}: {}",
            answer.words
        );
        same(&plot.world(), &before, tool);
        let commands = plot.home.commands();
        let changed = |line: &String| {
            ["UID MOVE", "UID COPY", "UID STORE"]
                .iter()
                .any(|one| line.contains(one))
        };
        assert!(!commands.iter().any(changed), "{tool}: {commands:?}");
        // On a connection that opens the folder anew it is the one that it was.
        plot.home.disarm();
        let answer = ask(&mut client, tool, subject(HOME, more));
        assert!(answer.words.starts_with("ok"), "{tool}: {}", answer.words);
        leave(client);
    }
}

#[test]
fn read_after_a_changed_uidvalidity_is_a_conflict() {
    let ground = Ground::new();
    let plot = ground.plot("", &[]);
    let mut client = start(plot.program());
    plot.home.rewrite_replies(announce_before("FETCH ("));
    let read = json!({ "message_id": message(HOME, SUBJECT) });
    let answer = ask(&mut client, "imap_get_message", read.clone());
    assert!(answer.words.contains("conflict"), "{}", answer.words);
    plot.home.disarm();
    let answer = ask(&mut client, "imap_get_message", read);
    assert!(answer.words.starts_with("ok"), "{}", answer.words);
    leave(client);
}
