//! What a caller may not see changes nothing of what it is told: worlds that differ only there give the same answers, byte
//! for byte, from every tool. `WORLDS_SEED` chooses other worlds, `WORLDS` how many.

mod answer;
mod caller_writes;
mod dice;
mod letter;
mod rules;
mod script;
mod session;
mod world;

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use mail::Level;
use serde_json::{Value, json};
use testkit::Dovecot;

use crate::config_directory;
use dice::Dice;
use script::Step;
use session::Answers;
use world::{Twin, World};

/// Worlds that one process serves at once, each as an account.
const BATCHES: [usize; 4] = [1, 24, 7, 28];
const CALLER: &str = "agent";

/// Three hundred worlds in five parts, so that none takes long.
macro_rules! parts {
    ($($name:ident = $number:expr;)*) => {$(
        #[test]
        fn $name() {
            what_is_hidden_changes_no_answer($number);
        }
    )*};
}

parts! {
    what_is_hidden_changes_no_answer_in_the_first_worlds = 0;
    what_is_hidden_changes_no_answer_in_the_second_worlds = 1;
    what_is_hidden_changes_no_answer_in_the_third_worlds = 2;
    what_is_hidden_changes_no_answer_in_the_fourth_worlds = 3;
    what_is_hidden_changes_no_answer_in_the_fifth_worlds = 4;
}

fn what_is_hidden_changes_no_answer(part: u64) {
    let number = |name: &str| std::env::var(name).ok()?.parse().ok();
    let first: u64 = number("WORLDS_SEED").unwrap_or(1);
    let worlds = number("WORLDS").unwrap_or(300) / 5;
    let seed = first.wrapping_mul(5).wrapping_add(part);
    let now = now();
    let batches = batches(seed, worlds, now, |index| match index % 2 {
        0 => Twin::AsMany,
        _ => Twin::More,
    });
    let mut seen = Totals::default();
    let found = run(&batches, now, &mut seen);
    let differences: Vec<&String> = found.iter().flat_map(|one| &one.differences).collect();
    assert!(
        differences.is_empty(),
        "WORLDS_SEED={first}: {} answers tell worlds apart, among them\n{}",
        differences.len(),
        differences
            .iter()
            .take(12)
            .map(|one| one.as_str())
            .collect::<Vec<_>>()
            .join("\n"),
    );
    seen.assert_rich();
}

/// The comparison itself can fail: whatever differs in what a level just shows is noticed.
#[test]
fn what_is_shown_changes_an_answer() {
    let now = now();
    let batches = batches(2, 28, now, |_| Twin::Mutant);
    let mut mutants = 0;
    for found in run(&batches, now, &mut Totals::default()) {
        let differs = batches[found.batch].worlds.iter();
        let mut differs = differs.filter(|world| world.account == found.account);
        if differs.any(|world| world.mutant.is_some()) {
            mutants += 1;
            assert!(
                !found.differences.is_empty(),
                "nobody noticed: {}",
                found.account
            );
        }
    }
    assert!(mutants >= 15, "only {mutants} worlds differ");
}

/// Seconds since 1970.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.unwrap().as_secs()
}

/// Worlds that one caller sees side by side.
struct Batch {
    number: usize,
    worlds: Vec<World>,
    scripts: Vec<Vec<Step>>,
    /// What the caller changes afterwards.
    changes: Vec<Vec<Step>>,
    /// Accounts that are not the caller's, in each world.
    foreign: [Vec<String>; 2],
}

/// What became of one world.
struct Found {
    batch: usize,
    account: String,
    differences: Vec<String>,
}

/// How much there was to be seen and hidden.
#[derive(Default)]
struct Totals {
    by_level: [u64; 7],
    answers: u64,
    served: u64,
}

fn batches(seed: u64, worlds: u64, now: u64, twin: impl Fn(usize) -> Twin) -> Vec<Batch> {
    let mut batches = Vec::new();
    let worlds = usize::try_from(worlds).unwrap();
    let mut made = 0;
    while made < worlds {
        let number = batches.len();
        let size = BATCHES[number % BATCHES.len()].min(worlds - made);
        let kind = twin(number);
        let dice = &mut Dice::new(seed, number as u64);
        let each = (0..size).map(|at| World::random(format!("w{}", made + at), kind, dice));
        let worlds: Vec<World> = each.collect();
        let mut foreign = || -> Vec<String> { (0..2).map(|_| dice.word()).collect() };
        let foreign = match kind {
            Twin::More => [foreign(), foreign()[..1].to_vec()],
            Twin::AsMany => [foreign(), foreign()],
            Twin::Mutant => [Vec::new(), Vec::new()],
        };
        let mut strange: Vec<String> = foreign.iter().flatten().cloned().collect();
        strange.extend(["dark".to_owned(), "unheard-of".to_owned()]);
        let mut scripts = vec![script::of_process(&strange)];
        let own = worlds
            .iter()
            .map(|world| script::of_world(world, now, dice));
        scripts.extend(own.collect::<Vec<_>>());
        let own = worlds
            .iter()
            .map(|world| caller_writes::of_world(world, dice));
        let changes = std::iter::once(Vec::new()).chain(own.collect::<Vec<_>>());
        let changes = changes.collect();
        made += size;
        batches.push(Batch {
            number,
            worlds,
            scripts,
            changes,
            foreign,
        });
    }
    batches
}

fn run(batches: &[Batch], now: u64, totals: &mut Totals) -> Vec<Found> {
    let server = serve(batches, now);
    let dir = config_directory::place();
    let mut found = Vec::new();
    for batch in batches {
        let place = |side: usize| dir.path().join(format!("{}-{side}", batch.number));
        let play = |side: usize| batch.play(&server, &place(side), side);
        let (first, second) = std::thread::scope(|scope| {
            let second = scope.spawn(|| play(1));
            (play(0), second.join().expect("the second world"))
        });
        totals.add(batch, &first.rounds[0]);
        found.extend(batch.compare(&first, &second));
    }
    found
}

/// One server, with a user for each world and side.
fn serve(batches: &[Batch], now: u64) -> Dovecot {
    let worlds = || batches.iter().flat_map(|batch| &batch.worlds);
    let mut builder = Dovecot::builder().config(
        "mail_fsync = never\nnamespace inbox {\n  mailbox Drafts {\n    auto = no\n  }\n  mailbox Sent {\n    auto = no\n  }\n  \
         mailbox Junk {\n    auto = no\n  }\n  mailbox Trash {\n    auto = no\n  }\n  mailbox Archive {\n    auto = no\n  }\n}",
    );
    for (world, side) in worlds().flat_map(|world| [(world, 0), (world, 1)]) {
        builder = builder.user(&user(world, side), config_directory::PASSWORD);
    }
    let server = builder.start();
    for (world, side) in worlds().flat_map(|world| [(world, 0), (world, 1)]) {
        world.plant(&server, &user(world, side), side, now);
    }
    server
}

fn user(world: &World, side: usize) -> String {
    format!("{}-{side}", world.account)
}

/// What one process said: the script twice, the changes once, and what it wrote to stderr.
struct Heard {
    rounds: [Vec<Answers>; 2],
    changes: Vec<Answers>,
    stderr: String,
}

impl Batch {
    fn play(&self, server: &Dovecot, dir: &Path, side: usize) -> Heard {
        self.configure(server, dir, side);
        let mut client = config_directory::client(dir, CALLER);
        let cold = session::play(&mut client, &self.scripts);
        let warm = session::play(&mut client, &self.scripts);
        let changes = session::play(&mut client, &self.changes);
        Heard {
            rounds: [cold, warm],
            changes,
            stderr: client.stderr(),
        }
    }

    fn configure(&self, server: &Dovecot, dir: &Path, side: usize) {
        let mut accounts: Vec<Value> = self
            .worlds
            .iter()
            .map(|world| {
                let user = user(world, side);
                let mut account = config_directory::account(&world.account, &user, server.port());
                if world.google {
                    account["provider"] = json!("google-mock");
                }
                account
            })
            .collect();
        let own = self.worlds.iter().map(|world| {
            let folders = world.policy.iter().map(rules::FolderRules::written);
            (world.account.clone(), folders.collect::<Vec<_>>())
        });
        let mut own: serde_json::Map<String, Value> =
            own.map(|(id, all)| (id, json!(all))).collect();
        let dark = rules::FolderRules::dark("INBOX");
        own.insert("dark".to_owned(), json!([dark.written()]));
        // Accounts of others, in front and behind, on a server that has none of them.
        let foreign = self.foreign[side].iter();
        for id in foreign.clone().map(String::as_str).chain(["dark"]) {
            let at = (id.len() + id.bytes().map(usize::from).sum::<usize>()) % (accounts.len() + 1);
            accounts.insert(at, config_directory::account(id, id, server.port()));
        }
        let others: serde_json::Map<String, Value> = foreign
            .map(|id| {
                (
                    id.clone(),
                    json!([{ "path": "INBOX", "mode": "blacklist", "default": "FULL" }]),
                )
            })
            .collect();
        let trusted = json!({ "type": "stdio_trusted" });
        let mut callers = vec![json!({
            "id": CALLER, "policy": "own", "auth": trusted, "toolsets": ["imap", "gateway", "threads"],
        })];
        let mut policies = vec![json!({ "name": "own", "accounts": own })];
        if !others.is_empty() {
            callers.push(json!({ "id": "somebody-else", "policy": "others", "auth": trusted }));
            policies.push(json!({ "name": "others", "accounts": others }));
        }
        config_directory::write(dir, &accounts, &callers, &policies);
        config_directory::add_ledger(dir);
    }

    /// Cold and warm, here and there: all alike.
    fn compare(&self, first: &Heard, second: &Heard) -> Vec<Found> {
        let kind = self.worlds[0].twin;
        let names = std::iter::once("(no account)".to_owned())
            .chain(self.worlds.iter().map(|world| world.account.clone()));
        let mut found: Vec<Found> = names
            .enumerate()
            .map(|(at, account)| {
                let mut differences = Vec::new();
                for (index, step) in self.scripts[at].iter().enumerate() {
                    let answer = |heard: &Heard, round: usize| {
                        answer::settled(&heard.rounds[round][at][index], step, kind)
                    };
                    let [one, two] = [answer(first, 0), answer(second, 0)];
                    for (what, left, right) in [
                        ("of the two worlds", &one, &two),
                        ("of the first world, asked again", &one, &answer(first, 1)),
                        ("of the second world, asked again", &two, &answer(second, 1)),
                    ] {
                        if left != right {
                            differences.push(self.tell(at, step, what, left, right));
                        }
                    }
                    for (side, heard) in [first, second].into_iter().enumerate() {
                        if kind != Twin::Mutant
                            && let Some(wrong) = mistallied(step, side, &heard.rounds[0][at][index])
                        {
                            differences.push(self.tell(at, step, &wrong, &one, &two));
                        }
                    }
                }
                for (index, step) in self.changes[at].iter().enumerate() {
                    let answer = |heard: &Heard| {
                        answer::settled_change(&heard.changes[at][index], step, kind)
                    };
                    let (one, two) = (answer(first), answer(second));
                    if one != two {
                        differences.push(self.tell(at, step, "after changes", &one, &two));
                    }
                }
                Found {
                    batch: self.number,
                    account,
                    differences,
                }
            })
            .collect();
        if timeless(&first.stderr) != timeless(&second.stderr) {
            let told = format!("stderr:\n{}\n--- and ---\n{}", first.stderr, second.stderr);
            found[0].differences.push(told);
        }
        found
    }

    fn tell(&self, at: usize, step: &Step, what: &str, left: &Value, right: &Value) -> String {
        let rules = at.checked_sub(1).map(|world| {
            let world = &self.worlds[world];
            let place = &step.params["arguments"];
            let place = place["folder"].as_str().or(place["mailbox"].as_str());
            let rules = place.and_then(|folder| world.rules(folder));
            rules.map_or(json!("no rules"), rules::FolderRules::written)
        });
        format!(
            "== answers {what}: {} {}\n{}{}",
            step.method,
            step.params,
            answer::apart(left, right),
            rules.unwrap_or_default(),
        )
    }
}

/// What `folder_stats` counts otherwise than the test does.
fn mistallied(step: &Step, side: usize, answer: &Value) -> Option<String> {
    let expected = step.tallies?[side];
    let told = answer.pointer("/result/structuredContent/data/by_visibility")?;
    let levels = Level::ALL.iter().skip(1);
    let counted: Vec<u64> = levels
        .map(|level| told[level.name()].as_u64().unwrap_or(u64::MAX))
        .collect();
    (counted != expected).then(|| format!("of side {side} count {counted:?}, not {expected:?}"))
}

/// Without the time at the beginning of each line.
fn timeless(stderr: &str) -> Vec<&str> {
    let lines = stderr.lines();
    lines
        .map(|line| line.split_once(' ').map_or(line, |(_, rest)| rest))
        .collect()
}

impl Totals {
    fn add(&mut self, batch: &Batch, answers: &[Answers]) {
        for (script, answers) in batch.scripts.iter().zip(answers) {
            for (step, answer) in script.iter().zip(answers) {
                self.answers += 1;
                let served = answer.pointer("/result/structuredContent/success");
                self.served += u64::from(served == Some(&json!(true)));
                for (at, count) in step.tallies.iter().flat_map(|[first, _]| first).enumerate() {
                    self.by_level[1 + at] += count;
                }
                let hidden = answer.pointer("/result/structuredContent/data/by_visibility/NONE");
                if step.tallies.is_some() {
                    self.by_level[0] += hidden.and_then(Value::as_u64).unwrap_or_default();
                }
            }
        }
    }

    /// Worlds in which nothing is hidden, or everything, would prove nothing.
    fn assert_rich(&self) {
        let Self {
            by_level,
            answers,
            served,
        } = self;
        assert!(by_level.iter().all(|count| *count >= 20), "{by_level:?}");
        assert!(
            served * 5 >= *answers,
            "{served} of {answers} calls were served"
        );
    }
}
