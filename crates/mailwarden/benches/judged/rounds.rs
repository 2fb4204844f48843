//! The rounds: bare and judged in turns, so that a machine that slows down slows both.

use std::time::Instant;

use serde_json::json;
use testkit::McpClient;

use super::world::{Folder, Who, World};
use crate::samples::Samples;

pub(crate) struct Measured {
    pub folder: Folder,
    pub bare: Samples,
    /// The server's own search for all messages and nothing else.
    pub all: Samples,
    pub first: Samples,
    pub repeated: Samples,
    pub visible: u64,
}

/// More for what is over soon.
const ROUNDS: usize = 7;
const REPEATS: usize = 15;

pub(crate) fn run(world: &World, folder: Folder) -> Measured {
    let mut measured = Measured {
        folder,
        bare: Samples::default(),
        all: Samples::default(),
        first: Samples::default(),
        repeated: Samples::default(),
        visible: 0,
    };
    let mut bare = world.connect(folder);
    for _ in 0..ROUNDS {
        let begun = Instant::now();
        world.fetch_all(&mut bare);
        measured.bare.add(begun.elapsed());
        for _ in 0..REPEATS {
            let begun = Instant::now();
            world.list_all(&mut bare);
            measured.all.add(begun.elapsed());
        }
        let mut client = world.client(Who::Whitelisted);
        let begun = Instant::now();
        measured.visible = search(&mut client, folder);
        measured.first.add(begun.elapsed());
        for _ in 0..REPEATS {
            let begun = Instant::now();
            assert_eq!(search(&mut client, folder), measured.visible);
            measured.repeated.add(begun.elapsed());
        }
    }
    measured
}

/// How many match and may be seen.
fn search(client: &mut McpClient, folder: Folder) -> u64 {
    let page = client.call(
        "search",
        json!({ "account_id": "work", "folder": folder.name, "limit": 50 }),
    );
    let data = &page.structured["data"];
    assert_eq!(data["status"], "ok", "{}", page.text);
    assert_eq!(data["matched_total"], folder.messages);
    data["matched_visible"].as_u64().expect("a number")
}

/// What the process grows by for each message whose facts it keeps.
pub(crate) fn memory(world: &World) -> u64 {
    let mut client = world.client(Who::Blacklisted);
    // What a first search needs besides facts is there before.
    search(&mut client, world.small());
    let before = resident(client.pid());
    search(&mut client, world.large());
    search(&mut client, world.large());
    let grown = resident(client.pid()).saturating_sub(before);
    grown / u64::from(world.large().messages)
}

fn resident(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("a process");
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let kb = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
    kb.expect("a number") * 1_024
}
