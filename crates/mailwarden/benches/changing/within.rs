//! Changes within an account, one after the other, on either side in turn: the program, and the bare connection.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::{FaultProxy, McpClient, RawImap};

use super::world::{World, bare, round_trips};
use crate::samples::{Samples, Span};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Change {
    Flags,
    Copy,
    Move,
    Delete,
}

impl Change {
    const ALL: [Self; 4] = [Self::Flags, Self::Copy, Self::Move, Self::Delete];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Flags => "`imap_update_message_flags`",
            Self::Copy => "`imap_copy_message`",
            Self::Move => "`imap_move_message`",
            Self::Delete => "`imap_delete_message`, to the trash",
        }
    }

    /// Round trips it may take.
    pub(crate) fn most(self) -> u64 {
        match self {
            Self::Delete => 2,
            _ => 1,
        }
    }

    fn call(self, id: &str) -> (&'static str, Value) {
        match self {
            Self::Flags => (
                "imap_update_message_flags",
                json!({ "message_id": id, "add_flags": ["\\Seen"] }),
            ),
            Self::Copy => (
                "imap_copy_message",
                json!({ "message_id": id, "destination_mailbox": "Target" }),
            ),
            Self::Move => (
                "imap_move_message",
                json!({ "message_id": id, "destination_mailbox": "Target" }),
            ),
            Self::Delete => (
                "imap_delete_message",
                json!({ "message_id": id, "confirm": true }),
            ),
        }
    }

    fn command(self, uid: u32) -> String {
        match self {
            Self::Flags => format!("UID STORE {uid} +FLAGS (\\Seen)"),
            Self::Copy => format!("UID COPY {uid} Target"),
            Self::Move => format!("UID MOVE {uid} Target"),
            Self::Delete => format!("UID MOVE {uid} Trash"),
        }
    }
}

pub(crate) struct Row {
    pub change: Change,
    pub bare: Samples,
    pub ours: Samples,
    pub told: Span,
    pub most_told: u64,
}

pub(crate) fn all(world: &World, one_way: Duration, rounds: usize) -> Vec<Row> {
    let proxy = FaultProxy::to(world.home.port());
    let mut program = world.program(proxy.port());
    let (mut imap, generation) = bare(proxy.port(), "INBOX");
    let listed = imap.command("UID SEARCH ALL").text();
    let mut uids = listed
        .lines()
        .find_map(|line| line.strip_prefix("* SEARCH "))
        .expect("a list")
        .split(' ')
        .map(|uid| uid.parse::<u32>().expect("a number"))
        .collect::<Vec<_>>()
        .into_iter();
    proxy.delay(one_way);
    let mut side = Side {
        client: &mut program.client,
        imap: &mut imap,
        generation,
    };
    let mut next = || uids.next().expect("messages enough");
    Change::ALL
        .into_iter()
        .map(|change| {
            // Whatever is done for the first time is done off the clock.
            side.ours(change, next());
            side.bare(change, next());
            let mut row = Row {
                change,
                bare: Samples::default(),
                ours: Samples::default(),
                told: Span::default(),
                most_told: 0,
            };
            for round in 0..rounds {
                // A B B A
                let order = match round % 2 == 0 {
                    true => [Turn::Ours, Turn::Bare],
                    false => [Turn::Bare, Turn::Ours],
                };
                for turn in order {
                    match turn {
                        Turn::Ours => row.add(side.ours(change, next())),
                        Turn::Bare => row.bare.add(side.bare(change, next())),
                    }
                }
            }
            row
        })
        .collect()
}

enum Turn {
    Ours,
    Bare,
}

impl Row {
    fn add(&mut self, (time, told): (Duration, u64)) {
        self.ours.add(time);
        self.told.add(told);
        self.most_told = self.most_told.max(told);
    }
}

struct Side<'a> {
    client: &'a mut McpClient,
    imap: &'a mut RawImap,
    generation: u32,
}

impl Side<'_> {
    fn ours(&mut self, change: Change, uid: u32) -> (Duration, u64) {
        let id = format!("imap:default:INBOX:{}:{uid}", self.generation);
        let (tool, arguments) = change.call(&id);
        let begun = Instant::now();
        let sent = self.client.send_call(tool, arguments);
        let result = self.client.wait(sent);
        let time = begun.elapsed();
        (time, round_trips(&result.expect("an answer")))
    }

    fn bare(&mut self, change: Change, uid: u32) -> Duration {
        let command = change.command(uid);
        let begun = Instant::now();
        let reply = self.imap.try_command(&command);
        let time = begun.elapsed();
        assert!(reply.is_ok(), "{command}: {}", reply.text());
        time
    }
}
