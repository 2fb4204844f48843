//! Killed at every write, sync and send in turn, and at random with many callers at once: the chain holds, and whatever a
//! client was told is in it.
//!
//! The short form runs with all tests. `cargo xtask crash` sets `CRASH_RUNS` for the long one.

use std::process::Command;

use serde_json::{Value, json};
use testkit::mcp::Gone;
use testkit::trap::{Call, Deed, Kind, Plan, Stream, Trapped, Watch};
use testkit::{Dovecot, McpClient};

use crate::installation::{Installation, Tail, has_record};
use crate::support::{Account, configure, note, start};

struct World {
    server: Dovecot,
}

impl World {
    fn new() -> Self {
        let server = Dovecot::start();
        for number in 1..=5 {
            server.deliver(
                "alice",
                "INBOX",
                &note(&format!("number {number}"), "inside"),
            );
        }
        Self { server }
    }

    fn program(&self, state: &Installation) -> Command {
        let mut command = self.configured(state);
        command.arg("stdio");
        command
    }

    /// A run that ends by itself, so that the next one finds everything in place.
    fn prime(&self, state: &Installation) {
        let mut client = start(self.configured(state));
        client.call("imap_list_accounts", json!({}));
        client.close_stdin();
        client
            .wait_exit(std::time::Duration::from_secs(10))
            .expect("an end");
    }

    fn configured(&self, state: &Installation) -> Command {
        let mut command = state.program();
        let account = Account {
            port: self.server.port(),
            ..Account::default()
        };
        configure(&mut command, "DEFAULT", &account);
        command
    }
}

/// Calls that are asked one after the other, then several at once. What came back is in `told`.
fn talk(
    client: &mut McpClient,
    at_once: usize,
    in_all: usize,
    told: &mut Vec<Value>,
) -> Result<(), Gone> {
    let search = || json!({ "name": "imap_search_messages", "arguments": { "mailbox": "INBOX", "limit": 2 } });
    let wrong = || json!({ "name": "imap_search_messages", "arguments": { "mailbox": 7 } });
    client.try_initialize()?;
    let mut waiting = std::collections::VecDeque::new();
    for number in 0..in_all {
        if waiting.len() == at_once {
            let id = waiting.pop_front().expect("one that waits");
            told.push(meta(client.try_wait(id)?));
        }
        let params = if number % 5 == 4 { wrong() } else { search() };
        waiting.push_back(client.try_send("tools/call", params)?);
    }
    for id in waiting {
        told.push(meta(client.try_wait(id)?));
    }
    Ok(())
}

fn meta(reply: Result<Value, testkit::mcp::RpcError>) -> Value {
    match reply {
        Ok(result) => result["structuredContent"]["meta"].clone(),
        Err(error) => error.data["meta"].clone(),
    }
}

/// One run with its end, and what must hold afterwards. False when the deed never came to pass.
fn run(world: &World, state: &Installation, plan: Plan, at_once: usize, in_all: usize) -> bool {
    let mut client = McpClient::over(Trapped::spawn(world.program(state), plan));
    let mut told = Vec::new();
    let ended = talk(&mut client, at_once, in_all, &mut told);
    if ended.is_ok() {
        client.close_stdin();
    }
    client.await_silence();
    // Replies that had arrived when the program died count too.
    let arrived = client.answered();
    for id in arrived {
        if let Ok(reply) = client.try_wait(id) {
            told.push(meta(reply));
        }
    }
    told.retain(|meta| !meta.is_null());
    let outcome = client.trapped().expect("a trap").wait();
    let records = state.read(Tail::MayBeTorn);
    for meta in &told {
        if let Err(missing) = has_record(&records, meta) {
            panic!("after {:?}: {missing}", outcome.hit());
        }
    }
    outcome.hit().is_some()
}

/// What every log must be after whatever happened: one that the next process goes on with.
fn goes_on(world: &World, state: &Installation) {
    world.prime(state);
    let records = state.records();
    assert_eq!(records.last().unwrap().event, "stop");
    state.verify();
}

/// Whether the log has been used before the run that is killed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Log {
    New,
    Used,
}

#[test]
fn killed_at_every_write_sync_and_send() {
    let world = World::new();
    let mut points = 0;
    for (log, deed) in [
        (Log::New, Deed::Kill),
        (Log::Used, Deed::Kill),
        (Log::Used, Deed::KillAfter),
        (Log::Used, Deed::Tear),
    ] {
        for nth in 1.. {
            let state = Installation::new();
            if log == Log::Used {
                world.prime(&state);
            }
            let hit = run(
                &world,
                &state,
                Plan::at(nth, Watch::all_changes(), deed.clone()),
                3,
                8,
            );
            goes_on(&world, &state);
            if !hit {
                break;
            }
            points += 1;
        }
    }
    eprintln!("{points} kill points, no violation");
    assert!(points > 150, "only {points} kill points");
}

#[test]
fn a_reply_leaves_after_its_record_is_on_disk() {
    let world = World::new();
    let state = Installation::new();
    world.prime(&state);
    let log = Watch::of([Kind::Write, Kind::Sync]).under(state.audit());
    let replies = Watch::of([Kind::Send]).on(Stream::Stdout);
    let counted = Trapped::spawn(world.program(&state), Plan::count(log.or(replies)));
    let mut client = McpClient::over(counted);
    const CALLS: usize = 6;
    talk(&mut client, 1, CALLS, &mut Vec::new()).unwrap();
    client.close_stdin();
    client.await_silence();
    let mut replies = 0;
    let mut written = 0;
    let mut synced = 0;
    let mut syncs = 0;
    let is_log = |call: &Call| {
        call.path
            .as_ref()
            .is_some_and(|path| path.extension() == Some("jsonl".as_ref()))
    };
    for call in client.trapped().expect("a trap").wait().seen {
        match call.kind {
            Kind::Write if is_log(&call) => written += 1,
            Kind::Sync if is_log(&call) => {
                synced = written;
                syncs += 1;
            }
            // The first reply is the one to `initialize`.
            Kind::Send => {
                assert!(
                    written >= replies && synced == written,
                    "reply {replies} left early"
                );
                replies += 1;
            }
            _ => {}
        }
    }
    assert_eq!(replies, 1 + CALLS);
    // One for each call, one for the start, one for the stop.
    assert!(syncs <= CALLS + 2, "{syncs} syncs");
}

fn long() -> Option<usize> {
    std::env::var("CRASH_RUNS").ok()?.parse().ok()
}

#[test]
fn killed_at_random_with_many_callers() {
    const CALLERS: usize = 32;
    const ONE_LOG: usize = 25;
    let world = World::new();
    let mut state = Installation::new();
    world.prime(&state);
    let counted = Trapped::spawn(world.program(&state), Plan::count(Watch::all_changes()));
    let mut client = McpClient::over(counted);
    talk(&mut client, CALLERS, 2 * CALLERS, &mut Vec::new()).unwrap();
    client.close_stdin();
    client.await_silence();
    let points = client.trapped().expect("a trap").wait().seen.len();
    let mut random = 0x2545_f491_4f6c_dd1d_u64;
    let wanted = long().unwrap_or(12);
    let (mut kills, mut runs) = (0, 0);
    // How many calls a run makes depends on who meets whom: some end before they are killed. A log has to survive many;
    // reading it after each takes longer and longer.
    while kills < wanted {
        runs += 1;
        if runs % ONE_LOG == 0 {
            goes_on(&world, &state);
            state = Installation::new();
            world.prime(&state);
        }
        assert!(runs < 4 * wanted, "only {kills} of {runs} runs were killed");
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let nth = 1 + usize::try_from(random % points as u64).unwrap();
        let deed = if random & 256 == 0 {
            Deed::Kill
        } else {
            Deed::Tear
        };
        kills += usize::from(run(
            &world,
            &state,
            Plan::at(nth, Watch::all_changes(), deed),
            CALLERS,
            2 * CALLERS,
        ));
    }
    goes_on(&world, &state);
    eprintln!("killed {kills} times in {runs} runs, up to {points} points each, no violation");
}
