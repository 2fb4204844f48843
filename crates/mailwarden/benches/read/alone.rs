//! What has no bare connection beside it: starting, memory, one large mail, many reads at once.

use std::time::{Duration, Instant};

use serde_json::json;
use testkit::McpClient;

use super::cases::{fetch_unknown, read};
use super::facts::Folder;
use super::samples::Samples;
use super::sides::{self, ask};
use super::world::{LOGIN, Route, World};

const STARTS: usize = 20;
const BIG_ROUNDS: usize = 20;
const BURST: u32 = 30;
const BURST_ROUNDS: usize = 9;
const POOL: u64 = 4;

/// UIDs in the folder `Big`.
const WARM_UP: u32 = 1;
const SMALL: u32 = 2;
const LARGE: u32 = 3;

pub(crate) struct Check {
    pub name: &'static str,
    pub run: fn(&World) -> Vec<Finding>,
}

/// One line of the third table.
pub(crate) struct Finding {
    pub what: String,
    pub measured: String,
    pub goal: String,
    pub met: bool,
}

pub(crate) const ALL: &[Check] = &[
    Check {
        name: "start",
        run: start,
    },
    Check {
        name: "memory",
        run: memory,
    },
    Check {
        name: "big",
        run: |world| {
            vec![
                large(world, &world.near),
                large(world, &world.far),
                growth(world),
            ]
        },
    },
    Check {
        name: "parallel",
        run: |world| {
            let routes = [&world.near, &world.far].into_iter();
            let timed = routes.flat_map(|route| Pool::BOTH.map(|pool| burst(world, route, pool)));
            timed
                .chain([&world.watched, &world.far].map(|route| connections(world, route)))
                .collect()
        },
    },
];

fn start(world: &World) -> Vec<Finding> {
    let mut times = Samples::default();
    for _ in 0..STARTS {
        let begun = Instant::now();
        let mut client = McpClient::spawn(world.program(&world.near));
        client.initialize();
        client.request("tools/list", json!({})).expect("the tools");
        times.add(begun.elapsed());
    }
    vec![Finding {
        what: format!("start to first answer (process, initialize, tools/list), {STARTS} starts"),
        measured: format!("{:.1} ms (p95 {:.1})", times.p50(), times.p95()),
        goal: "≤ 25 ms".to_owned(),
        met: times.p50() <= 25.0,
    }]
}

fn memory(world: &World) -> Vec<Finding> {
    let mut client = world.client(&world.near);
    client.request("tools/list", json!({})).expect("the tools");
    let before = client.rss();
    ask(&mut client, read(&world.facts, Folder::Inbox, 1));
    vec![Finding {
        what: "idle memory (RSS) after initialize, tools/list and one message".to_owned(),
        measured: format!(
            "{} (before the message {})",
            megabytes(client.rss()),
            megabytes(before)
        ),
        goal: "≤ 20 MB".to_owned(),
        met: client.rss() <= 20_000_000,
    }]
}

/// A message of 34 MB beside a small one, the structure of neither known.
fn large(world: &World, route: &Route) -> Finding {
    let [mut small, mut large] = [Samples::default(), Samples::default()];
    let [mut bare_small, mut bare_large] = [Samples::default(), Samples::default()];
    let mut imap = world.connect(route);
    imap.command(LOGIN);
    imap.command("EXAMINE Big");
    for round in 0..BIG_ROUNDS {
        // A fresh process knows nothing of either; its connection is warm after the first message.
        let mut client = world.client(route);
        ask(&mut client, read(&world.facts, Folder::Big, WARM_UP));
        let mut turns = [
            (SMALL, &mut small, &mut bare_small),
            (LARGE, &mut large, &mut bare_large),
        ];
        if round % 2 == 1 {
            turns.reverse();
        }
        for (uid, ours, bare) in turns {
            ours.add(ask(&mut client, read(&world.facts, Folder::Big, uid)).time);
            let begun = Instant::now();
            sides::fly(&mut imap, &[vec![fetch_unknown(uid), "NOOP".to_owned()]]);
            bare.add(begun.elapsed());
        }
    }
    let ratio = large.p50() / small.p50();
    Finding {
        what: format!(
            "a 34 MB mail with a short text beside a small mail, {}",
            route.name
        ),
        measured: format!(
            "{:.2} ms beside {:.2} ms: {ratio:.2} × (bare {:.2} beside {:.2})",
            large.p50(),
            small.p50(),
            bare_large.p50(),
            bare_small.p50()
        ),
        goal: "≤ 1.5 ×".to_owned(),
        met: ratio <= 1.5,
    }
}

fn growth(world: &World) -> Finding {
    let mut client = world.client(&world.near);
    ask(&mut client, read(&world.facts, Folder::Big, WARM_UP));
    let before = client.peak_rss();
    ask(&mut client, read(&world.facts, Folder::Big, LARGE));
    let grown = client.peak_rss() - before;
    Finding {
        what: "memory (peak RSS) that reading the 34 MB mail adds".to_owned(),
        measured: megabytes(grown),
        goal: "far from 34 MB".to_owned(),
        met: grown <= 3_400_000,
    }
}

/// How many connections are open before the burst.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pool {
    One,
    Full,
}

impl Pool {
    const BOTH: [Self; 2] = [Self::One, Self::Full];

    fn name(self) -> &'static str {
        match self {
            Self::One => "one connection open",
            Self::Full => "all connections open",
        }
    }

    /// A process with so many connections, all of them with INBOX open.
    fn warm(self, world: &World, route: &Route) -> McpClient {
        let mut client = world.client(route);
        ask(&mut client, read(&world.facts, Folder::Inbox, 1));
        if self == Self::Full {
            at_once(world, &mut client, 100);
        }
        client
    }
}

fn burst(world: &World, route: &Route, pool: Pool) -> Finding {
    let [mut together, mut in_turn] = [Samples::default(), Samples::default()];
    for round in 0..BURST_ROUNDS {
        let mut run = [
            (
                at_once as fn(&World, &mut McpClient, u32) -> Duration,
                &mut together,
            ),
            (one_by_one, &mut in_turn),
        ];
        if round % 2 == 1 {
            run.reverse();
        }
        for (read_all, times) in run {
            let mut client = pool.warm(world, route);
            times.add(read_all(world, &mut client, 200));
        }
    }
    Finding {
        what: format!(
            "{BURST} reads at once beside one after the other, {}, {}",
            pool.name(),
            route.name
        ),
        measured: format!(
            "{:.1} ms beside {:.1} ms: {:.2} ×",
            together.p50(),
            in_turn.p50(),
            together.p50() / in_turn.p50()
        ),
        goal: "≤ 1 ×".to_owned(),
        met: together.p50() <= in_turn.p50(),
    }
}

fn connections(world: &World, route: &Route) -> Finding {
    let (client, seen) = route.watch(|| {
        let mut client = world.client(route);
        at_once(world, &mut client, 300);
        at_once(world, &mut client, 400);
        client
    });
    drop(client);
    let opened = seen.expect("a proxy").connections;
    Finding {
        what: format!(
            "connections opened by twice {BURST} reads at once, {}",
            route.name
        ),
        measured: opened.to_string(),
        goal: format!("≤ {POOL}"),
        met: opened <= POOL,
    }
}

/// From the first request sent to the last answer.
fn at_once(world: &World, client: &mut McpClient, first: u32) -> Duration {
    let begun = Instant::now();
    let calls = (first..first + BURST).map(|uid| read(&world.facts, Folder::Inbox, uid));
    let ids: Vec<_> = calls
        .map(|call| client.send_call(call.tool, call.arguments))
        .collect();
    let answers: Vec<_> = ids.into_iter().map(|id| client.wait(id)).collect();
    let time = begun.elapsed();
    for answer in answers {
        assert_eq!(
            answer.expect("an answer")["structuredContent"]["data"]["status"],
            "ok"
        );
    }
    time
}

fn one_by_one(world: &World, client: &mut McpClient, first: u32) -> Duration {
    let calls = (first..first + BURST).map(|uid| read(&world.facts, Folder::Inbox, uid));
    calls.map(|call| ask(client, call).time).sum()
}

fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}
