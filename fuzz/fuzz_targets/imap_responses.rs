//! Any bytes, in any pieces: a connection never panics, holds no more than its limits, and sees the same events
//! however the bytes arrive.
//!
//! The input is the stream; the sizes of its pieces are drawn from its own octets, so a seed is a plain transcript.

#![no_main]

use imap::command::{Item, Key, Part, SearchReturn};
use imap::{
    Command, Connection, Data, Event, ExpectedResponses, FrameError, Framer, Limits, Literals, SequenceSet,
};
use libfuzzer_sys::fuzz_target;

const LIMITS: Limits = Limits {
    response: 4_096,
    line: 1_024,
    depth: 12,
    values: 400,
};

fuzz_target!(|stream: &[u8]| {
    let whole = run(stream, [stream.len().max(1)].into_iter());
    let single = run(stream, std::iter::repeat(1));
    assert_eq!(whole, single, "octet by octet");
    let drawn = run(
        stream,
        stream
            .iter()
            .cycle()
            .map(|octet| 1 + usize::from(*octet % 23)),
    );
    assert_eq!(whole, drawn, "in pieces");
    bounded(stream);
});

/// Events up to the end or the first fault. What is written meanwhile may differ: a server that says "go ahead" twice
/// before it was asked once is heard once or twice, as its bytes happen to arrive.
type Seen = (Vec<Event>, Option<FrameError>);

fn run(stream: &[u8], mut sizes: impl Iterator<Item = usize>) -> Seen {
    let mut connection = Connection::new(LIMITS);
    for literals in [Literals::Wait, Literals::Plus] {
        connection.use_literals(literals);
        connection.push(&Command::noop());
        connection.push(&Command::login("ann", "pässword").expect("no NUL"));
        connection
            .push(&Command::uid_search(SearchReturn::Plain, &[Key::Subject("ü")]).expect("no NUL"));
    }
    connection.outgoing();
    let mut events = Vec::new();
    let mut rest = stream;
    while !rest.is_empty() {
        let size = sizes.next().unwrap_or(usize::MAX).min(rest.len());
        let (piece, after) = rest.split_at(size);
        rest = after;
        connection.feed(piece);
        loop {
            match connection.poll() {
                Ok(Some(event)) => {
                    stored(&event);
                    codes(&event);
                    events.push(event);
                }
                Ok(None) => break,
                Err(fault) => return (events, Some(fault)),
            }
            // As a driver does: what may go out goes out before more is read.
            connection.outgoing();
        }
        connection.outgoing();
    }
    (events, None)
}

/// What is stored of a response is bounded by its octets, and less of it is where nothing asked for
/// it.
fn stored(event: &Event) {
    let Event::Untagged(_, data) = event else { return };
    let values = data.stored_values();
    assert!(values <= 16 + 4 * LIMITS.response, "{values}");
    let uids = SequenceSet::of([1, 2]);
    for commands in [
        vec![Command::noop()],
        vec![Command::uid_fetch(&uids, &[Item::Peek(Part::Header, Some(9))])],
    ] {
        let mut kept = data.clone();
        ExpectedResponses::of(&commands).judge(&mut kept);
        assert!(kept.stored_values() <= values);
    }
}

/// Typed views of codes end, and hold as many messages on one side as on the other.
fn codes(event: &Event) {
    let (Event::Done(_, status)
    | Event::Greeting(status)
    | Event::Untagged(_, Data::Status(status))) = event
    else {
        return;
    };
    let Some(code) = &status.code else { return };
    let _ = (code.append_uid(), code.permanent_flags());
    if let Some(copied) = code.copy_uid() {
        assert!(!copied.is_empty());
    }
}

/// What waits for its end never exceeds a response.
fn bounded(stream: &[u8]) {
    let mut framer = Framer::new(LIMITS);
    for octet in stream {
        framer.feed(&[*octet]);
        loop {
            match framer.next_response() {
                Ok(Some(frame)) => assert!(frame.len() <= LIMITS.response),
                Ok(None) => break,
                Err(_) => return,
            }
        }
        assert!(framer.pending() <= LIMITS.response, "{}", framer.pending());
        assert!(framer.space().capacity() <= 4 * LIMITS.response);
    }
}
