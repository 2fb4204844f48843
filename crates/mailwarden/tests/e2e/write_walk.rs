//! A random walk: eight callers, each a process of its own over one ledger, change mail of two accounts at once while
//! processes are killed and connections break. At the end the mailboxes are what a model in memory says.
//!
//! A short walk runs with all tests; `cargo xtask crash --writes` takes the long one.

mod caller;

use caller::{Caller, FOLDERS, Tally};
use testkit::{Delivery, World};

use crate::support::start;
use crate::write_crash::{AWAY, Ground, HOME, Line, Plot, leave};

const CALLERS: usize = 8;
/// Changes in the short walk, all callers together.
const SHORT: usize = 150;
/// Messages that a caller begins with, in each account.
const OWN: usize = 3;

#[test]
fn write_walk() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let steps = number("WALK_STEPS").map_or(SHORT, |steps: u64| steps as usize);
    let seed = number("WALK_SEED").unwrap_or(6);
    eprintln!("a walk of {steps} changes by {CALLERS} callers, seed {seed}");
    let ground = Ground::new();
    let plot = ground.plot(
        "",
        &[
            ("MAIL_IMAP_SOCKET_TIMEOUT_MS", "3000"),
            ("IMAP_MCP_APPEND_TIMEOUT", "3"),
        ],
    );
    let bystanders = plot.world();
    let mut callers: Vec<Caller<'_>> = (0..CALLERS)
        .map(|number| Caller::new(&plot, number, seed))
        .collect();
    give(&plot, &mut callers);
    // One that is there first makes what only a new installation needs.
    leave(start(plot.program()));
    let walked: Vec<Result<(), String>> = std::thread::scope(|scope| {
        let threads: Vec<_> = callers
            .iter_mut()
            .enumerate()
            .map(|(number, caller)| {
                let own = steps / CALLERS + usize::from(number < steps % CALLERS);
                scope.spawn(move || (0..own).try_for_each(|_| caller.step()))
            })
            .collect();
        let ended = threads.into_iter().map(|thread| thread.join());
        ended
            .map(|end| end.unwrap_or_else(|_| Err("a caller panicked".to_owned())))
            .collect()
    });
    callers.iter_mut().for_each(Caller::retire);
    let last = rest(&plot);
    let all = callers
        .iter()
        .fold(Tally::default(), |sum, one| sum.and(one.tally));
    eprintln!("{all:?}; {} transactions", last.len());
    let troubles: Vec<_> = walked.into_iter().filter_map(Result::err).collect();
    let held = callers
        .iter()
        .flat_map(|caller| caller.held.iter().cloned());
    let model: World = bystanders.items().cloned().chain(held).collect();
    let mail = plot.world();
    let (more, less) = (mail.beyond(&model), model.beyond(&mail));
    assert!(
        mail == model && troubles.is_empty(),
        "seed {seed}: {}\nthe mailboxes have [{more}] that the model has not, and lack [{less}]\n{}",
        troubles.join("\n"),
        stories(&last, [&more, &less])
    );
    assert_eq!(all.done + all.undone, steps);
    assert!(all.done > all.undone, "{all:?}");
    // A person is asked seldom: only where a step and its putting back were both refused.
    assert!(all.decided * 10 <= all.struck, "{all:?}");
}

/// Messages for every caller, all over the shared folders.
fn give(plot: &Plot<'_>, callers: &mut [Caller<'_>]) {
    for account in [HOME, AWAY] {
        let mut imap = plot.bare(account);
        for (number, caller) in callers.iter_mut().enumerate() {
            for message in 0..OWN {
                let raw = format!(
                    "From: anna@example.com\r\nSubject: {message} of caller {number}\r\n\
                     Message-ID: <{message}.{number}.{account}@example.com>\r\n\r\nof caller {number}\r\n"
                );
                let raw = raw.into_bytes();
                let hash = testkit::world::hash(&raw);
                let folder = FOLDERS[message % FOLDERS.len()];
                imap.append(folder, &Delivery::new(raw));
                let all = plot.folder(account, folder);
                let found = all.into_iter().find(|found| found.item.hash == hash);
                caller
                    .held
                    .push(found.expect("what was just put there").item);
            }
        }
    }
}

/// What the ledger tells of these messages, the newest first.
fn stories(lines: &[Line], worlds: [&World; 2]) -> String {
    let concerned = |line: &&Line| {
        let mut items = worlds.into_iter().flat_map(World::items);
        items.any(|item| item.hash == line.hash)
    };
    let told = lines.iter().filter(concerned);
    let told = told.map(|line| format!("{} {} {}", line.id, line.state, line.story));
    told.collect::<Vec<_>>().join("\n")
}

/// Starts the program once more, without faults, and lets it bring everything to an end.
fn rest(plot: &Plot<'_>) -> Vec<Line> {
    plot.calm();
    let client = start(plot.program());
    let lines = plot.settled();
    leave(client);
    plot.calm();
    let unsettled: Vec<_> = lines
        .iter()
        .filter(|line| !["done", "undone"].contains(&line.state.as_str()))
        .collect();
    assert!(unsettled.is_empty(), "{unsettled:#?}");
    lines
}
