//! Several changes that take one message away at once: one does, the others are told that it is leaving, and it is there
//! once.

use std::sync::{Mutex, mpsc};

use serde_json::json;
use testkit::McpClient;
use testkit::proxy::Refusal;

use super::{Answer, ask, parts, same, subject, told};
use crate::support::start;
use crate::write_crash::{AWAY, Ground, HOME, SUBJECT, leave};

#[test]
fn a_message_that_is_leaving_is_not_taken_elsewhere() {
    let ground = Ground::new();
    let plot = ground.plot("", &[]);
    // Two processes over one ledger.
    let (mut client, mut other) = (start(plot.program()), start(plot.program()));
    let (before, item) = (plot.world(), plot.subject(HOME));
    // The other account's server is asked to take it, and hears of it when the test is done, however that ends.
    let (come, came) = mpsc::channel();
    let (go, gone) = mpsc::channel::<()>();
    let gate = Mutex::new(Some((come, gone)));
    plot.away.refuse_command(Refusal::No, move |line| {
        if line.contains("APPEND")
            && let Some((come, gone)) = gate.lock().unwrap().take()
        {
            come.send(()).unwrap();
            let _ = gone.recv();
        }
        false
    });
    let across = json!({ "target_folder": "Target", "target_account_id": AWAY });
    let first = client.send_call("move", parts(HOME, SUBJECT, across));
    came.recv().unwrap();
    let to = json!({ "destination_mailbox": "Target" });
    for client in [&mut client, &mut other] {
        for (tool, arguments) in [
            ("imap_move_message", subject(HOME, to.clone())),
            (
                "move",
                parts(HOME, SUBJECT, json!({ "target_folder": "Archive" })),
            ),
            (
                "imap_delete_message",
                subject(HOME, json!({ "confirm": true })),
            ),
        ] {
            let refused = ask(client, tool, arguments);
            assert_eq!(refused.words, "-32600 conflict", "{tool}: {}", refused.all);
            assert!(
                refused.has("moving or deleting this message"),
                "{}",
                refused.text
            );
        }
    }
    same(&plot.world(), &before, "nothing has moved yet");
    drop(go);
    let moved = told(&mut client, first);
    assert_eq!(moved.words, "ok done", "{}", moved.all);
    let want = before.without(&item).with(item.lying_in(AWAY, "Target"));
    same(&plot.world(), &want, "once");
    [client, other].into_iter().for_each(leave);
    assert_eq!(
        plot.transactions().len(),
        1,
        "what was refused was not begun"
    );
}

#[test]
fn of_many_moves_at_once_one_moves() {
    let ground = Ground::new();
    for hidden in ["", "MOVE"] {
        let plot = ground.plot(hidden, &[]);
        let mut clients = [start(plot.program()), start(plot.program())];
        let (before, item) = (plot.world(), plot.subject(HOME));
        let targets = ["Target", "Archive", "Junk"];
        let mut sent = Vec::new();
        for target in targets {
            for (nth, client) in clients.iter_mut().enumerate() {
                let to = json!({ "destination_mailbox": target });
                let id = client.send_call("imap_move_message", subject(HOME, to));
                sent.push((nth, target, id));
            }
        }
        let mut moved = Vec::new();
        for (nth, target, id) in sent {
            let client: &mut McpClient = &mut clients[nth];
            let answer: Answer = told(client, id);
            match answer.words.as_str() {
                "ok done" => moved.push(target),
                // Whoever comes when it has left finds nothing.
                "-32600 conflict" | "-32002 not_found" => {}
                words => panic!("{hidden}: {words}: {}", answer.all),
            }
        }
        let [target] = moved[..] else {
            panic!("{hidden}: it was moved to {moved:?}");
        };
        let want = before.without(&item).with(item.lying_in(HOME, target));
        same(&plot.world(), &want, hidden);
        clients.into_iter().for_each(leave);
    }
}
