//! The replicas and their database: started, killed in turn, started again, and ended in order.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use testkit::{Postgres, postgres};

use super::client::Routes;
use super::world::World;
use crate::load::Program;

const NAMES: [&str; 2] = ["one", "two"];
/// What was left open has come to its end by then.
const PATIENCE: Duration = Duration::from_secs(150);

pub(super) struct Fleet {
    // Declared before the database: the processes end first.
    replicas: [Program; 2],
    database: Postgres,
    world: Arc<World>,
    built: PathBuf,
    pub routes: Arc<Routes>,
    pub kills: usize,
    pub restarts: usize,
    /// From a kill until its successor listens, the longest.
    pub slowest: Duration,
}

/// How the ledger was left.
pub(super) struct Left {
    /// Open when all replicas had ended.
    pub open: usize,
    /// How many there are in each state, as the ledger names it, after one more had run.
    pub states: Vec<(String, usize)>,
    /// Those that are at no end, with their steps.
    pub stuck: Vec<String>,
    /// How long each replica took to drain, or why it did not end in order.
    pub drained: Vec<Result<Duration, String>>,
}

impl Fleet {
    pub(super) fn start(built: &Path, world: &Arc<World>) -> Result<Self, String> {
        let database = Postgres::start_durable();
        let start = |name| launch(built, world, &database, name);
        let replicas = [start(NAMES[0])?, start(NAMES[1])?];
        let routes = Routes::new(replicas.each_ref().map(|replica| replica.address));
        Ok(Self {
            replicas,
            database,
            world: Arc::clone(world),
            built: built.to_owned(),
            routes: Arc::new(routes),
            kills: 0,
            restarts: 0,
            slowest: Duration::ZERO,
        })
    }

    /// SIGKILL for whoever's turn it is, and a new process in its place.
    pub(super) fn kill_one(&mut self) -> Result<(), String> {
        let turn = self.kills % NAMES.len();
        self.kills += 1;
        let (Some(replica), Some(name)) = (self.replicas.get_mut(turn), NAMES.get(turn)) else {
            return Err("no replica is left".to_owned());
        };
        let begun = Instant::now();
        replica.kill();
        // Clients find out by themselves: until then they are led to where nobody is.
        *replica = launch(&self.built, &self.world, &self.database, name)?;
        self.routes.lead(turn, replica.address);
        self.slowest = self.slowest.max(begun.elapsed());
        Ok(())
    }

    pub(super) fn restart_database(&mut self) {
        self.database.restart();
        self.restarts += 1;
    }

    /// Where the log of each replica is.
    pub(super) fn logs(&self) -> Vec<PathBuf> {
        let logs = NAMES.iter();
        logs.map(|name| self.world.state(name).join("audit").join(name))
            .collect()
    }

    /// Ends all in order, has one more take up what is open, and ends it too.
    pub(super) fn end(&mut self) -> Result<Left, String> {
        let mut drained = Vec::new();
        for replica in &mut self.replicas {
            drained.push(replica.end());
        }
        let open = self.open()?;
        let mut last = launch(&self.built, &self.world, &self.database, NAMES[0])?;
        let begun = Instant::now();
        while self.open()? > 0 && begun.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(250));
        }
        drained.push(last.end());
        Ok(Left {
            open,
            states: self.states()?,
            stuck: self.stuck(),
            drained,
        })
    }

    fn stuck(&self) -> Vec<String> {
        let sql = "SELECT t.id, t.state, t.tool, t.key, t.source, t.target_account, t.target_folder, t.began, t.next_try, \
                   t.lease_owner, string_agg(concat_ws(' ', s.name, s.state, s.at, s.why), '; ' ORDER BY s.number) \
                   FROM mailwarden.transactions t LEFT JOIN mailwarden.steps s ON s.transaction_id = t.id \
                   WHERE t.state NOT IN ('done', 'undone') GROUP BY t.id";
        let said = self.database.query(&self.database.url(), sql);
        said.lines().map(str::to_owned).collect()
    }

    fn open(&self) -> Result<usize, String> {
        let states = self.states()?.into_iter();
        Ok(states
            .filter(|(state, _)| state == "open")
            .map(|(_, count)| count)
            .sum())
    }

    fn states(&self) -> Result<Vec<(String, usize)>, String> {
        let sql =
            "SELECT state, count(*) FROM mailwarden.transactions GROUP BY state ORDER BY state";
        let said = self.database.query(&self.database.url(), sql);
        let rows = said.lines().map(|line| {
            let (state, count) = line.split_once('|')?;
            Some((state.to_owned(), count.parse().ok()?))
        });
        rows.collect::<Option<_>>()
            .ok_or_else(|| format!("the ledger says: {said}"))
    }
}

fn launch(built: &Path, world: &World, database: &Postgres, name: &str) -> Result<Program, String> {
    let url = database.url();
    let more = [
        ("MAILWARDEN_LEDGER", url.as_str()),
        ("MAILWARDEN_LEDGER_PASSWORD", postgres::PASSWORD),
        ("MAILWARDEN_REPLICA", name),
    ];
    Program::start_logged(
        built,
        &world.config(),
        &world.state(name),
        &more,
        &world.log(name),
    )
}
