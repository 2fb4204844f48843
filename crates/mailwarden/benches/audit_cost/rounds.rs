//! Both sides in turn, many short rounds, so that whatever else the machine does falls on both.

use std::fs::File;
use std::io::Write as _;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use gateway::Gateway;
use tokio::sync::oneshot;

use super::world::{Case, World};
use crate::samples::Samples;

const ROUNDS: usize = 12;
const CALLERS: usize = 32;
const ROUND: Duration = Duration::from_millis(500);
const ALONE: usize = 60;

pub(crate) struct Row {
    pub case: Case,
    /// One caller, milliseconds a call.
    pub alone_kept: Samples,
    pub alone_discarded: Samples,
    /// Without the log, and a record's worth of bytes synced after each call by another thread.
    pub alone_synced: Samples,
    /// Many callers, calls a second in each round.
    pub many_kept: Vec<f64>,
    pub many_discarded: Vec<f64>,
}

#[derive(Clone, Copy)]
enum Side {
    Kept,
    Discarded,
}

impl Side {
    fn gateway(self, world: &World) -> &Gateway {
        match self {
            Self::Kept => &world.kept,
            Self::Discarded => &world.discarded,
        }
    }
}

pub(crate) async fn all(world: &Arc<World>) -> Vec<Row> {
    let mut rows = Vec::new();
    let bare = Bare::start(world);
    for case in Case::ALL {
        let mut row = Row {
            case,
            alone_kept: Samples::default(),
            alone_discarded: Samples::default(),
            alone_synced: Samples::default(),
            many_kept: Vec::new(),
            many_discarded: Vec::new(),
        };
        // Connections are opened and caches filled before anything counts.
        many(world, case, Side::Kept).await;
        many(world, case, Side::Discarded).await;
        for _ in 0..ROUNDS {
            row.alone_kept.append(alone(world, case, Side::Kept).await);
            row.alone_discarded
                .append(alone(world, case, Side::Discarded).await);
            row.alone_synced.append(synced(world, case, &bare).await);
            row.many_kept.push(many(world, case, Side::Kept).await);
            row.many_discarded
                .push(many(world, case, Side::Discarded).await);
        }
        rows.push(row);
    }
    rows
}

async fn alone(world: &World, case: Case, side: Side) -> Samples {
    let mut samples = Samples::default();
    for _ in 0..ALONE {
        let begun = Instant::now();
        world.call(side.gateway(world), case).await;
        samples.add(begun.elapsed());
    }
    samples
}

/// Calls a second with many callers, each of whom calls again as soon as it is answered.
async fn many(world: &Arc<World>, case: Case, side: Side) -> f64 {
    let begun = Instant::now();
    let callers = (0..CALLERS).map(|_| {
        let world = Arc::clone(world);
        tokio::spawn(async move {
            let mut calls = 0u32;
            while begun.elapsed() < ROUND {
                world.call(side.gateway(&world), case).await;
                calls += 1;
            }
            calls
        })
    });
    let mut calls = 0;
    for caller in callers.collect::<Vec<_>>() {
        calls += caller.await.expect("a caller");
    }
    f64::from(calls) / begun.elapsed().as_secs_f64()
}

async fn synced(world: &World, case: Case, bare: &Bare) -> Samples {
    let mut samples = Samples::default();
    for _ in 0..ALONE {
        let begun = Instant::now();
        world.call(&world.discarded, case).await;
        bare.sync().await;
        samples.add(begun.elapsed());
    }
    samples
}

/// The least that one sync more can cost: a thread that writes and syncs when it is told to.
struct Bare(mpsc::Sender<oneshot::Sender<()>>);

impl Bare {
    fn start(world: &World) -> Self {
        let (told, tellings) = mpsc::channel::<oneshot::Sender<()>>();
        let mut file = File::create(world.state.path().join("bare")).expect("a file");
        std::thread::spawn(move || {
            for done in tellings {
                file.write_all(&RECORD).expect("write");
                file.sync_data().expect("sync");
                let _ = done.send(());
            }
        });
        Self(told)
    }

    async fn sync(&self) {
        let (done, waiting) = oneshot::channel();
        self.0.send(done).expect("a thread");
        waiting.await.expect("a sync");
    }
}

const RECORD: [u8; 560] = [b'x'; 560];

/// A record's worth of bytes appended and synced in place.
pub(crate) fn sync(world: &World) -> Samples {
    let path = world.state.path().join("alone");
    let mut file = File::create(path).expect("a file");
    let mut samples = Samples::default();
    for _ in 0..500 {
        let begun = Instant::now();
        file.write_all(&RECORD).expect("write");
        file.sync_data().expect("sync");
        samples.add(begun.elapsed());
    }
    samples
}
