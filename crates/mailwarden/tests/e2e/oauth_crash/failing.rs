//! Answers that are lost on their way, and places where tokens are kept that cannot be written: alone, together, and until
//! they are mended.

use testkit::McpClient;
use testkit::crash::End;
use testkit::oidc::{Endpoint, Fault, Point, Times};
use testkit::trap::{Deed, Errno, Kind as CallKind, Plan, Span, Switch, Trapped, Watch};

use super::cell::judge;
use super::ground::{Answer, Ground, Plot, ask};
use super::kinds::{self, Act, Kind};
use crate::write_crash::leave;

fn calls() -> impl Iterator<Item = &'static Kind> {
    kinds::ALL.iter().filter(|kind| kind.act == Act::Call)
}

fn named(name: &str) -> &'static Kind {
    let found = kinds::ALL.iter().find(|kind| kind.name == name);
    found.expect("a kind of this name")
}

#[test]
fn killed_between_the_rotation_and_its_answer() {
    let ground = Ground::new();
    for kind in calls() {
        let plot = ground.plot(kind);
        let (living, before) = (plot.living(), plot.disk());
        let hold = plot.oidc().hold(Endpoint::Refresh, Point::Answer);
        let mut client = plot.client();
        let arguments = serde_json::json!({ "account_id": "work", "folder": "INBOX" });
        client.send_call("search", arguments);
        hold.await_arrivals(1);
        client.kill();
        hold.release();
        let lives = plot.living();
        assert!(
            lives.len() == 1 && lives != living,
            "{}: {lives:?}",
            kind.name
        );
        let verdict = judge(&plot, kind, &before, &living);
        assert_eq!(verdict, Ok(End::Undone), "{}", kind.name);
    }
}

/// A cut before anything was done costs nothing; one after the rotation costs the login, and says so.
#[test]
fn a_lost_answer_is_told_and_then_the_account_works_or_wants_a_login() {
    let ground = Ground::new();
    for kind in calls() {
        for (point, end) in [(Point::Arrival, End::Done), (Point::Answer, End::Undone)] {
            let plot = ground.plot(kind);
            let (living, before) = (plot.living(), plot.disk());
            plot.oidc()
                .fail(Endpoint::Refresh, &Fault::Cut(point), Times::Once);
            let told = plot.call();
            let unavailable =
                matches!(&told, Answer::Other(text) if text.contains("token_unavailable"));
            assert!(unavailable, "{}: {told:?}", kind.name);
            let verdict = judge(&plot, kind, &before, &living);
            assert_eq!(verdict, Ok(end), "{} {point:?}", kind.name);
        }
    }
}

/// What cannot be written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Broken {
    Store,
    State,
    Both,
}

/// What then comes of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Then {
    /// It is answered, and the successor lies there.
    InTheStore,
    Sealed,
    /// It fails before the provider is asked.
    Unasked,
    /// It fails; once the places are mended, the very same process answers.
    Held,
}

/// Full disks fail writes, read-only ones fail making files; both while the program runs.
const FULL: (Errno, &[CallKind]) = (Errno::ENOSPC, &[CallKind::Write]);
const READ_ONLY: (Errno, &[CallKind]) = (
    Errno::EROFS,
    &[
        CallKind::Create,
        CallKind::Rename,
        CallKind::Unlink,
        CallKind::MakeDir,
    ],
);

#[test]
fn what_cannot_be_written_here_is_kept_there_and_nothing_is_lost() {
    let ground = Ground::new();
    for (name, broken, fault, then) in [
        ("refresh", Broken::Store, FULL, Then::Sealed),
        ("refresh", Broken::Store, READ_ONLY, Then::Sealed),
        ("refresh", Broken::State, FULL, Then::InTheStore),
        ("refresh", Broken::State, READ_ONLY, Then::Unasked),
        ("refresh", Broken::Both, FULL, Then::Held),
        ("kept token over", Broken::Store, READ_ONLY, Then::Sealed),
        ("kept token over", Broken::State, FULL, Then::InTheStore),
        ("kept token over", Broken::Both, FULL, Then::Held),
        ("read-only store", Broken::State, FULL, Then::Held),
        ("read-only store again", Broken::State, FULL, Then::Held),
    ] {
        let row = format!("{name}, {broken:?}, {fault:?}");
        let kind = named(name);
        let plot = ground.plot(kind);
        let (living, before) = (plot.living(), plot.disk());
        let switch = Switch::turned_on();
        let deed = Deed::Fail(fault.0, Span::While(switch.clone()));
        let plan = Plan::at(1, watch(&plot, broken, fault.1), deed);
        let mut command = plot.program();
        command.arg("stdio");
        let mut client = McpClient::over(Trapped::spawn(command, plan));
        client.initialize();
        let asked = plot.refreshes();
        let told = ask(&mut client);
        let left = plot.disk();
        match then {
            Then::InTheStore => {
                assert_eq!(told, Answer::Mail, "{row}");
                assert_ne!(left.store, before.store, "{row}");
            }
            Then::Sealed => {
                assert_eq!(told, Answer::Mail, "{row}");
                assert_eq!(left.store, before.store, "{row}");
                assert_ne!(left.sealed, before.sealed, "{row}");
            }
            Then::Unasked | Then::Held => {
                let said =
                    matches!(&told, Answer::Other(text) if text.contains("token_misconfigured"));
                assert!(said, "{row}: {told:?}");
                assert_eq!(left, before, "{row}");
            }
        }
        assert_eq!(plot.refreshes() - asked, usize::from(then != Then::Unasked));
        switch.off();
        if then == Then::Held {
            plot.nudge();
            assert_eq!(ask(&mut client), Answer::Mail, "{row}");
            // What could be kept nowhere before is kept now: nobody had to be asked again.
            assert_eq!(plot.refreshes() - asked, 1, "{row}");
        }
        leave(client);
        let verdict = judge(&plot, kind, &before, &living);
        assert_eq!(verdict, Ok(End::Done), "{row}");
    }
}

fn watch(plot: &Plot<'_>, broken: Broken, calls: &[CallKind]) -> Watch {
    let under = |place| Watch::of(calls.iter().copied()).under(place);
    let (store, state) = (under(plot.secrets()), under(plot.remembered()));
    match broken {
        Broken::Store => store,
        Broken::State => state,
        Broken::Both => store.or(state),
    }
}
