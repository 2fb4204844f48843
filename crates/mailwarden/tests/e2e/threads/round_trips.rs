//! How often a conversation makes the program wait for the server.

use std::time::Duration;

use serde_json::json;
use testkit::FaultProxy;

use super::letters::{Letter, day};
use super::store::{Holder, Kind};
use crate::round_trips::flights;
use crate::support::{Look, client};

#[test]
fn a_conversation_of_twenty_over_two_folders_takes_at_most_six_round_trips() {
    let id = |number: u64| format!("trip{number}@talk.example");
    let mut mail = Vec::new();
    for number in 0..20 {
        let parents: Vec<String> = (0..number).map(id).collect();
        let parents: Vec<&str> = parents.iter().map(String::as_str).collect();
        let letter = Letter::new(&id(number))
            .after(&parents)
            .on(day(number))
            .says(&format!("Turn {number}."));
        mail.push((["INBOX", "Sent"][number as usize % 2], letter.delivery()));
        let other = Letter::new(&format!("other{number}@talk.example"));
        mail.push(("INBOX", other.delivery()));
    }
    let Holder::Imap(server) = Holder::new(Kind::Imap, &mail) else {
        panic!("no server");
    };
    let proxy = FaultProxy::builder(server.port())
        .delay(Duration::from_millis(6))
        .start();
    let mut client = client(proxy.port());
    proxy.reset_stats();
    let read = client.call("read_thread", json!({ "message_id": id(7) }));
    assert_eq!(read.number("/thread_size"), 20);
    assert_eq!(read.data("/emails").as_array().unwrap().len(), 20);
    let cold = proxy.stats().flights;
    assert!(
        cold <= 6 + 3,
        "{cold} with greeting, capabilities and login"
    );
    for number in [0, 7, 19] {
        let warm = flights(
            &proxy,
            &mut client,
            "read_thread",
            json!({ "message_id": id(number) }),
        );
        assert!(warm <= 6, "{number}: {warm}");
        let one = flights(
            &proxy,
            &mut client,
            "read_email",
            json!({ "message_id": id(number) }),
        );
        assert!(one <= 2, "{number}: {one}");
    }
    // Their octets travel together, folder by folder.
    proxy.reset_stats();
    let files = client.call("get_thread_paths", json!({ "message_id": id(7) }));
    assert_eq!(files.data("/file_paths").as_array().unwrap().len(), 20);
    let written = proxy.stats().flights;
    assert!(written <= 8, "{written}");
}
