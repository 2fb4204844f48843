//! What a caller changes itself, and then reads: drafts that answer a Message-ID it guesses, copies
//! and moves of messages that it may or may not see.

use std::collections::BTreeSet;

use serde_json::json;

use super::dice::Dice;
use super::letter::Letter;
use super::script::Step;
use super::world::{NOTES, SUBJECTS, World};

/// Played once, because it leaves other mailboxes behind.
pub(super) fn of_world(world: &World, dice: &mut Dice) -> Vec<Step> {
    let account = &world.account;
    let letters = letters(world);
    let mut steps = Vec::new();
    let mut guesses: BTreeSet<&str> = ["unheardof"].into();
    // One: drafts of the same second stand in the order of their Message-IDs, which are random.
    if !letters.is_empty() {
        guesses.insert(dice.pick(&letters).2.headers.word.as_str());
    }
    for guess in guesses {
        let guess = format!("<{guess}@id.example>");
        steps.push(Step::call(
            "create_draft",
            json!({
                "account_id": account, "folder": NOTES, "body": "My answer.",
                "from": "me@corp.example", "subject": "Re: it", "in_reply_to": guess,
            }),
        ));
        for tool in ["read_thread", "get_thread_paths", "read_email"] {
            let arguments = json!({ "account_id": account, "message_id": guess });
            steps.push(Step::call(tool, arguments));
        }
    }
    for _ in 0..6 {
        let (folder, uid) = match letters.is_empty() || dice.once_in(6) {
            true => ("INBOX", 99),
            false => {
                let (folder, uid, _) = dice.pick(&letters);
                (folder.as_str(), *uid)
            }
        };
        let target = *dice.pick(&[NOTES, SUBJECTS]);
        let tool = *dice.pick(&["copy", "copy", "move"]);
        steps.push(Step::call(
            tool,
            json!({ "account_id": account, "folder": folder, "uid": uid, "target_folder": target }),
        ));
    }
    for folder in [NOTES, SUBJECTS] {
        let place = json!({ "account_id": account, "folder": folder });
        steps.push(Step::call("folder_stats", place.clone()));
        steps.push(Step::call("search", place.clone()));
        let arguments = json!({
            "account_id": account, "folder": folder, "criteria": { "subject_contains": "re" },
        });
        steps.push(Step::call("search", arguments));
        for uid in 1..4 {
            let at = json!({ "account_id": account, "folder": folder, "uid": uid });
            steps.push(Step::call("fetch_headers", at.clone()));
            steps.push(Step::call("fetch_body", at));
        }
    }
    steps
}

/// Every message of either mailbox, hidden ones included.
fn letters(world: &World) -> Vec<(String, u32, &Letter)> {
    let mut all = Vec::new();
    for folder in &world.folders {
        for (uid, letter) in folder.sides.iter().flatten().flatten() {
            all.push((folder.name.clone(), *uid, letter));
        }
    }
    all
}
