//! A few callers that want far more than there is, beside many that want little: whether the many notice.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use testkit::mailgen::Rng;
use tokio::time::Instant;

use super::agent::{Agent, Outcome};
use super::mix::Read;
use super::program::Program;
use super::samples::Spread;
use super::saturate::{self, Plan};
use super::steady::{Crowd, Heard, client, mailbox_of, runtime};
use super::watch;
use super::world::{CALLERS, World, token};

/// The last callers are greedy.
pub(super) const GREEDY: usize = 5;
/// What they want, of what the program can do.
const TIMES: f64 = 11.0;
/// What of theirs must at least reach the program in a second, or it was not overloaded: something on every other connection.
pub(super) const LEAST: f64 = (GREEDY * CONNECTIONS) as f64 / 2.0;
/// Connections of each of them: with those of the modest nearly all that one address may have.
pub(super) const CONNECTIONS: usize = 190;

pub(super) struct Found {
    /// Calls a second when everybody asks as fast as can be.
    pub capacity: f64,
    /// Those who want little, alone and in company.
    pub alone: Spread,
    pub beside: Spread,
    pub errors: usize,
    pub shed: usize,
    pub words: Vec<String>,
    /// What the greedy would have asked for in a second, what they were given, and what they were told to wait for.
    pub wanted: f64,
    pub served: f64,
    pub refused: f64,
    /// Calls of theirs that were not answered at all, in a second, and what became of the first.
    pub lost: f64,
    pub lost_first: Option<String>,
    pub load: String,
}

impl Found {
    /// What reached the program of the greedy, in a second.
    pub(super) fn reached(&self) -> f64 {
        self.served + self.refused
    }

    pub(super) fn ratio(&self) -> f64 {
        self.beside.p99 / self.alone.p99
    }
}

pub(super) fn run(world: &Arc<World>, program: &Program, crowd: Crowd) -> Result<Found, String> {
    let plan = Plan {
        seed: 0,
        rounds: 1,
        lasting: Duration::from_secs(5),
        open: 64,
    };
    saturate::ours(world, program, plan)?;
    let capacity = saturate::ours(world, program, plan)?.a_second;
    let alone = runtime()?.block_on(modest(world, program, crowd))?;
    let over = Arc::new(AtomicBool::new(false));
    let wanted = capacity * TIMES;
    let begun = Instant::now();
    // INVARIANT: how long the modest wait is measured by a thread that has nothing to do with the greedy.
    let (beside, greedy) = std::thread::scope(|scope| {
        let crowding = scope.spawn(|| runtime()?.block_on(greedy(world, program, wanted, &over)));
        let beside = runtime().and_then(|runtime| runtime.block_on(modest(world, program, crowd)));
        over.store(true, Ordering::Relaxed);
        let greedy = crowding
            .join()
            .map_err(|_| "the greedy broke off".to_owned())?;
        Ok::<_, String>((beside?, greedy?))
    })?;
    let seconds = begun.elapsed().as_secs_f64();
    let served = greedy.samples.all().calls;
    Ok(Found {
        capacity,
        alone: alone.samples.all(),
        beside: beside.samples.all(),
        errors: alone.errors + beside.errors,
        shed: alone.shed + beside.shed,
        words: alone.words.into_iter().chain(beside.words).collect(),
        wanted,
        served: served as f64 / seconds,
        refused: greedy.shed as f64 / seconds,
        lost: greedy.errors as f64 / seconds,
        lost_first: greedy.words.into_iter().next(),
        load: watch::load(),
    })
}

/// So many calls a second of the last callers, until it is over.
async fn greedy(
    world: &Arc<World>,
    program: &Program,
    wanted: f64,
    over: &Arc<AtomicBool>,
) -> Result<Heard, String> {
    let each = wanted / (GREEDY * CONNECTIONS) as f64;
    let all: Vec<_> = (0..GREEDY * CONNECTIONS)
        .map(|number| {
            let caller = CALLERS - 1 - number % GREEDY;
            let agent = Agent::new(program.address, token(caller));
            let (world, over) = (Arc::clone(world), Arc::clone(over));
            tokio::spawn(grab(world, agent, number, each, over))
        })
        .collect();
    let mut heard = Heard::default();
    for one in all {
        heard.join(one.await.map_err(|error| error.to_string())?);
    }
    Ok(heard)
}

/// All callers but the greedy, a client each for so many, about once a second.
async fn modest(world: &Arc<World>, program: &Program, crowd: Crowd) -> Result<Heard, String> {
    let begun = Instant::now();
    let clients: Vec<_> = (0..crowd.clients)
        .map(|number| {
            let agent = Agent::new(program.address, token(number % (CALLERS - GREEDY)));
            tokio::spawn(client(
                Arc::clone(world),
                agent,
                number,
                begun,
                crowd.lasting,
            ))
        })
        .collect();
    let mut heard = Heard::default();
    for client in clients {
        heard.join(client.await.map_err(|error| error.to_string())?);
    }
    Ok(heard)
}

/// Asks on its beat, and at once when it is late; what it is told to wait for it does not wait for.
async fn grab(
    world: Arc<World>,
    mut agent: Agent,
    number: usize,
    a_second: f64,
    over: Arc<AtomicBool>,
) -> Heard {
    let mut rng = Rng::new(13, number as u64);
    let mut heard = Heard::default();
    let Some(mailbox) = world.mailboxes.get(mailbox_of(&world, number)) else {
        return heard;
    };
    let beat = Duration::from_secs_f64(1.0 / a_second);
    let mut due = Instant::now() + beat.mul_f64(rng.below(1_000) as f64 / 1e3);
    while !over.load(Ordering::Relaxed) {
        tokio::time::sleep_until(due).await;
        let Some(read) = Read::pick(mailbox, &mut rng) else {
            return heard;
        };
        let begun = Instant::now();
        let outcome = agent.call(read.tool.name(), &read.arguments()).await;
        if outcome == Outcome::Good {
            heard.samples.add(read.tool, begun.elapsed());
        }
        heard.take(outcome);
        due = (due + beat).max(Instant::now() - Duration::from_secs(1));
    }
    heard
}
