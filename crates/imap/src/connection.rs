//! The state machine of one connection: commands go in, bytes come out; bytes go in, events come out.
//!
//! Commands are pipelined: any number may be under way, and each reply finds its command by its tag.
//! It knows nothing of sockets, time or what a reply means.

use std::collections::VecDeque;
use std::fmt;

use bytes::{Bytes, BytesMut};

use crate::command::Chunk;
use crate::{Command, Data, FrameError, Framer, Limits, Literals, Response, Status};

/// Which command. Counts up, so later commands compare greater.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Tag(u64);

impl Tag {
    fn wire(self) -> String {
        format!("w{}", self.0)
    }

    /// Whether a server means this command, as the `ESEARCH` correlator of RFC 4466 names one.
    pub fn is(self, wire: &[u8]) -> bool {
        self.wire().as_bytes() == wire
    }
}

/// What the server did.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// The first thing a server says.
    Greeting(Status),
    /// Data, and the oldest command under way when it arrived.
    Untagged(Option<Tag>, Data),
    /// A command is over.
    Done(Tag, Status),
    /// A tagged reply to nothing we sent.
    Stray,
}

/// Bytes that arrived before encryption began (a response injected by someone in between).
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the server sent {0} octets too early")]
pub struct Leftover(pub usize);

#[derive(Debug)]
pub struct Connection {
    framer: Framer,
    limits: Limits,
    literals: Literals,
    last_tag: u64,
    greeted: bool,
    /// Sent or about to be, oldest first.
    under_way: VecDeque<Tag>,
    /// Not written yet; the front one may be waiting for the server's go-ahead.
    unsent: VecDeque<Unsent>,
}

struct Unsent {
    tag: Tag,
    chunks: VecDeque<Chunk>,
}

/// More octets of a message than were announced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("more octets than were announced")]
pub struct Overrun;

/// INVARIANT: like a [`Command`], it shows no arguments: they are passwords or somebody's mail.
impl fmt::Debug for Unsent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Unsent").field(&self.tag).finish()
    }
}

impl Connection {
    pub fn new(limits: Limits) -> Self {
        Self {
            framer: Framer::new(limits),
            limits,
            literals: Literals::Wait,
            last_tag: 0,
            greeted: false,
            under_way: VecDeque::new(),
            unsent: VecDeque::new(),
        }
    }

    /// A connection whose greeting was heard before it was encrypted.
    pub fn greeted(limits: Limits) -> Self {
        Self {
            greeted: true,
            ..Self::new(limits)
        }
    }

    /// How literals of commands pushed from now on are sent.
    pub fn use_literals(&mut self, literals: Literals) {
        self.literals = literals;
    }

    /// Queues a command; its bytes come out of [`outgoing`](Self::outgoing).
    pub fn push(&mut self, command: &Command) -> Tag {
        self.last_tag += 1;
        let tag = Tag(self.last_tag);
        let chunks = command.encode(&tag.wire(), self.literals).into();
        self.under_way.push_back(tag);
        self.unsent.push_back(Unsent { tag, chunks });
        tag
    }

    /// Everything that may be written now, as one piece: a flight.
    pub fn outgoing(&mut self) -> Bytes {
        let mut out = Vec::new();
        while let Some(front) = self.unsent.front_mut() {
            match front.chunks.front() {
                Some(Chunk::Wait) => break,
                Some(Chunk::Stream(owed)) if *owed > 0 => break,
                Some(Chunk::Bytes(bytes)) => out.extend_from_slice(bytes),
                Some(Chunk::Stream(_)) => {}
                None => {
                    self.unsent.pop_front();
                    continue;
                }
            }
            front.chunks.pop_front();
        }
        out.into()
    }

    /// How many octets of a message may be written now and are not; the rest of its command follows them. Ask when
    /// [`outgoing`](Self::outgoing) has no more.
    pub fn owes(&self) -> Option<u64> {
        match self.unsent.front()?.chunks.front()? {
            Chunk::Stream(owed) => Some(*owed).filter(|owed| *owed > 0),
            Chunk::Bytes(_) | Chunk::Wait => None,
        }
    }

    /// So many octets of the message were written.
    ///
    /// INVARIANT: nothing goes for part of a message, or for a command, that is not.
    pub fn streamed(&mut self, octets: u64) -> Result<(), Overrun> {
        let front = self
            .unsent
            .front_mut()
            .and_then(|one| one.chunks.front_mut());
        match front {
            Some(Chunk::Stream(owed)) if octets <= *owed => {
                *owed -= octets;
                Ok(())
            }
            _ => Err(Overrun),
        }
    }

    /// Whether every command is over.
    pub fn is_idle(&self) -> bool {
        self.under_way.is_empty()
    }

    pub fn feed(&mut self, bytes: &[u8]) {
        self.framer.feed(bytes);
    }

    /// The read buffer, to be filled directly.
    pub fn space(&mut self) -> &mut BytesMut {
        self.framer.space()
    }

    /// The next event, when enough has arrived for one.
    pub fn poll(&mut self) -> Result<Option<Event>, FrameError> {
        while let Some(frame) = self.next_frame()? {
            if let Some(event) = self.receive(Response::parse(&frame, &self.limits)) {
                return Ok(Some(event));
            }
        }
        Ok(None)
    }

    /// The next whole response, when it has arrived. The caller parses it, on any thread, and gives
    /// it to [`receive`](Self::receive) before it takes another.
    pub fn next_frame(&mut self) -> Result<Option<Bytes>, FrameError> {
        while let Some(frame) = self.framer.next_response()? {
            if !frame.trim_ascii().is_empty() {
                return Ok(Some(frame));
            }
        }
        Ok(None)
    }

    /// Matches a response to its command. `None` for a continuation, which only lets more be
    /// written.
    pub fn receive(&mut self, response: Response) -> Option<Event> {
        match response {
            Response::Continuation(_) => {
                self.go_ahead();
                None
            }
            Response::Tagged(tag, status) => Some(self.finish(&tag, status)),
            Response::Untagged(Data::Status(status)) if !self.greeted => {
                self.greeted = true;
                Some(Event::Greeting(status))
            }
            Response::Untagged(data) => {
                Some(Event::Untagged(self.under_way.front().copied(), data))
            }
        }
    }

    /// What one response may hold.
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// Octets that have arrived and belong to no whole response yet.
    pub fn pending(&self) -> usize {
        self.framer.pending()
    }

    /// Call between a good `STARTTLS` and the handshake (RFC 3501 section 6.2.1).
    pub fn assert_nothing_left(&self) -> Result<(), Leftover> {
        match self.framer.pending() {
            0 => Ok(()),
            left => Err(Leftover(left)),
        }
    }

    fn go_ahead(&mut self) {
        if let Some(front) = self.unsent.front_mut() {
            front.chunks.pop_front_if(|chunk| *chunk == Chunk::Wait);
        }
    }

    fn finish(&mut self, tag: &[u8], status: Status) -> Event {
        let found = self.under_way.iter().position(|known| known.is(tag));
        let Some(tag) = found.and_then(|index| self.under_way.remove(index)) else {
            return Event::Stray;
        };
        // A command may be refused before its literal is sent; the rest of it must not follow.
        self.unsent.retain(|unsent| unsent.tag != tag);
        Event::Done(tag, status)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StatusKind;
    use crate::command::{Key, SearchReturn};

    fn greeted() -> Connection {
        let mut connection = Connection::new(Limits::default());
        connection.feed(b"* OK ready\r\n");
        assert!(matches!(connection.poll(), Ok(Some(Event::Greeting(_)))));
        connection
    }

    fn events(connection: &mut Connection) -> Vec<Event> {
        std::iter::from_fn(|| connection.poll().unwrap()).collect()
    }

    #[test]
    fn a_flight_is_one_piece_and_replies_find_their_command() {
        let mut connection = greeted();
        let noop = connection.push(&Command::noop());
        let examine = connection.push(&Command::examine("INBOX").unwrap());
        assert_eq!(connection.outgoing(), "w1 NOOP\r\nw2 EXAMINE \"INBOX\"\r\n");
        connection.feed(b"w1 OK\r\n* 3 EXISTS\r\nw2 NO [NONEXISTENT] gone\r\n");
        let got = events(&mut connection);
        assert!(matches!(&got[0], Event::Done(tag, status) if *tag == noop && status.is_ok()));
        assert_eq!(got[1], Event::Untagged(Some(examine), Data::Exists(3)));
        assert!(
            matches!(&got[2], Event::Done(tag, status) if *tag == examine && status.has_code("NONEXISTENT"))
        );
        assert!(connection.is_idle());
    }

    #[test]
    fn a_waiting_literal_holds_back_what_follows() {
        let mut connection = greeted();
        let keys = [Key::Subject("ü")];
        connection.push(&Command::uid_search(SearchReturn::Plain, &keys).unwrap());
        connection.push(&Command::noop());
        assert_eq!(
            connection.outgoing(),
            "w1 UID SEARCH CHARSET UTF-8 SUBJECT {2}\r\n"
        );
        assert_eq!(connection.outgoing(), "");
        connection.feed(b"+ go\r\n");
        assert!(events(&mut connection).is_empty());
        assert_eq!(connection.outgoing(), "ü\r\nw2 NOOP\r\n");
    }

    #[test]
    fn debug_shows_neither_passwords_nor_mail() {
        let mut connection = greeted();
        connection.push(&Command::login("alice", "secret").unwrap());
        connection.feed(b"* 1 FETCH (BODY[] {99}\r\nprivate");
        let shown = format!("{connection:?}");
        let secret = format!("{:?}", b"secret");
        let inner = secret.trim_matches(['[', ']']);
        for leak in ["secret", inner, "alice", "private"] {
            assert!(!shown.contains(leak), "{shown}");
        }
    }

    #[test]
    fn any_line_with_a_plus_is_a_go_ahead() {
        for go_ahead in ["+\r\n", "+ \r\n", "+go on {7}\r\n", "+ idling\n"] {
            let mut connection = greeted();
            connection.push(&Command::login("a", "ü").unwrap());
            connection.outgoing();
            connection.feed(go_ahead.as_bytes());
            assert!(events(&mut connection).is_empty());
            assert_eq!(connection.outgoing(), "ü\r\n", "{go_ahead}");
        }
    }

    #[test]
    fn a_refused_literal_is_not_sent() {
        let mut connection = greeted();
        connection.push(&Command::login("a", "ü").unwrap());
        connection.push(&Command::noop());
        connection.outgoing();
        connection.feed(b"w1 BAD no\r\n");
        assert!(
            matches!(&events(&mut connection)[0], Event::Done(_, s) if s.kind == StatusKind::Bad)
        );
        assert_eq!(connection.outgoing(), "w2 NOOP\r\n");
    }

    fn append(octets: u64) -> Command {
        Command::append("INBOX", &[], None, octets).unwrap()
    }

    #[test]
    fn a_message_is_streamed_between_its_command_and_what_follows() {
        for (literals, begin) in [
            (Literals::Wait, "w1 APPEND \"INBOX\" {5}\r\n"),
            (Literals::Plus, "w1 APPEND \"INBOX\" {5+}\r\n"),
        ] {
            let mut connection = greeted();
            connection.use_literals(literals);
            connection.push(&append(5));
            connection.push(&Command::noop());
            assert_eq!(connection.outgoing(), begin);
            if literals == Literals::Wait {
                assert_eq!(
                    (connection.owes(), connection.streamed(1)),
                    (None, Err(Overrun))
                );
                connection.feed(b"+ go\r\n");
                assert!(events(&mut connection).is_empty());
            }
            assert_eq!(connection.owes(), Some(5));
            assert_eq!(connection.streamed(3), Ok(()));
            assert_eq!(
                (connection.outgoing(), connection.owes()),
                ("".into(), Some(2))
            );
            assert_eq!(connection.streamed(3), Err(Overrun));
            assert_eq!(connection.streamed(2), Ok(()));
            assert_eq!(
                (connection.owes(), connection.streamed(1)),
                (None, Err(Overrun))
            );
            assert_eq!(connection.outgoing(), "\r\nw2 NOOP\r\n");
        }
    }

    #[test]
    fn a_message_that_is_refused_is_not_owed() {
        let mut connection = greeted();
        connection.push(&append(5));
        connection.push(&append(0));
        connection.outgoing();
        connection.feed(b"w1 NO [OVERQUOTA] full\r\n");
        assert_eq!(events(&mut connection).len(), 1);
        assert_eq!(connection.owes(), None);
        assert_eq!(connection.outgoing(), "w2 APPEND \"INBOX\" {0}\r\n");
        connection.feed(b"+ go\r\n");
        assert!(events(&mut connection).is_empty());
        assert_eq!(
            (connection.owes(), connection.outgoing()),
            (None, "\r\n".into())
        );
    }

    #[test]
    fn a_reply_to_nothing_is_stray() {
        let mut connection = greeted();
        connection.feed(b"w9 OK\r\n\r\n* X-NEW thing (1)\r\n");
        let got = events(&mut connection);
        assert_eq!(got[0], Event::Stray);
        assert_eq!(
            got[1],
            Event::Untagged(None, Data::Other("X-NEW thing (1)".into()))
        );
    }

    #[test]
    fn bytes_before_encryption_are_found() {
        let mut connection = greeted();
        connection.push(&Command::starttls());
        connection.outgoing();
        connection.feed(b"w1 OK begin\r\n* BYE injected\r\n");
        connection.poll().unwrap();
        assert_eq!(connection.assert_nothing_left(), Err(Leftover(16)));
    }
}
