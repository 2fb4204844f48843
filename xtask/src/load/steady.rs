//! Many clients, each of which asks about once a second, whatever became of its last question. Latency counts from the
//! moment at which the question was due: whoever is served late is not the reason why fewer are asked.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use testkit::mailgen::Rng;
use tokio::time::Instant;

use super::agent::{Agent, Outcome};
use super::mix::Read;
use super::program::Program;
use super::samples::Samples;
use super::watch::Seen;
use super::world::{CALLERS, World, token};

/// So many errors are told word by word.
const TOLD: usize = 5;

#[derive(Clone, Copy)]
pub(super) struct Crowd {
    pub clients: usize,
    pub lasting: Duration,
}

#[derive(Default)]
pub(super) struct Heard {
    pub samples: Samples,
    pub errors: usize,
    pub shed: usize,
    /// The first of them.
    pub words: Vec<String>,
}

impl Heard {
    pub(super) fn take(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Good => {}
            Outcome::Shed => self.shed += 1,
            Outcome::Bad(words) => {
                self.errors += 1;
                if self.words.len() < TOLD {
                    self.words.push(words);
                }
            }
        }
    }

    pub(super) fn join(&mut self, other: Self) {
        self.samples.join(other.samples);
        self.errors += other.errors;
        self.shed += other.shed;
        let room = TOLD.saturating_sub(self.words.len());
        self.words.extend(other.words.into_iter().take(room));
    }
}

/// Has the clients ask, and watches meanwhile.
pub(super) fn run(
    world: &Arc<World>,
    program: &Program,
    crowd: Crowd,
    beside: impl FnMut() + Send,
) -> Result<(Heard, Seen), String> {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let watching = scope.spawn(|| Seen::watch(world, program, &over));
        let mut beside = beside;
        let over = &over;
        let other = scope.spawn(move || {
            while !over.load(Ordering::Relaxed) {
                beside();
            }
        });
        let heard = runtime().and_then(|runtime| runtime.block_on(ask(world, program, crowd)));
        over.store(true, Ordering::Relaxed);
        let _ = other.join();
        let seen = watching
            .join()
            .map_err(|_| "the watch broke off".to_owned())?;
        Ok((heard?, seen))
    })
}

/// One thread is enough for clients that do next to nothing, and leaves the other core alone.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime, String> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| error.to_string())
}

async fn ask(world: &Arc<World>, program: &Program, crowd: Crowd) -> Result<Heard, String> {
    let begun = Instant::now();
    let clients: Vec<_> = (0..crowd.clients)
        .map(|number| {
            let world = Arc::clone(world);
            let agent = Agent::new(program.address, token(number % CALLERS));
            tokio::spawn(client(world, agent, number, begun, crowd.lasting))
        })
        .collect();
    let mut heard = Heard::default();
    for client in clients {
        heard.join(client.await.map_err(|error| error.to_string())?);
    }
    Ok(heard)
}

/// Whose mailbox a client reads: each has one, and several read the same.
pub(super) fn mailbox_of(world: &World, client: usize) -> usize {
    client % world.mailboxes.len().max(1)
}

pub(super) async fn client(
    world: Arc<World>,
    mut agent: Agent,
    number: usize,
    begun: Instant,
    lasting: Duration,
) -> Heard {
    let mut rng = Rng::new(7, number as u64);
    let mut heard = Heard::default();
    let Some(mailbox) = world.mailboxes.get(mailbox_of(&world, number)) else {
        return heard;
    };
    let mut due = begun + pause(&mut rng);
    while due < begun + lasting {
        tokio::time::sleep_until(due).await;
        let Some(read) = Read::pick(mailbox, &mut rng) else {
            return heard;
        };
        let outcome = agent.call(read.tool.name(), &read.arguments()).await;
        if outcome == Outcome::Good {
            heard.samples.add(read.tool, due.elapsed());
        }
        heard.take(outcome);
        due += pause(&mut rng);
    }
    heard
}

/// A second on average, as of clients that know nothing of each other.
fn pause(rng: &mut Rng) -> Duration {
    let share = (rng.below(1 << 30) + 1) as f64 / (1u64 << 30) as f64;
    Duration::from_secs_f64(-share.ln())
}
