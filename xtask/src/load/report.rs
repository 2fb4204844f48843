//! docs/load.md: a section for each part, written anew by a run of that part, with what it was measured on beside it.
//!
//! Marks what meets its goal and what does not; leaves nothing out.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use super::Turns;
use super::mix::{Read, Tool};
use super::overload;
use super::samples::Spread;
use super::saturate;
use super::steady::{Crowd, Heard};
use super::watch::Seen;
use super::world::{CALLERS, Size, World};

const PAGE: &str = "docs/load.md";
const HEAD: &str = "\
# Under load

<!-- Made by `cargo run --release -p xtask -- load --write`, a section by each part; edit the code, not this file. -->

One process of the release build serves HTTP on the loopback of a machine with two cores; the clients, the program and
the mail server (Dovecot) share those cores. Callers bring tokens; of five callers two may see everything, two what a whitelist of
four domains lets through, one all but what a blacklist of three takes. Every call is decided, recorded durably before it is
answered, and answered over a connection that is kept. An answer that is refused, partial or not an answer is an error.
";

/// What a part found: its name, and its text as Markdown.
pub(super) struct Section {
    pub name: &'static str,
    pub text: String,
}

const ORDER: [&str; 4] = ["steady", "saturation", "overload", "reload"];

/// Puts the sections into the page; those of other parts stay as they are.
pub(super) fn write(sections: &[Section]) -> Result<(), String> {
    let path = Path::new(PAGE);
    let before = fs::read_to_string(path).unwrap_or_default();
    let mut page = HEAD.to_owned();
    for name in ORDER {
        let new = sections.iter().find(|section| section.name == name);
        let text = new.map(|section| section.text.trim().to_owned());
        if let Some(text) = text.or_else(|| kept(&before, name)) {
            let _ = write!(page, "\n{}\n{text}\n{}\n", begin(name), end(name));
        }
    }
    fs::write(path, page).map_err(|error| format!("{PAGE}: {error}"))
}

fn begin(name: &str) -> String {
    format!("<!-- {name} -->")
}

fn end(name: &str) -> String {
    format!("<!-- end of {name} -->")
}

fn kept(page: &str, name: &str) -> Option<String> {
    let (_, rest) = page.split_once(&begin(name))?;
    let (text, _) = rest.split_once(&end(name))?;
    Some(text.trim().to_owned())
}

/// What the numbers were taken on; nothing that names the machine or its owner.
pub(crate) fn machine(load: [&str; 2]) -> String {
    let file = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let memory = file("/proc/meminfo");
    let memory = memory
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"));
    let memory = memory.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
    let gib = memory.unwrap_or_default().div_ceil(1 << 20);
    let kernel = file("/proc/sys/kernel/osrelease");
    let kernel = kernel.trim().split('-').next().unwrap_or_default();
    let dovecot = Command::new("dovecot").arg("--version").output();
    let dovecot = dovecot.map(|told| String::from_utf8_lossy(&told.stdout).into_owned());
    let dovecot = dovecot.unwrap_or_default();
    let dovecot = dovecot.split(' ').next().unwrap_or_default();
    let [before, after] = load;
    format!(
        "{}; {cores} cores, {gib} GiB, Linux {kernel}, Dovecot {dovecot}; load average {before} before and {after} after.",
        jiff::Timestamp::now().strftime("%Y-%m-%d")
    )
}

/// A line of the table of goals.
pub(crate) fn goal(out: &mut String, what: &str, measured: &str, wanted: &str, met: bool) {
    let met = if met { "met" } else { "**missed**" };
    let _ = writeln!(out, "| {what} | {measured} | {wanted} | {met} |");
}

const TOO_SHORT: &str = "too short to tell";
pub(crate) const GOALS: &str = "\n| | measured | goal | |\n|---|--:|--:|---|\n";

pub(crate) fn spreads(out: &mut String, rows: impl Iterator<Item = (String, Spread)>) {
    out.push_str("\n| ms | calls | p50 | p95 | p99 | max |\n|---|--:|--:|--:|--:|--:|\n");
    for (name, spread) in rows {
        let Spread {
            calls,
            p50,
            p95,
            p99,
            max,
        } = spread;
        let _ = writeln!(
            out,
            "| {name} | {calls} | {p50:.1} | {p95:.1} | {p99:.1} | {max:.1} |"
        );
    }
}

fn by_tool(heard: &Heard) -> impl Iterator<Item = (String, Spread)> {
    let tools = heard
        .samples
        .tools()
        .map(|(tool, spread)| (tool.told().to_owned(), spread));
    tools.chain([("**all**".to_owned(), heard.samples.all())])
}

fn most(values: &[f64]) -> f64 {
    values.iter().copied().fold(0.0, f64::max)
}

fn words(out: &mut String, heard: &[String]) {
    for words in heard {
        let _ = writeln!(out, "\n    {words}");
    }
}

pub(super) fn steady(size: Size, crowd: Crowd, heard: &Heard, seen: &Seen) -> Section {
    let all = heard.samples.all();
    let mut out = format!(
        "## {} clients for {} minutes\n\n{}\n\n{} accounts with {} messages each, {CALLERS} callers, {} clients, each of which asks about \
         once a second (independently of each other, as a Poisson process) whether its last question was answered or not. \
         Latency counts from the moment at which a question was due.\n",
        crowd.clients,
        crowd.lasting.as_secs_f64() / 60.0,
        machine([&seen.load[0], &seen.load[1]]),
        size.accounts,
        size.messages,
        crowd.clients
    );
    out.push_str(GOALS);
    let errors = heard.errors + heard.shed;
    goal(
        &mut out,
        "errors",
        &format!("{errors} of {} calls", all.calls + errors),
        "none",
        errors == 0,
    );
    goal(
        &mut out,
        "p99",
        &format!("{:.1} ms", all.p99),
        "≤ 250 ms",
        all.p99 <= 250.0,
    );
    let rss = most(&seen.rss) / 1e6;
    goal(
        &mut out,
        "memory (RSS), most",
        &format!("{rss:.1} MB"),
        "≤ 256 MB",
        rss <= 256.0,
    );
    let slope = seen.rss_slope().map(|slope| slope * 60.0 / 1e6);
    goal(
        &mut out,
        "memory, growth after the first minute",
        &slope.map_or(TOO_SHORT.to_owned(), |slope| {
            format!("{slope:+.2} MB a minute")
        }),
        "< 1 MB a minute",
        slope.is_some_and(|slope| slope < 1.0),
    );
    let slope = seen.descriptor_slope().map(|slope| slope * 60.0);
    let growth = slope.map_or(TOO_SHORT.to_owned(), |slope| {
        format!("{slope:+.1} a minute")
    });
    goal(
        &mut out,
        "descriptors, most and growth",
        &format!("{:.0}, {growth}", most(&seen.descriptors)),
        "flat",
        slope.is_some_and(|slope| slope < 5.0),
    );
    let connections = seen.connections.iter().max().copied().unwrap_or_default();
    goal(
        &mut out,
        "IMAP connections, all and of one account",
        &match seen.most_of_one {
            Some(most) => format!("{connections}, {most}"),
            None => format!("{connections}, not told"),
        },
        "≤ 4 of one account",
        seen.most_of_one.is_some_and(|most| most <= 4),
    );
    spreads(&mut out, by_tool(heard));
    let share = |seconds: f64| seconds / seen.seconds * 100.0;
    let _ = writeln!(
        out,
        "\nProcessor, of one core: program {:.0} %, mail server {:.0} %, clients {:.0} %.",
        share(seen.program),
        share(seen.dovecot),
        share(seen.harness)
    );
    words(&mut out, &heard.words);
    Section {
        name: "steady",
        text: out,
    }
}

pub(super) fn reload(crowd: Crowd, turns: Turns, heard: &Heard, seen: &Seen) -> Section {
    let all = heard.samples.all();
    let mut out = format!(
        "## Reload under load\n\n{}\n\n{} clients for {} minutes; {} times meanwhile, about once a second, the list of callers and a \
         policy were written anew and the program was told to read them (SIGHUP). Each time one caller is new or none any more: \
         whether its token is taken shows that the program has read it.\n",
        machine([&seen.load[0], &seen.load[1]]),
        crowd.clients,
        crowd.lasting.as_secs_f64() / 60.0,
        turns.told,
    );
    out.push_str(GOALS);
    let errors = heard.errors + heard.shed;
    goal(
        &mut out,
        "failed calls",
        &format!("{errors} of {}", all.calls + errors),
        "none",
        errors == 0,
    );
    goal(
        &mut out,
        "reloads that came into force",
        &format!("{} of {}", turns.in_force, turns.told),
        "all",
        turns.told > 0 && turns.in_force == turns.told,
    );
    spreads(&mut out, by_tool(heard));
    words(&mut out, &heard.words);
    Section {
        name: "reload",
        text: out,
    }
}

pub(super) fn saturation(world: &World, plan: saturate::Plan, found: &saturate::Found) -> Section {
    let last = found.ours.last();
    let load = |round: Option<&saturate::Round>| {
        round.map_or(String::new(), |round| round.seen.load[1].clone())
    };
    let mut out = format!(
        "## As many calls as there can be\n\n{}\n\n{} clients ask again as soon as they are answered; beside them, in turn, bare \
         connections ask the same of the same mail server: as many connections as the program had, as many questions open, \
         commands written ahead of their answers, answers thrown away once their tag has come. {} rounds of {} s a side. \
         It is all warm when the first round begins. The program remembers what it was told before and looks whether that is still so; the bare connections remember nothing, \
         so that in later rounds the program may ask the mail server for less than they do.\n",
        machine([
            found.ours.first().map_or("", |round| &round.seen.load[0]),
            &load(last)
        ]),
        plan.open,
        plan.rounds,
        plan.lasting.as_secs()
    );
    out.push_str(GOALS);
    let errors: usize = found
        .ours
        .iter()
        .map(|round| round.heard.errors + round.heard.shed)
        .sum();
    goal(&mut out, "errors", &errors.to_string(), "none", errors == 0);
    let ratio = found.ratio();
    goal(
        &mut out,
        "calls, of what bare connections reach (median of the rounds)",
        &format!("{ratio:.2} ×"),
        "≥ 0.6 ×",
        ratio >= 0.6,
    );
    out.push_str(
        "\n| round | side | calls a second | connections | µs a call: program | mail server | clients | memory (RSS) MB |\n\
         |--:|---|--:|--:|--:|--:|--:|--:|\n",
    );
    for (number, (ours, bare)) in (1..).zip(found.ours.iter().zip(&found.bare)) {
        for (side, round) in [("program", ours), ("bare", bare)] {
            let each = |seconds: f64| seconds * 1e6 / (round.a_second * round.seen.seconds);
            let _ = writeln!(
                out,
                "| {number} | {side} | {:.0} | {} | {:.0} | {:.0} | {:.0} | {:.0} |",
                round.a_second,
                round.connections,
                each(round.seen.program),
                each(round.seen.dovecot),
                each(round.seen.harness),
                most(&round.seen.rss) / 1e6
            );
        }
    }
    if let Some(last) = last {
        out.push_str("\nThe program's answers in the last round:\n");
        spreads(&mut out, by_tool(&last.heard));
        words(&mut out, &last.heard.words);
    }
    out.push_str("\nWhat is asked for, of a hundred, and what the bare connection sends for it (a line is a flight):\n\n");
    for (tool, share) in Tool::MIX {
        let _ = writeln!(out, "- {share} × {}", tool.told());
        if let Some(read) = world
            .mailboxes
            .first()
            .and_then(|one| Read::example(one, tool))
        {
            for flight in read.commands() {
                let commands: Vec<String> = flight
                    .iter()
                    .map(|command| format!("`{command}`"))
                    .collect();
                let _ = writeln!(out, "  - {}", commands.join(", "));
            }
        }
    }
    Section {
        name: "saturation",
        text: out,
    }
}

pub(super) fn overload(crowd: Crowd, found: &overload::Found) -> Section {
    let mut out = format!(
        "## Overload\n\n{}\n\n{} clients of {} callers ask about once a second, first alone and then beside {} callers that have eleven times as much to ask as the \
         program can do ({:.0} calls a second), on {} connections each, and wait for nothing that they are told to wait for. Either takes {:.1} minutes. With those of the modest these are nearly all the connections that one address may have. The modest and the greedy are threads of their own.\n",
        machine([&found.load, &super::watch::load()]),
        crowd.clients,
        CALLERS - overload::GREEDY,
        overload::GREEDY,
        found.capacity,
        overload::CONNECTIONS,
        crowd.lasting.as_secs_f64() / 60.0
    );
    out.push_str(GOALS);
    let ratio = found.ratio();
    goal(
        &mut out,
        "p99 of the modest, of what it is alone",
        &format!("{ratio:.2} ×"),
        "≤ 2 ×",
        ratio <= 2.0,
    );
    let failed = found.errors + found.shed;
    goal(
        &mut out,
        "calls of the modest that failed",
        &failed.to_string(),
        "none",
        failed == 0,
    );
    goal(
        &mut out,
        "calls of the greedy that were answered, or refused",
        &format!("{:.0} a second", found.reached()),
        &format!("≥ {:.0} a second", overload::LEAST),
        found.reached() >= overload::LEAST,
    );
    spreads(
        &mut out,
        [
            ("alone".to_owned(), found.alone),
            ("beside the greedy".to_owned(), found.beside),
        ]
        .into_iter(),
    );
    let _ = writeln!(
        out,
        "\nThe greedy were due to make {:.0} calls a second, and sent each as soon as its connection was free. Whoever is refused again and again is refused a second later rather than at once, \
         so of these only {:.0} a second ({:.1} × what the program can do) ever reached it: {:.0} were answered, and {:.0} told to come back later. {:.1} a second were lost with their connection.",
        found.wanted,
        found.reached(),
        found.reached() / found.capacity,
        found.served,
        found.refused,
        found.lost
    );
    if let Some(words) = &found.lost_first {
        let _ = writeln!(out, "\nThe first of these: {words}.");
    }
    words(&mut out, &found.words);
    Section {
        name: "overload",
        text: out,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_of_other_parts_are_found_again() {
        let page = format!("x\n{}\nold\n{}\n", begin("steady"), end("steady"));
        assert_eq!(kept(&page, "steady").as_deref(), Some("old"));
        assert_eq!(kept(&page, "reload"), None);
    }
}
