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
fn rounds(folder: Folder) -> usize {
    match folder.messages <= 10_000 {
        true => 25,
        false => 9,
    }
}

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
    for _ in 0..rounds(folder) {
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

/// Octets for each message whose facts are kept.
pub(crate) struct Kept {
    /// As the program counts what it holds, room that is not used included.
    pub counted: u64,
    /// What the process grew by, with all that fetching took at its height.
    pub grown: u64,
}

pub(crate) fn memory(world: &World) -> Kept {
    let mut client = world.client(Who::Blacklisted);
    // What a first search needs besides facts is there before.
    search(&mut client, world.small());
    let before = (resident(client.pid()), counted(&client));
    search(&mut client, world.large());
    search(&mut client, world.large());
    let after = (resident(client.pid()), counted(&client));
    let messages = u64::from(world.large().messages);
    Kept {
        counted: (after.1 - before.1) / messages,
        grown: after.0.saturating_sub(before.0) / messages,
    }
}

/// What the program said last.
fn counted(client: &McpClient) -> u64 {
    let said = client.stderr();
    let octets = said.rsplit("octets=").next().and_then(|rest| {
        let digits = rest.chars().take_while(char::is_ascii_digit);
        digits.collect::<String>().parse().ok()
    });
    octets.expect("the program says what it keeps")
}

fn resident(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("a process");
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let kb = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
    kb.expect("a number") * 1_024
}
