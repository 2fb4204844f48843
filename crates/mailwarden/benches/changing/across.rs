//! A thousand messages from one account to another: by the program, many calls under way, and by two bare connections
//! that read and write at once, check nothing and write nothing down.

use std::time::{Duration, Instant};

use serde_json::json;

use super::world::{LARGE, World, bare, round_trips};

/// Calls under way.
pub(crate) const AT_ONCE: usize = 32;
const ROUNDS: usize = 3;

pub(crate) struct Across {
    pub bare: Vec<Duration>,
    pub ours: Vec<Duration>,
}

pub(crate) fn all(world: &World) -> Across {
    let mut program = world.program(world.home.port());
    let mut across = Across {
        bare: Vec::new(),
        ours: Vec::new(),
    };
    let (_, generation) = bare(world.home.port(), "Large");
    for round in 0..ROUNDS {
        let (mine, theirs) = (format!("Ours{round}"), format!("Bare{round}"));
        for folder in [&mine, &theirs] {
            world.away.create_folder("alice", folder);
        }
        across.bare.push(by_hand(world, &theirs));
        let begun = Instant::now();
        let client = &mut program.client;
        let mut under_way = std::collections::VecDeque::new();
        for uid in 1..=LARGE {
            if under_way.len() >= AT_ONCE {
                let first = under_way.pop_front().expect("a call");
                round_trips(&client.wait(first).expect("an answer"));
            }
            let id = format!("imap:default:Large:{generation}:{uid}");
            let arguments = json!({
                "message_id": id,
                "destination_mailbox": mine,
                "destination_account_id": "away",
            });
            under_way.push_back(client.send_call("imap_copy_message", arguments));
        }
        for last in under_way {
            round_trips(&client.wait(last).expect("an answer"));
        }
        across.ours.push(begun.elapsed());
        for folder in [&mine, &theirs] {
            assert_eq!(count(world, folder), LARGE, "{folder}");
        }
    }
    across
}

/// One FETCH of everything, and an APPEND for each message as it comes, none of them waited for before the last.
fn by_hand(world: &World, folder: &str) -> Duration {
    let (mut from, _) = bare(world.home.port(), "Large");
    let (mut to, _) = bare(world.away.port(), "INBOX");
    let begun = Instant::now();
    let fetch = from.send(&["UID FETCH 1:* (FLAGS INTERNALDATE BODY.PEEK[])"]);
    let (mut sent, mut heard) = (0, 0);
    loop {
        let response = from.read_response();
        if response.starts_with(fetch.as_bytes()) {
            break;
        }
        let Some(message) = literal(&response) else {
            continue;
        };
        let mut bytes = format!("b{sent} APPEND {folder} {{{}+}}\r\n", message.len()).into_bytes();
        bytes.extend_from_slice(message);
        bytes.extend_from_slice(b"\r\n");
        to.send_bytes(&bytes);
        sent += 1;
        // Answers that nobody takes would stop the server in the end.
        while heard + 200 < sent {
            heard += usize::from(to.read_response().starts_with(b"b"));
        }
    }
    while heard < sent {
        heard += usize::from(to.read_response().starts_with(b"b"));
    }
    begun.elapsed()
}

fn literal(response: &[u8]) -> Option<&[u8]> {
    let open = response.iter().rposition(|byte| *byte == b'{')?;
    let open = response[..open + 1]
        .windows(2)
        .position(|pair| pair == b" {")
        .map_or(open, |at| at + 1);
    let close = open + response[open..].iter().position(|byte| *byte == b'}')?;
    let octets: usize = std::str::from_utf8(&response[open + 1..close])
        .ok()?
        .parse()
        .ok()?;
    response.get(close + 3..close + 3 + octets)
}

fn count(world: &World, folder: &str) -> usize {
    let (mut imap, _) = bare(world.away.port(), folder);
    let listed = imap.command("UID SEARCH ALL").text();
    let line = listed.lines().find(|line| line.starts_with("* SEARCH"));
    line.expect("a list").split(' ').count() - 2
}
