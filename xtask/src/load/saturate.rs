//! As many calls as the machine can take, in rounds: through the program, and over as many bare connections as it had.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use testkit::mailgen::Rng;
use tokio::time::Instant;

use super::agent::Agent;
use super::bare::Bare;
use super::mix::Read;
use super::program::{self, Program};
use super::steady::{Heard, mailbox_of, runtime};
use super::watch::{self, Seen};
use super::world::{CALLERS, World, token};

#[derive(Clone, Copy)]
pub(super) struct Plan {
    /// Which questions are asked.
    pub seed: u64,
    pub rounds: usize,
    pub lasting: Duration,
    /// Questions open at a time, on either side.
    pub open: usize,
}

/// What one side did in a round.
pub(super) struct Round {
    pub a_second: f64,
    pub connections: usize,
    pub heard: Heard,
    pub seen: Seen,
}

pub(super) struct Found {
    pub ours: Vec<Round>,
    pub bare: Vec<Round>,
}

impl Found {
    /// What the program reaches of what bare connections reach, round by round: the median.
    pub(super) fn ratio(&self) -> f64 {
        let mut ratios: Vec<f64> = self
            .ours
            .iter()
            .zip(&self.bare)
            .filter(|(_, bare)| bare.a_second > 0.0)
            .map(|(ours, bare)| ours.a_second / bare.a_second)
            .collect();
        ratios.sort_by(f64::total_cmp);
        ratios.get(ratios.len() / 2).copied().unwrap_or_default()
    }
}

pub(super) fn run(world: &Arc<World>, program: &Program, plan: Plan) -> Result<Found, String> {
    let mut found = Found {
        ours: Vec::new(),
        bare: Vec::new(),
    };
    // Connections are opened and caches filled before anything counts.
    let warm = Plan {
        lasting: plan.lasting / 2,
        ..plan
    };
    let mut connections = ours(world, program, warm)?.connections;
    for round in 0..plan.rounds {
        // INVARIANT: nobody is asked the same again because a round begins.
        let plan = Plan {
            seed: round as u64 + 1,
            ..plan
        };
        // Whoever comes second finds what the first left: each comes first in turn.
        if round % 2 == 1 {
            found.bare.push(bare(world, program, plan, connections)?);
        }
        let one = ours(world, program, plan)?;
        connections = one.connections;
        found.ours.push(one);
        if round % 2 == 0 {
            found.bare.push(bare(world, program, plan, connections)?);
        }
    }
    Ok(found)
}

fn watched(
    world: &Arc<World>,
    program: &Program,
    work: impl Future<Output = Result<(usize, Heard), String>>,
) -> Result<Round, String> {
    let over = AtomicBool::new(false);
    let begun = Instant::now();
    std::thread::scope(|scope| {
        let watching = scope.spawn(|| Seen::watch(world, program, &over));
        let worked = runtime().and_then(|runtime| runtime.block_on(work));
        let took = begun.elapsed().as_secs_f64();
        let connections = program::connections_to(world.dovecot.port());
        over.store(true, std::sync::atomic::Ordering::Relaxed);
        let seen = watching
            .join()
            .map_err(|_| "the watch broke off".to_owned())?;
        let (calls, heard) = worked?;
        Ok(Round {
            a_second: calls as f64 / took,
            connections,
            heard,
            seen,
        })
    })
}

pub(super) fn ours(world: &Arc<World>, program: &Program, plan: Plan) -> Result<Round, String> {
    watched(world, program, async {
        let until = Instant::now() + plan.lasting;
        let clients: Vec<_> = (0..plan.open)
            .map(|number| {
                let world = Arc::clone(world);
                let agent = Agent::new(program.address, token(number % CALLERS));
                tokio::spawn(client(world, agent, (plan.seed, number), until))
            })
            .collect();
        let mut heard = Heard::default();
        for client in clients {
            heard.join(client.await.map_err(|error| error.to_string())?);
        }
        Ok((heard.samples.all().calls, heard))
    })
}

/// Asks again as soon as it is answered.
async fn client(
    world: Arc<World>,
    mut agent: Agent,
    (seed, number): (u64, usize),
    until: Instant,
) -> Heard {
    let mut rng = Rng::new(11 + (seed << 8), number as u64);
    let mut heard = Heard::default();
    let Some(mailbox) = world.mailboxes.get(mailbox_of(&world, number)) else {
        return heard;
    };
    while Instant::now() < until {
        let Some(read) = Read::pick(mailbox, &mut rng) else {
            return heard;
        };
        let begun = Instant::now();
        let outcome = agent.call(read.tool.name(), &read.arguments()).await;
        if outcome == super::agent::Outcome::Good {
            heard.samples.add(read.tool, begun.elapsed());
        }
        heard.take(outcome);
    }
    heard
}

fn bare(
    world: &Arc<World>,
    program: &Program,
    plan: Plan,
    connections: usize,
) -> Result<Round, String> {
    let port = world.dovecot.port();
    let opened = runtime()?;
    let mut opening = opened
        .block_on(async {
            let mut all = Vec::new();
            for number in 0..connections {
                let mailbox = mailbox_of(world, number);
                let account = world
                    .mailboxes
                    .get(mailbox)
                    .map_or("", |one| one.account.as_str());
                all.push((number, mailbox, Bare::open(port, account).await?));
            }
            Ok(all)
        })
        .map_err(|error: std::io::Error| error.to_string())?;
    let over = AtomicBool::new(false);
    let depth = move |number: usize| {
        plan.open / connections + usize::from(number < plan.open % connections)
    };
    let load = watch::load();
    let begun = Instant::now();
    let until = begun + plan.lasting;
    std::thread::scope(|scope| {
        let watching = scope.spawn(|| Seen::watch(world, program, &over));
        let worked = opened.block_on(async {
            let tasks: Vec<_> = opening
                .drain(..)
                .map(|(number, mailbox, mut bare)| {
                    let world = Arc::clone(world);
                    tokio::spawn(async move {
                        let mut rng = Rng::new(11 + (plan.seed << 8), number as u64);
                        let Some(mailbox) = world.mailboxes.get(mailbox) else {
                            return Ok(0);
                        };
                        let depth = depth(number).max(1);
                        bare.work(mailbox, depth, &mut rng, until).await
                    })
                })
                .collect();
            let mut calls = 0;
            for task in tasks {
                calls += task
                    .await
                    .map_err(|error| error.to_string())?
                    .map_err(|error| error.to_string())?;
            }
            Ok(calls)
        });
        let took = begun.elapsed().as_secs_f64();
        over.store(true, std::sync::atomic::Ordering::Relaxed);
        let mut seen = watching
            .join()
            .map_err(|_| "the watch broke off".to_owned())?;
        seen.load[0] = load;
        let calls: usize = worked.map_err(|error: String| error)?;
        Ok(Round {
            a_second: calls as f64 / took,
            connections,
            heard: Heard::default(),
            seen,
        })
    })
}
