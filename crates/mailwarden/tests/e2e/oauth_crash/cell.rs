//! One cell: a call or a login that is struck once, then new processes without faults, and the verdict. The run without
//! faults, in which the places to strike are found, goes the same way.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};

use testkit::McpClient;
use testkit::crash::{Cell, End, Fault, Spot, Verdict};
use testkit::trap::{Call, Deed, Errno, Kind as CallKind, Plan, Span, Switch, Trapped, Watch};

use super::ground::{Answer, Disk, Ground, Plot, ask, tells_what_to_do};
use super::kinds::{Act, Before, Kind};
use crate::write_crash::{Hit, leave};

/// What reaches the disk, or another process by way of it.
const FILE_CALLS: [CallKind; 10] = [
    CallKind::Write,
    CallKind::Sync,
    CallKind::Create,
    CallKind::Truncate,
    CallKind::Rename,
    CallKind::Link,
    CallKind::Unlink,
    CallKind::MakeDir,
    CallKind::Mode,
    CallKind::Lock,
];

/// The calls that count, by what is done at them.
struct Watched {
    everything: Watch,
    /// Where tokens lie.
    kept: Watch,
    writes: Watch,
    places: [PathBuf; 2],
}

impl Watched {
    fn of(plot: &Plot<'_>, act: Act) -> Self {
        let places = [plot.remembered(), plot.secrets()];
        let under = |kinds: &[CallKind]| {
            let [one, other] = &places;
            let watch = || Watch::of(kinds.iter().copied());
            watch().under(one).or(watch().under(other))
        };
        let kept = under(&FILE_CALLS);
        // What a login writes into the audit log is that of any start.
        let files = match act {
            Act::Call => kept.clone().or(Watch::of(FILE_CALLS).under(plot.state())),
            Act::Login => kept.clone(),
        };
        Self {
            everything: files.or(Watch::of([CallKind::Send, CallKind::Receive])),
            kept,
            writes: under(&[CallKind::Write]),
            places: places.map(|place| place.canonicalize().unwrap_or(place)),
        }
    }

    fn plan(self, nth: usize, fault: Fault) -> Plan {
        let fail = Deed::Fail;
        match fault {
            Fault::KillBefore => Plan::at(nth, self.everything, Deed::Kill),
            Fault::KillAfter => Plan::at(nth, self.everything, Deed::KillAfter),
            Fault::Tear => Plan::at(nth, self.writes, Deed::Tear),
            Fault::DiskFull => Plan::at(nth, self.writes, fail(Errno::ENOSPC, Span::Onwards)),
            Fault::Failure => Plan::at(nth, self.kept, fail(Errno::EIO, Span::Once)),
            Fault::Blow(blow) => panic!("{blow:?} strikes at a command"),
        }
    }

    fn is_kept(&self, call: &Call) -> bool {
        let paths = [&call.path, &call.new_path];
        let mut paths = paths.into_iter().flatten();
        paths.any(|path| self.places.iter().any(|place| path.starts_with(place)))
    }
}

/// Runs a kind without faults; all that can be done to it. The error says that it does not work at all.
pub(super) fn discover(ground: &Ground, kind: &Kind) -> Result<Vec<Cell>, String> {
    let plot = ground.plot(kind);
    let (living, before) = (plot.living(), plot.disk());
    let watched = Watched::of(&plot, kind.act);
    let (calls, _) = act(&plot, kind, Plan::count(watched.everything.clone()));
    let end = judge(&plot, kind, &before, &living)?;
    if end != End::Done || plot.disk() == before {
        return Err(format!("without faults it is {end:?}, {:?}", plot.disk()));
    }
    // By now they are there, and have the names that the kernel gives them.
    Ok(cells(kind, &calls, &Watched::of(&plot, kind.act)))
}

fn cells(kind: &Kind, calls: &[Call], watched: &Watched) -> Vec<Cell> {
    let mut cells = Vec::new();
    let (mut kept, mut writes) = (0, 0);
    for (nth, call) in (1..).zip(calls) {
        let mut cell = |fault, nth| {
            cells.push(Cell::at_call(kind.name, fault, nth, what(call)));
        };
        cell(Fault::KillBefore, nth);
        // Everything else is over for good only with the call that follows, and that is struck as well.
        if matches!(call.kind, CallKind::Send | CallKind::Rename) {
            cell(Fault::KillAfter, nth);
        }
        if !watched.is_kept(call) {
            continue;
        }
        kept += 1;
        cell(Fault::Failure, kept);
        if call.kind == CallKind::Write {
            writes += 1;
            cell(Fault::Tear, writes);
            cell(Fault::DiskFull, writes);
        }
    }
    cells
}

pub(super) fn run(ground: &Ground, kind: &Kind, cell: &Cell) -> (Hit, Verdict) {
    let Spot::Call { nth, .. } = cell.spot else {
        panic!("{cell} is at no system call");
    };
    let plot = ground.plot(kind);
    let (living, before) = (plot.living(), plot.disk());
    let plan = Watched::of(&plot, kind.act).plan(nth, cell.fault);
    let (_, hit) = act(&plot, kind, plan);
    (hit, judge(&plot, kind, &before, &living))
}

/// The calls that counted, and whether the deed came to pass.
fn act(plot: &Plot<'_>, kind: &Kind, plan: Plan) -> (Vec<Call>, Hit) {
    match kind.act {
        Act::Call => call(plot, plan),
        Act::Login => log_in(plot, plan),
    }
}

fn call(plot: &Plot<'_>, plan: Plan) -> (Vec<Call>, Hit) {
    let switch = Switch::turned_off();
    let mut command = plot.program();
    command.arg("stdio");
    let trapped = Trapped::spawn(command, plan.counting(&switch));
    let mut client = McpClient::over(trapped);
    client.initialize();
    switch.on();
    // Whether it is told anything is not the question: what the next one is told is.
    let _ = ask(&mut client);
    switch.off();
    let trapped = client.trapped().expect("a trap");
    let came = (trapped.seen(), hit(&trapped.hits()));
    leave(client);
    came
}

fn log_in(plot: &Plot<'_>, plan: Plan) -> (Vec<Call>, Hit) {
    let mut command = plot.program();
    command.args(["login", "--account", "work", "--no-browser"]);
    let mut trapped = Trapped::spawn(command, plan);
    let mut stdout = BufReader::new(trapped.stdout.take().expect("a pipe"));
    let mut lines = stdout.by_ref().lines().map_while(Result::ok);
    if let Some(address) = lines.find(|line| line.starts_with("http"))
        && let Ok(redirect) = plot.oidc().authorize(&address)
    {
        // Whoever listened there may be dead.
        let _ = plot.oidc().http().get(&redirect);
    }
    let _ = stdout.read_to_end(&mut Vec::new());
    let outcome = trapped.wait();
    (outcome.seen, hit(&outcome.hits))
}

fn hit(hits: &[Call]) -> Hit {
    match hits.is_empty() {
        true => Hit::Missed,
        false => Hit::Struck,
    }
}

/// What new processes make of what the struck one left: they work, or say who has to do what; and no token is lost that
/// the provider would have taken and that was ours.
pub(super) fn judge(plot: &Plot<'_>, kind: &Kind, before: &Disk, living: &[String]) -> Verdict {
    let (left, lives) = (plot.disk(), plot.living());
    let known = |token: &str| lives.iter().any(|one| one == token);
    let whole = |text: &String| text.strip_suffix('\n').is_some_and(known);
    if left.store != before.store && !left.store.as_ref().is_some_and(whole) {
        return Err(format!("half a secret is in the store: {:?}", left.store));
    }
    // Of a login, whatever was there before is another one's, and stays good.
    let rotated = kind.act == Act::Call && !living.iter().all(|token| known(token));
    let ours = match kind.before {
        Before::Nothing => left.store.is_some(),
        _ => !rotated || left != *before,
    };
    let first = plot.call();
    let asked = plot.refreshes();
    let again = plot.call();
    let story = format!(
        "{before:?} became {left:?}, {living:?} became {lives:?}: {first:?}, then {again:?}"
    );
    match (&first, &again) {
        (Answer::Mail, Answer::Mail) => {
            if !ours {
                return Err(format!("it works, and nobody knows why: {story}"));
            }
            Ok(End::Done)
        }
        (Answer::NeedsLogin, Answer::NeedsLogin) if ours => {
            Err(format!("a token was lost: {story}"))
        }
        (Answer::NeedsLogin, Answer::NeedsLogin) => {
            // Whoever has been refused once remembers it.
            let times = plot.refreshes() - asked;
            let standing = plot.standing();
            let told = standing["status"] == "needs_rebootstrap"
                && tells_what_to_do(&standing.to_string());
            match told && times == 0 {
                true => Ok(End::Undone),
                false => Err(format!("asked {times} times more, {standing}: {story}")),
            }
        }
        _ => Err(format!("silently dead: {story}")),
    }
}

/// A system call in words that stay the same from run to run.
fn what(call: &Call) -> String {
    let name = |path: &Path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        // The one that is about to take the place of a secret has a name that nobody can guess.
        match name.starts_with('.') {
            true => ".new".to_owned(),
            false => name.into_owned(),
        }
    };
    let place = match (&call.path, call.stream) {
        (Some(path), _) if path.extension().is_some_and(|it| it == "jsonl") => {
            "audit log".to_owned()
        }
        (Some(path), _) => name(path),
        (None, Some(stream)) => format!("{stream:?}").to_lowercase(),
        (None, None) => "socket".to_owned(),
    };
    format!("{} {place}", call.name)
}
