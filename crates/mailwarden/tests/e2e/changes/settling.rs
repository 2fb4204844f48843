//! A copy whose answer was lost and that is not to be seen: it is not made again while the server may still come to it,
//! and one that shows late is taken for the one that was asked for.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use testkit::proxy::{Cut, Refusal};
use testkit::{Delivery, FaultProxy, RawImap, World};

use super::lies::{misquoted, raw, strange};
use super::{Answer, ask, parts, same, shown, tx};
use crate::support::start;
use crate::write_crash::{AWAY, Ground, HOME, Line, Plot, SUBJECT, leave};

const SETTLES: &str = "MAIL_IMAP_SETTLE_TIMEOUT_MS";
/// Longer than any test takes.
const AN_HOUR: &str = "3600000";
/// Longer than a call looks for what it lost.
const THREE_SECONDS: &str = "3000";

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Copies {
    Within,
    Across,
}

const BOTH: [Copies; 2] = [Copies::Within, Copies::Across];

impl Copies {
    fn account(self) -> &'static str {
        match self {
            Self::Within => HOME,
            Self::Across => AWAY,
        }
    }

    fn command(self) -> &'static str {
        match self {
            Self::Within => "UID COPY",
            Self::Across => "APPEND",
        }
    }

    fn proxy<'a>(self, plot: &'a Plot<'_>) -> &'a FaultProxy {
        match self {
            Self::Within => &plot.home,
            Self::Across => &plot.away,
        }
    }

    fn ask(self, client: &mut testkit::McpClient) -> Answer {
        ask(client, "copy", self.arguments())
    }

    fn arguments(self) -> Value {
        let to = json!({
            "target_folder": "Target", "target_account_id": self.account(), "idempotency_key": "k",
        });
        parts(HOME, SUBJECT, to)
    }

    /// The next command for a copy gets no further than this, and the connection ends.
    fn hold_up(self, plot: &Plot<'_>) {
        let command = self.command();
        self.proxy(plot)
            .cut_before(Cut::Reset, move |line| line.contains(command));
    }

    /// How often the server was asked for a copy.
    fn times(self, plot: &Plot<'_>) -> usize {
        let all = self.proxy(plot).commands();
        let copies = all.iter().filter(|line| line.contains(self.command()));
        copies.count()
    }

    /// The world with the copy.
    fn wanted(self, plot: &Plot<'_>) -> World {
        let item = plot.subject(HOME);
        plot.world().with(item.lying_in(self.account(), "Target"))
    }
}

/// The server comes to what it was sent: both accounts hold the same message.
fn come_to_it(imap: &mut RawImap) {
    imap.command("SELECT INBOX");
    imap.command(&format!("UID COPY {SUBJECT} Target"));
}

/// A copy whose command got lost on its way, and what is said of it.
fn lost<'g>(
    ground: &'g Ground,
    copies: Copies,
    settles: &str,
) -> (Plot<'g>, testkit::McpClient, World, Answer) {
    let plot = ground.plot("", &[(SETTLES, settles)]);
    let mut client = start(plot.program());
    let want = copies.wanted(&plot);
    copies.hold_up(&plot);
    let first = copies.ask(&mut client);
    still_unknown(copies, &first);
    (plot, client, want, first)
}

fn still_unknown(copies: Copies, answer: &Answer) {
    assert_eq!(
        answer.words, "failed unknown unknown",
        "{copies:?}: {}",
        answer.all
    );
}

#[test]
fn what_the_server_may_still_come_to_is_not_asked_for_again_and_recognised_when_it_comes() {
    let ground = Ground::new();
    for copies in BOTH {
        let (plot, mut client, want, first) = lost(&ground, copies, AN_HOUR);
        // Neither the caller who asks again, nor a program that begins anew, nor the operator has it made again.
        let again = copies.ask(&mut client);
        still_unknown(copies, &again);
        leave(client);
        let mut client = start(plot.program());
        let again = copies.ask(&mut client);
        still_unknown(copies, &again);
        let id = first.id();
        // It says by its exit that it did not come to an end.
        tx(plot.program(), &["retry", id.as_str().unwrap()]).unwrap_err();
        assert_eq!(copies.times(&plot), 1, "{copies:?}");

        come_to_it(&mut plot.bare(copies.account()));
        let late = copies.ask(&mut client);
        assert_eq!(late.words, "ok done", "{copies:?}: {}", late.all);
        assert_eq!(late.id(), first.id(), "{copies:?}");
        same(&plot.world(), &want, &format!("{copies:?}"));
        assert_eq!(copies.times(&plot), 1, "{copies:?}");
        leave(client);
    }
}

#[test]
fn what_the_server_never_came_to_is_asked_for_again_in_its_time() {
    let ground = Ground::new();
    for copies in BOTH {
        let (plot, client, want, first) = lost(&ground, copies, THREE_SECONDS);
        let lines = plot.settled();
        assert_eq!(lines[0].state, "done", "{copies:?}: {lines:?}");
        leave(client);
        same(&plot.world(), &want, &format!("{copies:?}"));
        assert_eq!(copies.times(&plot), 2, "{copies:?}");
        let row = shown(&plot, &first.id());
        let at = |time: &Value| -> Timestamp { time.as_str().unwrap().parse().unwrap() };
        let given_up = &row["steps"][0];
        assert_eq!(given_up["why"], "not_done", "{copies:?}: {row:#}");
        let waited = at(&given_up["at"]).duration_since(at(&row["began"]));
        assert!(
            waited >= SignedDuration::from_secs(3),
            "{copies:?}: {row:#}"
        );
    }
}

/// Does something the first time the server is asked again for a copy.
fn meanwhile(copies: Copies, plot: &Plot<'_>, does: impl Fn(&mut RawImap) + Send + Sync + 'static) {
    let imap = Mutex::new(Some(plot.bare(copies.account())));
    copies.proxy(plot).refuse_command(Refusal::No, move |line| {
        if line.contains(copies.command())
            && let Some(mut imap) = imap.lock().unwrap().take()
        {
            does(&mut imap);
        }
        false
    });
}

/// A server that comes to a copy when it is asked for it a second time.
fn slow(ground: &Ground, copies: Copies) -> (Plot<'_>, testkit::McpClient, World) {
    let plot = ground.plot("", &[]);
    let client = start(plot.program());
    let want = copies.wanted(&plot);
    be_slow(copies, &plot);
    (plot, client, want)
}

fn be_slow(copies: Copies, plot: &Plot<'_>) {
    copies.hold_up(plot);
    meanwhile(copies, plot, come_to_it);
}

#[test]
fn what_came_later_than_can_be_waited_for_is_there_once() {
    let ground = Ground::new();
    for copies in BOTH {
        let (plot, mut client, want) = slow(&ground, copies);
        copies.ask(&mut client);
        let lines = plot.settled();
        leave(client);
        assert_eq!(lines[0].state, "done", "{copies:?}: {lines:?}");
        assert!(
            lines[0].story.contains("thin:done"),
            "{copies:?}: {lines:?}"
        );
        assert_eq!(copies.times(&plot), 2, "{copies:?}");
        same(&plot.world(), &want, &format!("{copies:?}"));
    }
}

#[test]
fn a_second_copy_that_has_to_stay_is_told() {
    let ground = Ground::new();
    for copies in BOTH {
        let (plot, mut client, want) = slow(&ground, copies);
        let proxy = copies.proxy(&plot);
        proxy.refuse_command(Refusal::No, |line| line.contains("+FLAGS"));
        copies.ask(&mut client);
        let lines = plot.settled();
        leave(client);
        assert_eq!(lines[0].state, "done", "{copies:?}: {lines:?}");
        let row = shown(&plot, &json!(lines[0].id));
        assert_eq!(row["code"], "maybe_twice", "{copies:?}: {row:#}");
        let there = plot.world();
        assert_eq!(want.beyond(&there).to_string(), "", "{copies:?}");
        assert_eq!(there.beyond(&want).items().count(), 1, "{copies:?}");
    }
}

#[test]
fn a_second_copy_goes_also_after_a_crash() {
    let ground = Ground::new();
    for copies in BOTH {
        let (plot, mut client, want) = slow(&ground, copies);
        let proxy = copies.proxy(&plot);
        proxy.cut_before(Cut::Stall, |line| line.contains("+FLAGS"));
        client.send_call("copy", copies.arguments());
        until(&plot, copies, thins);
        client.kill();
        drop(client);
        plot.calm();
        let client = start(plot.program());
        let lines = plot.settled();
        leave(client);
        assert!(
            lines[0].story.contains("thin:done"),
            "{copies:?}: {lines:?}"
        );
        same(&plot.world(), &want, &format!("{copies:?}"));
    }
}

/// The second copy is about to go.
fn thins(lines: &[Line]) -> bool {
    lines.iter().any(|line| line.story.contains("thin:unknown"))
}

/// Until it is so.
fn until(plot: &Plot<'_>, copies: Copies, is_so: impl Fn(&[Line]) -> bool) {
    let begun = Instant::now();
    while !is_so(&plot.transactions()) {
        assert!(begun.elapsed() < Duration::from_secs(60), "{copies:?}");
    }
}

/// Another process, which was killed before its command was sent, is looked for a copy of its own while the second one goes.
#[test]
fn a_copy_that_goes_is_nobody_elses_meanwhile() {
    let ground = Ground::new();
    for copies in BOTH {
        let plot = ground.plot("", &[]);
        let want = copies.wanted(&plot);
        let want = want.with(plot.subject(HOME).lying_in(copies.account(), "Target"));
        let proxy = copies.proxy(&plot);
        let mut other = start(plot.program());
        proxy.cut_before(Cut::Stall, move |line| line.contains(copies.command()));
        let mut another = copies.arguments();
        another["idempotency_key"] = json!("another");
        other.send_call("copy", another);
        while copies.times(&plot) == 0 {}
        let mut client = start(plot.program());
        be_slow(copies, &plot);
        proxy.cut_before(Cut::Stall, |line| line.contains("+FLAGS"));
        client.send_call("copy", copies.arguments());
        until(&plot, copies, thins);
        other.kill();
        drop(other);
        let third = start(plot.program());
        until(&plot, copies, |lines| {
            lines.iter().any(|line| line.state == "done")
        });
        leave(third);
        client.kill();
        drop(client);
        plot.calm();
        let client = start(plot.program());
        let lines = plot.settled();
        leave(client);
        assert!(lines.iter().all(|line| line.state == "done"), "{lines:?}");
        same(&plot.world(), &want, &format!("{copies:?}: {lines:?}"));
    }
}

#[test]
fn of_two_copies_none_is_taken_away_by_a_number_that_is_a_strangers() {
    let ground = Ground::new();
    for copies in BOTH {
        let plot = ground.plot("", &[]);
        let mut client = start(plot.program());
        let want = copies.wanted(&plot);
        copies.hold_up(&plot);
        let strangers = strange(&raw(&plot));
        let hash = testkit::world::hash(&strangers);
        meanwhile(copies, &plot, move |imap| {
            come_to_it(imap);
            imap.append("Target", &Delivery::new(strangers.clone()));
        });
        let proxy = copies.proxy(&plot);
        proxy.rewrite_replies(|line| misquoted(line, |uid| uid - 1));
        copies.ask(&mut client);
        let lines = plot.settled();
        leave(client);
        assert_eq!(lines[0].state, "done", "{copies:?}: {lines:?}");
        let there = plot.world();
        assert_eq!(want.beyond(&there).to_string(), "", "{copies:?}");
        let came = there.beyond(&want);
        assert!(
            came.items().any(|item| item.hash == hash),
            "{copies:?}: the stranger's is gone: {came}; {lines:?}"
        );
    }
}
