//! One cell: a call that is struck once, what it said, a program that starts again without faults, and the verdict. The
//! run without faults, in which the boundaries are found, goes the same way.

use std::path::Path;

use serde_json::{Value, json};
use testkit::crash::{self, Cell, End, Ends, Fault, Places, Reach, Recorded, Said, Spot, Verdict};
use testkit::mcp::{Gone, RpcError};
use testkit::proxy::{Boundary, Strike};
use testkit::trap::{self, Deed, Errno, Kind as CallKind, Plan, Span, Switch, Trapped, Watch};
use testkit::{FaultProxy, McpClient};

use super::ground::{AWAY, Ground, HOME, Plot, leave};
use super::kinds::{Call, Kind};
use crate::support::start;

/// How long the program waits for a server that has gone silent: long enough for one that is only slow on a busy machine.
const SHORT_PATIENCE: [(&str, &str); 2] = [
    ("MAIL_IMAP_SOCKET_TIMEOUT_MS", "1500"),
    ("IMAP_MCP_APPEND_TIMEOUT", "2"),
];

/// Whether the fault came to pass.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Hit {
    Struck,
    Missed,
}

/// What is watched in the program while the call runs.
struct Armed {
    client: McpClient,
    switch: Switch,
}

/// Runs a kind without faults, and tells where it can be struck. The error says that it does not work at all.
pub(crate) fn discover(ground: &Ground, kind: &Kind) -> Result<Places, String> {
    let plot = ground.plot(kind.hidden, kind.variables);
    let mut armed = Armed::start(&plot, |watch| Plan::count(watch.everything));
    let (call, ends) = kind.prepare(&plot, &mut armed.client);
    let known = plot.transactions();
    for proxy in [&plot.home, &plot.away] {
        proxy.reset_stats();
    }
    let said = armed.ask(&call);
    let calls = armed.client.trapped().expect("a trap").seen();
    let commands =
        |account: &str, proxy: &FaultProxy| (account.to_owned(), Boundary::of(&proxy.commands()));
    let commands = vec![commands(HOME, &plot.home), commands(AWAY, &plot.away)];
    leave(armed.client);
    match judge(&plot, &ends, &known, &said.0) {
        Ok(End::Done) if said.0 == Said::Done => {}
        verdict => {
            return Err(format!(
                "without faults it is {verdict:?}; the answer was {}",
                said.1
            ));
        }
    }
    let state = plot.state.state();
    let calls = calls.iter().map(|call| crash::Call {
        what: what(call, &state),
        reach: match call.kind {
            CallKind::Write => Reach::Written,
            _ => Reach::Beyond,
        },
    });
    Ok(Places {
        commands,
        calls: calls.collect(),
    })
}

/// Runs one cell.
pub(crate) fn run(ground: &Ground, kind: &Kind, cell: &Cell) -> (Hit, Verdict) {
    let mut variables = kind.variables.to_vec();
    if let Fault::Blow(_) = cell.fault {
        variables.extend(SHORT_PATIENCE);
    }
    let plot = ground.plot(kind.hidden, &variables);
    let (hit, said, answer, prepared) = match (&cell.spot, cell.fault) {
        (Spot::Command { account, at }, Fault::Blow(blow)) => {
            let mut client = start(plot.program());
            warm(&mut client);
            let prepared = prepare(kind, &plot, &mut client);
            let proxy = match account.as_str() {
                HOME => &plot.home,
                _ => &plot.away,
            };
            let strike = proxy.strike(blow, at);
            let (said, answer) = ask(&mut client, &prepared.call);
            let hit = landed(&strike);
            leave(client);
            (hit, said, answer, prepared)
        }
        (Spot::Call { nth, .. }, fault) => {
            let mut armed = Armed::start(&plot, |watch| watch.plan(*nth, fault));
            let prepared = prepare(kind, &plot, &mut armed.client);
            let (said, answer) = armed.ask(&prepared.call);
            let trapped = armed.client.trapped().expect("a trap");
            let hit = match trapped.hits().is_empty() {
                true => Hit::Missed,
                false => Hit::Struck,
            };
            leave(armed.client);
            (hit, said, answer, prepared)
        }
        (Spot::Command { .. }, fault) => panic!("{fault:?} is no blow at a command"),
    };
    let verdict = judge(&plot, &prepared.ends, &prepared.known, &said);
    let verdict = verdict.map_err(|why| format!("{why}; the answer was {answer}"));
    (hit, verdict)
}

struct Prepared {
    call: Call,
    ends: Ends,
    known: Vec<super::ground::Line>,
}

fn prepare(kind: &Kind, plot: &Plot<'_>, client: &mut McpClient) -> Prepared {
    let (call, ends) = kind.prepare(plot, client);
    Prepared {
        call,
        ends,
        known: plot.transactions(),
    }
}

/// Starts the program again, lets it come to rest, and compares world, ledger and answer.
fn judge(plot: &Plot<'_>, ends: &Ends, known: &[super::ground::Line], said: &Said) -> Verdict {
    plot.calm();
    let client = start(plot.program());
    let lines = plot.settled();
    leave(client);
    plot.calm();
    let new: Vec<_> = lines
        .iter()
        .filter(|line| known.iter().all(|known| known.id != line.id))
        .collect();
    let recorded = match new.as_slice() {
        [] => Recorded::Nothing,
        [line] => match line.state.as_str() {
            "done" => Recorded::Ended(End::Done),
            "undone" => Recorded::Ended(End::Undone),
            other => Recorded::Unsettled(format!("{} is {other}", line.kind)),
        },
        several => Recorded::Unsettled(format!("{several:?}")),
    };
    let verdict = ends.judge(&plot.world(), &recorded, said);
    verdict.map_err(|why| {
        let stories: Vec<_> = new.iter().map(|line| line.story.as_str()).collect();
        format!("{why}; the ledger tells {}", stories.join(", "))
    })
}

impl Armed {
    /// Starts the program in the trap, which counts nothing yet.
    fn start(plot: &Plot<'_>, plan: impl FnOnce(Watched) -> Plan) -> Self {
        // What only a new installation does is not part of a call.
        leave(start(plot.program()));
        let switch = Switch::turned_off();
        let plan = plan(Watched::of(&plot.state.state())).counting(&switch);
        let mut command = plot.program();
        command.arg("stdio");
        let mut client = McpClient::over(Trapped::spawn(command, plan));
        client.initialize();
        warm(&mut client);
        Self { client, switch }
    }

    fn ask(&mut self, call: &Call) -> (Said, String) {
        self.switch.on();
        let answer = ask(&mut self.client, call);
        self.switch.off();
        answer
    }
}

/// The calls that count.
struct Watched {
    everything: Watch,
    writes: Watch,
}

impl Watched {
    fn of(state: &Path) -> Self {
        let files = [
            CallKind::Write,
            CallKind::Sync,
            CallKind::Truncate,
            CallKind::Unlink,
        ];
        Self {
            everything: Watch::of(files)
                .under(state)
                .or(Watch::of([CallKind::Send])),
            writes: Watch::of([CallKind::Write]).under(state),
        }
    }

    fn plan(self, nth: usize, fault: Fault) -> Plan {
        match fault {
            Fault::KillBefore => Plan::at(nth, self.everything, Deed::Kill),
            Fault::KillAfter => Plan::at(nth, self.everything, Deed::KillAfter),
            Fault::Tear => Plan::at(nth, self.everything, Deed::Tear),
            Fault::Failure => {
                let once = Deed::Fail(Errno::EIO, Span::Once);
                Plan::at(nth, self.everything, once)
            }
            Fault::DiskFull => {
                let full = Deed::Fail(Errno::ENOSPC, Span::Onwards);
                Plan::at(nth, self.writes, full)
            }
            Fault::Blow(blow) => panic!("{blow:?} strikes at a command"),
        }
    }
}

/// Connections are there and folders are known before anything counts.
fn warm(client: &mut McpClient) {
    for account in [HOME, AWAY] {
        client.call("imap_list_mailboxes", json!({ "account_id": account }));
    }
}

fn ask(client: &mut McpClient, call: &Call) -> (Said, String) {
    let params = json!({ "name": call.tool, "arguments": call.arguments });
    let sent = client.try_send("tools/call", params);
    let answer = sent.and_then(|id| client.try_wait(id));
    (said(&answer), shown(&answer))
}

/// What an answer claims. A word that says done is taken for done, whatever stands beside it; a refusal claims that nothing
/// is changed, and only a fault of the program itself claims nothing.
pub(crate) fn said(answer: &Result<Result<Value, RpcError>, Gone>) -> Said {
    let data = match answer {
        Err(Gone(_)) => return Said::Unknown,
        Ok(Err(error)) => {
            let named = error.data["details"]["transaction_state"].as_str();
            return match error.data["code"].as_str() {
                _ if named == Some("unknown") => Said::Unknown,
                Some("internal" | "timeout") => Said::Unknown,
                _ => Said::Undone,
            };
        }
        Ok(Ok(result)) => &result["structuredContent"]["data"],
    };
    let word = |name: &str| data[name].as_str().unwrap_or_default();
    match (word("status"), word("transaction_state")) {
        ("ok" | "partial", _) | (_, "done") => Said::Done,
        (_, "undone" | "") => Said::Undone,
        _ => Said::Unknown,
    }
}

fn shown(answer: &Result<Result<Value, RpcError>, Gone>) -> String {
    match answer {
        Err(Gone(why)) => why.clone(),
        Ok(Err(error)) => format!("{error:?}"),
        Ok(Ok(result)) => result["structuredContent"]["data"].to_string(),
    }
}

fn landed(strike: &Strike) -> Hit {
    match strike.has_landed() {
        true => Hit::Struck,
        false => Hit::Missed,
    }
}

/// A system call in words that stay the same from run to run.
fn what(call: &trap::Call, state: &Path) -> String {
    let place = match (&call.path, call.stream) {
        (Some(path), _) => {
            let state = state.canonicalize().unwrap_or_else(|_| state.to_owned());
            let path = path.strip_prefix(&state).unwrap_or(path);
            let file = path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            // A day of the audit log is named after the day.
            match path.starts_with("audit") && file.ends_with(".jsonl") {
                true => "audit log".to_owned(),
                false => file,
            }
        }
        (None, Some(stream)) => format!("{stream:?}").to_lowercase(),
        (None, None) => "socket".to_owned(),
    };
    format!("{} {place}", call.name)
}

#[test]
fn answers_are_taken_at_their_word() {
    let told = |data: Value| Ok(Ok(json!({ "structuredContent": { "data": data } })));
    let refused = |code: &str| {
        Ok(Err(RpcError {
            code: 0,
            message: String::new(),
            data: json!({ "code": code }),
        }))
    };
    for (answer, claim) in [
        (told(json!({ "status": "ok" })), Said::Done),
        (
            told(json!({ "status": "ok", "transaction_state": "unknown" })),
            Said::Done,
        ),
        (
            told(json!({ "status": "failed", "transaction_state": "done" })),
            Said::Done,
        ),
        (
            told(json!({ "status": "failed", "transaction_state": "undone" })),
            Said::Undone,
        ),
        (
            told(json!({ "status": "failed", "transaction_state": "unknown" })),
            Said::Unknown,
        ),
        (told(json!({ "status": "failed" })), Said::Undone),
        (told(json!({ "decision": "DENY" })), Said::Undone),
        (refused("conflict"), Said::Undone),
        (refused("internal"), Said::Unknown),
        (Err(Gone(String::new())), Said::Unknown),
    ] {
        assert_eq!(said(&answer), claim, "{answer:?}");
    }
}
