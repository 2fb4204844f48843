//! One call, on either side, on the clock: the program over stdio, and the bare connection.

use std::time::{Duration, Instant};

use serde_json::Value;
use testkit::{McpClient, RawImap};

/// A tool call.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub tool: &'static str,
    pub arguments: Value,
}

/// Commands that are written at once.
pub(crate) type Flight = Vec<String>;

/// What a call came to.
pub(crate) struct Answer {
    pub time: Duration,
    pub round_trips: u64,
    /// Characters of text, which most models are shown, and of the whole result.
    pub chars: [usize; 2],
}

/// From the request written to the answer parsed.
pub(crate) fn ask(client: &mut McpClient, call: Call) -> Answer {
    let begun = Instant::now();
    let id = client.send_call(call.tool, call.arguments);
    let result = client.wait(id);
    let time = begun.elapsed();
    let result = result.unwrap_or_else(|error| panic!("{}: {error:?}", call.tool));
    let envelope = &result["structuredContent"];
    assert_eq!(
        envelope["data"]["status"], "ok",
        "{}: {envelope}",
        call.tool
    );
    let page = envelope["data"]["messages"].as_array();
    assert!(
        page.is_none_or(|page| !page.is_empty()),
        "an empty page: {envelope}"
    );
    let text = result["content"][0]["text"].as_str().unwrap_or_default();
    Answer {
        time,
        round_trips: envelope["meta"]["telemetry"]["imap_round_trips"]
            .as_u64()
            .expect("telemetry"),
        chars: [text.chars().count(), result.to_string().chars().count()],
    }
}

/// Sends each flight and throws its reply away, unread.
pub(crate) fn fly(imap: &mut RawImap, flights: &[Flight]) {
    for flight in flights {
        let tag = send(imap, flight);
        imap.drain_until(&tag);
    }
}

/// As [`fly`], off the clock: every command must succeed before the last does, and a fetch must find something.
pub(crate) fn rehearse(imap: &mut RawImap, flights: &[Flight]) {
    for flight in flights {
        let tag = send(imap, flight);
        let reply = imap.read_until(&tag);
        let lines = reply.lines();
        let tagged = lines.iter().filter(|line| !line.starts_with("* "));
        let succeeded = tagged
            .filter(|line| line.split(' ').nth(1) == Some("OK"))
            .count();
        let complete = reply.is_ok() && succeeded + 1 == flight.len();
        assert!(complete, "{flight:?}: {}", reply.text());
        let fetches = flight.iter().any(|command| command.contains("FETCH"));
        let found = lines.iter().any(|line| line.contains(" FETCH ("));
        assert!(found || !fetches, "{flight:?}: {}", reply.text());
    }
}

fn send(imap: &mut RawImap, flight: &Flight) -> String {
    let commands: Vec<&str> = flight.iter().map(String::as_str).collect();
    imap.send(&commands)
}
