//! The pool by itself: idle connections close, waiting is fair, a stalled server does not stall for minutes.

use std::sync::Arc;
use std::time::{Duration, Instant};

use mail::{Cx, FaultKind, FolderName, MailSource as _, Query, Search, Snippets};
use sources::imap::ImapSource;
use testkit::{Cut, Dovecot, Fake, FaultProxy};

use crate::{runtime, settings};

#[test]
fn an_idle_connection_is_closed() {
    let server = Dovecot::start();
    let proxy = FaultProxy::to(server.port());
    let mut settings = settings(proxy.port());
    settings.timeouts.idle = Duration::from_millis(150);
    let source = ImapSource::new(crate::account(), settings);
    let runtime = runtime();
    for round in 1..=2 {
        runtime.block_on(source.folders(&Cx::new())).unwrap();
        assert_eq!(proxy.stats().connections, round);
        proxy.await_stats("the idle connection closed", |stats| stats.live == 0);
    }
    assert!(proxy.transcript().contains("LOGOUT"), "it says goodbye");
}

#[test]
fn nothing_is_opened_before_it_is_needed() {
    let server = Dovecot::start();
    let proxy = FaultProxy::to(server.port());
    let source = ImapSource::new(crate::account(), settings(proxy.port()));
    assert_eq!(source.describe().port, proxy.port());
    assert_eq!(proxy.stats().connections, 0);
}

#[test]
fn who_waits_is_served_in_turn() {
    let server = Dovecot::start();
    let proxy = FaultProxy::builder(server.port())
        .delay(Duration::from_millis(5))
        .start();
    let mut settings = settings(proxy.port());
    settings.max_connections = 1;
    let source = Arc::new(ImapSource::new(crate::account(), settings));
    let order = Arc::new(std::sync::Mutex::new(Vec::new()));
    runtime().block_on(async {
        let mut calls = tokio::task::JoinSet::new();
        for number in 0..12 {
            let (source, order) = (Arc::clone(&source), Arc::clone(&order));
            calls.spawn(async move {
                source.folders(&Cx::new()).await.unwrap();
                order.lock().unwrap().push(number);
            });
            // Let it take its place in the queue before the next one comes.
            tokio::task::yield_now().await;
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        while calls.join_next().await.is_some() {}
    });
    assert_eq!(*order.lock().unwrap(), (0..12).collect::<Vec<_>>());
    assert_eq!(proxy.stats().connections, 1);
}

#[test]
fn a_connection_that_freezes_while_idle_is_replaced_after_the_probe() {
    let server = Dovecot::start();
    let proxy = FaultProxy::to(server.port());
    let mut settings = settings(proxy.port());
    settings.timeouts.probe = Duration::from_millis(300);
    let source = ImapSource::new(crate::account(), settings);
    let runtime = runtime();
    runtime.block_on(source.folders(&Cx::new())).unwrap();
    proxy.cut_after_down(1, Cut::Stall);
    let began = Instant::now();
    runtime.block_on(source.folders(&Cx::new())).unwrap();
    assert!(began.elapsed() >= Duration::from_millis(300));
    assert_eq!(proxy.stats().connections, 2);
}

#[test]
fn a_server_that_falls_silent_times_out_once() {
    let fake = Fake::script(|s| {
        s.log_in("IMAP4rev1");
        s.expect("LIST");
        s.stall();
    });
    let mut settings = settings(fake.port());
    settings.timeouts.prompt = Duration::from_millis(200);
    let source = ImapSource::new(crate::account(), settings);
    let fault = runtime().block_on(source.folders(&Cx::new())).unwrap_err();
    assert_eq!(fault.kind, FaultKind::TimedOut);
    assert_eq!(
        fake.connections(),
        1,
        "a fresh connection that times out is not tried twice"
    );
}

#[test]
fn callers_who_give_up_leave_no_hole_in_the_pool() {
    let server = Dovecot::start();
    let proxy = FaultProxy::builder(server.port())
        .delay(Duration::from_millis(5))
        .start();
    let mut settings = settings(proxy.port());
    settings.max_connections = 2;
    let source = Arc::new(ImapSource::new(crate::account(), settings));
    runtime().block_on(async {
        for round in 0..40u64 {
            let calls: Vec<_> = (0..6)
                .map(|_| {
                    let source = Arc::clone(&source);
                    tokio::spawn(async move { source.folders(&Cx::new()).await.map(drop) })
                })
                .collect();
            tokio::time::sleep(Duration::from_millis(round % 9)).await;
            calls.iter().for_each(tokio::task::JoinHandle::abort);
        }
        for _ in 0..4 {
            source.folders(&Cx::new()).await.unwrap();
        }
    });
    proxy.await_stats("what was torn is closed", |stats| stats.live <= 2);
}

/// A server that answers its first search at once, and later ones never, though it goes on living until then.
fn falls_silent_in_searches(answered: usize) -> Fake {
    Fake::script(move |s| {
        s.log_in("IMAP4rev1");
        let mut searches = 0;
        loop {
            let command = s.command();
            if command.mentions("EXAMINE") {
                s.untagged("1 EXISTS");
                s.untagged("OK [UIDVALIDITY 7] ok");
            } else if command.mentions("SEARCH") {
                searches += 1;
                if searches > answered {
                    s.stall();
                }
                s.untagged("SEARCH");
            }
            s.ok();
        }
    })
}

fn search() -> Search {
    Search {
        folder: FolderName::new("INBOX").unwrap(),
        query: Query {
            text: Some("x".to_owned()),
            ..Query::default()
        },
        below: None,
        limit: 10,
        snippets: Snippets::Without,
        most_matches: 20_000,
    }
}

#[test]
fn a_search_that_never_ends_is_waited_for_once() {
    let fake = falls_silent_in_searches(1);
    let mut settings = settings(fake.port());
    settings.timeouts.socket = Duration::from_millis(500);
    let source = ImapSource::new(crate::account(), settings);
    let runtime = runtime();
    runtime
        .block_on(source.search(&Cx::new(), &search()))
        .unwrap();
    let fault = runtime
        .block_on(source.search(&Cx::new(), &search()))
        .unwrap_err();
    assert_eq!(fault.kind, FaultKind::TimedOut);
    assert_eq!(
        fake.connections(),
        1,
        "the server lives, so its silence is its answer"
    );
}

#[test]
fn a_slow_search_on_an_idle_connection_is_not_taken_for_a_dead_one() {
    let fake = Fake::script(|s| {
        s.log_in("IMAP4rev1");
        loop {
            let command = s.command();
            if command.mentions("EXAMINE") {
                s.untagged("1 EXISTS");
                s.untagged("OK [UIDVALIDITY 7] ok");
            } else if command.mentions("SEARCH") {
                std::thread::sleep(Duration::from_millis(400));
                s.untagged("SEARCH");
            }
            s.ok();
        }
    });
    let mut settings = settings(fake.port());
    settings.timeouts.probe = Duration::from_millis(200);
    let source = ImapSource::new(crate::account(), settings);
    let runtime = runtime();
    for _ in 0..3 {
        runtime
            .block_on(source.search(&Cx::new(), &search()))
            .unwrap();
    }
    assert_eq!(fake.connections(), 1);
}

#[test]
fn a_trickle_does_not_hold_a_call_for_ever() {
    let fake = Fake::script(|s| {
        s.log_in("IMAP4rev1");
        s.expect("LIST");
        loop {
            s.send(b"x");
            std::thread::sleep(Duration::from_millis(20));
        }
    });
    let mut settings = settings(fake.port());
    settings.timeouts.socket = Duration::from_millis(300);
    let source = ImapSource::new(crate::account(), settings);
    let fault = runtime().block_on(source.folders(&Cx::new())).unwrap_err();
    assert_eq!(fault.kind, FaultKind::TimedOut);
}

#[test]
fn a_connection_that_dies_between_two_callers_costs_neither() {
    let fake = Fake::script(|s| {
        s.log_in("IMAP4rev1");
        loop {
            s.expect("LIST");
            s.untagged("LIST () \"/\" INBOX");
            s.ok();
            if s.number() == 0 {
                s.close();
            }
        }
    });
    let mut settings = settings(fake.port());
    settings.max_connections = 1;
    let source = Arc::new(ImapSource::new(crate::account(), settings));
    runtime().block_on(async {
        let calls: Vec<_> = (0..4)
            .map(|_| {
                let source = Arc::clone(&source);
                tokio::spawn(async move { source.folders(&Cx::new()).await.map(drop) })
            })
            .collect();
        for call in calls {
            call.await.unwrap().unwrap();
        }
    });
}
