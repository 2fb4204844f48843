//! Both sides of a case in turn, A B B A, so that neither always finds what the other left behind.

use std::time::{Duration, Instant};

use testkit::proxy::Stats;
use testkit::{McpClient, RawImap};

use super::cases::{Case, Start};
use super::samples::{Samples, Span};
use super::sides::{self, Answer};
use super::world::{Route, World};

const WARM_UP: usize = 5;

/// A case, measured.
pub(crate) struct Row {
    pub name: &'static str,
    pub bare: Samples,
    pub ours: Samples,
    /// As the answers tell.
    pub round_trips: Span,
    /// As the proxy saw them.
    pub bare_flights: Span,
    pub our_flights: Span,
    /// Of the last answer: text, and everything.
    pub chars: [usize; 2],
}

pub(crate) fn run(case: &Case, world: &World, route: &Route) -> Row {
    println!("{}: {}", route.name, case.name);
    let mut pair = Pair::prepare(case, world, route);
    let mut row = Row::new(case.name);
    let rounds = match case.start {
        Start::Warm(_) => route.rounds,
        Start::Connect | Start::Process => route.fresh_rounds,
    };
    for round in 0..WARM_UP + rounds {
        if round < WARM_UP {
            pair.rehearse(round);
            continue;
        }
        if round % 2 == 0 {
            row.add_bare(pair.bare(round));
            row.add_ours(pair.ours(round));
        } else {
            row.add_ours(pair.ours(round));
            row.add_bare(pair.bare(round));
        }
    }
    row
}

/// Both sides, as warm as the case wants them.
struct Pair<'a> {
    case: &'a Case,
    world: &'a World,
    route: &'a Route,
    client: McpClient,
    imap: RawImap,
}

impl<'a> Pair<'a> {
    fn prepare(case: &'a Case, world: &'a World, route: &'a Route) -> Self {
        let mut client = world.client(route);
        (case.prepare)(&mut client);
        Self {
            case,
            world,
            route,
            client,
            imap: open(case, world, route),
        }
    }

    fn rehearse(&mut self, round: usize) {
        self.ours(round);
        let flights = (self.case.bare)(&self.world.facts, index(round));
        if !matches!(self.case.start, Start::Warm(_)) {
            self.imap = self.world.connect(self.route);
        }
        sides::rehearse(&mut self.imap, &flights);
    }

    fn bare(&mut self, round: usize) -> (Duration, Option<Stats>) {
        let flights = (self.case.bare)(&self.world.facts, index(round));
        self.route.watch(|| {
            let begun = Instant::now();
            if let Start::Warm(_) = self.case.start {
                sides::fly(&mut self.imap, &flights);
                return begun.elapsed();
            }
            let mut fresh = self.world.connect(self.route);
            sides::fly(&mut fresh, &flights);
            let time = begun.elapsed();
            self.imap = fresh;
            time
        })
    }

    fn ours(&mut self, round: usize) -> (Answer, Option<Stats>) {
        let call = (self.case.call)(&self.world.facts, index(round));
        if self.case.start == Start::Process {
            self.client = self.world.client(self.route);
        }
        self.route.watch(|| sides::ask(&mut self.client, call))
    }
}

impl Row {
    fn new(name: &'static str) -> Self {
        Self {
            name,
            bare: Samples::default(),
            ours: Samples::default(),
            round_trips: Span::default(),
            bare_flights: Span::default(),
            our_flights: Span::default(),
            chars: [0; 2],
        }
    }

    fn add_bare(&mut self, (time, seen): (Duration, Option<Stats>)) {
        self.bare.add(time);
        seen.into_iter()
            .for_each(|seen| self.bare_flights.add(seen.flights));
    }

    fn add_ours(&mut self, (answer, seen): (Answer, Option<Stats>)) {
        self.ours.add(answer.time);
        self.round_trips.add(answer.round_trips);
        seen.into_iter()
            .for_each(|seen| self.our_flights.add(seen.flights));
        self.chars = answer.chars;
    }
}

fn open(case: &Case, world: &World, route: &Route) -> RawImap {
    let mut imap = world.connect(route);
    if let Start::Warm(folder) = case.start {
        imap.command(super::world::LOGIN);
        if let Some(folder) = folder {
            imap.command(&format!("EXAMINE {}", folder.name()));
        }
    }
    imap
}

fn index(round: usize) -> u32 {
    u32::try_from(round).expect("few rounds")
}
