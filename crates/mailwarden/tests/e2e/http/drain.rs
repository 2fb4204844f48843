//! The end, and another configuration, while calls are under way: nothing is lost.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;
use testkit::{FaultProxy, HttpServer, Wire};

use super::house::{ANNA, BERT, House, first, is};
use crate::directory::mailbox;
use crate::support::Look;

const PATIENCE: Duration = Duration::from_secs(30);

/// The connections and the listener hear of the end in no order.
fn await_closed(server: &HttpServer) {
    let begun = Instant::now();
    while Wire::connect(server.address()).is_ok() {
        assert!(begun.elapsed() < PATIENCE, "somebody is still let in");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn calls_under_way_are_answered_before_it_ends() {
    let mail = mailbox();
    let proxy = FaultProxy::to(mail.port());
    let house = House::with(mail, proxy.port());
    let mut server = house.serve(&[]);
    let mut idle = server.client(BERT);
    is(&mut idle, "bert");
    let mut listening = server.client(ANNA).modern();
    let wanted = json!({ "notifications": { "toolsListChanged": true } });
    listening.begin("subscriptions/listen", wanted).unwrap();
    let mut stream = listening.take_wire();
    stream.head().unwrap();
    stream.event().unwrap();
    proxy.stall();
    let mut client = server.client(ANNA);
    client.begin_call("fetch_envelope", first()).unwrap();
    proxy.await_stats("the call to be under way", |stats| stats.connections >= 1);
    server.terminate();
    // Who only listens, or is idle, is let go at once; nobody else is let in.
    assert_eq!(stream.event().unwrap(), None);
    assert!(idle.take_wire().is_closed());
    await_closed(&server);
    assert!(
        server.wait_exit(Duration::ZERO).is_none(),
        "a call is under way"
    );
    proxy.resume();
    let reply = client.finish().unwrap();
    assert_eq!(reply.outcome().text("/envelope/subject"), "Invoice 7");
    assert_eq!(server.wait_exit(PATIENCE).unwrap().code(), Some(0));
    house.directory.home.verify();
    assert_eq!(
        house.directory.home.only("stop", |_| true).text("why"),
        "told to end"
    );
}

#[test]
fn whoever_is_told_twice_ends_at_once() {
    let mail = mailbox();
    let proxy = FaultProxy::to(mail.port());
    let house = House::with(mail, proxy.port());
    let mut server = house.serve(&[]);
    proxy.stall();
    let mut client = server.client(ANNA);
    client.begin_call("fetch_envelope", first()).unwrap();
    proxy.await_stats("the call to be under way", |stats| stats.connections >= 1);
    server.terminate();
    while Wire::connect(server.address()).is_ok() {}
    assert!(server.wait_exit(Duration::ZERO).is_none());
    server.interrupt();
    assert_eq!(server.wait_exit(PATIENCE).unwrap().code(), Some(0));
    assert!(client.finish().is_err());
    house.directory.home.verify();
}

#[test]
fn another_configuration_fails_no_call() {
    let house = House::new();
    let server = house.serve(&[]);
    let over = AtomicBool::new(false);
    let made: usize = std::thread::scope(|scope| {
        let callers: Vec<_> = [(ANNA, "anna"), (BERT, "bert"), (ANNA, "anna")]
            .into_iter()
            .enumerate()
            .map(|(number, (token, id))| {
                let (server, over) = (&server, &over);
                scope.spawn(move || {
                    let mut client = server.client(token);
                    if number == 2 {
                        client = client.modern();
                    }
                    let mut made = 0;
                    while !over.load(Ordering::SeqCst) {
                        is(&mut client, id);
                        if id == "anna" {
                            let read = client.call("fetch_envelope", first());
                            assert_eq!(read.text("/envelope/subject"), "Invoice 7");
                        }
                        made += 1;
                    }
                    assert!(client.is_connected());
                    made
                })
            })
            .collect();
        for _ in 0..10 {
            house.reload(&server);
        }
        over.store(true, Ordering::SeqCst);
        callers.into_iter().map(|one| one.join().unwrap()).sum()
    });
    assert!(made >= 10, "{made} calls");
    house.directory.home.verify();
}
