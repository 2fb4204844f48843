//! `cargo xtask replicas`: two processes on one PostgreSQL, read from and written to while one after the other is killed
//! and the database is restarted. In the end every message is where it was told to be, and every answer in one log.

mod change;
mod client;
mod evidence;
mod fleet;
mod judge;
mod model;
mod reader;
mod report;
mod world;
mod writer;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use client::{Client, Routes};
use fleet::{Fleet, Left};
use model::Told;
use world::World;

use crate::load::{built, load_average, runtime};

/// So many faults are told word by word.
const TOLD: usize = 40;

/// What is to be done, and how much of it.
struct Wanted {
    lasting: Duration,
    /// Between one kill and the next.
    between: Duration,
    writers: usize,
    readers: usize,
    program: Option<PathBuf>,
    page: Page,
    after: After,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Page {
    Unwritten,
    Written,
}

/// What becomes of logs and state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum After {
    Removed,
    Kept,
}

/// What was seen of it all.
struct Found {
    told: Told,
    left: Left,
    wrong: Wrong,
    kills: usize,
    restarts: usize,
    slowest: Duration,
    /// From the last strike on, until every change was known to be done or not.
    settled_after: Duration,
    messages: usize,
    records: usize,
    logs: usize,
    load: [String; 2],
}

/// What should not be so, by what it is about.
#[derive(Default)]
struct Wrong {
    mail: Vec<String>,
    clients: Vec<String>,
    pages: Vec<String>,
    ledger: Vec<String>,
    receipts: Vec<String>,
    unrecorded: Vec<String>,
    logs: Vec<String>,
    ends: Vec<String>,
}

pub(crate) fn run(words: &[&str]) -> Result<String, String> {
    let wanted = Wanted::parse(words)?;
    let program = wanted.program.clone().map_or_else(built, Ok)?;
    let world = World::build(wanted.writers, wanted.writers + wanted.readers);
    let world = Arc::new(world.map_err(|error| error.to_string())?);
    let before = load_average();
    let mut fleet = Fleet::start(&program, &world)?;
    let begun = Instant::now();
    let (writers, readers) = strike(&wanted, &world, &mut fleet)?;
    let settled_after = begun.elapsed().saturating_sub(wanted.lasting);
    let left = fleet.end()?;
    let logs = fleet.logs();
    let mut wrong = Wrong {
        clients: writers.wrong.clone(),
        pages: readers.wrong.clone(),
        ..Wrong::default()
    };
    let mut told = writers;
    told.join(readers);
    let mail = evidence::mail(&world);
    let quiet = world.quiet.iter().cloned();
    let expected: Vec<_> = told.lying.iter().cloned().chain(quiet).collect();
    wrong.mail = judge::mail(&expected, &mail);
    let chains = logs.iter().map(|log| evidence::chain(log));
    let chains = chains.collect::<Result<Vec<_>, _>>()?;
    wrong.receipts = judge::receipts(&told.heard.receipts, &chains);
    wrong.unrecorded = judge::unrecorded(&told.heard.without);
    wrong.logs.extend(evidence::verify(&program, &logs).err());
    wrong.ends = judge::ends(&left);
    wrong.ledger = judge::ledger(&left, told.changes());
    let found = Found {
        told,
        left,
        wrong,
        kills: fleet.kills,
        restarts: fleet.restarts,
        slowest: fleet.slowest,
        settled_after,
        messages: mail.len(),
        records: chains.iter().map(|chain| chain.records.len()).sum(),
        logs: chains.len(),
        load: [before, load_average()],
    };
    drop(fleet);
    let text = report::text(&wanted, &found);
    eprintln!("{text}");
    if wanted.page == Page::Written {
        report::write(&text)?;
    }
    if wanted.after == After::Kept {
        let place = Arc::into_inner(world).map(World::keep);
        eprintln!("kept: {place:?}");
    }
    match found.wrong.all() {
        all if all.is_empty() => Ok("all of it held".to_owned()),
        all => {
            let first: Vec<&str> = all.iter().take(TOLD).map(|one| one.as_str()).collect();
            Err(format!("{} faults:\n{}", all.len(), first.join("\n")))
        }
    }
}

/// Has clients ask until the time is over, and every change of theirs has come to its end; kills meanwhile.
fn strike(wanted: &Wanted, world: &Arc<World>, fleet: &mut Fleet) -> Result<(Told, Told), String> {
    let over = Arc::new(AtomicBool::new(false));
    let routes = Arc::clone(&fleet.routes);
    std::thread::scope(|scope| {
        let clients = scope.spawn(|| ask(wanted, world, &routes, &over));
        let struck = kill(wanted, fleet);
        over.store(true, Ordering::Relaxed);
        let told = clients
            .join()
            .map_err(|_| "a client broke off".to_owned())?;
        struck.and(told)
    })
}

fn kill(wanted: &Wanted, fleet: &mut Fleet) -> Result<(), String> {
    let begun = Instant::now();
    let middle = wanted.lasting / 2;
    let mut next = wanted.between;
    while begun.elapsed() < wanted.lasting {
        std::thread::sleep(Duration::from_millis(20));
        if fleet.restarts == 0 && begun.elapsed() >= middle {
            fleet.restart_database();
        }
        if begun.elapsed() >= next && begun.elapsed() < wanted.lasting {
            next += wanted.between;
            fleet.kill_one()?;
        }
    }
    Ok(())
}

/// Writers, and readers.
fn ask(
    wanted: &Wanted,
    world: &Arc<World>,
    routes: &Arc<Routes>,
    over: &Arc<AtomicBool>,
) -> Result<(Told, Told), String> {
    let client = |number: usize| Client::new(Arc::clone(routes), world::token(number), number);
    runtime()?.block_on(async {
        let letters = world.letters.iter().cloned().enumerate();
        let writers: Vec<_> = letters
            .map(|(number, letters)| {
                tokio::spawn(writer::work(
                    number,
                    letters,
                    world.shared(number),
                    client(number),
                    Arc::clone(over),
                ))
            })
            .collect();
        let readers: Vec<_> = (0..wanted.readers)
            .map(|number| {
                let client = client(wanted.writers + number);
                tokio::spawn(reader::work(number, client, Arc::clone(over)))
            })
            .collect();
        Ok((gather(writers).await?, gather(readers).await?))
    })
}

async fn gather(tasks: Vec<tokio::task::JoinHandle<Told>>) -> Result<Told, String> {
    let mut told = Told::default();
    for task in tasks {
        told.join(task.await.map_err(|error| error.to_string())?);
    }
    Ok(told)
}

impl Wrong {
    fn all(&self) -> Vec<&String> {
        let all = [
            &self.mail,
            &self.clients,
            &self.pages,
            &self.ledger,
            &self.receipts,
            &self.unrecorded,
            &self.logs,
            &self.ends,
        ];
        all.into_iter().flatten().collect()
    }
}

impl Wanted {
    fn parse(words: &[&str]) -> Result<Self, String> {
        let mut wanted = Self {
            lasting: Duration::from_secs(300),
            between: Duration::from_secs(20),
            writers: 24,
            readers: 12,
            program: None,
            page: Page::Unwritten,
            after: After::Removed,
        };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match *word {
                "--write" => wanted.page = Page::Written,
                "--keep" => wanted.after = After::Kept,
                _ => {
                    let value = words
                        .next()
                        .ok_or_else(|| format!("{word} needs a value"))?;
                    wanted.set(word, value)?;
                }
            }
        }
        Ok(wanted)
    }

    fn set(&mut self, word: &str, value: &str) -> Result<(), String> {
        let bad = || format!("{word} {value}: no number");
        let count = || value.parse::<usize>().map_err(|_| bad());
        let seconds = |unit: f64| {
            let number = value.parse::<f64>().map_err(|_| bad())?;
            Duration::try_from_secs_f64(number * unit).map_err(|_| bad())
        };
        match word {
            "--minutes" => self.lasting = seconds(60.0)?,
            "--seconds" => self.lasting = seconds(1.0)?,
            "--between" => self.between = seconds(1.0)?,
            "--writers" => self.writers = count()?,
            "--readers" => self.readers = count()?,
            "--program" => self.program = Some(value.into()),
            _ => return Err(format!("replicas knows no {word}")),
        }
        Ok(())
    }
}
