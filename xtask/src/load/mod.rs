//! `cargo xtask load`: the program over HTTP with many clients and many accounts, beside bare IMAP connections, watched from
//! outside. What it finds is told on the screen, and docs/load.md is made of it.

mod agent;
mod bare;
mod mix;
mod overload;
mod program;
mod report;
mod samples;
mod saturate;
mod steady;
mod watch;
mod world;

pub(crate) use agent::{Agent, Answer};
pub(crate) use program::{Program, built};
pub(crate) use report::{GOALS, goal, machine, spreads};
pub(crate) use samples::{Spread, spread};
pub(crate) use steady::runtime;
pub(crate) use watch::load as load_average;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use report::Section;
use saturate::Plan;
use steady::Crowd;
use world::{Size, World};

/// What is to be done, and how much of it.
struct Wanted {
    minutes: f64,
    size: Size,
    clients: usize,
    seconds: u64,
    rounds: usize,
    open: usize,
    /// The program to start; the release build when left out.
    program: Option<PathBuf>,
    parts: Vec<Part>,
    told: Told,
}

/// Where what was found is told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Told {
    Screen,
    /// On the screen, and in docs/load.md.
    Page,
}

const SECOND: Duration = Duration::from_secs(1);
/// Clients of those who want little, where others want too much.
const MODEST: usize = 45;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Part {
    Steady,
    Saturate,
    Reload,
    Overload,
}

pub(crate) fn run(words: &[&str]) -> Result<String, String> {
    let wanted = Wanted::parse(words)?;
    let built = wanted.program.clone().map_or_else(built, Ok)?;
    let begun = Instant::now();
    let size = wanted.size;
    let world = World::build(size).map_err(|error| error.to_string())?;
    world.warm();
    eprintln!(
        "{} accounts with {} messages each, in {:.1} s",
        size.accounts,
        size.messages,
        begun.elapsed().as_secs_f64()
    );
    let world = Arc::new(world);
    let mut sections = Vec::new();
    for part in &wanted.parts {
        let state = world.state(&format!("state-{part:?}"));
        let program = Program::start(&built, &world.config(), &state, &[])?;
        let section = match part {
            Part::Steady => steady_part(&world, &program, &wanted),
            Part::Saturate => saturate_part(&world, &program, &wanted),
            Part::Reload => reload_part(&world, &program, &wanted),
            Part::Overload => overload_part(&world, &program, &wanted),
        }?;
        eprintln!("{}", section.text);
        sections.push(section);
    }
    if wanted.told == Told::Page {
        report::write(&sections)?;
    }
    let failed: usize = sections
        .iter()
        .map(|one| one.text.matches("**missed**").count())
        .sum();
    match failed {
        0 => Ok("every goal is met".to_owned()),
        some => Err(format!("{some} goals are missed, see above")),
    }
}

fn steady_part(world: &Arc<World>, program: &Program, wanted: &Wanted) -> Result<Section, String> {
    let crowd = wanted.crowd();
    let (heard, seen) = steady::run(world, program, crowd, || std::thread::sleep(SECOND))?;
    Ok(report::steady(wanted.size, crowd, &heard, &seen))
}

fn reload_part(world: &Arc<World>, program: &Program, wanted: &Wanted) -> Result<Section, String> {
    let crowd = wanted.crowd();
    let mut turns = Turns::default();
    let (heard, seen) = steady::run(world, program, crowd, || {
        turns.told += 1;
        // What could not be written, or was not read, does not come into force.
        let _ = world.rewrite(turns.told);
        let _ = program.reload();
        turns.in_force += usize::from(comes_into_force(program, turns.told));
        std::thread::sleep(SECOND);
    })?;
    Ok(report::reload(crowd, turns, &heard, &seen))
}

/// How often the program was told to read its configuration again, and how often it was seen to have done so.
#[derive(Clone, Copy, Default)]
struct Turns {
    told: usize,
    in_force: usize,
}

/// Whether the caller that comes and goes is known, or none any more, before long.
fn comes_into_force(program: &Program, turn: usize) -> bool {
    let wanted = turn % 2 == 1;
    let patience = Instant::now() + 5 * SECOND;
    while Instant::now() < patience {
        if program.knows(&world::token(world::CALLERS)) == Some(wanted) {
            return true;
        }
        std::thread::sleep(SECOND / 20);
    }
    false
}

fn saturate_part(
    world: &Arc<World>,
    program: &Program,
    wanted: &Wanted,
) -> Result<Section, String> {
    let plan = Plan {
        seed: 0,
        rounds: wanted.rounds,
        lasting: Duration::from_secs(wanted.seconds),
        open: wanted.open,
    };
    let found = saturate::run(world, program, plan)?;
    Ok(report::saturation(world, plan, &found))
}

fn overload_part(
    world: &Arc<World>,
    program: &Program,
    wanted: &Wanted,
) -> Result<Section, String> {
    let crowd = Crowd {
        clients: MODEST,
        lasting: wanted.crowd().lasting,
    };
    let found = overload::run(world, program, crowd)?;
    Ok(report::overload(crowd, &found))
}

impl Wanted {
    fn crowd(&self) -> Crowd {
        Crowd {
            clients: self.clients,
            lasting: Duration::from_secs_f64(self.minutes * 60.0),
        }
    }

    fn parse(words: &[&str]) -> Result<Self, String> {
        let mut wanted = Self {
            minutes: 1.0,
            size: Size {
                accounts: 200,
                messages: 300,
                only: None,
            },
            clients: 500,
            seconds: 10,
            rounds: 7,
            open: 400,
            program: None,
            parts: Vec::new(),
            told: Told::Screen,
        };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let part = match *word {
                "--steady" => Some(Part::Steady),
                "--saturate" => Some(Part::Saturate),
                "--reload" => Some(Part::Reload),
                "--overload" => Some(Part::Overload),
                _ => None,
            };
            if *word == "--write" {
                wanted.told = Told::Page;
                continue;
            }
            if let Some(part) = part {
                wanted.parts.push(part);
                continue;
            }
            let value = words
                .next()
                .ok_or_else(|| format!("{word} needs a value"))?;
            let bad = |_| format!("{word} {value}: no number");
            match *word {
                "--minutes" => {
                    wanted.minutes = value
                        .parse()
                        .map_err(|_| format!("{word} {value}: no number"))?
                }
                "--accounts" => wanted.size.accounts = value.parse().map_err(bad)?,
                "--messages" => wanted.size.messages = value.parse().map_err(bad)?,
                "--clients" => wanted.clients = value.parse().map_err(bad)?,
                "--seconds" => wanted.seconds = value.parse().map_err(bad)?,
                "--rounds" => wanted.rounds = value.parse().map_err(bad)?,
                "--open" => wanted.open = value.parse().map_err(bad)?,
                "--only" => {
                    let tool = mix::Tool::parse(value);
                    wanted.size.only =
                        Some(tool.ok_or_else(|| format!("no tool {value} in the mix"))?);
                }
                "--program" => wanted.program = Some(value.into()),
                _ => return Err(format!("load knows no {word}")),
            }
        }
        if wanted.parts.is_empty() {
            wanted.parts.push(Part::Steady);
        }
        Ok(wanted)
    }
}
